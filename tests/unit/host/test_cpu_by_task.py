"""The server's CPU by kind of process or thread, on made-up tasks and emulated /proc folders."""

from __future__ import annotations

import pytest

from openslob.host.counters import TICKS_PER_S
from openslob.host.cpu_by_task import NOT_TOLD_APART, cpu_by_kind
from openslob.host.processes import ProcessSampler, Task

MAIN, WRITER, SESSION = (10, 1), (11, 2), (12, 3)


def tasks(main, writer, session, **more):
    return {MAIN: Task("server", main), WRITER: Task("server", writer), SESSION: Task("server", session), **more}


def test_the_engine_s_words_and_what_is_left():
    kinds = {11: "log writer", 12: "session"}
    found = cpu_by_kind(tasks(1.0, 2.0, 3.0), tasks(1.5, 4.0, 8.0), kinds, 8.0)
    assert found == pytest.approx({"log writer": 2.0, "session": 5.0, NOT_TOLD_APART: 1.0})


def test_sessions_add_up_and_one_that_began_in_the_interval_counts_from_its_begin():
    after = {**tasks(1.0, 2.0, 4.0), (13, 9): Task("server", 0.5)}
    found = cpu_by_kind(tasks(1.0, 2.0, 3.0), after, {12: "session", 13: "session"}, 1.5)
    assert found == pytest.approx({"session": 1.5, NOT_TOLD_APART: 0.0})


def test_another_process_of_the_same_number_is_another_one():
    after = {MAIN: Task("server", 1.0), (12, 77): Task("server", 0.25)}
    assert cpu_by_kind(tasks(1.0, 2.0, 3.0), after, {12: "session"}, 0.25) == {"session": 0.25, NOT_TOLD_APART: 0.0}


def test_where_the_engine_is_silent_the_kernel_s_name_stands():
    before = {MAIN: Task("mysqld", 0.0), WRITER: Task("ib_io_wr-1", 1.0), SESSION: Task("ib_io_wr-2", 1.0)}
    after = {MAIN: Task("mysqld", 1.0), WRITER: Task("ib_io_wr-1", 3.0), SESSION: Task("ib_io_wr-2", 2.0)}
    assert cpu_by_kind(before, after, {}, 4.0) == {"ib_io_wr": 3.0, NOT_TOLD_APART: 1.0}


@pytest.mark.parametrize("seen", [{}, tasks(1.0, 2.0, 3.0)])
def test_nothing_is_told_of_tasks_without_names(seen):
    assert cpu_by_kind(seen, seen, {}, 4.0) is None


def test_clock_ticks_that_were_rounded_make_nothing_negative():
    found = cpu_by_kind(tasks(0, 0, 0), tasks(0, 0, 1.01), {12: "session"}, 1.0)
    assert found == {"session": 1.01, NOT_TOLD_APART: 0.0}


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
    processes = ProcessSampler(10, tmp_path)
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
