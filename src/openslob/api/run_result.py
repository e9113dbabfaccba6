"""One run as an object: figures, verdicts, raw measurements as tables, pictures and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openslob.analyze.curves.points import LATENCIES, Run
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.required import list_unanswered, list_unmet, say_unmet
from openslob.analyze.verdict_registry import REQUIRABLE
from openslob.api.drawing import Pictured
from openslob.api.table import Cell, Named, Table, as_row
from openslob.core.errors import UndecidedError, VerdictError
from openslob.export.tidy import run_rows
from openslob.metrics import METRICS
from openslob.metrics.run_metrics import latency_of
from openslob.record.model import Holds, RunRecord, Verdict
from openslob.record.raw_csv import raw_table
from openslob.report.headline import headline
from openslob.report.notebook import run_html
from openslob.report.record_view import label
from openslob.report.slowest import slowest_of
from openslob.report.text import render, run_document

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from openslob.report.html.page import Page


@dataclass(frozen=True)
class FigureValue:
    """A figure of a run: its value with its unit, or None with the reason why it is not known, and what it means."""

    value: float | None
    unit: str
    reason: str | None
    label: str
    definition: str

    def __float__(self) -> float:
        """Return the value. UndecidedError when it is not known: it must not be taken for 0."""
        if self.value is None:
            raise UndecidedError(f"{self.label} is not known: {self.reason or 'it was not recorded'}")
        return self.value


class RunResult(Pictured):
    """One run, as `openslob.run` and `openslob.read` return it.

    Attributes:
        folder: The folder of the record, with the raw measurements.
        analysed: The record with its parameters and its time line, as the analysis takes it.

    """

    def __init__(self, run: Run, folder: Path) -> None:
        self.analysed = run
        self.folder = folder

    @property
    def record(self) -> RunRecord:
        """Everything in `run.json`, as a pydantic model."""
        return self.analysed.record

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.record.name

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.record.id

    @property
    def status(self) -> str:
        """How the run ended: complete, interrupted or failed."""
        return self.record.status.value

    @property
    def answer(self) -> str:
        """The result in one sentence, which claims no more than the verdicts support."""
        return headline(self.record)

    @property
    def parameters(self) -> Mapping[str, Cell]:
        """Every parameter of the workload by name, with server settings that a sweep varied.

        Of an observation, its load in words.
        """
        return {**load_kind(self.record).parameters(self.record), **self.analysed.parameters}

    @cached_property
    def figures(self) -> Named[FigureValue]:
        """Every figure by name (docs/figures.md), and latencies by kind of operation, such as ``select_p99_us``."""
        return Named("figure", {**_summary(self.record), **_latencies(self.record)}, as_row)

    @cached_property
    def verdicts(self) -> Named[Verdict]:
        """Every verdict by name: its outcome, the reason, and the figures it is based on."""
        return Named("verdict", {verdict.name: verdict for verdict in self.record.verdicts}, verdict_row)

    def require(self, *names: str) -> Self:
        """Return the run if these verdicts hold; without names, unless any fails.

        ``valid``, ``read`` and ``undisturbed`` require the verdicts that answer these questions, notes apart.

        Raises:
            VerdictError: One of them fails.
            UndecidedError: One of them is unknown, or no verdict answers a question.
            UnknownNameError: There is no such verdict.

        """
        every = list(self.verdicts.values())
        for name in names:
            if name not in REQUIRABLE:
                self.verdicts[name]
        failing = [(each.name, each) for each in every if each.verdict is Holds.FAILS]
        if unmet := list_unmet(every, names) if names else failing:
            error = VerdictError if unmet[0][1].verdict is Holds.FAILS else UndecidedError
            raise error("; ".join(say_unmet(name, each) for name, each in unmet))
        if unanswered := list_unanswered(every, names):
            raise UndecidedError(f"not known to be {unanswered[0]}: no verdict is about that")
        return self

    def slices(self) -> Table:
        """Return what each session did in each slice of the window: operations, rows, times by the server's clock."""
        return self._raw("slices.csv")

    def samples(self) -> Table:
        """Return the readings of the engine's cumulative counters."""
        return self._raw("samples.csv")

    def engine(self) -> Table:
        """Return what the engine did between two readings, by the same names for every engine."""
        return self._raw("engine.csv")

    def host(self) -> Table:
        """Return the readings of the operating system's cumulative counters."""
        return self._raw("os.csv")

    def waits(self) -> Table:
        """Return the number of sessions in each wait event, sample by sample."""
        return self._raw("waits.csv")

    def latency(self) -> Table:
        """Return the service times of operations: counts by second, kind of operation and bucket."""
        return self._raw("latency.csv")

    def response(self) -> Table:
        """Return the times from the due time of operations, in the form of `latency`; empty without a given rate."""
        return self._raw("response.csv")

    def events(self) -> Table:
        """Return what happened during the run: phases, notes, errors, and when its window began."""
        return self._raw("events.csv")

    def slowest(self) -> Table:
        """Return the slowest operations of each kind, and the seconds of the load between which each of them ran."""
        found = slowest_of([self.record], None)
        rows: list[list[Cell]] = [[each.kind, each.us, each.session, each.from_s, each.to_s] for each in found]
        return Table(("kind", "us", "session", "from_s", "to_s"), rows)

    def engine_latency(self) -> Table:
        """Return the waits for storage between two readings by duration; empty unless the engine counts them so."""
        return self._raw("engine_latency.csv")

    def table(self) -> Table:
        """Return one row with the parameters and all figures by name."""
        return Table.of(run_rows([self.analysed]))

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table().to_polars()

    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""
        return render(self.record, self.folder)

    def __repr__(self) -> str:
        """Return the id and the result in one sentence."""
        return f"<Run {self.id}: {self.answer}>"

    def _repr_html_(self) -> str:
        """Return the answer, the verdicts that do not hold, and the main figures for a notebook."""
        return run_html(self.record)

    def _raw(self, name: str) -> Table:
        return Table(*raw_table(self.folder, name))

    def _page(self) -> Page:
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.page import page_of  # noqa: PLC0415

        return page_of(run_document(self.record, self.folder))


def _summary(record: RunRecord) -> dict[str, FigureValue]:
    return {
        name: FigureValue(figure.value, figure.unit, figure.why, label(record, name), METRICS[name].definition)
        for name in load_kind(record).figures(record)
        if (figure := record.summary.get(name))
    }


def _latencies(record: RunRecord) -> dict[str, FigureValue]:
    known = {
        f"{kind}_{name}": value
        for kind in record.latency
        for name in LATENCIES
        if (value := latency_of(record, kind, name)) is not None
    }
    what = "service time of operations of this kind, or response time from the due time, over the window"
    return {name: FigureValue(value, "µs", None, name.replace("_", " "), what) for name, value in known.items()}


def verdict_row(verdict: Verdict) -> Mapping[str, Cell]:
    """Return the row of a verdict in a table."""
    return {"verdict": verdict.verdict.value, "why": verdict.why}
