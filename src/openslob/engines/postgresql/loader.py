"""Loading and dropping the test tables.

Each table is made, filled and indexed in one transaction, several tables at a time; the manifest says that the load is
whole only after every table has passed its checks. So a load that is cut short at any moment leaves nothing that could
be taken for data: what it leaves at all is removed at once, or by the next load or drop if this process died.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

import psycopg
from psycopg.rows import dict_row

from openslob.disk import require_space
from openslob.engines.base import DataState, LoadProgress, LoadResult, ProgressSink
from openslob.engines.pool import Pool
from openslob.engines.postgresql import manifest
from openslob.engines.postgresql.failures import explain_error, reported
from openslob.engines.postgresql.names import Names
from openslob.engines.postgresql.rows import row_bytes
from openslob.engines.postgresql.tables import Connection, Table, fill, statement, tables_of
from openslob.engines.postgresql.verify import checks_of
from openslob.engines.verification import Check, require, summary
from openslob.errors import SlobError, UsageError
from openslob.units import format_bytes
from openslob.workload import DataSpec

Connect = Callable[[], Connection]

FILLING = "filling tables"
FINISHING = "indexing, analysing, checking"
# An index entry: 8 bytes of key, 8 of tuple, 4 of line pointer, in pages filled to 90 %; and the levels above.
_INDEX_ENTRY_BYTES = 23
_CANCEL_TIMEOUT_S = 5


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
    with reported("the load failed"):
        with connect() as connection:
            server = _Server(connection, names)
            found = manifest.read(connection, names)
            if found and found.whole and found.spec == spec:
                return _reused(found, server, time.monotonic() - begun)
            space = server.require_space_for(spec)
        return _Load(connect, spec, names, server, progress, cancelled).run(degree, {"disk space": space})


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
        self._local = connection.info.host.startswith("/") or connection.info.host in ("localhost", "127.0.0.1", "::1")

    def needed_bytes(self, spec: DataSpec) -> int:
        """Tables, indexes and the log of the load, together."""
        blocks = spec.schemas * (spec.scale_blocks + spec.scan_blocks)
        index = spec.schemas * spec.scale_blocks * _INDEX_ENTRY_BYTES
        return blocks * self.block_size + index + min(self._log_bytes, blocks * row_bytes(self.block_size))

    def require_space_for(self, spec: DataSpec) -> str:
        """SlobError when the data won't fit; what is loaded now counts as free. Returns what was found."""
        needed = self.needed_bytes(spec)
        if self._directory is None:
            return f"{format_bytes(needed)} needed; not checked: this role may not see where the server's data are"
        if not self._local or not _can_see(self._directory):
            return f"{format_bytes(needed)} needed; not checked: the server's disk can't be seen from here"
        require_space(self._directory, max(0, needed - self._held_bytes), "the load")
        return f"{format_bytes(needed)} needed and there"


def _can_see(directory: Path) -> bool:
    try:
        return directory.is_dir()
    except PermissionError:
        return False


class _Load:
    """One load: removes what was there, fills all tables in parallel, verifies, and cleans up when it fails."""

    def __init__(
        self,
        connect: Connect,
        spec: DataSpec,
        names: Names,
        server: _Server,
        progress: ProgressSink,
        cancelled: Callable[[], bool],
    ) -> None:
        self._connect, self._spec, self._names, self._server = connect, spec, names, server
        self._progress, self._cancelled = progress, cancelled
        self._tables = tables_of(spec, names)
        self._blocks_total = sum(table.rows for table in self._tables)
        self._blocks_done = 0
        self._counting = Lock()
        self._pool = Pool(self._session, _cancel, self._one_table)

    def run(self, degree: int, checks: dict[str, str]) -> LoadResult:
        begun = time.monotonic()
        with self._nothing_left_on_failure():
            with self._connect() as connection:
                manifest.remove(connection, self._names)
                manifest.begin(connection, self._names, self._spec)
            self._report()
            found = [check for each in self._pool.run(self._tables, degree, self._watch) for check in each]
            with self._connect() as connection:
                blocks = sum(manifest.finish(connection, self._names, self._spec).values())
            self._report()
        seconds = time.monotonic() - begun
        return LoadResult(
            self._spec, seconds, blocks, blocks * self._server.block_size, checks | summary(found), reused=False
        )

    def _session(self) -> Connection:
        connection = self._connect()
        connection.execute(statement("load", "session"))
        connection.execute(statement("load", "enter"), {"lock": manifest.LOADERS_LOCK})
        return connection

    def _one_table(self, connection: Connection, table: Table) -> list[Check]:
        def wrote_blocks(count: int) -> None:
            self._pool.check()
            with self._counting:
                self._blocks_done += count

        fill(connection, table, self._server.block_size, self._spec.obfuscate, wrote_blocks)
        self._pool.check()
        checks = checks_of(connection, table)
        require(checks)
        return checks

    def _watch(self) -> None:
        if self._cancelled():
            raise SlobError("the load was cancelled", "nothing of it is left")
        self._report()

    def _report(self) -> None:
        done = self._blocks_done
        phase = FILLING if done < self._blocks_total else FINISHING
        self._progress(LoadProgress(phase, done, self._blocks_total))

    @contextmanager
    def _nothing_left_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._clean_up_after(error)
            raise

    def _clean_up_after(self, error: BaseException) -> None:
        """Remove what the load made; when that fails too, both reasons are told."""
        try:
            with self._connect() as connection:
                manifest.remove_with_schema(connection, self._names)
        except (psycopg.Error, SlobError) as second:
            first, why = _reason(error), _reason(second)
            raise SlobError(
                f"the load failed ({first}) and what it left can't be removed now ({why})",
                "it does not count as loaded; `slob drop` or the next load removes it",
            ) from error


def _cancel(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)


def _reason(error: BaseException) -> str:
    if isinstance(error, psycopg.Error):
        return explain_error(error)
    return error.what if isinstance(error, SlobError) else str(error) or type(error).__name__
