"""What follows from raw files: windows of runs with and without a given rate, and counters that were reset."""

from __future__ import annotations

import numpy as np
import pytest

from factories.records import physical
from factories.slices import tables_of_slices
from factories.tables import table
from openslob.analyze.measure import measure, measure_growth
from openslob.core.counts import COUNTERS
from openslob.core.units import NANOS

BEGIN = 1_000 * NANOS


@table(
    ("rate", "begin_s", "skew_ms"),
    [({}, 2.0, 3000), ({"target_ops": 10.0}, 0.0, 1000), ({"target_iops": 100.0}, 0.0, 1000)],
)
def test_a_load_at_a_given_rate_begins_with_its_first_session_and_any_other_with_its_first_operation(
    rate, begin_s, skew_ms
):
    record, counted = physical(), dict.fromkeys(COUNTERS, 1)
    slices = [
        {"session": at, "start_ns": BEGIN + at * NANOS, "first_op_ns": BEGIN + (2 + 3 * at) * NANOS,
         "end_ns": BEGIN + 10 * NANOS, "busy_us": 1e6, **counted}
        for at in range(2)
    ]  # fmt: skip
    asked = record.model_copy(update={"spec": {**record.spec, **rate}})
    window = measure(asked, tables_of_slices(BEGIN, slices)).window
    assert (window.load_start_ns - BEGIN) / NANOS == begin_s
    assert window.start_skew_ms == skew_ms
    assert window.load_seconds == 10 - begin_s


@table(
    ("values", "grown"),
    [
        ([1.0, 2, 5], 4),
        ([1.0, np.nan, 5], 4),
        ([1.0, 5, 2], None),
        ([np.nan, 2, 5], None),
        ([1.0, 2, np.nan], None),
    ],
)
def test_a_counter_has_grown_by_what_its_first_and_last_readings_say(values, grown):
    assert measure_growth(np.array(values)) == (None if grown is None else pytest.approx(grown))
    assert measure_growth(None) is None
