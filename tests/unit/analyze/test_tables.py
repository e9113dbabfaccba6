"""Tables of what was recorded: an interval is there once, however often and in whatever order it was read."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.analyze.tables import GrowingRows, Intervals, Seconds


def put(found: Intervals, *intervals: tuple[float, float, float], name: str = "reads", older: bool = False) -> None:
    begins, ends, values = (np.array(each) for each in zip(*intervals, strict=True))
    found.put(begins, ends, [name], values[None], older)


def rows(found: Intervals, *names: str) -> list[tuple[float, ...]]:
    values = [found.value(name) for name in names]
    return list(zip(found.begin_s.tolist(), found.end_s.tolist(), *(each.tolist() for each in values), strict=True))


@pytest.fixture
def found() -> Intervals:
    made = Intervals()
    put(made, (2, 3, 20), (3, 4, 30))
    return made


def test_intervals_that_follow_or_precede_are_added_in_the_order_of_time(found: Intervals) -> None:
    put(found, (4, 5, 40))
    put(found, (0, 1, 1), (1, 2, 10), older=True)
    assert rows(found, "reads") == [(0, 1, 1), (1, 2, 10), (2, 3, 20), (3, 4, 30), (4, 5, 40)]


def test_a_later_interval_replaces_an_earlier_one_that_begins_at_the_same_moment(found: Intervals) -> None:
    put(found, (3, 4.5, 35), (4.5, 5, 5))
    assert rows(found, "reads") == [(2, 3, 20), (3, 4.5, 35), (4.5, 5, 5)]
    put(found, (1, 2, 10), (2, 2.5, 15), older=True)
    assert rows(found, "reads") == [(1, 2, 10), (2, 3, 20), (3, 4.5, 35), (4.5, 5, 5)]


def test_an_interval_that_ends_as_the_last_one_or_the_first_does_has_more_values_of_it(found: Intervals) -> None:
    put(found, (3, 4, 7), (4, 5, 8), name="writes")
    put(found, (1, 2, 5), (2, 3, 6), name="writes", older=True)
    both = rows(found, "reads", "writes")
    assert both == [(1, 2, pytest.approx(np.nan, nan_ok=True), 5), (2, 3, 20, 6), (3, 4, 30, 7),
                    (4, 5, pytest.approx(np.nan, nan_ok=True), 8)]  # fmt: skip


def test_a_table_has_room_only_once_it_grows():
    table = GrowingRows(0.0)
    table.codes([str(row) for row in range(1000)])
    table.grow(0, 3)
    assert (table.room, len(table)) == ((1000, 3), 3)
    table.grow(1, 0)
    table.grow(0, 1)
    assert table.room[1] > len(table) == 5


def test_longer_units_hold_what_the_shorter_ones_held():
    fine = Seconds()
    # Work may begin before the load does.
    fine.add(["ops", "busy"], np.array([0, 0, 1, 1]), np.array([-3, 4, 0, 9]), np.array([1.0, 2, 4, 8]))
    coarse = fine.coarser(5)
    assert (coarse.unit_s, coarse.first, coarse.begin_s.tolist()) == (5, -1, [-5, 0, 5])
    assert coarse.value("ops").tolist() == [1, 2, 0]
    assert coarse.value("busy").tolist() == [0, 4, 8]
    assert len(Seconds().coarser(5)) == 0
