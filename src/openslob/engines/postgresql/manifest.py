"""What the database holds of ours: the manifest of the last load, the tables as they are now, and their removal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from openslob._version import __version__
from openslob.engines.facts import DataState
from openslob.engines.postgresql.names import Names
from openslob.engines.postgresql.tables import PLACEMENT_KEY, Connection, statement, tables_of
from openslob.engines.table_checks import BLOCK_TOLERANCE
from openslob.errors import SlobError
from openslob.workload import DataSpec

# What tells a schema that a load made from one that it was given.
SCHEMA_MARK = "made by slob load"
# Held by every loading session; the lock of the target as a whole is another.
LOADERS_LOCK = int.from_bytes(b"slobload", "big", signed=True)


@dataclass(frozen=True)
class Manifest:
    """The manifest's row. ``blocks`` are those of each table by name when it was verified, ``now`` at present."""

    spec: DataSpec
    verified: bool
    loaded_at: str
    blocks: Mapping[str, int]
    now: Mapping[str, int]

    @property
    def whole(self) -> bool:
        """Whether the load was verified and every table is still there, and as large as it was then."""
        return self.verified and all(
            abs(self.now.get(name, -1) - blocks) <= blocks * BLOCK_TOLERANCE for name, blocks in self.blocks.items()
        )


def read(connection: Connection, names: Names) -> Manifest | None:
    """The manifest, or None when nothing was loaded."""
    present = connection.execute(statement("manifest", "exists"), {"manifest": names.manifest().as_string()}).fetchone()
    if not present or not present[0]:
        return None
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("manifest", "read", manifest=names.manifest())).fetchone()
    if row is None:
        return None
    spec = DataSpec(**{name: row[name] for name in DataSpec.__dataclass_fields__ if name in row})
    return Manifest(spec, row["verified"], row["loaded_at"], row["blocks"], blocks_now(connection, names))


def blocks_now(connection: Connection, names: Names) -> dict[str, int]:
    """Blocks of each of our tables by name."""
    return dict(connection.execute(statement("manifest", "blocks_now"), {"schema": names.schema}).fetchall())


def data_state(connection: Connection, names: Names) -> DataState | None:
    """What is loaded; verified only if it was and all of it is still there."""
    found = read(connection, names)
    if found is None:
        return None
    blocks = {int(name[4:]): count for name, count in found.now.items() if name.startswith("cf1_")}
    return DataState(found.spec, found.whole, found.loaded_at, blocks)


def begin(connection: Connection, names: Names, spec: DataSpec) -> None:
    """Note down what is going to be loaded; makes the schema if it is not there."""
    row = connection.execute(statement("schema", "schema_exists"), {"schema": names.schema}).fetchone()
    if not row or not row[0]:
        schema, mark = sql.Identifier(names.schema), sql.Literal(SCHEMA_MARK)
        connection.execute(statement("schema", "create_schema", schema=schema, mark=mark))
    values = asdict(spec) | {
        "fingerprint": spec.fingerprint(),
        "placement_key": PLACEMENT_KEY,
        "tool_version": __version__,
    }
    with connection.transaction():
        connection.execute(statement("manifest", "create", manifest=names.manifest()))
        connection.execute(statement("manifest", "begin", manifest=names.manifest()), values)


def finish(connection: Connection, names: Names, spec: DataSpec) -> dict[str, int]:
    """Mark the load as verified; returns the blocks of each table."""
    blocks = blocks_now(connection, names)
    expected = {table.name.rpartition(".")[2] for table in tables_of(spec, names)}
    if set(blocks) != expected:
        raise SlobError(f"verification failed: {len(blocks)} tables are there, expected {len(expected)}")
    connection.execute(statement("manifest", "verified", manifest=names.manifest()), {"blocks": Jsonb(blocks)})
    return blocks


def remove(connection: Connection, names: Names) -> list[str]:
    """Remove all that loads and runs made in the schema; returns the names. Waits for loads that were killed."""
    connection.execute(statement("load", "session"))
    connection.execute(statement("load", "wait_for_loaders"), {"lock": LOADERS_LOCK})
    found = connection.execute(statement("schema", "objects"), {"schema": names.schema}).fetchall()
    for _, text in found:
        connection.execute(text)
    return [f"{names.schema}.{name}" for name, _ in found]


def remove_with_schema(connection: Connection, names: Names) -> list[str]:
    """`remove`, and the schema too if a load made it and nothing else is in it."""
    removed = remove(connection, names)
    values = {"schema": names.schema, "mark": SCHEMA_MARK}
    if connection.execute(statement("schema", "empty_schema_of_ours"), values).fetchone():
        connection.execute(statement("schema", "drop_schema", schema=sql.Identifier(names.schema)))
        removed.append(names.schema)
    return removed
