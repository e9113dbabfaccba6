"""A managed server that follows another: a copy made by pg_basebackup that streams its primary's log.

A replication slot on the primary, named after the standby, keeps the log that the standby has not got yet.
"""

from __future__ import annotations

from pathlib import Path

import psycopg

from openslob.engines.hosting.layout import Layout
from openslob.engines.managed import ServerStatus
from openslob.engines.postgresql.failures import reported
from openslob.engines.postgresql.server_config import PORT, ROLE

_INCLUDE = "include = "


def slot_of(name: str) -> str:
    """The slot of a standby; slots have no hyphens in their names."""
    return name.replace("-", "_")


def copy_command(program: Path, primary: Layout, data: Path, name: str) -> list[str | Path]:
    """What copies a running primary into ``data``, ready to follow it; the slot is made by it."""
    connection = f"host='{primary.run}' port={PORT} user={ROLE}"
    options: list[str | Path] = ["--write-recovery-conf", "--create-slot", "--slot", slot_of(name)]
    return [program, "--pgdata", data, "--dbname", connection, "--checkpoint", "fast", *options, "--no-password"]


def forget(primary: ServerStatus, name: str) -> None:
    """Remove a standby's slot from its primary, if that runs and has it: nobody will fetch that log any more."""
    if not primary.pid:
        return
    with reported(f"the slot of {name} can't be removed"), psycopg.connect(primary.url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s AND NOT active",
            (slot_of(name),),
        )


def include(configuration: Path, ours: Path) -> None:
    """End a new server's postgresql.conf with our settings, in the place of those of the server it was copied from."""
    lines = configuration.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(_INCLUDE)]
    quoted = str(ours).replace("'", "''")
    with configuration.open("w", encoding="utf-8") as file:
        file.write("\n".join([*kept, f"{_INCLUDE}'{quoted}'", ""]))
