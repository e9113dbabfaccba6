"""Definitions of tables, indexes and procedures in the stand-in."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping

from factories.oracle.standin_world import SessionRow, Table, World
from factories.oracle.wire import OracleError

TABLE_NAME = re.compile(r"\bCF[12]_(\d+)\b", re.IGNORECASE)
_VALUE = r"'(?:[^']|'')*'|[\w.]+"
_DEFAULT = re.compile(rf"(\w+)(?: \w+\([^()]*\))? DEFAULT ({_VALUE})", re.IGNORECASE)
_INSERT = re.compile(r"^INSERT INTO (\w+) \(([^()]*)\) (VALUES ?\((.*)\)|SELECT (.*))$", re.IGNORECASE | re.DOTALL)
_INTO = re.compile(r"\bINTO (\w+) (\([^()]*\)) VALUES (\([^()]*\))", re.IGNORECASE)


class Ddl:
    """Executes definitions; each is a regular expression of its beginning and what is done with the rest."""

    def __init__(self, world: World, session: SessionRow) -> None:
        self._world, self._session = world, session
        self._kinds: Mapping[str, Callable[[re.Match[str]], None]] = {
            r"CREATE (?:GLOBAL TEMPORARY )?TABLE (\w+) (.*)": self._create_table,
            r"CREATE (UNIQUE )?INDEX (\w+) ON (\w+) ?\(([^()]*)\)": self._create_index,
            r"CREATE OR REPLACE PROCEDURE (\w+)": self._create_procedure,
            r"DROP TABLE (\w+)": self._drop_table,
            r"DROP PROCEDURE (\w+)": self._drop_procedure,
            r"TRUNCATE TABLE (\w+)": self._truncate,
            r"ALTER TABLE (\w+) (.*)": self._alter_table,
            r"ALTER INDEX (\w+) ": lambda _: None,
            r"ALTER SESSION SET \"?(\w+)\"? = '?([^' ]*)'?$": self._alter_session,
            r"ALTER SESSION (?:DISABLE PARALLEL QUERY|SET )": lambda _: None,
            r"ALTER SYSTEM KILL SESSION '(\d+),(\d+)": self._kill,
            r"ALTER SYSTEM CHECKPOINT": self._checkpoint,
            r"ALTER SYSTEM FLUSH ": lambda _: None,
            r"LOCK TABLE (\w+) ": lambda _: None,
        }

    def execute(self, code: str) -> int:
        """Execute a definition."""
        for pattern, act in self._kinds.items():
            if found := re.match(pattern, code, re.IGNORECASE | re.DOTALL):
                try:
                    act(found)
                except sqlite3.IntegrityError as error:
                    raise OracleError(1452, "cannot CREATE UNIQUE INDEX; duplicate keys found") from error
                return 0
        raise NotImplementedError(code[:200])

    def inserts(self, code: str) -> Iterator[str]:
        """Yield the statements that a change of rows consists of, with the defaults of the columns it leaves out."""
        if code.upper().startswith("INSERT ALL"):
            yield from (
                f"INSERT INTO {table} {columns} VALUES {values}" for table, columns, values in _INTO.findall(code)
            )
            return
        found = _INSERT.match(code)
        table = self._world.tables.get(found[1].upper()) if found else None
        if not found or not table or not table.values:
            yield code
            return
        named = {name.strip().upper() for name in found[2].split(",")}
        left = {name: value for name, value in table.values.items() if name not in named}
        columns = ", ".join([found[2], *left])
        values = ", ".join([found[4] or "", *left.values()])
        if found[4]:
            yield f"INSERT INTO {table.name} ({columns}) VALUES ({values})"
        else:
            into, _, rest = found[5].partition(" FROM ")
            yield f"INSERT INTO {table.name} ({columns}) SELECT {', '.join([into, *left.values()])} FROM {rest}"

    def _table(self, name: str) -> Table:
        if name.upper() not in self._world.tables:
            raise OracleError(942, "table or view does not exist")
        return self._world.tables[name.upper()]

    def _create_table(self, found: re.Match[str]) -> None:
        name, rest = found[1].upper(), found[2]
        if name in self._world.tables:
            raise OracleError(955, "name is already used by an existing object")
        inner, tail = _parenthesised(rest)
        self._world.db.execute(f"CREATE TABLE {name} ({_types(inner)})")
        free = re.search(r"PCTFREE (\d+)", tail, re.IGNORECASE)
        table = Table(name, pct_free=int(free[1]) if free else 10, logging="NOLOGGING" not in tail.upper())
        table.values = _defaults(inner)
        self._world.tables[name] = table
        if "GLOBAL TEMPORARY" in found[0].upper():
            self._world.temporary.add(name)

    def _create_index(self, found: re.Match[str]) -> None:
        unique, name, table = bool(found[1]), found[2].upper(), self._table(found[3])
        self._world.db.execute(f"CREATE {'UNIQUE' if unique else ''} INDEX {name} ON {table.name} ({found[4]})")
        table.indexes[name] = unique

    def _create_procedure(self, found: re.Match[str]) -> None:
        self._world.procedures[found[1].upper()] = found.string

    def _drop_table(self, found: re.Match[str]) -> None:
        table = self._table(found[1])
        self._world.db.execute(f"DROP TABLE {table.name}")
        del self._world.tables[table.name]
        self._world.temporary.discard(table.name)

    def _drop_procedure(self, found: re.Match[str]) -> None:
        if self._world.procedures.pop(found[1].upper(), None) is None:
            raise OracleError(4043, f"object {found[1]} does not exist")

    def _truncate(self, found: re.Match[str]) -> None:
        self._world.db.execute(f"DELETE FROM {self._table(found[1]).name}")

    def _alter_table(self, found: re.Match[str]) -> None:
        table, rest = self._table(found[1]), found[2]
        if rest.upper().startswith("MODIFY"):
            given = _defaults(rest)
            table.values |= given
            for name in [name for name, value in given.items() if value.upper() == "NULL"]:
                del table.values[name]
        elif rest.upper() in ("LOGGING", "NOLOGGING"):
            table.logging = rest.upper() == "LOGGING"
        elif rename := re.match(r"RENAME TO (\w+)", rest, re.IGNORECASE):
            self._world.db.execute(f"ALTER TABLE {table.name} RENAME TO {rename[1].upper()}")
            del self._world.tables[table.name]
            table.name = rename[1].upper()
            self._world.tables[table.name] = table
        elif not re.match(r"MINIMIZE|NOPARALLEL|PARALLEL|MOVE|NOCACHE", rest, re.IGNORECASE):
            raise NotImplementedError(found[0][:200])

    def _alter_session(self, found: re.Match[str]) -> None:
        name = found[1].lower()
        if name in self._world.refused:
            raise OracleError(1031, "insufficient privileges")
        if name not in self._world.ignored:
            self._session.parameters[name] = found[2]

    def _require_administrator(self) -> None:
        if "ALTER SYSTEM" not in self._world.privileges:
            raise OracleError(1031, "insufficient privileges")

    def _kill(self, found: re.Match[str]) -> None:
        self._require_administrator()
        row = self._world.sessions.get(int(found[1]))
        if row is None:
            raise OracleError(30, "User session ID does not exist")
        row.kill()

    def _checkpoint(self, _: re.Match[str]) -> None:
        self._require_administrator()
        self.write_all()

    def write_all(self) -> None:
        """Count a checkpoint."""
        for name in ("DBWR checkpoints", "background checkpoints completed", "background checkpoints started"):
            self._world.stats[name] += 1


def _parenthesised(text: str) -> tuple[str, str]:
    """Return what the first pair of parentheses holds, and what comes after it."""
    depth, quoted, begin = 0, False, text.index("(")
    for at in range(begin, len(text)):
        quoted ^= text[at] == "'"
        depth += 0 if quoted else {"(": 1, ")": -1}.get(text[at], 0)
        if not depth:
            return text[begin + 1 : at], text[at + 1 :]
    raise NotImplementedError(text)


def _types(columns: str) -> str:
    """Return columns for SQLite, which knows no units in a length, and has no defaults that can be changed."""
    plain = re.sub(r"(\(\d+) (?:CHAR|BYTE)\)", r"\1)", columns, flags=re.IGNORECASE)
    return re.sub(rf" DEFAULT (?:{_VALUE})", "", plain, flags=re.IGNORECASE)


def _defaults(text: str) -> dict[str, str]:
    return {name.upper(): value for name, value in _DEFAULT.findall(text)}
