"""Brings the server to rest before the clock starts: the cache as the run wants it, no old work left to write."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from openslob.engines.postgresql.local_path import buffers
from openslob.engines.postgresql.names import Names
from openslob.engines.sql import read_sql
from openslob.units import format_bytes
from openslob.workload import BlockPath, Workload

PACKAGE = "openslob.engines.postgresql"


def quiesce(connection: psycopg.Connection[Any], names: Names, workload: Workload, warm_cache: bool) -> list[str]:
    """Read the active data once if asked to, then checkpoint if allowed; returns what was done."""
    done = []
    if workload.block_path is BlockPath.LOCAL:
        done.append(_own_memory(connection, workload))
    elif warm_cache:
        done.append(_warm(connection, names, workload))
    try:
        connection.execute("CHECKPOINT")
        done.append("checkpoint")
    except psycopg.errors.InsufficientPrivilege:
        done.append("no checkpoint: this role may not run one")
    return done


def _own_memory(connection: psycopg.Connection[Any], workload: Workload) -> str:
    block_size = int(connection.execute("SHOW block_size").fetchone()[0])  # type: ignore[index]
    memory = format_bytes(buffers(connection, workload) * block_size)
    blocks = workload.scale.blocks(block_size)
    return f"each session's own {blocks:,} blocks are read through {memory} of its own memory (temp_buffers)"


def _warm(connection: psycopg.Connection[Any], names: Names, workload: Workload) -> str:
    """Visit every active block by the index, as the work loop does.

    A sequential scan of a big table would go through a small ring of buffers and leave the cache cold.
    """
    connection.execute(read_sql(PACKAGE, "session"))
    scale = workload.scale.blocks(int(connection.execute("SHOW block_size").fetchone()[0]))  # type: ignore[index]
    numbers = range(1, min(workload.schemas, workload.total_sessions) + 1)
    for number in numbers:
        connection.execute(sql.SQL("SELECT count(c2) FROM {} WHERE custid <= %s").format(names.cf1(number)), (scale,))
        if workload.scan_pct:
            connection.execute(sql.SQL("SELECT count(c2) FROM {}").format(names.cf2(number)))
    return f"read {scale:,} blocks of {len(numbers)} tables into the cache"
