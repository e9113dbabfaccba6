"""The manifest of the last load in the user's schema, the blocks of the tables, and the removal of all objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime

import oracledb

from openslob.core.workload import DataSpec
from openslob.engines.manifest import LoadManifest, make_row, require_all_tables
from openslob.engines.oracle.connection import Connection, Row, change, drop, query, statement
from openslob.engines.oracle.errors import NO_COLUMN, NO_TABLE, find_codes
from openslob.engines.oracle.names import MANIFEST, TABLES, is_made_by_load, is_table
from openslob.engines.oracle.tables import tables_of
from openslob.engines.row_text import TEXT_COLUMNS

_COLUMNS = TEXT_COLUMNS + 1
# A manifest without one of the columns was made by another program.
_NOT_OURS = (NO_TABLE, NO_COLUMN)


def read(connection: Connection) -> LoadManifest | None:
    """Return the manifest, or None when nothing was loaded."""
    try:
        rows = _query(connection, "read")
        loaded = _query(connection, "blocks")
    except oracledb.DatabaseError as error:
        if any(code in _NOT_OURS for code in find_codes(error)):
            return None
        raise
    spec = _parse_spec(rows[0]["spec"]) if rows else None
    if spec is None:
        return None
    row, now = rows[0], count_blocks(connection)
    return LoadManifest(
        spec,
        verified=row["verified_at"] is not None,
        loaded_at=row["verified_at"] or row["started_at"],
        blocks={line["table_name"]: int(line["blocks"]) for line in loaded},
        blocks_now=now,
        altered=_find_altered(connection, now),
    )


def _parse_spec(text: str) -> DataSpec | None:
    """Return a specification from its JSON text; None if somebody has damaged it."""
    with suppress(ValueError, TypeError):
        return DataSpec(**json.loads(text))
    return None


def _find_altered(connection: Connection, now: Mapping[str, int]) -> dict[str, str]:
    columns = {row["table_name"].lower(): int(row["columns_there"]) for row in _query(connection, "columns")}
    indexed = {row["table_name"].lower() for row in _query(connection, "indexed")}
    found = {}
    for name in now:
        if columns.get(name, 0) < _COLUMNS:
            found[name] = "columns are missing"
        elif name.startswith("cf1_") and name not in indexed:
            found[name] = "its unique index on custid is missing"
    return found


def count_blocks(connection: Connection) -> dict[str, int]:
    """Return the blocks of each of our tables by name."""
    rows = _query(connection, "blocks_now")
    return {row["table_name"].lower(): int(row["blocks"]) for row in rows if is_table(row["table_name"])}


def begin(connection: Connection, spec: DataSpec) -> None:
    """Write the manifest of a load that begins."""
    row = make_row(spec)
    _query(connection, "create")
    _query(connection, "create_tables")
    values = {name: row[name] for name in ("fingerprint", "placement_key", "tool_version")}
    values |= {"spec": json.dumps(spec.to_record()), "started_at": _now()}
    change(connection, _statement("begin"), values)


def finish(connection: Connection, spec: DataSpec) -> Mapping[str, int]:
    """Mark the load as verified; return the blocks of each table."""
    blocks = count_blocks(connection)
    require_all_tables(blocks, tables_of(spec))
    with closing(connection.raw.cursor()) as cursor:
        connection.call(lambda: cursor.executemany(_statement("enter"), sorted(blocks.items())))
    change(connection, _statement("verified"), {"verified_at": _now()})
    return blocks


def remove(connection: Connection) -> list[str]:
    """Remove all that loads and runs made, but for the lock, whose holder removes it; return the names.

    Waits for sessions of killed loads that are still at work.
    """
    query(connection, statement("load", "session"))
    removed = []
    for row in query(connection, statement("schema", "objects")):
        if is_made_by_load(row["object_name"]):
            drop(connection, row["object_type"].lower(), row["object_name"])
            removed.append(row["object_name"])
    return removed


def _query(connection: Connection, name: str) -> list[Row]:
    return list(query(connection, _statement(name)))


def _statement(name: str) -> str:
    return statement("manifest", name, manifest=MANIFEST, tables=TABLES)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
