"""What the course of a long run comes to: its level in each period, how far it fell, what happened and when.

A run may consist of several segments, with gaps in which nothing was recorded. The traces of the segments are joined
into one, which knows nothing of the gaps; no figure includes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from openslob.analyze.change_points import change_points
from openslob.analyze.outcome import Shown, count_noun, fails, holds, holds_or_fails, unknown
from openslob.analyze.steady_state import (
    MAX_DRIFT_PCT,
    MAX_SPREAD_PCT,
    MIN_STEADY_POINTS,
    RatePoint,
    drift_pct,
    steady_since,
)
from openslob.analyze.steps import stretches
from openslob.analyze.trace import COUNTED, Mark, Trace
from openslob.core.units import NANOS, format_bytes, format_duration
from openslob.kinds.endurance.steady_snia import (
    MAX_EXCURSION_PCT,
    MAX_SLOPE_PCT,
    ROUND_S,
    ROUNDS,
    SniaResult,
    round_averages,
)
from openslob.record.model import Verdict

_Array = NDArray[np.float64]

# The lengths in seconds of the periods whose levels are shown; the longest of which a run has `PERIODS` whole ones.
PERIOD_S = (10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86_400.0)
PERIODS = 3
# A step below these shares of the median is counted.
SHARES = (0.9, 0.5)
# A level that fell by less is no cliff: runs on a quiet machine differ by half as much.
LEAST_DROP = 0.15
# After a cliff the level stays below this share of what it was.
STAYS_BELOW = 0.9
# The points in which a lasting change is looked for.
CHANGE_POINTS = 150
# In a shorter run, a level that lasts and a slow minute look the same.
LEAST_COURSE_S = 300.0
LASTS_SHARE = 0.25
# The time of a write grows so much where a device runs out of free cells.
SLOWER_WRITES = 1.25
# If other programs took so much more of the CPUs from then on, they may be why, and not the device.
OTHERS_SHARE = 0.05
GAP = "gap"
# Of more of a kind, the time from one to the next is not computed.
MOST_COUNTED = 1_000_000
# The series of bytes written, the best first.
WRITTEN = ("device.write_bytes", "server.write_bytes")
# What an event costs is looked for so long after it began.
AFTER_S = 30.0
# A rest that is shorter is within the length of a slice.
LEAST_SHARE = 0.999
# Steady state that was reached must be kept in so many of the windows after it.
LEAST_KEPT = 0.9
# The part of the run that must be steady at its end.
STEADY_SHARE = 0.5
NAMES = ("time_covered", "steady_by_snia", "steady_course", "level_lasted", "level_sustained")


@dataclass(frozen=True)
class RateLevel:
    """What was done from ``begin_s`` to ``end_s``: the rate, and those of the slow and of the quick steps (5 %, 95 %).

    ``known_s`` is the time of which it is known; ``rates`` has further series per second, by their names in a `Trace`.
    """

    begin_s: float
    end_s: float
    known_s: float
    ops: float
    low: float
    high: float
    rates: Mapping[str, float | None]


@dataclass(frozen=True)
class Shortfall:
    """How long the rate was below ``share`` of the median: share of the time, and the longest stretch, None if none."""

    share: float
    time_pct: float
    longest_begin_s: float | None
    longest_s: float


@dataclass(frozen=True)
class Drop:
    """A lasting drop of the level at ``at_s``, after ``written_bytes`` were written (None: not known)."""

    at_s: float
    before: float
    after: float
    written_bytes: float | None
    is_write_cliff: bool

    @property
    def drop_pct(self) -> float:
        """How far it fell, in % of the level before."""
        return 100 * (1 - self.after / self.before)


@dataclass(frozen=True)
class Occurrences:
    """All marks of one kind: how many, how long together, the usual time from one to the next, and what they cost.

    How long those took that a server counts is not known. Several in one mark are taken to come at equal distances.
    ``ops_inside`` is the rate in them and up to `AFTER_S` after they begin, but in no more than half of the time to the
    next: a checkpoint is counted when it begins, and costs the most then. ``ops_outside`` is the rate in all other
    steps. None: not known.
    """

    kind: str
    count: int
    seconds: float | None
    every_s: float | None
    ops_inside: float | None
    ops_outside: float | None


def join_traces(parts: Sequence[tuple[float, Trace]], gaps: Sequence[Mark] = ()) -> Trace:
    """Return the traces of segments as one, with ``gaps`` as marks. A trace begins at its number of seconds.

    All steps are as long as the longest; series that are no rates are left out of traces with shorter ones.
    """
    step = max(trace.step_s for _, trace in parts)
    coarse = [(begin, in_steps(trace, step)) for begin, trace in parts]
    count = max(round(begin / step) + trace.steps for begin, trace in coarse)
    series = {
        name: np.full(count, np.nan) for name in dict.fromkeys(name for _, trace in coarse for name in trace.series)
    }
    for begin, trace in coarse:
        first = round(begin / step)
        for name, values in trace.series.items():
            series[name][first : first + len(values)] = values
    marks = [
        replace(mark, at_s=mark.at_s + begin, until_s=mark.until_s + begin)
        for begin, trace in coarse
        for mark in trace.marks
    ]
    in_order = sorted([*marks, *gaps], key=lambda mark: mark.at_s)
    probes = [replace(probe, at_s=probe.at_s + begin) for begin, trace in coarse for probe in trace.probes]
    return Trace(parts[0][1].begin_ns - round(parts[0][0] * NANOS), step, series, tuple(in_order), probes)


def in_steps(trace: Trace, step_s: float) -> Trace:
    """Return a trace with longer steps: means of the rates; percentiles of parts have no percentile of the whole."""
    if trace.step_s >= step_s:
        return trace
    each = max(round(step_s / trace.step_s), 1)
    padded = {
        name: np.concatenate([values, np.full(-len(values) % each, np.nan)])
        for name, values in trace.series.items()
        if not name.startswith("latency.")
    }
    series = {name: round_averages(values, trace.step_s, step_s) for name, values in padded.items()}
    return replace(trace, step_s=step_s, series=series)


def period_length(seconds: float) -> float:
    """Return the length of the periods whose levels are shown of a run that lasts so long."""
    return next((each for each in reversed(PERIOD_S) if seconds / each >= PERIODS), PERIOD_S[0])


def levels(trace: Trace, rates: Sequence[str] = ()) -> list[RateLevel]:
    """Return the level of each period of which something is known; the last one may be shorter."""
    each = max(round(period_length(trace.seconds) / trace.step_s), 1)
    found = []
    for first in range(0, trace.steps, each):
        part = slice(first, min(first + each, trace.steps))
        ops = _drop_unknown(trace.get("ops")[part])
        if len(ops):
            low, high = np.percentile(ops, [5, 95])
            found.append(
                RateLevel(
                    begin_s=first * trace.step_s,
                    end_s=part.stop * trace.step_s,
                    known_s=len(ops) * trace.step_s,
                    ops=float(ops.mean()),
                    low=float(low),
                    high=float(high),
                    rates={name: known_mean(trace.get(name)[part]) for name in rates},
                )
            )
    return found


def first_and_last(trace: Trace) -> tuple[float | None, float | None]:
    """Return the rates of the first and of the last period's length; None for a run that has no two of them."""
    period, ops = period_length(trace.seconds), trace.get("ops")
    steps = round(period / trace.step_s)
    return (known_mean(ops[:steps]), known_mean(ops[-steps:])) if len(ops) >= 2 * steps else (None, None)


