"""Oracle Database as an engine: connections, and the calls of the modules that do each job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from openslob.core.workload import DataSpec, StatisticsType, Workload
from openslob.engines.base import Calibrator, Engine, Hold, SamplingScope, SessionPlan, Snapshotter
from openslob.engines.capabilities import Capability
from openslob.engines.common_checks import require_none, require_shared
from openslob.engines.facts import Finding, ServerFacts, ServerLocation
from openslob.engines.manifest import LoadManifest
from openslob.engines.oracle import calibration, checks, errors, manifest, quiesce, run_table, snapshots
from openslob.engines.oracle.connection import Connection, open_connection
from openslob.engines.oracle.counters import DatabaseCounters, OracleCounters
from openslob.engines.oracle.known_settings import SessionParameters
from openslob.engines.oracle.loader import OracleLoader
from openslob.engines.oracle.location import locate
from openslob.engines.oracle.proving import open_questions
from openslob.engines.oracle.remedies import name_service
from openslob.engines.oracle.run_table import STOP, OracleStop
from openslob.engines.oracle.server_facts import Survey, read_facts
from openslob.engines.oracle.session import OracleSession, measure_clock
from openslob.engines.oracle.slice_procedure import NO_LOCAL_PATH, install
from openslob.engines.oracle.target import parse
from openslob.engines.oracle.waits import OracleWaits, find_obstacle
from openslob.engines.patience import Watch, Work, close_on_failure
from openslob.engines.peer_process import take_named_process
from openslob.engines.proofs import Proving
from openslob.engines.server_engine import ServerData, ServerEngine

# How often slice.sql reads the clock in an operation: when it begins, and when it has ended.
READINGS = 2
# Until a database has passed tests/contract.
_EXPERIMENTAL = "no Oracle database has passed the tests of this engine yet; docs/oracle.md says what is not proved"
# Kinds of statements by the purpose of the connection; all others are short.
_WORK = {
    "counters": Work.SAMPLE,
    "waits": Work.SAMPLE,
    "install": Work.SETTLE,
    "quiesce": Work.SETTLE,
    "prove": Work.SETTLE,
    "snapshots": Work.SETTLE,
    "load": Work.LOAD,
    calibration.CALIBRATE: Work.LOAD,
    "drop": Work.LOAD,
}


def connect(url: str) -> Engine:
    """Return the engine for an ``oracle://`` or ``oracles://`` URL; nothing is connected yet."""
    return OracleEngine(url)


