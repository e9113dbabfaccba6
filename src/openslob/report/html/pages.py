"""Pages of one run and of AWR reports' points, and the choice of a page for several runs.

The page of several runs is in `set_page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.compare import ComparedValues, Comparison, compare, compare_values
from openslob.analyze.curves.external_points import ExternalPoint, external_point_set, is_one_platform
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import PointSet
from openslob.analyze.history import History
from openslob.analyze.outcome import counted
from openslob.core.errors import UsageError
from openslob.core.references import StorageAlone
from openslob.report.charts.colours import Theme
from openslob.report.charts.history import history_picture
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import Picture, draw
from openslob.report.charts.theme import FigureNames
from openslob.report.document import Section, TextPicture
from openslob.report.history import change_sentence, render_histories
from openslob.report.html.page import (
    Page,
    VerdictRow,
    in_short,
    page_of,
    render_page,
    verdicts_of_all,
)
from openslob.report.html.set_page import set_page
from openslob.report.set_summary import set_summary_lines
from openslob.report.text import run_document

# Files that the points of AWR reports can be drawn into.
PICTURE_FORMATS = (".html", ".svg", ".png")
_EXTERNAL_PANELS = ("pio_read_per_s", "pio_read_mb_per_s")

# The two sides of a comparison, or the only side: the user's name for it, and its runs.
Sides = Sequence[tuple[str, Sequence[Run]]]


def page_for(
    sides: Sides,
    runs: Sequence[Run],
    folders: Sequence[Path],
    problems: Sequence[str],
    against: ComparedValues | None = None,
    ceilings: Sequence[StorageAlone] = (),
) -> Page:
    """Return the page of a single run, or the page of several runs with a comparison where one is possible.

    Args:
        sides: One or two named groups of runs. Two sides are compared with each other.
        runs: All runs of the sides.
        folders: The record folder of each run.
        problems: Problems found while reading the records; they become banners.
        against: With one side, the parameter whose two values are compared.
        ceilings: Raw measurements to draw beside physical reads.

    If the two sides cannot be compared, the page says why in a banner.

    """
    if len(runs) == 1:
        return page_of(run_document(runs[0].record, folders[0]))
    name = in_short([part for side, _ in sides for part in side.split(",")])
    try:
        return set_page(name, runs, problems, _comparison(sides, runs, against), ceilings)
    except UsageError as error:
        return set_page(name, runs, (*problems, f"The two sides are not compared: {error}"), ceilings=ceilings)


def _comparison(sides: Sides, runs: Sequence[Run], against: ComparedValues | None) -> Comparison | None:
    if len(sides) == 2:
        (name_a, a), (name_b, b) = sides
        return compare(a, b, *(in_short(name.split(",")) for name in (name_a, name_b)))
    return compare_values(runs, against) if against and len(sides) == 1 else None


def check_format(path: Path) -> None:
    """Raise UsageError unless `draw_external_points` can write a file with the suffix of ``path``."""
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise UsageError(f"{path}: a picture is one of {', '.join(PICTURE_FORMATS)}")


def draw_history(found: Sequence[History], suffix: str, theme: Theme = Theme.LIGHT) -> bytes:
    """Draw the runs of histories over time, in one of `PICTURE_FORMATS`; a page has their text, too."""
    picture = history_picture(found)
    if suffix != ".html":
        return draw(picture, suffix, theme)
    answers = tuple(change_sentence(change) for each in found for change in each.changes)
    page = Page(
        title=picture.title,
        about=f"All runs: {sum(len(each.runs) for each in found)}, of {counted(len(found), 'load')}.",
        banners=(),
        answers=answers or ("No figure has a change point.",),
        verdicts=(),
        pictures=(picture,),
        sections=(Section("Runs", (TextPicture(lambda _: render_histories(found).splitlines()),)),),
        judged=False,
    )
    return render_page(page).encode()


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
    if suffix == ".html":
        verdicts = verdicts_of_all([(point.source, point.verdicts) for point in points])
        answers = set_summary_lines(point_set, is_physical=False, one_platform=is_one_platform(points))
        return render_page(_external_page(point_set, pictures, title, notes, verdicts, answers)).encode()
    return draw(_one_picture(pictures, title, notes), suffix, theme)


def _external_page(
    points: PointSet,
    pictures: Sequence[Picture],
    title: str,
    notes: Sequence[str],
    verdicts: tuple[VerdictRow, ...],
    answers: Sequence[str],
) -> Page:
    return Page(
        title=title,
        about=f"{len(points.points)} points on {len(points.series)} line{'s' if len(points.series) > 1 else ''}.",
        banners=tuple(notes),
        answers=tuple(answers),
        verdicts=verdicts,
        judged_each="report" if len(points.points) > 1 else "",
        pictures=tuple(picture for picture in pictures if picture.panels),
        sections=(),
    )


def _one_picture(pictures: Sequence[Picture], title: str, notes: Sequence[str]) -> Picture:
    """Stack the panels of ``pictures`` in one picture."""
    panels = tuple(panel for picture in pictures for panel in picture.panels)
    all_notes = dict.fromkeys([*notes, *(note for picture in pictures for note in picture.notes)])
    return Picture("petals", title, " ".join(picture.description for picture in pictures), panels, tuple(all_notes))
