"""Huge pages for a server's cache: reserved before it starts, released when it stops (Linux, root)."""

from __future__ import annotations

import os
from pathlib import Path

from openslob.errors import SlobError, UsageError
from openslob.units import KIB

_POOL = Path("/proc/sys/vm/nr_hugepages")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


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
    _resize(before + missing)
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
