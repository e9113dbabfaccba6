"""The server's process tree from emulated /proc folders."""

from __future__ import annotations

import os
import shutil

import pytest

from factories.tables import table
from openslob.core.host import FigureUnknownError
from openslob.core.process_selector import ProcessSet, ProcessTree
from openslob.host.counters import TICKS_PER_S
from openslob.host.proc_files import LocalProc
from openslob.host.processes import (
    ProcessTreeSampler,
    combine_readings,
    find_descendants,
    parse_io,
    parse_stat,
    process_sampler,
)


def stat_text(pid, parent, ticks=(0, 0, 0, 0), name="server", faults=0, started=100, threads=1):
    utime, stime, cutime, cstime = ticks
    return (
        f"{pid} ({name}) S {parent} {pid} {pid} 0 -1 4194304 55 {faults} 0 0 "
        f"{utime} {stime} {cutime} {cstime} 20 0 {threads} 0 {started} 2613248 359 18446744073709551615 1 1 0\n"
    )


class FakeProc:
    """A folder that looks like /proc."""

    def __init__(self, path):
        self.path = path
        (path / "stat").write_text("cpu  1 1 1 1\ncpu0 1 1 1 1\n")

    def add(self, pid, parent, io=(0, 0), waited_ns=None, **stat):
        folder = self.path / str(pid)
        folder.mkdir(exist_ok=True)
        if waited_ns is not None:
            (folder / "schedstat").write_text(f"123456789 {waited_ns} 42\n")
        (folder / "stat").write_text(stat_text(pid, parent, **stat))
        if io is not None:
            text = f"rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: {io[0]}\nwrite_bytes: {io[1]}\n"
            (folder / "io").write_text(text + "cancelled_write_bytes: 0\n")


@pytest.fixture
def proc(tmp_path):
    return FakeProc(tmp_path)


@table("name", ["server", "a b", "x) S 1 (y", ")", "(", "("])
def test_a_name_may_hold_anything(name):
    stat = parse_stat(stat_text(42, 7, (1, 2, 3, 4), name=name, faults=5, started=6).encode())
    assert (stat.pid, stat.parent, stat.ticks, stat.reaped_faults, stat.started) == (42, 7, 10, 5, 6)


def test_io_is_storage_not_calls():
    text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 8192\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n"
    assert parse_io(text) == (8192, 4096)


def test_descendants_in_any_depth_and_nobody_else():
    parents = {20: 10, 30: 20, 5: 30, 40: 1, 10: 1}
    stats = [parse_stat(stat_text(pid, parent).encode()) for pid, parent in parents.items()]
    assert {stat.pid for stat in find_descendants(10, stats)} == {20, 30, 5}


def test_the_tree_adds_up(proc):
    proc.add(1, 0, ticks=(9000, 0, 9000, 0))
    proc.add(10, 1, ticks=(1, 2, 30, 40), io=(1000, 1))
    proc.add(11, 10, ticks=(100, 200, 0, 0), io=(2000, 2))
    proc.add(12, 11, ticks=(5, 5, 5, 5), io=(4000, 4))
    proc.add(99, 1, ticks=(7777, 0, 0, 0), io=(9999, 9999))
    sample = ProcessTreeSampler(10, LocalProc(proc.path)).read().server()
    assert sample.values["server_cpu_s"] == 393 / TICKS_PER_S
    assert (sample.values["server_read_bytes"], sample.values["server_write_bytes"]) == (7000, 7)


def test_a_reaped_child_s_cpu_stays(proc):
    proc.add(10, 1, ticks=(1, 0, 0, 0))
    proc.add(11, 10, ticks=(50, 50, 0, 0))
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    before = processes.read().server().values["server_cpu_s"]
    for name in ("stat", "io"):
        (proc.path / "11" / name).unlink()
    (proc.path / "11").rmdir()
    proc.add(10, 1, ticks=(1, 0, 51, 50), faults=9)
    assert processes.read().server().values["server_cpu_s"] - before == pytest.approx(1 / TICKS_PER_S)


def test_a_restarted_server_is_another_epoch(proc):
    proc.add(10, 1, started=100)
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    before = processes.read().server()
    proc.add(10, 1, started=200)
    assert processes.read().server().epoch != before.epoch


def test_child_reaped_while_reading_is_read_again(proc, monkeypatch):
    proc.add(10, 1, ticks=(1, 0, 0, 0))
    proc.add(11, 10, ticks=(50, 0, 0, 0))
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    read_io, ended = processes.read_io, []

    def io_while_child_ends(pid):
        if pid == 10 and not ended:
            ended.append(True)
            (proc.path / "11/stat").unlink()
            proc.add(10, 1, ticks=(1, 0, 50, 0), faults=77)
        return read_io(pid)

    monkeypatch.setattr(processes, "read_io", io_while_child_ends)
    assert processes.read().server().values["server_cpu_s"] == 51 / TICKS_PER_S


