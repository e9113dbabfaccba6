"""MariaDB and MySQL as an engine: connections, and the calls of the modules that do each job."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pymysql

from openslob.core.errors import SlobError
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
    require_shared,
)
from openslob.engines.facts import Finding, ServerFacts, ServerLocation
from openslob.engines.flavour import Identity
from openslob.engines.managed.state import reserve_through
from openslob.engines.manifest import LoadManifest
from openslob.engines.mysql import checks, connection_registry, errors, manifest
from openslob.engines.mysql.client_session import MysqlClientSession
from openslob.engines.mysql.connection import (
    Connection,
    is_on,
    is_proxied,
    open_connection,
    override_defaults,
    parse,
    query,
    query_shown,
    require_alive,
    statement,
    thread_id,
)
from openslob.engines.mysql.counters import MysqlCounters, MysqlServerCounters
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.flavours import MARIADB, identify
from openslob.engines.mysql.global_settings import GlobalSettingsOverride, restore_leftovers
from openslob.engines.mysql.known_settings import MysqlSessionSettings
from openslob.engines.mysql.ledger import MysqlLedger
from openslob.engines.mysql.loader import MysqlLoader
from openslob.engines.mysql.location import PROXY, locate, locate_on, require_direct, transport
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.quiesce import quiesce
from openslob.engines.mysql.replication import MysqlReplication, read_role
from openslob.engines.mysql.rocksdb import ROCKSDB, SIGN
from openslob.engines.mysql.session import MysqlSession
from openslob.engines.mysql.slice_procedure import MysqlStop, compose_slice
from openslob.engines.mysql.table_engine import INNODB, TableEngine
from openslob.engines.mysql.waits import MysqlServerWaits, MysqlWaits, obstacle
from openslob.engines.patience import Watch, Work, close_on_failure
from openslob.engines.peer_process import take_named_process
from openslob.engines.server_engine import ServerData, ServerEngine
from openslob.engines.slice_io import procedures_of

SESSIONS = "run/%"
STOP = "stop"
# Kinds of statements by the purpose of the connection; all others are short.
_WORK = {
    "counters": Work.SAMPLE,
    "waits": Work.SAMPLE,
    "quiesce": Work.SETTLE,
    "analyze": Work.SETTLE,
    "load": Work.LOAD,
    "drop": Work.LOAD,
    "ledger": Work.LOAD,
}
# Connections that are never used through a proxy: such a one is not given settings. A session sets its own.
_OURS = frozenset({*_WORK, "install", "settings", "heartbeat", STOP})


def connect(url: str) -> Engine:
    """Return the engine for a ``mysql://`` or ``mariadb://`` URL; nothing is connected yet."""
    return MysqlEngine(url)


