"""Differences of two readings: what is known, and the reason for each figure that is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.tables import table
from openslob.host.counters import CPU_NAMES, TICKS_PER_S
from openslob.host.device import BUSY, DEVICE_NAMES, sum_of_devices
from openslob.host.model import OsReading, Sample
from openslob.host.proc_files import LocalProc
from openslob.host.processes import ProcessTreeSampler, Task
from openslob.host.sampler import UNATTRIBUTED, cpu_by_kind, difference

CPU = {"cpu_user_s": 10.0, "cpu_system_s": 5.0, "cpu_idle_s": 80.0, "cpu_steal_s": 1.0, "cores": 2}
LATER = {"cpu_user_s": 12.0, "cpu_system_s": 5.5, "cpu_idle_s": 81.0, "cpu_steal_s": 1.25, "cores": 2}
SERVER = {
    "server_cpu_s": 3.0, "server_cores": 2, "server_read_bytes": 8192, "server_write_bytes": 0,
    "server_runqueue_s": 7.0,
}  # fmt: skip
DEVICE = dict.fromkeys(DEVICE_NAMES, 100)

BEFORE = OsReading(
    5_000_000_000,
    {
        "host": Sample(CPU, "2 CPUs"),
        "memory": Sample({"page_cache_bytes": 1000, "memory_available_bytes": 9000}),
        "device": Sample(DEVICE, "block device vda"),
        "server": Sample(SERVER, "process 10, started at tick 5"),
        "cpus": Sample({"server_cpus_busy_s": 20.0}, "the server on CPUs 0, 1"),
        "sampler": Sample({"sampler_cpu_s": 0.5}, "sessions 11"),
        "energy": Sample({"package_energy_j": 10.0}, "energy counters"),
        "driver": Sample({"driver_cpu_s": 1.0, "driver_peak_rss_bytes": 5e7}, "process 1"),
    },
)
AFTER = OsReading(
    6_500_000_000,
    {
        "host": Sample(LATER, "2 CPUs"),
        "memory": Sample({"page_cache_bytes": 3000, "memory_available_bytes": 7000}),
        "device": Sample({name: 100 + 10 * n for n, name in enumerate(DEVICE_NAMES)}, "block device vda"),
        "server": Sample(
            {**SERVER, "server_cpu_s": 5.5, "server_read_bytes": 24576, "server_runqueue_s": 7.75},
            "process 10, started at tick 5",
        ),
        "cpus": Sample({"server_cpus_busy_s": 22.75}, "the server on CPUs 0, 1"),
        "sampler": Sample({"sampler_cpu_s": 0.75}, "sessions 11"),
        "energy": Sample({"package_energy_j": 85.0}, "energy counters"),
        "driver": Sample({"driver_cpu_s": 1.25, "driver_peak_rss_bytes": 6e7}, "process 1"),
    },
)


def changed(reading, source, **values):
    """``reading`` with some values of a source changed; None takes a value away."""
    merged = {**reading.sources[source].values, **values}
    sample = replace(reading.sources[source], values={k: v for k, v in merged.items() if v is not None})
    return replace(reading, sources={**reading.sources, source: sample})


def test_everything_known():
    delta = difference(BEFORE, AFTER)
    assert delta.unknown == {}
    assert (delta.seconds, delta.cores, delta.server_cores) == (1.5, 2, 2)
    assert delta.cpu == {"user": 2.0, "system": 0.5, "idle": 1.0, "steal": 0.25}
    assert (delta.server_cpu_s, delta.sampler_cpu_s, delta.driver_cpu_s) == (2.5, 0.25, 0.25)
    assert (delta.server_cpus_busy_s, delta.package_energy_j) == (2.75, 75.0)
    assert (delta.server_read_bytes, delta.server_write_bytes, delta.server_runqueue_s) == (16384, 0, 0.75)
    assert (delta.page_cache_bytes_before, delta.page_cache_bytes_after) == (1000, 3000)
    assert (delta.memory_available_bytes, delta.driver_peak_rss_bytes) == (7000, 6e7)
    device = delta.device
    assert device is not None
    assert (device.name, device.reads, device.read_bytes, device.read_ms) == ("vda", 0, 10, 20)
    assert (device.writes, device.write_bytes, device.write_ms, device.busy_ms) == (30, 40, 50, 60)


@table(
    ("source", "value", "figure"),
    [
        ("host", "cpu_steal_s", "cpu"),
        ("server", "server_cpu_s", "server_cpu_s"),
        ("server", "server_read_bytes", "server_read_bytes"),
        ("device", "dev_busy_ms", "device"),
        ("driver", "driver_cpu_s", "driver_cpu_s"),
    ],
)
def test_a_counter_that_falls_is_unknown_and_never_repaired(source, value, figure):
    delta = difference(BEFORE, changed(AFTER, source, **{value: 0.0625 if source != "server" else -1}))
    assert getattr(delta, figure) is None
    assert list(delta.unknown) == [figure]
    assert f"{value} fell" in delta.unknown[figure]


@table(
    ("source", "epoch", "figures"),
    [
        (
            "server",
            "process 10, started at tick 9",
            {"server_cpu_s", "server_read_bytes", "server_write_bytes", "server_runqueue_s"},
        ),
        ("host", "4 CPUs", {"cpu"}),
        ("device", "block device vdb", {"device"}),
        ("sampler", "sessions 11, 12", {"sampler_cpu_s"}),
    ],
)
def test_no_difference_across_epochs(source, epoch, figures):
    sample = replace(AFTER.sources[source], epoch=epoch)
    delta = difference(BEFORE, replace(AFTER, sources={**AFTER.sources, source: sample}))
    assert set(delta.unknown) == figures
    assert all(getattr(delta, figure) is None for figure in figures)
    assert all(epoch in reason for reason in delta.unknown.values())


@table("which", ["before", "after"])
def test_missing_in_either_reading_carries_its_reason(which):
    none = {"server": Sample.missing(tuple(SERVER), "it is far away"), "device": Sample.missing(DEVICE_NAMES, "tmpfs")}
    pair = {"before": BEFORE, "after": AFTER}
    pair[which] = replace(pair[which], sources={**pair[which].sources, **none})
    delta = difference(**pair)
    assert (delta.server_cpu_s, delta.device) == (None, None)
    assert delta.unknown["server_cpu_s"] == "it is far away"
    assert delta.unknown["device"] == "tmpfs"
    assert delta.server_cores == (2 if which == "before" else None)


def test_cpu_that_is_not_told_keeps_the_reason():
    host = Sample.missing((*CPU_NAMES, "cores"), "no CPU times")
    lost_before, lost_after = (replace(r, sources={**r.sources, "host": host}) for r in (BEFORE, AFTER))
    for pair in ((BEFORE, lost_after), (lost_before, AFTER), (lost_before, lost_after)):
        delta = difference(*pair)
        assert delta.cpu is None
        assert delta.unknown["cpu"] == "no CPU times"


def test_kind_that_only_one_reading_has_makes_cpu_unknown_not_smaller():
    delta = difference(BEFORE, changed(AFTER, "host", cpu_steal_s=None))
    assert delta.cpu is None
    assert "cpu_steal_s" in delta.unknown["cpu"]


def test_rows_are_long_and_leave_out_the_unknown():
    reading = replace(AFTER, sources={"host": Sample({"cpu_user_s": 1.5}), "device": Sample.missing(("x",), "why")})
    assert list(reading.rows()) == [(6_500_000_000, "host", "cpu_user_s", 1.5)]


MAIN, WRITER, SESSION = (10, 1), (11, 2), (12, 3)


def tasks(main, writer, session, **more):
    return {MAIN: Task("server", main), WRITER: Task("server", writer), SESSION: Task("server", session), **more}


def test_the_engine_s_words_and_what_is_left():
    kinds = {11: "log writer", 12: "session"}
    found = cpu_by_kind(tasks(1.0, 2.0, 3.0), tasks(1.5, 4.0, 8.0), kinds, 8.0)
    assert found == pytest.approx({"log writer": 2.0, "session": 5.0, UNATTRIBUTED: 1.0})


def test_sessions_add_up_and_one_that_began_in_the_interval_counts_from_its_begin():
    after = {**tasks(1.0, 2.0, 4.0), (13, 9): Task("server", 0.5)}
    found = cpu_by_kind(tasks(1.0, 2.0, 3.0), after, {12: "session", 13: "session"}, 1.5)
    assert found == pytest.approx({"session": 1.5, UNATTRIBUTED: 0.0})


def test_another_process_of_the_same_number_is_another_one():
    after = {MAIN: Task("server", 1.0), (12, 77): Task("server", 0.25)}
    assert cpu_by_kind(tasks(1.0, 2.0, 3.0), after, {12: "session"}, 0.25) == {"session": 0.25, UNATTRIBUTED: 0.0}


def test_where_the_engine_is_silent_the_kernel_s_name_stands():
    before = {MAIN: Task("mysqld", 0.0), WRITER: Task("ib_io_wr-1", 1.0), SESSION: Task("ib_io_wr-2", 1.0)}
    after = {MAIN: Task("mysqld", 1.0), WRITER: Task("ib_io_wr-1", 3.0), SESSION: Task("ib_io_wr-2", 2.0)}
    assert cpu_by_kind(before, after, {}, 4.0) == {"ib_io_wr": 3.0, UNATTRIBUTED: 1.0}


@table("seen", [{}, tasks(1.0, 2.0, 3.0)])
def test_nothing_is_told_of_tasks_without_names(seen):
    assert cpu_by_kind(seen, seen, {}, 4.0) is None


def test_clock_ticks_that_were_rounded_make_nothing_negative():
    found = cpu_by_kind(tasks(0, 0, 0), tasks(0, 0, 1.01), {12: "session"}, 1.0)
    assert found == {"session": 1.01, UNATTRIBUTED: 0.0}


def stat(number, parent, name, own, children=0, started=5):
    return f"{number} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {own} 0 {children} 0 20 0 1 0 {started} 0 0\n"


def test_tasks_are_the_threads_of_every_process_without_ended_children(tmp_path):
    (tmp_path / "stat").write_text("cpu  1 1 1 1\ncpu0 1 1 1 1\n")
    for pid, parent, name, threads in (
        (10, 1, "main", {10: "main", 14: "log (writer)"}),
        (11, 10, "worker", {11: "w"}),
    ):
        for tid, called in threads.items():
            folder = tmp_path / str(pid) / "task" / str(tid)
            folder.mkdir(parents=True)
            (folder / "stat").write_text(stat(tid, parent, called, own=tid, children=1000))
        (tmp_path / str(pid) / "stat").write_text(stat(pid, parent, name, own=50, children=1000))
    processes = ProcessTreeSampler(10, LocalProc(tmp_path))
    assert processes.tasks() == {}  # none has been read yet
    processes.read()
    found = processes.tasks()
    processes.close()
    assert next(iter(found)) == (10, 5)
    assert found == {
        (10, 5): Task("main", 10 / TICKS_PER_S),
        (14, 5): Task("log (writer)", 14 / TICKS_PER_S),
        (11, 5): Task("w", 11 / TICKS_PER_S),
    }


def several(reading, **devices):
    """``reading`` with these devices under the data; each as one figure for all of its counters."""
    samples = [
        Sample(dict.fromkeys(DEVICE_NAMES, value), f"block device {name}") if value is not None
        else Sample.missing(DEVICE_NAMES, f"{name} is gone")
        for name, value in devices.items()
    ]  # fmt: skip
    own = {f"device {name}": sample for name, sample in zip(devices, samples, strict=True)}
    return replace(reading, sources={**reading.sources, "device": sum_of_devices(samples), **own})


def test_devices_add_up_but_for_their_busy_time():
    before, after = several(BEFORE, vda=100, vdb=10), several(AFTER, vda=130, vdb=17)
    device = difference(before, after).device
    assert (device.name, device.reads, device.write_bytes, device.busy_ms) == ("vda + vdb", 37, 37, 30)
    assert [(part.name, part.reads, part.busy_ms) for part in device.parts] == [("vda", 30, 30), ("vdb", 7, 7)]
    total = after.sources["device"]
    assert (total.values["dev_reads"], BUSY in total.values) == (147, False)
    assert "each device" in total.unknown[BUSY]


def test_a_device_that_is_gone_leaves_all_unknown():
    delta = difference(several(BEFORE, vda=100, vdb=10), several(AFTER, vda=130, vdb=None))
    assert (delta.device, delta.unknown["device"]) == (None, "vdb is gone")
    three = difference(several(BEFORE, a=1, b=1, c=1), several(AFTER, a=2, b=3, c=4)).device
    assert (three.reads, three.busy_ms, [part.name for part in three.parts]) == (6, 3, ["a", "b", "c"])
