"""The local path: every session's own copy of its tables, as temporary tables read through the session's own memory.

The copies are written by the loader itself, so that rows and their order in the blocks are those of the shared tables
(of one of SCALE blocks). They bear the shared tables' names in a schema that is another for each session, which the
server itself removes when the session ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from psycopg.rows import dict_row

from openslob.disk import require_space
from openslob.engines.base import SessionPlan
from openslob.engines.facts import Finding
from openslob.engines.postgresql.location import index_bytes, is_local, visible
from openslob.engines.postgresql.names import Names
from openslob.engines.postgresql.tables import Connection, fill, statement, table_cf1, table_cf2
from openslob.engines.postgresql.verify import checks_of
from openslob.engines.table_checks import require
from openslob.errors import SlobError
from openslob.units import format_bytes
from openslob.workload import BlockPath, Workload

# The server's name for the schema of the session's own temporary tables.
PRIVATE = Names("pg_temp")


def tables_on_path(names: Names, workload: Workload) -> Names:
    """The names of the tables that a session of this workload works on."""
    return PRIVATE if workload.block_path is BlockPath.LOCAL else names


def buffers(connection: Connection, workload: Workload) -> int:
    """Blocks of each session's private memory."""
    row = connection.execute(statement("private", "buffers"), {"sessions": workload.total_sessions}).fetchone()
    return int(row[0]) if row else 0


def load_private_tables(connection: Connection, plan: SessionPlan, wrote_blocks: Callable[[int], None]) -> None:
    """Make, fill and verify the tables of one session. SlobError when a check does not hold."""
    workload = plan.workload
    connection.execute(statement("load", "session"))
    connection.execute(statement("private", "set_buffers"), {"blocks": buffers(connection, workload)})
    tables = [table_cf1(PRIVATE, plan.schema, plan.scale)]
    if workload.scan_pct:
        tables.append(table_cf2(PRIVATE, plan.schema, workload.scan_table_sz.blocks(plan.block_size)))
    for table in tables:
        fill(connection, table, plan.block_size, workload.obfuscate_columns, wrote_blocks)
        wrote_blocks(0)
        require(checks_of(connection, table))
        wrote_blocks(0)
        connection.execute(statement("private", "pass", table=table.identifier))


def needed_bytes(workload: Workload, block_size: int) -> int:
    """Disk space of all sessions' tables with their indexes; they write no log."""
    indexes = workload.total_sessions * index_bytes(workload.scale.blocks(block_size))
    return workload.private_blocks(block_size) * block_size + indexes


def findings(connection: Connection, workload: Workload, block_size: int) -> Iterator[Finding]:
    """What would keep sessions from having tables of their own, or make them mean something else."""
    if workload.block_path is not BlockPath.LOCAL:
        return
    with connection.cursor(row_factory=dict_row) as cursor:
        place: dict[str, Any] = cursor.execute(statement("private", "place")).fetchone() or {}
    if not place["may_create"]:
        why = f"role {place['role']} may not make temporary tables, which BLOCK_PATH=local reads"
        yield Finding("rights", why, f"GRANT TEMPORARY ON DATABASE {place['database']} TO {place['role']}", True)
    yield from _space(connection, workload, block_size, place["directory"])
    if workload.update_pct:
        why = "updates on the local path write no log, and their commits wait for none"
        yield Finding("log", why, "compare paths with UPDATE_PCT=0", False)


def _space(connection: Connection, workload: Workload, block_size: int, directory: str | None) -> Iterator[Finding]:
    needed = needed_bytes(workload, block_size)
    if directory is None or not is_local(connection) or not visible(Path(directory)):
        why = f"the {workload.total_sessions} sessions' own tables need {format_bytes(needed)}"
        yield Finding("space", f"{why}, and the server's disk can't be seen from here", "see that they are free", False)
        return
    try:
        require_space(Path(directory), needed, f"{workload.total_sessions} sessions' own tables: the local path")
    except SlobError as error:
        yield Finding("space", error.what, error.remedy, True)
