"""The files that a user names: folders, patterns, archives and standard input, and the bytes of each."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path, PurePath
from typing import IO

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


class UnreadableError(Exception):
    """A file can't be read; the message says why."""


class TooLargeError(Exception):
    """A file is larger than any report, or becomes so when it is unpacked."""


def expanded(paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
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
        with _opened(path) as file:
            data = file.read(limit + 1)
    except _DAMAGED as error:
        raise UnreadableError(f"its compressed content is damaged ({error})") from None
    if len(data) > limit:
        raise TooLargeError
    return data


def _opened(path: Path) -> IO[bytes] | BufferedIOBase:
    if str(path) == STDIN:
        return sys.stdin.buffer
    if not path.exists():
        archive = next((parent for parent in path.parents if parent.is_file()), None)
        if archive is not None and zipfile.is_zipfile(archive):
            return _member(archive, path.relative_to(archive).as_posix())
    with path.open("rb") as file:
        begin = file.read(8)
    for signature, opened in _PACKED.items():
        if begin.startswith(signature):
            return opened(path)
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
