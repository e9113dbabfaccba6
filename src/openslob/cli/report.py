"""`slob report`: records as one HTML file, optionally with pictures as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openslob.cli import completion
from openslob.cli.ceilings import CEILING, load_ceiling
from openslob.cli.common_options import PRICE, RESULTS
from openslob.cli.console import columns, default_interrupt, notify, write, write_file
from openslob.cli.picture_options import PNG, SVG, THEME, PictureTheme, refuse_picture
from openslob.cli.progress import working
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import require_extra
from openslob.core.measurement import StorageAlone
from openslob.kinds import runs
from openslob.kinds.contract import Kind, Wanted, kind_of
from openslob.kinds.storage.record import find as find_measurements
from openslob.kinds.storage.record import storage_alone
from openslob.kinds.sweep.record import SWEEP_FILE
from openslob.record import finding
from openslob.record.finding import Found
from openslob.record.model import RunRecord
from openslob.report.format import wrap
from openslob.report.headline import WITHIN_CEILING
from openslob.report.several_runs import runs_document

if TYPE_CHECKING:
    from openslob.report.document import Document
    from openslob.report.html.page import Page

REPORT, ONE_PAGE_FILE, PDF = "report.html", "one-page.html", ".pdf"
WHICH = (
    "Runs and sweeps, or raw measurements: number, name, id, the beginning of either, or path; default: latest. "
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
ONE_PAGE = Annotated[
    bool,
    typer.Option(
        "--one-page", metavar="",
        help="One page to pass on: the answer, a picture, four figures, the conditions, a caveat. -o FILE.pdf: PDF.",
    ),
]  # fmt: skip
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the answers and what was written as JSON.")]


def report(
    records: RECORDS = None,
    output: OUTPUT = None,
    png_dir: PNG = None,
    svg_dir: SVG = None,
    theme: THEME = PictureTheme.LIGHT,
    ceiling: CEILING = None,
    price: PRICE = None,
    one_page: ONE_PAGE = False,
    *,
    results: RESULTS,
    as_json: JSON = False,
) -> None:
    """Write one HTML file that needs no network: the answer, verdicts, pictures, tables, configuration, definitions.

    Example: slob report 20260301-petals -o petals.html --png-dir pictures
    """
    _require_output(output, one_page, draws=bool(png_dir or svg_dir))
    require_extra("pictures")
    # The drawing library takes a second to import, and only this command needs it.
    with default_interrupt():
        from openslob.report.charts.picture import save_all  # noqa: PLC0415
        from openslob.report.html.page import page_of, render_page  # noqa: PLC0415

    wanted = records or ["latest"]
    if one_page:
        _write_one_page(*document_of_records(wanted, results, ceiling, price), output, as_json)
        return
    with working("drawing the report"):
        document, folders = document_of_records(wanted, results, ceiling, price)
        page = page_of(document)
        text = render_page(page)
    file = output or default_file(folders)
    write_file(file, text)
    pngs = save_all(page.pictures, png_dir, "png", theme.themes) if png_dir else []
    svgs = save_all(page.pictures, svg_dir, "svg", theme.themes) if svg_dir else []
    write_summary(page, [file, *pngs, *svgs], as_json)


def _require_output(output: Path | None, one_page: bool, draws: bool) -> None:
    """Raise UsageError for a file that the report can't be, and for pictures beside a single page."""
    is_pdf = output is not None and output.suffix.lower() == PDF
    if one_page and draws:
        raise UsageError("--one-page is one file", "leave --png-dir and --svg-dir out")
    if not (one_page and is_pdf):
        hint = f"{'--one-page writes a PDF; ' * is_pdf}give -o report.html; --png-dir DIR draws its pictures"
        refuse_picture(output, "the report is one HTML file", hint, page=True)


def _write_one_page(document: Document, folders: tuple[Path, ...], output: Path | None, as_json: bool) -> None:
    from openslob.report.html.one_page import one_page_of, render_html, render_pdf  # noqa: PLC0415 - as above

    file = output or default_file(folders, ONE_PAGE_FILE)
    with working("drawing the page"):
        page = one_page_of(document)
        content = render_pdf(page) if file.suffix.lower() == PDF else render_html(page)
    write_file(file, content)
    _write_texts({"answers": [page.answer], "caveat": page.caveat, "written": [str(file)]}, as_json)


def document_of_records(
    records: Sequence[str], results: Path, ceiling: str | None = None, price: str | None = None
) -> tuple[Document, tuple[Path, ...]]:
    """Return the report of records of one kind and their folders."""
    if found := with_own_page(records, results):
        return document_of_kind(found, Wanted(price, notify)), tuple(each.folder for each in found)
    return document_of_runs(records, results, ceiling, price)


