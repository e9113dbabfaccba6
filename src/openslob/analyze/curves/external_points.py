"""Points from other sources, such as a server's own reports, as series like those of a sweep.

Only the figures that are given are known; the others carry a reason. Several reports of one point are its repeats.
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
    """A point of the series named ``series``, from ``source``; ``figures`` by metric name, None for unknown ones.

    ``sessions`` is the position in the series: the session count, or the report's ordinal number if ``along`` is
    `ORDER`.
    """

    series: str
    sessions: int
    figures: Mapping[str, float | None]
    source: str
    verdicts: Sequence[Verdict] = ()
    along: str = SESSIONS


def external_point_set(external: Sequence[ExternalPoint]) -> PointSet:
    """Return the points as series, sorted by name; numbers inside a name sort by their value."""
    repeats: dict[tuple[str, int], list[ExternalPoint]] = {}
    for each in external:
        repeats.setdefault((each.series, each.sessions), []).append(each)
    by_name: dict[str, list[Point]] = {}
    for (name, _), group in repeats.items():
        by_name.setdefault(name, []).append(_point(group))
    series = [
        series_of({SERIES: name}, by_name[name], PHYSICAL, called=name) for name in sorted(by_name, key=_natural_key)
    ]
    along = ORDER if any(each.along == ORDER for each in external) else SESSIONS
    return PointSet(tuple(series), PHYSICAL, (SERIES,), {}, along=along)


def _natural_key(name: str) -> list[tuple[int, str]]:
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
