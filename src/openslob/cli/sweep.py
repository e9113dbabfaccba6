"""`slob sweep`: a grid of runs, or a search for the most IOPS under a latency limit. It can be stopped and resumed."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from functools import partial
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.ceilings import CEILING_OR_MEASURE
from openslob.cli.common_options import ALL, DURATION, REPORT_INTERVAL, RESULTS, RETRIES, at_least
from openslob.cli.completion import ready_sweeps, records
from openslob.cli.console import columns, notify, write, write_record
from openslob.cli.driver_options import DRIVERS, TLS_CA, TLS_CERT, TLS_KEY
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import Several, with_several
from openslob.cli.progress import working
from openslob.cli.screen import LIVE
from openslob.config.grid import split
from openslob.core.disk import existing_parent
from openslob.core.errors import SlobError, UsageError
from openslob.engines.registry import servers_place
from openslob.engines.settings import parse_settings
from openslob.kinds.contract import Wanted
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.create import ready_names, ready_sweep
from openslob.kinds.sweep.execute import execute
from openslob.kinds.sweep.plan import MOST_POINTS, Step, keep_started_with, run_seconds, steps
from openslob.kinds.sweep.ready_settings import ready_settings
from openslob.kinds.sweep.record import SweepFolder, SweepRecord
from openslob.kinds.sweep.report import plan_sections
from openslob.kinds.sweep.request import SweepRequest, plan, search_for, sweep_file
from openslob.kinds.sweep.search import require_answer
from openslob.record import finding
from openslob.record.model import Status
from openslob.report.format import pairs
from openslob.report.terminal import render_blocks

NAME = Annotated[
    str | None,
    typer.Option(
        envvar="SLOB_NAME",
        show_envvar=False,
        metavar="NAME",
        help="Name of the sweep; default: sweep, or that of --ready.",
    ),
]
READY = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", autocompletion=ready_sweeps, help="A ready-made sweep; flags override it. list: show them all."
    ),
]
AGAINST = Annotated[
    str | None,
    typer.Option(metavar="PARAMETER", help="Compare the two values of this parameter, such as block-path."),
]
GRID = Annotated[Path | None, typer.Option("--grid", metavar="FILE", help="A TOML file with tables grid and server.")]
SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=V1,V2",
        help="A setting of the server's own, with its values; several times for several.",
        rich_help_panel="Managed server",
    ),
]
REPEATS = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=MOST_POINTS, help="Runs of each point, in shuffled rounds; default: 1."),
]
STEADY = Annotated[
    float | None,
    typer.Option(
        "--until-steady",
        parser=at_least(1),
        metavar=DURATION,
        help="Warm up until throughput is steady, at most this long.",
    ),
]
UNDER = Annotated[
    str | None,
    typer.Option(
        "--find-max-iops-under",
        metavar="LATENCY",
        help="Search for the session count with the most IOPS under this latency.",
    ),
]
AT = Annotated[
    str, typer.Option("--at", metavar="WHICH", help="Which latency of operations: mean, p50, p90, p99 or p999.")
]
MOST = Annotated[
    int, typer.Option("--most-sessions", metavar="N", min=1, max=32_768, help="Highest session count of a search.")
]
DRY = Annotated[
    bool, typer.Option("--dry-run", metavar="", help="Print the plan with its time and disk needs; run nothing.")
]
RESUME = Annotated[
    str | None,
    typer.Option(
        metavar="SWEEP",
        autocompletion=records,
        help="Resume this sweep (a folder, an id, latest); failed points are run again.",
    ),
]
NEW = Annotated[bool, typer.Option("--new", metavar="", help="Begin a new sweep even if the same one is unfinished.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the sweep's record as JSON.")]

# Value of --ready that is not a name.
LIST = "list"


@with_several
def sweep(
    several: Several,
    name: NAME = None,
    *,
    results: RESULTS,
    grid: GRID = None,
    ready: READY = None,
    settings: SET = None,
    against: AGAINST = None,
    repeats: REPEATS = None,
    retries: RETRIES = 1,
    until_steady: STEADY = None,
    find_max_iops_under: UNDER = None,
    at: AT = "p99",
    most_sessions: MOST = 128,
    dry_run: DRY = False,
    resume: RESUME = None,
    new: NEW = False,
    ceiling: CEILING_OR_MEASURE = None,
    report_interval: REPORT_INTERVAL = None,
    live: LIVE = False,
    drivers: DRIVERS = None,
    tls_ca_file: TLS_CA = None,
    tls_cert: TLS_CERT = None,
    tls_key: TLS_KEY = None,
    whole: ALL = False,
    json: JSON = False,
) -> None:
    """Run a grid of points; any parameter takes several values. After a stop the same command resumes it.

    Example: slob sweep --sessions 1,4,16,32 --update-pct 0,20 --repeats 3
    """
    if ready == LIST:
        write(_ready_list(json))
        return
    search = search_for(find_max_iops_under, at, most_sessions)
    path = _find_resumed(resume, results, several, settings or ()) if resume else None
    own = parse_settings(settings or ())
    request = SweepRequest(
        name or ready or "sweep", _split(several.texts), _split(several.servers),
        sweep_file(grid, ready, several.target, own), against, repeats, until_steady, search, own,
        several.config, several.environment, new, path, retries,
    )  # fmt: skip
    of_drivers = (drivers, tls_ca_file, tls_cert, tls_key)
    context = make_context(several, results, Screen(report_interval, live), ceiling, of_drivers)
    with working("asking the server what the points need"):
        planned = plan(request, context, dry_run)
    if dry_run:
        write(_render_plan(planned.record), end="")
        return
    folder = execute(planned, context)
    report = partial(SWEEP.document, wanted=Wanted(tell=notify))
    write_record(folder.record, folder.path, json, whole, report)
    judge(folder)


def _split(texts: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: split(text, name) for name, text in texts.items()}


def _ready_list(json: bool) -> str:
    about = {**ready_settings(), **{name: ready_sweep(name).about for name in ready_names()}}
    if json:
        return dumps(about, indent=1)
    return "\n".join(pairs(list(about.items())))


def _find_resumed(wanted: str, results: Path, several: Several, settings: Collection[str]) -> Path:
    """Return the folder of the sweep to resume. UsageError if parameters are given too."""
    if several.texts or several.servers or settings:
        given = [*several.texts, *several.servers, *(["set"] if settings else [])]
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"--resume takes the parameters of the sweep, not {flags}", "leave them out")
    return finding.one(wanted, results, notify, {SWEEP}).folder


def _render_plan(record: SweepRecord) -> str:
    rows = [
        (str(step.point.number), step.point.label, _preparation(record, step), f"{step.point.estimated_s:.0f}")
        for step in steps(record)
    ]
    local = "://" not in record.target
    free = shutil.disk_usage(existing_parent(servers_place())).free if local else None
    return render_blocks(plan_sections(record, rows, free), columns()) + "\n"


def _preparation(record: SweepRecord, step: Step) -> str:
    if step.point.estimated_s <= run_seconds(record, step.workload):
        # The estimate knows that all is ready for the first point.
        return ""
    started = keep_started_with(step.point.server, record.effects)
    server = "make server" if step.made else "restart" if step.restarted and started else ""
    return ", ".join(part for part in (server, "load" if step.loaded else "") if part)


def judge(folder: SweepFolder) -> None:
    """Raise the error with the exit code: 1 if it was stopped or points failed, 3 or 4 if a search has no answer."""
    record = folder.record
    if record.status is Status.INTERRUPTED:
        raise SlobError("the sweep was stopped before its end", f"slob sweep --resume {folder.path} resumes it")
    if record.status is Status.FAILED:
        raise SlobError("some points failed", f"slob sweep --resume {folder.path} runs them again")
    require_answer(folder)
