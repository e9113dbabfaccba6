"""Records that are one document, as objects: their text, page, table and verdicts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openslob.api.drawing import Pictured
from openslob.api.results import Results
from openslob.api.run_result import FigureValue, verdict_row
from openslob.api.table import Cell, Named, Table, as_row
from openslob.kinds import runs
from openslob.kinds.ab import KIND as AB
from openslob.kinds.ab.record import AbRecord
from openslob.kinds.ab.report import ab_answers, ab_document
from openslob.kinds.endurance.record import EnduranceRecord
from openslob.kinds.endurance.report import endurance_document, endurance_headline
from openslob.kinds.lab.record import LabRecord
from openslob.kinds.lab.report import lab_answers, lab_document, lab_rows
from openslob.kinds.repeated.record import RepeatedRecord
from openslob.kinds.repeated.report import repeated_document, repeated_headline
from openslob.kinds.storage.record import StorageRecord
from openslob.kinds.storage.report import storage_document, storage_headline
from openslob.metrics import METRICS, STORAGE_METRICS, Metric
from openslob.record.model import DocumentModel, Figure, Verdict
from openslob.report.document import Document
from openslob.report.notebook import document_html
from openslob.report.terminal import render_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from openslob.report.html.page import Page


class Reported(Pictured):
    """A record that is one document, with its report and a table of its main part.

    Attributes:
        record: Everything in the record's document, as a pydantic model.
        folder: The folder of the record.

    """

    record: Any
    folder: Path

    def __init__(self, record: DocumentModel, folder: Path) -> None:
        self.record = record
        self.folder = folder

    @abstractmethod
    def _document(self) -> Document:
        """Return the report."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """A row for each part of the record."""

    @cached_property
    def verdicts(self) -> Named[Verdict]:
        """Every verdict by name: its outcome, the reason, and the figures it is based on."""
        return Named("verdict", {verdict.name: verdict for verdict in self.record.verdicts}, verdict_row)

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table.to_polars()

    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""
        return render_text(self._document())

    def _repr_html_(self) -> str:
        """Return the answers, the verdicts that do not hold and the table for a notebook."""
        table = self.table
        return document_html(self._document(), table.columns, [list(row.values()) for row in table])

    def _page(self) -> Page:
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.page import page_of  # noqa: PLC0415

        return page_of(self._document())


class LabResult(Reported):
    """What settings cost, as `openslob.lab` and `openslob.read_lab` return it."""

    record: LabRecord

    @property
    def answers(self) -> tuple[str, ...]:
        """The result in sentences: what was measured, then what each value does."""
        return lab_answers(self.record)

    @property
    def table(self) -> Table:
        """A row for each value of a setting, load and figure: the ratio to the value here, with its interval."""
        return Table.of(lab_rows(self.record))

    def __repr__(self) -> str:
        """Return the id and what was compared."""
        return f"<Lab {self.record.id}: {', '.join(arm.label for arm in self.record.arms)}>"

    def _document(self) -> Document:
        return lab_document(self.record, self.folder)


class AbResult(Reported):
    """A comparison in pairs, as `openslob.ab` and `openslob.read_ab` return it."""

    record: AbRecord

    @property
    def decision(self) -> str:
        """Whether B is ``better``, ``worse`` or the ``same``, or that it is ``undecided``."""
        return self.record.decision

    @property
    def answers(self) -> tuple[str, ...]:
        """The result in sentences: the decision, then what is to be known of it."""
        return tuple(ab_answers(self.record))

    @property
    def table(self) -> Table:
        """A row for each figure: its medians on both sides, and the ratio of B to A with its interval."""
        return Table.of(AB.ratios(self.record))

    def __repr__(self) -> str:
        """Return the id and the decision."""
        return f"<Ab {self.record.id}: {self.answers[0]}>"

    def _document(self) -> Document:
        return ab_document(self.record, self.folder)


class LastingResult(Reported):
    """What results of hours and days have in common. Their folders have the folders of their runs."""

    record: EnduranceRecord | RepeatedRecord

    @property
    @abstractmethod
    def answer(self) -> str:
        """The result in a few sentences."""

    @cached_property
    def figures(self) -> Named[FigureValue]:
        """Every figure of the whole by name."""
        return _figures(self.record.summary, METRICS)

    @cached_property
    def runs(self) -> Results:
        """The runs that it consists of, as `openslob.read` returns them. UsageError if there is none yet."""
        return Results.of(runs.load(self.folder))

    def __repr__(self) -> str:
        """Return the id and the result in a few sentences."""
        return f"<{type(self).__name__.removesuffix('Result')} {self.record.id}: {self.answer}>"


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

    def _document(self) -> Document:
        return endurance_document(self.record, self.folder)


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

    def _document(self) -> Document:
        return repeated_document(self.record, self.folder)


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
        return _figures(self.record.summary, STORAGE_METRICS)

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


def _figures(summary: Mapping[str, Figure], metrics: Mapping[str, Metric]) -> Named[FigureValue]:
    return Named("figure", {name: _figure(each, name, metrics.get(name)) for name, each in summary.items()}, as_row)


def _figure(figure: Figure, name: str, metric: Metric | None) -> FigureValue:
    label, definition = (metric.label, metric.definition) if metric else (name.replace("_", " "), "")
    return FigureValue(figure.value, figure.unit, figure.why, label, definition)


def _rows(rows: Sequence[Mapping[str, Cell]]) -> Table:
    return Table.of(list(rows))
