"""The state of the stand-in: tables, sessions, and counters that move by the method's arithmetic.

`Pace` says what an operation costs; all else follows from what was loaded and from what the sessions ask for. Reads of
the device take `Pace.read_least_us` and an exponential share on top, so percentiles of latency are known beforehand.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from factories.oracle.standin_sql import database, now_us
from openslob.core.method import OpKind

PRODUCT = "Stand-in for tests, no database"
USER = "SLOB"
CDB, PDB = "STANDIN", "STANDPDB"
# Rows beyond the test's that a statement changes are not counted; a block holds one row.
BYTES_OF_REDO_PER_OPERATION, BYTES_OF_REDO_PER_ROW = 500, 300
INDEX_VISITS = 2  # root and leaf
MIB = 1 << 20
REFUSED_BY_AUTONOMOUS = {"plsql_code_type", "optimizer_dynamic_sampling", "optimizer_adaptive_plans", "commit_wait"}


@dataclass(frozen=True)
class Pace:
    """What things cost, in µs: a visit to a cached block, the rest of an operation, a read, a wait for the log."""

    visit_us: float = 4
    op_us: float = 20
    read_least_us: float = 120
    read_more_us: float = 280
    log_us: float = 250
    # Of a read or a wait for the log: the CPU that it costs.
    io_cpu_us: float = 15


@dataclass
class Table:
    """What is not in the table's rows: properties that DDL sets."""

    name: str
    values: dict[str, str] = field(default_factory=dict)  # defaults of columns, as SQL
    analyzed: bool = False
    locked_statistics: bool = False
    indexes: dict[str, bool] = field(default_factory=dict)  # name -> unique
    pct_free: int = 10
    logging: bool = True


@dataclass
class SessionRow:
    """One connection as V$SESSION shows it. ``doing`` is how its last moments were spent: seconds by event, CPU too."""

    sid: int
    attributes: Callable[[], tuple[str, str]]
    kill: Callable[[], None]
    busy: bool = False
    asleep: bool = False
    # Whether its scans read past the cache.
    direct: bool = False
    doing: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    waits_for: int | None = None
    # Of a session that has run the work loop: the table that it works on, and how many of its blocks.
    schema: int = 0
    scale: int = 0
    instance: str = "standin1"
    # What the session has set for itself, as V$PARAMETER shows it.
    parameters: dict[str, str] = field(default_factory=dict)


