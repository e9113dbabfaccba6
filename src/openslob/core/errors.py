"""Errors for the user: each is one line (what, why, what to do) with an exit code."""

from __future__ import annotations

import errno
from threading import Thread


class SlobError(Exception):
    """A failure. Its text is the line that the user reads: ``what``, and after it ``remedy``, what to do."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the line."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what

    def then(self, again: str) -> SlobError:
        """Return the error with how to go on once its own remedy, if it has one, is applied."""
        return SlobError(self.what, f"{self.remedy}; then {again}" if self.remedy else again)


class UsageError(SlobError):
    """A wrong flag, key or value; nothing was started."""

    exit_code = 2


class DeniedError(SlobError):
    """The server refuses this user a right."""


class VerdictError(SlobError):
    """A stated condition, such as a required verdict, is not met; the measurement itself succeeded."""

    exit_code = 3


class UndecidedError(VerdictError):
    """Whether a stated condition is met is undecided; the measurement itself succeeded."""

    exit_code = 4


def of_the_system(error: OSError | MemoryError) -> SlobError:
    """Return an error of the operating system as one line: no memory, no space, no file descriptors."""
    if isinstance(error, MemoryError):
        return SlobError("slob ran out of memory", "give it more, or use fewer sessions")
    what = f"{error.filename}: {error.strerror}" if error.filename else f"{error.strerror or error}"
    too_many = error.errno in (errno.EMFILE, errno.ENFILE)
    return SlobError(what, "raise the limit of open files (ulimit -n), or use fewer sessions" if too_many else "")


def start_thread(thread: Thread) -> None:
    """Start a thread. SlobError when the system gives none."""
    try:
        thread.start()
    except RuntimeError as error:
        remedy = (
            "give slob more memory or more processes (ulimit -v and -u, a container's limits), or use fewer sessions"
        )
        raise SlobError(f"the system gives slob no more threads: {error}", remedy) from error
