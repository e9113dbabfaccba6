"""The histogram: no value is 0, none is off by more than 1 %, merging is concatenation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openslob.core.histogram import (
    BELOW_RESOLUTION_US,
    BUCKETS,
    PERCENTILES,
    Histogram,
    bucket_of,
    lower_edge_us,
    middle_us,
    step_of,
)

LARGEST = 100_000_000
# Latencies as they come: mostly small, some very large.
LATENCIES = st.one_of(st.integers(0, 200), st.integers(0, 100_000), st.integers(0, LARGEST))
SAMPLES = st.lists(LATENCIES, min_size=1, max_size=300)


def histogram_of(values):
    histogram = Histogram()
    for us in values:
        histogram.add({bucket_of(us): 1}, us, us)
    return histogram


@given(SAMPLES, st.integers(0, LARGEST))
def test_those_beyond_a_time_are_counted_and_summed_to_1_percent(values, us):
    count, sum_us = histogram_of(values).beyond(us)
    surely, maybe = ([value for value in values if value >= us * share] for share in (1.02, 0.98))
    assert len(surely) <= count <= len([value for value in values if value >= us * 0.98 - 2])
    assert sum(surely) * 0.98 <= sum_us <= max(sum(maybe) * 1.02, 0) + 3 * len(values)


@given(LATENCIES)
def test_the_middle_of_a_bucket_is_within_1_percent_of_all_it_holds(us):
    middle = middle_us(bucket_of(us))
    assert middle > 0
    if us:
        assert abs(middle - us) <= 0.01 * us


def test_every_microsecond_up_to_20_ms_is_within_1_percent_and_in_order():
    buckets = [bucket_of(us) for us in range(20_001)]
    assert all(abs(middle_us(bucket) - us) <= 0.01 * us for us, bucket in enumerate(buckets) if us)
    assert buckets == sorted(buckets)


def test_up_to_51_us_each_microsecond_has_a_bucket_of_its_own():
    assert len({bucket_of(us) for us in range(52)}) == 52
    assert all(middle_us(bucket_of(us)) == us for us in range(1, 52))


@given(LATENCIES)
def test_the_lower_edge_is_the_smallest_value_of_its_bucket(us):
    edge = lower_edge_us(bucket_of(us))
    assert edge <= us
    assert bucket_of(edge) == bucket_of(us)
    assert edge == 0 or bucket_of(edge - 1) < bucket_of(us)


def test_what_is_longer_than_100_s_is_in_the_last_bucket():
    assert bucket_of(LARGEST) == bucket_of(10 * LARGEST) == BUCKETS - 1
    assert bucket_of(LARGEST * 0.98) < BUCKETS - 1


def test_a_percentile_beyond_100_s_is_not_shown_as_100_s():
    stalled = histogram_of([100, 300_000_000, 300_000_000])
    assert stalled.quantile_us(0.5) == stalled.quantile_us(0.99) == 300_000_000
    stalled.max_us = math.inf
    assert stalled.quantile_us(0.5) == pytest.approx(LARGEST, rel=0.02)


def test_those_beyond_100_s_last_as_long_as_the_longest():
    found = histogram_of([5_000, 200_000_000, 300_000_000])
    assert found.beyond(150_000_000.0) == (2, pytest.approx(500e6, rel=0.01))


def test_none_lasted_longer_than_the_longest_beyond_100_s_either():
    histogram = Histogram()
    histogram.add({BUCKETS - 1: 2}, 576e6 + 150e6, 576e6)
    assert histogram.beyond(57_600e6) == (0, 0.0)
    assert histogram.beyond(100e6)[0] == 2


def test_percentiles_come_in_steps_of_a_microsecond_at_least():
    assert (step_of(10), step_of(40)) == (1 / 10, 1 / 40)
    for us in (100, 3_000, 1_000_000):
        alike = sum(bucket_of(each) == bucket_of(us) for each in range(int(us * 0.98), int(us * 1.02) + 1))
        assert step_of(us) == alike / us


@given(SAMPLES, SAMPLES)
def test_merging_is_concatenation(first, second):
    merged = histogram_of(first)
    merged.merge(histogram_of(second))
    together = histogram_of(first + second)
    assert merged.counts == together.counts
    assert merged.count == len(first) + len(second)
    assert merged.sum_us == together.sum_us == sum(first) + sum(second)
    assert merged.max_us == together.max_us == max(first + second)


@given(SAMPLES)
def test_mean_and_maximum_are_exact(values):
    histogram = histogram_of(values)
    assert histogram.mean_us() == pytest.approx(max(sum(values) / len(values), BELOW_RESOLUTION_US))
    assert histogram.summary()["max_us"] == max(*values, BELOW_RESOLUTION_US)


def check_quantile(values, share):
    exact = float(np.quantile(values, share, method="inverted_cdf"))
    found = histogram_of(values).quantile_us(share)
    assert found > 0
    assert found == pytest.approx(exact, rel=0.0101) if exact else found == BELOW_RESOLUTION_US


@given(SAMPLES, st.sampled_from([0.01, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_quantiles_are_within_1_percent_of_the_sample_s(values, share):
    check_quantile(values, share)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([5.0, 300.0, 20_000.0]))
def test_quantiles_of_log_normal_latencies(seed, median_us):
    values = np.random.default_rng(seed).lognormal(math.log(median_us), 1.0, 5000).astype(int).tolist()
    for share in PERCENTILES.values():
        check_quantile(values, share)


@given(SAMPLES)
def test_the_summary_never_shows_0_and_its_percentiles_rise(values):
    summary = histogram_of(values).summary()
    rising = [summary[name] for name in PERCENTILES]
    assert rising[0] > 0
    assert rising == sorted(rising)
    assert rising[-1] <= summary["max_us"]
    assert summary["mean_us"] > 0
    assert sum(count for _, count in summary["buckets"]) == summary["count"] == len(values)


def test_operations_faster_than_the_clock_are_half_a_tick():
    summary = histogram_of([0, 0, 0]).summary()
    figures = ("mean_us", "p50_us", "p99_us", "max_us")
    assert [summary[name] for name in figures] == [BELOW_RESOLUTION_US] * 4


def test_nothing_recorded_is_unknown_not_0():
    summary = Histogram().summary()
    assert summary["count"] == 0
    assert [summary[name] for name in ("mean_us", "max_us", *PERCENTILES)] == [None] * 6
