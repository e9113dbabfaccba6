"""`slob run`: run a workload and write its record."""

from __future__ import annotations

from typing import Annotated

import typer

from openslob.analyze import verdict_registry
from openslob.cli.ceilings import CEILING_OR_MEASURE
from openslob.cli.common_options import (
    ALL,
    RECORD_JSON,
    REPORT_INTERVAL,
    REQUIRE,
    RESULTS,
    RETRIES,
    require_known,
    require_verdicts,
)
from openslob.cli.console import write_record
from openslob.cli.driver_options import DRIVERS, TLS_CA, TLS_CERT, TLS_KEY
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import Resolved, with_workload
from openslob.cli.screen import LIVE
from openslob.core.errors import SlobError
from openslob.core.workload import BlockPath, Workload
from openslob.engines.settings import parse_settings
from openslob.record.model import RunRecord, Status
from openslob.record.store import UnsavedError

SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Run with this setting of the server's own; several times for several.",
        rich_help_panel="Target",
    ),
]
HOOK = Annotated[
    list[str] | None,
    typer.Option(
        "--hook",
        metavar="'WHEN COMMAND'",
        help="Run a command before, during or after: --hook 'during iostat -x 1'; several times for several.",
    ),
]
NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the run.")]


@with_workload
def run(
    resolved: Resolved,
    name: NAME = "run",
    settings: SET = None,
    *,
    results: RESULTS,
    require: REQUIRE = None,
    retries: RETRIES = 1,
    hook: HOOK = None,
    ceiling: CEILING_OR_MEASURE = None,
    report_interval: REPORT_INTERVAL = None,
    live: LIVE = False,
    drivers: DRIVERS = None,
    tls_ca_file: TLS_CA = None,
    tls_cert: TLS_CERT = None,
    tls_key: TLS_KEY = None,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Run a workload on loaded data: warm-up, measured window, record, report. Parameters of the data can be left out.

    Example: slob run --sessions 8 --update-pct 10 --run-time 60
    """
    # Help and completions do without what follows.
    from openslob.kinds.run.execute import AskedRun, execute  # noqa: PLC0415
    from openslob.kinds.run.hooks import hooks_of_script, parse_hooks  # noqa: PLC0415
    from openslob.report.text import run_document  # noqa: PLC0415

    require_known(require or (), verdict_registry.NAMES)
    hooks = (*hooks_of_script(resolved.script), *parse_hooks(hook or ()))
    asked = AskedRun(resolved.parameters, name, parse_settings(settings or ()), retries, hooks)
    of_drivers = (drivers, tls_ca_file, tls_cert, tls_key)
    context = make_context(resolved, results, Screen(report_interval, live), ceiling, of_drivers)
    try:
        finished = execute(asked, context)
    except UnsavedError as error:
        write_record(error.record, None, json, whole, run_document)
        raise SlobError(
            error.what,
            "the report on standard output is the result; free space or choose another folder with --results",
        ) from error
    write_record(finished.record, finished.folder, json, whole, run_document)
    judge(finished.record, list_required(resolved.parameters.workload, require))


def list_required(workload: Workload, require: list[str] | None) -> list[str]:
    """Return the verdicts that must hold: those of --require, and the proof of a stated mode or local block path."""
    local = workload.block_path is BlockPath.LOCAL
    return [*(require or ()), *(["mode"] if workload.mode else ()), *(["block_path"] if local else ())]


def judge(record: RunRecord, required: list[str]) -> None:
    """Raise the error with the exit code: 1 for a run that was stopped, 3 or 4 for a verdict that does not hold."""
    if record.status is not Status.COMPLETE:
        raise SlobError("the run was stopped before its end; its record says interrupted")
    require_verdicts(record.verdicts, required)
