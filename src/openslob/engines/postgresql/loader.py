"""Loading and dropping the test tables: what `engines.load` needs of this engine.

Each table is made, filled and indexed in one transaction; the manifest says that the load is whole only after every
table has passed its checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from openslob.disk import require_space
from openslob.engines.facts import DataState, LoadResult, ProgressSink
from openslob.engines.load import load_tables
from openslob.engines.postgresql import manifest
from openslob.engines.postgresql.copy_format import row_bytes
from openslob.engines.postgresql.errors import reported
from openslob.engines.postgresql.location import index_bytes, is_local, visible
from openslob.engines.postgresql.names import Names
from openslob.engines.postgresql.tables import Connection, Table, fill, statement, tables_of
from openslob.engines.postgresql.verify import checks_of
from openslob.engines.table_checks import Check
from openslob.errors import SlobError, UsageError
from openslob.units import format_bytes
from openslob.workload import DataSpec

Connect = Callable[[], Connection]

_CANCEL_TIMEOUT_S = 5
_FAILED = "the load failed"


def data_state(connection: Connection, names: Names | None = None) -> DataState | None:
    """What is loaded, or None; verified only if it was and all of it is still there."""
    return manifest.data_state(connection, names or Names())


def drop(connection: Connection, names: Names | None = None) -> list[str]:
    """Remove everything a load or run made; returns the names of what was removed."""
    return manifest.remove_with_schema(connection, names or Names())


def load(
    connect: Connect,
    spec: DataSpec,
    degree: int,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
    names: Names | None = None,
) -> LoadResult:
    """Load and verify, ``degree`` tables at a time; nothing is done if just these data are there and verified.

    ``connect`` opens a connection in autocommit mode. Whatever was loaded before is removed. SlobError when the load
    fails or ``cancelled`` comes true: then nothing is left of it.
    """
    names = names or Names()
    begun = time.monotonic()
    if spec.scale_blocks < 1:
        raise UsageError("SCALE is less than one block", "give a number of blocks, or a size such as 256M")
    with reported(_FAILED), connect() as connection:
        server = _Server(connection, names)
        found = manifest.read(connection, names)
        if found and found.whole and found.spec == spec:
            return _reused(found, server, time.monotonic() - begun)
        space = server.require_space_for(spec)
    return load_tables(
        _Store(connect, names, spec, server.block_size), spec, degree, progress, cancelled, {"disk space": space}
    )


def _reused(found: manifest.Manifest, server: _Server, seconds: float) -> LoadResult:
    blocks = sum(found.now.values())
    checks = {"tables and their blocks": f"{len(found.now)} tables as verified at {found.loaded_at}"}
    return LoadResult(found.spec, seconds, blocks, blocks * server.block_size, checks, reused=True)


class _Server:
    """What a load has to know of the server."""

    def __init__(self, connection: Connection, names: Names) -> None:
        with connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(statement("load", "server"), {"schema": names.schema}).fetchone()
        if row is None:
            raise SlobError("the server does not say how large its blocks are")
        self.block_size: int = row["block_size"]
        self._log_bytes: int = row["log_bytes"]
        self._held_bytes: int = row["held_bytes"]
        self._directory = Path(row["directory"]) if row["directory"] else None
        self._local = is_local(connection)

    def needed_bytes(self, spec: DataSpec) -> int:
        """Tables, indexes and the log of the load, together."""
        blocks = spec.schemas * (spec.scale_blocks + spec.scan_blocks)
        index = index_bytes(spec.schemas * spec.scale_blocks)
        return blocks * self.block_size + index + min(self._log_bytes, blocks * row_bytes(self.block_size))

    def require_space_for(self, spec: DataSpec) -> str:
        """SlobError when the data won't fit; what is loaded now counts as free. Returns what was found."""
        needed = self.needed_bytes(spec)
        if self._directory is None:
            return f"{format_bytes(needed)} needed; not checked: this role may not see where the server's data are"
        if not self._local or not visible(self._directory):
            return f"{format_bytes(needed)} needed; not checked: the server's disk can't be seen from here"
        require_space(self._directory, max(0, needed - self._held_bytes), "the load")
        return f"{format_bytes(needed)} needed and there"


class _Store:
    """Implements `openslob.engines.load.Store`."""

    def __init__(self, connect: Connect, names: Names, spec: DataSpec, block_size: int) -> None:
        self._connect, self._names, self._spec = connect, names, spec
        self.block_size = block_size
        self.tables: Sequence[Table] = tables_of(spec, names)
        self.blocks_total = sum(table.rows for table in self.tables)

    def connect(self) -> Connection:
        with reported(_FAILED):
            connection = self._connect()
            connection.execute(statement("load", "session"))
            connection.execute(statement("load", "enter"), {"lock": manifest.LOADERS_LOCK})
            return connection

    def cancel(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)

    def begin(self) -> None:
        with self._plain(_FAILED) as connection:
            manifest.remove(connection, self._names)
            manifest.begin(connection, self._names, self._spec)

    def fill(self, connection: Connection, table: Table, wrote_blocks: Callable[[int], None]) -> None:
        with reported(_FAILED):
            fill(connection, table, self.block_size, self._spec.obfuscate, wrote_blocks)

    def checks(self, connection: Connection, table: Table) -> list[Check]:
        with reported(_FAILED):
            return checks_of(connection, table)

    def finish(self) -> Mapping[str, int]:
        with self._plain(_FAILED) as connection:
            return manifest.finish(connection, self._names, self._spec)

    def remove(self) -> None:
        with self._plain("the data can't be removed") as connection:
            manifest.remove_with_schema(connection, self._names)

    @contextmanager
    def _plain(self, failure: str) -> Iterator[Connection]:
        """A connection that is no loader's: those have to be gone before data are removed."""
        with reported(failure), self._connect() as connection:
            yield connection
