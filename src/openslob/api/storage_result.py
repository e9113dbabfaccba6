"""A measurement of storage without a database as an object: figures, steps, pictures and report."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.api.drawing import Drawn
from openslob.api.run_result import FigureValue, verdict_row
from openslob.api.table import Named, Table, as_row
from openslob.metrics import STORAGE_METRICS
from openslob.record.model import Figure, Verdict
from openslob.record.storage import StorageRecord
from openslob.report.notebook import lines_html
from openslob.report.storage import render_storage, storage_headline

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from openslob.report.html.page import Page


class StorageResult(Drawn):
    """One measurement of storage, as `openslob.read_storage` returns it.

    Attributes:
        record: Everything in `storage.json`, as a pydantic model.
        folder: The folder of the record.

    """

    def __init__(self, record: StorageRecord, folder: Path) -> None:
        self.record = record
        self.folder = folder

    @property
    def answer(self) -> str:
        """The result in one sentence; empty for a measurement without one."""
        return storage_headline(self.record) or ""

    @cached_property
    def figures(self) -> Named[FigureValue]:
        """Every figure of the summary by name (docs/figures.md)."""
        return Named("figure", {name: _figure(name, each) for name, each in self.record.summary.items()}, as_row)

    @cached_property
    def verdicts(self) -> Named[Verdict]:
        """Every verdict by name: its outcome, the reason, and the figures it is based on."""
        return Named("verdict", {verdict.name: verdict for verdict in self.record.verdicts}, verdict_row)

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

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table.to_polars()

    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""
        return render_storage(self.record, self.folder)

    def __repr__(self) -> str:
        """Return the id and the result in one sentence."""
        return f"<Storage {self.record.id}: {self.answer or self.record.status.value}>"

    def _repr_html_(self) -> str:
        """Return the answer and the steps for a notebook."""
        table = self.table
        rows = [list(row.values()) for row in table]
        return lines_html(self.record.name, list(filter(None, [self.answer])), table.columns, rows)

    def _page(self) -> Page:
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.pages import storage_page  # noqa: PLC0415

        return storage_page(self.record)


def _figure(name: str, figure: Figure) -> FigureValue:
    metric = STORAGE_METRICS.get(name)
    label, definition = (metric.label, metric.definition) if metric else (name.replace("_", " "), "")
    return FigureValue(figure.value, figure.unit, figure.why, label, definition)
