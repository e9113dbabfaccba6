"""Prepares the server before the clock starts: fills the cache if the run needs that, and writes what is dirty."""

from __future__ import annotations

from contextlib import suppress

import oracledb

from openslob.core.units import format_bytes
from openslob.core.workload import Workload
from openslob.engines.oracle.connection import Connection, execute_allowed, query, query_if_visible, statement
from openslob.engines.oracle.errors import NO_RIGHT, explain_error, find_codes, is_final
from openslob.engines.oracle.names import cf1, cf2, index
from openslob.engines.slice_io import cache_warmed, schemas_at_work

_NO_CHECKPOINT = "no checkpoint: this user may not run one (ALTER SYSTEM), so dirty blocks are written in the window"
# Of blocks that were read twice so many may be read from storage the second time: the cache holds the data.
_NOT_KEPT_SHARE = 0.01


def quiesce(connection: Connection, workload: Workload, warm_cache: bool, block_size: int) -> list[str]:
    """Read the active data once if asked to, then checkpoint if allowed; return what was done."""
    done = _warm(connection, workload, block_size) if warm_cache else []
    return [*done, _checkpoint(connection)]


def _checkpoint(connection: Connection) -> str:
    try:
        names = ("checkpoint", "rds_checkpoint")
        execute_allowed(connection, *((statement("quiesce", name), {}) for name in names))
    except oracledb.DatabaseError as error:
        if NO_RIGHT in find_codes(error):
            return _NO_CHECKPOINT
        if is_final(error):
            raise
        return f"no checkpoint: {explain_error(error)}"
    return "checkpoint"


def _warm(connection: Connection, workload: Workload, block_size: int) -> list[str]:
    """Visit every active block, and see whether the cache has kept them."""
    query(connection, statement("quiesce", "serial"))
    with suppress(oracledb.DatabaseError):
        query(connection, statement("quiesce", "through_cache"))
    scale, schemas = workload.scale.blocks(block_size), schemas_at_work(workload)
    _read_all(connection, workload, scale)
    return [cache_warmed(scale, schemas), _check_kept(connection, workload, scale, block_size)]


def _read_all(connection: Connection, workload: Workload, scale: int) -> None:
    for number in schemas_at_work(workload):
        table = cf1(number)
        query(connection, statement("quiesce", "warm", table=table, index=index(table)), {"scale": scale})
        if workload.scans:
            query(connection, statement("quiesce", "warm_scan", table=cf2(number)))


def _check_kept(connection: Connection, workload: Workload, scale: int, block_size: int) -> str:
    """Read everything once more and return how much of it came from storage."""
    before = _count_reads(connection)
    if before is None:
        return "whether the cache kept them can't be seen without SELECT on V_$MYSTAT and V_$STATNAME"
    _read_all(connection, workload, scale)
    again = (_count_reads(connection) or before) - before
    blocks = scale * len(schemas_at_work(workload))
    if again <= blocks * _NOT_KEPT_SHARE:
        return "read them again: the cache has kept them"
    return f"read them again: {again:,} of {blocks:,} blocks ({format_bytes(again * block_size)}) were not in the cache"


def _count_reads(connection: Connection) -> int | None:
    rows = query_if_visible(connection, statement("quiesce", "reads"))
    return int(rows[0]["blocks"]) if rows else None
