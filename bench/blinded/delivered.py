"""What a fault did, by the injecting side's own counts, beside what its truth says: an injector may err as well."""

from __future__ import annotations

import math
from collections.abc import Iterator

from blinded.inject import Truth
from blinded.plan import CAPS, LATENCIES, QUOTAS, Kind, Place, Shape
from blinded.raw import Course, limited

# What is usual is what was in these seconds before a fault; what it changed shows so long after each of its changes,
# and until so long before the next one.
USUAL_S, SETTLED_S, BEFORE_S = 6.0, 1.5, 0.5
# How far a constant limit may be from the rate that it allowed, one that changes all the time, and a delay.
CONSTANT, CHANGING, OF_DELAY = 0.03, 0.1, 0.25
# CPUs that programs used which are no part of the bench: so many more or less of them under a fault than before it
# change what the load does, as a fault would; where they use so many all the time, that they do is true of any run.
MOST_MORE_OUTSIDE, MUCH_OUTSIDE = 0.6, 0.4
CONSTANT_SHAPES = (Shape.LEVEL, Shape.STAIRS, Shape.BUCKET)


def limited_rate(truth: Truth, course: Course, begin: float, end: float) -> float:
    """Return what was done between two moments of what the fault limits."""
    planned = truth.planned
    if planned.kind in QUOTAS:
        return course.rate("server_cpu_s", begin, end)
    way = "read" if planned.kind in (Kind.READ_IOPS, Kind.READ_BYTES) else "write"
    return limited(course, way, planned.unit, planned.place is Place.DEVICE, begin, end)


def stretches(truth: Truth) -> Iterator[tuple[float, float, float]]:
    """Yield the moments between which each limit was in force, and its level."""
    ends = [*(at for at, _ in truth.levels[1:]), truth.ended or truth.until or math.nan]
    for (at, level), end in zip(truth.levels, ends, strict=True):
        if level is not None:
            yield at, end, level


def used(truth: Truth, course: Course) -> list[float]:
    """Return the rate under each level as a share of the level; under one that changes all the time, that of all."""
    if truth.planned.shape in CONSTANT_SHAPES:
        return [
            limited_rate(truth, course, begin + SETTLED_S, end - BEFORE_S) / level
            for begin, end, level in stretches(truth)
            if end - begin > SETTLED_S + 2 * BEFORE_S
        ]
    known = [(begin, end, level) for begin, end, level in stretches(truth) if end <= (truth.until or 0.0)]
    allowed = sum(level * (end - begin) for begin, end, level in known)
    return [limited_rate(truth, course, known[0][0], known[-1][1]) * (known[-1][1] - known[0][0]) / allowed]


def added_ms(truth: Truth, course: Course) -> float:
    """Return for how long each call was delayed under the fault, in ms."""
    of_reads = truth.planned.kind is Kind.READ_LATENCY
    amount, count = ("read_delayed_ns", "reads") if of_reads else ("sync_delayed_ns", "syncs")
    return course.mean(amount, count, *_beside(truth)[1]) / 1e6


def each_ms(truth: Truth, course: Course) -> tuple[float, float]:
    """Return how long each call took before the fault and under it, in ms."""
    of_reads = truth.planned.kind is Kind.READ_LATENCY
    amount, count = ("read_ns", "reads") if of_reads else ("sync_ns", "syncs")
    before, under = (course.mean(amount, count, *times) / 1e6 for times in _beside(truth))
    return before, under


def effect(truth: Truth, course: Course) -> float:
    """Return by which share the load did less under its fault: reads, or else log syncs, or else CPU time."""
    before, under = _beside(truth)
    for name, least in (("reads", 50), ("syncs", 20), ("server_cpu_s", 0.0)):
        usual = course.rate(name, *before)
        if usual > least:
            return 1 - course.rate(name, *under) / usual
    return math.nan


