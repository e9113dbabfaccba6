"""Asks every instance the same at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


class Team:
    """One thread for each instance, kept because starting one takes longer than many a query."""

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=size, thread_name_prefix="instance")

    def ask(self, question: Callable[[_Asked], _Answer], asked: Sequence[_Asked]) -> list[_Answer]:
        """Return the answers in the order of ``asked``; raise the first error once all have answered."""
        pending = [self._threads.submit(question, each) for each in asked]
        errors = [error for each in pending if (error := each.exception())]
        if errors:
            raise errors[0]
        return [each.result() for each in pending]

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()