def with_own_page(records: Sequence[str], results: Path) -> tuple[Found, ...]:
    """Return records that have no page of runs; none if ``records`` names runs."""
    messages: list[str] = []
    words = [word for names in records for word in names.split(",")]
    found = {word: _find(word, results, messages.append) for word in words}
    named = [each for each in found.values() if each]
    # What has runs is drawn with other runs unless it is alone.
    first = next((each for each in named if not _is_drawn_as_runs(kind_of(each), alone=len(words) == 1)), None)
    if first is None:
        return ()
    same = tuple(each for each in named if each.kind is first.kind)
    if len(same) < len(found) or (len(same) > 1 and not kind_of(first).pages_show_several):
        raise _not_together(kind_of(first), first.folder.name, found)
    for message in messages:
        notify(message)
    return same


def _is_drawn_as_runs(kind: Kind[Any], alone: bool) -> bool:
    return kind.is_of_runs and not (alone and kind.has_own_page)


def _not_together(kind: Kind[Any], name: str, found: Mapping[str, Found | None]) -> UsageError:
    """Return why these records have no page: one of them is ``name``, of this kind."""
    what = finding.with_article(kind)
    other = next((word for word, each in found.items() if not each or each.kind is not kind), None)
    if other is None:
        return UsageError(f"{name} is {what}: a report shows one alone", f"slob report {name}")
    beside = f"to draw the measurement beside runs: slob report {other} --ceiling {name}"
    return UsageError(
        f"{name} is {what}, and {other} is not: a report shows one or the other",
        beside if kind.is_ceiling else f"slob report {name}",
    )


def _find(word: str, results: Path, tell: Callable[[str], None]) -> Found | None:
    try:
        return finding.one(word, results, tell)
    except SlobError:
        # A folder of several records, or an unknown name: `page_of_runs` reads them or reports the error.
        return None


def document_of_kind(found: Sequence[Found], wanted: Wanted) -> Document:
    """Return the report of records of a kind that has one of its own."""
    kind = kind_of(found[0])
    read = [kind.read_as(each.folder, wanted) for each in found]
    alone = len(read) == 1
    document: Document = kind.document(read[0], found[0].folder, wanted) if alone else kind.document_of_several(read)
    return document


def document_of_runs(
    records: Sequence[str], results: Path, ceiling: str | None, price: str | None = None
) -> tuple[Document, tuple[Path, ...]]:
    """Return the report of runs and sweeps and the folders of the runs."""
    sides = [(names, runs.find(names.split(","), results)) for names in records]
    sides = [(names, side.at_price(price)) for names, side in sides] if price else sides
    found = runs.join([side for _, side in sides])
    for problem in found.problems:
        notify(problem)
    named = [(runs.title_of(words, side), side.runs) for words, side in sides]
    if ceiling and len(found.runs) == 1:
        raise UsageError(
            "--ceiling is drawn only for several runs", f"to judge a single run: slob run --ceiling {ceiling}"
        )
    curves, missing = ceilings(ceiling, [run.record for run in found.runs], results)
    problems = (*found.problems, *missing)
    return runs_document(named, found.runs, found.folders, problems, found.against, curves), found.folders


def ceilings(
    wanted: str | None, drawn: Sequence[RunRecord], results: Path
) -> tuple[Sequence[StorageAlone], Sequence[str]]:
    """Return the raw measurements to draw, named or referred to by the runs, and a note on each missing one."""
    if wanted:
        return [load_ceiling(wanted, results)], ()
    verdicts = [verdict for run in drawn for verdict in run.verdicts if verdict.name == WITHIN_CEILING]
    ids = dict.fromkeys(str(verdict.figures["record"]) for verdict in verdicts if "record" in verdict.figures)
    present = {each.record.id: each.record for each in find_measurements(results) if each.record} if ids else {}
    missing = [
        f"The curve of the storage alone is not drawn: {id} is not in {results}." for id in ids if id not in present
    ]
    return [storage_alone(present[id]) for id in ids if id in present], missing


def default_file(folders: tuple[Path, ...], name: str = REPORT) -> Path:
    """Return the file of this name in the folder of the only run or sweep, or in the working directory for several."""
    if len(folders) == 1:
        return folders[0] / name
    parents = {folder.parent for folder in folders}
    parent = parents.pop()
    return parent / name if not parents and (parent / SWEEP_FILE).is_file() else Path(name)


def write_summary(page: Page, written: list[Path], as_json: bool) -> None:
    """Print the answers and the files that were written."""
    _write_texts(
        {"answers": page.answers, "verdicts": page.verdict_counts, "written": [str(path) for path in written]}, as_json
    )


def _write_texts(summary: Mapping[str, Any], as_json: bool) -> None:
    """Print answers, what else is said, and files, as JSON or as sentences."""
    if as_json:
        write(json.dumps(summary, indent=1, ensure_ascii=False))
        return
    width = columns()
    said = [f"{name.capitalize()}: {summary[name]}" for name in ("verdicts", "caveat") if name in summary]
    sentences = [*summary["answers"], *(text if text.endswith(".") else f"{text}." for text in said)]
    lines = [line for text in sentences for line in (wrap(text, columns=width) if width else [text])]
    write("\n".join([*lines, *(f"Written: {path}" for path in summary["written"])]))
