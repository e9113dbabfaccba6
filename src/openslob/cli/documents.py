"""The report of each kind of record that is one document, as `slob show` and `slob report` show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openslob.record import crash, lab
from openslob.record.finding import Found, Kind
from openslob.report.crash import crash_document
from openslob.report.document import Document
from openslob.report.lab import lab_document

# What reads a record of a kind, and what makes its report.
DOCUMENTS: Mapping[Kind, tuple[Callable[[Path], Any], Callable[[Any, Path], Document]]] = {
    Kind.CRASH: (crash.load, crash_document),
    Kind.LAB: (lab.load, lab_document),
}


def read_document(found: Found) -> tuple[Any, Document]:
    """Return a record of one of the kinds of `DOCUMENTS`, and its report."""
    load, document = DOCUMENTS[found.kind]
    record = load(found.path)
    return record, document(record, found.folder)
