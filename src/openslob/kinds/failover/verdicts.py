"""What a test of failover comes to: figures of all cycles together, and verdicts. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from openslob.analyze.outcome import fails, holds, holds_or_fails, unknown
from openslob.kinds.failover.outage import LEVEL_SHARE, MEAN_OVER_S
from openslob.kinds.failover.record import FailoverCycle
from openslob.record.model import Figure, Verdict
from openslob.report.format import number

# The clocks of driver and servers should find outages of the same length.
CLOCKS_AGREE_MS = 10.0
NAMES = ("operations_accounted", "no_acked_commit_lost", "back_to_level", "clocks_agree")
_FROM_CYCLES = (
    *("outage_s", "outage_kept_s", "outage_server_s", "session_outage_s", "session_outage_server_s"),
    *("takeover_s", "reconnect_s", "back_s"),
)
_COUNTED = (
    *("sent", "acked_there", "acked_lost", "doubt_there", "doubt_gone", "doubled", "not_sent"),
    *("sessions_lost",),
)
_SHARE = f"{LEVEL_SHARE * 100:.0f} %"


def summary(cycles: Sequence[FailoverCycle]) -> dict[str, Figure]:
    """Return the median and the most of each time over all cycles, and the sums of what was counted."""
    figures: dict[str, Figure] = {}
    for name in _FROM_CYCLES:
        values = [value for cycle in cycles if (value := cycle.value(name)) is not None]
        why = next(
            (figure.why for cycle in cycles if (figure := cycle.figures.get(name)) and figure.why), "no cycle ended"
        )
        stem = name.removesuffix("_s")
        for suffix, of in (("median", median), ("max", max)):
            figures[f"{stem}_{suffix}_s"] = Figure.of(of(values) if values else None, "s", why)
    differ = [abs(value) for cycle in cycles if (value := cycle.value("clocks_differ_ms")) is not None]
    figures["clocks_differ_max_ms"] = Figure.of(max(differ, default=None), "ms", "no outage was seen")
    counted = {name: float(sum(cycle.accounts.get(name, 0) for cycle in cycles)) for name in _COUNTED}
    return figures | {name: Figure(value=value, unit="") for name, value in counted.items()}


def verdicts(cycles: Sequence[FailoverCycle], asked: Mapping[str, object]) -> tuple[Verdict, ...]:
    """Return the verdicts on all cycles together; none before the first has ended."""
    if not cycles:
        return ()
    return (_accounted(cycles), _none_lost(cycles, bool(asked.get("synchronous"))), _back(cycles), _clocks(cycles))


def _accounted(cycles: Sequence[FailoverCycle]) -> Verdict:
    problems = [f"cycle {cycle.number}: {text}" for cycle in cycles for text in cycle.problems]
    sent = sum(cycle.accounts.get("sent", 0) for cycle in cycles)
    figures = {"sent": float(sent), "problems": float(len(problems))}
    if problems:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        return fails("operations_accounted", f"{problems[0]}{more}", **figures)
    why = f"what the servers have follows from the {number(sent)} operations that were sent, to the last one"
    return holds("operations_accounted", why, **figures)


def _none_lost(cycles: Sequence[FailoverCycle], synchronous: bool) -> Verdict:
    name = "no_acked_commit_lost"
    lost = sum(cycle.accounts.get("acked_lost", 0) for cycle in cycles)
    acked = lost + sum(cycle.accounts.get("acked_there", 0) for cycle in cycles)
    figures = {"acked": float(acked), "lost": float(lost)}
    if any(cycle.problems for cycle in cycles):
        return unknown(name, "not all operations are accounted for", **figures)
    if all(cycle.value("outage_s") is None for cycle in cycles):
        return unknown(name, "there was no outage", **figures)
    if not lost:
        return holds(name, f"all {number(acked)} acknowledged operations are on the server that took over", **figures)
    span = max(cycle.value("lost_over_s") or 0.0 for cycle in cycles)
    how = "although commits waited for a copy" if synchronous else "commits did not wait for a copy (--synchronous)"
    gone = f"{number(lost)} of {number(acked)} acknowledged operations are gone"
    why = f"{gone}, of the last {span * 1e3:.0f} ms before an outage: {how}"
    return fails(name, why, **figures)


def _back(cycles: Sequence[FailoverCycle]) -> Verdict:
    name = "back_to_level"
    seen = [cycle for cycle in cycles if cycle.value("outage_s") is not None]
    if not seen:
        return unknown(name, "there was no outage")
    late = [cycle for cycle in seen if cycle.value("back_s") is None]
    figures = {"outages": float(len(seen)), "not_back": float(len(late))}
    if late:
        figure = late[0].figures["back_s"]
        return fails(name, f"cycle {late[0].number}: {figure.why}", **figures)
    longest = max(cycle.value("back_s") or 0.0 for cycle in seen)
    level = f"{_SHARE} of the level before, as a mean over {MEAN_OVER_S:g} s"
    why = f"{level}, at the latest {longest:.2f} s after the last acknowledgement"
    return holds(name, why, **figures, back_max_s=longest)


def _clocks(cycles: Sequence[FailoverCycle]) -> Verdict:
    name = "clocks_agree"
    known = [cycle for cycle in cycles if cycle.value("clocks_differ_ms") is not None]
    if not known:
        return unknown(name, "no outage was seen by both clocks")
    worst = max(known, key=lambda cycle: abs(cycle.value("clocks_differ_ms") or 0.0))
    differ, before, after = (worst.value(each) or 0.0 for each in ("clocks_differ_ms", "before_ms", "after_ms"))
    figures: dict[str, float | str | None] = {"differ_ms": differ, "before_ms": before, "after_ms": after}
    said = (
        f"outages by the servers' clocks and by the driver's differ by at most {abs(differ):.1f} ms: in cycle "
        f"{worst.number} the acknowledgement of the last commit before it took {before:.1f} ms, that of the first one "
        f"after it {after:.1f} ms"
    )
    return holds_or_fails(name, abs(differ) <= CLOCKS_AGREE_MS, said, **figures)
