"""`slob endure`: a run of hours and days, which can be resumed, and what its course was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from openslob.analyze import verdict_registry
from openslob.cli.common_options import (
    DURATION,
    RECORD_JSON,
    REPORT_INTERVAL,
    REQUIRE,
    RESULTS,
    at_least,
    require_known,
    require_verdicts,
)
from openslob.cli.completion import records
from openslob.cli.console import notify, stoppable, write, write_document
from openslob.cli.options import Resolved, with_workload
from openslob.cli.progress import LiveLine
from openslob.cli.screen import LIVE, viewing
from openslob.config.resolve import DEFAULT
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_duration
from openslob.core.workload import MOST_RUN_S
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve
from openslob.kinds.endurance import KIND as ENDURANCE
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.execute import LEAST_S, Connected, new_record, require_unfinished, run_segment
from openslob.kinds.endurance.record import EnduranceFolder, EnduranceRecord
from openslob.kinds.endurance.report import endurance_document
from openslob.kinds.endurance.verdicts import NAMES
from openslob.record import finding, store
from openslob.record.model import Status
from openslob.report.text import render

FOR = Annotated[
    float | None,
    typer.Option(
        "--for", parser=at_least(LEAST_S, MOST_RUN_S), metavar=DURATION, help="Time under load, such as 30m, 8h or 3d."
    ),
]
RESUME = Annotated[
    str | None,
    typer.Option(
        metavar="RECORD",
        autocompletion=records,
        help="Go on with this endurance run (a folder, an id, latest) for the time that is left.",
    ),
]
NAME = Annotated[
    str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the endurance run.")
]


@partial(with_workload, hidden=("run_time", "work_loop"))
def endure(
    resolved: Resolved,
    name: NAME = "endure",
    *,
    seconds: FOR = None,
    resume: RESUME = None,
    results: RESULTS,
    require: REQUIRE = None,
    report_interval: REPORT_INTERVAL = None,
    live: LIVE = False,
    json: RECORD_JSON = False,
) -> None:
    """Run a workload for hours or days: its level over time, steady state, what happened when. It can be resumed.

    Example: slob endure --for 8h --sessions 8 --update-pct 20
    """
    require_known(require or (), [*NAMES, *verdict_registry.NAMES])
    path = _resumed(resume, resolved, seconds, results) if resume else None
    if not path:
        _require_one_length(resolved, seconds)
    if path:
        resolved = replace(resolved, target=resolved.target.recorded_as(endurance.load(path).target))
    engine, _ = resolve(resolved.target.reveal())
    engine.server_pid = resolved.server_pid
    with stoppable() as interrupt:
        engine.follow(Patience(interrupt, notify))
        if not path:
            resolved = resolved.on(engine)
            new = new_record(
                name, resolved.target.shown, resolved.workload, seconds or 0, resolved.sources, resolved.notices
            )
        with EnduranceFolder.resume(path) if path else EnduranceFolder.begin(results, new) as folder:
            _announce(folder.record)
            line = LiveLine(every_s=report_interval)
            try:
                with viewing(live, folder.path):
                    run_segment(folder, Connected(engine, interrupt, line, render, resolved.consented))
            except SlobError as error:
                line.clear()
                if not folder.record.segments:
                    folder.discard()
                    raise
                _show(folder, json)
                raise _resumable(folder, error) from error
            finally:
                line.clear()
            _show(folder, json)
    _judge(folder, require or [])


def _require_one_length(resolved: Resolved, seconds: float | None) -> None:
    if "run_time" in resolved.asked.flags:
        raise UsageError("--run-time is the length of a run, and that of an endurance run is --for", "give --for alone")
    if not seconds:
        raise UsageError("how long is not given", "give --for, such as --for 8h; --resume goes on with an earlier one")
    if resolved.sources["run_time"] != DEFAULT:
        notify(f"RUN_TIME ({resolved.sources['run_time']}) is not used: --for is the length")


def _resumed(wanted: str, resolved: Resolved, seconds: float | None, results: Path) -> Path:
    """Return the folder to go on with. UsageError if parameters are given too, or if nothing is left to be done."""
    given = [*(f"--{name.replace('_', '-')}" for name in resolved.asked.flags), *(["--for"] if seconds else [])]
    if given:
        raise UsageError(f"--resume takes the parameters of the record, not {', '.join(given)}", "leave them out")
    path = finding.one(wanted, results, notify, {ENDURANCE}).folder
    require_unfinished(endurance.load(path))
    return path


def _announce(record: EnduranceRecord) -> None:
    left = f"{format_duration(record.left_s)} under load"
    if record.segments:
        notify(f"resuming {record.id}: {left} of {format_duration(record.planned_s)} are left")
    else:
        notify(f"{left}; what is measured survives a stop or a crash, and slob endure --resume latest goes on")


def _show(folder: EnduranceFolder, json: bool) -> None:
    record = folder.record
    if json:
        write(record.model_dump_json(indent=1), kept=folder.path)
    elif record.segments:
        write_document(endurance_document(record, folder.path), folder.path)


def _resumable(folder: EnduranceFolder, error: SlobError) -> SlobError:
    """Return the error with how to go on."""
    return error.then(f"slob endure --resume {folder.record.id} goes on with the time that is left")


def _judge(folder: EnduranceFolder, required: Sequence[str]) -> None:
    """Raise the error with the exit code: 1 for a stopped run, 3 for a required verdict that does not hold."""
    record = folder.record
    if record.status is not Status.COMPLETE:
        left = format_duration(record.left_s)
        raise SlobError(f"the endurance run was stopped with {left} left", f"slob endure --resume {record.id} goes on")
    require_verdicts(record.verdicts, [name for name in required if name in NAMES])
    of_runs = [name for name in required if name not in NAMES]
    for segment in record.segments if of_runs else ():
        if segment.run:
            require_verdicts(store.load(folder.path / segment.run).verdicts, of_runs)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(endure)