class World:
    """Everything that connections share. Whoever touches it holds ``lock``."""

    def __init__(
        self,
        version: str = "19.3.0.0.0",
        *,
        seed: int = 1,
        cache_bytes: int = 16 * MIB,
        block_size: int = 8192,
        cpus: int = 16,
        pace: Pace | None = None,
        missing: Iterable[str] = (),
        room_blocks: int | None = None,
        pluggable: bool = False,
        parameters: Mapping[str, str] | None = None,
        packages: Iterable[str] = (),
        refused: Iterable[str] = (),
        ignored: Iterable[str] = (),
        cloud: str = "",
    ) -> None:
        self.version, self.cache_bytes, self.block_size, self.cpus = version, cache_bytes, block_size, cpus
        self.pace = pace or Pace()
        self.room_blocks, self.pluggable = room_blocks, pluggable
        self.missing = {name.upper() for name in missing}
        # The service that it is: rds, autonomous or lakehouse, as their documentation says of them.
        self.cloud = cloud
        # Parameters that sessions may not set: with an error, and without one.
        self.refused, self.ignored = ({name.lower() for name in names} for names in (refused, ignored))
        if self.is_autonomous:
            self.refused |= REFUSED_BY_AUTONOMOUS
        # Packages that this user may execute, and the snapshots that they took.
        self.packages = frozenset(packages)
        self.snapshots: list[Any] = []
        ignores_hints = {"optimizer_ignore_hints": "TRUE"} if cloud == "lakehouse" else {}
        self.parameters = {**ignores_hints, "db_cache_size": str(cache_bytes), **(parameters or {})}
        self.chance = random.Random(seed)
        self.started_us = now_us()
        self.lock = threading.RLock()
        self.db = database(self.context)
        self.tables: dict[str, Table] = {}
        self.temporary: set[str] = set()
        self._rows: dict[str, int] = {}
        self.procedures: dict[str, str] = {}
        self.sessions: dict[int, SessionRow] = {}
        self.asking = 0
        self.row_locks: dict[str, int] = {}
        # Cumulative: V$SYSSTAT by name; (event, class) -> waits and µs; (event, upper edge in µs) -> waits;
        # (object, statistic); (schema, kind, statistic) of the loop's statements.
        self.stats: Counter[str] = Counter()
        self.waits: Counter[tuple[str, str]] = Counter()
        self.wait_us: Counter[tuple[str, str]] = Counter()
        self.durations: Counter[tuple[str, int]] = Counter()
        self.segments: Counter[tuple[str, str]] = Counter()
        self.sql: Counter[tuple[int, OpKind, str]] = Counter()
        self._numbers: dict[str, int] = {}

    @property
    def release(self) -> int:
        """The version's first number."""
        return int(self.version.partition(".")[0])

    @property
    def is_autonomous(self) -> bool:
        """Whether it is an Autonomous Database."""
        return self.cloud in ("autonomous", "lakehouse")

    @property
    def privileges(self) -> list[str]:
        """The system privileges of this user: in a cloud nobody has ALTER SYSTEM, or it is not granted."""
        return ["CREATE SESSION", "CREATE TABLE", "CREATE PROCEDURE", *([] if self.cloud else ["ALTER SYSTEM"])]

    def ignores_hints(self, sid: int) -> bool:
        """Whether a session's statements are planned as if they had no hints."""
        own = self.sessions[sid].parameters.get("optimizer_ignore_hints")
        return (own or self.parameters.get("optimizer_ignore_hints")) == "TRUE"

    def context(self, _space: str, name: str, *_: object) -> str | None:
        """Return what SYS_CONTEXT says to the session that is asking."""
        known = {
            "SID": str(self.asking),
            "CON_ID": "3" if self.pluggable else "0",
            "CON_NAME": PDB if self.pluggable else CDB,
            "CDB_NAME": CDB if self.pluggable else None,
            "INSTANCE": "1",
            "INSTANCE_NAME": self.sessions[self.asking].instance if self.asking in self.sessions else "standin1",
            "SERVICE_NAME": "standin",
            "NETWORK_PROTOCOL": "tcp",
            "SESSION_USER": USER,
            "CURRENT_SCHEMA": USER,
            "CURRENT_USER": USER,
            "DATABASE_ROLE": "PRIMARY",
            "DB_UNIQUE_NAME": CDB,
            "DB_NAME": CDB,
            "SERVER_HOST": "standin",
            "ISDBA": "FALSE",
            "CLOUD_SERVICE": {"autonomous": "OLTP", "lakehouse": "DWCS"}.get(self.cloud),
            "LANGUAGE": "AMERICAN_AMERICA.AL32UTF8",
        }
        return known.get(name.upper())

    def rows(self, table: str) -> int:
        """Return the number of rows of a table, 0 if there is none."""
        if table not in self.tables:
            return 0
        if table not in self._rows:
            self._rows[table] = int(self.db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
        return self._rows[table]

    def changed(self) -> None:
        """Count rows again when they are asked for."""
        self._rows.clear()

    def object_number(self, name: str) -> int:
        """Return the number of an object, the same for ever."""
        return self._numbers.setdefault(name, 1000 + len(self._numbers))

    def test_tables(self) -> list[str]:
        """Return the names of the tables that hold the test's data."""
        return [name for name in self.tables if name.startswith(("CF1_", "CF2_"))]

    def miss_share(self) -> float:
        """Return the share of visits that find their block not in the cache, all active blocks being visited alike."""
        active = {session.schema: session.scale for session in self.sessions.values()}
        data = sum(active.values()) * self.block_size
        return max(0.0, 1 - self.cache_bytes / data) if data else 0.0

    def read_us(self) -> float:
        """Draw how long one read of the device takes."""
        return self.pace.read_least_us + self.chance.expovariate(1 / self.pace.read_more_us)

    def wait(self, event: str, wait_class: str, times_us: Iterable[float], session: SessionRow | None) -> float:
        """Count waits of sessions; return their time in µs."""
        total = 0.0
        for us in times_us:
            total += us
            self.waits[event, wait_class] += 1
            self.durations[event, 1 << max(0, (int(us)).bit_length())] += 1
        self.wait_us[event, wait_class] += total
        if session:
            session.doing[event, wait_class] += total
        return total

    def count(self, amounts: Mapping[str, float], session: SessionRow | None) -> None:
        """Add to V$SYSSTAT, and to what V$SESSTAT has of the session."""
        for name, amount in amounts.items():
            self.stats[name] += amount
            if session:
                session.counts[name] += amount

    def end_session(self, sid: int) -> None:
        """Forget a connection and its locks."""
        with self.lock:
            self.sessions.pop(sid, None)
            for row in [row for row, holder in self.row_locks.items() if holder == sid]:
                del self.row_locks[row]
