"""The verdict on whether a load's level lasts, or was the burst before a cap came into force."""

from __future__ import annotations

import math

from openslob.analyze.outcome import Shown, amount, fails, holds, unknown
from openslob.analyze.plateaus import FAR_BELOW, LEAST_KEPT_PCT
from openslob.core.measurement import Cap, CapSearch, Known, LevelCourse, MeanRate, Measurement, Observed
from openslob.core.units import MIB, format_duration
from openslob.record.model import Verdict

NAME = "level_sustained"
# From here on a time is shown in minutes and hours.
MINUTES_FROM_S = 180.0
# A level that is kept for less than `LEAST_KEPT_PCT` is none, if it was lost for so long at once, in s, or repeatedly.
LOST_S = 10.0
# From this part of a cap on, flushes of the device's cache are named.
FLUSHES_MATTER = 0.02
# A level that begins so soon after another one, in s, follows it.
NEXT_S = 3.0
_OF = {"read": " on reads", "write": " on writes", "both": " on reads and writes", "request": " on requests", "": ""}
_REQUESTS = {"read": "reads", "write": "writes or log syncs", "both": "requests", "request": "requests"}
_USED = {"IOPS": "requests", "MB/s": "MB", "CPUs": "s of CPU"}


def level_sustained(measurement: Observed) -> Verdict | None:
    """Judge whether the throughput is one that lasts, as `sustained` does; None if the course was not searched.

    How much others ask for is theirs: the course of their throughput is not judged, only what held it back.
    """
    if measurement.caps is None:
        return None
    if isinstance(measurement, Measurement):
        return sustained(measurement.caps, "ops/s")
    return sustained(measurement.caps, "transactions/s", is_own=False)


def sustained(found: CapSearch, unit: str, *, is_own: bool = True) -> Verdict:
    """Judge whether a load, whose rates are in ``unit``, kept its level.

    It did not if a cap came into force within it, or was lifted; if the throughput fell for a part of the time to
    another even level, whatever that was; or, of a load that ``is_own``, if it fell slowly, swung, or was far below its
    level for more than a tenth of the time. A cap that was in force all the time makes a level that lasts, and is
    named. The verdict is unknown where the load was too short for a cap to show, or its course is not known.
    """
    if found.why_unknown:
        return unknown(NAME, f"Can't be determined: {found.why_unknown}.", seconds=found.seconds)
    figures = {**_figures(found), **_of_course(found.course)}
    course = found.course if is_own else None
    if why := _of_levels(found, course, unit) or (_lost(course, unit) if course else ""):
        return fails(NAME, f"{why}.", **figures)
    if found.cap is not None:
        why = f"{cap_in_words(found.cap)} was in force all the time: the level is that of the cap."
        return holds(NAME, why, **figures)
    why = f"No cap was found within {_time(found.seconds, 0)}. A bucket that lasts longer would not have shown."
    return holds(NAME, why, **figures)


def _of_levels(found: CapSearch, course: LevelCourse | None, unit: str) -> str:
    """Return which even levels a load had, and why; empty if it had only one."""
    cap, swings = found.cap, _swings(course, unit) if course else ""
    if cap is not None and swings and not cap.is_sure:
        return f"{swings}. The lower level: {_lower(cap)}. {_evidence(cap)}"
    if cap is not None and not cap.always:
        return f"{_of_cap(found, cap, unit)}{_further(found, unit)}"
    return _of_slower(found.slower, unit) if found.slower else ""


def cap_in_words(cap: Cap) -> str:
    """Return a cap with its unit and direction: A cap of 3,000 IOPS or 23.4 MB/s on reads.

    The two are one if all requests have one size; where the kind is known, the other is in brackets. What may as well
    be requests that took longer is called so.
    """
    if cap.kind == "cpu":
        return f"A quota of {amount(cap.cap, 'CPUs')}"
    text = f"A cap of {_both_kinds(cap.cap, cap.request_bytes, cap)}{_with_flushes(cap)}{_OF[cap.direction]}"
    for way, level, request_bytes in cap.beside:
        text += f", or of {_both_kinds(level, request_bytes, cap)}{_OF[way]}"
    return text if cap.is_sure else f"{text}, or {_REQUESTS[cap.direction]} that took longer{_each(cap)}"


