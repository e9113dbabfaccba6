"""One load, whatever the engine: removes what was there, fills all tables in parallel, verifies, cleans up on failure.

What an engine does at each step is its `Store`. A load that is cut short at any moment leaves nothing that could be
taken for data: what it leaves at all is removed at once, or by the next load or drop if this process died.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Event, Lock
from typing import Any, Generic, Protocol, TypeVar

from openslob.engines.facts import LoadProgress, LoadResult, ProgressSink
from openslob.engines.table_checks import Check, require, summary
from openslob.errors import SlobError
from openslob.workload import DataSpec

Connection = TypeVar("Connection", bound=AbstractContextManager[Any])
Item = TypeVar("Item")
Result = TypeVar("Result")

# How often the caller's thread looks up from waiting, in s: also how soon a Ctrl-C is obeyed.
_TICK_S = 0.2


class Pool(Generic[Connection, Item, Result]):
    """``work`` is done on each item by one of the threads.

    ``connect`` opens the connection of a thread; ``cancel`` ends what one is doing, from another thread, and never
    raises.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        cancel: Callable[[Connection], None],
        work: Callable[[Connection, Item], Result],
    ) -> None:
        self._connect = connect
        self._cancel = cancel
        self._work = work
        self._stopping = Event()
        self._connections: list[Connection] = []
        self._results: list[Result] = []
        self._errors: list[BaseException] = []

    def run(self, items: Sequence[Item], degree: int, watch: Callable[[], None]) -> list[Result]:
        """Results in no order. ``watch`` is called every so often from this thread; what it raises stops the work.

        Returns or raises only when all threads have ended.
        """
        waiting = deque(items)
        with ThreadPoolExecutor(min(degree, len(items)), "slob-load") as executor:
            futures = [executor.submit(self._serve, waiting) for _ in range(min(degree, len(items)))]
            try:
                while not self._wait(futures) and not self._errors:
                    watch()
            finally:
                self._stop(futures)
        if self._errors:
            raise self._errors[0]
        return self._results

    def check(self) -> None:
        """Raises `StoppedError` when another thread failed or the caller gave up; for the work, between its steps."""
        if self._stopping.is_set():
            raise StoppedError

    def _serve(self, waiting: deque[Item]) -> None:
        try:
            with self._connect() as connection:
                self._connections.append(connection)
                # popleft is atomic; the one that finds nothing left ends its thread
                with suppress(IndexError):
                    while not self._stopping.is_set():
                        self._results.append(self._work(connection, waiting.popleft()))
        except Exception as error:
            # Once stopping, an error is only the consequence of a cancel.
            if not self._stopping.is_set():
                self._errors.append(error)
                self._stopping.set()

    def _wait(self, futures: Sequence[Future[None]]) -> bool:
        return not wait(futures, _TICK_S, FIRST_EXCEPTION).not_done

    def _stop(self, futures: Sequence[Future[None]]) -> None:
        """End the threads. A cancel may meet a session between two statements, so it is repeated until all are out."""
        self._stopping.set()
        while not self._wait(futures):
            for connection in self._connections:
                self._cancel(connection)


class StoppedError(Exception):
    """The work was given up because of something that happened elsewhere."""


FILLING = "filling tables"
FINISHING = "indexing, analysing, checking"

Table = TypeVar("Table")


class Store(Protocol[Connection, Table]):
    """What an engine does at each step of a load. Errors are SlobErrors."""

    block_size: int
    tables: Sequence[Table]
    blocks_total: int

    def connect(self) -> Connection:
        """One more connection that loads tables."""

    def cancel(self, connection: Connection) -> None:
        """End what a connection is doing, from another thread; never raises."""

    def begin(self) -> None:
        """Remove what was loaded before and note down what is going to be."""

    def fill(self, connection: Connection, table: Table, wrote_blocks: Callable[[int], None]) -> None:
        """Make, fill, index and analyse a table; ``wrote_blocks`` may raise to end it."""

    def checks(self, connection: Connection, table: Table) -> list[Check]:
        """Every check of a table, passed or not."""

    def finish(self) -> Mapping[str, int]:
        """Note down that the load is whole; returns the blocks of each table."""

    def remove(self) -> None:
        """Remove all that the load made."""


def load_tables(
    store: Store[Connection, Table],
    spec: DataSpec,
    degree: int,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
    checks: Mapping[str, str],
) -> LoadResult:
    """Load and verify, ``degree`` tables at a time; ``checks`` are those that were made before.

    SlobError when the load fails or ``cancelled`` comes true: then nothing is left of it.
    """
    return _Load(store, spec, progress, cancelled).run(degree, checks)


class _Load:
    def __init__(
        self, store: Store[Any, Any], spec: DataSpec, progress: ProgressSink, cancelled: Callable[[], bool]
    ) -> None:
        self._store, self._spec = store, spec
        self._progress, self._cancelled = progress, cancelled
        self._blocks_done = 0
        self._counting = Lock()
        self._pool: Pool[Any, Any, list[Check]] = Pool(store.connect, store.cancel, self._one_table)

    def run(self, degree: int, checks: Mapping[str, str]) -> LoadResult:
        begun = time.monotonic()
        with self._nothing_left_on_failure():
            self._store.begin()
            self._report()
            found = [check for each in self._pool.run(self._store.tables, degree, self._watch) for check in each]
            blocks = sum(self._store.finish().values())
            self._report()
        seconds, size = time.monotonic() - begun, blocks * self._store.block_size
        return LoadResult(self._spec, seconds, blocks, size, {**checks, **summary(found)}, reused=False)

    def _one_table(self, connection: object, table: object) -> list[Check]:
        def wrote_blocks(count: int) -> None:
            self._pool.check()
            with self._counting:
                self._blocks_done += count

        self._store.fill(connection, table, wrote_blocks)
        self._pool.check()
        checks = self._store.checks(connection, table)
        require(checks)
        return checks

    def _watch(self) -> None:
        if self._cancelled():
            raise SlobError("the load was cancelled", "nothing of it is left")
        self._report()

    def _report(self) -> None:
        done, total = self._blocks_done, self._store.blocks_total
        self._progress(LoadProgress(FILLING if done < total else FINISHING, done, total))

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
            self._store.remove()
        except SlobError as second:
            first = error.what if isinstance(error, SlobError) else str(error) or type(error).__name__
            raise SlobError(
                f"{first}, and what it left is still there ({second.what})",
                "it does not count as loaded; `slob drop` or the next load removes it",
            ) from error
