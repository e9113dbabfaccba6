"""Old records stay readable: each step lifts a document of one version to the next, until it is of today's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from openslob.errors import SlobError
from openslob.record.model import RECORD_VERSION, RunRecord

Document = dict[str, Any]


def _without_response(document: Document) -> Document:
    # No run had a rate then.
    return document


# Version n to the step that makes it n + 1. A change of the model adds a step here and a fixture of the old version.
STEPS: Mapping[int, Callable[[Document], Document]] = {1: _without_response}


def from_document(document: object, source: str) -> RunRecord:
    """The record in a parsed JSON document of any version up to today's; ``source`` names it in errors.

    SlobError when it is no record, is newer than this program, or does not fit the model.
    """
    if not isinstance(document, dict) or not isinstance(document.get("record_version"), int):
        raise SlobError(f"{source} is not a record of openslob", "it has no record_version")
    version = document["record_version"]
    if version > RECORD_VERSION:
        raise SlobError(
            f"{source} has record version {version}, this openslob reads up to {RECORD_VERSION}", "update it"
        )
    try:
        return RunRecord.model_validate(_lifted(document, version, source))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SlobError(f"{source} is damaged at {where!r}: {first['msg']}") from error


def _lifted(document: Document, version: int, source: str) -> Document:
    while version < RECORD_VERSION:
        if version not in STEPS:
            raise SlobError(f"{source} has record version {version}, which was never published", "it is damaged")
        document = {**STEPS[version](document), "record_version": version + 1}
        version += 1
    return document
