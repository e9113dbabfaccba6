"""What the questions of `slob check --prove` work on: small tables and procedures of their own, and what is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Thread

import oracledb

from openslob.core.errors import SlobError
from openslob.core.method import phases_of
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.oracle import names, tablespace
from openslob.engines.oracle.connection import Connection, Row, drop, query, query_if_visible, statement
from openslob.engines.oracle.errors import report_as
from openslob.engines.oracle.known_settings import alter_if_allowed, apply_setting
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.session import OracleSession
from openslob.engines.oracle.slice_procedure import compose_slice
from openslob.engines.oracle.tables import Filling, Way, Ways, fill, list_ways
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.proofs import NotAskedError
from openslob.engines.row_text import column_bytes
from openslob.engines.slice_io import NO_LIMIT
from openslob.engines.tables import DataTable, table_cf1, table_cf2

# Beyond the schemas of any load (`Workload.schemas`), so that loaded data are not touched.
FIRST_SCHEMA = 9001
# How long a slice may take beyond its length, in s.
_PATIENCE_S = 10.0
BLOCKS, SCANNED = 1000, 8
_OF_OTHERS = "needs SELECT on V_$SESSTAT and V_$STATNAME"
_OWN = "needs SELECT on V_$MYSTAT and V_$STATNAME"


class Bench:
    """Makes tables and procedures, and drops what it made. ``connect`` opens a connection with a purpose."""

    def __init__(self, connect: Callable[[str], Connection], params: ConnectParams) -> None:
        self._connect = connect
        with self.connect() as connection, report_as("the server can't be asked"):
            self.version = connection.version
            self.place = tablespace.find(Survey(connection), params.tablespace)
        self._made: list[int] = []

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a connection for one question; errors of the server become SlobError."""
        with self._connect("prove") as connection, report_as("the server refused"):
            yield connection

    def make_schema(
        self,
        number: int,
        blocks: int = BLOCKS,
        ways: Sequence[Way] | None = None,
        obfuscate: bool = False,
        cold: bool = False,
        batches: int = 1,
    ) -> int:
        """Make the tables of a schema, counted from 0; return its number in the names of its objects.

        ``cold``: what indexes and analyses them reads past the cache, as the rows were written. The rows are written in
        so many ``batches``, as those of large tables are.
        """
        schema = FIRST_SCHEMA + number
        if schema in self._made:
            return schema
        self._made.append(schema)
        batch_bytes = -(-blocks // batches) * self.place.block_size
        how = Filling(self.place, Ways(ways or list_ways(obfuscate)), 100 * obfuscate, 1, {}, batch_bytes)
        with self.connect() as connection:
            self._drop(connection, schema)
            if cold:
                with suppress(oracledb.DatabaseError):
                    query(connection, statement("prove", "direct"))
            for table in (self.describe_table(number, blocks), table_cf2(names.cf2(schema), schema, SCANNED)):
                fill(connection, table, how, _ignore)
        return schema

    @staticmethod
    def describe_table(number: int, blocks: int = BLOCKS) -> DataTable:
        """Return the table of one row a block of a schema."""
        schema = FIRST_SCHEMA + number
        return table_cf1(names.cf1(schema), schema, blocks)

    def install(self, connection: Connection, schema: int, workload: Workload, kind: str = "NATIVE") -> list[Row]:
        """Create the work loop on the tables of a schema; return the compiler's messages."""
        alter_if_allowed(connection, statement("prove", "code_type", kind=kind))
        apply_setting(connection, "optimize_level")
        # Schema 1 need not be there.
        width = column_bytes(self.place.block_size)
        query(connection, compose_slice(schema, workload, self.version, width, hot_schema=schema))
        return list(query(connection, statement("prove", "messages"), {"program": names.procedure(schema)}))

    @contextmanager
    def open_session(self, schema: int, workload: Workload, kind: str = "NATIVE") -> Iterator[BenchSession]:
        """Install the work loop and open a session of it, which is ready to run slices."""
        with self.connect() as connection:
            wrong = [row for row in self.install(connection, schema, workload, kind) if row["attribute"] == "ERROR"]
        if wrong:
            raise NotAskedError(f"the work loop does not compile: {join_lines(wrong[0]['text'])}")
        with self.connect() as connection:
            yield BenchSession(connection, self._plan(schema, workload))

    def _plan(self, schema: int, workload: Workload) -> SessionPlan:
        phases = phases_of(workload.seed, 0, 0, 0, 0)
        return SessionPlan(0, schema, BLOCKS, self.place.block_size, workload, phases, None, "prove")

    def clean(self) -> None:
        """Drop everything that was made. SlobError says what may be left, and what removes it."""
        if not self._made:
            return
        try:
            with self.connect() as connection:
                for schema in self._made:
                    self._drop(connection, schema)
        except SlobError as error:
            left = ", ".join(names.cf1(schema) for schema in self._made)
            why = f"small tables may be left ({left}): {error.what}"
            raise SlobError(why, "`slob drop`, or --prove again, removes them") from error
        self._made.clear()

    def drop(self, number: int) -> None:
        """Drop the tables of a schema, so that they can be made again."""
        with self.connect() as connection:
            self._drop(connection, FIRST_SCHEMA + number)
        self._made.remove(FIRST_SCHEMA + number)

    @staticmethod
    def _drop(connection: Connection, schema: int) -> None:
        tables = (names.cf1(schema), names.cf2(schema))
        drop(connection, "procedure", names.procedure(schema))
        for table in (*tables, *map(names.staging, tables)):
            drop(connection, "table", table)


class BenchSession:
    """A session of the work loop, with its own counters."""

    def __init__(self, connection: Connection, plan: SessionPlan) -> None:
        self.connection, self.plan = connection, plan
        self.loop = OracleSession(connection, plan)
        self.loop.prepare()
        self._done = 0

    def run_operations(self, number: int) -> SliceResult:
        """Run so many operations."""
        return self._run(SliceRequest(self._done, 0, NO_LIMIT, number, None))

    def run_for(self, length: float) -> SliceResult:
        """Run operations for so long."""
        until = int(query(self.connection, statement("prove", "now"))[0]["us"]) * 1000 + int(length * NANOS)
        return self._run(SliceRequest(self._done, 0, until, 0, None))

    def _run(self, order: SliceRequest) -> SliceResult:
        result = self.loop.run_slice(order)
        self._done += result.counts.ops
        return result

    @contextmanager
    def run_aside(self, length: float) -> Iterator[list[SlobError | SliceResult]]:
        """Run a slice on a thread of its own while the block runs; what comes of it is in the list after it."""
        outcome: list[SlobError | SliceResult] = []

        def work() -> None:
            try:
                outcome.append(self.run_for(length))
            except SlobError as error:
                outcome.append(error)

        thread = Thread(target=work, name="slice", daemon=True)
        thread.start()
        try:
            yield outcome
        except BaseException:
            self.connection.cancel()
            raise
        finally:
            thread.join(length + _PATIENCE_S)


def read_own_figures(connection: Connection) -> Mapping[str, int]:
    """Return this session's own counters. NotAskedError without the right."""
    rows = read_rows(connection, "own_figures", {}, _OWN)
    return {str(row["name"]): int(row["value"]) for row in rows}


def count_others_reads(connection: Connection, sid: int) -> int:
    """Return the logical reads of another session. NotAskedError without the right."""
    return int(read_rows(connection, "others_reads", {"sid": sid}, _OF_OTHERS)[0]["of_session"] or 0)


def read_rows(
    connection: Connection, name: str, values: Mapping[str, object], right: str, **placeholders: object
) -> Sequence[Row]:
    """Return the rows of a statement of prove.sql. NotAskedError names the right that is missing."""
    rows = query_if_visible(connection, statement("prove", name, **placeholders), values)
    if rows is None:
        raise NotAskedError(right)
    return rows


def subtract(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return how much each counter rose."""
    return {name: value - before.get(name, 0) for name, value in after.items()}


def join_lines(text: object) -> str:
    """Return a text of the server on one line."""
    return " ".join(str(text).split())


def _ignore(_blocks: int) -> None:
    """Show no progress: the tables are small."""
