"""Reading documents of every version: each step lifts a document to the next version, until it is the present one.

docs/record-format.md has the policy: which changes need a new version, and how one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from openslob.core.errors import SlobError
from openslob.record.model import RECORD_VERSION, RunRecord
from openslob.record.parts import READ

Document = dict[str, Any]
Record = TypeVar("Record", bound=BaseModel)
RESTORE = "restore it, or move its folder elsewhere"
_NOT_OURS = "name another file, or move it elsewhere"


class NewerVersionError(SlobError):
    """A later program wrote the document: it is whole, but this program can't read it."""


@dataclass(frozen=True)
class Format(Generic[Record]):
    """One kind of document: the model of its present version, and the steps that lift older documents to it.

    ``label`` names the kind in errors, ``version_key`` is the document's key with its version. ``steps`` maps each old
    version n to the function that makes a document of version n + 1 from one of version n.
    """

    model: type[Record]
    label: str
    version_key: str
    version: int
    steps: Mapping[int, Callable[[Document], Document]] = field(default_factory=dict)

    def parse(self, document: object, source: str) -> Record:
        """Return the record in a parsed JSON document of any version up to the present one.

        ``source`` names the document in errors. SlobError when it is not of this kind, is newer than this program, or
        does not fit the model.
        """
        version = document.get(self.version_key) if isinstance(document, dict) else None
        if not isinstance(document, dict) or type(version) is not int:
            raise SlobError(f"{source} is not {self.label}: it has no {self.version_key}", _NOT_OURS)
        if version > self.version:
            raise NewerVersionError(
                f"{source} has {self.version_key} {version}, this openslob reads up to {self.version}",
                "update openslob to read it",
            )
        try:
            return self.model.model_validate(self._lift(document, version, source), context=READ)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            at = f" at {where!r}" if where else ""
            raise SlobError(
                f"{source} is damaged{at}: {first['msg'].removeprefix('Value error, ')}", RESTORE
            ) from error

    def _lift(self, document: Document, version: int, source: str) -> Document:
        for old in range(version, self.version):
            if old not in self.steps:
                raise SlobError(f"{source} is damaged: {self.version_key} {old} was never published", RESTORE)
            document = {**self.steps[old](document), self.version_key: old + 1}
        return document


def take_defaults(document: Document) -> Document:
    """Return a document as it is: what the next version adds was not there, as the model's defaults say."""
    return document


# Each version added something that older runs did not have, as the model's defaults say: the history is in `model`.
RUN = Format(
    RunRecord, "a record of openslob", "record_version", RECORD_VERSION, dict.fromkeys((1, 2, 3, 4, 5), take_defaults)
)
