"""What the database holds of ours: the manifest of the last load, the tables as they are now, and their removal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import pymysql
from pymysql.constants import ER

from openslob._version import __version__
from openslob.engines.facts import DataState
from openslob.engines.mysql.connection import Connection, ask, statement
from openslob.engines.mysql.errors import code_of
from openslob.engines.mysql.names import Names, quoted
from openslob.engines.mysql.tables import PLACEMENT_KEY, tables_of
from openslob.engines.mysql.verify import Blocks
from openslob.engines.table_checks import BLOCK_TOLERANCE
from openslob.errors import SlobError
from openslob.workload import DataSpec

# A manifest without a column of ours was made by an earlier version, or by somebody else. Who may read no table of the
# database is not told whether it is there.
_NOT_THERE = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.BAD_FIELD_ERROR, ER.TABLEACCESS_DENIED_ERROR)
# Several threads apply what a copy gets, so rows also come before others that were written later. Their pages are split
# and keep half of their rows; each row that is visited is alone in its page all the same (layout.py).
_SPLIT_FACTOR = 2
_DENIED = (ER.TABLEACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.NO_SUCH_TABLE, ER.COLUMNACCESS_DENIED_ERROR)


@dataclass(frozen=True)
class Manifest:
    """The manifest's row. ``blocks`` are those of each table by name when it was verified, ``now`` at present.

    ``copied``: this server got the data from the one where they were verified.
    """

    spec: DataSpec
    verified: bool
    loaded_at: str
    made_database: bool
    copied: bool
    blocks: Mapping[str, int]
    now: Mapping[str, int]

    @property
    def whole(self) -> bool:
        """Whether the load was verified and every table is still there, and as large as it was then."""
        most = _SPLIT_FACTOR if self.copied else 1
        return self.verified and all(
            blocks * (1 - BLOCK_TOLERANCE) - 1 <= self.now.get(name, -1) <= most * blocks * (1 + BLOCK_TOLERANCE) + 1
            for name, blocks in self.blocks.items()
        )


def read(connection: Connection, names: Names) -> Manifest | None:
    """The manifest, or None when nothing was loaded."""
    try:
        rows = ask(connection, statement("manifest", "read", manifest=names.manifest()))
    except pymysql.Error as error:
        if code_of(error) in _NOT_THERE:
            return None
        raise
    if not rows:
        return None
    row = rows[0]
    spec = DataSpec(
        schemas=row["schema_count"],
        scale_blocks=row["scale_blocks"],
        scan_blocks=row["scan_blocks"],
        obfuscate=bool(row["obfuscate"]),
    )
    now = blocks_now(connection, names).by_table
    return Manifest(
        spec,
        verified=bool(row["verified"]),
        loaded_at=row["loaded_at"],
        made_database=bool(row["made_database"]),
        copied=bool(row["copied"]),
        blocks=json.loads(row["blocks"]),
        now=now,
    )


def blocks_now(connection: Connection, names: Names) -> Blocks:
    """Blocks of each of our tables by name, as last analysed."""
    values = {"database": names.database}
    try:
        rows = ask(connection, statement("manifest", "leaf_pages"), values)
    except pymysql.Error as error:
        if code_of(error) not in _DENIED:
            raise
        rows = ask(connection, statement("manifest", "table_pages"), values)
        return Blocks({row["name"]: row["blocks"] for row in rows}, leaves_only=False)
    return Blocks({row["name"]: row["blocks"] for row in rows}, leaves_only=True)


def data_state(connection: Connection, names: Names) -> DataState | None:
    """What is loaded; verified only if it was and all of it is still there."""
    found = read(connection, names)
    if found is None:
        return None
    blocks = {int(name[4:]): count for name, count in found.now.items() if name.startswith("cf1_")}
    return DataState(found.spec, found.whole, found.loaded_at, blocks)


def begin(connection: Connection, names: Names, spec: DataSpec) -> None:
    """Note down what is going to be loaded; makes the database if it is not there."""
    there = ask(connection, statement("schema", "database_exists"), {"database": names.database})
    if not there:
        ask(connection, statement("schema", "create_database", database=names.schema()))
    values = asdict(spec) | {
        "fingerprint": spec.fingerprint(),
        "placement_key": PLACEMENT_KEY,
        "tool_version": __version__,
        "made_database": not there,
    }
    ask(connection, statement("manifest", "create", manifest=names.manifest()))
    ask(connection, statement("manifest", "begin", manifest=names.manifest()), values)


def finish(connection: Connection, names: Names, spec: DataSpec) -> Mapping[str, int]:
    """Mark the load as verified; returns the blocks of each table."""
    blocks = blocks_now(connection, names).by_table
    expected = {table.name for table in tables_of(spec, names)}
    if set(blocks) != expected:
        raise SlobError(f"verification failed: {len(blocks)} tables are there, expected {len(expected)}")
    ask(connection, statement("manifest", "verified", manifest=names.manifest()), {"blocks": json.dumps(blocks)})
    return blocks


def remove(connection: Connection, names: Names) -> list[str]:
    """Remove all that loads and runs made, the database too if a load made it and nothing else is in it."""
    found = read(connection, names)
    values = {"database": names.database}
    removed = []
    for kind in ("table", "routine"):
        for row in ask(connection, statement("schema", f"{kind}s"), values):
            relation = f"{names.schema()}.{quoted(row['name'])}"
            ask(connection, statement("schema", f"drop_{kind}", **{kind: relation}))
            removed.append(f"{names.database}.{row['name']}")
    if found and found.made_database and not ask(connection, statement("schema", "others"), values):
        ask(connection, statement("schema", "drop_database", database=names.schema()))
        removed.append(names.database)
    return removed
