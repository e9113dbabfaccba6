"""The stand-in for Oracle Database: executes the engine's statements on state in memory, with the method's arithmetic.

It is no database: no block is read, no log is written, and nothing that it counts was measured. It says so wherever it
is asked what it is. What it can't execute it names, and the test fails.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from factories.oracle import standin_awr
from factories.oracle import standin_catalog as catalog
from factories.oracle import standin_views as views
from factories.oracle.standin_ddl import TABLE_NAME, Ddl
from factories.oracle.standin_slice import CANCELLED, Slice
from factories.oracle.standin_sql import SHARP, code_of, locks_rows, translated
from factories.oracle.standin_world import SessionRow, World
from factories.oracle.wire import Client, Column, Executor, Identity, OracleError, Rows, Server
from factories.oracle.wire_encodings import NUMBER, VARCHAR

# OUT binds of blocks that ask one thing.
_FIXED = {"clock_cost_us": Decimal("1.2"), "clock_step_us": 1, "clustered": 0}
_SLICE = re.compile(r"BEGIN (SLOB_SLICE_(\d+)(?:_\d+)?)\s*\(", re.IGNORECASE)
_WRITTEN = re.compile(r"\bc\d+ = ", re.IGNORECASE)
_CHANGED = re.compile(r"^(?:INSERT(?: /\*.*?\*/)? INTO|UPDATE|DELETE(?: FROM)?) (\w+)", re.IGNORECASE)
_EXPLAINED = re.compile(r"STATEMENT_ID = '(\w+)' FOR (.*)", re.IGNORECASE | re.DOTALL)
_LOCKED_ROWS = re.compile(r"\bSLOB_RUN\b.*?\b(WHERE\b.*?)(?:\bFOR UPDATE\b.*)?$", re.IGNORECASE | re.DOTALL)
_NO_SUCH = re.compile(r"no such (table|column): ?(?:\w+\.)?(\S+)")
_SQLITE = (("UNIQUE constraint", 1, "unique constraint violated"), ("already exists", 955, "name is already used"))


class StandIn(Executor):
    """Executes one client's statements on the world that all clients share."""

    def __init__(self, world: World, client: Client, drop: Callable[[], None]) -> None:
        self._world, self._client, self._sid = world, client, client.number
        self._row = SessionRow(self._sid, lambda: (client.module, client.action), drop)
        self._row.instance = client.identity.instance
        self._slice: Slice | None = None
        self._cancelled = False
        self._appended: set[str] = set()
        self._staged: set[str] = set()
        self._ddl = Ddl(world, self._row)
        with world.lock:
            world.sessions[self._sid] = self._row

    def execute(self, text: str, binds: dict[str, Any]) -> Rows | Mapping[str, Any] | int:
        """Execute a statement."""
        self._cancelled = False
        code = code_of(text)
        verb = code.split(maxsplit=1)[0].upper()
        if verb in ("SELECT", "WITH"):
            return self._query(text, binds)
        if verb in ("INSERT", "UPDATE", "DELETE", "MERGE"):
            return self._change(text, [binds])
        if verb in ("BEGIN", "DECLARE"):
            return self._block(code, binds)
        with self._world.lock:
            self._world.changed()
            if "_serial_direct_read" in code:
                self._row.direct = code.upper().endswith("ALWAYS")
            if verb == "EXPLAIN":
                return self._explain(code)
            return self._ddl.execute(code)

    def execute_many(self, text: str, rows: Sequence[dict[str, Any]]) -> int:
        """Execute a change of rows with many binds."""
        self._cancelled = False
        return self._change(text, rows)

    def columns_of(self, table: str, columns: Sequence[str]) -> list[Column]:
        """The key is a number, all else is text, as in the test's tables."""
        if table not in self._world.tables:
            raise OracleError(942, "table or view does not exist")
        return [Column(NUMBER, 22) if name == "CUSTID" else Column(VARCHAR, 128, 1) for name in columns]

    # --- queries and changes of rows

    def _query(self, text: str, binds: dict[str, Any]) -> Rows:
        if standin_awr.is_report(text):
            return standin_awr.report(self._world, binds)
        plain = translated(text)
        self._require_seen(plain)
        if locks_rows(text):
            self._lock_rows(code_of(text), binds, waits="NOWAIT" not in text.upper())
        with self._world.lock:
            self._world.asking = self._sid
            catalog.fill(self._world, self._sid, catalog.named_in(plain))
            cursor = self._sql(plain, binds)
            columns = [column[0].replace(SHARP, "#").upper() for column in cursor.description or ()]
            return Rows(columns, [tuple(row) for row in cursor.fetchall()])

    def _require_seen(self, text: str) -> None:
        """Refuse what this user may not see, as the server does: it says that there is no such view."""
        for name in self._world.missing:
            if re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text, re.IGNORECASE):
                raise OracleError(942, "table or view does not exist")

    def _change(self, text: str, rows: Sequence[dict[str, Any]]) -> int:
        self._require_seen(text)
        code = code_of(text)
        named = _CHANGED.search(code)
        table = named[1].upper() if named else ""
        if table in self._appended:
            raise OracleError(12838, "cannot read/modify an object after modifying it in parallel")
        if table == "SLOB_RUN" and not code.upper().startswith("INSERT"):
            self._lock_rows(code, rows[0], waits=True)
        if "APPEND" in text.upper():
            self._appended.add(table)
        if table in self._world.temporary:
            self._staged.add(table)
        self.in_transaction = True
        with self._world.lock:
            count = sum(self._sql_many(each, rows) for each in self._ddl.inserts(code))
            self._world.changed()
            self._require_room(table)
        return count

    def _require_room(self, table: str) -> None:
        room, blocks = self._world.room_blocks, sum(map(self._world.rows, self._world.test_tables()))
        if room is not None and blocks > room:
            self._world.db.execute(f"DELETE FROM {table} WHERE rowid > {room}")
            self._world.changed()
            raise OracleError(1653, f"unable to extend table SLOB.{table} by 128 in tablespace USERS")

    def _sql(self, text: str, binds: dict[str, Any]) -> sqlite3.Cursor:
        try:
            return self._world.db.execute(text, _plain(binds))
        except sqlite3.Error as error:
            raise _as_oracle(error, text) from error

    def _sql_many(self, text: str, rows: Sequence[dict[str, Any]]) -> int:
        try:
            return self._world.db.executemany(translated(text), [_plain(row) for row in rows]).rowcount
        except sqlite3.Error as error:
            raise _as_oracle(error, text) from error

    # --- locks of rows

    def _lock_rows(self, code: str, binds: dict[str, Any], waits: bool) -> None:
        """Lock the rows of the run table that a statement names; they are unlocked when its transaction ends."""
        named = _LOCKED_ROWS.search(code)
        if not named:
            return
        used = {name: value for name, value in binds.items() if f":{name}" in named[1]}
        with self._world.lock:
            found = [row[0] for row in self._sql(f"SELECT id FROM slob_run r {translated(named[1])}", used)]
        for row in found:
            while not self._took(row):
                if not waits:
                    raise OracleError(54, "resource busy and acquire with NOWAIT specified or timeout expired")
                if self._cancelled:
                    self._row.waits_for = None
                    raise OracleError(CANCELLED, "user requested cancel of current operation")
                time.sleep(0.02)
        self._row.waits_for = None

    def _took(self, row: str) -> bool:
        with self._world.lock:
            holder = self._world.row_locks.setdefault(row, self._sid)
            self._row.waits_for = None if holder == self._sid else holder
            self.in_transaction = True
            return holder == self._sid

    def commit(self) -> None:
        """End the transaction."""
        self.in_transaction = False
        self._appended.clear()
        with self._world.lock:
            while self._staged:
                self._world.db.execute(f"DELETE FROM {self._staged.pop()}")
            for row in [row for row, holder in self._world.row_locks.items() if holder == self._sid]:
                del self._world.row_locks[row]

    def rollback(self) -> None:
        """End the transaction. What it changed stays: nothing of ours depends on that."""
        self.commit()

    # --- blocks

    def _block(self, code: str, binds: dict[str, Any]) -> Mapping[str, Any]:
        if called := _SLICE.search(code):
            return self._run_slice(called[1].upper(), int(called[2]), binds)
        table = str(next((value for name, value in binds.items() if "table" in name), "")).upper()
        if "GATHER_TABLE_STATS" in code:
            self._world.tables[table].analyzed = True
            return {}
        if "LOCK_TABLE_STATS" in code:
            self._world.tables[table].locked_statistics = "UNLOCK_TABLE_STATS" not in code
            return {}
        if sleep := re.search(r"\.SLEEP\(:(\w+)\)", code):
            time.sleep(float(binds[sleep[1]]))
            return {}
        if found := {name: value for name, value in _FIXED.items() if name in binds}:
            return found
        return self._call_package(code, binds)

    def _call_package(self, code: str, binds: dict[str, Any]) -> Mapping[str, Any]:
        """Take a snapshot, or do what the master user of Amazon RDS may do; elsewhere there is no package for that."""
        if package := next((each for each in standin_awr.OWNERS if each in code), None):
            return standin_awr.taken(self._world, package)
        if "CALIBRATE_IO" in code:
            return self._calibrate(binds)
        if "rdsadmin_util.checkpoint" not in code:
            raise NotImplementedError(code)
        if "RDSADMIN_UTIL" not in self._world.packages:
            raise OracleError(6550, "line 2, column 5:\nPLS-00201: identifier 'RDSADMIN_UTIL' must be declared")
        self._ddl.write_all()
        return {}

    def _calibrate(self, binds: dict[str, Any]) -> Mapping[str, Any]:
        """Answer as the server's calibration does, which shows a latency below 1 ms as 0."""
        if "DBMS_RESOURCE_MANAGER" not in self._world.packages:
            raise OracleError(56708, "Could not find any datafiles with asynchronous i/o capability")
        return {"max_iops": 1000 * int(binds["disks"]), "max_mb_per_s": 10 * int(binds["most_ms"]), "latency_ms": 0}

    def _run_slice(self, program: str, schema: int, binds: dict[str, Any]) -> Mapping[str, Any]:
        text = self._world.procedures.get(program)
        if text is None:
            raise OracleError(6550, f"line 1, column 7:\nPLS-00201: identifier '{program}' must be declared")
        update = re.search(rf"UPDATE (?:/\*.*?\*/ )?CF1_{schema} .*? WHERE", code_of(text), re.IGNORECASE)
        columns = len(_WRITTEN.findall(update[0])) if update else 0
        waits = "IMMEDIATE WAIT" in text.upper()
        self._slice = Slice(self._world, self._row, binds, schema, waits, columns)
        try:
            return self._slice.run()
        finally:
            self._slice = None

    def _explain(self, code: str) -> int:
        found = _EXPLAINED.search(code)
        table = TABLE_NAME.search(found[2]) if found else None
        if not found or not table:
            raise NotImplementedError(code)
        kind = views.kind_of_statement(found[2])
        plan = views.plan_of(kind, int(table[1]), self._world.ignores_hints(self._sid))
        rows = [(found[1], at, *step) for at, step in enumerate(plan)]
        self._world.db.executemany("INSERT INTO plan_table VALUES (?, ?, ?, ?, ?)", rows)
        return 0

    # --- ends

    def cancel(self) -> None:
        """End what is executed."""
        self._cancelled = True
        if running := self._slice:
            running.cancelled = True

    def close(self) -> None:
        """Forget the client."""
        self._world.end_session(self._sid)


def _plain(binds: Mapping[str, Any]) -> dict[str, Any]:
    return {name: int(value) if isinstance(value, Decimal) else value for name, value in binds.items()}


def _as_oracle(error: sqlite3.Error, text: str) -> Exception:
    said = str(error)
    if missing := _NO_SUCH.search(said):
        if missing[1] == "table":
            return OracleError(942, "table or view does not exist")
        return OracleError(904, f'"{missing[2].upper()}": invalid identifier')
    for part, number, shown in _SQLITE:
        if part in said:
            return OracleError(number, shown)
    return NotImplementedError(f"{said}: {text[:200]}")


class StandInServer:
    """A listener on loopback before a world."""

    def __init__(self, world: World | None = None, **options: Any) -> None:
        self.world = world or World()
        catalog.create(self.world)
        first, second, third, fourth, fifth = map(int, self.world.version.split("."))
        same = (Identity(version=(first, second, third, fourth, fifth)),)
        self.server = Server(self._executor, **{"identities": same, **options})

    def _executor(self, client: Client) -> StandIn:
        return StandIn(self.world, client, lambda: self._drop(client.number))

    def _drop(self, number: int) -> None:
        for session in self.server.sessions:
            if session.client.number == number:
                session.drop()