def shortfalls(trace: Trace) -> list[Shortfall]:
    """Return how long the rate was below each of `SHARES` of its median; none where no rate is known."""
    ops = trace.get("ops")
    known = _drop_unknown(ops)
    if not len(known):
        return []
    found = []
    for share in SHARES:
        below = np.nan_to_num(ops, nan=np.inf) < share * float(np.median(known))
        begin, end = max(stretches(below), key=lambda each: each[1] - each[0], default=(0, 0))
        found.append(
            Shortfall(
                share=share,
                time_pct=100 * float(below.sum()) / len(known),
                longest_begin_s=begin * trace.step_s if end else None,
                longest_s=(end - begin) * trace.step_s,
            )
        )
    return found


def lasting_drop(trace: Trace) -> Drop | None:
    """Return the first drop of the level that lasts until the end; None if there is none, or the run is too short.

    It is a write cliff if the load wrote, and the device took longer for each write from then on: the level of most
    solid-state drives falls for good once so much was written that none of their cells are free.
    """
    if trace.seconds < LEAST_COURSE_S:
        return None
    points = rate_points(trace)
    changes = change_points([rate for _, rate in points])
    for number, change in enumerate(changes):
        later = max(following.after for following in changes[number:])
        at_s = points[change.at][0]
        lasts = trace.seconds - at_s >= LASTS_SHARE * trace.seconds
        if lasts and change.after <= (1 - LEAST_DROP) * change.before and later <= STAYS_BELOW * change.before:
            return Drop(at_s, change.before, change.after, written_bytes(trace, at_s), _writes_slowed(trace, at_s))
    return None


