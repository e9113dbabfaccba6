"""The time left of a sweep, on a fake clock: planned at first, then learned from the points that are done."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from factories.tables import table
from openslob.kinds.sweep.time_left import PlannedPoint, TimeLeft


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 1000.0

    def __call__(self):
        return self.now


@dataclass
class Point:
    """A point as it was planned, and what it really took."""

    planned: PlannedPoint
    preparation_s: float
    run_s: float
    reused: bool = True


def executed(points):
    """Execute points on a fake clock; yield, before each run, the seconds said to be left and those really left."""
    clock = Clock()
    left = TimeLeft(clock)
    for at, point in enumerate(points):
        left.begin()
        clock.now += point.preparation_s
        left.note_prepared(point.planned, point.reused)
        said = left.of([each.planned for each in points[at:]]) - left.of_preparation(point.planned)
        yield said, point.run_s + sum(each.preparation_s + each.run_s for each in points[at + 1 :])
        clock.now += point.run_s
        left.note_done(point.planned)


PLANNED = PlannedPoint(0, 11.5, 10)


def runs(count, took_s, planned=PLANNED):
    return [Point(planned, preparation_s, run_s) for preparation_s, run_s in [took_s] * count]


def load(planned_s, took_s, run_s):
    return Point(PlannedPoint(planned_s, 11.5, 10, loaded=True), took_s, run_s, reused=False)


def test_before_the_first_point_it_is_that_of_the_plan():
    planned = [PlannedPoint(6, 11.5, 10), PlannedPoint(0, 11.5, 10)]
    assert TimeLeft(Clock()).of(planned) == 6 + 2 * 11.5


@table(
    "points",
    [
        # A host whose checkpoints take long: each point takes 6 s more than its load, the plan said 1.5 s.
        runs(8, (0.4, 15.6)),
        # A quick one, and one on which a look at the data takes long.
        runs(8, (0.1, 10.4)),
        runs(8, (5.0, 10.4)),
        # Three sizes of data; loads take a quarter of the time planned, or four times as much.
        [load(40, 10, 11), *runs(3, (0.2, 11)), load(80, 19, 12), *runs(3, (0.2, 11)), load(160, 41, 11)],
        [load(10, 40, 11), *runs(3, (0.2, 11)), load(20, 85, 12), *runs(3, (0.2, 11)), load(40, 155, 11)],
        # The data were there already, which was not planned, and says nothing of those to be loaded.
        [
            Point(PlannedPoint(40, 11.5, 10, loaded=True), 0.3, 11),
            *runs(3, (0.3, 11)),
            load(40, 38, 11),
            *runs(3, (0.3, 11)),
        ],
        # Warm-ups that end when the throughput is steady: 30 s at the most, about 12 s really.
        runs(8, (0.2, 33), planned=PlannedPoint(0, 51.5, 50)),
    ],
)
def test_it_is_true_within_a_quarter_from_the_second_point_on(points):
    said, really = zip(*list(executed(points))[1:], strict=True)
    assert said == pytest.approx(really, rel=0.25)
