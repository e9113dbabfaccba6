"""Prepares the server before the clock starts: fills the cache if the run needs that, and writes what is dirty."""

from __future__ import annotations

from psycopg import sql

from openslob.core.units import format_bytes
from openslob.core.workload import BlockPath, Workload
from openslob.engines.postgresql.connection import PACKAGE, Connection
from openslob.engines.postgresql.local_path import buffers
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.slice_io import cache_warmed, schemas_at_work
from openslob.engines.sql import read_sql, read_statements


def quiesce(connection: Connection, names: PostgresNames, workload: Workload, warm_cache: bool) -> list[str]:
    """Read the active data once if asked to, then checkpoint if allowed; return what was done."""
    done = []
    if workload.block_path is BlockPath.LOCAL:
        done.append(_private_memory(connection, workload))
    elif warm_cache:
        done.append(_warm(connection, names, workload))
    done.append("checkpoint" if checkpoint(connection) else "no checkpoint: this role may not run one")
    return done


def checkpoint(connection: Connection) -> bool:
    """Write all changed blocks, if this role may do so; return whether it did."""
    if may := may_checkpoint(connection):
        connection.execute("CHECKPOINT")
    return may


def may_checkpoint(connection: Connection) -> bool:
    """Return whether this role may run a checkpoint."""
    return connection.execute(read_statements(PACKAGE, "facts")["may_checkpoint"]).fetchall() == [(True,)]


def _private_memory(connection: Connection, workload: Workload) -> str:
    block_size = int(connection.execute("SHOW block_size").fetchone()[0])  # type: ignore[index]
    memory = format_bytes(buffers(connection, workload) * block_size)
    blocks = workload.scale.blocks(block_size)
    return f"each session's own {blocks:,} blocks are read through {memory} of its own memory (temp_buffers)"


def _warm(connection: Connection, names: PostgresNames, workload: Workload) -> str:
    """Visit every active block through the index, as the work loop does.

    A sequential scan of a big table would use a small ring of buffers and leave the cache cold.
    """
    connection.execute(read_sql(PACKAGE, "session"))
    scale = workload.scale.blocks(int(connection.execute("SHOW block_size").fetchone()[0]))  # type: ignore[index]
    numbers = schemas_at_work(workload)
    for number in numbers:
        connection.execute(sql.SQL("SELECT count(c2) FROM {} WHERE custid <= %s").format(names.cf1(number)), (scale,))
        if workload.scans:
            connection.execute(sql.SQL("SELECT count(c2) FROM {}").format(names.cf2(number)))
    return cache_warmed(scale, numbers)