class MysqlEngine(ServerEngine[Connection]):
    """One database of a MariaDB or MySQL server as a target. Implements `openslob.engines.base.Engine`."""

    name = "mysql"
    driver_errors = errors
    work = _WORK

    def __init__(self, url: str) -> None:
        self.params = parse(url)
        super().__init__(url, self.params.shown)
        self.names = MysqlNames(self.params.database)
        # The purpose of every connection that was opened, by the server's number of it.
        self._opened: dict[int, str] = {}
        self._lookout = Lookout()
        # Rows of a page of the test tables, in a run whose rows come and go.
        self._rows_per_page: int | None = None
        self._override = GlobalSettingsOverride(lambda: self.open("settings"), self.names)

    def connect(self, purpose: str, watch: Watch) -> Connection:
        return open_connection(self.params, purpose, watch)

    def identify(self, connection: Connection) -> Identity:
        return identify(connection, self.target)

    def settle(self, connection: Connection, purpose: str) -> None:
        self._opened[thread_id(connection)] = purpose
        if purpose in _OURS or not is_proxied(connection):
            override_defaults(connection)

    def find_obstacle(self, connection: Connection) -> str:
        # Sessions that other drivers opened are ours too.
        return obstacle(connection, {**connection_registry.purposes(connection, self.names), **self._opened})

    def list_settings(self, connection: Connection) -> MysqlSessionSettings:
        return MysqlSessionSettings(connection)

    def _open_known(self, purpose: str) -> Connection:
        """Open a connection that the wait sampler does not take for somebody else's."""
        connection = self.open(purpose)
        with (
            close_on_failure(connection),
            report_as(f"{self.target} does not answer"),
            connection_registry.if_there_is_one(),
        ):
            connection_registry.enter(connection, self.names, purpose)
        return connection

    def _open_observer(self, purpose: str) -> Connection:
        """Open a connection that a run beside it does not take for somebody else's, if this server may be written."""
        connection = self.open(purpose)
        with suppress(pymysql.Error):
            connection_registry.enter(connection, self.names, purpose)
        return connection

    @property
    def tables(self) -> TableEngine:
        """The storage engine of the test tables: RocksDB where the server's new tables are of it, else InnoDB."""
        return ROCKSDB if self.identity and self.identity.by == SIGN else INNODB

    @property
    def data(self) -> MysqlData:
        return MysqlData(self)

    @property
    def replication(self) -> MysqlReplication:
        """The server's position in the transactions of its Galera cluster, or of its primary."""
        return MysqlReplication(self.target, self.open)

    def facts(self) -> ServerFacts:
        with self.querying() as connection:
            known = self.identity
            assert known is not None
            identity = query(connection, self.tables.identity)[0]
            settings = query_shown(connection, statement("facts", "settings"))
            role = read_role(connection)
            connected = int(query(connection, statement("facts", "connected"))[0]["Value"])
            schema = "information_schema" if known.family == MARIADB else "performance_schema"
            started = query(connection, statement("facts", "started", status=f"{schema}.global_status"))
            reached_by = {"transport": transport(connection)} | ({"pooler": PROXY} if is_proxied(connection) else {})
        # This query itself holds a connection that will be free again.
        free = identity["max_connections"] - connected + 1
        return ServerFacts(
            product=known.product,
            version=known.version,
            block_size=identity["block_size"],
            cache_bytes=identity["cache_bytes"],
            free_connections=min(free, identity["max_user_connections"] or free),
            settings=settings,
            direct_io=None if known.no_device else self.tables.is_direct(settings),
            connection=reached_by,
            read_only=bool(identity["read_only"]),
            direct_io_remedy=self.tables.direct_io_remedy,
            # Without replication no other server is known to hold the same data.
            cluster_id=role.group or self.target,
            instance=role.member,
            started_at=started[0]["started_at"] if started else "",
            identity=known,
        )

    def location(self) -> ServerLocation:
        with self.querying() as connection:
            if self.host:
                location = locate_on(self.host, connection, self.server_pid)
            else:
                location = take_named_process(locate(connection), self.server_pid)
        why = self.identity.no_device if self.identity else ""
        return location.without_device(why) if why else location

    def findings(self, workload: Workload) -> Iterator[Finding]:
        with self.querying(f"{self.target} can't be checked") as connection:
            facts = self.facts()
            found = checks.findings(connection, self.names, self.tables, workload, facts, self.data.state)
            yield from place_remedies(found, facts.settings_place, ("SET GLOBAL", "my.cnf"))

    def try_statements(self, plan: SessionPlan) -> Iterator[Finding]:
        """Let the server parse them."""
        with self.querying(f"{self.target} can't be checked") as connection:
            yield from checks.try_statements(connection, self.names, self.tables, plan)

    def capabilities(self) -> list[Capability]:
        facts = self.facts()
        with self.querying(f"{self.target} can't be checked") as connection:
            return checks.capabilities(connection, facts)

    def ledger(self) -> MysqlLedger:
        """Return the tables of the proof. A session of a server that is away fails soon."""
        return MysqlLedger(self.params, self.names, self.open)

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[Hold]:
        """Hold the named lock on a connection of its own; the server releases it when this process ends."""
        socket_file = Path(self.params.arguments.get("unix_socket", ""))
        with reserve_through(socket_file.parent, purpose), self.open("lock") as connection:
            with report_as(f"{self.target} can't be locked"):
                require_direct(connection, self.target)
                checks.require_stored_name(connection, self.names.database)
                override_defaults(connection)
                require_none(checks.in_the_way(connection))
                self._lock(connection)
                self._record_holder(connection, f"{purpose} by pid {os.getpid()} on {socket.gethostname()}")
                restored = restore_leftovers(connection, self.names)
            try:
                yield Hold(
                    restored,
                    lambda: require_alive(connection, f"the lock of {self.target}"),
                    self._override.restore,
                )
            finally:
                self._override.restore()

    def _lock(self, connection: Connection) -> None:
        values = {"lock": self.names.lock("use"), "patience": LOCK_PATIENCE_S}
        if query(connection, statement("facts", "lock"), values)[0]["held"] == 1:
            return
        number = query(connection, statement("facts", "lock_holder"), values)[0]["connection"]
        holder = connection_registry.purpose_of(connection, self.names, number) if number else None
        raise SlobError(
            f"{self.target} is in use: {holder or 'another connection holds the lock'} (connection {number})",
            "wait for it to end, or stop it",
        )

    def _record_holder(self, connection: Connection, purpose: str) -> None:
        """Record who holds the lock, if the database exists: not before the first load."""
        with connection_registry.if_there_is_one():
            connection_registry.make(connection, self.names)
            connection_registry.enter(connection, self.names, purpose)

    def install(self, workload: Workload) -> None:
        """Create the work loop; of the client loop, only the table of connections."""
        require_shared(workload, checks.NO_LOCAL_PATH)
        with self.querying("can't install the work loop", "install") as connection:
            identity = query(connection, self.tables.identity)[0]
            layout = layout_of(identity["block_size"])
            self._rows_per_page = layout.rows_per_page if workload.churns else None
            in_cluster = is_on(connection, "wsrep_on")
            connection_registry.make(connection, self.names)
            for schema, part in procedures_of(workload) if workload.loop is Loop.SERVER else ():
                routine = self.names.procedure(schema, part.number)
                query(connection, statement("schema", "drop_routine", routine=routine))
                of_class = (part.workload, layout, in_cluster, part.number, workload.total_sessions)
                query(connection, compose_slice(self.names, schema, *of_class))

    def quiesce(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        """Write dirty pages, if the user may, so that they are not written in the window; set how commits wait."""
        with self.querying("the server can't be prepared for the window", "quiesce") as connection:
            block_size = query(connection, self.tables.identity)[0]["block_size"]
            memory = (self.names, self.tables, self._override)
            return quiesce(connection, *memory, workload, warm_cache, block_size, self.patience)

    def open_session(self, plan: SessionPlan) -> MysqlSession:
        # It is opened on the session's own thread, which the session pool ends: nothing watches its waits.
        self.patience.require()
        several = plan.workload.pipeline > 1
        connect = partial(open_connection, self.params, f"run/{plan.tag}", several=several)
        enter = partial(self._enter_session, plan)
        if plan.workload.loop is Loop.CLIENT:
            return MysqlClientSession(connect, enter, self.params, self.names, plan, self._lookout)
        return MysqlSession(enter(connect()), self.params, self.names, plan)

    def _enter_session(self, plan: SessionPlan, connection: Connection) -> Connection:
        """Record whose connection it is, and return it."""
        self._opened[thread_id(connection)] = f"session {plan.number}"
        with close_on_failure(connection), report_as(f"session {plan.number} can't be opened"):
            connection_registry.enter(connection, self.names, f"run/{plan.tag}")
        return connection

    def open_counters(self, scope: SamplingScope = SamplingScope.TEST) -> MysqlCounters:
        if scope is SamplingScope.SERVER:
            return MysqlServerCounters(self._open_observer("counters"), self.names, self.tables)
        return MysqlCounters(self._open_known("counters"), self.names, self.tables, self._rows_per_page)

    def open_waits(self, scope: SamplingScope = SamplingScope.TEST) -> MysqlWaits:
        if scope is SamplingScope.SERVER:
            own = self._open_observer("waits")
            return MysqlServerWaits(own, self.names, SESSIONS, self._opened, is_observed=self.tables.is_observed)
        return MysqlWaits(self._open_known("waits"), self.names, SESSIONS, is_observed=self.tables.is_observed)

    def open_stop(self) -> MysqlStop:
        return MysqlStop(self._open_known(STOP), self.names)

    def sessions_left(self) -> int:
        with self.querying("the sessions can't be counted") as connection:
            return len(connection_registry.sessions(connection, self.names, SESSIONS))

    def release_sessions(self) -> int:
        with self.querying("sessions of an earlier run can't be ended") as connection:
            numbers = connection_registry.sessions(connection, self.names, SESSIONS)
            if numbers:
                require_no_driver(self.target, partial(self._drivers, connection))
            for number in numbers:
                # The session may have ended by itself meanwhile.
                with suppress(pymysql.err.OperationalError, pymysql.err.InternalError):
                    query(connection, "KILL CONNECTION %(number)s", {"number": number})
        if numbers:
            await_ended(self.sessions_left)
        return len(numbers)

    def _drivers(self, connection: Connection) -> list[str]:
        numbers = connection_registry.sessions(connection, self.names, STOP)
        return [f"connection {number}" for number in numbers]


class MysqlData(ServerData[MysqlEngine, Connection]):
    """The test tables of one database."""

    def read_manifest(self, connection: Connection) -> LoadManifest | None:
        return manifest.read(connection, self._engine.names, self._engine.tables)

    def prepare(self, connection: Connection, spec: DataSpec, _degree: int) -> MysqlLoader:
        engine = self._engine
        require_own_storage(spec, engine.target)
        return MysqlLoader(lambda: engine.open("load"), engine.params, engine.names, spec, engine.tables, connection)

    def remove(self, connection: Connection) -> list[str]:
        removed = manifest.remove(connection, self._engine.names, self._engine.tables)
        if not removed:
            # To a user without rights the server shows nothing of a database, as if there were none.
            manifest.require_entry(connection, self._engine.names)
        return removed

    def files(self, directory: Path) -> Sequence[Path]:
        return self._engine.tables.files(directory, self._engine.names.database)

    def table_blocks(self) -> int:
        """Return the number of blocks of all test tables, after updating their statistics."""
        names, tables = self._engine.names, self._engine.tables
        with self._engine.querying("the tables can't be measured", "analyze") as connection:
            for name in tables.count_blocks(connection, names).by_table:
                query(connection, statement("load", "analyze", table=f"{names.schema()}.`{name}`"))
            return sum(tables.count_blocks(connection, names).by_table.values())
