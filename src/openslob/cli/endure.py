"""`slob endure`: a run of hours and days, which can be resumed, and what its course was."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from openslob.analyze import verdict_registry
from openslob.cli.common_options import (
    ALL,
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
from openslob.cli.console import notify, write_record
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import Resolved, with_workload
from openslob.cli.screen import LIVE
from openslob.config.resolve import DEFAULT
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_duration
from openslob.core.workload import MOST_RUN_S
from openslob.kinds.endurance import KIND as ENDURANCE
from openslob.kinds.endurance.execute import LEAST_S, EnduranceRequest, SegmentError, execute
from openslob.kinds.endurance.figures import NAMES
from openslob.kinds.endurance.record import EnduranceFolder
from openslob.kinds.endurance.report import endurance_document
from openslob.record import finding, store
from openslob.record.model import Status

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
        help="Go on with this run for the time that is left. It is a folder, an id or latest.",
    ),
]
NAME = Annotated[
    str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the endurance run.")
]


class Probing(StrEnum):
    """Whether a probe follows the load."""

    ON = "on"
    OFF = "off"


PROBE = Annotated[
    Probing | None,
    typer.Option(
        help="Whether sessions rest by turns for 20 s after the load. A quarter of them at a time: that tells a "
        "cap from requests that take longer, and no figure includes it. Default: on."
    ),
]


@partial(with_workload, hidden=("run_time", "work_loop"))
def endure(
    resolved: Resolved,
    name: NAME = "endure",
    *,
    seconds: FOR = None,
    resume: RESUME = None,
    probe: PROBE = None,
    results: RESULTS,
    require: REQUIRE = None,
    report_interval: REPORT_INTERVAL = None,
    live: LIVE = False,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Run a workload for hours or days: its level over time, steady state, what happened when. It can be resumed.

    Example: slob endure --for 8h --sessions 8 --update-pct 20
    """
    require_known(require or (), [*NAMES, *verdict_registry.NAMES])
    if resume:
        _require_alone(resolved, seconds, probe)
    else:
        _require_one_length(resolved, seconds)
    path = finding.one(resume, results, notify, {ENDURANCE}).folder if resume else None
    context = make_context(resolved, results, Screen(report_interval, live))
    try:
        request = EnduranceRequest(resolved.parameters, name, seconds or 0, path, probe is not Probing.OFF)
        folder = execute(request, context)
    except SegmentError as error:
        _show(error.folder, json, whole)
        again = f"slob endure --resume {error.folder.record.id} goes on with the time that is left"
        raise error.then(again) from error
    _show(folder, json, whole)
    _judge(folder, require or [])


def _require_one_length(resolved: Resolved, seconds: float | None) -> None:
    if "run_time" in resolved.parameters.given:
        raise UsageError("--run-time is the length of a run, and that of an endurance run is --for", "give --for alone")
    if not seconds:
        raise UsageError(
            "the length is not given", "give --for, such as --for 8h; --resume goes on with an earlier one"
        )
    if (source := resolved.parameters.sources["run_time"]) != DEFAULT:
        notify(f"RUN_TIME ({source}) is not used: --for is the length")


def _require_alone(resolved: Resolved, seconds: float | None, probe: Probing | None) -> None:
    flags = (f"--{name.replace('_', '-')}" for name in resolved.parameters.given)
    given = [*flags, *(["--for"] if seconds else []), *(["--probe"] if probe else [])]
    if given:
        raise UsageError(f"--resume takes the parameters of the record, not {', '.join(given)}", "leave them out")


def _show(folder: EnduranceFolder, json: bool, whole: bool) -> None:
    if json or folder.record.segments:
        write_record(folder.record, folder.path, json, whole, endurance_document)


def _judge(folder: EnduranceFolder, required: Sequence[str]) -> None:
    """Raise the error with the exit code: 1 for a stopped run, 3 or 4 for a verdict that does not hold."""
    record = folder.record
    if record.status is not Status.COMPLETE:
        left = format_duration(record.left_s)
        raise SlobError(f"the endurance run was stopped with {left} left", f"slob endure --resume {record.id} goes on")
    of_runs = [segment.run for segment in record.segments if segment.run] if set(required) - set(NAMES) else []
    verdicts = [each for run in of_runs for each in store.load(folder.path / run).verdicts if each.name not in NAMES]
    require_verdicts([*record.verdicts, *verdicts], required)
