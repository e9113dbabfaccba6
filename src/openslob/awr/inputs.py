"""The files that a user names: folders, patterns, archives and standard input, the bytes of each, and session counts.

A report does not say how many SLOB sessions ran; users put the number in the file name. By default only unambiguous
forms are recognised: ``awr_0_16.txt`` (writers, readers), ``awr.064.txt`` and ``awr.txt.128``, with any prefix.
The numbers in Oracle's own names (``awrrpt_1_155_156.html``) are instance and snapshots, not sessions. Other names
need a pattern.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path, PurePath
from typing import IO

from openslob.core.errors import UsageError

STDIN = "-"
_PACKED: dict[bytes, Callable[[Path], BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
_ZIP = b"PK\x03\x04"
_OFFICE = "[Content_Types].xml"  # in every Office document, which is a zip archive as well
_ENDINGS = (".gz", ".bz2", ".xz")
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError)
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<group>(?:.*[._-])?awr)_(?P<writers>\d{1,5})_(?P<readers>\d{1,5})\.(?:txt|lst|html?)",
        r"(?P<group>(?:.*[._-])?awr(?:[._-]rac)?)[._-](?P<sessions>\d{1,5})\.(?:txt|lst|html?)",
        r"(?P<group>(?:.*[._-])?awr(?:[._-]rac)?)\.(?:txt|lst|html?)[._-](?P<sessions>\d{1,5})",
    )
)
GROUPS = ("sessions", "writers", "readers", "group")  # of a pattern


class UnreadableError(Exception):
    """A file can't be read; the message says why."""


class TooLargeError(Exception):
    """A file is larger than any report, or becomes so when it is unpacked."""


def expand_paths(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each file that ``paths`` name, and whether it was found in a folder or an archive rather than named.

    A folder stands for the files in it and below, a zip archive for its members. A pattern such as ``*.txt`` that the
    shell left as it is stands for what it matches.
    """
    for path in paths:
        if path != STDIN and not Path(path).exists() and glob.has_magic(path):
            matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - the pattern may be absolute
            yield from _within(matches) if matches else [(path, False)]
        else:
            yield from _within([path])


def _within(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            for file in sorted(Path(path).rglob("*")):
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts):
                    yield from ((str(found), True) for found, _ in _within([str(file)]))
        elif members := _members(path):
            yield from ((f"{path}/{member}", True) for member in members)
        else:
            yield path, False


def _members(path: str) -> list[str]:
    """Return the files in a zip archive; none for any other file."""
    try:
        with Path(path).open("rb") as file:
            if path == STDIN or file.read(len(_ZIP)) != _ZIP:
                return []
        with zipfile.ZipFile(path) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (OSError, *_DAMAGED):
        return []
    hidden = ("__MACOSX/", ".")
    return [] if _OFFICE in names else [name for name in names if not name.startswith(hidden)]


def content(path: Path, limit: int) -> bytes:
    """Return the bytes of a file, unpacked; `TooLargeError` beyond ``limit`` bytes. OSError as usual."""
    try:
        with _open(path) as file:
            data = file.read(limit + 1)
    except _DAMAGED as error:
        raise UnreadableError(f"its compressed content is damaged ({error})") from None
    if len(data) > limit:
        raise TooLargeError
    return data


def _open(path: Path) -> IO[bytes] | BufferedIOBase:
    if str(path) == STDIN:
        return sys.stdin.buffer
    if not path.exists():
        archive = next((parent for parent in path.parents if parent.is_file()), None)
        if archive is not None and zipfile.is_zipfile(archive):
            return _member(archive, path.relative_to(archive).as_posix())
    with path.open("rb") as file:
        begin = file.read(8)
    for signature, open_packed in _PACKED.items():
        if begin.startswith(signature):
            return open_packed(path)
    return path.open("rb")


def _member(archive: Path, name: str) -> IO[bytes]:
    opened = zipfile.ZipFile(archive)
    try:
        return opened.open(name)
    except KeyError:
        opened.close()
        raise FileNotFoundError(2, "not in the archive") from None


def bare_name(path: str) -> str:
    """Return the name of a file without its folder and the ending of a compressed file."""
    name = PurePath(path).name
    ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)]


@dataclass(frozen=True, slots=True)
class FileName:
    """Session counts from a file name. ``sessions`` is writers plus readers; ``group`` is the name without counts."""

    sessions: int | None = None
    writers: int | None = None
    readers: int | None = None
    group: str = ""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a user's pattern; UsageError if it is invalid or has none of the groups in `GROUPS`."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern is not a regular expression: {error}") from None
    if not set(compiled.groupindex) & set(GROUPS):
        raise UsageError(
            "--pattern has none of the named groups", r"use (?P<sessions>\d+), or the groups writers, readers, group"
        )
    return compiled


def parse_name(path: str, pattern: re.Pattern[str] | None = None) -> FileName:
    """Parse the name of ``path``. A ``pattern`` is searched for in the whole path and replaces the default forms."""
    name = bare_name(path)
    if pattern is not None:
        return _from_match(pattern.search(path), name)
    return _from_match(next((match for form in _FORMS if (match := form.fullmatch(name))), None), name)


def _from_match(match: re.Match[str] | None, name: str) -> FileName:
    if match is None:
        return FileName(group=PurePath(name).stem)
    found = match.groupdict()
    sessions, writers, readers = (_count(found.get(key)) for key in ("sessions", "writers", "readers"))
    if sessions is None and (writers is not None or readers is not None):
        sessions = (writers or 0) + (readers or 0)
    return FileName(sessions, writers, readers, found.get("group") or "")


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
