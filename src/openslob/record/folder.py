"""A folder whose one JSON document is replaced as a whole while its owner works: those of sweeps and raw results."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, Self, TypeVar

from pydantic import BaseModel

from openslob.record.scrub import scrubbed
from openslob.record.store import MARKER_FILE, write_whole

Document = TypeVar("Document", bound=BaseModel)


class DocumentFolder(Generic[Document]):
    """One process, one writer. A context manager that lets go of the folder; the document stays as last saved."""

    def __init__(self, path: Path, file_name: str, marker: IO[str], record: Document) -> None:
        self.path = path
        self.record = record
        self._file_name = file_name
        self._marker = marker

    def save(self, record: Document) -> None:
        """Replace the record on disk, whole or not at all."""
        document = scrubbed(record.model_dump(mode="json"))
        write_whole(self.path / self._file_name, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        self.record = record

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _tb: TracebackType | None
    ) -> None:
        (self.path / MARKER_FILE).unlink(missing_ok=True)
        self._marker.close()
