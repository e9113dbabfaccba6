"""A lab as an object: what each setting costs, as a table, sentences, a picture and a page."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.api.drawing import Drawn
from openslob.api.run_result import verdict_row
from openslob.api.table import Named, Table
from openslob.record.lab import LabRecord
from openslob.record.model import Verdict
from openslob.report.lab import lab_answers, lab_rows, render_lab
from openslob.report.notebook import lines_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from openslob.report.html.page import Page


class LabResult(Drawn):
    """What settings cost, as `openslob.lab` and `openslob.read_lab` return it.

    Attributes:
        record: Everything in `lab.json`, as a pydantic model.
        folder: The folder of the record.

    """

    def __init__(self, record: LabRecord, folder: Path) -> None:
        self.record = record
        self.folder = folder

    @property
    def answers(self) -> tuple[str, ...]:
        """The result in sentences: what was measured, then what each value does."""
        return lab_answers(self.record)

    @cached_property
    def verdicts(self) -> Named[Verdict]:
        """Every verdict by name: its outcome, the reason, and the figures it is based on."""
        return Named("verdict", {verdict.name: verdict for verdict in self.record.verdicts}, verdict_row)

    @property
    def table(self) -> Table:
        """A row for each value of a setting, load and figure: the ratio to the value here, with its interval."""
        return Table.of(lab_rows(self.record))

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table.to_polars()

    def text(self) -> str:
        """Return the report for a terminal, as `slob show` prints it."""
        return render_lab(self.record, self.folder)

    def __repr__(self) -> str:
        """Return the id and what was compared."""
        return f"<Lab {self.record.id}: {', '.join(arm.label for arm in self.record.arms)}>"

    def _repr_html_(self) -> str:
        """Return the answers and the table for a notebook."""
        table = self.table
        return lines_html(self.record.name, list(self.answers), table.columns, [list(row.values()) for row in table])

    def _page(self) -> Page:
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.pages import lab_page  # noqa: PLC0415

        return lab_page(self.record)
