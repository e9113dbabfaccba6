"""The cycles of a proof of durability, on a simulated server that loses, tears, doubles or does not come back."""

from __future__ import annotations

import json
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from factories.crashing import CUT, ENOUGH, PATIENCE_S, Simulated, lose_last, proved
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.durability import ledger
from openslob.engines import registry
from openslob.engines.patience import StoppedError
from openslob.kinds.crash import execute as crash
from openslob.kinds.crash.record import CrashMethod
from openslob.kinds.crash.rig import Rig
from openslob.record.model import Holds, Status


def test_a_server_that_keeps_everything_passes_and_no_ledger_is_kept(tmp_path):
    record, folder, verdicts = proved(tmp_path, Simulated(), kinds=(CrashMethod.KILL, CrashMethod.CUT))
    assert [cycle.kind.value for cycle in record.cycles] == ["kill", "cut", "kill"]
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS
    assert verdicts["nothing_damaged"].verdict is Holds.HOLDS
    assert record.status is Status.COMPLETE
    assert record.value("acked_commits") >= 3 * ENOUGH - 9
    assert record.value("recovery_median_s") == 0.25
    assert list((folder / "ledgers").iterdir()) == []


@pytest.mark.parametrize("count", [1, 5, ENOUGH])
def test_acknowledged_commits_that_are_lost_are_named_and_their_ledger_is_kept(tmp_path, count):
    record, folder, verdicts = proved(tmp_path, Simulated(lose_last(count)), cycles=1)
    (cycle,) = record.cycles
    assert cycle.lost + cycle.doubtful_there >= count - cycle.in_doubt
    assert cycle.lost >= 1
    assert verdicts["no_acked_commit_lost"].verdict is Holds.FAILS
    assert (
        f"{cycle.lost:,} of {cycle.acked:,} acknowledged commits are not there" in verdicts["no_acked_commit_lost"].why
    )
    acked = [each for each in ledger.read(folder / cycle.ledger) if not each.in_doubt]
    assert len(acked) == cycle.acked
    assert {(each.session, each.number) for each in cycle.lost_operations} <= {(e.session, e.number) for e in acked}


def tear(log):
    session, number, key, _ = log[-1]
    log[-1] = (session, number, key, ("row",))


def double(log):
    log.append(log[-1])


@pytest.mark.parametrize("fault", [tear, double])
def test_a_transaction_that_is_torn_or_doubled_is_caught(tmp_path, fault):
    record, _, verdicts = proved(tmp_path, Simulated(fault), cycles=1)
    assert record.cycles[0].faults or record.cycles[0].lost
    assert verdicts["no_acked_commit_lost"].verdict is Holds.FAILS


def test_a_server_that_does_not_recover_ends_the_proof(tmp_path):
    record, _, verdicts = proved(tmp_path, Simulated(recovers=lambda crashes: crashes < 2), cycles=5)
    assert len(record.cycles) == 2
    assert verdicts["no_acked_commit_lost"].why == "cycle 2 (kill): the server did not recover: it did not start"
    assert record.notes == ("No cycle after 2: cycle 2 (kill): the server did not recover: it did not start",)
    assert record.cycles[1].recovery_s is None


def test_damage_is_a_verdict_of_its_own_and_ends_the_proof(tmp_path):
    server = Simulated(found=lambda crashes: ["page 7 is torn"] if crashes == 2 else [])
    record, _, verdicts = proved(tmp_path, server, cycles=5)
    assert len(record.cycles) == 2
    assert verdicts["nothing_damaged"].why == "cycle 2 (kill): page 7 is torn"
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS


def test_a_control_that_is_caught_goes_on_with_a_new_server_where_the_old_one_is_broken(tmp_path):
    server = Simulated(lose_last(ENOUGH), found=lambda crashes: ["torn"] if crashes == 1 else [])
    server.recovers = lambda crashes: crashes != 2
    record, _, verdicts = proved(tmp_path, server, cycles=4, kinds=CUT, control="fsync-off")
    assert len(record.cycles) == 4
    assert server.made == 3
    assert verdicts["control_caught"].verdict is Holds.HOLDS
    why = verdicts["control_caught"].why
    assert "4 of 4 crashes with fsync-off" in why
    assert "(1 of them since the server did not recover, or its data could not be read): 40 to 100 % of" in why
    assert why.endswith("so that a run of 4 finds it with a chance of at least 86.83 %")


def test_a_control_that_lost_commits_goes_on_with_the_same_server_as_a_proof_does(tmp_path):
    server = Simulated(lose_last(ENOUGH))
    record, _, verdicts = proved(tmp_path, server, cycles=4, kinds=CUT, control="fsync-off")
    assert (len(record.cycles), server.made, record.notes) == (4, 1, ())
    assert verdicts["control_caught"].verdict is Holds.HOLDS


