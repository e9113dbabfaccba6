"""The time line of a window: what is in each interval, and that memory has a limit while nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslob.kinds.run.timeline import TimelineInterval, WindowTimeline

MS = 1_000_000
SPANS = st.tuples(st.integers(0, 5000), st.integers(1, 3000), st.integers(0, 40))


def interval(begin_ms: int, end_ms: int, reads: float | None = 1.0) -> TimelineInterval:
    return TimelineInterval(begin_ms * MS, end_ms * MS, reads, None, 0.5, 0.0)


def test_a_slice_counts_in_intervals_by_its_share_of_time():
    made = WindowTimeline()
    made.worked(0, 1000 * MS, 100)
    made.add(interval(0, 1000))
    made.add(interval(1000, 2000))
    made.worked(500 * MS, 1500 * MS, 50)
    made.worked(-1000 * MS, 0, 7)
    made.worked(5 * MS, 5 * MS, 7)
    assert [each.ops for each in made] == [125, 25]


@given(st.lists(SPANS, max_size=30), st.lists(st.integers(1, 8000), max_size=8), st.integers(0, 9), st.booleans())
def test_nothing_is_lost_or_counted_twice(spans, cuts, early, replaced):
    """Whether slices are reported before or after the intervals that they lie in, and if the last one is replaced."""
    made = WindowTimeline()
    for start, long, ops in spans[:early]:
        made.worked(start * MS, (start + long) * MS, ops)
    edges = [0, *sorted(cuts), 9000]
    for begin, end in pairwise(edges):
        if replaced and end > begin:
            made.add(interval(begin, (begin + end) // 2))
            made.replace_last()
        made.add(interval(begin, end))
    for start, long, ops in spans[early:]:
        made.worked(start * MS, (start + long) * MS, ops)
    assert sum(each.ops for each in made) == pytest.approx(sum(ops for _, _, ops in spans))


def test_a_long_window_is_kept_in_longer_intervals():
    made = WindowTimeline(most=100)
    for second in range(10_000):
        made.worked(second * 1000 * MS, (second + 4) * 1000 * MS, 40)
        made.add(interval(second * 1000, (second + 1) * 1000, None if second == 5000 else 1.0))
        if second % 7 == 6:
            # As the closing reading does, which may come soon after a regular one.
            made.replace_last()
            made.add(interval(second * 1000, (second + 1) * 1000))
    kept = list(made)
    assert 50 < len(kept) <= 100
    assert all(one.end_ns == other.begin_ns for one, other in pairwise(kept))
    assert (kept[0].begin_ns, kept[-1].end_ns) == (0, 10_000_000 * MS)
    # All but the ends of the last slices, which go on after the last interval.
    assert sum(each.ops for each in kept) == pytest.approx(400_000 - 10 * (3 + 2 + 1))
    assert kept[20].ops / kept[20].seconds == pytest.approx(40)
    unknown = [each for each in kept if each.reads is None]
    assert len(unknown) == 1
    assert unknown[0].begin_ns <= 5_000_500 * MS <= unknown[0].end_ns
    assert sum(each.reads for each in kept if each.reads is not None) == pytest.approx(10_000 - unknown[0].seconds)
