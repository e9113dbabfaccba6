"""A simulated server that a proof of durability crashes: it loses, tears, doubles or does not come back."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import patch

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.durability import ledger
from openslob.engines.ledger import Entry, LedgerContents
from openslob.kinds.crash import execute as crash
from openslob.kinds.crash import moments
from openslob.kinds.crash import record as records
from openslob.kinds.crash.execute import CrashRequest
from openslob.kinds.crash.record import CrashMethod
from openslob.kinds.crash.rig import Crash

KILL, CUT = (CrashMethod.KILL,), (CrashMethod.CUT,)
ENOUGH = 30
# Longer than any host takes.
PATIENCE_S = 120


class Simulated:
    """A server that keeps a log of commits; ``at_crash`` changes the log when it crashes, ``found`` is its damage."""

    def __init__(self, at_crash=lambda log: None, recovers=lambda crashes: True, found=lambda crashes: ()):
        self.at_crash, self.recovers, self.found = at_crash, recovers, found
        self.lock, self.up, self.log, self.crashes, self.made = threading.Condition(), True, [], 0, 0
        self.server, self.torn, self.again, self.checkpoints = SimpleNamespace(name="simulated"), 0, 0, 0
        facts = SimpleNamespace(product="Simulated", version="1", block_size=8192, cache_bytes=1)
        self.engine = SimpleNamespace(follow=lambda _: None, facts=lambda: facts)
        self.tables = self

    def begin(self, sessions, rows):
        self.sessions, self.rows, self.log, self.up = sessions, rows, [], True
        self.made += 1

    def settings(self):
        return {"durable": "on"}

    def guards(self):
        return ["a look"]

    def open_session(self, number):
        return Session(self, number)

    def crash(self, kind, wait=lambda: None):
        wait()
        with self.lock:
            assert self.lock.wait_for(lambda: len(self.log) >= ENOUGH * (self.crashes + 1), PATIENCE_S)
            self.up = False
            self.crashes += 1
            self.at_crash(self.log)
        return Crash(time.monotonic_ns(), self.torn if kind is CrashMethod.CUT else None)

    def crash_recovery(self, kind, after_s):
        self.again += 1
        return Crash(time.monotonic_ns(), 1 if kind is CrashMethod.CUT else None), self.again % 2 == 1

    def recover(self):
        if not self.recovers(self.crashes):
            raise SlobError("it did not start")
        self.up = True
        return 0.25

    def contents(self):
        sessions = dict.fromkeys(range(self.sessions), Entry(0, 0, 0))
        rows = {(session, key): Entry(0, 0, 0) for session in range(self.sessions) for key in range(self.rows)}
        for session, number, key, parts in self.log:
            if "own" in parts:
                sessions[session] = Entry(number, sessions[session].times + 1, number)
            if "row" in parts:
                rows[session, key] = Entry(number, rows[session, key].times + 1, number)
        return LedgerContents(sessions, rows)

    def damage(self):
        return self.found(self.crashes)


class Session:
    def __init__(self, server, number):
        self.server, self.number = server, number

    def commit(self, number, key):
        # Sessions that wait for nothing fill the log, of which each cycle looks at all.
        time.sleep(0.0005)
        with self.server.lock:
            if not self.server.up:
                raise SlobError("lost")
            self.server.log.append((self.number, number, key, ("own", "row")))
            self.server.lock.notify_all()
        return number

    def checkpoint(self):
        with self.server.lock:
            self.server.checkpoints += 1
            if not self.server.up:
                raise SlobError("lost")

    def cut(self):
        pass

    def close(self):
        pass


def proved(tmp_path, server, cycles=3, kinds=KILL, control=None, interrupt=None, **more):
    @contextmanager
    def rig(_request):
        yield lambda: server

    told = []
    request = CrashRequest(kinds, cycles, 3, 4, 1, "proof", tmp_path, "postgresql", control=control, **more)
    # What is on disk when is tested elsewhere, and takes most of the time on a busy host.
    with (
        patch.object(CrashRequest, "rig", rig),
        patch.object(crash.rigs, "require_fuse", lambda: None),
        patch.object(moments, "LOAD_S", (0.0, 0.01)),
        patch.object(ledger.os, "fdatasync", lambda _: None),
    ):
        record, folder = crash.execute(request, interrupt or Interrupt(), lambda _: None, told.append)
    assert records.CrashFolder.load(folder) == record
    assert tuple(told) == record.cycles
    return record, folder, {verdict.name: verdict for verdict in record.verdicts}


def lose_last(count):
    def lose(log):
        del log[-count:]

    return lose