def _beside(truth: Truth) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the times just before a fault, and under it; of a bucket, while it was empty for the first time."""
    at, end = truth.at or math.nan, truth.ended or truth.until or math.nan
    if truth.planned.shape is Shape.BUCKET:
        end = truth.levels[1][0] if len(truth.levels) > 1 else end
    return (at - USUAL_S, at - BEFORE_S), (at + SETTLED_S, end - BEFORE_S)


def outside(course: Course, begin: float, end: float) -> float:
    """Return how many CPUs were used by what is no part of the bench between two moments."""
    ours = (course.rate(name, begin, end) for name in ("server_cpu_s", "beside_cpu_s"))
    return max(0.0, course.rate("host_cpu_s", begin, end) - sum(ours))


def outside_all_the_time(truth: Truth, course: Course) -> float:
    """Return how many CPUs were used by what is no part of the bench, while the load lasted."""
    return outside(course, truth.began or math.nan, truth.until or math.nan)


def why_not_as_said(truth: Truth, course: Course) -> str:
    """Return in what a fault was not what its truth says, so that nobody can be judged by it; empty if it was."""
    if truth.why:
        return truth.why
    kind = truth.planned.kind
    if kind in CAPS or kind in QUOTAS:
        most = CONSTANT if truth.planned.shape in CONSTANT_SHAPES else CHANGING
        shares = used(truth, course)
        if not shares or not all(abs(share - 1) <= most for share in shares):
            return f"the limit was not what was used: {', '.join(f'{100 * share:.1f} %' for share in shares)} of it"
    if kind in LATENCIES:
        added = added_ms(truth, course)
        if not abs(added / truth.planned.delay_ms - 1) <= OF_DELAY:
            return f"{added:.2f} ms were added, and {truth.planned.delay_ms:.2f} ms were planned"
    return ""


def why_disturbed(truth: Truth, course: Course) -> str:
    """Return that programs that are no part of the bench used more CPU under the fault, or less; empty if not.

    That they use what a server leaves which is held back is no disturbance: the host is as busy as before then.
    """
    if truth.at is None:
        return ""
    before, under = (outside(course, *times) for times in _beside(truth))
    said = f"programs that are no part of it used {under:.2f} CPUs instead of {before:.2f}"
    of_host = course.rate("host_cpu_s", *_beside(truth)[1]) - course.rate("host_cpu_s", *_beside(truth)[0])
    return "" if min(abs(under - before), abs(of_host)) <= MOST_MORE_OUTSIDE else said


def in_words(truth: Truth, course: Course) -> str:
    """Return a line with what was planned, and what was counted."""
    planned = truth.planned
    of_kind = ""
    if truth.why:
        return f"{planned.kind}: {truth.why}"
    if planned.kind in CAPS or planned.kind in QUOTAS:
        levels = ", ".join("none" if level is None else f"{level:,.4g}" for _, level in truth.levels[:7])
        shares = ", ".join(f"{100 * share:.1f}" for share in used(truth, course))
        free = limited_rate(truth, course, (truth.at or 0) - USUAL_S, (truth.at or 0) - BEFORE_S)
        of_kind = f"{planned.shape}, {planned.unit}, {planned.place}: {free:,.4g} before; {levels}; used {shares} %"
    if planned.kind in LATENCIES:
        how = "spread" if planned.spread else "even"
        before, under = each_ms(truth, course)
        added = f"{planned.delay_ms:.2f} ms planned, {added_ms(truth, course):.2f} ms added"
        of_kind = f"{how}, {added}; each took {before:.2f} ms before, then {under:.2f} ms"
    at_s = "" if truth.at is None else f" at {truth.at - (truth.began or 0):.1f} s"
    changed = "" if truth.at is None else f"; the load did {100 * effect(truth, course):.0f} % less"
    return f"{planned.kind}{at_s}: {of_kind}{changed}; {outside_all_the_time(truth, course):.2f} CPUs of others"
