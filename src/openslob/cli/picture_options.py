"""Options of pictures that are written as files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from openslob.core.errors import UsageError
from openslob.report.charts.colours import Theme, ending_of

# What a file with such an ending is expected to be.
PICTURE_ENDINGS = frozenset({".png", ".svg", ".html", ".htm", ".pdf", ".jpg", ".jpeg", ".gif", ".webp"})
_PAGE_ENDINGS = frozenset({".html", ".htm"})


def refuse_picture(path: Path | None, content: str, hint: str, *, page: bool = False) -> None:
    """Raise UsageError if ``path`` is named as a picture, because ``content`` is none. A ``page`` may be HTML."""
    refused = PICTURE_ENDINGS - _PAGE_ENDINGS if page else PICTURE_ENDINGS
    if path is not None and path.suffix.lower() in refused:
        raise UsageError(f"{path} is named as a picture, but {content}", hint)


class PictureTheme(StrEnum):
    """The ground of pictures in files, or one file for each."""

    LIGHT = "light"
    DARK = "dark"
    BOTH = "both"

    @property
    def themes(self) -> tuple[Theme, ...]:
        """The themes to draw."""
        return tuple(Theme) if self is PictureTheme.BOTH else (Theme(self),)

    def files(self, path: Path) -> list[tuple[Path, Theme]]:
        """Return the files to draw instead of ``path``, which is one for a page: it follows the reader's system."""
        if path.suffix.lower() == ".html":
            return [(path, Theme.LIGHT)]
        return [
            (path.with_name(f"{path.stem}{ending_of(each, self.themes)}{path.suffix}"), each) for each in self.themes
        ]


PNG = Annotated[Path | None, typer.Option(metavar="DIR", help="Draw every picture as PNG into this folder too.")]
SVG = Annotated[Path | None, typer.Option(metavar="DIR", help="Draw every picture as SVG into this folder too.")]
_THEME_HELP = (
    "Background of the PNG and SVG files; both: light, and dark as …-dark. Pages follow the reader's system setting."
)
THEME = Annotated[PictureTheme, typer.Option(metavar="light|dark|both", help=_THEME_HELP)]
