"""PostgreSQL as an engine: connections, and the calls of the modules that do each job."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo

from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address, redact_url
from openslob.core.workload import DataSpec, Loop, Workload
from openslob.engines.base import Engine, Hold, SamplingScope, SessionPlan
from openslob.engines.capabilities import Capability
from openslob.engines.client_loop import Lookout
from openslob.engines.common_checks import (
    LOCK_PATIENCE_S,
    await_ended,
    place_remedies,
    require_no_driver,
    require_none,
    require_own_storage,
)
from openslob.engines.facts import Finding, ServerFacts, ServerLocation
from openslob.engines.flavour import Identity
from openslob.engines.managed.state import reserve_through
from openslob.engines.manifest import LoadManifest
from openslob.engines.patience import PROBE_S, Watch, Work, close_on_failure, wait
from openslob.engines.peer_process import take_named_process
from openslob.engines.postgresql import checks, errors, manifest
from openslob.engines.postgresql.client_session import PostgresClientSession, PostgresPooledSession
from openslob.engines.postgresql.connection import (
    PACKAGE,
    Connection,
    LockConnection,
    PatientPsycopg,
    Pooling,
    detect,
    find_limit_option,
    override_defaults,
    require_sessions,
    restore_path,
    transport,
)
from openslob.engines.postgresql.counters import PostgresCounters, PostgresServerCounters, least_window_s
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.flavours import identify
from openslob.engines.postgresql.ledger import PostgresLedger
from openslob.engines.postgresql.loader import PostgresLoader
from openslob.engines.postgresql.location import locate, locate_on, with_tables_in
from openslob.engines.postgresql.names import DEFAULT_SCHEMA, PostgresNames
from openslob.engines.postgresql.quiesce import quiesce
from openslob.engines.postgresql.replication import PostgresReplication
from openslob.engines.postgresql.session import PostgresSession
from openslob.engines.postgresql.session_settings import PostgresSessionSettings
from openslob.engines.postgresql.slice_procedure import PostgresStop, install
from openslob.engines.postgresql.waits import OwnWork, PostgresServerWaits, PostgresWaits, obstacle
from openslob.engines.server_engine import ServerData, ServerEngine
from openslob.engines.sql import read_statements

APPLICATION = "slob"
SESSIONS = f"{APPLICATION}/run/%"
# A pooler's processes keep the name of the last session that they served: they are no sessions that were left behind.
POOLED_SESSIONS = f"{APPLICATION}/pool/%"
STOP = "stop"
CONNECT_TIMEOUT_S = 10
_Made = TypeVar("_Made")
_OTHER_ROLE = f"use another role, or one that may use the schema {DEFAULT_SCHEMA}"
# A connection that is idle for the whole run, as that of the lock, must outlive firewalls that forget idle ones; the
# end of a host that vanished must be noticed. In s.
_KEEPALIVES = {"keepalives_idle": "60", "keepalives_interval": "10", "keepalives_count": "6"}
# Kinds of statements by the purpose of the connection; all others are short.
_WORK = {
    "counters": Work.SAMPLE,
    "waits": Work.SAMPLE,
    "quiesce": Work.SETTLE,
    "load": Work.LOAD,
    "drop": Work.LOAD,
    "ledger": Work.LOAD,
}
# Connections that are never used through a pooler which shares its connections: such a one is not given settings. A
# session sets its own.
_OURS = frozenset({*_WORK, "install", "release", "heartbeat", STOP})
# BM_MAX_USAGE_COUNT of its buffer manager, the same in every version.
_USE_LIMIT = 5
# "openslob" as a number: the key of the advisory lock that keeps two loads or runs on one database apart.
LOCK_KEY = int.from_bytes(b"openslob", "big", signed=True)


def connect(url: str) -> Engine:
    """Return the engine for a ``postgresql://`` URL; nothing is connected yet."""
    return PostgresEngine(url)


def _parameters(url: str) -> dict[str, Any]:
    try:
        return conninfo.conninfo_to_dict(url)
    except UnicodeError:
        why = "its percent-encoded bytes are not UTF-8"
    except psycopg.Error as error:
        # The library quotes what it can't read, which may be part of a password.
        why = str(error).partition(":")[0].partition('"')[0].strip()
    raise UsageError(f"{redact_url(url)} is not a URL of PostgreSQL ({why})", "see its manual on connection URIs")


