"""A primary with a copy, without a database: sessions commit, the copy lags, the primary dies, the copy takes over."""

from __future__ import annotations

import threading
import time

from openslob.core.errors import SlobError
from openslob.engines.ledger import Entry, LedgerContents, TakesNoWritesError


class World:
    """Servers that hold the same log of writes; ``behind`` writes of it are what a copy lacks when the primary dies.

    ``doubtful``: the writes in flight at the death reached the copy, and their clients never learned of it.
    """

    def __init__(self, behind=0, doubtful=False):
        self.lock, self.log, self.behind, self.doubtful = threading.RLock(), [], behind, doubtful
        self.alive, self.takes_sessions, self.writes_go_to, self.dying = {0, 1}, {0, 1}, {0}, 0
        self.servers = [Server(self, number) for number in (0, 1)]

    def kill_primary(self, in_flight=0):
        """Let the next commits of ``in_flight`` sessions be lost on their way back, then end the primary."""
        with self.lock:
            self.takes_sessions.discard(0)
            self.dying = in_flight
        while self.dying:
            time.sleep(0.001)
        with self.lock:
            self.alive.discard(0)
            self.log = self.log[: len(self.log) - self.behind]

    def promote(self):
        self.writes_go_to = {1}

    def contents(self):
        sessions, rows = {}, {}
        for session, number, key, at_ns in self.log:
            for where, name in ((sessions, session), (rows, (session, key))):
                before = where.get(name, Entry(0, 0, 0))
                where[name] = Entry(number, before.times + 1, at_ns)
        return LedgerContents(sessions, rows)


class Server:
    def __init__(self, world, number):
        self.world, self.number = world, number

    def open_session(self, session):
        if self.number not in self.world.takes_sessions:
            raise SlobError("refused")
        return Session(self, session)

    def contents(self):
        return self.world.contents()


class Session:
    def __init__(self, server, session):
        self.server, self.session, self.done_ns = server, session, 0

    def commit(self, number, key):
        world = self.server.world
        time.sleep(0.0005)
        with world.lock:
            if self.server.number not in world.alive:
                raise SlobError("the server is gone")
            lost = world.dying > 0
            world.dying -= lost
            if not lost or world.doubtful:
                world.log.append((self.session, number, key, time.time_ns()))
        if lost:
            raise SlobError("the answer was lost")
        self.done_ns = time.time_ns()
        return self.done_ns

    def last(self):
        if self.server.number not in self.server.world.writes_go_to:
            raise TakesNoWritesError("a copy")
        return self.server.world.contents().sessions.get(self.session, Entry(0, 0, 0))

    def server_ns(self):
        return time.time_ns()

    def cut(self):
        pass

    def close(self):
        pass
