"""What records that are one document have in common: text, page, table and verdicts."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openslob.api.drawing import Pictured
from openslob.api.run_result import verdict_row
from openslob.api.table import Named, Table
from openslob.record.model import DocumentModel, Verdict
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
