"""What an endurance run comes to, read from the raw files of its segments: its course, figures, tables and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openslob.analyze import heat
from openslob.analyze.causes import SLOW, Episode, episodes
from openslob.analyze.level import search
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.run_folder import read_tables
from openslob.analyze.run_tables import RunTables
from openslob.analyze.steps import step_s
from openslob.analyze.trace import Mark, Trace, trace_of
from openslob.analyze.verdicts.environment import least_for
from openslob.analyze.verdicts.level import cap_in_words, slower_in_words, sustained
from openslob.core.histogram import BUCKETS, PERCENTILES, Histogram
from openslob.core.measurement import Cap, CapSearch
from openslob.core.units import NANOS, format_bytes
from openslob.kinds.endurance import figures as endurance
from openslob.kinds.endurance.figures import (
    CHANGE_POINTS,
    GAP,
    WRITTEN,
    Drop,
    RateLevel,
    join_traces,
    known_mean,
    level_lasted,
    steady_by_snia,
    steady_course,
    time_covered,
)
from openslob.kinds.endurance.record import EnduranceRecord, Segment
from openslob.kinds.endurance.steady_snia import snia_steady_state
from openslob.record import store
from openslob.record.model import Figure, Holds
from openslob.record.raw_csv import Event, event_rows, window_facts

# Series of the trace that the levels have, with the names that the record gives them.
RATES = {"engine.read_requests": "reads_per_s", "commits": "commits_per_s"}
# A time line with more marks would be longer than anybody reads; each kind is counted in another table.
MOST_MARKS = 5000
BURST, CAPPED, LOWER = "burst", "cap", "lower level"
# The slow stretches that are kept, and the steps in which they are looked for: more would take minutes.
MOST_EPISODES, MOST_STEPS_LOOKED_AT = 200, 3600
# And those in which a cap is looked for: seconds, in a run of a working day.
MOST_STEPS_SEARCHED = 30_000


@dataclass(frozen=True)
class KnownSegment:
    """A segment of which something is known: when its load began, in seconds after the first one's, and its tables."""

    begin_s: float
    tables: RunTables
    trace: Trace


@dataclass(frozen=True)
class EnduranceCourse:
    """The course of an endurance run; its trace has the gaps, and what is known by its kind, as marks."""

    parts: Sequence[KnownSegment]
    trace: Trace
    levels: Sequence[RateLevel]
    drop: Drop | None

    @cached_property
    def caps(self) -> CapSearch:
        """Whether a cap came into force in the time that is known."""
        return replace(search(_coarse(self.trace, MOST_STEPS_SEARCHED)), seconds=self.known_s)

    @property
    def known_s(self) -> float:
        """The time whose rate is known."""
        return float(np.isfinite(self.trace.get("ops")).sum()) * self.trace.step_s

    def counts(self, edges_s: Sequence[float]) -> NDArray[np.int64]:
        """Return how many operations fell between each two neighbouring edges, by bucket of their latency."""
        found = np.zeros((len(edges_s) - 1, BUCKETS), dtype=np.int64)
        for part in self.parts:
            for latencies in part.tables.latency.values():
                units, buckets, counts = latencies.entries
                at = np.searchsorted(edges_s, units * part.tables.unit_s + part.begin_s + 1e-6, side="right") - 1
                inside = (at >= 0) & (at < len(found))
                np.add.at(found, (at[inside], buckets[inside]), counts[inside])
        return found


def read_course(folder: Path, record: EnduranceRecord) -> EnduranceCourse | None:
    """Read the course of the run in ``folder``; None before anything was measured. SlobError for a damaged file."""
    measured = [each for each in record.segments if each.run and each.begin_s is not None and each.seconds]
    if not measured:
        return None
    zero_s = measured[0].begin_s or 0.0
    parts = [_part(folder, each, (each.begin_s or 0.0) - zero_s) for each in measured]
    gaps = [Mark(gap.begin_s - zero_s, gap.end_s - zero_s, GAP, gap.why) for gap in record.gaps]
    return course_of(parts, join_traces([(part.begin_s, part.trace) for part in parts], gaps))


def course_of(parts: Sequence[KnownSegment], trace: Trace) -> EnduranceCourse:
    """Return the course with its levels and its lasting drop."""
    course = EnduranceCourse(parts, trace, endurance.levels(trace, (*RATES, *WRITTEN)), endurance.lasting_drop(trace))
    if course.drop and course.drop.is_write_cliff and _is_capped(course.drop, course):
        return replace(course, drop=replace(course.drop, is_write_cliff=False))
    return course


