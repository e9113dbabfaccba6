"""`slob raw orion`: the workloads and options of Orion, run by fio."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.cli import console
from openslob.cli.common_options import CPUS, DURATION, RECORD_JSON, REQUIRE, RESULTS, at_least, require_verdicts
from openslob.cli.console import notify, stoppable
from openslob.cli.picture_options import THEME, PictureTheme
from openslob.cli.tree import Command
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.extras import require_extra
from openslob.core.units import KIB, MIB, parse_bytes
from openslob.kinds.storage.fio import IoEngine
from openslob.kinds.storage.orion.execute import OrionRequest, execute
from openslob.kinds.storage.orion.options import DURATION_S, LargeType, MatrixKind, Options, OrionRun, SimulatedArray
from openslob.kinds.storage.record import StorageRecord
from openslob.kinds.storage.report import storage_document
from openslob.record.store import save_text

# Options in Orion's spelling: one dash, underscores, capitals; also the long dash of a web page.
_TYPED = re.compile(r"[-–—]{1,2}([A-Za-z][\w-]+)(=.*)?")
# Options of Orion without effect here: huge pages are not used, and every point is reported.
WITHOUT_EFFECT = frozenset({"--hugenotneeded", "--verbose"})
PAGE = "orion.html"


def translate_option(argument: str) -> str:
    """Translate an option in Orion's spelling (``-num_disks``) to ours (``--num-disks``); return others unchanged."""
    match = _TYPED.fullmatch(argument)
    return f"--{match[1].lower().replace('_', '-')}{match[2] or ''}" if match else argument


