"""Loading and dropping the test tables: what `engines.load` needs of this engine.

Each table is created, filled and indexed in one transaction. The manifest says that the load is verified only after
every table has passed its checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from openslob.core.errors import SlobError
from openslob.core.workload import DataSpec
from openslob.engines.base import CANCEL_S
from openslob.engines.load import check_space
from openslob.engines.postgresql import manifest
from openslob.engines.postgresql.checks import ORPHANS, find_orphaned_files
from openslob.engines.postgresql.connection import Connection, statement
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.location import is_local, is_visible
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.page_layout import index_bytes, row_bytes
from openslob.engines.postgresql.tables import checks_of, fill, tables_of
from openslob.engines.tables import Check, DataTable

Connect = Callable[[], Connection]

_FAILED = "the load failed"


def _server(connection: Connection, names: PostgresNames) -> Mapping[str, Any]:
    """Return the facts of the server that a load needs, by column of the statement."""
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("load", "server"), {"schema": names.schema}).fetchone()
    if row is None:
        raise SlobError("the server does not say how large its blocks are")
    return row


def _estimate_bytes(server: Mapping[str, Any], spec: DataSpec) -> int:
    """Return the bytes of tables, indexes and the log of the load together."""
    block_size, blocks = server["block_size"], spec.schemas * (spec.scale_blocks + spec.scan_blocks)
    log = min(server["log_bytes"], blocks * row_bytes(block_size))
    return int(blocks * block_size + index_bytes(spec.schemas * spec.scale_blocks) + log)


def _check_space(connection: Connection, server: Mapping[str, Any], spec: DataSpec) -> str:
    """Raise SlobError when the data do not fit; what is loaded now counts as free. Return what was found."""
    directory = Path(server["directory"]) if server["directory"] else None
    why = "this role may not see where the server's data are"
    if directory and not (is_local(connection) and is_visible(directory)):
        directory, why = None, "the server's disk can't be seen from here"
    return check_space(_estimate_bytes(server, spec), server["held_bytes"], directory, why)


class PostgresLoader:
    """Implements `openslob.engines.load.Loader`; ``connect`` opens a connection in autocommit mode."""

    def __init__(self, connect: Connect, names: PostgresNames, spec: DataSpec, connection: Connection) -> None:
        self._connect, self._names, self._spec = connect, names, spec
        self._server = _server(connection, names)
        self.block_size: int = self._server["block_size"]
        self.tables: Sequence[DataTable] = tables_of(spec, names)

    def survey(self, connection: Connection) -> dict[str, str]:
        checks = {"disk space": _check_space(connection, self._server, self._spec)}
        if orphans := find_orphaned_files(connection):
            checks[ORPHANS] = f"{orphans}; see `slob check`"
        return checks

    def connect(self) -> Connection:
        with report_as(_FAILED):
            connection = self._connect()
            connection.execute(statement("load", "session"))
            connection.execute(statement("load", "enter"), {"lock": manifest.LOADERS_LOCK})
            return connection

    def cancel(self, connection: Connection) -> bool:
        try:
            connection.cancel_safe(timeout=CANCEL_S)
        except psycopg.Error:
            return False
        return True

    def begin(self) -> None:
        with self._connect_unregistered(_FAILED) as connection:
            manifest.remove(connection, self._names)
            manifest.begin(connection, self._names, self._spec)

    def fill(self, connection: Connection, table: DataTable, wrote_blocks: Callable[[int], None]) -> None:
        with report_as(_FAILED):
            fill(connection, table, self.block_size, self._spec.random_pct, wrote_blocks)

    def checks(self, connection: Connection, table: DataTable) -> list[Check]:
        with report_as(_FAILED):
            return checks_of(connection, table)

    def finish(self) -> Mapping[str, int]:
        with self._connect_unregistered(_FAILED) as connection:
            return manifest.finish(connection, self._names, self._spec)

    def remove(self) -> None:
        with self._connect_unregistered("the data can't be removed") as connection:
            manifest.remove_with_schema(connection, self._names)

    @contextmanager
    def _connect_unregistered(self, failure: str) -> Iterator[Connection]:
        """Open a connection without the lock of loading sessions: those must end before data are removed."""
        with report_as(failure), self._connect() as connection:
            yield connection