def slower_in_words(slower: Cap) -> str:
    """Return that requests took longer, and how long: Reads took longer (2.7 ms each instead of 1 ms)."""
    return f"{_REQUESTS[slower.direction].capitalize()} took longer{_each(slower)}"


def _both_kinds(level: float, request_bytes: float | None, cap: Cap) -> str:
    """Return a level with the unit of a cap, and in the other unit for requests of this size."""
    own = amount(level, cap.unit)
    if not request_bytes:
        return own
    in_mb = request_bytes / MIB
    other = amount(level * in_mb, "MB/s") if cap.kind == "iops" else amount(level / in_mb, "IOPS")
    if cap.kind_known:
        return f"{own} ({other})" if cap.kind == "iops" else own
    return f"{own} or {other}"


def _with_flushes(cap: Cap) -> str:
    """Return the level of a cap that counts flushes as writes, if they are so many that it matters."""
    requests = cap.cap if cap.kind == "iops" else cap.cap * MIB / (cap.request_bytes or math.inf)
    if not requests or cap.flushes < FLUSHES_MATTER * requests:
        return ""
    return f", or {amount(requests + cap.flushes, 'IOPS')} with flushes,"


def _each(cap: Cap) -> str:
    """Return how long each request took under a cap and without it, if that is known."""
    if cap.each_ms is None:
        return ""
    free, under = (f"{value:.3g} ms" for value in cap.each_ms)
    return f" ({under} each instead of {free})"


def _of_cap(found: CapSearch, cap: Cap, unit: str) -> str:
    """Return which level the load had for how long, why, and what speaks for it."""
    tells = _evidence(cap)
    end_s = cap.lifted_at_s
    goes_on = end_s is not None and any(abs(each.held[0][0] - end_s) <= NEXT_S for each in found.more)
    if cap.is_sure:
        levels = _levels(cap, unit, f" under a{cap_in_words(cap)[1:]}", "" if goes_on else "it was lifted at ")
        return f"{levels}. {_beyond(cap)}{tells}"
    why = f"{cap_in_words(cap)}: nothing that was measured tells which"
    return f"{_levels(cap, unit)}. {why}. {tells}"


def _of_slower(slower: Cap, unit: str) -> str:
    """Return which level a load had for how long whose requests took longer."""
    return f"{_levels(slower, unit)}. {slower_in_words(slower)}, and there was no cap: {'; '.join(slower.evidence)}"


def _levels(cap: Cap, unit: str, why: str = "", ended: str = "") -> str:
    """Return the two levels, and when the load had which; ``ended`` says how the lower one did."""
    under, free = _of(cap.sustained, unit), _of(cap.burst, unit)
    held_s = sum(end - begin for begin, end in cap.held)
    if cap.dry_at_s is None:
        return f"Held back for the first {_time(held_s)}: {under}{why}, then {free}"
    lifted = "" if cap.lifted_at_s is None else f", until {ended}{_time(cap.lifted_at_s)}"
    times = "" if len(cap.held) == 1 else f", {len(cap.held)} times, for {_time(held_s)} in all"
    named = "Burst" if cap.is_sure else "Not one level"
    return f"{named}: {free} for the first {_time(cap.dry_at_s)}, then {under}{why}{times}{lifted}"


def _further(found: CapSearch, unit: str) -> str:
    """Return the other levels of a load, in the order of time."""
    more = sorted(found.more, key=lambda each: each.held[0])
    said = [f"{_of(each.sustained, unit)} from {_time(each.held[0][0])} on ({_lower(each)})" for each in more]
    return f". Further levels: {'; '.join(said)}" if said else ""


def _lower(cap: Cap) -> str:
    text = cap_in_words(cap)
    return f"{text[0].lower()}{text[1:]}"


def _of(level: MeanRate | None, unit: str) -> str:
    return "an unknown rate" if level is None else amount(level.ops_per_s, unit)


