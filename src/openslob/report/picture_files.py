"""What commands draw into one file, a page or a picture: histories, and the points of AWR reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.curves.external_points import ExternalPoint, external_point_set, is_one_platform
from openslob.analyze.history import History
from openslob.core.errors import UsageError
from openslob.report.charts.colours import Theme
from openslob.report.charts.history import history_picture
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import Picture, draw
from openslob.report.document import Answer, Document, TitleOfSeveral, VerdictsOfSeveral
from openslob.report.history import history_document
from openslob.report.html.page import page_of, render_page
from openslob.report.record_view import FigureNames
from openslob.report.set_summary import set_summary_lines

# Files that the points of AWR reports can be drawn into.
PICTURE_FORMATS = (".html", ".svg", ".png")
_EXTERNAL_PANELS = ("pio_read_per_s", "pio_read_mb_per_s")


def check_format(path: Path) -> None:
    """Raise UsageError unless `draw_external_points` can write a file with the suffix of ``path``."""
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise UsageError(f"{path} is not the name of a picture", f"end it in one of {', '.join(PICTURE_FORMATS)}")


def draw_history(found: Sequence[History], suffix: str, theme: Theme = Theme.LIGHT) -> bytes:
    """Draw the runs of histories over time, in one of `PICTURE_FORMATS`; a page has their tables, too."""
    if suffix == ".html":
        return render_page(page_of(history_document(found))).encode()
    return draw(history_picture(found), suffix, theme)


def draw_external_points(
    points: Sequence[ExternalPoint],
    suffix: str,
    title: str,
    notes: Sequence[str],
    latency: str,
    theme: Theme = Theme.LIGHT,
) -> bytes:
    """Draw points of AWR reports as latency over IOPS and over MB/s.

    Args:
        points: The points, with the verdicts on their reports.
        suffix: The file's format, one of `PICTURE_FORMATS`.
        title: Title of the page or picture.
        notes: Remarks on the whole set: banners of a page, notes of a picture.
        latency: Name of the latency axis.
        theme: Ground of a picture; a page follows the reader's system.

    """
    point_set = external_point_set(points)
    names = FigureNames(physical=False, instead={point_set.axes.latency: latency})
    pictures = [petals(point_set, figure, names) for figure in _EXTERNAL_PANELS]
    if suffix != ".html":
        return draw(_stack(pictures, title, notes), suffix, theme)
    lines = len(point_set.series)
    document = Document(
        TitleOfSeveral(
            title, f"{len(point_set.points)} points on {lines} line{'s' if lines > 1 else ''}.", tuple(notes)
        ),
        (
            Answer(tuple(set_summary_lines(point_set, is_physical=False, one_platform=is_one_platform(points)))),
            VerdictsOfSeveral(
                tuple((point.source, point.verdicts) for point in points), "report" if len(point_set.points) > 1 else ""
            ),
        ),
        pictures=lambda: ([picture for picture in pictures if picture.panels], ""),
    )
    return render_page(page_of(document)).encode()


def _stack(pictures: Sequence[Picture], title: str, notes: Sequence[str]) -> Picture:
    """Stack the panels of ``pictures`` in one picture."""
    panels = tuple(panel for picture in pictures for panel in picture.panels)
    all_notes = dict.fromkeys([*notes, *(note for picture in pictures for note in picture.notes)])
    return Picture("petals", title, " ".join(picture.description for picture in pictures), panels, tuple(all_notes))
