"""The figures of verdicts, by the names that programs read them by, as they follow from the made-up measurement."""

from __future__ import annotations

import pytest

from factories import measurements as made
from factories.tables import table
from openslob.analyze.verdicts import judge

READ_BYTES = made.READ_REQUESTS * made.BLOCK
EXPECTED = {
    "errors": {"sessions_asked": 8, "sessions": 8, "errors": 0},
    "window": {"load_seconds": 60, "counter_seconds": 60, "host_seconds": 60, "difference_pct": 0},
    "planned_time": {"load_seconds": 60, "planned_seconds": 60, "longest_us": made.UPDATE_US},
    # 0.1 s of a minute in each session.
    "sessions_busy": {"idle_pct": 100 * 0.1 / 60, "between_slices_pct": 100 * 0.1 / 60, "other_idle_pct": 0},
    "no_stalls": {"stalled_ops": 0, "stalled_pct": 0, "longest_us": made.UPDATE_US, "unfinished_ops": 0},
    "alone_on_server": {"sessions_at_work": None, "who": None},
    "counts_agree": {
        "engine_rows_read": 960_000, "loop_rows_read": 960_000, "engine_rows_updated": 96_000,
        "loop_rows_updated": 96_000, "refused_attempts": 0,
    },
    "exact_mix": {"updates": 12_000, "ops": 120_000, "worst_session_ops": 0},
    "reads_reached_device": {
        "storage_to_engine_pct": 100, "engine_read_bytes": READ_BYTES, "storage_read_bytes": READ_BYTES,
        "evidence": "From storage, the server's processes",
    },
    "commits_waited": {"updates": 12_000, "log_syncs": 3000, "sessions": 8},
    "mode": {"looks_like": "pio"},
    "data_in_place": {"growth_pct": 0, "in_place_pct": 100, "rows_wanted": 960_000, "rows_found": 960_000},
    "driver_quiet": {"driver_cpu_pct_of_db": 1, "sampler_cpu_pct_of_db": 0.5},
    # Of 240 CPU seconds 1 was stolen; of 96 busy ones the server used 80, this program 0.8 and its sampler 0.4.
    "quiet_machine": {"steal_pct": 100 / 240, "others_cpu_pct": 5.5, "spread_pct": 0},
    "steady": {"steady_since_s": 0, "drift_pct": 0},
    "percentiles_supported": {
        "select_ops": 108_000, "update_ops": 12_000, "select_up_to": "p99.9", "update_up_to": "p99.9",
    },
    # The device was busy for 59 s of 60, with 308,000 ms of requests; the server used 80 CPU seconds of 240.
    "limit_found": {
        "limit": "storage", "cpu_pct": 40, "server_cpu_pct": 100 / 3, "data_io_pct": 60, "log_pct": 8, "lock_pct": 2,
        "device_busy_pct": 100 * 59 / 60, "device_queue": 308 / 60,
    },
    # Of 432 s in operations the server used 80 s of CPU.
    "time_is_accounted": {"cpu_pct": 100 * 80 / 432, "cpu_wait_pct": None, "waits_pct": 70},
}  # fmt: skip


def figures(**overrides):
    return {verdict.name: dict(verdict.figures) for verdict in judge(made.measurement(**overrides))}


def test_verdicts_have_the_figures_that_they_are_based_on():
    found = figures()
    assert found.keys() == EXPECTED.keys()
    for name, expected in EXPECTED.items():
        assert found[name] == pytest.approx(expected, rel=1e-6, abs=1e-6), name


@table(
    ("name", "overrides", "expected"),
    [
        (
            "rate_reached",
            {"schedule": made.schedule(not_begun=30_000.0, oldest_s=12.5)},
            {
                "begun_pct": 80,
                "target_ops_per_s": 2000,
                "achieved_ops_per_s": 2000,
                "not_begun": 30e3,
                "oldest_s": 12.5,
            },
        ),
        (
            "block_path",
            {
                "workload": made.workload(block_path="local"),
                "engine": made.engine(private_visits=made.READ_REQUESTS, shared_visits=5.0),
            },
            {"private_visits": 960_000, "shared_visits": 5, "block_visits": 960_000},
        ),
        (
            "limit_found",
            {"waits": {"Cluster:gc cr request": 300, "IO:DataFileRead": 600, "CPU": 100}},
            {**EXPECTED["limit_found"], "cluster_pct": 30, "lock_pct": 0, "log_pct": 100 * 2.4 / 432},
        ),
    ],
)  # fmt: skip
def test_verdicts_that_not_every_run_has_have_theirs(name, overrides, expected):
    assert figures(**overrides)[name] == pytest.approx(expected)
