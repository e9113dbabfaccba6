"""The manifest of the last load in the database, the blocks of the tables, and the removal of all objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from pymysql.constants import ER

from openslob.core.workload import DataSpec
from openslob.engines.manifest import LoadManifest, make_row, parse_blocks, require_all_tables
from openslob.engines.mysql.connection import Connection, Row, query, statement
from openslob.engines.mysql.errors import ignoring
from openslob.engines.mysql.names import TABLES, MysqlNames, quote
from openslob.engines.mysql.table_engine import TableEngine
from openslob.engines.mysql.tables import tables_of

# A manifest without one of the columns was made by an earlier version, or by another program. To a user who may read no
# table of the database the server does not say whether the manifest exists.
_MISSING = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.BAD_FIELD_ERROR, ER.TABLEACCESS_DENIED_ERROR)
# A replica applies changes by several threads, so it may write a row before another that the primary wrote earlier. The
# pages are then split and keep half of their rows. Each visited row is alone in its page all the same (page_layout.py).
_SPLIT_FACTOR = 2
# Where the tree's first page was split, its fillers are in a page of their own.
_SLACK_BLOCKS = 1
# How blocks were counted, in the manifest: those that hold rows, or all that the server reserved.
_LEAVES, _ALLOCATED = "leaves", "allocated"


def read(connection: Connection, names: MysqlNames, tables: TableEngine) -> LoadManifest | None:
    """Return the manifest, or None when nothing was loaded."""
    rows: Sequence[Row] = ()
    with ignoring(*_MISSING):
        rows = query(connection, statement("manifest", "read", manifest=names.manifest()))
    if not rows:
        return None
    row = rows[0]
    loaded, now = _make_comparable(row["blocks"], connection, names, tables)
    spec = DataSpec(
        schemas=row["schema_count"],
        scale_blocks=row["scale_blocks"],
        scan_blocks=row["scan_blocks"],
        obfuscate=bool(row["obfuscate"]),
        compressible=_read_compressible(connection, names),
    )
    return LoadManifest(
        spec,
        verified=bool(row["verified"]),
        loaded_at=row["loaded_at"],
        blocks=loaded,
        blocks_now=now,
        growth=_SPLIT_FACTOR if row["copied"] else 1,
        slack_blocks=_SLACK_BLOCKS,
        made_container=bool(row["made_database"]),
        altered=_find_altered(connection, names),
    )


def _read_compressible(connection: Connection, names: MysqlNames) -> int | None:
    """Return the share of the text that is constant all the same; None in a manifest of an earlier version."""
    with ignoring(ER.BAD_FIELD_ERROR):
        found = query(connection, statement("manifest", "compressible", manifest=names.manifest()))[0]["compressible"]
        return None if found is None else int(found)
    return None


def _find_altered(connection: Connection, names: MysqlNames) -> dict[str, str]:
    rows = query(connection, statement("manifest", "altered"), {"database": names.database})
    return {row["name"]: row["missing"] for row in rows}


def _make_comparable(
    text: str, connection: Connection, names: MysqlNames, tables: TableEngine
) -> tuple[dict[str, int], Mapping[str, int]]:
    """Return the blocks by table when the load was verified and now, both counted in the same way.

    The user who loaded and the one who asks may have different rights. Manifests of earlier versions do not say how
    their blocks were counted. Where updates change the size of a table, only whether it is there can be compared.
    """
    now = tables.count_blocks(connection, names)
    with suppress(ValueError):
        by_kind = json.loads(text)
        if isinstance(by_kind, dict) and _ALLOCATED in by_kind:
            if now.leaves_only and _LEAVES in by_kind:
                return parse_blocks(by_kind[_LEAVES]), now.by_table
            loaded, found = parse_blocks(by_kind[_ALLOCATED]), tables.count_allocated(connection, names)
            return loaded, found if tables.keeps_size else {name: loaded.get(name, 0) for name in found}
    return parse_blocks(text), now.by_table


def begin(connection: Connection, names: MysqlNames, spec: DataSpec) -> None:
    """Write the manifest of a load that begins; create the database if it does not exist."""
    exists = query(connection, statement("schema", "database_exists"), {"database": names.database})
    if not exists:
        query(connection, statement("schema", "create_database", database=names.schema()))
    query(connection, statement("manifest", "create", manifest=names.manifest()))
    values = make_row(spec) | {"made_database": not exists}
    query(connection, statement("manifest", "begin", manifest=names.manifest()), values)


def finish(connection: Connection, names: MysqlNames, spec: DataSpec, tables: TableEngine) -> Mapping[str, int]:
    """Mark the load as verified; return the blocks of each table."""
    now = tables.count_blocks(connection, names)
    require_all_tables(now.by_table, tables_of(spec, names))
    by_kind = {_ALLOCATED: tables.count_allocated(connection, names)} | (
        {_LEAVES: now.by_table} if now.leaves_only else {}
    )
    query(connection, statement("manifest", "verified", manifest=names.manifest()), {"blocks": json.dumps(by_kind)})
    return now.by_table


def require_entry(connection: Connection, names: MysqlNames) -> None:
    """Raise the driver's error when this user may not use the database at all; nothing when there is none."""
    with ignoring(ER.BAD_DB_ERROR):
        query(connection, statement("schema", "use", database=names.schema()))


def remove(connection: Connection, names: MysqlNames, tables: TableEngine) -> list[str]:
    """Remove all that loads and runs made; return the names.

    The database is removed too if a load made it and nothing else is in it.
    """
    manifest = read(connection, names, tables)
    values = {"database": names.database, "tables": TABLES}
    removed = []
    for kind in ("table", "routine"):
        for row in query(connection, statement("schema", f"{kind}s"), values):
            relation = f"{names.schema()}.{quote(row['name'])}"
            query(connection, statement("schema", f"drop_{kind}", **{kind: relation}))
            removed.append(f"{names.database}.{row['name']}")
    if manifest and manifest.made_container and not query(connection, statement("schema", "others"), values):
        query(connection, statement("schema", "drop_database", database=names.schema()))
        removed.append(names.database)
    return removed
