"""What a proof of durability comes to: figures and verdicts of its cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from openslob.analyze.outcome import fails, holds, holds_or_fails, unknown
from openslob.kinds.crash.record import CrashControl, CrashCycle, CrashMethod
from openslob.record.model import Figure, Verdict

KEEPS, WHOLE, CAUGHT = "no_acked_commit_lost", "nothing_damaged", "control_caught"
# A control that must lose commits is caught in at least this share of the cycles.
CAUGHT_SHARE = 0.99
# The confidence with which a rate of losses is ruled out that no cycle has shown.
_CONFIDENCE = 0.95
_NO_CYCLE = "no cycle was completed"
_ONLY_KILLED = (
    ". The operating system kept what the server had written to it: what a power failure leaves was not tested (--kind "
    "cut)"
)


def summary(cycles: Sequence[CrashCycle]) -> Mapping[str, Figure]:
    """Return the figures of all cycles."""
    recovered = [cycle.recovery_s for cycle in cycles if cycle.recovery_s is not None]
    loaded_s = sum(cycle.load_s for cycle in cycles)
    acked = sum(cycle.acked for cycle in cycles)
    why = "the server never recovered" if cycles else _NO_CYCLE
    return {
        "cycles": Figure(value=len(cycles), unit="cycles"),
        "acked_commits": Figure(value=acked, unit="commits"),
        "acked_per_s": Figure.of(acked / loaded_s if loaded_s else None, "commits/s", _NO_CYCLE),
        "lost_commits": Figure(value=sum(cycle.lost for cycle in cycles), unit="commits"),
        "in_doubt": Figure(value=sum(cycle.in_doubt for cycle in cycles), unit="operations"),
        "in_doubt_there": Figure(value=sum(cycle.doubtful_there for cycle in cycles), unit="operations"),
        "cycles_not_clean": Figure(value=sum(not cycle.is_clean for cycle in cycles), unit="cycles"),
        "recovery_median_s": Figure.of(median(recovered) if recovered else None, "s", why),
        "recovery_max_s": Figure.of(max(recovered, default=None), "s", why),
    }


def verdicts(cycles: Sequence[CrashCycle], control: CrashControl | None) -> tuple[Verdict, ...]:
    """Return what the cycles prove."""
    both = (_keeps(cycles), _whole(cycles))
    return (*both, _caught(cycles, control)) if control else both


def ruled_out_pct(cycles: int) -> float:
    """Return the share of crashes, in %, that could lose something and would not show in so many cycles (95 %)."""
    return float(100.0 * (1.0 - (1.0 - _CONFIDENCE) ** (1.0 / cycles)))


def _keeps(cycles: Sequence[CrashCycle]) -> Verdict:
    acked, lost = sum(cycle.acked for cycle in cycles), sum(cycle.lost for cycle in cycles)
    figures = {"cycles": float(len(cycles)), "acked": float(acked), "lost": float(lost)}
    bad = [cycle for cycle in cycles if not cycle.compared or cycle.lost or cycle.faults]
    if bad:
        first = bad[0]
        more = f" ({len(bad)} of {len(cycles)} cycles are like that)" if len(bad) > 1 else ""
        return fails(KEEPS, f"{what_is_wrong(first)}{more}", **figures)
    if not acked:
        why = "no commit was acknowledged" if cycles else _NO_CYCLE
        return unknown(KEEPS, why, **figures)
    # Each kind is a trial of its own, and a crash before which nothing was acknowledged is none.
    trials = [
        sum(each.kind is kind and each.acked > 0 for each in cycles) for kind in CrashMethod if _has(cycles, kind)
    ]
    ruled_out = ruled_out_pct(min(trials)) if min(trials) else 100.0
    of = "such crashes" if len(trials) == 1 else "the crashes of each kind"
    why = (
        f"{acked:,} commits were acknowledged before {len(cycles)} crash{'es' if len(cycles) > 1 else ''}, and all are "
        f"there. So at most {ruled_out:.2g} % of {of} lose one (with 95 % confidence; more cycles narrow it)"
    )
    if not _has(cycles, CrashMethod.CUT):
        why += _ONLY_KILLED
    return holds(KEEPS, why, **figures, ruled_out_pct=ruled_out)


def what_is_wrong(cycle: CrashCycle) -> str:
    """Return the worst of a cycle that is not clean, in words."""
    where = f"cycle {cycle.number} ({cycle.kind.value})"
    if cycle.recovery_s is None:
        return f"{where}: the server did not recover: {cycle.why}"
    if not cycle.compared:
        return f"{where}: the server's data can't be read: {cycle.why}"
    if cycle.lost:
        return f"{where}: {cycle.lost:,} of {cycle.acked:,} acknowledged commits are not there{_oldest(cycle)}"
    return f"{where}: {next(iter((*cycle.faults, *cycle.damage)), 'nothing')}"


def _oldest(cycle: CrashCycle) -> str:
    if cycle.oldest_lost_ms is None or not cycle.lost_operations:
        return ""
    first = cycle.lost_operations[0]
    return (
        f"; the first, operation {first.number} of session {first.session}, was acknowledged "
        f"{cycle.oldest_lost_ms:,.0f} ms before the crash"
    )


def _whole(cycles: Sequence[CrashCycle]) -> Verdict:
    damaged = [cycle for cycle in cycles if cycle.damage]
    read = [cycle for cycle in cycles if cycle.compared]
    figures = {"damaged_cycles": float(len(damaged))}
    if damaged:
        first = damaged[0]
        why = f"cycle {first.number} ({first.kind.value}): {first.damage[0]}"
        return fails(WHOLE, why, **figures)
    if not read:
        return unknown(WHOLE, "no data could be read after a crash", **figures)
    crashes = f"{len(read)} crash{'es' if len(read) > 1 else ''}"
    why = f"after {crashes} every table was read, and each row and index of the proof agrees"
    return holds(WHOLE, why, **figures)


def _caught(cycles: Sequence[CrashCycle], control: CrashControl) -> Verdict:
    must = [cycle for cycle in cycles if not control.may_lose_nothing.get(cycle.kind)]
    caught = sum(not cycle.is_clean for cycle in cycles)
    figures = {"cycles": float(len(cycles)), "caught": float(caught)}
    if (not must and caught < CAUGHT_SHARE * len(cycles)) or not cycles:
        reasons = "; ".join(dict.fromkeys(control.may_lose_nothing[kind] for kind in CrashMethod if _has(cycles, kind)))
        why = (
            f"{caught} of {len(cycles)} crashes with {control.name} lost something, and none must: {reasons}. It says "
            "nothing of the server's safety"
        )
        return unknown(CAUGHT, why if cycles else _NO_CYCLE, **figures)
    must = must or list(cycles)
    found = sum(not cycle.is_clean for cycle in must)
    enough = found >= CAUGHT_SHARE * len(must)
    why = f"{found} of {len(must)} crashes with {control.name} were found to lose something"
    if down := sum(not cycle.compared for cycle in must):
        why += f" ({down} of them since the server did not recover, or its data could not be read)"
    if not enough:
        why += ": this proof would have missed the others"
    return holds_or_fails(CAUGHT, enough, why, **figures)


def _has(cycles: Sequence[CrashCycle], kind: CrashMethod) -> bool:
    return any(cycle.kind is kind for cycle in cycles)
