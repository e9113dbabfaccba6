"""The raw files of a record as arrays, read in parts of bounded size: files that grow, and whole ones.

Every reader of many rows reads them here; `raw_csv` reads rows one by one, for those who want rows.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from openslob.core.disk import open_regular
from openslob.core.errors import SlobError
from openslob.record.cells import Cells
from openslob.record.raw_csv import COLUMNS, RESTORE

# At most so much is read at a time: some 20 ms of work. Of a longer file the end comes first, the begin last.
PART_BYTES = 2 << 20
# Gets the columns of a file, and the cells of some of its lines.
Take = Callable[[Sequence[str], Cells], None]


class GrowingFile:
    """The lines of one of the files in `COLUMNS`. An incomplete last line waits until it is whole.

    ``restarted`` says that the file was replaced or cut since the last look, so that what was read of it is void.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: tuple[str, ...] = ()
        self.restarted = False
        self._forget()

    def _forget(self) -> None:
        # Bytes from _begin to _end have been read, those before _data are the header.
        self._data = self._begin = self._end = 0
        self._size = 0
        self._identity: tuple[int, int] | None = None
        self.columns = ()

    def look(self) -> bool:
        """Look at the file's length; return whether there is something to read."""
        self.restarted = False
        try:
            status = self.path.stat()
        except OSError:
            status = None
        identity = (status.st_dev, status.st_ino) if status else None
        if self._identity is not None and (identity != self._identity or (status and status.st_size < self._end)):
            self._forget()
            self.restarted = True
        if status is None:
            return False
        self._identity, self._size = identity, status.st_size
        if not self._data and not self._read_header():
            return False
        return self._size > self._end or self.left_bytes > 0

    @property
    def left_bytes(self) -> int:
        """How much older content is still to be read."""
        return self._begin - self._data

    @property
    def read_bytes(self) -> int:
        """How much was read."""
        return self._end - self._begin

    def newer(self) -> bytes:
        """Return whole lines that follow those that were read; empty when there are none."""
        if self._size <= self._end or not self._data:
            return b""
        part = self._bytes(self._end, min(self._size, self._end + PART_BYTES))
        whole = part[: part.rfind(b"\n") + 1]
        if not whole and len(part) == PART_BYTES:
            raise SlobError(f"{self.path} is damaged: it has a line of more than {PART_BYTES} bytes", RESTORE)
        self._end += len(whole)
        return whole

    def older(self) -> bytes:
        """Return whole lines that precede those that were read; empty when there are none."""
        if self._begin <= self._data:
            return b""
        start = max(self._data, self._begin - PART_BYTES)
        part = self._bytes(start, self._begin)
        if start > self._data:
            part = part[part.find(b"\n") + 1 :]
        self._begin -= len(part)
        return part

    def first(self) -> bytes:
        """Return the first line below the header; empty when there is none yet."""
        line, end, _ = self._bytes(self._data, min(self._size, self._data + 4096)).partition(b"\n")
        return line + end if end and self._data else b""

    def cells(self, lines: bytes) -> Cells:
        """Return the cells of whole lines. SlobError if a line has more or fewer columns than the header."""
        try:
            return Cells(lines, len(self.columns))
        except (ValueError, csv.Error) as error:
            raise self.damaged(error) from error

    def damaged(self, why: object) -> SlobError:
        """Return the error for content that can't be read."""
        return SlobError(f"{self.path} is damaged: {why}", RESTORE)

    def _read_header(self) -> bool:
        line, end, _ = self._bytes(0, min(self._size, 4096)).partition(b"\n")
        if not end:
            return False
        self.columns = columns_of(self.path, line)
        self._data = self._begin = self._end = len(line) + 1
        if self._size - self._data > PART_BYTES:
            near = self._size - PART_BYTES
            after = self._bytes(near, min(self._size, near + 65536)).find(b"\n") + 1
            self._begin = self._end = near + after if after else self._data
        return True

    def _bytes(self, start: int, stop: int) -> bytes:
        try:
            with open_regular(self.path) as file:
                return os.pread(file.fileno(), stop - start, start)
        except OSError as error:
            raise SlobError(f"{self.path} can't be read: {error.strerror}", RESTORE) from error


def columns_of(path: Path, header: bytes) -> tuple[str, ...]:
    """Return the columns that a header names. SlobError if it is none of this file: some may lack, none is unknown."""
    columns = tuple(header.decode("utf-8", "replace").strip().split(","))
    known = COLUMNS[path.name]
    if not set(columns) <= set(known) or columns[:2] != known[:2]:
        raise SlobError(f"{path} is damaged: its header is another one", RESTORE)
    return columns


def read_whole(path: Path, take: Take) -> None:
    """Read a file that no longer grows from its begin to its end; ``take`` gets its lines, part by part.

    A missing or empty file has none, and an incomplete last line is left out. SlobError for any other damage, which
    ``take`` reports by a ValueError, KeyError or OverflowError.
    """
    try:
        with open_regular(path) as file:
            header = file.readline()
            # A driver that was killed may leave the begin of a header; anything else is none.
            if header.endswith(b"\n") or not ",".join(COLUMNS[path.name]).encode().startswith(header):
                _take_all(path, columns_of(path, header), file, take)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SlobError(f"{path} can't be read: {error.strerror}", RESTORE) from error


def _take_all(path: Path, columns: Sequence[str], file: IO[bytes], take: Take) -> None:
    lines_before = 1
    for lines in _whole_lines(file):
        try:
            cells = Cells(lines, len(columns))
        except (ValueError, csv.Error) as error:
            where = _odd_line(lines, len(columns))
            why = f" at line {lines_before + where[0]}: {where[1]} of {len(columns)} columns" if where else f": {error}"
            raise SlobError(f"{path} is damaged{why}", RESTORE) from error
        try:
            take(columns, cells)
        except (ValueError, OverflowError, KeyError) as error:
            raise SlobError(f"{path} is damaged: {error}", RESTORE) from error
        lines_before += lines.count(b"\n")


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while part := file.read(PART_BYTES):
        part = rest + part
        end = part.rfind(b"\n") + 1
        rest = part[end:]
        if end:
            yield part[:end]


def _odd_line(lines: bytes, columns: int) -> tuple[int, int] | None:
    """Return the number and the columns of the first line with more or fewer columns; None if it can't be found."""
    reader = csv.reader(lines.decode("utf-8", "replace").splitlines())
    try:
        return next(((reader.line_num, len(row)) for row in reader if len(row) != columns), None)
    except csv.Error:
        return None
