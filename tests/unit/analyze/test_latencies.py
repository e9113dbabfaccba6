"""Counts of latencies by steps of any length are the same operations, whichever table they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.analyze.latencies import Latencies
from openslob.analyze.steps import Steps

MINUTES = 12
SECONDS = 60 * MINUTES


@pytest.fixture(params=[False, True], ids=["in order", "the later part first"])
def latencies(request: pytest.FixtureRequest) -> Latencies:
    """Five operations in each second, of any latency, read in two parts that meet in a second."""
    random = np.random.default_rng(5)
    units, buckets = np.repeat(np.arange(SECONDS), 5), random.integers(0, 900, 5 * SECONDS)
    made, counts = Latencies(), np.ones(len(units), np.int64)
    parts = [slice(0, 1502), slice(1502, None)]
    for part in reversed(parts) if request.param else parts:
        made.add(units[part], buckets[part], counts[part], older=request.param)
    return made


@pytest.mark.parametrize("minutes", [1, 2, 5])
@pytest.mark.parametrize("until_s", [SECONDS, 330, 59, 60])
@pytest.mark.parametrize("first", [0, 1])
def test_steps_of_minutes_count_what_their_seconds_do(latencies: Latencies, minutes: int, until_s: int, first: int):
    length, count = 60 * minutes, MINUTES // minutes - first
    found = latencies.counts(Steps(first, count, length, float(SECONDS)), until_s)
    seconds = latencies.counts(Steps(0, SECONDS, 1, float(SECONDS)), until_s)
    assert seconds.sum() == 5 * until_s
    begin = first * length
    assert np.array_equal(found, seconds[begin : begin + count * length].reshape(count, length, -1).sum(axis=1))