def rate_points(trace: Trace) -> list[RatePoint]:
    """Return the rates of some hundred equal parts, by when they begin; none of those where it is unknown."""
    step = max(round(trace.seconds / CHANGE_POINTS / trace.step_s), 1) * trace.step_s
    rates = round_averages(trace.get("ops"), trace.step_s, step)
    return [(at * step, float(rate)) for at, rate in enumerate(rates) if np.isfinite(rate)]


def _writes_slowed(trace: Trace, at_s: float) -> bool:
    """Return whether the device took longer for a write after ``at_s`` than before, and others did not take CPU."""
    at = round(at_s / trace.step_s)
    others = trace.get("host.busy") - trace.get("server.cpu")
    more = (known_mean(others[at:]) or 0.0) - (known_mean(others[:at]) or 0.0)
    if more > OTHERS_SHARE * (known_mean(trace.get("host.cores")) or 1.0):
        return False
    before, after = (
        (known_mean(trace.get("device.write_ms")[part]), known_mean(trace.get("device.writes")[part]))
        for part in (slice(0, at), slice(at, None))
    )
    if not (before[0] and before[1] and after[0] and after[1]):
        return False
    return after[0] / after[1] >= SLOWER_WRITES * before[0] / before[1]


def written_bytes(trace: Trace, until_s: float) -> float | None:
    """Return the bytes that were written until then; None if they are not known.

    They are those of the device, whoever wrote them; or else of the server's processes; or else what the engine counts.
    """
    steps = slice(0, round(until_s / trace.step_s))
    for of_one in (*((name,) for name in WRITTEN), ("engine.write_bytes", "engine.log_bytes")):
        parts = [trace.get(name)[steps] for name in of_one]
        if all(len(_drop_unknown(part)) for part in parts):
            return float(sum(np.nansum(part) for part in parts)) * trace.step_s
    return None


def occurrences(trace: Trace) -> list[Occurrences]:
    """Return what the marks of each kind come to."""
    kinds = dict.fromkeys(mark.kind for mark in trace.marks)
    return [_occurrences(trace, kind, [mark for mark in trace.marks if mark.kind == kind]) for kind in kinds]


def _occurrences(trace: Trace, kind: str, marks: Sequence[Mark]) -> Occurrences:
    inside = np.zeros(trace.steps, dtype=bool)
    starts = [mark.at_s for mark in marks]
    for mark, following in zip(marks, [*starts[1:], trace.seconds], strict=True):
        until_s = max(mark.until_s, mark.at_s + min(AFTER_S, (following - mark.at_s) / 2))
        first = int(mark.at_s / trace.step_s)
        inside[first : max(int(np.ceil(until_s / trace.step_s)), first + 1)] = True
    ops = trace.get("ops")
    count = sum(mark.count for mark in marks)
    each = [
        mark.at_s + at * (mark.until_s - mark.at_s) / mark.count
        for mark in marks
        for at in range(mark.count if count <= MOST_COUNTED else 0)
    ]
    return Occurrences(
        kind=kind,
        count=count,
        seconds=None if kind in COUNTED else sum(mark.until_s - mark.at_s for mark in marks),
        every_s=float(np.median([b - a for a, b in pairwise(each)])) if len(each) > 2 else None,
        # Steps at the edges of a gap are known; what was done in the gap is not.
        ops_inside=None if kind == GAP else known_mean(ops[inside]),
        ops_outside=known_mean(ops[~inside]),
    )


def _drop_unknown(values: _Array) -> _Array:
    return values[~np.isnan(values)]


def known_mean(values: _Array) -> float | None:
    """Return the mean of what is known of a series; None if nothing is."""
    known = _drop_unknown(values)
    return float(known.mean()) if len(known) else None


