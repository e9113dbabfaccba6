"""A measurement of storage without a database as an object: figures, steps, pictures and report."""

from __future__ import annotations

from functools import cached_property

from openslob.api.reported import Reported
from openslob.api.run_result import FigureValue
from openslob.api.table import Named, Table, as_row
from openslob.kinds.storage.record import StorageRecord
from openslob.kinds.storage.report import storage_document, storage_headline
from openslob.metrics import STORAGE_METRICS
from openslob.record.model import Figure
from openslob.report.document import Document


class StorageResult(Reported):
    """One measurement of storage, as `openslob.read_storage` returns it."""

    record: StorageRecord

    @property
    def answer(self) -> str:
        """The result in one sentence; empty for a measurement without one."""
        return storage_headline(self.record) or ""

    @cached_property
    def figures(self) -> Named[FigureValue]:
        """Every figure of the summary by name (docs/figures.md)."""
        return Named("figure", {name: _figure(name, each) for name, each in self.record.summary.items()}, as_row)

    @property
    def table(self) -> Table:
        """A row for each step, with its load and its figures."""
        figures = list(dict.fromkeys(name for step in self.record.steps for name in step.figures))
        rows = [
            {
                "step": step.number,
                "name": step.name,
                "purpose": step.purpose,
                "in_flight": step.load.in_flight if step.load else None,
                "block_bytes": step.load.block_bytes if step.load else None,
                **{name: step.value(name) for name in figures},
            }
            for step in self.record.steps
        ]
        return Table.of(rows)

    def __repr__(self) -> str:
        """Return the id and the result in one sentence."""
        return f"<Storage {self.record.id}: {self.answer or self.record.status.value}>"

    def _document(self) -> Document:
        return storage_document(self.record, self.folder)


def _figure(name: str, figure: Figure) -> FigureValue:
    metric = STORAGE_METRICS.get(name)
    label, definition = (metric.label, metric.definition) if metric else (name.replace("_", " "), "")
    return FigureValue(figure.value, figure.unit, figure.why, label, definition)