class OracleEngine(ServerEngine[Connection]):
    """One user's schema in a database as a target. Implements `openslob.engines.base.Engine`."""

    name = "oracle"
    driver_errors = errors
    work = _WORK

    def __init__(self, url: str) -> None:
        self.params = parse(url)
        super().__init__(url, self.params.shown)
        self._landing = Landing(self.target)

    def connect(self, purpose: str, watch: Watch | None = None) -> Connection:
        return self._landing.note(open_connection(self.params, purpose, watch, purpose == calibration.CALIBRATE))

    def find_obstacle(self, connection: Connection) -> str:
        return find_obstacle(connection)

    def list_settings(self, connection: Connection) -> SessionParameters:
        return SessionParameters(connection)

    @property
    def data(self) -> OracleData:
        return OracleData(self)

    @property
    def replication(self) -> None:
        """None: the instances of a cluster share one copy of the data."""
        return

    def facts(self) -> ServerFacts:
        """Return version, sizes, settings and free connections, and what reading the server's clock costs."""
        with self.querying() as connection:
            facts = name_service(Survey(connection), read_facts(connection, self.params))
            clock = measure_clock(connection)
        # With one digit two runs on one server do not differ.
        settings = {**facts.settings, **{name: f"{us:.1g}" for name, us in clock.items()}}
        clock_us = round(READINGS * clock["clock_cost_us"], 3)
        return replace(facts, experimental=_EXPERIMENTAL, settings=settings, clock_us=clock_us)

    def location(self) -> ServerLocation:
        if self.host and self.host.hides_processes:
            why = "which devices of another host have Oracle's files is not known yet"
            return ServerLocation(None, (), self.host.hides_processes, (), self.host.where, why)
        if self.host:
            return ServerLocation.unknown(f"which processes of {self.host.where} are the instance's is not known yet")
        with self.querying() as connection:
            return take_named_process(locate(connection, self.params.tablespace), self.server_pid)

    def findings(self, workload: Workload) -> Iterator[Finding]:
        with self.querying(f"{self.target} can't be checked") as connection:
            yield from checks.findings(connection, self.params, workload, self.facts(), self.data.state)
            if connection.warning:
                yield Finding("log-on", connection.warning, "ALTER USER … IDENTIFIED BY a new password", False)
        yield from self._landing.findings()

    def try_statements(self, plan: SessionPlan) -> Iterator[Finding]:
        """Yield nothing: to parse DDL is to execute it here. `slob check --prove` tries it on tables of its own."""
        del plan
        yield from ()

    def capabilities(self) -> list[Capability]:
        facts = self.facts()
        with self.querying(f"{self.target} can't be checked") as connection:
            return checks.capabilities(connection, facts)

    def proving(self) -> AbstractContextManager[Proving] | None:
        """Return the questions that no stand-in can answer; they make small tables of their own."""
        return open_questions(self.open, self.params)

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[Hold]:
        """Hold the target's lock on a connection of its own; the server releases it when this process ends."""
        with self.open("lock") as connection, run_table.hold_lock(connection, self.target, purpose) as hold:
            yield hold

    def install(self, workload: Workload) -> None:
        require_shared(workload, NO_LOCAL_PATH)
        with self.querying("can't install the work loop", "install") as connection:
            install(connection, workload, read_facts(connection, self.params).block_size)

    def quiesce(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        with self.querying("the server can't be prepared for the window", "quiesce") as connection:
            block_size = read_facts(connection, self.params).block_size
            return quiesce.quiesce(connection, workload, warm_cache, block_size)

    def open_session(self, plan: SessionPlan) -> OracleSession:
        # It is opened on the session's own thread, which the session pool ends: nothing watches its waits.
        self.patience.require()
        connection = self.connect(f"run/{plan.tag}")
        with close_on_failure(connection):
            require_none(self._landing.findings())
        return OracleSession(connection, plan)

    def open_counters(self, scope: SamplingScope = SamplingScope.TEST) -> OracleCounters:
        """Connect the counter sampler; the whole of a pluggable database is what its views show."""
        sampler = DatabaseCounters if scope is SamplingScope.SERVER else OracleCounters
        return sampler(self.open("counters"))

    def open_waits(self, scope: SamplingScope = SamplingScope.TEST) -> OracleWaits:
        return OracleWaits(self.open("waits"), scope is SamplingScope.SERVER)

    def open_snapshots(self, kind: StatisticsType, consented: frozenset[str]) -> Snapshotter | None:
        return snapshots.open_snapshots(lambda: self.open("snapshots"), consented, kind)

    def open_calibrator(self, consented: frozenset[str]) -> Calibrator:
        return calibration.open_calibrator(lambda: self.open(calibration.CALIBRATE), self.target, consented)

    def open_stop(self) -> OracleStop:
        return OracleStop(self.open(STOP))

    def sessions_left(self) -> int:
        with self.querying("the sessions can't be counted") as connection:
            return run_table.count_sessions(connection)

    def release_sessions(self) -> int:
        with self.querying("sessions of an earlier run can't be ended") as connection:
            return run_table.end_sessions(connection, self.target)


class OracleData(ServerData[OracleEngine, Connection]):
    """The test tables in one user's schema."""

    def read_manifest(self, connection: Connection) -> LoadManifest | None:
        return manifest.read(connection)

    def prepare(self, connection: Connection, spec: DataSpec, degree: int) -> OracleLoader:
        return OracleLoader(lambda: self._engine.open("load"), self._engine.params, spec, degree, connection)

    def remove(self, connection: Connection) -> list[str]:
        return manifest.remove(connection)

    def table_blocks(self) -> int:
        with self._engine.querying("the tables can't be measured") as connection:
            return sum(manifest.count_blocks(connection).values())


class Landing:
    """Which instances of a cluster (RAC) the connections of one target land on: a service or SCAN may spread them.

    Counters are those of one instance, so sessions on another one would work uncounted.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._instances: set[str] = set()

    def note(self, connection: Connection) -> Connection:
        """Remember where a connection landed, which its log-on said, and return it."""
        if connection.instance:
            self._instances.add(connection.instance)
        return connection

    def findings(self) -> Iterator[Finding]:
        """Yield a blocking finding once connections have landed on several instances."""
        instances = sorted(self._instances)
        if len(instances) > 1:
            why = f"{self._target} spreads connections over {' and '.join(instances)}, and counters are those of one"
            named = ",".join(f"oracle://…?instance_name={instance}" for instance in instances)
            yield Finding("spread", f"{why} instance", f"name each instance by a URL of its own: {named}", True)
