"""The course of a load, from raw rows: rates by the second under the names that causes and caps are looked for by."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.analyze.run_tables import RunTables
from openslob.analyze.trace import ProbeOutcome, Trace, trace_of
from openslob.core.units import NANOS
from openslob.record.cells import Cells
from openslob.record.raw_csv import Event, Happening

START = 1_000 * NANOS
# What grows by so much in each second, and what stays.
GROWS = {
    "host.cpu_user_s": 0.5, "host.cpu_system_s": 0.2, "host.cpu_idle_s": 1.0, "host.cpu_steal_s": 0.1,
    "host.cpu_iowait_s": 0.2, "server.server_cpu_s": 0.4, "server.server_read_bytes": 8e6,
    "server.server_write_bytes": 2e6, "driver.driver_cpu_s": 0.05, "cgroup.cpu_throttled_s": 0.3,
    "pressure.memory_s": 0.25, "volume.iops_exceeded_s": 0.6, "device.dev_reads": 1000.0, "device.dev_read_ms": 70.0,
    "server.server_runqueue_s": 1.5, "cpus.server_cpus_busy_s": 0.9,
}  # fmt: skip
STAYS = {"host.cores": 2.0, "server.server_cores": 1.0, "cgroup.cpu_quota": 0.5, "cgroup.read_limit": 900.0,
         "cgroup.read_bytes_limit": 7e6}  # fmt: skip


def taken(file: str, rows: list[str]) -> RunTables:
    made, columns = RunTables(START), {"os.csv": 3, "engine.csv": 4, "waits.csv": 3}
    made.take(file, (), Cells("".join(rows).encode(), columns[file]))
    return made


def test_readings_of_the_host_are_rates_and_levels_by_the_names_of_a_trace():
    rows = [
        f"{START + at * NANOS},{name},{value * at if name in GROWS else value}\n"
        for at in range(6)
        for name, value in (GROWS | STAYS).items()
    ]
    found = trace_of(taken("os.csv", rows), 5.0)
    assert (found.steps, found.step_s) == (5, 1.0)
    assert {name: float(np.median(values)) for name, values in found.series.items()} == pytest.approx(
        {
            "host.busy": 0.8, "host.steal": 0.1, "host.iowait": 0.2, "server.cpu": 0.4, "server.read_bytes": 8e6,
            "server.write_bytes": 2e6, "driver.cpu": 0.05, "cgroup.cpu_throttled": 0.3, "pressure.memory": 0.25,
            "volume.iops_exceeded": 0.6, "device.reads": 1000, "device.read_ms": 70, "host.cores": 2, "server.cores": 1,
            "cgroup.cpu_quota": 0.5, "cgroup.read_limit": 900, "cgroup.read_bytes_limit": 7e6,
            "server.runqueue": 1.5, "server.cpus_busy": 0.9,
        }
    )  # fmt: skip
    assert all(np.isfinite(values).all() for values in found.series.values())


def test_a_level_is_what_was_last_read_before_the_end_of_a_step():
    quotas = [0.5, 0.5, 0.5, 2.0, 2.0, 1.0]
    rows = [f"{START + at * NANOS},cgroup.cpu_quota,{quota}\n" for at, quota in enumerate(quotas)]
    assert trace_of(taken("os.csv", rows), 5.0).series["cgroup.cpu_quota"].tolist() == [0.5, 0.5, 2, 2, 1]


def test_counters_of_an_engine_keep_pace_with_a_load_between_its_first_and_its_last_reading():
    rows = [f"{START + at * NANOS},{START + (at + 1) * NANOS},commits,{100 + at}\n" for at in range(5)]
    commits = trace_of(taken("engine.csv", rows), 5.0).series["engine.commits"]
    assert commits == pytest.approx([np.nan, 101, 102, 103, np.nan], nan_ok=True)


def test_counters_that_are_published_late_are_all_there_in_longer_steps():
    rows = [f"{START + at * NANOS},{START + (at + 1) * NANOS},commits,{100 + at}\n" for at in range(5)]
    assert trace_of(taken("engine.csv", rows), 5.0, publishes_late=True).series["engine.commits"] == pytest.approx(
        [102]
    )


def test_a_step_of_which_too_little_was_recorded_is_unknown():
    rows = [f"{START + at * NANOS},{START + (at + 1) * NANOS},commits,100\n" for at in range(8)]
    commits = trace_of(taken("engine.csv", rows), 10.0, publishes_late=True).series["engine.commits"]
    assert commits == pytest.approx([100, np.nan], nan_ok=True)


def test_sessions_that_waited_are_means_over_the_samples_of_each_step():
    # Ten samples a second: 4 sessions wait for data in the first second, 2 of them for the log in the next.
    rows = [
        f"{START + at * NANOS // 10},{event},{sessions}\n"
        for at in range(20)
        for event, sessions in (("IO:DataFileRead", 4 if at < 10 else 2), ("IO:WalSync", 0 if at < 10 else 2))
    ]
    found = trace_of(taken("waits.csv", rows), 2.0).series
    assert {name: values.tolist() for name, values in found.items()} == {
        "waits.data_io": [4, 2], "waits.log": [0, 2], "samples": [10, 10],
    }  # fmt: skip


def test_series_of_different_lengths_are_no_trace():
    with pytest.raises(ValueError, match="different lengths"):
        Trace(0, 1.0, {"ops": np.ones(3), "commits": np.ones(2)})


def test_a_probe_after_the_load_has_the_rates_with_all_sessions_and_with_some():
    texts = ("6/8 2.0 600", "8/8 2.0 1000", "6/8 1.0 390", "8/8 2.0 1040")
    events = [Happening(START + 20 * NANOS, Event.PROBE, text) for text in texts]
    (probe,) = trace_of(RunTables(START), 5.0, events).probes
    assert (probe.at_s, probe.active, probe.with_all, probe.with_some) == (5.0, 0.75, 510.0, 330.0)
    assert trace_of(RunTables(START), 5.0, events[:1]).probes == ()
    with pytest.raises(ValueError):
        trace_of(RunTables(START), 5.0, [Happening(START, Event.PROBE, "6/8")])


def test_how_the_rate_follows_the_sessions_is_0_under_a_cap_and_1_where_each_takes_its_time():
    assert ProbeOutcome(60.0, 0.75, 1000.0, 1000.0).elasticity == pytest.approx(0)
    assert ProbeOutcome(60.0, 0.75, 1000.0, 750.0).elasticity == pytest.approx(1)
    assert ProbeOutcome(60.0, 0.5, 1000.0, 500.0).elasticity == pytest.approx(1)
    assert ProbeOutcome(60.0, 0.75, 0.0, 0.0).elasticity is None
    assert ProbeOutcome(60.0, 0.75, 1000.0, 760.0).in_words == (
        "after the load, 75 % of the sessions did 760 operations/s and all 1,000"
    )
