"""What happened between two readings: rates by each reading's own seconds, reasons, waits that are timed or sampled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.tables import table
from openslob.core.measurement import EVERY_FIGURE, EngineDelta, ObjectIo, TimedWait, WaitClass
from openslob.engines.base import CounterReading
from openslob.host.device import DEVICE_NAMES
from openslob.host.model import OsReading, Sample
from openslob.kinds.run.samplers import SystemReading
from openslob.metrics.quantity import NOT_LOCAL
from openslob.metrics.run_metrics import NO_SYNCS
from openslob.watch.interval import EventRate, Samples, Selection, Sort, interval_between

S = 1_000_000_000
CPU = {"cpu_user_s": 1.0, "cpu_system_s": 0.5, "cpu_idle_s": 0.5, "cpu_iowait_s": 0.0, "cores": 2}


def host(at_ns, device=0.0, server_s=0.0, watch_s=0.0, scale=1.0):
    """A reading of the host; ``scale`` multiplies the CPU times."""
    return OsReading(
        at_ns,
        {
            "host": Sample({name: value * (scale if name != "cores" else 1) for name, value in CPU.items()}, "2 CPUs"),
            "memory": Sample({"page_cache_bytes": 4096.0, "memory_available_bytes": 1e9}),
            "device": Sample(dict.fromkeys(DEVICE_NAMES, device), "block device vda"),
            "server": Sample({"server_cpu_s": server_s, "server_cores": 2}, "process 10"),
            "cpus": Sample.missing(("server_cpus_busy_s",), "not asked"),
            "sampler": Sample({"sampler_cpu_s": watch_s}, "session 11"),
            "driver": Sample({"driver_cpu_s": watch_s}, "process 1"),
        },
    )


def reading(server_s, os):
    return SystemReading(CounterReading(round(server_s * S), {}, ""), os, round(server_s * S))


# The server was read 2 s apart, the host 2.5 s: it had to wait for a CPU in between.
BEFORE = reading(100, host(0))
AFTER = reading(102, host(5 * S // 2, device=500.0, server_s=1.25, watch_s=0.0125, scale=2.0))
DELTA = EngineDelta(
    logical_reads=4000,
    read_requests=1000,
    read_bytes=1000 * 8192,
    read_time_us=250_000,
    log_syncs=0,
    log_sync_time_us=0,
    by_object={"table": ObjectIo(None, 1000, 8192000, None, 250_000)},
    timed_waits=(TimedWait("IO:DataFileRead", WaitClass.DATA_IO, 1000, 250_000),),
    unknown={"write_requests": "not shown"},
)
SAMPLES = Samples(20, {"IO:DataFileRead": 7, "CPU": 10, "LWLock:WALWrite": 5})


def interval(engine=DELTA, samples=SAMPLES, local=True, **given):
    return interval_between(BEFORE, AFTER, engine, samples, local, **given)


def test_rates_are_by_the_seconds_of_each_reading():
    found = interval()
    assert (found.seconds, found.end_ns, found.fault, found.samples) == (2.0, 102 * S, "", 20)
    values = {name: figure.value for name, figure in found.figures.items()}
    assert (values["lio_per_s"], values["pio_read_per_s"], values["engine_read_latency_us"]) == (2000, 500, 250)
    assert values["pio_read_mb_per_s"] == 3.90625
    # 500 requests and 1.25 s of CPU in 2.5 s of the host's.
    assert (values["dev_read_per_s"], values["db_cpu_per_s"], values["iops_per_db_cpu"]) == (200, 0.5, 1000)
    assert values["dev_busy_pct"] == pytest.approx(20)
    assert values["dev_read_latency_us"] == 1000
    assert values["watch_cpu_pct"] == pytest.approx(1)
    assert values["host_cpu_busy_pct"] == 75
    assert found.cpu == {"user": 50, "system": 25, "idle": 25, "iowait": 0}


def test_what_is_not_known_has_its_reason():
    found = interval().figures
    assert (found["pio_write_per_s"].value, found["pio_write_per_s"].why) == (None, "not shown")
    assert found["log_sync_latency_us"].why == NO_SYNCS
    away = interval(local=False)
    assert away.figures["pio_read_per_s"].value == 500
    assert {away.figures[name].why for name in ("dev_read_per_s", "db_cpu_per_s", "page_cache_bytes")} == {NOT_LOCAL}
    assert away.cpu == {}


def test_no_figure_needs_our_work_loop():
    found = interval().figures
    assert not {"ops_per_s", "commits_per_s", "target_ops_per_s", "sessions", "start_skew_ms"} & set(found)
    # By the samples: 22 sessions seen in 20.
    assert found["db_time_per_s"].value == pytest.approx(1.1)
    assert interval(samples=replace(SAMPLES, hidden=True)).figures["db_time_per_s"].value is None


def test_an_event_that_the_engine_times_is_not_sampled_as_well():
    found = {each.event: each for each in interval().waits}
    assert found == {
        "IO:DataFileRead": EventRate("IO:DataFileRead", WaitClass.DATA_IO, 0.125, 500, 250, timed=True),
        "CPU + run queue": EventRate("CPU + run queue", WaitClass.CPU, 0.5),
        "LWLock:WALWrite": EventRate("LWLock:WALWrite", WaitClass.LOG, 0.25),
    }


def test_after_a_reset_the_host_s_figures_are_left():
    found = interval(EngineDelta(unknown={EVERY_FIGURE: "it was reset"}))
    assert (found.fault, found.seconds) == ("it was reset", 2.5)
    assert (found.figures["lio_per_s"].why, found.figures["dev_read_per_s"].value) == ("it was reset", 200)
    assert {each.event for each in found.waits} == {"IO:DataFileRead", "CPU + run queue", "LWLock:WALWrite"}


def test_the_instances_of_a_cluster_have_what_they_count_themselves():
    whole = EngineDelta(read_requests=30, by_instance=(EngineDelta(read_requests=10), EngineDelta(read_requests=20)))
    samples = Samples(10, {"CPU": 30}, by_instance={"a": Samples(10, {"CPU": 10}), "b": Samples(10, {"CPU": 20}, True)})
    found = interval(whole, samples, instances=("a", "b"))
    assert [each.figures["pio_read_per_s"].value for each in (found, *found.by_instance.values())] == [15, 5, 10]
    assert [each.waits[0].sessions for each in found.by_instance.values()] == [1, 2]
    assert [each.hidden for each in found.by_instance.values()] == [False, True]
    assert found.figures["dev_read_per_s"].value == 200
    assert "dev_read_per_s" not in found.by_instance["a"].figures


WAITS = (
    EventRate("IO:DataFileRead", WaitClass.DATA_IO, 2.0, 100, 20, timed=True),
    EventRate("IO:WalSync", WaitClass.LOG, 1.0, 10, 100, timed=True),
    EventRate("Lock:tuple", WaitClass.LOCK, 3.0),
)


@table(
    ("patterns", "sort", "expected"),
    [
        ((), Sort.TIME, ["Lock:tuple", "IO:DataFileRead", "IO:WalSync"]),
        ((), Sort.COUNT, ["IO:DataFileRead", "IO:WalSync", "Lock:tuple"]),
        ((), Sort.LATENCY, ["IO:WalSync", "IO:DataFileRead", "Lock:tuple"]),
        (("wal",), Sort.TIME, ["IO:WalSync"]),
        (("log writes",), Sort.TIME, ["IO:WalSync"]),
        (("tuple", "LOG"), Sort.TIME, ["Lock:tuple", "IO:WalSync"]),
        (("io:*",), Sort.TIME, ["IO:DataFileRead", "IO:WalSync"]),
        (("data*",), Sort.TIME, ["IO:DataFileRead"]),
        (("x",), Sort.TIME, []),
    ],
)
def test_events_are_chosen_by_name_or_class(patterns, sort, expected):
    assert [each.event for each in Selection(patterns, sort).of(WAITS)] == expected
