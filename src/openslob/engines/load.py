"""The steps of a load, the same for every engine.

It removes what was loaded before, fills all tables in parallel, verifies them, and cleans up after a failure. An
engine implements the steps in its `Loader`. An incomplete load is never taken for complete data: its tables are removed
at once, or by the next load or drop if this process was killed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Event, Lock
from typing import Any, Protocol, TypeVar

from openslob.core.disk import require_space
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_bytes
from openslob.core.workload import DataSpec
from openslob.engines.facts import LoadProgress, LoadResult, ProgressSink
from openslob.engines.manifest import LoadManifest
from openslob.engines.patience import StoppedError
from openslob.engines.tables import Check, DataTable, require, summary

Connection = TypeVar("Connection", bound=AbstractContextManager[Any])

# How often the caller's thread wakes up while it waits, in s: also how soon a Ctrl-C takes effect.
_TICK_S = 0.2

FILLING = "filling tables"
FINISHING = "indexing, analysing, checking"


class Pool:
    """Threads that do ``work`` on the tables of a load, each thread with a connection of its own."""

    def __init__(self, loader: Loader[Any], work: Callable[[Any, DataTable], list[Check]]) -> None:
        self._loader, self._work = loader, work
        self._stopping = Event()
        self._connections: list[Any] = []
        self._results: list[Check] = []
        self._errors: list[BaseException] = []

    def run(self, degree: int, watch: Callable[[], None]) -> list[Check]:
        """Do the work on all tables; return what came of it in any order.

        ``watch`` is called a few times a second from the caller's thread; an exception in it stops the work. The
        method returns or raises only when all threads have ended.
        """
        waiting = deque(self._loader.tables)
        threads = min(degree, len(waiting))
        with ThreadPoolExecutor(threads, "slob-load") as executor:
            futures = [executor.submit(self._serve, waiting) for _ in range(threads)]
            try:
                while not self._wait(futures) and not self._errors:
                    watch()
            finally:
                self._stop(futures)
        if self._errors:
            raise self._errors[0]
        return self._results

    def check(self) -> None:
        """Raise `LoadStoppedError` when the pool is stopping; the work calls it between its steps."""
        if self._stopping.is_set():
            raise LoadStoppedError

    def _serve(self, waiting: deque[DataTable]) -> None:
        try:
            with self._loader.connect() as connection:
                self._connections.append(connection)
                # popleft is atomic; a thread that finds no item left ends
                with suppress(IndexError):
                    while not self._stopping.is_set():
                        self._results += self._work(connection, waiting.popleft())
        except Exception as error:
            # Once the pool is stopping, an error is only the consequence of a cancel.
            if not self._stopping.is_set():
                self._errors.append(error)
                self._stopping.set()

    def _wait(self, futures: Sequence[Future[None]]) -> bool:
        return not wait(futures, _TICK_S, FIRST_EXCEPTION).not_done

    def _stop(self, futures: Sequence[Future[None]]) -> None:
        """End the threads.

        A cancel has no effect on a session between two statements, so it is repeated until all threads have ended.
        """
        self._stopping.set()
        while not self._wait(futures):
            # A server that takes no request takes no further one either: the waits of the threads end by themselves.
            all(self._loader.cancel(connection) for connection in self._connections)


class LoadStoppedError(Exception):
    """The work of a thread was stopped because another thread failed or the caller stopped."""


class Loader(Protocol[Connection]):
    """What an engine does at each step of a load. Errors are SlobErrors."""

    block_size: int
    tables: Sequence[DataTable]

    def connect(self) -> Connection:
        """Open one more connection that loads tables."""

    def cancel(self, connection: Connection) -> bool:
        """Cancel the running statement of a connection, from another thread; never raises.

        Returns whether the server took the request, within `CANCEL_S`.
        """

    def survey(self, connection: Connection) -> Mapping[str, str]:
        """Raise SlobError when the data do not fit; return what is known beforehand, by the name of the check."""

    def begin(self) -> None:
        """Remove what was loaded before and write the manifest of this load."""

    def fill(self, connection: Connection, table: DataTable, wrote_blocks: Callable[[int], None]) -> None:
        """Create, fill, index and analyse a table; ``wrote_blocks`` may raise to end it."""

    def checks(self, connection: Connection, table: DataTable) -> list[Check]:
        """Return every check of a table, passed or not."""

    def finish(self) -> Mapping[str, int]:
        """Mark the load as verified in the manifest; return the blocks of each table."""

    def remove(self) -> None:
        """Remove all that the load made."""


def load(
    connect: Callable[[], Connection],
    read: Callable[[Connection], LoadManifest | None],
    prepare: Callable[[Connection], Loader[Connection]],
    spec: DataSpec,
    degree: int,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
) -> LoadResult:
    """Load and verify, ``degree`` tables at a time; do nothing if exactly these data are there and verified.

    ``connect`` opens a connection of a load, on which ``read`` returns the manifest and ``prepare`` what loads the
    data. Whatever was loaded before is removed. SlobError when the load fails or ``cancelled`` returns true: then
    nothing is left of it.
    """
    began_s = time.monotonic()
    require_a_block(spec)
    with connect() as connection:
        loader = prepare(connection)
        loaded = read(connection)
        if loaded and loaded.is_whole and loaded.spec == spec:
            return loaded.report_reuse(time.monotonic() - began_s, loader.block_size)
        checks = loader.survey(connection)
    return DataLoad(loader, spec, progress, cancelled).run(degree, checks)


def require_a_block(spec: DataSpec) -> None:
    """Raise UsageError for tables without a block."""
    if spec.scale_blocks < 1:
        raise UsageError("SCALE is less than one block", "give a number of blocks, or a size such as 256M")


def check_space(needed: int, held: int, directory: Path | None, why_unchecked: str) -> str:
    """Raise SlobError when the data do not fit into ``directory``; return what was found, for the load's checks.

    Args:
        needed: bytes that the load writes.
        held: bytes of what is loaded now. The load removes it, so they count as free.
        directory: where the tables go; None when that cannot be seen from here.
        why_unchecked: the reason for that.

    """
    if directory is None:
        return f"{format_bytes(needed)} needed; not checked: {why_unchecked}"
    require_space(directory, max(0, needed - held), "the load")
    return f"{format_bytes(needed)} needed, and free"


class DataLoad:
    """The load of all tables by one loader; ``cancelled`` is asked while they are filled."""

    def __init__(
        self, loader: Loader[Any], spec: DataSpec, progress: ProgressSink, cancelled: Callable[[], bool]
    ) -> None:
        self._loader, self._spec = loader, spec
        self._progress, self._cancelled = progress, cancelled
        self._blocks_done, self._blocks_total = 0, sum(table.blocks for table in loader.tables)
        self._counting = Lock()
        self._begun = False
        self._pool = Pool(loader, self._one_table)

    def run(self, degree: int, checks: Mapping[str, str]) -> LoadResult:
        """Fill the tables, ``degree`` at a time, and verify them. SlobError when that fails: nothing is left then."""
        began_s = time.monotonic()
        try:
            self._loader.begin()
            self._begun = True
            self._report()
            found = self._pool.run(degree, self.watch)
            blocks = sum(self._loader.finish().values())
            self._report()
        except BaseException as error:
            self._clean_up_after(error)
            raise
        seconds, size = time.monotonic() - began_s, blocks * self._loader.block_size
        return LoadResult(self._spec, seconds, blocks, size, {**checks, **summary(found)}, reused=False)

    def _one_table(self, connection: object, table: DataTable) -> list[Check]:
        def wrote_blocks(count: int) -> None:
            self._pool.check()
            with self._counting:
                self._blocks_done += count

        self._loader.fill(connection, table, wrote_blocks)
        self._pool.check()
        checks = self._loader.checks(connection, table)
        require(checks)
        return checks

    def watch(self) -> None:
        """Report how far it is. SlobError when it was cancelled."""
        if self._cancelled():
            raise SlobError("the load was cancelled", "nothing of it is left")
        self._report()

    def _report(self) -> None:
        done, total = self._blocks_done, self._blocks_total
        self._progress(LoadProgress(FILLING if done < total else FINISHING, done, total))

    def _clean_up_after(self, error: BaseException) -> None:
        """Remove what the load made; when that fails too, report both reasons."""
        if not self._begun and isinstance(error, StoppedError):
            return  # It wrote nothing, and would wait again for what it was stopped in waiting for.
        try:
            self._loader.remove()
        except SlobError as second:
            if not self._begun:
                return  # It wrote nothing, and the error gives the reason already, such as a read-only server.
            first = error.what if isinstance(error, SlobError) else str(error) or type(error).__name__
            raise SlobError(
                f"{first}, and what it wrote could not be removed ({second.what})",
                "it does not count as loaded; `slob drop` or the next load removes it",
            ) from error
