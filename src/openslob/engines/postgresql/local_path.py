"""The local path: every session's own copy of its tables, as temporary tables read through the session's own memory.

The loader writes the copies, so that rows and their order in the blocks are those of shared tables of SCALE blocks. The
copies have the names of the shared tables, in a schema that belongs to the session. The server removes that schema when
the session ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row

from openslob.core.disk import require_space
from openslob.core.errors import SlobError
from openslob.core.units import format_bytes
from openslob.core.workload import BlockPath, Workload
from openslob.engines.base import SessionPlan
from openslob.engines.facts import RIGHTS, Finding
from openslob.engines.postgresql.connection import Connection, statement
from openslob.engines.postgresql.location import is_local, is_visible
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.page_layout import index_bytes
from openslob.engines.postgresql.tables import checks_of, fill
from openslob.engines.tables import require, table_cf1, table_cf2

# The server's name for the schema of the session's own temporary tables.
PRIVATE = PostgresNames("pg_temp")


def tables_on_path(names: PostgresNames, workload: Workload) -> PostgresNames:
    """Return the names of the tables that a session of this workload works on."""
    return PRIVATE if workload.block_path is BlockPath.LOCAL else names


def buffers(connection: Connection, workload: Workload) -> int:
    """Return the blocks of each session's private memory."""
    row = connection.execute(statement("private", "buffers"), {"sessions": workload.total_sessions}).fetchone()
    return int(row[0]) if row else 0


def load_private_tables(connection: Connection, plan: SessionPlan, wrote_blocks: Callable[[int], None]) -> None:
    """Create, fill and verify the tables of one session. SlobError when a check does not hold."""
    workload = plan.workload
    connection.execute(statement("load", "session"))
    connection.execute(statement("private", "set_buffers"), {"blocks": buffers(connection, workload)})
    tables = [table_cf1(PRIVATE.cf1(plan.schema).as_string(), plan.schema, plan.scale)]
    if workload.scan_pct:
        blocks = workload.scan_table_sz.blocks(plan.block_size)
        tables.append(table_cf2(PRIVATE.cf2(plan.schema).as_string(), plan.schema, blocks))
    for table in tables:
        fill(connection, table, plan.block_size, workload.random_pct, wrote_blocks)
        wrote_blocks(0)
        require(checks_of(connection, table))
        wrote_blocks(0)
        connection.execute(statement("private", "pass", table=sql.SQL(table.relation)))


def estimate_bytes(workload: Workload, block_size: int) -> int:
    """Return the disk space of all sessions' tables with their indexes, in bytes; they write no log."""
    indexes = workload.total_sessions * index_bytes(workload.scale.blocks(block_size))
    return workload.private_blocks(block_size) * block_size + indexes


def findings(connection: Connection, workload: Workload, block_size: int) -> Iterator[Finding]:
    """Yield what would keep sessions from having tables of their own, or change what they measure."""
    if workload.block_path is not BlockPath.LOCAL:
        return
    with connection.cursor(row_factory=dict_row) as cursor:
        storage: dict[str, Any] = cursor.execute(statement("private", "storage")).fetchone() or {}
    if not storage["may_create"]:
        why = f"role {storage['role']} may not create temporary tables, which BLOCK_PATH=local reads"
        grant = f"GRANT TEMPORARY ON DATABASE {storage['database']} TO {storage['role']}"
        yield Finding(RIGHTS, why, grant, True, by=f"as a superuser in database {storage['database']}")
    yield from _space(connection, workload, block_size, storage["directory"])
    if workload.update_pct:
        why = "updates on the local path write no log, and their commits do not wait for one"
        yield Finding("log", why, "compare paths with UPDATE_PCT=0", False)


def _space(connection: Connection, workload: Workload, block_size: int, directory: str | None) -> Iterator[Finding]:
    needed = estimate_bytes(workload, block_size)
    if directory is None or not is_local(connection) or not is_visible(Path(directory)):
        why = f"the {workload.total_sessions} sessions' own tables need {format_bytes(needed)}"
        yield Finding(
            "space", f"{why}, and the server's disk can't be seen from here", "make sure that they are free", False
        )
        return
    try:
        require_space(Path(directory), needed, f"{workload.total_sessions} sessions' own tables: the local path")
    except SlobError as error:
        yield Finding("space", error.what, error.remedy, True)
