"""The course of a load, read from its record."""

from __future__ import annotations

from pathlib import Path

from openslob.analyze.load_kinds import load_kind
from openslob.analyze.run_folder import tables_of
from openslob.analyze.trace import Trace, trace_of
from openslob.record.model import RunRecord
from openslob.record.raw_csv import event_rows


def read_trace(folder: Path, record: RunRecord) -> Trace:
    """Return the course in equal steps of the load of a record that has a window."""
    assert record.window
    seconds, late = record.window.load_seconds, load_kind(record).publishes_late
    return trace_of(tables_of(folder, record), seconds, event_rows(folder), late)
