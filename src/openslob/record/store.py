"""Folders of records: one for each run, written so that a crash at any moment leaves a complete record of a failed run.

A run's folder begins with a `run.json` that says that the run failed; only the end of the run replaces it. While the
driver lives it holds a lock on the file `running`; the kernel releases the lock when the driver dies, however it dies.
Readers take a shared lock to see whether a run is in progress; the library filelock has no shared locks.
"""

from __future__ import annotations

import fcntl
import gc
import json
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import BaseModel

from openslob._version import __version__
from openslob.core.disk import open_regular, read_json, refuse_planted, write_atomically
from openslob.core.errors import SlobError
from openslob.core.secrets import redact_document, redact_text
from openslob.core.units import iso
from openslob.record import digests, labels
from openslob.record.facts import FACTS_FILE, FORMAT, FactsRecord
from openslob.record.model import DocumentModel, RunRecord, Status
from openslob.record.raw_csv import RawCsv
from openslob.record.thinning import ThinnedCsv
from openslob.record.versions import RESTORE, RUN, Format

RECORD_FILE = "run.json"
REPORT_FILE = "report.txt"
ATTACHMENTS = "attachments"
MARKER_FILE = "running"
SLICES = "slices.csv"
UNFINISHED = "the run did not finish: its driver ended before it could write the result"

Record = TypeVar("Record", bound=BaseModel)
Document = TypeVar("Document", bound=DocumentModel)


def record_id(name: str, started_at: str) -> str:
    """Return a run's id, also its folder's name: UTC time to the second, then ``name`` reduced to safe characters."""
    digits = re.sub(r"\D", "", started_at)[:14]
    return f"{digits[:8]}-{digits[8:]}-{in_folders(name) or 'run'}"


def new_head(name: str, at_ns: int | None = None) -> dict[str, Any]:
    """Return the fields that every record begins with, of a measurement that begins now, or at a time since 1970."""
    started_at = iso(time.time_ns() if at_ns is None else at_ns)
    head = {"id": record_id(name, started_at), "name": name, "started_at": started_at}
    return {**head, "openslob_version": __version__}


def in_folders(name: str) -> str:
    """Return a record's name as it is in the name of its folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60].strip("-.")


class UnsavedError(SlobError):
    """The record of a run, or a file beside it, can't be written; ``record`` has what was measured."""

    def __init__(self, error: SlobError, record: RunRecord) -> None:
        super().__init__(error.what, error.remedy)
        self.record = record


@contextmanager
def _unsaved(record: RunRecord) -> Iterator[None]:
    try:
        yield
    except SlobError as error:
        raise UnsavedError(error, record) from error


