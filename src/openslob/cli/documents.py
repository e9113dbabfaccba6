"""The report of each kind of record that is one document, as `slob show` and `slob report` show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openslob.record import crash, endurance, failover, lab, repeated, storage
from openslob.record.endurance import EnduranceRecord
from openslob.record.finding import Found, Kind
from openslob.report.crash import crash_document
from openslob.report.document import Document
from openslob.report.endurance import with_figures
from openslob.report.endurance_text import endurance_document
from openslob.report.failover import failover_document
from openslob.report.lab import lab_document
from openslob.report.repeated import repeated_document
from openslob.report.storage import storage_document


def _endured(path: Path) -> EnduranceRecord:
    """Read an endurance run, with the figures of segments whose driver was killed."""
    record = endurance.load(path)
    return with_figures(path if path.is_dir() else path.parent, record) if record.has_news else record


# What reads a record of a kind, and what makes its report.
DOCUMENTS: Mapping[Kind, tuple[Callable[[Path], Any], Callable[..., Document]]] = {
    Kind.CRASH: (crash.load, crash_document),
    Kind.ENDURANCE: (_endured, endurance_document),
    Kind.FAILOVER: (failover.load, failover_document),
    Kind.LAB: (lab.load, lab_document),
    Kind.REPEATED: (repeated.load, repeated_document),
    Kind.STORAGE: (storage.load, storage_document),
}


def read_document(found: Found) -> tuple[Any, Document]:
    """Return a record of one of the kinds of `DOCUMENTS`, and its report."""
    load, document = DOCUMENTS[found.kind]
    record = load(found.path)
    return record, document(record, found.folder)
