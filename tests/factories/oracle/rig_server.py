"""What answers in place of an Oracle Database: MariaDB in Oracle mode, for the statements that a session sends."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pymysql

from factories.oracle.rig_rules import RIG, TRANSLATE, explainable, rendered
from factories.oracle.wire_executor import Executor, OracleError, Rows
from openslob.core.histogram import bucket_of
from openslob.engines.oracle.names import MANIFEST, RUN_TABLE
from openslob.engines.oracle.slice_procedure import ARGUMENTS, RESULTS, TEXTS

_KILLS = 50
_KILL_AGAIN_S = 0.1
_CALL = re.compile(r"BEGIN (\w+)\((.*)\); END;")
# There is always a load; its tables are not in the rig's database.
_COLUMNS = {
    "user_tables": ("TABLE_NAME",),
    "FROM plan_table": ("OPERATION", "OPTIONS", "OBJECT_NAME"),
    "user_errors": ("LINE", "TEXT"),
}
# Errors of MariaDB's, and Oracle's in such a case.
_ERRORS = {
    1050: (955, "name is already used by an existing object"),
    1062: (1, "unique constraint violated"),
    1146: (942, "table or view does not exist"),
    1205: (54, "resource busy and acquire with NOWAIT specified or timeout expired"),
    1317: (1013, "user requested cancel of current operation"),
    1927: (1013, "user requested cancel of current operation"),
    2006: (3113, "end-of-file on communication channel"),
    2013: (3113, "end-of-file on communication channel"),
}


class RigServer(Executor):
    """One session's executor."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = {**arguments, "database": RIG, "ssl_disabled": True}
        self._maria = pymysql.connect(**self._arguments, autocommit=True)
        self.number = int(self._maria.thread_id())
        self._calling = False
        self._plan: list[tuple[str, str | None, str | None]] = []
        self.ask("SET sql_mode = 'ORACLE', time_zone = '+00:00', div_precision_increment = 20")
        # As in PL/SQL: nothing is committed but by COMMIT, and a statement sees what is committed when it begins.
        self.ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self._maria.autocommit(False)

    def ask(self, text: str, values: object = None) -> tuple[tuple[Any, ...], ...]:
        with self._maria.cursor() as cursor:
            cursor.execute(text, values)
            return cursor.fetchall()

    def execute(self, text: str, binds: dict[str, Any]) -> Rows | Mapping[str, Any] | int:
        """As Oracle's server would, for what a session of the work loop sends."""
        try:
            return self._answered(text, binds)
        except pymysql.Error as error:
            raise OracleError(*_ERRORS.get(error.args[0], (20000, f"{error} in {text}"))) from error

    def _answered(self, text: str, binds: dict[str, Any]) -> Rows | Mapping[str, Any] | int:
        if call := _CALL.fullmatch(text):
            return self._slice(call[1], call[2], binds)
        if text.startswith("CREATE OR REPLACE PROCEDURE"):
            self.ask(rendered(text))
        elif text.startswith("EXPLAIN PLAN"):
            self._explain(text.partition(" FOR ")[2])
        elif "v$sql" in text:
            raise OracleError(942, "table or view does not exist")
        elif RUN_TABLE in text:
            return self._on_run_table(text, binds)
        return self._made_up(text, binds)

    def _made_up(self, text: str, binds: dict[str, Any]) -> Rows | Mapping[str, Any] | int:
        """What needs no database: settings, the kept plan, a procedure that compiled, a server of one instance."""
        if text.startswith("BEGIN"):
            return dict.fromkeys(binds, 0)
        columns = next((names for mark, names in _COLUMNS.items() if mark in text), ())
        rows: Sequence[Sequence[Any]] = self._plan if "plan_table" in text else ()
        return Rows(columns, [(MANIFEST,)] if "user_tables" in text else rows) if columns else 0

    def _on_run_table(self, text: str, binds: Mapping[str, Any]) -> Rows | int:
        """Its rows and their locks are those of any database."""
        code, storage = re.sub(r":(\w+)", r"%(\1)s", text), re.compile(r"PCTFREE \d+ INITRANS \d+|PURGE$")
        with self._maria.cursor() as cursor:
            changed = cursor.execute(storage.sub("", code), dict(binds) or None)
            if not cursor.description:
                return int(changed)
            return Rows([column[0] for column in cursor.description], cursor.fetchall())

    def _slice(self, procedure: str, arguments: str, binds: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(argument.split(" => :") for argument in arguments.split(", "))
        assert list(given) == list(given.values()) == list(ARGUMENTS)
        self.ask("SET " + ", ".join(f"@{name} = %s" for name in RESULTS), [binds.get(name) for name in RESULTS])
        values = [f"@{name}" if name in RESULTS else "%s" for name in ARGUMENTS]
        call = f"CALL {procedure}({', '.join(values)})"
        self._calling = True
        try:
            self.ask(call, [binds[name] for name in ARGUMENTS if name not in RESULTS])
        finally:
            self._calling = False
        row = self.ask("SELECT " + ", ".join(f"@{name}" for name in RESULTS))[0]
        found = dict(zip(RESULTS, row, strict=True))
        whole = {name: value if name == "due_us" else int(value) for name, value in found.items() if name not in TEXTS}
        return {**whole, **folded(found["wake_hist"])}

    def _explain(self, statement: str) -> None:
        """Keep a plan of Oracle's that says what MariaDB's says: through the index or not."""
        with self._maria.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute("EXPLAIN " + explainable(statement))
            row = cursor.fetchone() or {}
        update = statement.startswith("UPDATE")
        table = str(row["table"] if update else re.search(r"FROM (\w+)", statement)[1])  # type: ignore[index]
        self._plan = [("UPDATE STATEMENT" if update else "SELECT STATEMENT", None, None)]
        if row["type"] == "range" and row["key"] == "custid":
            by_rowid = [] if update else [("TABLE ACCESS", "BY INDEX ROWID", table)]
            self._plan += [*by_rowid, ("INDEX", "RANGE SCAN", f"{statement_table(statement)}_CUSTID")]
        else:
            self._plan.append(("TABLE ACCESS", "FULL", table))

    def commit(self) -> None:
        self._maria.commit()

    def rollback(self) -> None:
        # The connection may be gone.
        with suppress(pymysql.Error):
            self._maria.rollback()

    def cancel(self) -> None:
        """From another thread. MariaDB loses a KILL now and then that comes while a call begins: it is sent again."""
        with pymysql.connect(**self._arguments) as other:
            for _ in range(_KILLS):
                other.cursor().execute(f"KILL QUERY {self.number}")
                time.sleep(_KILL_AGAIN_S)
                if not self._calling:
                    return

    def close(self) -> None:
        if self._maria.open:
            self._maria.close()


def statement_table(statement: str) -> str:
    """The loop's table in one of its statements."""
    return re.findall(r"\bCF[12]_\d+\b", statement)[0]


def make(arguments: Mapping[str, Any]) -> None:
    """Make what the loop needs beside its tables."""
    with pymysql.connect(**arguments, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {RIG}")
        cursor.execute(f"USE {RIG}")
        cursor.execute("SET sql_mode = 'ORACLE'")
        cursor.execute(TRANSLATE)


def folded(handed_out: str | bytes | None) -> dict[str, str | None]:
    """Return the procedure's texts, from the latencies that it hands out one by one here: place, µs, place, µs …"""
    text = handed_out.decode() if isinstance(handed_out, bytes) else handed_out or ""
    numbers = [int(float(part)) for part in text.split(",") if part]
    found: dict[int, list[int]] = defaultdict(list)
    for place, us in zip(numbers[::2], numbers[1::2], strict=True):
        found[place].append(us)
    return {name: _folded(found[place]) for place, name in enumerate(TEXTS)}


def _folded(latencies: Sequence[int]) -> str | None:
    if not latencies:
        return None
    counts: dict[int, int] = defaultdict(int)
    for us in latencies:
        counts[bucket_of(us)] += 1
    pairs = " ".join(f"{bucket} {counts[bucket]}" for bucket in sorted(counts))
    return f"{sum(latencies)} {max(latencies)} {pairs}"
