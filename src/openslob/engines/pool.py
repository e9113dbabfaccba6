"""Works through a list of tables in threads with a connection each; the first error stops all of them at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from threading import Event
from typing import Any, Generic, TypeVar

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
