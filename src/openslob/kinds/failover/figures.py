"""What a test of failover comes to: the figures of each outage, those of all together, and verdicts. Pure functions.

The driver's outage is the longest time between two acknowledgements, of all sessions together or of one. The servers'
is that between two commits of operations that are there in the end. The first is longer if acknowledged operations were
lost; so the clocks are compared by the operations that were kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from openslob.analyze.outcome import fails, holds, holds_or_fails, unknown
from openslob.analyze.shares import ruled_out_pct
from openslob.core.units import NANOS
from openslob.engines.ledger import LedgerContents
from openslob.kinds.failover.accounting import IN_DOUBT, NOTHING, Journal, SentAndKept, account, find_surviving
from openslob.kinds.failover.lag import LagSample
from openslob.kinds.failover.record import FailoverCycle
from openslob.record.model import Figure, Verdict
from openslob.report.format import number

Times = NDArray[np.int64]
# The rate is a mean over so much time, which moves; the level counts as reached again at so much of what it was.
MEAN_OVER_S = 1.0
LEVEL_SHARE = 0.95


@dataclass(frozen=True)
class Offset:
    """A server's clock minus the driver's, in ns, and the largest error of that."""

    ahead_ns: int = 0
    error_ns: int = 0

    @property
    def known_ns(self) -> int:
        """The difference; 0 if it is within its error, since clocks of one host agree."""
        return self.ahead_ns if abs(self.ahead_ns) > self.error_ns else 0


@dataclass(frozen=True)
class Pause:
    """A time without an event: from the last before it to the first after it."""

    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.begin_ns) / NANOS


def find_acknowledged(journals: Sequence[Journal]) -> Times:
    """Return when operations were acknowledged, in order."""
    acked = _join([_array(journal.acked_ns, len(journal)) for journal in journals])
    return acked[np.searchsorted(acked, IN_DOUBT, side="right") :]


def find_kept(
    journals: Sequence[Journal], there: Sequence[Sequence[int]], offsets: Mapping[int, Offset], wall_ns: int
) -> tuple[Times, Times]:
    """Return when operations that are there in the end were acknowledged, and when the servers had committed them.

    Both by the driver's monotonic clock, in order; those in doubt are left out. ``there`` are the attempts, by index,
    of each session; ``wall_ns`` is the wall clock minus the monotonic one.
    """
    acked, done = [], []
    for journal, indexes in zip(journals, there, strict=True):
        attempts = np.asarray(indexes, dtype=np.int64)
        acked_ns, done_ns, targets = (
            _array(each, len(journal))[attempts] for each in (journal.acked_ns, journal.done_ns, journal.targets)
        )
        known = acked_ns != IN_DOUBT
        ahead = np.zeros(len(attempts), np.int64)
        for target, offset in offsets.items():
            ahead[targets == target] = offset.known_ns
        acked.append(acked_ns[known])
        done.append((done_ns - ahead - wall_ns)[known])
    return _join(acked), _join(done)


def _array(values: array[int], count: int) -> Times:
    # A copy: an array whose memory is lent can't grow.
    return np.frombuffer(values[:count], dtype=np.int64)


def _join(parts: Sequence[Times]) -> Times:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def all_back_ns(journals: Sequence[Journal], end_ns: int) -> int:
    """Return when all sessions that lost their server were connected again; the end if one was not, or none lost it."""
    lost = [journal for journal in journals if IN_DOUBT in journal.acked_ns]
    if not lost or any(not journal.losses for journal in lost):
        return end_ns
    return min(end_ns, max(journal.losses[0].back_ns for journal in lost))


def longest_pause(events: Times, from_ns: int, until_ns: int) -> Pause | None:
    """Return the longest time between two events that ended after one moment and began before another.

    A pause that comes after all sessions are back is none of the outage. None without such a time.
    """
    first, last = np.searchsorted(events, (from_ns, until_ns))
    low, high = max(1, int(first)), min(len(events), int(last) + 1)
    if high <= low:
        return None
    lengths = np.diff(events[low - 1 : high])
    longest = low + int(np.argmax(lengths))
    return Pause(int(events[longest - 1]), int(events[longest]))


def level(acked: Times, begin_ns: int, end_ns: int) -> float | None:
    """Return the mean rate between two moments, per second; None for no time at all."""
    seconds = (end_ns - begin_ns) / NANOS
    low, high = np.searchsorted(acked, (begin_ns, end_ns))
    return float(high - low) / seconds if seconds > 0 else None


def back_ns(acked: Times, pause: Pause, before: float, until_ns: int) -> int | None:
    """Return when the level was reached again: the begin of the first mean after the pause that is high enough.

    None: it was not within what was measured.
    """
    window = int(MEAN_OVER_S * NANOS)
    starts = acked[np.searchsorted(acked, pause.end_ns) :]
    starts = starts[starts + window <= until_ns]
    counts = np.searchsorted(acked, starts + window) - np.searchsorted(acked, starts)
    enough = np.flatnonzero(counts >= LEVEL_SHARE * before * MEAN_OVER_S)
    return int(starts[enough[0]]) if len(enough) else None


# What sessions do in their first second (they connect, the cache is cold) is no part of the level.
WARM_S = 1.0
# Of a time line, and of the operations that were lost.
BUCKET_S = 0.1
_MOST_LOST = 20
NO_OUTAGE = "no session was lost, and none waited"


@dataclass(frozen=True)
class ObservedCycle:
    """All that was observed of a cycle. Times are ns of the driver's monotonic clock; ``wall_ns`` is the wall clock
    minus it. ``cause_ns`` is when the outage was made, None if somebody else made it; ``taken_over_ns`` when the
    promotion or the user's command was done.
    """  # noqa: D205

    journals: Sequence[Journal]
    contents: LedgerContents
    rows: int
    offsets: Mapping[int, Offset]
    begin_ns: int
    end_ns: int
    cause_ns: int | None
    taken_over_ns: int | None
    wall_ns: int


@dataclass(frozen=True)
class Outage:
    """The outage by both clocks, of all sessions together and of the session that waited longest.

    ``kept`` is by the driver's clock, too, between the acknowledgements of operations that are there in the end.
    """

    acked: Times
    driver: Pause | None
    kept: Pause | None
    server: Pause | None
    session: Pause | None
    session_server: Pause | None


def figures_of(
    seen: ObservedCycle, number: int, before: str, after: str, copies: Sequence[Mapping[str, object]]
) -> FailoverCycle:
    """Return the record of a cycle."""
    found = account(seen.journals, seen.contents, seen.rows)
    outage = outage_of(seen)
    begin = outage.driver.begin_ns if outage.driver else seen.end_ns
    first_lost = sorted(found.lost, key=lambda each: each.acked_ns)[:_MOST_LOST]
    return FailoverCycle(
        number=number,
        before=before,
        after=after,
        figures={**_durations(seen, outage), **_levels(seen, outage), **_losses(found, begin)},
        accounts=_accounts(seen, found),
        lost=tuple(
            {"session": each.session, "number": each.number, "acked_before_s": (begin - each.acked_ns) / NANOS}
            for each in first_lost
        ),
        problems=tuple(found.problems),
        said=dict(
            Counter(
                loss.why.partition(": ")[2] or loss.why for journal in seen.journals for loss in journal.losses
            ).most_common(5)
        ),
        copies=tuple(copies),
    )


def outage_of(seen: ObservedCycle) -> Outage:
    """Return the longest times without an acknowledgement, and without a commit that is there in the end."""
    acked = find_acknowledged(seen.journals)
    if seen.cause_ns is None and not any(journal.losses for journal in seen.journals):
        return Outage(acked, None, None, None, None, None)
    there = [find_surviving(each, seen.contents.sessions.get(each.session, NOTHING))[0] for each in seen.journals]
    alone = [
        (longest, _pause(seen, find_kept([journal], [indexes], seen.offsets, seen.wall_ns)[1]))
        for journal, indexes in zip(seen.journals, there, strict=True)
        if (longest := _pause(seen, find_acknowledged([journal])))
    ]
    kept_acked, kept_done = find_kept(seen.journals, there, seen.offsets, seen.wall_ns)
    session, session_server = max(alone, key=lambda pair: pair[0].seconds, default=(None, None))
    return Outage(
        acked, _pause(seen, acked), _pause(seen, kept_acked), _pause(seen, kept_done), session, session_server
    )


def _pause(seen: ObservedCycle, events: Times) -> Pause | None:
    from_ns = seen.cause_ns or seen.begin_ns + int(WARM_S * NANOS)
    return longest_pause(events, from_ns, all_back_ns(seen.journals, seen.end_ns))


def _durations(seen: ObservedCycle, outage: Outage) -> dict[str, Figure]:
    driver, kept_pause, server, cause_ns, done_ns = (
        outage.driver, outage.kept, outage.server, seen.cause_ns, seen.taken_over_ns
    )  # fmt: skip
    both = (kept_pause, server) if kept_pause and server else None
    took = None if cause_ns is None or done_ns is None else (done_ns - cause_ns) / NANOS
    again = None if driver is None or done_ns is None else (driver.end_ns - done_ns) / NANOS
    return {
        "outage_s": _length(driver),
        "outage_kept_s": _length(kept_pause),
        "outage_server_s": _length(server),
        "session_outage_s": _length(outage.session),
        "session_outage_server_s": _length(outage.session_server),
        "clocks_differ_ms": _ms((both[1].seconds - both[0].seconds) * 1e3 if both else None),
        # From the commit in the server to the acknowledgement, of the last before the outage and of the first after it.
        "before_ms": _ms((both[0].begin_ns - both[1].begin_ns) / 1e6 if both else None),
        "after_ms": _ms((both[0].end_ns - both[1].end_ns) / 1e6 if both else None),
        "takeover_s": _seconds(took, "the outage was not made by this test"),
        "reconnect_s": _seconds(again, "it is not known when the other server took over"),
    }


def _levels(seen: ObservedCycle, outage: Outage) -> dict[str, Figure]:
    driver = outage.driver
    if driver is None:
        rate = level(outage.acked, seen.begin_ns + int(WARM_S * NANOS), seen.end_ns)
        return {"level_before_per_s": _rate(rate), "back_s": _seconds(None, NO_OUTAGE)}
    before = level(outage.acked, seen.begin_ns + int(WARM_S * NANOS), driver.begin_ns)
    back = back_ns(outage.acked, driver, before, seen.end_ns) if before else None
    share = f"{LEVEL_SHARE:.0%} of the level before, as a mean over {MEAN_OVER_S:g} s,".replace("%", " %")
    waited = (seen.end_ns - driver.end_ns) / NANOS
    after = level(outage.acked, back, seen.end_ns) if back else None
    return {
        "level_before_per_s": _rate(before),
        "level_after_per_s": _rate(after),
        "back_s": _seconds(
            (back - driver.begin_ns) / NANOS if back else None,
            f"{share} was not reached in the {waited:.0f} s after the outage",
        ),
    }


def _losses(found: SentAndKept, begin_ns: int) -> dict[str, Figure]:
    lost = [each.acked_ns for each in found.lost]
    span = (begin_ns - min(lost)) / NANOS if lost else 0.0
    return {"lost_over_s": Figure(value=span, unit="s")}


def _accounts(seen: ObservedCycle, found: SentAndKept) -> dict[str, int]:
    return {
        "sent": found.sent,
        "acked_there": found.acked_there,
        "acked_lost": len(found.lost),
        "doubt_there": found.doubt_there,
        "doubt_gone": found.doubt_gone,
        "doubled": found.doubled,
        "not_sent": sum(journal.skipped for journal in seen.journals),
        "sessions_lost": sum(IN_DOUBT in journal.acked_ns for journal in seen.journals),
    }


def commits_rows(journals: Sequence[Journal], begin_ns: int, end_ns: int, number: int) -> list[tuple[int, float, int]]:
    """Return the time line: how many operations were acknowledged in each step of `BUCKET_S`."""
    acked = find_acknowledged(journals)
    steps = max(1, round((end_ns - begin_ns) / NANOS / BUCKET_S))
    edges = begin_ns + (np.arange(steps + 1) * BUCKET_S * NANOS).astype(np.int64)
    counts = np.diff(np.searchsorted(acked, edges))
    return [(number, round(step * BUCKET_S, 3), int(count)) for step, count in enumerate(counts)]


def lag_rows(
    samples: Sequence[LagSample], begin_ns: int, number: int, names: Sequence[str]
) -> list[tuple[object, ...]]:
    """Return the samples of the lag as rows of `lag.csv`; an unknown value is empty."""
    return [
        (
            number, round((each.at_ns - begin_ns) / NANOS, 3), names[each.copy],
            each.bytes_behind, each.not_received, _round(each.heartbeat_s), _round(each.said_s),
        )
        for each in samples
    ]  # fmt: skip


def lag_of_copies(samples: Sequence[LagSample], names: Sequence[str]) -> list[dict[str, object]]:
    """Return for each copy how far it was behind: the most, and at the end, in bytes and by the heartbeat."""
    rows = []
    for copy in sorted({each.copy for each in samples}):
        own = [each for each in samples if each.copy == copy]
        behind = [each.bytes_behind for each in own if each.bytes_behind is not None]
        beats = [each.heartbeat_s for each in own if each.heartbeat_s is not None]
        said = [each.said_s for each in own if each.said_s is not None]
        rows.append(
            {
                "copy": names[copy],
                "samples": len(own),
                "bytes_behind_max": max(behind, default=None),
                "bytes_behind_last": behind[-1] if behind else None,
                "heartbeat_s_max": _round(max(beats, default=None)),
                "heartbeat_s_last": _round(beats[-1] if beats else None),
                "said_s_max": _round(max(said, default=None)),
                "why": next((each.why for each in own if each.why), ""),
            }
        )
    return rows


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _length(pause: Pause | None) -> Figure:
    return _seconds(pause.seconds if pause else None, NO_OUTAGE)


def _seconds(value: float | None, why: str) -> Figure:
    return Figure.of(value, "s", why)


def _ms(value: float | None) -> Figure:
    return Figure.of(value, "ms", NO_OUTAGE)


def _rate(value: float | None) -> Figure:
    return Figure.of(value, "1/s", "nothing was measured")


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
    return (
        _judge_accounts(cycles),
        _judge_losses(cycles, bool(asked.get("synchronous"))),
        _judge_level(cycles),
        _judge_clocks(cycles),
    )


def _judge_accounts(cycles: Sequence[FailoverCycle]) -> Verdict:
    problems = [f"cycle {cycle.number}: {text}" for cycle in cycles for text in cycle.problems]
    sent = sum(cycle.accounts.get("sent", 0) for cycle in cycles)
    figures = {"sent": float(sent), "problems": float(len(problems))}
    if problems:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        return fails("operations_accounted", f"{problems[0]}{more}", **figures)
    why = f"what the servers have follows from the {number(sent)} operations that were sent, to the last one"
    return holds("operations_accounted", why, **figures)


def _judge_losses(cycles: Sequence[FailoverCycle], synchronous: bool) -> Verdict:
    name = "no_acked_commit_lost"
    lost = sum(cycle.accounts.get("acked_lost", 0) for cycle in cycles)
    acked = lost + sum(cycle.accounts.get("acked_there", 0) for cycle in cycles)
    figures = {"acked": float(acked), "lost": float(lost)}
    if any(cycle.problems for cycle in cycles):
        return unknown(name, "not all operations are accounted for", **figures)
    if all(cycle.value("outage_s") is None for cycle in cycles):
        return unknown(name, "there was no outage", **figures)
    if not lost:
        return _judge_none_lost(name, cycles, figures)
    span = max(cycle.value("lost_over_s") or 0.0 for cycle in cycles)
    how = "although commits waited for a copy" if synchronous else "commits did not wait for a copy (--synchronous)"
    gone = f"{number(lost)} of {number(acked)} acknowledged operations are gone"
    why = f"{gone}, of the last {span * 1e3:.0f} ms before an outage: {how}"
    return fails(name, why, **figures)


def _judge_none_lost(name: str, cycles: Sequence[FailoverCycle], figures: Mapping[str, float]) -> Verdict:
    """Return what it proves that nothing was lost: each outage is a trial, if anything was acknowledged before."""
    trials = sum(cycle.value("outage_s") is not None and cycle.accounts.get("acked_there", 0) > 0 for cycle in cycles)
    if not trials:
        return unknown(name, "no commit was acknowledged", **figures)
    ruled_out = ruled_out_pct(trials)
    why = (
        f"all {number(figures['acked'])} acknowledged operations are on the server that took over. So at most "
        f"{ruled_out:.2g} % of such failovers lose one (with 95 % confidence; more cycles narrow it)"
    )
    return holds(name, why, **figures, ruled_out_pct=ruled_out)


def _judge_level(cycles: Sequence[FailoverCycle]) -> Verdict:
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


def _judge_clocks(cycles: Sequence[FailoverCycle]) -> Verdict:
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
