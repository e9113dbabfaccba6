"""Pages of one run, of one raw measurement and of AWR reports' points, and the choice of a page for several runs.

The page of several runs is in `set_page`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from openslob.analyze.compare import ComparedValues, Comparison, compare, compare_values
from openslob.analyze.curves.external_points import ExternalPoint, external_point_set, is_one_platform
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import PointSet
from openslob.analyze.history import History
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.verdicts.outcome import counted
from openslob.errors import UsageError
from openslob.record.model import RunRecord, Status
from openslob.record.storage import StorageRecord
from openslob.report import context, figures
from openslob.report.charts.colours import Theme
from openslob.report.charts.history import history_picture
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import DataTable, Picture, draw
from openslob.report.charts.theme import FigureNames
from openslob.report.document import Document, Paragraph, Section
from openslob.report.drivers import drivers
from openslob.report.episodes import slow_stretches
from openslob.report.headline import headline
from openslob.report.history import change_sentence, render_histories
from openslob.report.html.page import (
    Page,
    PageSection,
    VerdictRow,
    definitions,
    in_short,
    render_page,
    text_section,
    verdict_rows,
    verdicts_of_all,
)
from openslob.report.html.set_page import set_page, slowest_table
from openslob.report.pictures import pictures_of_run, pictures_of_storage
from openslob.report.record_view import label, reason, shown, value, why_incomplete
from openslob.report.set_summary import set_summary_lines
from openslob.report.storage import storage_document

# Files that the points of AWR reports can be drawn into.
PICTURE_FORMATS = (".html", ".svg", ".png")
_RUN_SECTIONS = (
    figures.load_profile, figures.log, figures.pacing, figures.instances, drivers, figures.efficiency,
    figures.cost, figures.timed_events,
    figures.latencies, figures.responses, slow_stretches, figures.object_io,
    context.test, context.host, context.server, context.remarks,
)  # fmt: skip
_EXTERNAL_PANELS = ("pio_read_per_s", "pio_read_mb_per_s")

# The two sides of a comparison, or the only side: the user's name for it, and its runs.
Sides = Sequence[tuple[str, Sequence[Run]]]


def page_for(
    sides: Sides,
    runs: Sequence[Run],
    folders: Sequence[Path],
    problems: Sequence[str],
    against: ComparedValues | None = None,
    ceilings: Sequence[StorageRecord] = (),
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
        return run_page(runs[0].record, folders[0])
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


def run_page(record: RunRecord, folder: Path) -> Page:
    """Return the page of the run in ``folder``. If raw files are damaged, a banner says so and the rest is shown."""
    pictures, problem = pictures_of_run(record, folder)
    return Page(
        title=f"{record.name}: {_server_and_host(record)}",
        about=f"{record.kind.capitalize()} {record.id}, started {_start(record)} UTC.",
        banners=tuple(filter(None, (_incomplete(record, record.kind), *record.reservations, problem))),
        answers=(headline(record),),
        verdicts=verdict_rows(record.verdicts),
        pictures=pictures,
        sections=(
            _figures(record),
            *slowest_table([record]),
            *(section for render in _RUN_SECTIONS for section in text_section(render(record))),
            definitions(),
        ),
    )


def _server_and_host(record: RunRecord) -> str:
    product = f"{record.engine.get('product', 'unknown server')} {record.engine.get('version', '')}".rstrip()
    host = record.environment.get("host")
    where = "driven from" if record.environment.get("local") is False else "on"
    return f"{product} {where} {host}" if host else product


def _figures(record: RunRecord) -> PageSection:
    rows = tuple(
        (label(record, name), shown(record, name), "" if value(record, name) is not None else reason(record, name))
        for name in load_kind(record).figures(record)
        if record.summary
    )
    return PageSection("Figures", table=DataTable(("figure", "value", "why it is not known"), rows))


def storage_set_page(records: Sequence[StorageRecord]) -> Page:
    """Return the page of several raw measurements: the headline, verdicts, pictures and sections of each."""
    documents = [storage_document(record) for record in records]
    times = sorted(each.title.started for each in documents)
    return Page(
        title=f"{in_short([record.id for record in records])}: storage without a database",
        about=f"{len(records)} measurements from {times[0].removesuffix(' UTC')} to {times[-1]}.",
        banners=tuple(f"{each.title.id}: {each.title.banner}" for each in documents if each.title.banner),
        answers=tuple(f"{each.title.id}: {each.headline}" for each in documents),
        verdicts=verdicts_of_all([(record.id, record.verdicts) for record in records]),
        judged_each="measurement",
        pictures=pictures_of_storage(records),
        sections=tuple(section for each in documents for section in _sections_of(each)),
    )


def _sections_of(document: Document) -> Iterator[Section]:
    """Yield the sections of one of several reports: what it is on, and its sections under its name."""
    title = document.title
    yield Section(title.id, (Paragraph(f"{title.about}, openslob {title.version}, started {title.started}"),))
    for section in document.sections:
        yield replace(section, title=f"{title.id}: {section.title}" if section.title else "")


def _start(record: RunRecord) -> str:
    return record.started_at.replace("T", " ").removesuffix("Z")


def _incomplete(record: RunRecord, what: str, end: str = "") -> str:
    """Return the banner of a record that is not complete, with ``end`` if it says why; empty for a complete one."""
    if record.status is Status.COMPLETE:
        return ""
    why = end or (record.errors[0] if record.errors else why_incomplete(record.status))
    return f"This {what} is {record.status.value}: {why}"


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
        sections=(PageSection("Runs", text=render_histories(found)),),
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
