"""CPU affinity of a whole server: children inherit it, so it is set around the start of the first process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from openslob.errors import SlobError, UsageError


def parse_cpus(text: str) -> frozenset[int]:
    """CPU numbers meant by ``0``, ``0-3`` or ``0,2-3``. UsageError otherwise."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(f"--cpus {text} is not a list of CPUs", "give for example 0, 0-3 or 0,2")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def check_cpus(text: str | None) -> None:
    """UsageError unless every CPU of an affinity list is there for this process to use."""
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


@contextmanager
def confined(text: str | None) -> Iterator[None]:
    """Programs started inside, by this thread, run on these CPUs only; None changes nothing.

    The affinity is the calling thread's own for that moment, which is safe beside other threads where a hook between
    fork and exec is not.
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
