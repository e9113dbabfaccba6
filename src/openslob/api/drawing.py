"""What all records have in common: pictures by name, and the HTML report."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from openslob.api.table import unknown
from openslob.core.disk import write_atomically
from openslob.core.errors import SlobError
from openslob.core.extras import require_extra

if TYPE_CHECKING:
    from openslob.report.charts.picture import Chart
    from openslob.report.html.page import Page


class Pictured(ABC):
    """A record, or several, with a page: its pictures, and the page as a file."""

    @abstractmethod
    def _page(self) -> Page:
        """Return the page of the report."""

    @cached_property
    def _report(self) -> Page:
        require_extra("pictures")
        return self._page()

    @property
    def plots(self) -> list[str]:
        """The names of the pictures that `plot` draws, the most telling first."""
        return [picture.name for picture in self._report.pictures]

    def plot(self, name: str | None = None, theme: Literal["light", "dark"] = "light") -> Chart:
        """Return a picture as an Altair chart, which notebooks show and which can be saved or changed.

        Args:
            name: One of `plots`; by default the first one.
            theme: light or dark.

        Raises:
            UnknownNameError: There is no such picture.

        """
        pictures = {picture.name: picture for picture in self._report.pictures}
        from openslob.report.charts.colours import Theme  # noqa: PLC0415 - takes a moment to import
        from openslob.report.charts.picture import chart  # noqa: PLC0415

        if name is not None and name not in pictures:
            raise unknown(name, "picture", list(pictures))
        if not pictures:
            raise SlobError("there is nothing to draw: nothing was measured")
        return chart(pictures[name or self.plots[0]], Theme(theme))

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Write the HTML report, one file that needs no network, and return its path. SlobError on failure."""
        path, page = Path(file), self._report
        from openslob.report.html.page import render_page  # noqa: PLC0415 - takes a moment to import

        try:
            write_atomically(path, render_page(page))
        except OSError as error:
            raise SlobError(f"{path} can't be written: {error.strerror}", "name another file") from error
        return path
