"""What a proof of durability comes to: figures and verdicts of its cycles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from openslob.analyze.outcome import count_noun, fails, holds, holds_or_fails, unknown
from openslob.analyze.shares import Share, ruled_out_pct, share_of
from openslob.kinds.crash.record import CrashControl, CrashCycle, CrashMethod
from openslob.record.model import Figure, Verdict

KEEPS, WHOLE, CAUGHT = "no_acked_commit_lost", "nothing_damaged", "control_caught"
# A run of a control that must lose something finds that with at least this chance.
RUN_POWER = 0.8
_NO_CYCLE = "no cycle was completed"
_UNMET = "not tested: no request of the server met the fault"
_NOT_TESTED = "Torn pages were not tested"
_KEPT = "the operating system kept what the server had written"
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
    trials = [cycle for cycle in cycles if cycle.fault]
    of_faults = {"faults_met": Figure(value=sum(cycle.is_tested for cycle in trials), unit="cycles")} if trials else {}
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
        **of_faults,
    }


def verdicts(cycles: Sequence[CrashCycle], control: CrashControl | None) -> tuple[Verdict, ...]:
    """Return what the cycles prove."""
    both = (_keeps(cycles), _whole(cycles))
    return (*both, _caught(cycles, control)) if control else both


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
    tested = [cycle for cycle in cycles if cycle.is_tested]
    if not tested:
        return unknown(KEEPS, _UNMET, **figures)
    # Each kind is a trial of its own, and a crash before which nothing was acknowledged is none.
    trials = [
        sum(each.kind is kind and each.acked > 0 for each in tested) for kind in CrashMethod if _has(tested, kind)
    ]
    ruled_out = ruled_out_pct(min(trials)) if min(trials) else 100.0
    of = "such crashes" if len(trials) == 1 else "the crashes of each kind"
    why = (
        f"{acked:,} commits were acknowledged before {len(cycles)} crash{'es' if len(cycles) > 1 else ''}, and all are "
        f"there. So at most {ruled_out:.2g} % of {of} lose one (with 95 % confidence; more cycles narrow it)"
    )
    if any(cycle.fault for cycle in cycles):
        why += f". {_tell_tested(cycles)}"
    elif not _has(cycles, CrashMethod.CUT):
        why += _ONLY_KILLED
    return holds(KEEPS, why, **figures, ruled_out_pct=ruled_out)


def _tell_tested(cycles: Sequence[CrashCycle]) -> str:
    """Return in how many cycles the fault met the server, in words."""
    tested = sum(cycle.is_tested for cycle in cycles)
    more = "" if tested == len(cycles) else "; the others test nothing, and do not count"
    return f"The fault met the server in {tested} of {count_noun(len(cycles), 'cycle')}{more}"


def what_is_wrong(cycle: CrashCycle) -> str:
    """Return the worst of a cycle that is not clean, in words."""
    after = f" after {cycle.fault.name} on {cycle.fault.files}" if cycle.fault else ""
    where = f"cycle {cycle.number} ({cycle.kind.value}{after})"
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
    read = [cycle for cycle in cycles if cycle.compared and cycle.is_tested]
    figures = {"damaged_cycles": float(len(damaged))}
    if damaged:
        first = damaged[0]
        why = f"cycle {first.number} ({first.kind.value}): {first.damage[0]}"
        return fails(WHOLE, why, **figures)
    if cycles and not any(cycle.is_tested for cycle in cycles):
        return unknown(WHOLE, _UNMET, **figures)
    if not read:
        return unknown(WHOLE, "no data could be read after a crash", **figures)
    crashes = f"{len(read)} crash{'es' if len(read) > 1 else ''}"
    why = f"after {crashes} every table was read, and each row and index of the proof agrees"
    said, torn = ("", {}) if read[0].fault else _tell_torn(read)
    return holds(WHOLE, f"{why}{said}", **figures, **torn)


def _tell_torn(read: Sequence[CrashCycle]) -> tuple[str, dict[str, float]]:
    """Return how far torn pages were tested, in words and figures; nothing where an old record does not say."""
    cuts = [cycle for cycle in read if cycle.kind is CrashMethod.CUT]
    if not cuts:
        return f". {_NOT_TESTED}: {_KEPT} (--kind cut --survive random)", {}
    pages = [cycle.torn_pages for cycle in cuts]
    if None in pages:
        return "", {}
    torn = [each for each in pages if each]
    figures = {"torn_cycles": float(len(torn)), "torn_pages": float(sum(torn))}
    if not torn:
        return f". {_NOT_TESTED}: no cut left one (--survive random does)", figures
    ruled_out = ruled_out_pct(len(torn))
    why = (
        f". {len(torn)} of {count_noun(len(cuts), 'cut')} left torn pages, {median(torn):,.0f} in the median. So at "
        f"most {ruled_out:.2g} % of such cuts leave damage (with 95 % confidence; more cycles narrow it)"
    )
    return why, {**figures, "torn_ruled_out_pct": ruled_out}


def _caught(cycles: Sequence[CrashCycle], control: CrashControl) -> Verdict:
    """Judge by the cycles that must lose something; by all of them where none must. What was not tested is no trial."""
    made, cycles = len(cycles), [cycle for cycle in cycles if cycle.is_tested]
    must = [cycle for cycle in cycles if not control.may_lose_nothing.get(cycle.kind)]
    trials = must or cycles
    share = share_of(sum(not cycle.is_clean for cycle in trials), len(trials))
    figures = {
        "cycles": float(len(cycles)),
        "caught": float(sum(not cycle.is_clean for cycle in cycles)),
        "share_low_pct": 100 * share.low,
        "share_high_pct": 100 * share.high,
        "run_power_pct": 100 * share.power,
    }
    if not cycles:
        return unknown(CAUGHT, _UNMET if made else _NO_CYCLE, **figures)
    enough = share.power >= RUN_POWER
    if not must and not enough:
        return unknown(CAUGHT, _tell_excuses(cycles, control), **figures)
    why = _tell_share(share, control.name, trials)
    if share.found and share_of(share.trials, share.trials).power < RUN_POWER:
        return unknown(CAUGHT, f"{why}; so few crashes can't show more", **figures)
    return holds_or_fails(CAUGHT, enough, why, **figures)


def _tell_excuses(cycles: Sequence[CrashCycle], control: CrashControl) -> str:
    reasons = "; ".join(dict.fromkeys(control.may_lose_nothing[kind] for kind in CrashMethod if _has(cycles, kind)))
    caught = sum(not cycle.is_clean for cycle in cycles)
    return (
        f"{caught} of {len(cycles)} crashes with {control.name} lost something, and none has to: {reasons}. It says "
        "nothing of the server's safety"
    )


def _tell_share(share: Share, name: str, trials: Sequence[CrashCycle]) -> str:
    """Return the power of the proof in words: of a cycle, and of as many cycles as the run has."""
    why = f"{share.found} of {share.trials} crashes with {name} were found to lose something"
    if down := sum(not cycle.compared for cycle in trials):
        why += f" ({down} of them since the server did not recover, or its data could not be read)"
    why += f": {100 * share.low:.0f} to {100 * share.high:.0f} % of such crashes (with 95 % confidence)"
    if not share.found:
        return f"{why}. This run has missed it"
    return (
        f"{why}, so that a run of {share.trials} finds it with a chance of at least {_round_down(100 * share.power)} %"
    )


def _round_down(pct: float) -> str:
    """Return a share below 100 % that never reads as more."""
    return f"{math.floor(100 * pct) / 100:g}"


def _has(cycles: Sequence[CrashCycle], kind: CrashMethod) -> bool:
    return any(cycle.kind is kind for cycle in cycles)
