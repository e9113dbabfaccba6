"""Runs of hours and days as objects: an endurance run, and the same run again and again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.api import records
from openslob.api.drawing import Drawn
from openslob.api.results import Results
from openslob.api.run_result import FigureValue, verdict_row
from openslob.api.table import Cell, Named, Table, as_row
from openslob.metrics import METRICS
from openslob.record.endurance import EnduranceRecord
from openslob.record.model import Verdict
from openslob.record.repeated import RepeatedRecord
from openslob.report.endurance_text import endurance_headline, render_endurance
from openslob.report.notebook import lines_html
from openslob.report.repeated_text import render_repeated, repeated_headline

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from openslob.report.html.page import Page


class LastingResult(Drawn):
    """What results of hours and days have in common.

    Attributes:
        record: Everything in the record's document, as a pydantic model.
        folder: The folder of the record, which has the folders of its runs.

    """

    def __init__(self, record: EnduranceRecord | RepeatedRecord, folder: Path) -> None:
        self.record = record
        self.folder = folder

    @property
    @abstractmethod
    def answer(self) -> str:
        """The result in a few sentences."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The course of the result, a row for each part of it."""

    @abstractmethod
    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""

    @cached_property
    def figures(self) -> Named[FigureValue]:
        """Every figure of the whole by name."""
        found = {name: _figure(name, each.value, each.unit, each.why) for name, each in self.record.summary.items()}
        return Named("figure", found, as_row)

    @cached_property
    def verdicts(self) -> Named[Verdict]:
        """Every verdict on the whole by name: its outcome, and the reason."""
        return Named("verdict", {verdict.name: verdict for verdict in self.record.verdicts}, verdict_row)

    @cached_property
    def runs(self) -> Results:
        """The runs that it consists of, as `openslob.read` returns them. UsageError if there is none yet."""
        return records.load(self.folder)

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table.to_polars()

    def __repr__(self) -> str:
        """Return the id and the result in a few sentences."""
        return f"<{type(self).__name__.removesuffix('Result')} {self.record.id}: {self.answer}>"

    def _repr_html_(self) -> str:
        """Return the answer and the course for a notebook."""
        table = self.table
        return lines_html(self.record.name, [self.answer], table.columns, [list(row.values()) for row in table])


class EnduranceResult(LastingResult):
    """A run of hours or days, as `openslob.endure` and `openslob.read_endurance` return it."""

    record: EnduranceRecord

    @property
    def answer(self) -> str:
        """The result in a few sentences."""
        return endurance_headline(self.record)

    @property
    def table(self) -> Table:
        """A row for each period: when it was (seconds of the run), its rates and percentiles. None: not known."""
        return _rows(self.record.tables.get("levels", ()))

    @property
    def happenings(self) -> Table:
        """A row for each thing that happened, such as a checkpoint or a gap: what, from when until when, and why."""
        return _rows(self.record.tables.get("marks", ()))

    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""
        return render_endurance(self.record, self.folder)

    def _page(self) -> Page:
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.pages import endurance_page  # noqa: PLC0415

        return endurance_page(self.record, self.folder)


class RepeatedResult(LastingResult):
    """The same run at fixed times, as `openslob.repeat` and `openslob.read_repeated` return it."""

    record: RepeatedRecord

    @property
    def answer(self) -> str:
        """The result in a few sentences."""
        return repeated_headline(self.record)

    @property
    def table(self) -> Table:
        """A row for each time: when a run was due, what became of it, and its figures. None: not known."""
        figures = list(dict.fromkeys(name for each in self.record.times for name in each.figures))
        rows = [
            {
                "number": each.number,
                "due_s": each.due_s,
                "state": each.state.value,
                "run": each.run,
                **{name: each.figures.get(name) for name in figures},
                "why": each.why or None,
            }
            for each in self.record.times
        ]
        return Table.of(rows)

    @property
    def changes(self) -> Table:
        """A row for each change point: the figure, from which run on, before and after, and how probable it is."""
        return _rows(self.record.changes)

    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""
        return render_repeated(self.record, self.folder)

    def _page(self) -> Page:
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.pages import repeated_page  # noqa: PLC0415

        return repeated_page(self.record)


def _rows(rows: Sequence[Mapping[str, Cell]]) -> Table:
    return Table.of(list(rows))


def _figure(name: str, value: float | None, unit: str, why: str | None) -> FigureValue:
    metric = METRICS.get(name)
    label, definition = (metric.label, metric.definition) if metric else (name.replace("_", " "), "")
    return FigureValue(value, unit, why, label, definition)
