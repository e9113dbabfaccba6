"""Figures of storage records: units as records have always had them, one reason for each value that is missing."""

from __future__ import annotations

import pytest

from openslob.core.histogram import PERCENTILES
from openslob.metrics import STORAGE_METRICS, storage_figure
from openslob.metrics.storage_metrics import latency_figures


def test_counts_keep_the_unit_that_records_have():
    counts = {name: metric.unit for name, metric in STORAGE_METRICS.items() if metric.unit in ("", "1")}
    assert counts == {
        **dict.fromkeys(("ios", "host_cpus_busy", "max_iops_in_flight", "max_mb_in_flight"), "1"),
        **dict.fromkeys(("write_in_flight", "syncs_at_once"), "1"),
        **dict.fromkeys(("small", "large", "read_ios", "write_ios"), ""),
    }


def test_the_end_of_a_name_is_its_unit():
    ends = {"_us": "µs", "_pct": "%", "_mb_per_s": "MB/s", "_bytes": "B"}
    for name, metric in STORAGE_METRICS.items():
        assert [unit for end, unit in ends.items() if name.endswith(end)] in ([], [metric.unit]), name


def test_a_reason_goes_with_a_missing_value_only():
    known, missing = storage_figure("iops", 5, "none"), storage_figure("iops", None, "none")
    assert (known.value, known.unit, known.why) == (5, "1/s", None)
    assert (missing.value, missing.why) == (None, "none")


def test_a_figure_that_has_no_row_is_refused():
    with pytest.raises(KeyError):
        storage_figure("iopss", 1)


def test_a_latency_has_all_its_figures():
    figures = latency_figures({"mean_us": 5.0}, "no SELECT")
    assert set(figures) == {"mean_us", *PERCENTILES, "max_us"}
    assert figures["mean_us"].value == 5
    assert figures["max_us"].why == "no SELECT"
