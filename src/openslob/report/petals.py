"""Petals of points that others measured, such as those of AWR reports: a sweep's pictures, on a page or in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.curves.external_points import ExternalPoint, external_point_set
from openslob.analyze.curves.series import PointSet
from openslob.errors import UsageError
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import Picture, draw
from openslob.report.charts.theme import FigureNames
from openslob.report.html.page import Page, VerdictRow, verdicts_of_all
from openslob.report.html.render import render_page
from openslob.report.set_summary import set_answers

FORMATS = (".html", ".svg", ".png")
PANELS = ("pio_read_per_s", "pio_read_mb_per_s")


def check_format(path: Path) -> None:
    """UsageError when the ending of ``path`` is of no picture that can be drawn."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"{path}: a picture is one of {', '.join(FORMATS)}")


def drawn(found: Sequence[ExternalPoint], ending: str, title: str, notes: Sequence[str], latency: str) -> bytes:
    """The points over IOPS and over MB/s as ``ending`` says: a page that needs no network, or one picture.

    ``notes`` are what a reader has to know beforehand; ``latency`` is what the reports call the latency.
    """
    points = external_point_set(found)
    names = FigureNames(physical=False, instead={points.axes.latency: latency})
    pictures = [petals(points, figure, names) for figure in PANELS]
    if ending == ".html":
        verdicts = verdicts_of_all([(each.source, each.verdicts) for each in found])
        return render_page(_page(points, pictures, title, notes, verdicts)).encode()
    return draw(_one(pictures, title, notes), ending)


def _page(
    points: PointSet, pictures: Sequence[Picture], title: str, notes: Sequence[str], verdicts: tuple[VerdictRow, ...]
) -> Page:
    return Page(
        title=title,
        about=f"{len(points.points)} points on {len(points.series)} line{'s' if len(points.series) > 1 else ''}.",
        banners=tuple(notes),
        answers=tuple(set_answers(points, is_physical=False)),
        verdicts=verdicts,
        pictures=tuple(picture for picture in pictures if picture.panels),
        sections=(),
    )


def _one(pictures: Sequence[Picture], title: str, notes: Sequence[str]) -> Picture:
    panels = tuple(panel for picture in pictures for panel in picture.panels)
    told = dict.fromkeys([*notes, *(note for picture in pictures for note in picture.notes)])
    return Picture("petals", title, " ".join(picture.description for picture in pictures), panels, tuple(told))
