"""CPU affinity of a whole server: children inherit it, so it is set around the start of the first process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from openslob.errors import SlobError, UsageError


def parse_cpus(text: str) -> frozenset[int]:
    """Return the CPUs that ``0``, ``0-3`` or ``0,2-3`` mean. UsageError for other texts."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(f"--cpus {text} is not a list of CPUs", "give for example 0, 0-3 or 0,2")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def check_cpus(text: str | None) -> None:
    """Raise UsageError unless this process may use every CPU of a list."""
    if text is None:
        return
    if not hasattr(os, "sched_getaffinity"):
        raise UsageError("--cpus needs an operating system with CPU affinity, this one has none", "leave it out")
    available = os.sched_getaffinity(0)
    if missing := parse_cpus(text) - available:
        raise UsageError(
            f"--cpus {text} asks for CPU {min(missing)}, which is not available",
            f"available are {', '.join(map(str, sorted(available)))}",
        )


def usable_cpus(text: str | None) -> frozenset[int]:
    """Return the CPUs of a list, or without one all that this process may use. UsageError unless all are available."""
    check_cpus(text)
    return frozenset(os.sched_getaffinity(0)) if text is None else parse_cpus(text)


@contextmanager
def confined(text: str | None) -> Iterator[None]:
    """Confine the programs that this thread starts in this block to a list of CPUs; None changes nothing.

    The thread's own affinity is changed for the time of the block. That is safe beside other threads; a hook between
    fork and exec would not be.
    """
    if text is None:
        yield
        return
    check_cpus(text)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, parse_cpus(text))
    except OSError as error:
        raise SlobError(
            f"the server can't be confined to CPUs {text} ({error.strerror})", "leave out --cpus"
        ) from error
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
