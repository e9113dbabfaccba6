"""The kinds of records: what finds, names and reads records of any kind. All of the rest of a kind is above this room.

Each kind makes itself known by an entry point of the group ``openslob.kinds``, whose value is an instance of
`openslob.kinds.contract.Kind`: of openslob, or of any other distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, ClassVar, Generic

from openslob.core.errors import SlobError
from openslob.record.store import RECORD_FILE, Document, DocumentFolder, Record, RecordEntry, find_records

GROUP = "openslob.kinds"


@dataclass(frozen=True)
class Labels:
    """What a kind is called.

    ``name`` is for messages ("raw measurement"), ``listed`` for the column of `slob list` ("raw"), ``maker`` is the
    command that makes one, ``part`` what one of its runs is. ``so_far`` says what the record has while it is in
    progress. Messages name several kinds in the order of their ``rank``.
    """

    name: str
    listed: str
    maker: str
    part: str = "run"
    so_far: str = "; this is what was measured so far"
    rank: int = 100


class KindOfRecord(ABC, Generic[Record]):
    """A kind of record as far as it takes to find and to read one.

    The folder of a record is known by its ``files``, the document first. ``has_runs``: the folders of its runs are in
    its own folder. ``says_nothing_before_the_end``: there is nothing to show while the record is in progress.
    """

    labels: ClassVar[Labels]
    files: ClassVar[tuple[str, ...]]
    has_runs: ClassVar[bool] = False
    says_nothing_before_the_end: ClassVar[bool] = False

    @property
    def is_of_runs(self) -> bool:
        """Whether its records are runs or have runs: these can be compared and exported."""
        return self.has_runs or RECORD_FILE in self.files

    @abstractmethod
    def read(self, path: Path) -> Record:
        """Return the record in a folder, or in its file. SlobError when there is none that can be read."""

    @abstractmethod
    def find(
        self, results: Path, names: Collection[str] | None = None, parts: bool = True
    ) -> list[RecordEntry[Record]]:
        """Return all records of this kind in a folder, the oldest first; one that can't be read has a problem instead.

        With ``names``, only those in folders of these names; without ``parts``, none that is a part of another record.
        """

    def is_by_the_way(self, _record: Record) -> bool:
        """Return whether another command made the record for itself: it is not what `latest` means."""
        return False

    def __str__(self) -> str:
        """Return its name for messages."""
        return self.labels.name


class KindOfDocument(KindOfRecord[Document]):
    """A kind whose records are one document each, in a ``folder`` of its own.

    Where that is a property, it imports the record's model when there is a record of this kind, and not before.
    """

    @property
    @abstractmethod
    def folder(self) -> type[DocumentFolder[Any]]:
        """The folder of its records."""

    def __init_subclass__(cls) -> None:
        """Know the folder of a record by its document."""
        folder = cls.__dict__.get("folder")
        if isinstance(folder, type) and issubclass(folder, DocumentFolder):
            cls.files = (folder.file_name,)

    def read(self, path: Path) -> Document:
        """Return the record in a folder, or in its file. SlobError when there is none that can be read."""
        record: Document = self.folder.load(path)
        return record

    def find(
        self,
        results: Path,
        names: Collection[str] | None = None,
        parts: bool = True,  # noqa: ARG002 - none is a part
    ) -> list[RecordEntry[Document]]:
        """Return all records of this kind in a folder, the oldest first; none is a part of another record."""
        return find_records(results, self.files[:1], self.read, names)


AnyKind = KindOfRecord[Any]


@cache
def every() -> tuple[AnyKind, ...]:
    """Return every installed kind, by rank. SlobError when one can't be loaded."""
    points = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    if not points:
        raise SlobError(
            "no kind of record is installed: Python knows no entry points of openslob",
            "install it (from a source tree: pip install -e .); running the sources alone is not enough",
        )
    return tuple(sorted(map(_load, points.values()), key=lambda kind: (kind.labels.rank, kind.labels.name)))


def _load(point: EntryPoint) -> AnyKind:
    try:
        kind = point.load()
    except (ImportError, AttributeError) as error:
        why = f"the kind of record {point.name} of {_source(point)} can't be loaded: {error}"
        raise SlobError(why, "repair that installation, or uninstall it") from error
    if not isinstance(kind, KindOfRecord):
        raise SlobError(f"{point.value} of {_source(point)} is not a kind of record", "report it to its authors")
    return kind


def _source(point: EntryPoint) -> str:
    """Return the distribution of an entry point, which takes long to read: only errors name it."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def of_runs() -> frozenset[AnyKind]:
    """Return the kinds whose records are runs or have runs."""
    return frozenset(kind for kind in every() if kind.is_of_runs)


def of_single_runs() -> AnyKind:
    """Return the kind whose records may be parts of others."""
    return next(kind for kind in every() if RECORD_FILE in kind.files)
