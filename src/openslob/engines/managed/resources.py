"""CPUs and huge pages of the host for a managed server.

Children inherit CPU affinity, so it is set around the start of the first process. Huge pages are reserved before the
server starts and released when it stops (Linux, root).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openslob.core.errors import SlobError, UsageError
from openslob.core.units import KIB

_POOL = Path("/proc/sys/vm/nr_hugepages")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


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
    available = _own_cpus()
    if missing := parse_cpus(text) - available:
        raise UsageError(
            f"--cpus {text} asks for CPU {min(missing)}, which is not available",
            f"choose from {', '.join(map(str, sorted(available)))}",
        )


def usable_cpus(text: str | None) -> frozenset[int]:
    """Return the CPUs of a list, or without one all that this process may use. UsageError unless all are available."""
    check_cpus(text)
    return frozenset(_own_cpus()) if text is None else parse_cpus(text)


def _own_cpus() -> set[int]:
    if sys.platform != "linux":
        raise SlobError("slob runs servers on Linux only", "name a server of yours by its URL")
    return os.sched_getaffinity(0)


@contextmanager
def confine(text: str | None) -> Iterator[None]:
    """Confine the programs that this thread starts in this block to a list of CPUs; None changes nothing.

    The thread's own affinity is changed for the time of the block. That is safe beside other threads; a hook between
    fork and exec would not be.
    """
    if text is None:
        yield
        return
    check_cpus(text)
    before = _own_cpus()
    if sys.platform != "linux":
        return
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


def parse_available(text: str) -> int:
    """Return the pages that are neither used nor reserved, by the text of /proc/meminfo."""
    figures = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines() if line.startswith("HugePages_")}
    return figures["HugePages_Free"] - figures["HugePages_Rsvd"]


def page_bytes() -> int:
    """Return the size of a huge page in bytes."""
    return parse_page_bytes(Path("/proc/meminfo").read_text(encoding="ascii"))


def parse_page_bytes(text: str) -> int:
    """Return the size of a huge page in bytes, by the text of /proc/meminfo, which gives it in kB."""
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Hugepagesize:")) * KIB


def boot_id() -> str:
    """Return the identity of the kernel's current boot; pages added in an earlier boot no longer exist."""
    return _BOOT_ID.read_text(encoding="ascii").strip()


def check_allowed() -> None:
    """Raise UsageError unless this process may change the pool."""
    if os.geteuid() != 0 or not _POOL.exists():
        raise UsageError("--huge-pages needs Linux and root, to reserve the pages", "leave it out")


def reserve(needed: int) -> int:
    """Grow the pool until ``needed`` pages are available; return how many were added. SlobError if that fails."""
    missing = needed - _available()
    if missing <= 0:
        return 0
    before = _size()
    try:
        _resize(before + missing)
    except OSError as error:  # a container's /proc/sys is read-only
        why = f"the kernel could not reserve {missing} more huge pages: {error.strerror}"
        raise SlobError(why, "leave out --huge-pages, or let a privileged process reserve them") from error
    short = needed - _available()
    if short <= 0:
        return missing
    _resize(before)
    raise SlobError(
        f"the kernel could not reserve {missing} more huge pages, {short} are missing",
        "use a smaller --cache, free some memory or leave out --huge-pages",
    )


def restore(added: int) -> None:
    """Shrink the pool by the pages that were added; those still in use leave it when they are freed."""
    _resize(max(0, _size() - added))


def _available() -> int:
    return parse_available(Path("/proc/meminfo").read_text(encoding="ascii"))


def _size() -> int:
    """Return the pool's wanted size in pages; it has more while pages that it gave up are in use."""
    return int(_POOL.read_text(encoding="ascii"))


def _resize(pages: int) -> None:
    _POOL.write_text(f"{pages}\n", encoding="ascii")
