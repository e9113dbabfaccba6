"""PostgreSQL as an engine: connects, and hands each job to the module that does it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, sql
from psycopg.abc import PQGen

from openslob.engines.base import (
    DataState,
    Finding,
    Footprint,
    LoadResult,
    ProgressSink,
    ServerFacts,
    SessionPlan,
)
from openslob.engines.postgresql import checks, loader
from openslob.engines.postgresql.counters import PostgresCounters
from openslob.engines.postgresql.failures import reported
from openslob.engines.postgresql.names import DEFAULT_SCHEMA, Names
from openslob.engines.postgresql.rest import settle
from openslob.engines.postgresql.session import PostgresSession, compose_slice
from openslob.engines.postgresql.stop import PostgresStop
from openslob.engines.postgresql.waits import PostgresWaits
from openslob.engines.sql import read_sql, read_statements
from openslob.errors import SlobError
from openslob.workload import DataSpec, Workload

PACKAGE = "openslob.engines.postgresql"
APPLICATION = "slob"
SESSIONS = f"{APPLICATION}/run/%"
CONNECT_TIMEOUT_S = 10
WAIT_INTERVAL_S = 2.0
_T = TypeVar("_T")
# "openslob" as a number: the key of the advisory lock that keeps two loads or runs on one database apart.
LOCK_KEY = int.from_bytes(b"openslob", "big", signed=True)
# The server frees the lock of a process that was killed when it notices, which is soon, not at once.
LOCK_PATIENCE_S = 1.0


class PatientConnection(psycopg.Connection[Any]):
    """Waits for the server without looking up ten times a second, as psycopg does so that Ctrl-C gets through.

    With hundreds of sessions that would be most of the driver's CPU. Ctrl-C does not raise here: it asks for an end.
    """

    def wait(self, gen: PQGen[_T], interval: float = WAIT_INTERVAL_S, timeout: float | None = None) -> _T:
        """Wait for ``gen``, at longer intervals."""
        return super().wait(gen, max(interval, WAIT_INTERVAL_S), timeout)


def connect(url: str) -> PostgresEngine:
    """The engine for a ``postgresql://`` URL; nothing is connected yet."""
    return PostgresEngine(url)


