"""Where records lie: one folder a run, written so that no crash leaves a record half-made or silent about itself.

From its first moment a folder's `run.json` says that the run failed; only its end replaces that. While the driver
lives it holds a lock on the file `running`, which the kernel lets go when the driver dies, however it dies.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Generic, Self, TypeVar

from pydantic import BaseModel

from openslob.errors import SlobError, UsageError
from openslob.record.model import RunRecord, Status
from openslob.record.raw_csv import RawCsv
from openslob.record.scrub import scrubbed, without_passwords
from openslob.record.versions import from_document

RECORD_FILE = "run.json"
REPORT_FILE = "report.txt"
MARKER_FILE = "running"
LATEST = frozenset({"latest", "last"})
UNFINISHED = "the run did not finish: its driver ended before it could write the result"
# A run lies in the results folder itself, or one deeper in the folder of its sweep.
_PATTERNS = (f"*/{RECORD_FILE}", f"*/*/{RECORD_FILE}")
_MOST_NAMES_SHOWN = 5

Record = TypeVar("Record", bound=BaseModel)


def record_id(name: str, started_at: str) -> str:
    """A run's id and folder name: UTC time to the second, then the name with what file names dislike replaced."""
    digits = re.sub(r"\D", "", started_at)[:14]
    return f"{digits[:8]}-{digits[8:]}-{re.sub(r'[^A-Za-z0-9._-]+', '-', name)[:60].strip('-.') or 'run'}"