def _is_capped(drop: Drop, course: EnduranceCourse) -> bool:
    """Return whether a cap came into force at a drop: behind the device that its host sees, it makes writes slower."""
    within_s = 2 * course.trace.seconds / CHANGE_POINTS
    cap = course.caps.cap
    return cap is not None and any(begin - within_s <= drop.at_s <= end for begin, end in cap.held)


def _part(folder: Path, segment: Segment, begin_s: float) -> KnownSegment:
    path = folder / (segment.run or "")
    run, seconds = store.load(path), segment.seconds or 0.0
    offset_ns = round(float(run.environment.get("server_clock_offset_s") or 0) * NANOS)
    if run.window is not None:
        begin_ns = run.window.load_start_ns
    else:
        facts = window_facts(path)
        begin_ns, offset_ns = facts[Event.BEGIN_NS], facts.get(Event.CLOCK_OFFSET_NS, 0)
    tables = read_tables(path, begin_ns, offset_ns, seconds)
    trace = trace_of(tables, seconds, event_rows(path), load_kind(run).publishes_late)
    return KnownSegment(begin_s, tables, trace)


@dataclass(frozen=True)
class CourseStep:
    """A step of a picture: its rate, those that 5 % of its time was below and above, and its latencies by bucket.

    None: not known.
    """

    begin_s: float
    end_s: float
    ops: float | None
    low: float | None
    high: float | None
    counts: NDArray[np.int64]

    def cells(self) -> list[heat.Cell]:
        """Return the cells of a map of latencies."""
        return heat.cells({int(bucket): int(self.counts[bucket]) for bucket in np.flatnonzero(self.counts)})


def course_steps(course: EnduranceCourse, step_s: float) -> list[CourseStep]:
    """Return the course in steps of about so many seconds, also those of which nothing is known."""
    trace = course.trace
    each = max(round(step_s / trace.step_s), 1)
    edges = [*range(0, trace.steps, each), trace.steps]
    counts = course.counts([edge * trace.step_s for edge in edges])
    steps = []
    for (first, last), of_step in zip(pairwise(edges), counts, strict=True):
        ops = trace.get("ops")[first:last]
        known = ops[np.isfinite(ops)]
        low, high = np.percentile(known, [5, 95]) if len(known) else (None, None)
        span = first * trace.step_s, last * trace.step_s
        steps.append(CourseStep(*span, known_mean(ops), low and float(low), high and float(high), of_step))
    return steps


def with_figures(folder: Path, record: EnduranceRecord) -> EnduranceRecord:
    """Return the record with the figures, verdicts and tables of what was measured so far."""
    course = read_course(folder, record)
    record = record.model_copy(update={"judged_segments": record.measured_segments})
    failing = {"segment_verdicts": _failing(folder, record)}
    covered = time_covered(record.measured_s, record.planned_s, [gap.seconds for gap in record.gaps])
    if course is None:
        return record.model_copy(update={"verdicts": (covered,), "summary": {}, "tables": failing})
    trace, points, caps = course.trace, endurance.rate_points(course.trace), course.caps
    snia = snia_steady_state(trace.get("ops"), trace.step_s)
    slow = _slow_stretches(trace, caps)
    verdicts = (
        covered,
        steady_by_snia(snia),
        steady_course(points, trace.seconds),
        level_lasted(course.drop, course.known_s),
        sustained(caps, "operations/s"),
    )
    tables = {
        "levels": _level_rows(course),
        "shortfalls": tuple(asdict(each) for each in endurance.shortfalls(trace)),
        "occurrences": tuple(asdict(each) for each in endurance.occurrences(trace)),
        "episodes": tuple(asdict(each) for each in slow),
        "marks": tuple(asdict(each) for each in _marks(course, slow)),
        **failing,
        "snia_windows": tuple(asdict(each) | {"steady": each.is_steady} for each in snia.windows),
    }
    return record.model_copy(update={"verdicts": verdicts, "summary": _summary(course), "tables": tables})


def _failing(folder: Path, record: EnduranceRecord) -> tuple[Mapping[str, Any], ...]:
    """Return the verdicts on single segments that fail, by segment; a killed one has none."""
    return tuple(
        {"segment": segment.number, "name": verdict.name, "why": verdict.why}
        for segment in record.segments
        if segment.run
        for verdict in store.load(folder / segment.run).verdicts
        if verdict.verdict is Holds.FAILS
    )


def _slow_stretches(trace: Trace, caps: CapSearch) -> list[Episode]:
    """Return the slow stretches that cost the most, in the order of time; of a long run, those of many seconds."""
    found = episodes(_coarse(trace, MOST_STEPS_LOOKED_AT), caps)
    worst = sorted(found, key=lambda each: -each.lost_ops)[:MOST_EPISODES]
    return sorted(worst, key=lambda each: each.begin_s)


