"""Points from other sources, such as a server's own reports, as series like those of a sweep.

Only the figures that are given are known; the others carry a reason. Several reports of one point are its repeats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    `ORDER`. ``database`` tells databases apart; a series is of one database.
    """

    series: str
    sessions: int
    figures: Mapping[str, float | None]
    source: str
    verdicts: Sequence[Verdict] = ()
    along: str = SESSIONS
    database: str = ""


def external_point_set(external: Sequence[ExternalPoint]) -> PointSet:
    """Return the points as series, sorted by name; numbers inside a name sort by their value.

    Points of different databases are of different series, which then have the databases' names, too.
    """
    external = _by_database(external)
    repeats: dict[tuple[str, int], list[ExternalPoint]] = {}
    for point in external:
        repeats.setdefault((point.series, point.sessions), []).append(point)
    by_name: dict[str, list[Point]] = {}
    for (name, _), group in repeats.items():
        by_name.setdefault(name, []).append(_point(group))
    series = [
        series_of({SERIES: name}, by_name[name], PHYSICAL, called=name) for name in sorted(by_name, key=_natural_key)
    ]
    along = ORDER if any(point.along == ORDER for point in external) else SESSIONS
    return PointSet(tuple(series), PHYSICAL, (SERIES,), {}, along=along)


def is_one_platform(external: Sequence[ExternalPoint]) -> bool:
    """Return whether the points tell what a platform can do: those of one database at known session counts."""
    return len({point.database for point in external}) == 1 and all(point.along == SESSIONS for point in external)


def _by_database(external: Sequence[ExternalPoint]) -> Sequence[ExternalPoint]:
    if len({point.database for point in external}) < 2:
        return external
    return [replace(point, series=f"{point.database or 'database unknown'}, {point.series}") for point in external]


def _natural_key(name: str) -> list[tuple[int, str]]:
    return [(int(digits or -1), letters) for digits, letters in re.findall(r"(\d*)(\D*)", name)]


def _point(group: Sequence[ExternalPoint]) -> Point:
    first = group[0]
    return Point(
        sessions=first.sessions,
        parameters={SERIES: first.series, first.along: first.sessions},
        record_ids=tuple(point.source for point in group),
        left_out={},
        metrics={name: _estimate(group, name) for name in METRICS},
        latency={},
        failed={
            verdict.name: verdict.why for point in group for verdict in point.verdicts if verdict.verdict is Holds.FAILS
        },
        limit=None,
        along=first.along,
    )


def _estimate(group: Sequence[ExternalPoint], name: str) -> Estimate:
    values = [value for point in group if (value := point.figures.get(name)) is not None]
    return of_repeats(values) if values else Estimate(None, why=f"{group[0].source} does not contain it")
