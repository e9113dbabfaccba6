"""Oracle's work loop under contract, on MariaDB in Oracle mode: no Oracle Database can be installed for the tests.

It is good for what the loop does, on which keys, when, and what it counts. The tables and the counters that see the
loop from outside are MariaDB's; what only an adapter has (checks, the lock, left sessions) is skipped. rig_rules.py
has what is substituted, and so not proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from factories.oracle.double import connected, raw_of
from factories.oracle.rig_server import RigServer, make
from factories.oracle.rig_translated import buckets
from factories.running import eventually
from factories.subject_mariadb import MariaSubject
from factories.subjects import SPEC
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines.base import Activity, Hold, SamplingScope, SessionPlan
from openslob.engines.facts import ServerFacts
from openslob.engines.oracle.connection import Connection
from openslob.engines.oracle.run_table import OracleStop, hold_lock
from openslob.engines.oracle.session import OracleSession
from openslob.engines.oracle.slice_procedure import install


class RigEngine:
    """What the tests of the work loop ask an engine for."""

    def __init__(self, subject: OracleRig) -> None:
        self._subject = subject
        self._facts = subject.maria.facts()
        self.open_counters = subject.maria.open_counters

    def __getattr__(self, name: str) -> NoReturn:
        pytest.skip(f"the rig runs Oracle's work loop and has no `{name}`")

    def facts(self) -> ServerFacts:
        return self._facts

    def open(self) -> Connection:
        server = RigServer(self._subject.params.arguments)
        connection = connected(server, "19.3.0.0.0")
        raw_of(connection).session_id = server.number
        return connection

    def install(self, workload: Workload) -> None:
        with self.open() as connection:
            install(connection, workload, self.facts().block_size)

    def open_session(self, plan: SessionPlan) -> OracleSession:
        connection = self.open()
        self._subject.sessions.append(connection.session_id)
        return OracleSession(connection, plan)

    def open_stop(self) -> OracleStop:
        return OracleStop(self.open())

    def open_waits(self, scope: SamplingScope = SamplingScope.TEST) -> RigWaits:
        return RigWaits(self._subject)

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[Hold]:
        with self.open() as connection, hold_lock(connection, "the rig", purpose) as hold:
            yield hold

    def sessions_left(self) -> int:
        return len(self._subject.sessions_left())

    def release_sessions(self) -> int:
        left = self._subject.sessions_left()
        for number in left:
            self._subject.ask(f"KILL CONNECTION {number}")
        # Each ends by itself, soon.
        assert eventually(lambda: not self._subject.sessions_left())
        return len(left)


class RigWaits:
    """Who runs a slice."""

    def __init__(self, subject: OracleRig) -> None:
        self._subject = subject

    def sample(self) -> Activity:
        # A cancel between the statements that lead to the call would have no effect.
        doing = self._subject.sessions_left().values()
        working = [info for info in doing if info and not info.startswith(("SET", "SELECT @"))]
        return Activity({"CPU": len(working)} if working else {})

    def close(self) -> None:
        pass


class OracleRig(MariaSubject):
    """Tables as MariaDB's own engine loads them."""

    loops = ("server",)

    def __init__(self, url):
        super().__init__(url)
        self.maria = self.engine
        self.sessions = []
        make(self.params.arguments)
        self.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
        self.engine = RigEngine(self)
        with self.engine.exclusive("test"):
            pass  # the first to hold the lock makes the run table

    def load(self):
        return self.maria.data.load(SPEC, 2, lambda _: None, lambda: False)

    def sessions_left(self):
        """What each session does that the server still has, by its number."""
        listed = self.ask("SELECT id, info FROM information_schema.processlist")
        return {number: info for number, info in listed if number in self.sessions}

    def buckets(self, latencies_us):
        return buckets(latencies_us)


def start(make_server, version):
    server = make_server(name="oracle-rig", engine="mariadb", cache_bytes=48 * MIB)
    return OracleRig(server.status().url)