def _coarse(trace: Trace, most: int) -> Trace:
    """Return the course in steps of which there are so many at most."""
    return endurance.in_steps(trace, max(trace.step_s, float(step_s(trace.seconds, most))))


def _marks(course: EnduranceCourse, slow: Sequence[Episode]) -> list[Mark]:
    """Return the time line, with what was found in it, in the order of time."""
    stretches = [Mark(each.begin_s, each.end_s, SLOW, f"{each.cause}: {each.evidence}") for each in slow]
    known = [*course.trace.marks[: MOST_MARKS - 1], *stretches, *_of_cap(course.caps)]
    marks = sorted(known, key=lambda each: each.at_s)
    drop = course.drop
    if drop is None:
        return marks
    written = "" if drop.written_bytes is None else f" after {format_bytes(drop.written_bytes)} written"
    text = f"from {drop.before:,.0f} to {drop.after:,.0f} operations/s{written}"
    mark = Mark(drop.at_s, drop.at_s, "write cliff" if drop.is_write_cliff else "lasting drop", text)
    return sorted([*marks, mark], key=lambda each: each.at_s)


def _of_cap(caps: CapSearch) -> Iterator[Mark]:
    """Yield the bursts before a cap came into force, the times in which it was, and those of other lower levels."""
    if caps.cap and caps.cap.is_sure and not caps.cap.always:
        yield from _bursts(caps.cap)
    for cap in (caps.cap, *caps.more):
        if cap and not cap.always:
            text = cap_in_words(cap)
            yield from _held(cap, CAPPED, text.removeprefix("A cap of ")) if cap.is_sure else _held(cap, LOWER, text)
    if caps.slower:
        yield from _held(caps.slower, LOWER, slower_in_words(caps.slower))


def _bursts(cap: Cap) -> Iterator[Mark]:
    since, text = 0.0, cap_in_words(cap)
    rate = f"{cap.burst.ops_per_s:,.0f} operations/s, " if cap.burst else ""
    for begin, end in cap.held[:MOST_MARKS]:
        if begin > since:
            yield Mark(since, begin, BURST, f"{rate}until {text[0].lower()}{text[1:]} came into force")
        since = end


def _held(cap: Cap, kind: str, text: str) -> Iterator[Mark]:
    rate = f", {cap.sustained.ops_per_s:,.0f} operations/s" if cap.sustained else ""
    yield from (Mark(begin, end, kind, f"{text}{rate}") for begin, end in cap.held[:MOST_MARKS])


def _level_rows(course: EnduranceCourse) -> tuple[Mapping[str, Any], ...]:
    rows = []
    for level in course.levels:
        counts = course.counts([level.begin_s, level.end_s])[0]
        rows.append({
            "begin_s": level.begin_s, "end_s": level.end_s, "known_s": level.known_s, "ops_per_s": level.ops,
            "low_per_s": level.low, "high_per_s": level.high,
            **{name: level.rates[series] for series, name in RATES.items()},
            "written_per_s": next((rate for name in WRITTEN if (rate := level.rates[name]) is not None), None),
            **percentiles(counts),
        })  # fmt: skip
    return tuple(rows)


def percentiles(counts: NDArray[np.int64]) -> dict[str, float | None]:
    """Return percentiles and the maximum of operations by bucket; None where too few lie beyond a percentile."""
    found = Histogram({int(bucket): int(counts[bucket]) for bucket in np.flatnonzero(counts)}, max_us=float("inf"))
    return {
        name: found.quantile_us(share) if found.count >= least_for(share) else None
        for name, share in PERCENTILES.items()
    }


def _summary(course: EnduranceCourse) -> dict[str, Figure]:
    trace = course.trace
    counts = course.counts([0.0, trace.seconds + 1])[0]
    written = endurance.written_bytes(trace, trace.seconds)
    first, last = endurance.first_and_last(trace)
    change = None if not first or last is None else 100 * (last - first) / first
    short = "the run is too short to have two periods"
    return {
        "ops_per_s": Figure.of(known_mean(trace.get("ops")), "1/s", "no operation was recorded"),
        **{name: Figure.of(value, "µs", "too few operations") for name, value in percentiles(counts).items()},
        "first_level_per_s": Figure.of(first, "1/s", short),
        "last_level_per_s": Figure.of(last, "1/s", short),
        "last_to_first_pct": Figure.of(change, "%", short),
        "written_bytes": Figure.of(written, "B", "neither the device's nor the server's writes are known"),
    }
