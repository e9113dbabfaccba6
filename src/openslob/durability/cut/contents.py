"""The content of one file: what is kept of it, and the pages that were written since and may yet be lost.

Written pages are in a file without a name in the folder of what is kept: it takes no memory, and ends with its process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from random import Random

from openslob.core.errors import SlobError

PAGE_BYTES = 4096
# What storage writes as a whole, whatever happens.
SECTOR_BYTES = 512
_SECTORS = PAGE_BYTES // SECTOR_BYTES
_MOST_PAGES_AT_ONCE = 256


class Content:
    """The bytes of a file as its readers see them: ``size`` of them.

    Below ``base``, pages that were not written since are as they are kept; above it they are zero.
    """

    __slots__ = ("_folder", "_kept", "_written", "base", "dirty", "size")

    def __init__(self, folder: Path, size: int = 0) -> None:
        self.size = size
        self.base = size
        self.dirty: set[int] = set()
        self._folder = folder
        self._kept = -1
        self._written = -1

    def open_kept(self, path: Path | None) -> int:
        """Return a descriptor of the file that keeps the content: the one at ``path``, or a new unnamed file."""
        if self._kept < 0:
            self._kept = _nameless(self._folder) if path is None else os.open(path, os.O_RDWR | os.O_CLOEXEC)
        return self._kept

    @property
    def kept_open(self) -> int | None:
        """The descriptor of what is kept, if there is one."""
        return None if self._kept < 0 else self._kept

    @property
    def dirty_bytes(self) -> int:
        """The bytes that are not kept."""
        return sum(stop - start for start, stop in self._dirty_spans())

    def close(self) -> None:
        """Release what is open; what was written and is not kept is lost."""
        for descriptor in (self._kept, self._written):
            if descriptor >= 0:
                os.close(descriptor)
        self._kept = self._written = -1
        self.dirty.clear()

    def read(self, path: Path | None, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes; fewer at the end."""
        end = min(offset + length, self.size)
        if end <= offset:
            return b""
        if not self.dirty:
            return self._from_base(path, offset, end)
        return b"".join(
            os.pread(self._written, stop - start, start) if dirty else self._from_base(path, start, stop)
            for dirty, start, stop in self._spans(offset, end)
        )

    def _spans(self, offset: int, end: int) -> Iterator[tuple[bool, int, int]]:
        pages = range(offset // PAGE_BYTES, (end - 1) // PAGE_BYTES + 1)
        for dirty, run in groupby(pages, key=self.dirty.__contains__):
            run_pages = list(run)
            yield dirty, max(offset, run_pages[0] * PAGE_BYTES), min(end, (run_pages[-1] + 1) * PAGE_BYTES)

    def _from_base(self, path: Path | None, start: int, stop: int) -> bytes:
        there = min(stop, self.base) - start
        data = os.pread(self.open_kept(path), there, start) if there > 0 else b""
        return data.ljust(stop - start, b"\0")

    def write(self, path: Path | None, data: bytes, offset: int) -> None:
        """Write ``data``; a page of which only a part is written gets the rest from what is kept."""
        end = offset + len(data)
        if end == offset:
            return
        if self._written < 0:
            self._written = _nameless(self._folder)
        first, last = offset // PAGE_BYTES, (end - 1) // PAGE_BYTES
        if offset % PAGE_BYTES:
            self._complete(path, first)
        if end % PAGE_BYTES:
            self._complete(path, last)
        _write_all(self._written, data, offset)
        self.dirty.update(range(first, last + 1))
        self.size = max(self.size, end)

    def _complete(self, path: Path | None, page: int) -> None:
        if page not in self.dirty:
            start = page * PAGE_BYTES
            _write_all(self._written, self._from_base(path, start, start + PAGE_BYTES), start)
            self.dirty.add(page)

    def resize(self, size: int) -> None:
        """Cut the file off at ``size``, or extend it with zeros."""
        if size < self.size:
            self.base = min(self.base, size)
            first_beyond = -(-size // PAGE_BYTES)
            self.dirty = {page for page in self.dirty if page < first_beyond}
            if size // PAGE_BYTES in self.dirty:
                os.pwrite(self._written, bytes(first_beyond * PAGE_BYTES - size), size)
        self.size = size

    def flush(self, path: Path | None) -> int:
        """Write all that was written to what is kept, whose size has its changes already; return the bytes."""
        if not self.dirty:
            self.base = self.size
            return 0
        kept = self.open_kept(path)
        flushed = sum(self._copy(kept, start, stop) for start, stop in self._dirty_spans())
        self.base = self.size
        self.dirty.clear()
        return flushed

    def _copy(self, kept: int, start: int, stop: int) -> int:
        _write_all(kept, os.pread(self._written, stop - start, start), start)
        return stop - start

    def _dirty_spans(self) -> Iterator[tuple[int, int]]:
        pages = sorted(self.dirty)
        begin = 0
        for at in range(1, len(pages) + 1):
            if at == len(pages) or pages[at] != pages[at - 1] + 1 or at - begin == _MOST_PAGES_AT_ONCE:
                yield pages[begin] * PAGE_BYTES, min(self.size, (pages[at - 1] + 1) * PAGE_BYTES)
                begin = at

    def survive(self, path: Path, random: Random, block_bytes: int) -> tuple[int, int]:
        """Write a random part of what was written to what is kept, in whole sectors; return the bytes and torn blocks.

        The file grows by a random part of what it grew. What was cut off and is still kept stays. A block of
        ``block_bytes``, a multiple of a page, is torn if it is neither as it was kept nor as it was written.
        """
        kept = self.open_kept(path)
        before = os.fstat(kept).st_size
        # What was written behind a cut that is not kept went to new blocks, which the file as it is kept has not.
        limit = self.size if self.base == before else self.base
        after = random.choice((before, limit, random.randint(before, limit))) if limit > before else limit
        survived = torn = 0
        if after > before:
            os.ftruncate(kept, after)
        for block, pages in groupby(sorted(self.dirty), key=lambda page: page * PAGE_BYTES // block_bytes):
            span = block_bytes, block * block_bytes
            whole = [os.pread(kept, *span), self.read(path, span[1], block_bytes)]
            for page in pages:
                for start, stop in _surviving_sectors(page, random):
                    if start < after:
                        survived += self._copy(kept, start, min(stop, after))
            torn += os.pread(kept, *span) not in whole
        return survived, torn


def _surviving_sectors(page: int, random: Random) -> Iterator[tuple[int, int]]:
    """Yield the sectors of a page that survive: none or all of them as a rule, and sometimes some."""
    fate = random.random()
    mask = random.getrandbits(_SECTORS) if fate < 0.2 else (1 << _SECTORS) - 1 if fate < 0.6 else 0
    for sector in range(_SECTORS):
        if mask >> sector & 1:
            start = page * PAGE_BYTES + sector * SECTOR_BYTES
            yield start, start + SECTOR_BYTES


def _nameless(folder: Path) -> int:
    if sys.platform != "linux":
        raise SlobError("storage that can be cut off needs Linux")
    return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    """Write at once what storage would; a write that a full disk shortened goes on, and fails with its reason."""
    done = os.pwrite(descriptor, data, offset)
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], offset + done)
