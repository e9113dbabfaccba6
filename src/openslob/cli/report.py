"""`slob report`: runs, sweeps or a raw measurement as one HTML file, optionally with pictures as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openslob import api
from openslob.cli import completion
from openslob.cli.ceilings import CEILING, load_ceiling
from openslob.cli.common_options import RESULTS
from openslob.cli.console import columns, default_interrupt, notify, write, write_file
from openslob.cli.picture_options import PNG, SVG, THEME, PictureTheme, refuse_picture
from openslob.errors import SlobError, UsageError
from openslob.record import endurance, failover, finding, storage
from openslob.record.finding import Kind
from openslob.record.model import RunRecord
from openslob.record.storage import StorageRecord
from openslob.record.sweep import SWEEP_FILE
from openslob.report.endurance import with_figures
from openslob.report.format import wrapped
from openslob.report.headline import WITHIN_CEILING

if TYPE_CHECKING:
    from openslob.report.html.page import Page

REPORT = "report.html"
WHICH = (
    "Runs and sweeps, or raw measurements: name, id, the beginning of either, or path; default: latest. "
    "a,b: two records as one side."
)
RECORDS = Annotated[
    list[str] | None,
    typer.Argument(autocompletion=completion.records, metavar="[RECORD]", help=WHICH, show_default=False),
]
OUTPUT_HELP = (
    "The file to write; default: report.html in the folder of the run or sweep; for several: in the current directory."
)
OUTPUT = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=OUTPUT_HELP)]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the answers and what was written as JSON.")]


def report(
    records: RECORDS = None,
    output: OUTPUT = None,
    png_dir: PNG = None,
    svg_dir: SVG = None,
    theme: THEME = PictureTheme.LIGHT,
    ceiling: CEILING = None,
    *,
    results: RESULTS,
    as_json: JSON = False,
) -> None:
    """Write one HTML file that needs no network: the answer, verdicts, pictures, tables, configuration, definitions.

    Example: slob report 20260301-petals -o petals.html --png-dir pictures
    """
    refuse_picture(
        output, "the report is one HTML file", "give -o report.html; --png-dir DIR draws its pictures", page=True
    )
    # The drawing library takes a second to import, and only this command needs it.
    with default_interrupt():
        from openslob.report.charts.picture import save_all  # noqa: PLC0415
        from openslob.report.html.page import render_page  # noqa: PLC0415

    wanted = records or ["latest"]
    raw = raw_measurements(wanted, results)
    own = _page_of_course(wanted, results)
    page, folders = own or (page_of_raw(raw) if raw else page_of_runs(wanted, results, ceiling))
    file = output or default_file(folders)
    write_file(file, render_page(page))
    pngs = save_all(page.pictures, png_dir, "png", theme.themes) if png_dir else []
    svgs = save_all(page.pictures, svg_dir, "svg", theme.themes) if svg_dir else []
    write_summary(page, [file, *pngs, *svgs], as_json)


def raw_measurements(records: Sequence[str], results: Path) -> tuple[Path, ...]:
    """Return the folders of the raw measurements that ``records`` names; none if it names runs and sweeps."""
    messages: list[str] = []
    words = [word for names in records for word in names.split(",")]
    found = {word: _raw_folder(word, results, messages.append) for word in words}
    folders = tuple(folder for folder in found.values() if folder)
    if not folders:
        return ()
    if len(folders) < len(found):
        runs = next(word for word, folder in found.items() if not folder)
        raise UsageError(
            f"{folders[0].name} is a raw measurement, and {runs} is not: a report shows one or the other",
            f"to draw the measurement beside runs: slob report {runs} --ceiling {folders[0].name}",
        )
    for message in messages:
        notify(message)
    return folders


def _raw_folder(word: str, results: Path, tell: Callable[[str], None]) -> Path | None:
    try:
        found = finding.one(word, results, tell)
    except SlobError:
        # A folder of several records, or an unknown name: `page_of_runs` reads them or reports the error.
        return None
    return found.folder if found.kind is Kind.STORAGE else None


def _page_of_course(records: Sequence[str], results: Path) -> tuple[Page, tuple[Path, ...]] | None:
    """Return the page of the only record, and its folder, if that is the course of a load or of outages; else None."""
    from openslob.report.html.failover_page import failover_page  # noqa: PLC0415
    from openslob.report.html.pages import endurance_page  # noqa: PLC0415

    messages: list[str] = []
    try:
        found = finding.one(records[0], results, messages.append) if len(records) == 1 else None
    except SlobError:
        return None
    if found is None or found.kind not in (Kind.ENDURANCE, Kind.FAILOVER):
        return None
    for message in messages:
        notify(message)
    if found.kind is Kind.FAILOVER:
        return failover_page(failover.load(found.path), found.folder), (found.folder,)
    record = endurance.load(found.path)
    return endurance_page(with_figures(found.folder, record), found.folder), (found.folder,)


def page_of_raw(folders: tuple[Path, ...]) -> tuple[Page, tuple[Path, ...]]:
    """Return the page of raw measurements and their folders."""
    from openslob.report.html.pages import storage_page, storage_set_page  # noqa: PLC0415

    records = [storage.load(folder) for folder in folders]
    return storage_page(records[0]) if len(records) == 1 else storage_set_page(records), folders


def page_of_runs(records: Sequence[str], results: Path, ceiling: str | None) -> tuple[Page, tuple[Path, ...]]:
    """Return the page of runs and sweeps and the folders of the runs."""
    from openslob.report.html.pages import page_for  # noqa: PLC0415

    sides = [(names, api.joined([api.find(name, results) for name in names.split(",")])) for names in records]
    found = api.joined([side for _, side in sides])
    for problem in found.problems:
        notify(problem)
    named = [(name, side.runs) for name, side in sides]
    if ceiling and len(found.runs) == 1:
        raise UsageError(
            "--ceiling is drawn only for several runs", f"to judge a single run: slob run --ceiling {ceiling}"
        )
    curves, missing = ceilings(ceiling, [run.record for run in found.runs], results)
    page = page_for(named, found.runs, found.folders, (*found.problems, *missing), found.against, curves)
    return page, found.folders


def ceilings(
    wanted: str | None, runs: Sequence[RunRecord], results: Path
) -> tuple[Sequence[StorageRecord], Sequence[str]]:
    """Return the raw measurements to draw, named or referred to by the runs, and a note on each missing one."""
    if wanted:
        return [load_ceiling(wanted, results)], ()
    verdicts = [verdict for run in runs for verdict in run.verdicts if verdict.name == WITHIN_CEILING]
    ids = dict.fromkeys(str(verdict.figures["record"]) for verdict in verdicts if "record" in verdict.figures)
    present = {entry.record.id: entry.record for entry in storage.find(results) if entry.record} if ids else {}
    missing = [
        f"The curve of the storage alone is not drawn: {id} is not in {results}." for id in ids if id not in present
    ]
    return [present[id] for id in ids if id in present], missing


def default_file(folders: tuple[Path, ...]) -> Path:
    """Return ``report.html`` in the folder of the only run or sweep, or in the working directory for several."""
    if len(folders) == 1:
        return folders[0] / REPORT
    parents = {folder.parent for folder in folders}
    parent = parents.pop()
    return parent / REPORT if not parents and (parent / SWEEP_FILE).is_file() else Path(REPORT)


def write_summary(page: Page, written: list[Path], as_json: bool) -> None:
    """Print the answers and the files that were written."""
    if as_json:
        summary = {"answers": page.answers, "verdicts": page.verdict_counts, "written": [str(path) for path in written]}
        write(json.dumps(summary, indent=1, ensure_ascii=False))
    else:
        width = columns()
        sentences = [*page.answers, f"Verdicts: {page.verdict_counts}."]
        lines = [line for text in sentences for line in (wrapped(text, columns=width) if width else [text])]
        write("\n".join([*lines, *(f"Written: {path}" for path in written)]))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)
