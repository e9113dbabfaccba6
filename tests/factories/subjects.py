"""The engines under contract: a table of running, loaded servers, and what the tests need to see inside them.

A new engine adds a subclass of `Subject` in a module of its own, and its servers to `SUBJECTS`.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count

import pytest

from factories.promised import PROMISED
from factories.strangers import Stranger
from openslob.core.measurement import EngineDelta
from openslob.core.workload import BlockPath, DataSpec, Workload
from openslob.engines.base import Counters, Engine, SamplingScope, Session, SessionPlan, SliceRequest, SliceResult
from openslob.engines.facts import LoadResult
from openslob.kinds.run.plan import session_plans

SCALE = 512
SCAN_ROWS = 10
SCHEMAS = 2
SPEC = DataSpec(schemas=SCHEMAS, scale_blocks=SCALE, scan_blocks=SCAN_ROWS, obfuscate=False)
COLUMNS = tuple(f"c{number}" for number in range(2, 21))
NEVER_NS = 2**61
OF_TABLES = frozenset({"rows_read", "rows_updated", "rows_updated_in_place", "maintenance", "shared_visits",
                       "private_visits"})  # fmt: skip
_RUNS = count()

# In place of a version: the server is the promised one of the subject's name (promised.py).
STRANGER = "promised"
# Name -> module with `start(make_server, version) -> Subject`, and the version, or the URL of a server that runs; of
# MariaDB there is the one that this host has.
SUBJECTS = {
    "postgresql-18": ("factories.subject_postgresql", "18"),
    "mariadb": ("factories.subject_mariadb", ""),
    # Somebody else's servers, of the oldest releases that are promised.
    "postgresql-13": ("factories.subject_postgresql", STRANGER),
    "mysql-8.0": ("factories.subject_mysql", STRANGER),
    # A stand-in: Oracle's work loop on MariaDB in Oracle mode.
    "oracle-rig": ("factories.oracle.rig_subject", ""),
}
# The scheme of a URL -> module with the subjects of such servers.
_MODULES = {
    "postgresql": "factories.subject_postgresql",
    "mariadb": "factories.subject_mariadb",
    "mysql": "factories.subject_mysql",
}


@dataclass(frozen=True)
class Update:
    """One UPDATE operation as the server's own rows show it: values by column, before and after, of its first row."""

    schema: int
    keys: tuple[int, ...]
    at_us: int
    before: Mapping[str, str]
    after: Mapping[str, str]