def test_crashes_come_in_checkpoints_and_in_recovery_and_their_torn_pages_are_counted(tmp_path):
    server = Simulated()
    server.torn = 3
    record, _, verdicts = proved(tmp_path, server, cycles=20, kinds=(CrashMethod.KILL, CrashMethod.CUT))
    assert server.checkpoints > 0
    assert 0 < server.again < 20
    assert sum(cycle.recovery_crashes for cycle in record.cycles) == (server.again + 1) // 2
    for cycle in record.cycles:
        assert cycle.torn_pages in ((None,) if cycle.kind is CrashMethod.KILL else (3, 4))
    whole = verdicts["nothing_damaged"]
    assert (whole.figures["torn_cycles"], whole.verdict) == (10, Holds.HOLDS)
    assert whole.figures["torn_pages"] == sum(cycle.torn_pages or 0 for cycle in record.cycles)


def test_a_server_that_makes_no_checkpoint_when_it_is_asked_is_told_once(tmp_path):
    server = Simulated()
    session = server.open_session

    def refusing(number):
        made = session(number)
        made.checkpoint = lambda: (_ for _ in ()).throw(SlobError("no such variable"))
        return made

    server.open_session = refusing
    record, _, verdicts = proved(tmp_path, server, cycles=12)
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS
    (note,) = record.notes
    assert note.endswith("the server made no checkpoint under load: no such variable")


def test_a_control_that_is_not_caught_fails(tmp_path):
    _, _, verdicts = proved(tmp_path, Simulated(), kinds=CUT, control="fsync-off")
    assert verdicts["control_caught"].verdict is Holds.FAILS
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS


def test_where_a_control_can_lose_nothing_the_reason_is_told(tmp_path):
    _, _, verdicts = proved(tmp_path, Simulated(), control="fsync-off")
    assert verdicts["control_caught"].verdict is Holds.UNKNOWN
    assert "the operating system keeps what the server has written" in verdicts["control_caught"].why
    assert verdicts["control_caught"].why.endswith("It says nothing of the server's safety")


def test_a_stop_ends_the_proof_after_the_present_cycle(tmp_path):
    interrupt = Interrupt()
    server = Simulated(at_crash=lambda log: interrupt.request())
    record, _, _ = proved(tmp_path, server, cycles=50, interrupt=interrupt)
    assert len(record.cycles) == 1
    assert record.cycles[0].is_clean
    assert record.status is Status.INTERRUPTED


def test_sessions_that_end_before_the_crash_are_noted_once(tmp_path):
    clients_of = crash.Clients

    def ending_one(*arguments):
        clients = clients_of(*arguments)
        clients.errors[2] = "refused"
        return clients

    with (
        patch.object(crash, "Clients", ending_one),
        patch.object(clients_of, "running", lambda _: 2),
        patch.object(clients_of, "join", lambda self, _: [thread.join() for thread in self._threads] or True),
    ):
        record, _, _ = proved(tmp_path, Simulated(), cycles=2)
    assert record.notes == ("Cycle 1: 1 of 3 sessions had ended before the crash: refused",)


def test_a_stop_while_the_data_are_read_is_no_fault_of_the_server(tmp_path):
    server = Simulated()
    read = server.contents

    def contents():
        if server.crashes == 2:
            raise StoppedError("stopped while it waited for the server")
        return read()

    server.contents = contents
    record, _, verdicts = proved(tmp_path, server, cycles=5)
    assert (record.status, len(record.cycles)) == (Status.INTERRUPTED, 1)
    assert verdicts["no_acked_commit_lost"].verdict is Holds.HOLDS


def test_a_server_that_does_not_run_can_not_be_crashed():
    killed = []
    server = SimpleNamespace(name="s", status=lambda: SimpleNamespace(pid=None), kill=killed.append)
    with pytest.raises(SlobError, match="the server s is not running"):
        Rig(server, None, None).crash(CrashMethod.KILL, lambda: killed.append("waited"))
    assert killed == []


@pytest.mark.parametrize(("made_for", "destroyed"), [("crash", True), ("", False)])
def test_only_servers_that_a_proof_made_are_destroyed_before_it(made_for, destroyed):
    done = []
    spec = SimpleNamespace(made_for=made_for)
    server = SimpleNamespace(status=lambda: SimpleNamespace(spec=spec), destroy=lambda: done.append(True))
    with patch.object(registry, "find", lambda _: server):
        if destroyed:
            registry.remove_left("crash-postgresql", "crash")
        else:
            with pytest.raises(UsageError, match="there is one that it did not make"):
                registry.remove_left("crash-postgresql", "crash")
    assert bool(done) is destroyed


def test_a_proof_that_can_not_go_on_leaves_a_failed_record(tmp_path):
    server = Simulated()
    server.contents = lambda: (_ for _ in ()).throw(SlobError("no answer"))
    with pytest.raises(SlobError, match="no answer"):
        proved(tmp_path, server)
    (file,) = tmp_path.glob("*/crash.json")
    document = json.loads(file.read_text())
    assert (document["status"], document["errors"]) == ("failed", ["no answer"])


def test_sessions_that_end_by_themselves_are_an_error_and_no_crash(tmp_path):
    server = Simulated()
    begin = server.begin
    server.begin = lambda *counts: (begin(*counts), setattr(server, "up", False))
    start = crash.Clients.start

    def start_and_let_end(clients):
        start(clients)
        assert clients.join(PATIENCE_S)

    with (
        patch.object(crash.Clients, "start", start_and_let_end),
        pytest.raises(SlobError, match="no session could go on: lost"),
    ):
        proved(tmp_path, server, cycles=1)
