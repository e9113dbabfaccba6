"""Points that others measured, such as those of a server's own reports, as lines like a sweep's.

Only the figures that are given are known; the others carry the reason. Reports of the same point are its repeats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openslob.analyze.curves.points import ORDER, SESSIONS, Point
from openslob.analyze.curves.series import PHYSICAL, PointSet, series_of
from openslob.analyze.statistics import Estimate, of_repeats
from openslob.metrics import METRICS
from openslob.record.model import Holds, Verdict

SERIES = "series"


@dataclass(frozen=True)
class ExternalPoint:
    """A point of the line ``series``, from ``source``. ``figures`` by their names in the registry; None is not known.

    ``sessions`` is its place in the line: their number, or by ``along`` the report's place among all.
    """

    series: str
    sessions: int
    figures: Mapping[str, float | None]
    source: str
    verdicts: Sequence[Verdict] = ()
    along: str = SESSIONS


def external_point_set(found: Sequence[ExternalPoint]) -> PointSet:
    """The points as lines, in the order of their names, numbers in them by their size."""
    repeats: dict[tuple[str, int], list[ExternalPoint]] = {}
    for each in found:
        repeats.setdefault((each.series, each.sessions), []).append(each)
    lines: dict[str, list[Point]] = {}
    for (series, _), group in repeats.items():
        lines.setdefault(series, []).append(_point(group))
    drawn = [
        series_of({SERIES: series}, lines[series], PHYSICAL, called=series) for series in sorted(lines, key=_natural)
    ]
    along = ORDER if any(each.along == ORDER for each in found) else SESSIONS
    return PointSet(tuple(drawn), PHYSICAL, (SERIES,), {}, along=along)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(digits or -1), letters) for digits, letters in re.findall(r"(\d*)(\D*)", name)]


def _point(group: Sequence[ExternalPoint]) -> Point:
    first = group[0]
    return Point(
        sessions=first.sessions,
        parameters={SERIES: first.series, first.along: first.sessions},
        record_ids=tuple(each.source for each in group),
        left_out={},
        metrics={name: _estimate(group, name) for name in METRICS},
        latency={},
        failed={one.name: one.why for each in group for one in each.verdicts if one.verdict is Holds.FAILS},
        limit=None,
        along=first.along,
    )


def _estimate(group: Sequence[ExternalPoint], name: str) -> Estimate:
    values = [value for each in group if (value := each.figures.get(name)) is not None]
    return of_repeats(values) if values else Estimate(None, why=f"{group[0].source} does not tell it")