def _beyond(cap: Cap) -> str:
    """Return what was used beyond a cap before it came into force, and whether that was a bucket."""
    if cap.used is None:
        return ""
    spent = amount(cap.used, _USED[cap.unit])
    if not cap.refills:
        return f"By then it had used {spent} more than the cap gives. "
    times = "once" if cap.refills == 1 else f"{cap.refills} times"
    return f"By then it had used {spent} more than the cap gives: a bucket, which was seen to refill {times}. "


def _evidence(cap: Cap) -> str:
    text = "; ".join(cap.evidence)
    return f"{text[:1].upper()}{text[1:]}"


def _lost(course: LevelCourse, unit: str) -> str:
    """Return how a load did not keep its level; empty if it did."""
    if swings := _swings(course, unit):
        return swings
    if course.fall is not None and course.slope_pct_per_min is not None:
        slope = f"{-course.slope_pct_per_min:.3g} % a minute"
        when = f"from {_time(course.fall[0], 0)} to {_time(course.fall[1], 0)}"
        return f"The throughput fell slowly, by {course.fall_pct:.0f} % {when}: {slope}"
    is_below = course.kept_pct < LEAST_KEPT_PCT
    if is_below and course.lowest is not None and course.lowest[1] - course.lowest[0] >= LOST_S:
        begin, end = course.lowest
        rate = "" if course.lowest_rate is None else f" at {amount(course.lowest_rate, unit)}"
        longest = f"the longest {_time(end - begin, 0)} from {_time(begin, 0)} on{rate}"
        return f"The throughput was {_below(course, unit)}, {longest}"
    return ""


def _swings(course: LevelCourse, unit: str) -> str:
    """Return how the throughput of a load swings; empty if it does not."""
    if course.period_s is None or not course.kept_pct < LEAST_KEPT_PCT:
        return ""
    return f"The throughput swings, up and down every {_time(course.period_s, 0)}: it was {_below(course, unit)}"


def _below(course: LevelCourse, unit: str) -> str:
    """Return for how much of the time a load was below its level."""
    level = f"{100 * FAR_BELOW:.0f} % of its {amount(course.level, unit)}"
    return f"below {level} for {100 - course.kept_pct:.0f} % of the time"


def _time(seconds: float, digits: int = 1) -> str:
    """Return a time in words; of some minutes no parts of a second."""
    return f"{seconds:.{digits}f} s" if seconds < MINUTES_FROM_S else format_duration(round(seconds))


def _figures(found: CapSearch) -> dict[str, Shown]:
    seconds, cap = found.seconds, found.cap or found.slower
    if cap is None:
        return {"seconds": seconds}
    levels = {"burst_ops_per_s": cap.burst, "sustained_ops_per_s": cap.sustained}
    before, under = cap.each_ms or (None, None)
    return {
        "seconds": seconds,
        **(_of_limit(cap) if found.cap else {}),
        "dry_at_s": cap.dry_at_s,
        "lifted_at_s": cap.lifted_at_s,
        "held_times": len(cap.held),
        "each_ms_before": before,
        "each_ms_under": under,
        **{name: level.ops_per_s if level else None for name, level in levels.items()},
        **{f"{name}_low": level.low if level else None for name, level in levels.items()},
        **{f"{name}_high": level.high if level else None for name, level in levels.items()},
    }


def _of_limit(cap: Cap) -> dict[str, Shown]:
    return {
        "cap": cap.cap,
        "cap_unit": cap.unit,
        "cap_kind": cap.kind if cap.kind_known or cap.kind == "cpu" else "iops or bytes",
        "cap_direction": cap.direction or None,
        "cap_known": cap.known.value,
        "refill_per_s": cap.cap if cap.known is not Known.EITHER else None,
        "bucket": cap.bucket,
        "used_before_cap": cap.used,
        "refills": cap.refills,
    }


def _of_course(course: LevelCourse | None) -> dict[str, Shown]:
    if course is None:
        return {}
    return {
        "kept_pct": round(course.kept_pct, 1),
        "fall_pct": round(course.fall_pct, 1) if course.fall else None,
        "slope_pct_per_min": course.slope_pct_per_min,
        "period_s": course.period_s,
    }