class OrionCommand(Command):
    """A command that also accepts options in Orion's spelling."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - a class of Typer's insides
        """Translate and parse the arguments."""
        return super().parse_args(ctx, [arg for arg in map(translate_option, args) if arg not in WITHOUT_EFFECT])


_POINTS, _STORAGE = "Loads", "Storage"
RUN = Annotated[
    OrionRun,
    typer.Option(
        case_sensitive=False,
        help="simple: small requests, then large ones; normal: all combinations; oltp: small only; dss: large only; "
        "advanced: set by the other options.",
    ),
]
TESTNAME = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Name of files and record. NAME.lun has the path of a file or device on each line."
    ),
]
DISKS = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=10_000, help="Scales the loads (default: the number of LUNs).", rich_help_panel=_POINTS
    ),
]
SIZE_SMALL = Annotated[
    int, typer.Option(min=1, max=2**20, metavar="KB", help="Size of small requests.", rich_help_panel=_POINTS)
]
SIZE_LARGE = Annotated[
    int, typer.Option(min=1, max=2**20, metavar="KB", help="Size of large requests.", rich_help_panel=_POINTS)
]
TYPE = Annotated[
    LargeType, typer.Option("--type", case_sensitive=False, help="Size of large requests.", rich_help_panel=_POINTS)
]
NUM_SMALL = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, max=65_536, help="Small requests in flight (point, col, max).", rich_help_panel=_POINTS
    ),
]
NUM_LARGE = Annotated[
    int | None,
    typer.Option(
        min=0, max=65_536, help="Large requests in flight, or streams (point, row, max).", rich_help_panel=_POINTS
    ),
]
STREAMIO = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=65_536, help="Requests in flight of each stream.", rich_help_panel=_POINTS),
]
MATRIX = Annotated[
    MatrixKind | None,
    typer.Option(
        case_sensitive=False, rich_help_panel=_POINTS,
        help="basic: first row and first column; detailed: all; one point, column or row; max: all up to both numbers.",
    ),
]  # fmt: skip
EACH_POINT = Annotated[
    float,
    typer.Option(
        parser=at_least(0.5), metavar=DURATION, help="Duration of each point; Orion's is 60.", rich_help_panel=_POINTS
    ),
]
SIMULATE = Annotated[
    SimulatedArray, typer.Option(case_sensitive=False, help="How several LUNs are combined.", rich_help_panel=_STORAGE)
]
STRIPE = Annotated[
    int, typer.Option(min=1, max=2**20, metavar="MB", help="Stripe size of --simulate raid0.", rich_help_panel=_STORAGE)
]
WRITE = Annotated[
    int,
    typer.Option(min=0, max=100, metavar="PCT", help="Share of requests that write.", rich_help_panel=_STORAGE),
]
CACHE = Annotated[
    int,
    typer.Option(
        min=0, max=2**24, metavar="MB", help="Cache of the array, filled with random data before sequential points.",
        rich_help_panel=_STORAGE,
    ),
]  # fmt: skip
SIZE = Annotated[
    str,
    typer.Option(metavar="SIZE", help="Size of the test file, if there is no NAME.lun.", rich_help_panel=_STORAGE),
]
ENGINE = Annotated[IoEngine, typer.Option(help="How requests reach the kernel.", rich_help_panel=_STORAGE)]
BUFFERED = Annotated[
    bool,
    typer.Option(
        "--buffered", help="Read through the page cache, which is then part of the result.", rich_help_panel=_STORAGE
    ),
]
DESTRUCTIVE = Annotated[
    bool,
    typer.Option(
        "--allow-destructive",
        metavar="",
        help="Allow --write to overwrite devices that are not in use.",
        rich_help_panel=_STORAGE,
    ),
]
SEED = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, max=2**31 - 1, help="Seed of the positions that are read.", rich_help_panel=_POINTS
    ),
]
PICTURES = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Draw pictures into this folder: HTML, PNG and SVG.")
]


def orion(
    run: RUN,
    testname: TESTNAME = "orion",
    num_disks: DISKS = None,
    size_small: SIZE_SMALL = 8,
    size_large: SIZE_LARGE = 1024,
    large_type: TYPE = LargeType.RAND,
    num_small: NUM_SMALL = None,
    num_large: NUM_LARGE = None,
    num_streamio: STREAMIO = 4,
    matrix: MATRIX = None,
    duration: EACH_POINT = DURATION_S,
    seed: SEED = 1,
    simulate: SIMULATE = SimulatedArray.CONCAT,
    stripe: STRIPE = 1,
    write: WRITE = 0,
    cache_size: CACHE = 0,
    size: SIZE = "1G",
    io_engine: ENGINE = IoEngine.IO_URING,
    buffered: BUFFERED = False,
    allow_destructive: DESTRUCTIVE = False,
    cpus: CPUS = None,
    *,
    results: RESULTS,
    pictures: PICTURES = None,
    theme: THEME = PictureTheme.LIGHT,
    require: REQUIRE = None,
    json: RECORD_JSON = False,
) -> None:
    """Measure storage as Orion does: small random and large requests, alone and together, at growing loads.

    Options may be written as Orion's: -run simple -num_disks 4.

    Example: slob raw orion --run simple --testname /data/mytest --num-disks 4
    """
    path = Path(testname)
    options = Options(
        run=run, testname=path.name, num_disks=num_disks, size_small=size_small * KIB, size_large=size_large * KIB,
        large_type=large_type, num_small=num_small, num_large=num_large, num_streamio=num_streamio, simulate=simulate,
        stripe=stripe * MIB, write_pct=write, cache_size=cache_size * MIB, duration_s=duration, matrix=matrix,
    )  # fmt: skip
    request = OrionRequest(
        options, path.parent, _bytes(size), results, io_engine, not buffered, allow_destructive, seed, cpus
    )
    if pictures:
        require_extra("pictures")
    with stoppable() as interrupt:
        record, folder = execute(request, interrupt, notify)
    if pictures:
        _draw(record, pictures, theme)
    summary = next(folder.glob("*_summary.txt")).read_text(encoding="utf-8")
    console.write(record.model_dump_json(indent=1) if json else f"{summary}\nFiles: {folder}", kept=folder)
    require_verdicts(record.verdicts, require or ())


def _bytes(text: str) -> int:
    try:
        return rehearsal.amount(parse_bytes(text), 64 * MIB)
    except ValueError as error:
        raise UsageError(f"--size: {error}") from error


def _draw(record: StorageRecord, folder: Path, theme: PictureTheme) -> None:
    # The drawing library takes a second to import.
    from openslob.report.charts.picture import save_all  # noqa: PLC0415
    from openslob.report.html.page import page_of, render_page  # noqa: PLC0415

    page = page_of(storage_document(record))
    written = [path for ending in ("png", "svg") for path in save_all(page.pictures, folder, ending, theme.themes)]
    html = folder / PAGE
    save_text(html, render_page(page))
    for path in (*written, html):
        notify(f"written: {path}")