class PostgresEngine:
    """One PostgreSQL database as a target. Implements `openslob.engines.base.Engine`."""

    name = "postgresql"

    def __init__(self, url: str, schema: str = DEFAULT_SCHEMA) -> None:
        self._url = url
        self.names = Names(schema)
        parameters = conninfo.conninfo_to_dict(url)
        place = f"{parameters.get('host', 'localhost')}:{parameters.get('port', 5432)}"
        self.target = f"{place}/{parameters.get('dbname', '')}"

    def open(self, purpose: str) -> psycopg.Connection[Any]:
        """One more connection, in autocommit mode, that names its purpose to the server."""
        with reported(f"can't connect to {self.target}"):
            return PatientConnection.connect(
                self._url,
                autocommit=True,
                application_name=f"{APPLICATION}/{purpose}",
                connect_timeout=CONNECT_TIMEOUT_S,
            )

    def _ask(self, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
        text = read_statements(PACKAGE, "facts")[statement]
        with self.open("ask") as connection, reported(f"{self.target} does not answer"):
            return connection.execute(text, parameters).fetchall()

    def facts(self) -> ServerFacts:
        """Version, sizes, settings and free connections."""
        version, _, block_size, cache_bytes = self._ask("identity")[0]
        settings = dict(self._ask("settings"))
        direct = settings.get("debug_io_direct")
        standby, cluster = self._ask("copies")[0]
        return ServerFacts(
            product="PostgreSQL",
            version=version,
            block_size=block_size,
            cache_bytes=cache_bytes,
            # The question itself holds one connection that will be free again.
            free_connections=self._ask("connections")[0][0] + 1,
            settings=settings,
            direct_io=None if direct is None else "data" in direct,
            read_only=standby,
            cluster_id=cluster,
        )

    def footprint(self) -> Footprint:
        """The postmaster and its data directory, if they are on this host and this user may see them."""
        parameters = conninfo.conninfo_to_dict(self._url)
        host = str(parameters.get("host", ""))
        if host and not host.startswith("/") and host not in ("localhost", "127.0.0.1", "::1"):
            return Footprint(None, None, "the server is not on this host")
        with self.open("ask") as connection:
            try:
                row = connection.execute("SHOW data_directory").fetchone()
            except psycopg.errors.InsufficientPrivilege:
                return Footprint(None, None, "this role may not see where the server's data are")
        return _local_footprint(Path(row[0]) if row else Path())

    def findings(self, workload: Workload) -> Iterator[Finding]:
        """Everything that would spoil this run."""
        with self.open("check") as connection, reported(f"{self.target} can't be checked"):
            yield from checks.findings(connection, self.names, workload, self.facts(), self.data_state)

    def data_state(self) -> DataState | None:
        """What is loaded."""
        with self.open("check") as connection, reported(f"{self.target} can't be checked"):
            return loader.data_state(connection)

    def load(self, spec: DataSpec, degree: int, progress: ProgressSink, cancelled: Callable[[], bool]) -> LoadResult:
        """Load and verify."""
        return loader.load(lambda: self.open("load"), spec, degree, progress, cancelled)

    def drop(self) -> list[str]:
        """Remove everything a load made."""
        with self.open("drop") as connection, reported(f"can't drop the data of {self.target}"):
            return loader.drop(connection)

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[None]:
        """Hold the advisory lock on a connection of its own; the server frees it when this process dies."""
        with self.open(f"{purpose} by pid {os.getpid()} on {socket.gethostname()}"[:63]) as connection:
            with reported(f"{self.target} can't be locked"):
                self._lock(connection)
            yield

    def _lock(self, connection: psycopg.Connection[Any]) -> None:
        text = read_statements(PACKAGE, "facts")
        deadline = time.monotonic() + LOCK_PATIENCE_S
        while not connection.execute(text["lock"], {"key": LOCK_KEY}).fetchall()[0][0]:
            if time.monotonic() > deadline:
                holder = connection.execute(text["lock_holder"], {"key": LOCK_KEY}).fetchone()
                raise SlobError(
                    f"{self.target} is in use: {_describe_holder(holder)}", "wait for it to end, or stop it"
                )
            time.sleep(LOCK_PATIENCE_S / 20)

    def install(self, workload: Workload) -> None:
        """Create the slice procedure of each schema that sessions will work on, and what it calls."""
        numbers = range(1, min(workload.schemas, workload.total_sessions) + 1)
        routines = [
            (self.names.nap(), sql.SQL(read_sql(PACKAGE, "nap")).format(nap=self.names.nap())),
            *((self.names.procedure(number), compose_slice(self.names, number, workload)) for number in numbers),
        ]
        with self.open("install") as connection, reported("can't install the work loop"), connection.transaction():
            for name, statement in routines:
                # One whose parameters changed between versions can't be replaced in place.
                connection.execute(sql.SQL("DROP ROUTINE IF EXISTS {}").format(name))
                connection.execute(statement)

    def settle(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        """Checkpoint, if the role may, so that old dirty blocks are not written in the window."""
        with self.open("settle") as connection, reported("the server can't be brought to rest"):
            return settle(connection, self.names, workload, warm_cache)

    def open_session(self, plan: SessionPlan) -> PostgresSession:
        """Connect one session of the work loop."""
        return PostgresSession(self.open(f"run/{plan.tag}"), self.names, plan)

    def open_counters(self) -> PostgresCounters:
        """Connect the counter sampler."""
        block_size = self._ask("identity")[0][2]
        return PostgresCounters(self.open("counters"), self.names.schema, block_size)

    def open_waits(self) -> PostgresWaits:
        """Connect the wait sampler."""
        return PostgresWaits(self.open("waits"), SESSIONS)

    def open_stop(self) -> PostgresStop:
        """Connect the stop signal."""
        return PostgresStop(self.open("stop"))

    def log_position(self) -> int:
        """The log position up to which changes are durable on a primary, replayed on a standby."""
        return int(self._ask("log_position")[0][0])

    def table_blocks(self) -> int:
        """Blocks of all test tables."""
        return int(sum(blocks for _, blocks in self._ask("table_sizes", schema=self.names.schema)))

    def sessions_left(self) -> int:
        """Sessions of the work loop that the server still has."""
        return len(self._ask("sessions", application=SESSIONS))

    def release_sessions(self) -> int:
        """End sessions of the work loop that a dead driver left behind."""
        left = self._ask("sessions", application=SESSIONS)
        with self.open("release") as connection, reported("sessions of an earlier run can't be ended"):
            for pid, _ in left:
                connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        return len(left)


def _describe_holder(holder: tuple[Any, ...] | None) -> str:
    if holder is None:
        return "somebody holds the lock"
    name, pid, since = holder
    return f"{(name or 'somebody').removeprefix(APPLICATION + '/')} (server process {pid}, since {since})"


def _local_footprint(data_directory: Path) -> Footprint:
    try:
        main_pid = int((data_directory / "postmaster.pid").read_text().splitlines()[0])
    except FileNotFoundError:
        return Footprint(None, None, "the server's data directory is not on this host")
    except PermissionError:
        return Footprint(None, None, "this user may not read the server's data directory")
    return Footprint(main_pid, data_directory)
