"""Runs of hours and days as objects: an endurance run, and the same run again and again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property

from openslob.api.reported import Reported
from openslob.api.results import Results
from openslob.api.run_result import FigureValue
from openslob.api.table import Cell, Named, Table, as_row
from openslob.kinds import runs
from openslob.kinds.endurance.record import EnduranceRecord
from openslob.kinds.endurance.report import endurance_document, endurance_headline
from openslob.kinds.repeated.record import RepeatedRecord
from openslob.kinds.repeated.report import repeated_document, repeated_headline
from openslob.metrics import METRICS
from openslob.report.document import Document


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
        found = {name: _figure(name, each.value, each.unit, each.why) for name, each in self.record.summary.items()}
        return Named("figure", found, as_row)

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


def _rows(rows: Sequence[Mapping[str, Cell]]) -> Table:
    return Table.of(list(rows))


def _figure(name: str, value: float | None, unit: str, why: str | None) -> FigureValue:
    metric = METRICS.get(name)
    label, definition = (metric.label, metric.definition) if metric else (name.replace("_", " "), "")
    return FigureValue(value, unit, why, label, definition)