class RunFolder:
    """The folder of a run in progress, made by `begin` and completed by `finish`. One process writes it.

    A ``with`` block that ends without `finish` leaves the record of a failed run.
    """

    def __init__(self, path: Path, marker: IO[bytes], raw: RawCsv) -> None:
        self.path = path
        self.raw = raw
        self._marker = marker
        self._facts: FactsRecord | None = None

    @classmethod
    def begin(cls, results: Path, record: RunRecord) -> Self:
        """Make the folder ``results/<record.id>`` and write the record as failed, in case the driver dies.

        If the name is taken, ``-2`` and so on is added, and `id` is the record's id from then on.

        Raises:
            SlobError: The folder can't be written. Nothing of it is left.

        """
        path = new_folder(results, record.id)
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, path, ignore_errors=True)
            marker = undo.enter_context(lock_marker(path))
            folder = cls(path, marker, undo.enter_context(ThinnedCsv(path)))
            unfinished = {"status": Status.FAILED, "errors": (*record.errors, UNFINISHED)}
            folder._save(record.model_copy(update=unfinished))
            undo.pop_all()
        return folder

    @property
    def id(self) -> str:
        """Id of the record."""
        return self.path.name

    def keep(self, facts: FactsRecord) -> None:
        """Give what no raw file says of the run, which `finish` writes."""
        self._facts = facts

    def finish(self, record: RunRecord, report: str = "") -> None:
        """Replace the record by the final one, write the text report beside it, and the digests of all files.

        Raises:
            UnsavedError: One of them can't be written. If that is the record, the first one, of a failed run, stays.

        """
        with ExitStack() as steps:
            steps.enter_context(_unsaved(record))
            steps.callback(self.close)
            steps.push(self._seal)
            steps.callback(self.raw.close)
            steps.callback(self._save, record)
            steps.callback(self._save_facts)
            if report:
                save_text(self.path / REPORT_FILE, redact_text(report))

    def attach(self, name: str, content: str | bytes) -> str:
        """Write a file that belongs to the run, such as a report of the server's own; text without secrets.

        Returns:
            Its path below the folder.

        """
        path = self.path / ATTACHMENTS / Path(name).name
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, redact_text(content) if isinstance(content, str) else content)
        except OSError as error:
            raise cannot_write(path, error) from error
        return f"{ATTACHMENTS}/{path.name}"

    def close(self) -> None:
        """Close the raw files and release the folder; does nothing the second time."""
        try:
            self.raw.close()
        finally:
            _release(self.path, self._marker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seal(self, type_: type[BaseException] | None, *_: object) -> None:
        _seal(self.path, type_ is not None)

    def _save_facts(self) -> None:
        if self._facts is not None:
            given = {**self._facts.given, "id": self.id}
            _save_document(self.path / FACTS_FILE, self._facts.model_copy(update={"given": given}))

    def _save(self, record: RunRecord) -> None:
        _save_document(self.path / RECORD_FILE, record.model_copy(update={"id": self.id}))


class DocumentFolder(Generic[Document]):
    """The folder of a record that is one JSON document, replaced as a whole. One process writes it.

    A ``with`` block releases the folder at its end; the document stays as last saved, with digests of all files. A kind
    of record sets its ``form``, its ``file_name``, and ``unfinished``: the fields by which a document whose driver
    ended too early says so.
    """

    form: ClassVar[Format[Any]]
    file_name: ClassVar[str]
    unfinished: ClassVar[Mapping[str, object]] = {}

    def __init__(self, path: Path, marker: IO[bytes], record: Document) -> None:
        self.path = path
        self.record = record
        self._marker = marker

    @classmethod
    def load(cls, path: Path) -> Document:
        """Read the record in a folder, or in its file, under the name that the user gave it.

        SlobError when there is none that can be read.
        """
        file = path / cls.file_name if path.is_dir() else path
        record: Document = cls.form.parse(read_document(file), str(file))
        return _labelled(record, path)

    @classmethod
    def find(cls, results: Path, names: Collection[str] | None = None) -> list[RecordEntry[Document]]:
        """Return all records of this kind, the oldest first; one that can't be read has a problem instead.

        With ``names``, only those in folders of these names.
        """
        return find_records(results, (cls.file_name,), cls.load, names)

    @classmethod
    def begin(cls, results: Path, record: Document) -> Self:
        """Create the folder ``results/<record.id>``, with ``-2`` and so on appended if taken, and write the record.

        This first document has the fields ``unfinished``.
        """
        path = new_folder(results, record.id)
        folder = cls(path, lock_marker(path), record)
        folder.save(record.model_copy(update={"id": path.name, **cls.unfinished}))
        return folder

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Open the folder of a record that goes on. SlobError when another process writes it."""
        record = cls.load(path)
        if (pid := running_pid(path)) is not None:
            raise SlobError(f"{path.name} is running in process {pid}", "wait for it to end, or stop it")
        folder = cls(path, lock_marker(path), record)
        _break_seal(path)
        return folder

    def save(self, record: Document) -> None:
        """Replace the record on disk atomically."""
        _save_document(self.path / self.file_name, record)
        self.record = record

    def update(self, **changes: object) -> None:
        """Save the record with these fields replaced."""
        self.save(self.record.model_copy(update=changes))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, type_: type[BaseException] | None, *_: object) -> None:
        try:
            _seal(self.path, type_ is not None)
        finally:
            _release(self.path, self._marker)


@dataclass(frozen=True)
class RecordEntry(Generic[Record]):
    """A folder of results: its record, or why it can't be read. ``pid`` is the driver's while it runs, else None."""

    path: Path
    record: Record | None
    problem: str
    pid: int | None

    @property
    def id(self) -> str:
        """Id that the user gives: the folder's name."""
        return self.path.name


def load(path: Path) -> RunRecord:
    """Read the record of a run, as `load_as_written` does, under the name that the user gave it."""
    return _labelled(load_as_written(path), path)


def _labelled(record: Document, path: Path) -> Document:
    name = labels.of(path).name if path.is_dir() else None
    return record.model_copy(update={"name": name}) if name else record


def load_as_written(path: Path) -> RunRecord:
    """Read the record of a run folder or of a `run.json`, of any format version so far.

    Raises:
        SlobError: There is no record, or it can't be read.

    """
    file = path / RECORD_FILE if path.is_dir() else path
    return RUN.parse(read_document(file), str(file))


def load_facts(folder: Path) -> FactsRecord | None:
    """Read what a run knew that its raw files do not say; None if it has no such file. SlobError for a damaged one."""
    if not (folder / FACTS_FILE).is_file():
        return None
    return FORMAT.parse(read_document(folder / FACTS_FILE), str(folder / FACTS_FILE))


def read_document(file: Path) -> object:
    """Read a JSON file.

    Raises:
        SlobError: It can't be read, or is not JSON.

    """
    return read_json(file, RESTORE)


def find(results: Path, names: Collection[str] | None = None, parts: bool = True) -> list[RecordEntry[RunRecord]]:
    """Return every run folder below ``results``, the oldest first, including those that can't be read.

    With ``names``, only those in folders of these names; without ``parts``, only those in ``results`` itself.
    """
    # A run that lost its record still has the raw files.
    return find_records(results, (RECORD_FILE, SLICES), load, names, parts)


def find_records(
    results: Path,
    files: Sequence[str],
    read: Callable[[Path], Record],
    names: Collection[str] | None = None,
    parts: bool = False,
) -> list[RecordEntry[Record]]:
    """Return every folder in ``results`` with one of these files, the oldest first, read by ``read``.

    With ``names``, only folders of these names; with ``parts``, the folders in those as well.
    """
    folders = list_folders(results) if names is None else [results / name for name in names]
    if parts:
        folders += [part for folder in folders for part in list_folders(folder)]
    # A link that leads nowhere or to itself is found as well.
    found = [each for each in folders if any(os.path.lexists(each / name) for name in files)]
    with many_documents():
        return sorted((_entry(path, read) for path in found), key=age)


def list_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, without records that are being removed, whose names begin with a dot."""
    with suppress(OSError):
        return [each for each in folder.iterdir() if not each.name.startswith(".") and each.is_dir()]
    return []


@contextmanager
def many_documents() -> Iterator[None]:
    """Keep Python from looking for cycles: documents have none, and to look takes longer the more there are."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def say_nothing(_problem: str) -> None:
    """Ignore the problem of a record that was passed over."""


def running_pid(folder: Path) -> int | None:
    """Return the process id of the driver that is writing this folder, or None; 0 if it is not known which it is."""
    try:
        with open_regular(folder / MARKER_FILE) as marker:
            text = marker.read(20)
            fcntl.flock(marker, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(text) if text.strip().isdigit() else 0
    except OSError:
        return None
    return None


def _entry(path: Path, read: Callable[[Path], Record]) -> RecordEntry[Record]:
    try:
        return RecordEntry(path, read(path), "", running_pid(path))
    except SlobError as error:
        return RecordEntry(path, None, str(error), running_pid(path))


def age(entry: RecordEntry[Any]) -> tuple[str, str]:
    """Return the sort key of a record: when it began, then its id."""
    # The name of the folder of a record that can't be read begins with the time too.
    digits = re.sub(r"\D", "", entry.record.started_at if entry.record else entry.id)
    return digits[:14], entry.id


def new_folder(results: Path, wanted: str) -> Path:
    """Make and return the folder ``results/<wanted>``; if the name is taken, ``-2`` and so on is added.

    Raises:
        SlobError: The folder can't be made, or another user redirects it.

    """
    path, copy = results / wanted, 1
    refuse_planted(path)
    while True:
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            copy += 1
            path = results / f"{wanted}-{copy}"
        except OSError as error:
            raise cannot_write(path, error) from error


def lock_marker(folder: Path) -> IO[bytes]:
    """Return the open file that names the process that writes ``folder``; closing it releases the lock.

    Raises:
        SlobError: The file can't be written.

    """
    path = folder / MARKER_FILE
    with ExitStack() as undo:
        try:
            # Without a buffer nothing is left to be written when it is closed.
            marker = undo.enter_context(path.open("wb", buffering=0))
            fcntl.flock(marker, fcntl.LOCK_EX)
            marker.write(f"{os.getpid()}\n".encode())
        except OSError as error:
            raise cannot_write(path, error) from error
        undo.pop_all()
    return marker


def _release(folder: Path, marker: IO[bytes]) -> None:
    """Unlock a folder. On a file system that became read-only the file stays, which means nothing without the lock."""
    with suppress(OSError):
        (folder / MARKER_FILE).unlink(missing_ok=True)
    marker.close()


def _seal(path: Path, failed: bool) -> None:
    """Write the digests of a record's files; if it ``failed`` before, that error is what the user must know."""
    try:
        digests.write(path)
    except OSError as error:
        if not failed:
            raise cannot_write(path / digests.DIGESTS_FILE, error) from error


def _break_seal(path: Path) -> None:
    """Remove the digests of a record that goes on."""
    try:
        digests.remove(path)
    except OSError as error:
        raise cannot_write(path / digests.DIGESTS_FILE, error) from error


def _save_document(path: Path, record: BaseModel) -> None:
    save_json(path, to_document(record))


def to_document(record: BaseModel) -> dict[str, Any]:
    """Return what is written of a record: without secrets, and without numbers that JSON does not have."""
    return cast(dict[str, Any], _only_json(redact_document(record.model_dump(mode="json"))))


def _only_json(value: object) -> object:
    """Return a document without the numbers that JSON does not have: a measurement is not lost for one of them."""
    if isinstance(value, dict):
        return {key: _only_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_only_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_json(path: Path, document: object) -> None:
    """Replace a JSON file of a record. SlobError when it can't be written."""
    save_text(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def save_text(path: Path, text: str) -> None:
    """Replace a file of a record. SlobError when it can't be written."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> SlobError:
    """Return the error for a file of a record that can't be written."""
    kept = "what was measured up to here is kept; free space or choose another folder with --results"
    return SlobError(f"{path} can't be written: {error.strerror}", kept)