def lz_size(data: bytes) -> int:
    """The bytes left by a compressor that looks for repeated ones and does not code symbols shorter, as LZ4 does."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_FIXED)
    return len(packer.compress(data) + packer.flush())


class Subject(ABC):
    """A server with `SPEC` loaded.

    ``unknown`` are the fields of `EngineDelta` that its version does not count; ``of_tables`` are those that are
    unknown of the whole server, as only the test's tables tell them. ``objects`` are the kinds of objects whose I/O it
    reports. ``stray_reads`` are reads of tables of its own that the server may make at any moment. ``loop`` is who runs
    the work loop, ``loops`` who can.
    """

    engine: Engine
    loop: str = "server"
    loops: tuple[str, ...] = ("server", "client")
    stray_reads: int = 0
    unknown: frozenset[str] = frozenset()
    of_tables: frozenset[str] = OF_TABLES
    objects: frozenset[str] = frozenset({"table", "index", "log"})

    def load(self) -> LoadResult:
        """Load what all tests expect, or find it there."""
        return self.engine.data.load(SPEC, 2, lambda _: None, lambda: False)

    def workload(self, **parameters: object) -> Workload:
        """A workload that fits the data, with cheap commits and small operations unless overridden."""
        given = {"work_unit": 1, "commit_mode": "nowait", "warmup": 0, "loop": self.loop, **parameters}
        return Workload(schemas=SCHEMAS, **{"scale": str(SCALE), "scan_table_sz": str(SCAN_ROWS), **given})

    def plan(self, workload: Workload, number: int = 0, tag: str | None = None) -> SessionPlan:
        """Session ``number``'s part, of a run of its own unless tagged: what it writes was never there."""
        return session_plans(workload, self.engine.facts().block_size, tag or f"t{next(_RUNS)}")[number]

    @contextmanager
    def session(self, workload: Workload, number: int = 0, tag: str | None = None) -> Iterator[Worked]:
        """A session that is ready to work."""
        self.engine.install(workload)
        session = self.engine.open_session(self.plan(workload, number, tag))
        try:
            if workload.block_path is BlockPath.LOCAL:
                session.load_private_tables(lambda _: None)
            session.prepare()
            yield Worked(session)
        finally:
            session.close()

    def open_counters(self, scope: SamplingScope = SamplingScope.TEST) -> Counters:
        """The engine's counters; skips the test where those of a short time are unknown."""
        if least_s := self.engine.facts().least_window_s:
            pytest.skip(f"this server shows its counts late: they are unknown of less than {least_s:g} s")
        return self.engine.open_counters(scope)

    def counted(self, action: object) -> EngineDelta:
        """What the engine's counters say of the time of ``action()``."""
        counters = self.open_counters()
        try:
            before = counters.read()
            action()
            return counters.difference(before, counters.read())
        finally:
            counters.close()

    def now_ns(self) -> int:
        """The server's clock."""
        counters = self.engine.open_counters()
        try:
            return counters.read().server_ns
        finally:
            counters.close()

    @abstractmethod
    def strange_transactions(self, commits: int, rollbacks: int) -> None:
        """A client that is not ours ends so many transactions, each with a statement, in another database than ours."""

    @abstractmethod
    def strange_wait(self) -> object:
        """Context in which a session of a client that is not ours waits; its value is the event."""

    @abstractmethod
    def watching(self) -> object:
        """Context in which every updated row is seen; its value has ``clear()`` and ``updates() -> list[Update]``."""

    @abstractmethod
    def with_values(self, condition: str) -> object:
        """Context in which only rows for which the SQL ``condition`` on custid holds have a c2: others don't count."""

    @abstractmethod
    def without_index(self) -> object:
        """Context in which schema 1's table has no usable index."""

    @abstractmethod
    def slow_commits(self, seconds: float) -> object:
        """Context in which an update of schema 1's table is quick, but the first COMMIT takes ``seconds``."""

    @abstractmethod
    def reset_counters(self) -> None:
        """Set the server's statistics back to 0, as its administrator may at any time."""

    @abstractmethod
    def buckets(self, latencies_us: Sequence[int]) -> list[int]:
        """Bucket numbers by the expression of the engine's own work loop."""


@dataclass
class Worked:
    """A session and what it has done so far."""

    session: Session
    done: int = 0
    results: list[SliceResult] = field(default_factory=list)

    def slices(self, *sizes: int) -> list[SliceResult]:
        """One slice for each number of operations."""
        return [self.run(max_ops=size) for size in sizes]

    def run(self, max_ops: int = 0, not_before_ns: int = 0, until_ns: int = NEVER_NS) -> SliceResult:
        """The next slice."""
        result = self.session.run_slice(SliceRequest(self.done, not_before_ns, until_ns, max_ops))
        self.done += result.counts.ops
        self.results.append(result)
        return result


def add(urls: Sequence[str]) -> None:
    """Add servers that run already to `SUBJECTS` (pytest's option ``--dsn``)."""
    for number, url in enumerate(urls, 1):
        scheme = url.partition("://")[0]
        if scheme not in _MODULES:
            raise pytest.UsageError(f"--dsn {url}: the URL must begin with one of {', '.join(_MODULES)}")
        SUBJECTS[f"{scheme}-dsn{number}"] = (_MODULES[scheme], url)


def take_every_promised() -> None:
    """Take all promised servers, and no others, into `SUBJECTS`."""
    SUBJECTS.clear()
    SUBJECTS.update({name: (_MODULES[name.partition("-")[0]], STRANGER) for name in PROMISED})


def start(name: str, make_server: object, stranger_named: Callable[[str, str], Stranger]) -> Subject:
    """Start (unless it is given by its URL) and load one of `SUBJECTS`."""
    module, version = SUBJECTS[name]
    engine = import_module(module)
    if version == STRANGER:
        version = stranger_named(name, "contract").admin_url
    subject = engine.attach(version) if "://" in version else engine.start(make_server, version)
    subject.load()
    return subject