def test_processes_that_never_stay_are_unknown(proc, monkeypatch):
    proc.add(10, 1)
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    read_io, faults = processes.read_io, iter(range(1, 100))

    def io_while_children_end(pid):
        proc.add(10, 1, faults=next(faults))
        return read_io(pid)

    monkeypatch.setattr(processes, "read_io", io_while_children_end)
    with pytest.raises(FigureUnknownError, match="faster than"):
        processes.read()


def test_waits_for_a_cpu_are_those_of_all_threads_and_keep_what_ended(proc):
    proc.add(10, 1, waited_ns=2_000_000_000, threads=2)
    for tid, waited_ns in ((10, 2_000_000_000), (15, 500_000_000)):
        folder = proc.path / f"10/task/{tid}"
        folder.mkdir(parents=True)
        (folder / "schedstat").write_text(f"1 {waited_ns} 1\n")
    proc.add(11, 10, waited_ns=1_000_000_000)
    sampler = ProcessTreeSampler(10, LocalProc(proc.path))
    assert sampler.read().waited_s == pytest.approx(3.5)
    shutil.rmtree(proc.path / "11")
    proc.add(12, 10, waited_ns=250_000_000)
    assert sampler.read().server().values["server_runqueue_s"] == pytest.approx(3.75)


@table("text", [None, "0 0 0\n"])
def test_a_kernel_that_does_not_count_waits_for_a_cpu(proc, text):
    proc.add(10, 1)
    if text:
        (proc.path / "10/schedstat").write_text(text)
    sample = ProcessTreeSampler(10, LocalProc(proc.path)).read().server()
    assert "server_runqueue_s" not in sample.values
    assert "this kernel does not count" in sample.unknown["server_runqueue_s"]


def test_main_process_gone(proc):
    with pytest.raises(FigureUnknownError, match="10 has ended"):
        ProcessTreeSampler(10, LocalProc(proc.path)).read()


def test_no_proc_at_all(tmp_path):
    with pytest.raises(FigureUnknownError, match="Linux only"):
        ProcessTreeSampler(10, LocalProc(tmp_path))


def test_kernel_without_io_accounting_still_tells_cpu(proc):
    proc.add(10, 1, ticks=(3, 0, 0, 0), io=None)
    sample = ProcessTreeSampler(10, LocalProc(proc.path)).read().server()
    assert sample.values["server_cpu_s"] == 3 / TICKS_PER_S
    assert "server_read_bytes" not in sample.values
    assert sample.unknown["server_read_bytes"] == "this kernel keeps no storage I/O by process"


def test_io_of_one_process_forbidden_makes_the_sum_unknown(proc, monkeypatch):
    proc.add(10, 1)
    proc.add(11, 10)
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    text_of = processes.files.read

    def forbidden(name):
        if name == "11/io":
            raise PermissionError(13, "Permission denied")
        return text_of(name)

    monkeypatch.setattr(processes.files, "read", forbidden)
    sample = processes.read().server()
    assert "may not read" in sample.unknown["server_write_bytes"]
    assert "server_cpu_s" in sample.values


def test_sampler_sessions(proc):
    proc.add(10, 1, ticks=(1, 1, 0, 0))
    proc.add(11, 10, ticks=(20, 0, 0, 0))
    proc.add(12, 10, ticks=(300, 0, 0, 0), started=555)
    proc.add(99, 1, ticks=(9, 0, 0, 0))
    reading = ProcessTreeSampler(10, LocalProc(proc.path)).read()
    assert reading.samplers([12, 11]).values == {"sampler_cpu_s": 320 / TICKS_PER_S}
    assert reading.samplers([11]).epoch != reading.samplers([11, 12]).epoch
    assert "no sampling session" in reading.samplers([]).unknown["sampler_cpu_s"]
    assert "99 is not a process of the server" in reading.samplers([11, 99]).unknown["sampler_cpu_s"]


def test_close_releases_and_may_be_repeated(proc):
    proc.add(10, 1)
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    processes.close()
    processes.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        processes.read()


def test_the_servers_of_a_cluster_add_up(proc):
    proc.add(10, 1, ticks=(1, 0, 0, 0), io=(1000, 1))
    proc.add(11, 10, ticks=(100, 0, 0, 0), io=(2000, 2))
    proc.add(20, 1, ticks=(10, 0, 0, 0), io=(4000, 4))
    proc.add(21, 20, ticks=(1000, 0, 0, 0), io=(8000, 8))
    both = combine_readings([ProcessTreeSampler(pid, LocalProc(proc.path)).read() for pid in (10, 20)])
    server = both.server()
    assert server.values["server_cpu_s"] == 1111 / TICKS_PER_S
    assert (server.values["server_read_bytes"], server.values["server_write_bytes"]) == (15000, 15)
    assert "process 10" in server.epoch
    assert "process 20" in server.epoch
    assert both.samplers([11, 21]).values["sampler_cpu_s"] == 1100 / TICKS_PER_S
    assert "20" in both.samplers([11, 20]).unknown["sampler_cpu_s"]


