"""The comparison of two sets of runs as an object: table, text, and the differing conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openslob.analyze.compare import Comparison, Mismatch, Pair
from openslob.analyze.differences import Difference
from openslob.api.results import Results
from openslob.api.run_result import RunResult
from openslob.api.table import Cell, Table
from openslob.core.errors import SlobError
from openslob.kinds import runs
from openslob.kinds.runs import Runs
from openslob.report.comparison import (
    change_cells,
    comparison_document,
    comparison_json,
    is_listed,
    labels_for,
    main_differences,
    summary,
    value_cells,
)
from openslob.report.notebook import lines_html
from openslob.report.terminal import render_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ComparisonResult:
    """How side B differs from side A in every figure, with 95 % intervals, as `openslob.compare` returns it.

    Attributes:
        comparison: The points of both sides in pairs, with all differences, as the analysis has them.

    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def answer(self) -> str:
        """The result in one or two sentences."""
        return summary(self.comparison)

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """The conditions that are not the same on both sides."""
        return self.comparison.mismatches

    @property
    def table(self) -> Table:
        """A row for each figure at each point; for several points also of the mean over them, as point ``mean``."""
        rows = [_row(pair.label, each) for pair in self.comparison.pairs for each in _of(pair)]
        return Table.of([*(_row("mean", each) for each in self.comparison.overall.values()), *rows])

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table.to_polars()

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values, as `slob compare --json` prints it."""
        return comparison_json(self.comparison)

    def text(self) -> str:
        """Return the comparison for a terminal, as `slob compare` prints it."""
        return render_text(comparison_document(self.comparison))

    def __repr__(self) -> str:
        """Return the result in one or two sentences."""
        return f"<Comparison of {self.comparison.name_b} with {self.comparison.name_a}: {self.answer}>"

    def _repr_html_(self) -> str:
        """Return the answer and the main differences for a notebook."""
        several, label = len(self.comparison.pairs) > 1, labels_for(self.comparison.pairs)
        head = ("figure", *(() if several else ("A", "B")), "B against A", "difference")
        rows = [
            (label(name), *(() if several else value_cells(each)), *change_cells(each)[:2])
            for name, each in main_differences(self.comparison).items()
            if is_listed(name, each)
        ]
        differing = [f"Not the same on both sides: {each.name}" for each in self.mismatches]
        title = f"A: {self.comparison.name_a}, B: {self.comparison.name_b}"
        return lines_html(title, [self.answer, *differing], head, rows)


def compare_sides(
    a: Results | RunResult, b: Results | RunResult, anyway: bool, like: Results | RunResult | None, see_pct: float
) -> ComparisonResult:
    """Return the comparison of two sides.

    Raises:
        UsageError: A run is on both sides, or no point is.
        SlobError: The conditions differ, unless ``anyway``.

    """
    comparison = runs.compare(_as_runs(a), _as_runs(b), _as_runs(like) if like else None, see_pct)
    if comparison.mismatches and not anyway:
        differing = ", ".join(each.name for each in comparison.mismatches)
        raise SlobError(
            f"{a.name} and {b.name} can't be compared: these conditions differ: {differing}",
            "anyway=True compares them and names the differences",
        )
    return ComparisonResult(comparison)


def _as_runs(side: Results | RunResult) -> Runs:
    return side if isinstance(side, Results) else Runs(side.name, (side.analysed,), (side.folder,))


def _of(pair: Pair) -> list[Difference]:
    return list(pair.differences.values())


def _row(point: str, each: Difference) -> Mapping[str, Cell]:
    return {
        "point": point,
        "figure": each.figure,
        "unit": each.unit,
        "a": each.a.mean,
        "b": each.b.mean,
        "outcome": each.outcome.value,
        "change": each.change,
        "change_low": each.change_low,
        "change_high": each.change_high,
        "pct": each.pct,
        "pct_low": each.pct_low,
        "pct_high": each.pct_high,
        "repeats_needed": each.repeats_needed,
        "why": each.why or None,
    }
