"""The manifest of the last load in the schema, the blocks of the tables, and the removal of all objects."""

from __future__ import annotations

from psycopg import errors, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from openslob.core.workload import DataSpec
from openslob.engines.manifest import LoadManifest, make_row, parse_blocks, require_all_tables
from openslob.engines.postgresql.connection import Connection, statement
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.tables import tables_of

# The comment on a schema that a load created, unlike one that it found.
SCHEMA_MARK = "made by slob load"
# Where a transaction that is still open keeps old versions of a row, its block fills up, and the next version goes to
# a block of its own: one row per block all the same. Short runs on small tables of a busy host reach some per cent.
_MOVED_ROWS_FACTOR = 1.1
# Key of the advisory lock that every loading session holds. The lock of the whole target has another key.
LOADERS_LOCK = int.from_bytes(b"slobload", "big", signed=True)


def read(connection: Connection, names: PostgresNames) -> LoadManifest | None:
    """Return the manifest, or None when nothing was loaded."""
    exists = connection.execute(statement("manifest", "exists"), {"manifest": names.manifest().as_string()}).fetchone()
    if not exists or not exists[0]:
        return None
    try:
        with connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(statement("manifest", "read", manifest=names.manifest())).fetchone()
    except (errors.UndefinedColumn, errors.UndefinedFunction, errors.DatatypeMismatch):
        # Another program made it, or somebody altered it: a load makes it again.
        return None
    if row is None:
        return None
    spec = DataSpec(**{name: row[name] for name in DataSpec.__dataclass_fields__ if name in row})
    now, altered = blocks_now(connection, names), _find_altered(connection, names)
    loaded = parse_blocks(row["blocks"])
    return LoadManifest(
        spec, row["verified"], row["loaded_at"], loaded, now, growth=_MOVED_ROWS_FACTOR, altered=altered
    )


def _find_altered(connection: Connection, names: PostgresNames) -> dict[str, str]:
    return dict(connection.execute(statement("manifest", "altered"), {"schema": names.schema}).fetchall())


def blocks_now(connection: Connection, names: PostgresNames) -> dict[str, int]:
    """Return the blocks of each of our tables by name."""
    return dict(connection.execute(statement("manifest", "blocks_now"), {"schema": names.schema}).fetchall())


def make_schema(connection: Connection, names: PostgresNames) -> None:
    """Create the schema if it does not exist."""
    row = connection.execute(statement("schema", "schema_exists"), {"schema": names.schema}).fetchone()
    if not row or not row[0]:
        schema, mark = sql.Identifier(names.schema), sql.Literal(SCHEMA_MARK)
        connection.execute(statement("schema", "create_schema", schema=schema, mark=mark))


def begin(connection: Connection, names: PostgresNames, spec: DataSpec) -> None:
    """Write the manifest of a load that begins; create the schema if it does not exist."""
    make_schema(connection, names)
    with connection.transaction():
        connection.execute(statement("manifest", "create", manifest=names.manifest()))
        connection.execute(statement("manifest", "begin", manifest=names.manifest()), make_row(spec))


def finish(connection: Connection, names: PostgresNames, spec: DataSpec) -> dict[str, int]:
    """Mark the load as verified; return the blocks of each table."""
    blocks = blocks_now(connection, names)
    require_all_tables(blocks, tables_of(spec, names))
    mark_verified(connection, names, blocks)
    return blocks


def mark_verified(connection: Connection, names: PostgresNames, blocks: dict[str, int]) -> None:
    """Write into the manifest that tables of so many blocks passed their checks."""
    connection.execute(statement("manifest", "verified", manifest=names.manifest()), {"blocks": Jsonb(blocks)})


def remove(connection: Connection, names: PostgresNames) -> list[str]:
    """Remove all that loads and runs made in the schema; return the names.

    Waits for sessions of killed loads that are still at work.
    """
    connection.execute(statement("load", "session"))
    connection.execute(statement("load", "wait_for_loaders"), {"lock": LOADERS_LOCK})
    objects = connection.execute(statement("schema", "objects"), {"schema": names.schema}).fetchall()
    for _, text in objects:
        connection.execute(text)
    return [f"{names.schema}.{name}" for name, _ in objects]


def remove_with_schema(connection: Connection, names: PostgresNames) -> list[str]:
    """Do the same as `remove`; remove the schema too if a load created it and nothing else is in it."""
    return [*remove(connection, names), *remove_empty_schema(connection, names)]


def remove_empty_schema(connection: Connection, names: PostgresNames) -> list[str]:
    """Remove the schema if we created it and nothing is in it; return its name then."""
    values = {"schema": names.schema, "mark": SCHEMA_MARK}
    if not connection.execute(statement("schema", "empty_schema_of_ours"), values).fetchone():
        return []
    connection.execute(statement("schema", "drop_schema", schema=sql.Identifier(names.schema)))
    return [names.schema]
