"""What an engine counted by its readings in `samples.csv`: of the whole load, and of each interval in `engine.csv`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openslob.analyze.rebuild import ROUNDING
from openslob.core.measurement import EngineDelta
from openslob.engines.base import CounterReading, Counting
from openslob.record.facts import same
from openslob.record.raw_csv import Cell, counter_readings, raw_table

_READINGS, _INTERVALS, _DURATIONS = "samples.csv", "engine.csv", "engine_latency.csv"
# The reading before an interval's is at most so many before it: that before the last is taken if the last came at once.
_KEPT = 3

_Span = tuple[int, int]
_Values = dict[tuple[Cell, ...], float]
_Amounts = dict[_Span, _Values]


@dataclass
class Recount:
    """What was counted between the first and the last reading; None without two. ``faults`` say what is wrong.

    ``intervals`` is how many in `engine.csv` follow from readings.
    """

    counted: EngineDelta | None = None
    faults: list[str] = field(default_factory=list)
    intervals: int = 0


def recount(folder: Path, counting: Counting, thinned: bool) -> Recount:
    """Take the differences of a record's readings again. ``thinned``: not every reading was kept.

    SlobError for a damaged file.
    """
    written, durations = _rows(folder, _INTERVALS), _rows(folder, _DURATIONS)
    found, first = Recount(), None
    before: deque[CounterReading] = deque(maxlen=_KEPT)
    left = set(written) | set(durations)
    for after in readings(folder):
        first = first or after
        spans = [span for each in before if (span := (each.server_ns, after.server_ns)) in left]
        for span in spans:
            counted = counting.difference(next(each for each in before if each.server_ns == span[0]), after)
            found.faults += _differences(_INTERVALS, span, written.get(span, {}), _amounts(counted))
            found.faults += _differences(_DURATIONS, span, durations.get(span, {}), _by_span(counted))
            found.intervals += 1
        left.difference_update(spans)
        if before and not spans and not thinned and _amounts(counting.difference(before[-1], after)):
            found.faults.append(
                f"{_INTERVALS} has no interval that ends with the reading of {_READINGS} at {after.server_ns}"
            )
        before.append(after)
    if not thinned:
        found.faults += [f"{_READINGS} has no readings of the interval of {_INTERVALS} from {begin} to {end}"
                         for begin, end in sorted(left)]  # fmt: skip
    if first is not None and before[-1] is not first:
        found.counted = counting.difference(first, before[-1])
    return found


def readings(folder: Path) -> Iterator[CounterReading]:
    """Yield the readings of the engine's counters."""
    for moment, epoch, values in counter_readings(folder):
        yield CounterReading(moment, values, epoch)


def _rows(folder: Path, file: str) -> _Amounts:
    """Return the values of a file by interval, and by what they are of."""
    found: _Amounts = {}
    for begin, end, *of, value in raw_table(folder, file)[1]:
        found.setdefault((int(begin or 0), int(end or 0)), {})[tuple(of)] = float(value or 0)
    return found


def _amounts(counted: EngineDelta) -> _Values:
    return {(name,): float(value) for name, value in counted.amounts().items() if value is not None}


def _by_span(counted: EngineDelta) -> _Values:
    waits = counted.storage_waits
    return {(event, *span): float(count) for event, spans in waits.items() for span, count in spans.items()}


def _differences(file: str, span: _Span, written: _Values, counted: _Values) -> Iterator[str]:
    for name in dict.fromkeys([*written, *counted]):
        one, other = written.get(name), counted.get(name)
        if not same(one, other, ROUNDING):
            what = " ".join(map(str, name))
            yield f"{what} from {span[0]} to {span[1]} is {one!r} in {file}, and {_READINGS} says {other!r}"