class PostgresEngine(ServerEngine[Connection]):
    """One PostgreSQL database as a target. Implements `openslob.engines.base.Engine`."""

    name = "postgresql"
    driver_errors = errors
    work = _WORK
    may_be_pooled = True
    silence = "it hangs or is stopped, or another session has locked its catalogs"

    def __init__(self, url: str) -> None:
        self._own_work = OwnWork()
        self._lookout = Lookout()
        # Whether a session of the run has several processes of the server, one after the other.
        self._connects_again = False
        # Whether rows come and go: what that leaves behind is counted, too.
        self._churns = False
        # Given to the server with each connection, where a time limit would end it before it can be set.
        self._options: frozenset[str] = frozenset()
        self._version = 0
        parameters = _parameters(url)
        self._host = str(parameters.get("host", "localhost"))
        super().__init__(url, f"{self._host}:{parameters.get('port', 5432)}/{parameters.get('dbname', '')}")

    @cached_property
    def names(self) -> PostgresNames:
        """Names in the usual schema, or in the role's own schema if the role may not use or create that one."""
        text = read_statements(PACKAGE, "facts")["home"]
        with self.querying() as connection:
            restore_path(connection)
            schema = str(connection.execute(text, {"schema": DEFAULT_SCHEMA}).fetchall()[0][0])
        if "%" in schema:
            raise SlobError(f"the schema {schema} has a % in its name, which the client library misreads", _OTHER_ROLE)
        return PostgresNames(schema)

    def open(self, purpose: str) -> Connection:
        return self._lift_limits(lambda: super(PostgresEngine, self).open(purpose))

    def _lift_limits(self, connect: Callable[[], _Made]) -> _Made:
        """Connect; when a time limit of the role ends the connection, lift that limit and connect again."""
        while True:
            # Another thread may learn of the same limit meanwhile.
            tried = self._options
            try:
                return connect()
            except SlobError as error:
                option = find_limit_option(error.__cause__, self._version)
                if not option or option in tried:
                    raise
                self._options |= {option}

    def connect(self, purpose: str, watch: Watch) -> Connection:
        connection = self._connect(purpose)
        self._version = connection.info.server_version
        connection.watch = watch
        return connection

    def identify(self, connection: Connection) -> Identity:
        return identify(connection, self.target)

    def settle(self, connection: Connection, purpose: str) -> None:
        checks.require_version(connection)
        override_defaults(connection, always=purpose in _OURS)

    def _connect(self, purpose: str, timeout_s: int | None = None, by: Address | None = None) -> PatientPsycopg:
        """Connect to the server itself, or ``by`` the address of a pooler."""
        address = by or self.direct or self.address
        # Poolers refuse options that they do not know.
        options = frozenset[str]() if by and self.direct else self._options
        given = conninfo.conninfo_to_dict(address.reveal())
        kept: dict[str, Any] = {name: value for name, value in _KEEPALIVES.items() if name not in given}
        if options:
            kept["options"] = f"{given.get('options') or os.environ.get('PGOPTIONS', '')} {' '.join(sorted(options))}"
        with report_as(f"can't connect to {self.direct if address is self.direct else self.target}"):
            return PatientPsycopg.connect(
                address.reveal(),
                autocommit=True,
                application_name=f"{APPLICATION}/{purpose}",
                connect_timeout=timeout_s or CONNECT_TIMEOUT_S,
                # A database in SQL_ASCII would return bytes. Poolers know this setting.
                client_encoding="UTF8",
                **kept,
            )

    def find_obstacle(self, connection: Connection) -> str:
        override_defaults(connection, always=False)
        return obstacle(connection)

    def list_settings(self, connection: Connection) -> PostgresSessionSettings:
        return PostgresSessionSettings(connection)

    @property
    def data(self) -> PostgresData:
        return PostgresData(self)

    @property
    def replication(self) -> PostgresReplication:
        """The server's position in the write-ahead log."""
        return PostgresReplication(self.target, self.open)

    def query(self, statement: str, **parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a statement of ``facts.sql``, on a connection of its own."""
        text = read_statements(PACKAGE, "facts")[statement]
        with self.querying() as connection:
            return connection.execute(text, parameters).fetchall()

    def facts(self) -> ServerFacts:
        _, number, block_size, cache_bytes, started_at = self.query("identity")[0]
        identity = self.identity
        assert identity is not None
        settings = dict(self.query("settings"))
        standby, cluster, programs = self.query("copies")[0]
        return ServerFacts(
            product=identity.product,
            version=identity.version,
            block_size=block_size,
            cache_bytes=cache_bytes,
            free_connections=self.query("connections")[0][0],
            settings=settings,
            # Versions without the setting have no direct I/O.
            direct_io=None if identity.no_device else "data" in settings.get("debug_io_direct", ""),
            connection=self._connection_facts(),
            read_only=standby,
            cluster_id=cluster,
            programs=programs or "",
            direct_io_remedy=checks.direct_io_remedy(number),
            started_at=started_at,
            least_window_s=least_window_s(number, self._is_pooled),
            cache_use_limit=_USE_LIMIT,
            identity=identity,
        )

    def _connection_facts(self) -> dict[str, str]:
        """Return how sessions reach the server, and by which address all else does, if that is another one."""
        with self._ask_pooler() if self.direct else self.querying() as connection:
            pooling = self._detect(connection)
            pooler = {} if pooling is Pooling.NONE else {"pooler": pooling.value}
            direct = {"direct": str(self.direct)} if self.direct else {}
            return {"transport": transport(connection, direct=pooling is Pooling.NONE), **pooler, **direct}

    @contextmanager
    def _ask_pooler(self) -> Iterator[Connection]:
        """Open a connection by the address that sessions use; nothing is set on it."""
        watch = Watch(self.patience, Work.SHORT, self.obstacle)
        with self.patience.connect(
            lambda: self._connect("query", by=self.address), lambda late: late.close()
        ) as connection:
            connection.watch = watch
            with report_as(f"{self.target} does not answer"):
                yield connection

    @cached_property
    def _is_pooled(self) -> bool:
        """Whether sessions share the server's processes."""
        if self.direct is None:
            return False
        with self._ask_pooler() as connection:
            return self._detect(connection) is Pooling.TRANSACTION

    def _detect(self, connection: Connection) -> Pooling:
        return detect(
            connection, lambda: self._connect("query", by=self.address) if self.direct else self.open("query")
        )

    def location(self) -> ServerLocation:
        """Return the postmaster and the directory of the test tables, if it is proved that they are on this host."""
        with self.querying() as connection:
            if self.host:
                location = locate_on(self.host, connection, self.server_pid)
            else:
                location = take_named_process(locate(connection), self.server_pid)
        if self.identity and self.identity.no_device:
            return location.without_device(self.identity.no_device)
        tablespaces = [str(directory) for (directory,) in self.query("tablespaces", schema=self.names.schema)]
        return with_tables_in(location, tablespaces)

    def findings(self, workload: Workload) -> Iterator[Finding]:
        with self.querying(f"{self.target} can't be checked", "check") as connection:
            facts = self.facts()
            found = checks.findings(connection, self.names, workload, facts, self.data.state)
            if self.direct:
                with self._ask_pooler() as pooled:
                    yield from checks.find_another_server(connection, pooled, self.target)
            yield from place_remedies(found, facts.settings_place, ("ALTER SYSTEM",))

    def try_statements(self, plan: SessionPlan) -> Iterator[Finding]:
        """Try them in a transaction that is rolled back."""
        with self.querying(f"{self.target} can't be checked", "check") as connection:
            yield from checks.try_statements(connection, self.names, plan)

    def capabilities(self) -> list[Capability]:
        (role, database, *_), *_ = self.query("role", schema=self.names.schema)
        return checks.capabilities(self.facts(), role, database)

    def ledger(self) -> PostgresLedger:
        """Return the tables of the proof. A session of a server that is away fails soon."""
        return PostgresLedger(self.target, self.names, self.open, lambda purpose: self._connect(purpose, PROBE_S))

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[Hold]:
        """Hold the advisory lock on a connection of its own; the server releases it when this process ends.

        A run changes settings of its own sessions only, so nothing needs to be restored.
        """
        holder = f"{purpose} by pid {os.getpid()} on {socket.gethostname()}"[:63]
        with reserve_through(Path(self._host), purpose), self.open(holder) as connection:
            with report_as(f"{self.target} can't be locked"):
                require_sessions(connection, lambda: self.open("query"), str(self.direct or self.target))
                override_defaults(connection)
                require_none(checks.in_the_way(connection))
                self._lock(connection)
            yield Hold(require=LockConnection(connection, f"the lock of {self.target}").require)

    def _lock(self, connection: Connection) -> None:
        text = read_statements(PACKAGE, "facts")

        def is_taken() -> bool:
            return bool(connection.execute(text["lock"], {"key": LOCK_KEY}).fetchall()[0][0])

        if not wait(is_taken, LOCK_PATIENCE_S, LOCK_PATIENCE_S / 20):
            holder = connection.execute(text["lock_holder"], {"key": LOCK_KEY}).fetchone()
            raise SlobError(f"{self.target} is in use: {_describe_holder(holder)}", "wait for it to end, or stop it")

    def install(self, workload: Workload) -> None:
        """Create the work loop; the client loop has none in the server."""
        self._connects_again, self._churns = bool(workload.connect_every), workload.churns
        if workload.loop is Loop.CLIENT:
            return
        with self.querying("can't install the work loop", "install") as connection:
            install(connection, self.names, workload)

    def quiesce(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        """Checkpoint, if the role may, so that old dirty blocks are not written in the window."""
        with self.querying("the server can't be prepared for the window", "quiesce") as connection:
            return quiesce(connection, self.names, workload, warm_cache)

    def open_session(self, plan: SessionPlan) -> PostgresSession:
        # It is opened on the session's own thread, which the session pool ends: nothing watches its waits.
        self.patience.require()
        if self._is_pooled:
            connect = partial(self._connect, f"pool/{plan.tag}", by=self.address)
            return PostgresPooledSession(connect(), connect, self.names, plan, self._lookout)
        return self._lift_limits(lambda: self._make_session(plan))

    def _make_session(self, plan: SessionPlan) -> PostgresSession:
        if plan.workload.loop is Loop.CLIENT:
            connect = partial(self._connect, f"run/{plan.tag}", by=self.address)
            return PostgresClientSession(self._connect_session(plan), connect, self.names, plan, self._lookout)
        return PostgresSession(self._connect_session(plan), self.names, plan)

    def _connect_session(self, plan: SessionPlan) -> PatientPsycopg:
        connection = self._connect(f"run/{plan.tag}", by=self.address)
        with close_on_failure(connection), report_as(f"can't connect to {self.target}"):
            # It is idle until it gets ready, and a limit would end it then.
            override_defaults(connection)
        return connection

    def open_counters(self, scope: SamplingScope = SamplingScope.TEST) -> PostgresCounters:
        block_size = self.query("identity")[0][2]
        if scope is SamplingScope.SERVER:
            return PostgresServerCounters(self.open("counters"), self._own_work, block_size)
        prompt = not self._is_pooled
        return PostgresCounters(
            self.open("counters"),
            self.names.schema,
            block_size,
            prompt,
            prompt and not self._connects_again,
            self._churns,
        )

    def open_waits(self, scope: SamplingScope = SamplingScope.TEST) -> PostgresWaits:
        if scope is SamplingScope.SERVER:
            return PostgresServerWaits(self.open("waits"), SESSIONS, self._own_work)
        return PostgresWaits(self.open("waits"), POOLED_SESSIONS if self._is_pooled else SESSIONS)

    def open_stop(self) -> PostgresStop:
        return PostgresStop(self.open(STOP))

    def sessions_left(self) -> int:
        return len(self.query("sessions", application=SESSIONS))

    def release_sessions(self) -> int:
        sessions = self.query("sessions", application=SESSIONS)
        if sessions:
            require_no_driver(self.target, self._drivers)
        with self.querying("sessions of an earlier run can't be ended", "release") as connection:
            for pid, _ in sessions:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        await_ended(self.sessions_left)
        return len(sessions)

    def _drivers(self) -> list[str]:
        pids = self.query("sessions", application=f"{APPLICATION}/{STOP}")
        return [f"process {pid} of the server" for pid, _ in pids]


class PostgresData(ServerData[PostgresEngine, Connection]):
    """The test tables of one database."""

    def read_manifest(self, connection: Connection) -> LoadManifest | None:
        return manifest.read(connection, self._engine.names)

    def prepare(self, connection: Connection, spec: DataSpec, _degree: int) -> PostgresLoader:
        require_own_storage(spec, self._engine.target)
        return PostgresLoader(lambda: self._engine.open("load"), self._engine.names, spec, connection)

    def remove(self, connection: Connection) -> list[str]:
        return manifest.remove_with_schema(connection, self._engine.names)

    def table_blocks(self) -> int:
        return int(sum(blocks for _, blocks in self._engine.query("table_sizes", schema=self._engine.names.schema)))

    def files(self, directory: Path) -> Sequence[Path]:
        """Return the files of each table: one for each GB."""
        first = [directory / path for (path,) in self._engine.query("table_files", schema=self._engine.names.schema)]
        return [path for each in first for path in (each, *each.parent.glob(f"{each.name}.*"))]


def _describe_holder(holder: tuple[Any, ...] | None) -> str:
    if holder is None:
        return "another session holds the lock"
    name, pid, since = holder
    return f"{(name or 'another session').removeprefix(APPLICATION + '/')} (server process {pid}, since {since})"