class RunFolder:
    """The folder of a run that is going on. Made by `begin`, ended by `finish`; one process, one writer.

    Leaving its ``with`` block without `finish` keeps the folder as that of a failed run.
    """

    def __init__(self, path: Path, marker: IO[str], raw: RawCsv) -> None:
        self.path = path
        self.raw = raw
        self._marker = marker

    @classmethod
    def begin(cls, results: Path, record: RunRecord) -> Self:
        """Make the folder ``results/<record.id>`` and write the record as failed, for the case that nothing follows.

        If that name is taken, ``-2`` and so on is added: `id` is what the record is called from now on.
        SlobError when the folder can't be written; nothing is left then.
        """
        path = new_folder(results, record.id)
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, path, ignore_errors=True)
            marker = undo.enter_context(locked_marker(path))
            folder = cls(path, marker, undo.enter_context(RawCsv(path)))
            unfinished = {"status": Status.FAILED, "errors": (*record.errors, UNFINISHED)}
            folder._save(record.model_copy(update=unfinished))
            undo.pop_all()
        return folder

    @property
    def id(self) -> str:
        """The record's id."""
        return self.path.name

    def finish(self, record: RunRecord) -> None:
        """Replace the record by the final one. SlobError when that can't be written: the first one stays then."""
        try:
            self._save(record)
        finally:
            self.close()

    def write_report(self, text: str) -> None:
        """Write the text report beside the record."""
        write_whole(self.path / REPORT_FILE, without_passwords(text))

    def close(self) -> None:
        """Close the raw files and let go of the folder; harmless when done before."""
        try:
            self.raw.close()
        finally:
            (self.path / MARKER_FILE).unlink(missing_ok=True)
            self._marker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.close()

    def _save(self, record: RunRecord) -> None:
        document = scrubbed(record.model_copy(update={"id": self.id}).model_dump(mode="json"))
        write_whole(self.path / RECORD_FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Found(Generic[Record]):
    """A record's folder: the record, or the problem with it. ``pid`` is the driver's, None unless it is going on."""

    path: Path
    record: Record | None
    problem: str
    pid: int | None

    @property
    def id(self) -> str:
        """What the user calls it: the folder's name."""
        return self.path.name


def load(path: Path) -> RunRecord:
    """The record in a run folder or in a `run.json`, of any version so far. SlobError when there is none to read."""
    file = path / RECORD_FILE if path.is_dir() else path
    return from_document(read_document(file), str(file))


def read_document(file: Path) -> object:
    """The JSON in a file. SlobError when it can't be read or is none."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SlobError(f"{file} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise SlobError(f"{file} is damaged: {error}") from error


def find(results: Path) -> list[Found[RunRecord]]:
    """Every run folder below ``results``, the oldest first; those that can't be read too, with the reason."""
    return found_in(results, _PATTERNS, load)


def found_in(results: Path, patterns: Sequence[str], read: Callable[[Path], Record]) -> list[Found[Record]]:
    """Every folder below ``results`` with a file of one of these ``patterns``, the oldest first, ``read`` tried."""
    paths = {file.parent for pattern in patterns for file in results.glob(pattern)}
    return sorted((_found(path, read) for path in paths), key=age)


def resolve(wanted: str, results: Path) -> Path:
    """The run folder (or record file) the user means: a path, an id, the beginning of just one id, or ``latest``.

    UsageError when there is none or more than one.
    """
    return chosen(wanted, results, RECORD_FILE, find(results))


def chosen(
    wanted: str, results: Path, file_name: str, candidates: Sequence[Found[Any]], maker: str = "slob run"
) -> Path:
    """The one of ``candidates``, made by the command ``maker``, that is wanted; a path to such a file is itself."""
    path = Path(wanted)
    if (path / file_name).is_file() or path.is_file():
        return path
    if not candidates:
        raise SlobError(f"there are no records in {results}", f"`{maker}` makes one; --results names another folder")
    if wanted in LATEST:
        return candidates[-1].path
    exact = [found.path for found in candidates if wanted in _names(found)]
    return _the_one(wanted, exact or [found.path for found in candidates if found.id.startswith(wanted)], results)


def running_pid(folder: Path) -> int | None:
    """Process id of the driver that is writing this folder; None when nobody is."""
    try:
        with (folder / MARKER_FILE).open(encoding="utf-8") as marker:
            fcntl.flock(marker, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int((folder / MARKER_FILE).read_text(encoding="utf-8"))
    except OSError:
        return None
    return None


def _the_one(wanted: str, paths: list[Path], results: Path) -> Path:
    if not paths:
        raise UsageError(f"no record in {results} is called {wanted!r} or begins so", "`slob list` shows them")
    if len(paths) > 1:
        names = ", ".join(path.name for path in paths[:_MOST_NAMES_SHOWN])
        raise UsageError(f"{len(paths)} records begin with {wanted!r}: {names}", "give more of the id")
    return paths[0]


def _names(found: Found[Any]) -> set[str]:
    # A folder may have been renamed: it answers to both names.
    return {found.id} | ({found.record.id} if found.record else set())


def _found(path: Path, read: Callable[[Path], Record]) -> Found[Record]:
    try:
        return Found(path, read(path), "", running_pid(path))
    except SlobError as error:
        return Found(path, None, str(error), running_pid(path))


def age(found: Found[Any]) -> tuple[str, str]:
    """What to sort records by: when they began, then their id."""
    # A record that can't be read goes by its folder's name, which begins with the time too.
    digits = re.sub(r"\D", "", found.record.started_at if found.record else found.id)
    return digits[:14], found.id


def new_folder(results: Path, wanted: str) -> Path:
    """Make ``results/<wanted>``, with ``-2`` and so on added if that is taken. SlobError when it can't be made."""
    path, copy = results / wanted, 1
    while True:
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            copy += 1
            path = results / f"{wanted}-{copy}"
        except OSError as error:
            raise cannot_write(path, error) from error


def locked_marker(folder: Path) -> IO[str]:
    """The file that says who writes ``folder``, locked while it is open. SlobError when it can't be written."""
    path = folder / MARKER_FILE
    try:
        marker = path.open("w", encoding="utf-8")
        fcntl.flock(marker, fcntl.LOCK_EX)
        marker.write(f"{os.getpid()}\n")
        marker.flush()
    except OSError as error:
        raise cannot_write(path, error) from error
    return marker


def write_whole(path: Path, text: str, remedy: str = "") -> None:
    """All of ``text`` or nothing: a reader, or a crash at any moment, sees the old file or the new one.

    SlobError when it can't be written, with ``remedy`` or what to do for a record.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # where nothing can be written nothing is left to be removed either
            temporary.unlink(missing_ok=True)
        raise cannot_write(path, error, remedy) from error


def _sync_folder(folder: Path) -> None:
    # Without this a power failure could undo the rename.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cannot_write(path: Path, error: OSError, remedy: str = "") -> SlobError:
    """The error of a file that can't be written, by default one of a record."""
    kept = "what was measured up to here is kept; free space or choose another folder with --results"
    return SlobError(f"{path} can't be written: {error.strerror}", remedy or kept)
