"""Percentiles over time are those of a histogram of the same operations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openslob.analyze.latencies import Latencies, percentiles
from openslob.analyze.steps import Steps
from openslob.analyze.verdicts.environment import least_for
from openslob.core.histogram import PERCENTILES, Histogram

# Of each second, the operations by bucket.
SECONDS = st.lists(
    st.dictionaries(st.integers(1, 900), st.integers(1, 2000), min_size=1, max_size=6), min_size=1, max_size=5
)


def histogram(*seconds: dict[int, int]) -> Histogram:
    made = Histogram()
    for counts in seconds:
        made.add(counts, 0.0, math.inf)
    return made


@given(SECONDS)
@example([{100: 10, 200: 11}])
def test_percentiles_are_those_of_a_histogram(seconds: list[dict[int, int]]) -> None:
    made = Latencies()
    for at, counts in enumerate(seconds):
        numbers = list(counts)
        made.add(np.full(len(counts), at), np.array(numbers), np.array([counts[each] for each in numbers]), False)
    for name, share in PERCENTILES.items():
        expected = [_known(histogram(counts), share) for counts in seconds]
        assert made.percentile(name)[1].tolist() == pytest.approx(expected, nan_ok=True)
        whole = percentiles(made.counts(Steps(0, 1, 5, 5.0), 5.0), name)
        assert whole.tolist() == pytest.approx([_known(histogram(*seconds), share)], nan_ok=True)


def _known(made: Histogram, share: float) -> float | None:
    return made.quantile_us(share) if made.count >= least_for(share) else math.nan