def quick(proc, children):
    """A reader after one thorough reading, of a main process whose list of children is ``children``."""
    proc.add(10, 1, ticks=(1, 0, 0, 0))
    proc.add(11, 10, ticks=(100, 0, 0, 0))
    (proc.path / "10/task/10").mkdir(parents=True)
    (proc.path / "10/task/10/children").write_text(children)
    processes = ProcessTreeSampler(10, LocalProc(proc.path))
    processes.read()
    return processes


def ticks_of(processes):
    return round(processes.read(full_scan=False).server().values["server_cpu_s"] * TICKS_PER_S)


def test_a_quick_reading_sees_what_moves_new_children_and_no_stranger(proc):
    processes = quick(proc, "11 12 ")
    proc.add(11, 10, ticks=(200, 0, 0, 0))
    proc.add(12, 10, ticks=(1000, 0, 0, 0))
    proc.add(99, 1, ticks=(7777, 0, 0, 0))
    assert ticks_of(processes) == 1201
    proc.add(11, 10, ticks=(300, 0, 0, 0))
    assert ticks_of(processes) == 1301


def test_a_quick_reading_without_a_list_of_children_looks_at_every_process(proc):
    processes = quick(proc, "")
    (proc.path / "10/task/10/children").unlink()
    proc.add(12, 10, ticks=(1000, 0, 0, 0))
    assert ticks_of(processes) == 1101


def test_files_of_processes_stay_open_between_quick_readings_and_are_closed(proc):
    processes = quick(proc, "11")
    ticks_of(processes)
    assert "11/stat" in processes.files.open_files
    handle = processes.files.open_files["11/stat"]
    processes.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


def test_a_number_that_went_to_a_stranger_is_no_longer_the_server_s(proc, monkeypatch):
    processes = quick(proc, "")
    ticks_of(processes)
    proc.add(11, 1, ticks=(5000, 0, 0, 0))
    kept = processes.files.open_files["11/stat"]
    pread = os.pread

    def ended(handle, *rest):
        if handle == kept and kept in processes.files.open_files.values():
            raise ProcessLookupError(3, "No such process")
        return pread(handle, *rest)

    monkeypatch.setattr(os, "pread", ended)
    assert ticks_of(processes) == 1


def test_a_set_of_processes_without_a_common_parent(proc):
    """Two background processes of one server that belong to init, and somebody else's."""
    proc.add(1, 0, ticks=(9000, 0, 9000, 0))
    proc.add(10, 1, ticks=(1, 2, 500, 0), io=(1000, 1))
    proc.add(20, 1, ticks=(10, 0, 0, 0), io=(4000, 4))
    proc.add(99, 1, ticks=(7777, 0, 0, 0))
    pids = [10, 20]
    processes = process_sampler(ProcessSet("processes of the instance", lambda: pids), LocalProc(proc.path))
    reading = processes.read()
    sample = reading.server()
    assert sample.values["server_cpu_s"] == 13 / TICKS_PER_S
    assert (sample.values["server_read_bytes"], sample.epoch) == (5000, "processes of the instance")
    assert reading.samplers([20]).values == {"sampler_cpu_s": 10 / TICKS_PER_S}
    assert "99 is not a process of the server" in reading.samplers([99]).unknown["sampler_cpu_s"]
    pids.append(30)
    proc.add(30, 1, ticks=(100, 0, 0, 0))
    assert processes.read(full_scan=False).ticks == 13
    assert processes.read().ticks == 113
    for file in ("stat", "io"):
        (proc.path / "20" / file).unlink()
    pids.remove(20)
    # What a process used that has ended stays in the sum: a counter never falls.
    assert (processes.read().ticks, processes.read().io) == (113, (5000, 5))
    processes.close()


def test_a_set_without_processes_is_unknown(proc):
    with pytest.raises(FigureUnknownError, match="there are no processes of the instance"):
        process_sampler(ProcessSet("processes of the instance", list), LocalProc(proc.path)).read()


def test_each_selector_has_its_sampler(proc):
    proc.add(10, 1, ticks=(1, 2, 0, 0))
    assert (
        process_sampler(ProcessTree(10), LocalProc(proc.path)).read().server().epoch
        == "process 10, started at tick 100"
    )
    assert [str(each) for each in (ProcessTree(10), ProcessSet("the rest", list))] == ["10", "the rest"]
