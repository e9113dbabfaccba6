"""`slob live`: a record on the screen or on a page, as it grows or replayed."""

from __future__ import annotations

import json
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.completion import records
from openslob.cli.console import notify, write
from openslob.cli.screen import is_ascii, is_coloured, why_no_screen
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import require_extra
from openslob.kinds.contract import list_followable
from openslob.live.screen.canvas import Signs
from openslob.live.screen.playhead import SPEEDS
from openslob.record import finding
from openslob.record.finding import Found

if TYPE_CHECKING:
    from openslob.live.web.shown import Shown

RECORD = Annotated[
    str,
    typer.Argument(
        autocompletion=records,
        metavar="[RECORD]",
        show_default="the one in progress, or the latest; with --web all",
        help="A number, an id, a name, the beginning of either, a path, or latest.",
    ),
]
SPEED = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        max=max(SPEEDS),
        help=f"Replay the record from its begin, N times as fast: {', '.join(map(str, SPEEDS))}.",
    ),
]
ASCII = Annotated[bool, typer.Option("--ascii", metavar="", help="Draw with ASCII characters only.")]


WEB = Annotated[bool, typer.Option("--web", metavar="", help="Serve a page on this host instead, until Ctrl-C.")]
PORT = Annotated[
    int | None, typer.Option(min=1, max=65_535, metavar="N", help="Port of the page; default: any that is free.")
]
LISTEN = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Let others reach the page, at this address of the host; 0.0.0.0: at any."),
]
HOST = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="NAME",
        help="A name by which browsers reach the page, such as db1:8321, or https://NAME by a proxy; repeatable.",
    ),
]  # fmt: skip
OPEN = Annotated[bool, typer.Option("--open", metavar="", help="Open the page in a browser.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print what would be shown now as JSON, and end.")]


def live(
    record: RECORD = "",
    *,
    results: RESULTS,
    speed: SPEED = None,
    ascii_only: ASCII = False,
    web: WEB = False,
    port: PORT = None,
    listen: LISTEN = None,
    hosts: HOST = None,
    open_page: OPEN = False,
    as_json: JSON = False,
) -> None:
    """Show a run, a sweep or an observation on a live screen: in progress in another terminal, or replayed.

    The screen reads the record's folder, which may be a copy, and nothing else. q leaves it; what is measured goes on.
    --web shows the same on a page, or without RECORD a list of all records to filter, open and compare. Only this host
    can open it, and only with the address that is printed; --listen lets others in.

    Example: slob live latest --speed 10
    """
    of_viewers = {"--web": web, "--speed": speed is not None, "--ascii": ascii_only}
    if as_json and (given := [name for name, is_given in of_viewers.items() if is_given]):
        raise UsageError(f"{given[0]} and --json exclude each other", "give one of them")
    of_page = {"--port": bool(port), "--listen": listen is not None, "--host": bool(hosts), "--open": open_page}
    _refuse_mixture(web, {"--speed": speed is not None, "--ascii": ascii_only}, of_page)
    if as_json:
        _print(find_wanted(record, results).folder)
        return
    if web:
        _serve(find_wanted(record, results).folder if record else None, results, (port, listen, hosts or ()), open_page)
        return
    if speed is not None and speed not in SPEEDS:
        raise UsageError(f"--speed {speed} is not possible", f"choose one of {', '.join(map(str, SPEEDS))}")
    if why := why_no_screen() or ("" if sys.stdout.isatty() else "standard output is not a terminal"):
        raise SlobError(f"the live screen needs a terminal: {why}", "`slob show` prints the report")
    if code := _show(find_wanted(record, results).folder, ascii_only, speed):
        raise typer.Exit(code)


def _refuse_mixture(web: bool, of_screen: Mapping[str, bool], of_page: Mapping[str, bool]) -> None:
    """Raise UsageError for options of what is not shown."""
    wrong = [name for name, given in (of_screen if web else of_page).items() if given]
    if wrong and web:
        raise UsageError(f"{wrong[0]} is for the screen, and --web shows a page", f"leave out --web or {wrong[0]}")
    if wrong:
        raise UsageError(f"{wrong[0]} is for the page", "add --web")


def _print(folder: Path) -> None:
    """Print what is to be seen of the record in a folder at this moment."""
    from openslob.kinds.contract import follow  # noqa: PLC0415
    from openslob.kinds.run.live.follow import document, read_all  # noqa: PLC0415

    write(json.dumps(document(read_all(follow(folder))), indent=1))


def _serve(
    folder: Path | None, results: Path, where: tuple[int | None, str | None, Sequence[str]], open_page: bool
) -> None:
    """Serve the page of the record in a folder, or of all records, until Ctrl-C."""
    require_extra("web")
    from openslob.live.web.server import serve  # noqa: PLC0415
    from openslob.live.web.where import Where  # noqa: PLC0415

    place = Where.parse(*where)

    def ready(address: str) -> None:
        notify(f"{folder.name if folder else f'every record in {results}'} is shown at")
        write(address)
        if place.is_readable_on_the_way:
            notify("it is not encrypted: who reads the network sees the token; docs/live.md has a proxy that encrypts")
        notify("Ctrl-C ends the page; what is measured goes on")
        if open_page:
            # A browser in a terminal holds up who opens it, and here that is who serves the page.
            Thread(target=_open, args=(address,), daemon=True).start()

    serve(_of_record(folder) if folder else _of_all(results), place, ready)


def _of_record(folder: Path) -> Callable[[], Shown]:
    """Return what makes the page of one record. SlobError if there is nothing to be shown of it."""
    from openslob.kinds.contract import follow  # noqa: PLC0415

    source = follow(folder)

    def make() -> Shown:
        from openslob.live.web.shown import OneRecord  # noqa: PLC0415

        return OneRecord(source)

    return make


def _of_all(results: Path) -> Callable[[], Shown]:
    """Return what makes the page of all records."""

    def make() -> Shown:
        from openslob.live.web.catalogue import Catalogue  # noqa: PLC0415
        from openslob.live.web.shown import AllRecords  # noqa: PLC0415

        return AllRecords(Catalogue(results), make_report)

    def make_report(records: Sequence[str]) -> str:
        from openslob.cli.report import document_of_records  # noqa: PLC0415
        from openslob.report.html.page import page_of, render_page  # noqa: PLC0415

        document, _ = document_of_records(records, results)
        return render_page(page_of(document))

    return make


def _open(address: str) -> None:
    if not webbrowser.open(address):
        notify("no browser could be opened: open the address yourself")


def _show(folder: Path, ascii_only: bool, speed: int | None) -> int:
    """Show the record in a folder until the user leaves; return the exit code."""
    # Textual takes a quarter of a second to import, which other commands and the help need not spend.
    from openslob.kinds.contract import follow  # noqa: PLC0415
    from openslob.live.screen.app import LiveScreen, give_way, run  # noqa: PLC0415

    give_way()
    return run(LiveScreen(follow(folder), Signs(is_ascii() or ascii_only, is_coloured()), speed=speed))


def find_wanted(record: str, results: Path) -> Found:
    """Return the record that is named; without a name, the newest in progress, or else the latest."""
    busy = [] if record else [each for each in finding.whole(finding.every(results)) if each.entry.pid is not None]
    kinds = list_followable()
    shown = [each for each in busy if each.kind in kinds]
    if shown:
        return Found(shown[-1].kind, shown[-1].entry.path)
    return finding.one(record or "latest", results, notify, kinds)
