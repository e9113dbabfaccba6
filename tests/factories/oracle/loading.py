"""An Oracle database as far as a load asks for one: tables in memory, and the views that describe them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from factories.oracle.double import rows
from factories.oracle.rowid_text import text_of
from factories.oracle.wire_executor import Executor, OracleError, Rows
from openslob.core.units import GIB
from openslob.engines.oracle.tables import Rowid

MISSING = OracleError(942, "table or view does not exist")
TABLESPACE = {"tablespace_name": "USERS", "block_size": 8192, "force_logging": "NO", "bigfile": "NO"}
_COLUMNS = 20


@dataclass
class Stored:
    """A table: its rows as they lie, the default of its text columns, and what was done with it."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    default: str | None = None
    indexed: bool = False
    analyzed: bool = False
    locked: bool = False


class Database:
    """What the connections of a load share.

    ``refusals`` are by the beginning of a statement, ``before`` what happens before one; ``rows_a_block`` and ``order``
    are how the server places rows, 1 and as they came; ``capacity`` ends the room for rows.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Stored] = {}
        self.others: dict[str, str] = {}
        self.refusals: dict[str, Exception] = {}
        self.before: dict[str, Callable[[], object]] = {}
        self.rows_a_block = 1
        self.capacity = 10**9
        self.log: list[str] = []

    def client(self) -> Executor:
        """Return one more client."""
        return _Client(self)

    def test_tables(self) -> dict[str, Stored]:
        """Return the test tables by name."""
        return {name: table for name, table in self.tables.items() if re.match(r"CF[12]_\d+$", name)}


class _Client(Executor):
    def __init__(self, database: Database) -> None:
        self._database = database
        self._staged: list[int] = []
        self._can_append = True

    def execute(self, text: str, binds: dict[str, Any]) -> Any:
        return self._run(text, [binds])

    def execute_many(self, text: str, rows: Sequence[dict[str, Any]]) -> int:
        return int(self._run(text, rows))

    def _run(self, text: str, binds: Sequence[dict[str, Any]]) -> Any:
        code = " ".join(re.sub(r"--[^\n]*", "", text).split())
        database = self._database
        database.log.append(code)
        for begin, happens in database.before.items():
            if code.startswith(begin):
                happens()
        for begin, refusal in database.refusals.items():
            if code.startswith(begin):
                raise refusal
        for pattern, act in self._acts.items():
            if found := re.match(pattern, code):
                return act(self, found, binds)
        raise AssertionError(f"no answer to: {code}")

    def commit(self) -> None:
        self._staged, self._can_append = [], True

    def rollback(self) -> None:
        self.commit()

    def _table(self, name: str) -> Stored:
        if name not in self._database.tables:
            raise MISSING
        return self._database.tables[name]

    # --- definitions

    def _nothing(self, *_: object) -> int:
        return 0

    def _create(self, found: re.Match[str], _: object) -> int:
        if found[1] in self._database.tables:
            raise OracleError(955, "name is already used by an existing object")
        default = re.search(r"DEFAULT '(.*?)'", found.string)
        self._database.tables[found[1]] = Stored(default=default[1] if default else None)
        return 0

    def _drop(self, found: re.Match[str], _: object) -> int:
        self._table(found[1])
        del self._database.tables[found[1]]
        return 0

    def _drop_procedure(self, found: re.Match[str], _: object) -> int:
        if self._database.others.pop(found[1], None) is None:
            raise OracleError(4043, f"object {found[1]} does not exist")
        return 0

    def _truncate(self, found: re.Match[str], _: object) -> int:
        self._table(found[1]).rows.clear()
        return 0

    def _minimize(self, found: re.Match[str], _: object) -> int:
        if not self._table(found[1]).rows:
            raise OracleError(28603, "statement not permitted on empty tables")
        return 0

    def _no_defaults(self, found: re.Match[str], _: object) -> int:
        self._table(found[1]).default = None
        return 0

    def _index(self, found: re.Match[str], _: object) -> int:
        table = self._table(found[1])
        if len({row["custid"] for row in table.rows}) < len(table.rows):
            raise OracleError(1452, "cannot CREATE UNIQUE INDEX; duplicate keys found")
        table.indexed = True
        return 0

    def _statistics(self, _: object, binds: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        self._table(binds[0]["table_name"]).analyzed = True
        return {}

    def _lock_statistics(self, _: object, binds: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        self._table(binds[0]["table_name"]).locked = True
        return {}

    # --- rows

    def _insert(self, found: re.Match[str], binds: Sequence[Mapping[str, Any]]) -> int:
        hint, name, columns, values = found.groups()
        table = self._table(name)
        if "APPEND" in (hint or "") and not self._can_append:
            raise OracleError(12838, "cannot read/modify an object after modifying it in parallel")
        self._can_append = not hint
        names = [column.strip().lower() for column in columns.split(",")]
        for given in binds:
            parts = [value.strip() for value in values.split(",")]
            row = {
                column: given[value[1:]] if value.startswith(":") else value.strip("'")
                for column, value in zip(names, parts, strict=True)
            }
            self._store(name, table, row)
        return len(binds)

    def _store(self, name: str, table: Stored, row: dict[str, Any]) -> None:
        if name.startswith("SLOB_KEYS"):
            self._staged.append(row["custid"])
            return
        if len(table.rows) >= self._database.capacity:
            raise OracleError(1653, f"unable to extend table SLOB.{name} by 128 in tablespace USERS")
        if name.startswith("CF"):
            texts = {f"c{number}": table.default for number in range(2, _COLUMNS + 1)}
            row = {**texts, **row, "custid": int(row["custid"])}
        table.rows.append(row)

    def _make(self, found: re.Match[str], _: object) -> int:
        table = self._table(found[1])
        for key in self._staged:
            random = {f"c{number}": "r" * int(found[2]) for number in range(2, _COLUMNS + 1)} if found[2] else {}
            self._store(found[1], table, {"custid": key, **random})
        return len(self._staged)

    def _verified(self, found: re.Match[str], binds: Sequence[Mapping[str, Any]]) -> int:
        for row in self._table(found[1]).rows:
            row.update(binds[0])
        return 1

    # --- views

    def _places(self, table: Stored) -> list[Rowid]:
        size = self._database.rows_a_block
        return [Rowid(1, 100 + at // size, at % size) for at in range(len(table.rows))]

    def _keys(self, found: re.Match[str], _: object) -> Rows:
        table = self._table(found[1])
        keys = [row["custid"] for row in table.rows] or [0]
        not_first = sum(place.row > 0 for place in self._places(table))
        figures = {"rows_there": len(table.rows), "lowest": min(keys), "highest": max(keys), "not_first": not_first}
        return rows(figures)

    def _rows(self, found: re.Match[str], _: object) -> Rows:
        table = self._table(found[1])
        wanted = set(map(int, re.findall(r"\d+", found[2]))) if found[2] else None
        return rows(*(
            {"custid": row["custid"], "place": text_of(place), "value_bytes": _text_bytes(row)}
            for row, place in zip(table.rows, self._places(table), strict=True)
            if wanted is None or row["custid"] in wanted
        ))  # fmt: skip

    def _relation(self, _: object, binds: Sequence[Mapping[str, Any]]) -> Rows:
        table = self._database.tables.get(binds[0]["table_name"])
        if table is None:
            return rows()
        count = len(table.rows)
        return rows({
            "estimated_rows": count if table.analyzed else None,
            "used_blocks": -(-count // self._database.rows_a_block) + 8,
            "locked": int(table.locked),
            "analyzed": _COLUMNS if table.analyzed and count else 0,
            "unique_indexes": int(table.indexed),
            "clustering_factor": count if table.indexed else None,
        })  # fmt: skip

    def _objects(self, *_: object) -> Rows:
        found = [{"object_type": "TABLE", "object_name": name} for name in sorted(self._database.tables)]
        found += [{"object_type": kind, "object_name": name} for name, kind in self._database.others.items()]
        return rows(*found)

    def _blocks_now(self, *_: object) -> Rows:
        tables = self._database.test_tables().items()
        return rows(*({"table_name": name, "blocks": len(table.rows) + 8} for name, table in tables))

    def _columns(self, *_: object) -> Rows:
        return rows(*({"table_name": name, "columns_there": _COLUMNS} for name in self._database.test_tables()))

    def _indexed(self, *_: object) -> Rows:
        return rows(*({"table_name": name} for name, table in self._database.test_tables().items() if table.indexed))

    def _stored(self, found: re.Match[str], _: object) -> Rows:
        stored = self._table(found[1]).rows
        return rows(*({"verified_at": None} | row for row in stored)) if "MANIFEST" in found[1] else rows(*stored)

    _acts: Mapping[str, Callable[[Any, re.Match[str], Any], Any]] = {
        r"ALTER (SESSION|INDEX)": _nothing,
        r"CREATE (?:GLOBAL TEMPORARY )?TABLE (\w+)": _create,
        r"DROP TABLE (\w+) PURGE": _drop,
        r"DROP PROCEDURE (\w+)": _drop_procedure,
        r"TRUNCATE TABLE (\w+)": _truncate,
        r"ALTER TABLE (\w+) MINIMIZE": _minimize,
        r"ALTER TABLE (\w+) MODIFY \(c2 DEFAULT NULL": _no_defaults,
        r"ALTER TABLE (\w+) LOGGING": _nothing,
        r"CREATE UNIQUE INDEX \w+ ON (\w+)": _index,
        r"BEGIN DBMS_STATS.GATHER": _statistics,
        r"BEGIN DBMS_STATS.LOCK": _lock_statistics,
        r"INSERT (/\*.*?\*/ )?INTO (\w+) \((.*?)\) VALUES \((.*)\)": _insert,
        r"INSERT /\*\+ APPEND \*/ INTO (\w+) .*? SELECT k.custid(?:, (?:RPAD\()?DBMS_RANDOM.STRING\('p', (\d+)\).*?)? "
        r"FROM": _make,
        r"UPDATE (SLOB_MANIFEST)": _verified,
        r"SELECT COUNT\(\*\) AS rows_there.* FROM (\w+) t": _keys,
        r"SELECT t.custid, ROWIDTOCHAR.* FROM (\w+) t ?(WHERE .*)?": _rows,
        r"SELECT t.num_rows": _relation,
        r"SELECT o.object_type": _objects,
        r"SELECT t.table_name, NVL\(s.blocks": _blocks_now,
        r"SELECT c.table_name, COUNT": _columns,
        r"SELECT i.table_name FROM user_indexes": _indexed,
        r"SELECT [mt]\..* FROM (SLOB_\w+) [mt]": _stored,
        # What facts.sql asks; the rest of it is not to be seen.
        r"SELECT USER AS user_name": lambda *_: rows({"user_name": "SLOB", "default_tablespace": "USERS"}),
        r"SELECT t.tablespace_name": lambda *_: rows(TABLESPACE),
        r"SELECT \(SELECT NVL\(SUM\(f.bytes": lambda *_: rows({"free_bytes": GIB, "quota_bytes": -1}),
        r"SELECT f.file_id": lambda *_: rows({"file_id": 5, "file_name": "/a", "bytes": GIB, "most_bytes": GIB}),
        r"SELECT NVL\(SUM\(s.bytes": lambda *_: rows({"held_bytes": 0}),
        r"SELECT p.privilege": lambda *_: rows({"privilege": "CREATE TABLE"}),
        r"SELECT SYS_CONTEXT": lambda *_: rows({"con_id": "3", "con_name": "PDB1"}),
        r"SELECT \(SELECT COUNT\(\*\) FROM all_users": lambda *_: rows({"is_rds": 0, "may_administer": 0}),
        r"SELECT p.name": lambda *_: rows({"name": "db_create_file_dest", "display_value": "/a"}),
        r"SELECT d.dbid": lambda *_: rows({"force_logging": "NO"}),
    }


def _text_bytes(row: Mapping[str, Any]) -> int | None:
    return sum(len(row[f"c{number}"] or "") for number in range(2, _COLUMNS + 1)) or None
