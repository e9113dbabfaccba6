"""Faults of storage before a crash, on a simulated server: what it did is said by what was seen, and what was lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from factories.crashes import CLEAN, record
from factories.crashing import CUT, ENOUGH, KILL, PATIENCE_S, Session, Simulated, lose_last, proved
from factories.running import eventually, slob
from openslob.core.errors import SlobError
from openslob.durability.cut import Fault, Files
from openslob.host.witness import Witness
from openslob.kinds.crash import faults
from openslob.kinds.crash import figures as analysis
from openslob.kinds.crash.record import CrashMethod, CycleFault, ServerDid
from openslob.kinds.crash.report import crash_document, cycle_line
from openslob.kinds.crash.rig import Crash
from openslob.record.model import Holds
from openslob.report.terminal import render_text


class Failing(Simulated):
    """A server that does ``under`` when its storage fails, which so many requests meet."""

    def __init__(self, under=lambda server: None, met=1, pid=None, at_crash=lambda log: None, **more):
        super().__init__(at_crash, **more)
        self.under, self.met, self.began, self.ended = under, met, [], []
        self.errors, self.hanging = 0, threading.Event()
        self.server = SimpleNamespace(name="failing", status=lambda: SimpleNamespace(pid=pid or os.getpid()))

    def open_session(self, number):
        return FailingSession(self, number)

    def begin_fault(self, fault, seconds, files, seed):
        with self.lock:
            assert self.lock.wait_for(lambda: len(self.log) >= ENOUGH * (self.crashes + 1), PATIENCE_S)
        self.began.append((fault, seconds, files, seed))
        self.under(self)

    def fault_met(self):
        return self.met, "write of base/1/2" if self.met else ""

    def end_fault(self, kind):
        self.hanging.clear()
        with self.lock:
            self.up = False
            self.crashes += 1
            self.at_crash(self.log)
        self.ended.append(kind)
        return Crash(time.monotonic_ns())


class FailingSession(Session):
    def __init__(self, server, number):
        super().__init__(server, number)
        self.was_cut = threading.Event()

    def commit(self, number, key):
        while self.server.hanging.is_set() and not self.was_cut.wait(0.01):
            pass
        with self.server.lock:
            if self.server.errors:
                self.server.errors -= 1
                raise SlobError(f"session {self.number} was lost: could not write block {number}")
        if self.was_cut.is_set():
            raise SlobError("cut off")
        return super().commit(number, key)

    def cut(self):
        self.was_cut.set()


def suffered(tmp_path, server, fault=Fault.EIO_WRITE, **more):
    more = {"cycles": 1, "fault_s": 0.2 if faults.FAULTS[fault].is_timed else None, **more}
    found, _, verdicts = proved(tmp_path, server, fault=fault, **more)
    return found, verdicts


def test_a_server_whose_clients_see_no_error_goes_on(tmp_path):
    found, verdicts = suffered(tmp_path, Failing(), cycles=2)
    for cycle in found.cycles:
        assert (cycle.fault.did, cycle.fault.met, cycle.fault.client_errors) == (ServerDid.GOES_ON, 1, 0)
        assert cycle.fault.answered_s > 0
        assert (cycle.fault.checkpoint, cycle.fault.checkpoint_after) == ("", "")
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS
    assert found.value("faults_met") == 2


def test_errors_that_clients_saw_are_kept_once_each_and_the_sessions_come_back(tmp_path):
    def fail_some(server):
        server.errors = 3
        assert eventually(lambda: not server.errors)

    found, verdicts = suffered(tmp_path, Failing(fail_some))
    (cycle,) = found.cycles
    assert (cycle.fault.did, cycle.fault.client_errors) == (ServerDid.REPORTS, 3)
    (said,) = cycle.fault.said
    assert "could not write block" in said
    assert cycle.in_doubt >= 3
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS


def test_a_server_that_takes_no_commit_afterwards_and_says_so_refuses(tmp_path, monkeypatch):
    monkeypatch.setattr(faults, "ANSWER_S", 0.5)
    monkeypatch.setattr(faults, "ENDING_S", PATIENCE_S)
    found, _ = suffered(tmp_path, Failing(lambda server: setattr(server, "up", False)))
    assert (found.cycles[0].fault.did, found.cycles[0].fault.answered_s) == (ServerDid.REFUSES, None)


def test_a_server_that_takes_no_commit_afterwards_and_is_silent_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(faults, "ANSWER_S", 0.5)
    monkeypatch.setattr(faults, "ENDING_S", 0.1)
    found, verdicts = suffered(tmp_path, Failing(lambda server: server.hanging.set()))
    assert (found.cycles[0].fault.did, found.cycles[0].fault.checkpoint_after) == (ServerDid.HANGS, None)
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS


def test_a_server_whose_main_process_is_gone_has_ended(tmp_path):
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:

        def end(server):
            server.up = False
            process.kill()
            process.wait()

        found, _ = suffered(tmp_path, Failing(end, pid=process.pid))
    assert found.cycles[0].fault.did is ServerDid.ENDS


def test_a_server_all_of_whose_other_processes_are_new_has_restarted(tmp_path):
    with subprocess.Popen(["sh", "-c", "sleep 1000; sleep 1000; :"]) as process:
        main = psutil.Process(process.pid)
        assert eventually(main.children)

        def restart(_server):
            (child,) = main.children()
            child.send_signal(signal.SIGKILL)
            assert eventually(lambda: main.children() not in ([], [child]))

        found, _ = suffered(tmp_path, Failing(restart, pid=process.pid))
        for child in main.children():
            child.kill()
        process.kill()
    assert (found.cycles[0].fault.did, found.cycles[0].fault.answered_s is None) == (ServerDid.RESTARTS, False)


def test_a_server_that_does_not_run_is_no_witness():
    for pid in (None, 2**22 + 1):
        with pytest.raises(SlobError, match="the server is not running"):
            Witness.begin(pid)


def test_what_is_lost_after_a_fault_is_found_and_the_fault_is_named(tmp_path):
    found, verdicts = suffered(tmp_path, Failing(at_crash=lose_last(ENOUGH)), fault=Fault.FSYNC_ONCE)
    (cycle,) = found.cycles
    assert cycle.lost > 0
    assert cycle.fault.seconds is None
    assert verdicts["no_acked_commit_lost"].verdict is Holds.FAILS
    assert verdicts["no_acked_commit_lost"].why.startswith("cycle 1 (kill after fsync-once on tables): ")


def test_a_fault_that_nothing_met_is_not_tested_and_never_held(tmp_path):
    found, verdicts = suffered(tmp_path, Failing(met=0), fault=Fault.FSYNC_ONCE, cycles=2)
    assert {verdict.verdict for verdict in verdicts.values()} == {Holds.UNKNOWN}
    assert {verdict.why for verdict in verdicts.values()} == {"not tested: no request of the server met the fault"}
    assert found.value("faults_met") == 0
    assert "fsync-once was not tested: it met no request in 2 cycles." in text_of(found)
    assert cycle_line(found.cycles[0]).startswith("fsync-once on tables: not tested, it met no request; ")


def test_files_and_kinds_of_crashes_take_turns_together_and_a_choice_ends_the_turns(tmp_path):
    server = Failing()
    suffered(tmp_path / "turns", server, fault=Fault.FSYNC_ONCE, cycles=4, kinds=(*KILL, *CUT))
    assert [files for _, _, files, _ in server.began] == [Files.TABLES, Files.TABLES, Files.REST, Files.REST]
    assert server.ended == [CrashMethod.KILL, CrashMethod.CUT] * 2
    assert len({seed for *_, seed in server.began}) == 4
    server = Failing()
    suffered(tmp_path / "choice", server, cycles=2, fault_on=Files.ALL)
    assert [began[:3] for began in server.began] == [(Fault.EIO_WRITE, 0.2, Files.ALL)] * 2


def test_a_server_that_a_fault_left_damaged_is_made_again_for_the_next_cycle(tmp_path):
    server = Failing(found=lambda crashes: ["page 7 is torn"] if crashes == 1 else [])
    found, verdicts = suffered(tmp_path, server, cycles=2)
    assert (len(found.cycles), server.made) == (2, 2)
    assert verdicts["nothing_damaged"].verdict is Holds.FAILS


def text_of(found):
    return " ".join(render_text(crash_document(found)).split())


def after(number, **fault):
    usual = {"name": "fsync-once", "files": "tables", "met": 1, "first": "sync of base/5/7", "did": ServerDid.GOES_ON}
    seen = CycleFault(**{**usual, **fault})
    return CLEAN.model_copy(update={"number": number, "fault": seen})


def test_the_answer_counts_what_the_server_did_and_only_where_it_met_the_fault():
    cycles = [
        after(1, did=ServerDid.RESTARTS, log=("PANIC:  could not fsync file 7", "PANIC:  could not fsync file 8")),
        after(2, did=ServerDid.RESTARTS, answered_s=1.5),
        after(3, did=ServerDid.ENDS, files="rest"),
        after(4, met=0, first=""),
    ]
    text = text_of(record(*cycles))
    assert (
        "fsync-once met the server in 3 of 4 cycles: in 2 it restarted all of its processes but the main one; in 1 it "
        "ended. "
        "4,800 commits were acknowledged before 4 crashes, and all of them are there."
    ) in text
    assert text.count("PANIC: could not fsync file") == 1
    table = render_text(crash_document(record(*cycles))).partition("WHAT THE SERVER DID")[2].splitlines()[2:4]
    assert [line.split()[:9] for line in table] == [
        ["tables", "3", "2", "0", "0", "2", "0", "0", "0"], ["rest", "1", "1", "0", "0", "0", "1", "0", "0"],
    ]  # fmt: skip
    keeps = analysis.verdicts(cycles, None)[0]
    assert keeps.why.endswith("The fault met the server in 3 of 4 cycles; the others test nothing, and do not count")
    assert keeps.figures["ruled_out_pct"] == pytest.approx(analysis.ruled_out_pct(3))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fault-for", "2s"), "--fault-for and --fault-on describe a fault, and none is given; add --fault NAME"),
        (("--fault-on", "tables"), "--fault-for and --fault-on describe a fault, and none is given; add --fault NAME"),
        (("--fault", "fsync-once", "--fault-for", "2s"), "--fault fsync-once does not last for a time"),
        (("--fault", "stall", "--server", "x"), "on an ordinary file system, which can't be made to fail"),
    ],
)
def test_what_can_not_be_asked_of_a_fault_is_refused(tmp_path, words, said):
    refused = slob("crash", *words, "--results", tmp_path / "results")
    assert refused.returncode == 2, refused.stderr
    assert said in " ".join(refused.stderr.split())
    assert not (tmp_path / "results").exists()
