"""The same question to every instance, all at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


class Team:
    """A thread for each instance, kept: starting one would take longer than many a question."""

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=size, thread_name_prefix="instance")

    def ask(self, question: Callable[[_Asked], _Answer], asked: Sequence[_Asked]) -> list[_Answer]:
        """Answers in the order of ``asked``; the first error is raised, once all have answered."""
        pending = [self._threads.submit(question, each) for each in asked]
        errors = [error for each in pending if (error := each.exception())]
        if errors:
            raise errors[0]
        return [each.result() for each in pending]

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()