def time_covered(measured_s: float, planned_s: float, gaps_s: Sequence[float]) -> Verdict:
    """Judge whether all of the planned time was measured, without a gap."""
    figures = {"measured_s": round(measured_s, 1), "planned_s": planned_s, "gaps_s": round(sum(gaps_s), 1)}
    of = f"{format_duration(measured_s)} of {format_duration(planned_s)} were measured"
    if gaps_s:
        left_out = (
            f"{count_noun(len(gaps_s), 'gap')} of {format_duration(sum(gaps_s))} in all, which no figure includes"
        )
        return fails("time_covered", f"{of[0].upper()}{of[1:]}, with {left_out}.", **figures)
    return holds_or_fails("time_covered", measured_s >= LEAST_SHARE * planned_s, f"{of}, without a gap.", **figures)


def steady_by_snia(found: SniaResult) -> Verdict:
    """Judge whether steady state by SNIA's criteria was reached in time, kept for most of the rest, and at the end."""
    if found.last is None:
        return unknown("steady_by_snia", f"Not enough data: {found.why}.")
    first, last, kept = found.first, found.last, found.kept_share
    figures: dict[str, Shown] = {
        "round_s": ROUND_S,
        "reached_s": first.begin_s if first else None,
        "kept_pct": None if kept is None else round(100 * kept, 1),
        "excursion_pct": round((first or last).excursion_pct, 2),
        "slope_pct": round((first or last).slope_pct, 2),
        "last_excursion_pct": round(last.excursion_pct, 2),
        "last_slope_pct": round(last.slope_pct, 2),
    }
    limits = f"excursion at most {MAX_EXCURSION_PCT:g} %, slope at most {MAX_SLOPE_PCT:g} %"
    rounds = f"five rounds of {format_duration(ROUND_S)}"
    if first is None:
        seen = f"in the last one the excursion was {last.excursion_pct:.1f} % and the slope {last.slope_pct:+.1f} %"
        return fails("steady_by_snia", f"No window of {rounds} is steady ({limits}); {seen}.", **figures)
    reached = f"Reached at {format_duration(first.end_s)}, in {rounds} ({limits})"
    met = "too" if last.is_steady else "does not"
    held = f"{100 * (kept or 0):.0f} % of the windows from there on meet the criteria"
    late = "" if found.in_time else f", after the {ROUNDS} rounds within which the specification asks for it"
    so = found.in_time and last.is_steady and (kept or 0) >= LEAST_KEPT
    return holds_or_fails("steady_by_snia", so, f"{reached}{late}; {held}, the last one {met}.", **figures)


def steady_course(points: Sequence[RatePoint], end_s: float) -> Verdict:
    """Judge whether at least the later half was steady by the criteria that runs have."""
    if len(points) < MIN_STEADY_POINTS:
        return unknown(
            "steady_course", f"Not enough data: it needs {MIN_STEADY_POINTS} points, there are {len(points)}."
        )
    since, drift = steady_since(points), drift_pct(points)
    figures = {"steady_since_s": since, "drift_pct": None if drift is None else round(drift, 2)}
    limits = f"drift within {MAX_DRIFT_PCT:g} %, spread within {MAX_SPREAD_PCT:g} %"
    if since is None:
        return fails("steady_course", f"No part that lasts until the end is steady ({limits}).", **figures)
    so = end_s - since >= STEADY_SHARE * (end_s - points[0][0])
    why = f"Steady from {format_duration(since)} until the end, {format_duration(end_s)} ({limits})."
    return holds_or_fails("steady_course", so, why, **figures)


def level_lasted(drop: Drop | None, known_s: float) -> Verdict:
    """Judge whether the level did not fall for good."""
    if known_s < LEAST_COURSE_S:
        least = format_duration(LEAST_COURSE_S)
        return unknown(
            "level_lasted", f"Too short to tell: it needs {least}, and {format_duration(known_s)} are known."
        )
    if drop is None:
        return holds("level_lasted", "The level did not fall for good at any time.")
    written = "" if drop.written_bytes is None else f", after {format_bytes(drop.written_bytes)} were written"
    what = "Write cliff" if drop.is_write_cliff else "The level fell for good"
    return fails(
        "level_lasted",
        f"{what} at {format_duration(drop.at_s)}{written}: from {drop.before:,.0f} to {drop.after:,.0f} operations/s "
        f"(-{drop.drop_pct:.0f} %), and it did not come back.",
        at_s=drop.at_s,
        before_per_s=drop.before,
        after_per_s=drop.after,
        written_bytes=drop.written_bytes,
    )
