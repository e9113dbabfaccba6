"""Sessions and their ledger, on a server that is a dictionary."""

from __future__ import annotations

import os
import threading
import time
from unittest.mock import patch

import pytest

from openslob.core.errors import SlobError
from openslob.durability import ledger
from openslob.durability.clients import Clients
from openslob.durability.ledger import LedgerFile, Operation

# Longer than any host takes.
PATIENCE_S = 120


class Tables:
    """A server whose sessions fail after so many commits, all together, or hang; it refuses some sessions."""

    def __init__(self, fails_after=10**9, hangs=False, refused=()):
        self.committed, self.closed, self.lock = [], [], threading.Lock()
        self.fails_after, self.hangs, self.refused = fails_after, hangs, refused

    def open_session(self, number):
        if number in self.refused:
            raise SlobError("no room")
        return Session(self, number)


class Session:
    def __init__(self, tables, number):
        self.tables, self.number, self.is_cut = tables, number, threading.Event()

    def commit(self, number, key):
        with self.tables.lock:
            if len(self.tables.committed) >= self.tables.fails_after or self.is_cut.is_set():
                raise SlobError("lost")
            self.tables.committed.append((self.number, number, key))
        if self.tables.hangs:
            self.is_cut.wait()
            raise SlobError("cut")
        return 1_000 + number

    def cut(self):
        self.is_cut.set()

    def close(self):
        self.tables.closed.append(self.number)


def worked(tables, path, sessions=3, **more):
    with LedgerFile(path) as file:
        clients = Clients(tables, file, 5, [1] * sessions, **more)
        clients.start()
        while clients.running() and len(tables.committed) < (sessions if tables.hangs else 20):
            time.sleep(0.001)
        # Sessions that do not hang have all the time that they need to end.
        operations = clients.end(0.0 if tables.hangs else PATIENCE_S)
    return clients, operations


def test_sessions_commit_until_they_are_stopped_and_the_file_says_the_same(tmp_path):
    tables = Tables()
    clients, operations = worked(tables, tmp_path / "ledger.csv")
    assert sorted((each.session, each.number, each.key) for each in operations) == sorted(tables.committed)
    assert not any(each.in_doubt for each in operations)
    assert {each.server_ns - each.number for each in operations} == {1_000}
    read = ledger.read(tmp_path / "ledger.csv")
    assert sorted(read, key=lambda each: each.sent_ns) == operations
    assert clients.last_numbers() == {
        session: max(number for each, number, _ in tables.committed if each == session) for session in range(3)
    }
    assert sorted(tables.closed) == [0, 1, 2]


def test_a_lost_session_leaves_one_operation_in_doubt(tmp_path):
    clients, operations = worked(Tables(fails_after=10), tmp_path / "ledger.csv")
    assert len([each for each in operations if each.in_doubt]) == 3
    assert len([each for each in operations if not each.in_doubt]) == 10
    assert set(clients.errors.values()) == {"lost"}
    assert [each.in_doubt for each in ledger.read(tmp_path / "ledger.csv")].count(True) == 3


def test_sessions_that_hang_are_cut_off(tmp_path):
    _, operations = worked(Tables(hangs=True), tmp_path / "ledger.csv")
    assert [each.in_doubt for each in operations] == [True] * 3


def test_a_session_goes_on_after_it_was_replaced(tmp_path):
    tables, doubtful = Tables(fails_after=10), []

    def reconnect(operation, error):
        doubtful.append((operation.session, str(error)))
        tables.fails_after = 10**9
        return tables.open_session(operation.session)

    _, operations = worked(tables, tmp_path / "ledger.csv", reconnect=reconnect)
    assert {why for _, why in doubtful} == {"lost"}
    assert len([each for each in operations if each.in_doubt]) == len(doubtful)
    assert len(operations) - len(doubtful) == len(tables.committed) >= 20


def test_no_session_is_left_when_one_can_not_connect(tmp_path):
    tables = Tables(refused=(2,))
    with LedgerFile(tmp_path / "ledger.csv") as file, pytest.raises(SlobError, match="no room"):
        Clients(tables, file, 5, [1, 1, 1]).start()
    assert tables.closed == [0, 1]


def test_nothing_is_sent_that_is_not_in_the_ledger(tmp_path):
    tables = Tables()
    with patch.object(os, "fdatasync", side_effect=OSError(28, "No space left on device")):
        file = LedgerFile(tmp_path / "ledger.csv")
        clients = Clients(tables, file, 5, [1, 1])
        clients.start()
        with pytest.raises(SlobError, match=r"ledger .* can't be written: No space left"):
            clients.end(PATIENCE_S)
    file.close()
    assert tables.committed == []


def test_a_ledger_that_the_driver_left_unfinished_is_read_to_its_last_whole_line(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text(ledger.HEADER + "sent,0,1,3,10,\nacked,0,1,3,20,900\nsent,0,2,4,30,\nacked,0,2,4,4")
    assert ledger.read(path) == [Operation(0, 1, 3, 10, 20, 900), Operation(0, 2, 4, 30)]


@pytest.mark.parametrize("line", ["acked,0,1,3,10,5", "sent,0,x,3,10,", "other,0,1,3,10,", "sent,0,1", "sent,,1,3,10,"])
def test_a_damaged_ledger_is_named_with_its_line(tmp_path, line):
    path = tmp_path / "ledger.csv"
    path.write_text(ledger.HEADER + line + "\n")
    with pytest.raises(SlobError, match=r"line 2 of the ledger .* can't be read"):
        ledger.read(path)


def test_no_other_file_is_taken_for_a_ledger(tmp_path):
    (tmp_path / "other").write_text("x\n")
    with pytest.raises(SlobError, match="is not a ledger"):
        ledger.read(tmp_path / "other")
    with pytest.raises(SlobError, match="can't be written: File exists"):
        LedgerFile(tmp_path / "other")
