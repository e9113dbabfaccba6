"""Several runs as an object: a sequence of runs, with their points, tables, pictures and report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, overload

from openslob.api.drawing import Pictured
from openslob.api.run_result import RunResult
from openslob.api.table import Table
from openslob.core.errors import UsageError
from openslob.export.tidy import Row, point_rows, run_rows
from openslob.kinds.runs import Runs
from openslob.kinds.sweep.record import SweepRecord
from openslob.report.notebook import known_columns, lines_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from openslob.report.html.page import Page

Per = Literal["point", "run"]
# Points and columns that a notebook shows; the data frames have all of them.
MOST_POINTS_SHOWN = 40


@dataclass(frozen=True)
class Results(Runs, Pictured, Sequence[RunResult]):
    """Runs in the order in which they began: those of a sweep, of one name, or of a folder.

    Attributes:
        name: What was asked for.
        runs: The runs with their parameters, as the analysis takes them; the sequence itself has them as objects.
        folders: The folders of their records.
        problems: Why records could not be read, if any could not.
        against: The parameter whose two values a sweep compares, None if it compares none.
        whole: The record of the sweep or the lab, if these are the runs of just one.

    """

    @classmethod
    def of(cls, found: Runs) -> Results:
        """Return runs as this object."""
        return cls(**{each.name: getattr(found, each.name) for each in fields(Runs)})

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, at: int) -> RunResult: ...

    @overload
    def __getitem__(self, at: slice) -> list[RunResult]: ...

    def __getitem__(self, at: int | slice) -> RunResult | list[RunResult]:
        """Return a run, or several."""
        return list(self)[at]

    def __iter__(self) -> Iterator[RunResult]:
        return (RunResult(run, folder) for run, folder in zip(self.runs, self.folders, strict=True))

    @property
    def sweep(self) -> SweepRecord | None:
        """The record of the sweep, if these are the runs of just one."""
        return self.whole if isinstance(self.whole, SweepRecord) else None

    @property
    def run(self) -> RunResult:
        """The only run. UsageError when there are several."""
        if len(self) != 1:
            raise UsageError(f"{self.name} is {len(self)} runs", "take one of them, such as [0]")
        return self[0]

    @property
    def answers(self) -> tuple[str, ...]:
        """The result in sentences, which claim no more than the verdicts support."""
        return self._report.answers

    def rows(self) -> list[Row]:
        """Return a tidy table, one row for each run: parameters and figures by name, the unit at the end of a name."""
        return run_rows(self.runs)

    def point_rows(self) -> list[Row]:
        """Return a tidy table, one row for each point: mean figures, and half interval widths as ``…_ci95``."""
        return point_rows(self.points().points)

    def table(self, per: Per = "point") -> Table:
        """Return a row for each point, as `point_rows` does, or for each run, as `rows` does."""
        if per not in ("point", "run"):
            raise UsageError(f"per={per!r} is not allowed", "a row is one per 'point' or per 'run'")
        return Table.of(self.rows() if per == "run" else self.point_rows())

    def to_pandas(self, per: Per = "point") -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table(per).to_pandas()

    def to_polars(self, per: Per = "point") -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table(per).to_polars()

    def __repr__(self) -> str:
        """Return the name and how many runs there are."""
        return f"<Results {self._what()}>"

    def _repr_html_(self) -> str:
        """Return the answers and the points for a notebook; of a single run, what the run itself shows."""
        if len(self) == 1 and self.sweep is None:
            return self.run._repr_html_()
        section = next((each for each in self._report.sections if each.table and each.title == "The points"), None)
        head, rows = known_columns(section.table.head, section.table.rows) if section and section.table else ([], [])
        more = f"{MOST_POINTS_SHOWN} of {len(rows)} points are shown." if len(rows) > MOST_POINTS_SHOWN else ""
        lines = [*self._report.banners, *self.answers, f"Verdicts: {self._report.verdict_counts}.", more]
        return lines_html(self._what(), list(filter(None, lines)), head, rows[:MOST_POINTS_SHOWN])

    def _what(self) -> str:
        return f"{self.name}: {len(self)} run{'' if len(self) == 1 else 's'}"

    def _page(self) -> Page:
        return self.page()
