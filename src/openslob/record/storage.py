"""The record of a raw measurement, `storage.json`: what storage did without a database, step by step.

It lies in a folder of its own, ``results/<time>-<name>/``, and is replaced as a whole after every step, so that what
was measured survives any end. Until its last replacement it says that the measurement failed.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openslob.errors import SlobError
from openslob.record import store
from openslob.record.model import Figure, Status, Verdict
from openslob.record.store import UNFINISHED, DocumentFolder, RecordEntry, lock_marker, new_folder

STORAGE_VERSION = 1
STORAGE_FILE = "storage.json"


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Load(_Plain):
    """What a step asked of storage: requests of ``block_bytes``, ``in_flight`` of them at a time by ``processes``.

    ``engine`` is how they reached the kernel, ``pattern`` ``random`` or ``sequential``, ``seconds`` the measured time
    asked for, None where all data are read once. ``verified``: the checksum of every block read was checked.
    """

    block_bytes: int
    in_flight: int
    processes: int = 1
    read_pct: int = 100
    pattern: str = "random"
    engine: str
    seconds: float | None = None
    verified: bool = False


class StorageStep(_Plain):
    """One measured step, numbered from 1, with what it was for or why it was taken.

    ``latency`` has the form of a run's: count, mean, percentiles, maximum in µs, buckets; None where nothing was timed
    one by one. ``load`` is None for steps that are not loads of requests.
    """

    number: int
    name: str
    purpose: str
    load: Load | None = None
    figures: Mapping[str, Figure] = Field(default_factory=dict)
    latency: Mapping[str, Any] | None = None

    def value(self, name: str) -> float | None:
        """A figure of the step; None when it is not known."""
        figure = self.figures.get(name)
        return figure.value if figure else None


class StorageRecord(_Plain):
    """Everything about one raw measurement.

    ``tool`` is the command (``calibrate``, ``orion``, ``dd``, ``compare``), ``asked`` its parameters, ``environment``
    that of `openslob.host.environment`, ``place`` what was measured: ``label``, ``size_bytes``, ``file_system``,
    ``fio`` (its version), ``ours`` (whether the file was made for this), and whatever else the tool tells. ``tables``
    are further results by name, rows of plain values under their heads.
    """

    storage_version: int = STORAGE_VERSION
    kind: str = "raw"
    tool: str
    id: str
    name: str
    status: Status
    started_at: str
    openslob_version: str
    asked: Mapping[str, Any]
    environment: Mapping[str, Any]
    place: Mapping[str, Any] = Field(default_factory=dict)
    steps: tuple[StorageStep, ...] = ()
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    tables: Mapping[str, tuple[Mapping[str, Any], ...]] = Field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def value(self, name: str) -> float | None:
        """A figure of the summary; None when it is not known."""
        figure = self.summary.get(name)
        return figure.value if figure else None


class StorageFolder(DocumentFolder[StorageRecord]):
    """A raw measurement's folder while it goes on."""

    @classmethod
    def begin(cls, results: Path, record: StorageRecord) -> Self:
        """Make the folder ``results/<record.id>`` (``-2`` and so on added if taken), the record in it a failed one."""
        path = new_folder(results, record.id)
        unfinished = {"id": path.name, "status": Status.FAILED, "errors": (UNFINISHED,)}
        folder = cls(path, STORAGE_FILE, lock_marker(path), record)
        folder.save(record.model_copy(update=unfinished))
        return folder

    def update(self, **changes: object) -> None:
        """Save the record with these fields replaced."""
        self.save(self.record.model_copy(update=changes))

    def add(self, step: StorageStep) -> None:
        """Save the record with one more step."""
        self.update(steps=(*self.record.steps, step))

    def finish(self, status: Status, errors: tuple[str, ...] = (), **changes: object) -> StorageRecord:
        """Save how it ended, in place of the mark that it did not."""
        self.update(status=status, errors=errors, **changes)
        return self.record


def load(path: Path) -> StorageRecord:
    """The record in a folder or in a `storage.json`. SlobError when there is none to read."""
    file = path / STORAGE_FILE if path.is_dir() else path
    document = store.read_document(file)
    version = document.get("storage_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise SlobError(f"{file} is not the record of a raw measurement", "it has no storage_version")
    if version > STORAGE_VERSION:
        raise SlobError(f"{file} has version {version}, this openslob reads up to {STORAGE_VERSION}", "update it")
    try:
        return StorageRecord.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SlobError(f"{file} is damaged at {where!r}: {first['msg']}") from error


def find(results: Path) -> list[RecordEntry[StorageRecord]]:
    """Every raw measurement in ``results``, the oldest first; those that can't be read too, with the reason."""
    return store.find_records(results, (f"*/{STORAGE_FILE}",), load)


def resolve(wanted: str, results: Path) -> Path:
    """The raw measurement the user means: a path, an id, the beginning of just one id, or ``latest``."""
    return store.resolve_record(wanted, results, STORAGE_FILE, find(results), "slob raw calibrate")


def is_storage(path: Path) -> bool:
    """Whether a raw measurement lies at ``path``, a folder or a file."""
    return (path / STORAGE_FILE).is_file() or path.name == STORAGE_FILE


def find_all(results: Path) -> list[RecordEntry[Any]]:
    """Runs and raw measurements, the oldest first."""
    return sorted([*store.find(results), *find(results)], key=store.age)


def resolve_any(wanted: str, results: Path) -> Path:
    """The run or the raw measurement the user means."""
    if is_storage(Path(wanted)):
        return Path(wanted)
    return store.resolve_record(wanted, results, store.RECORD_FILE, find_all(results))
