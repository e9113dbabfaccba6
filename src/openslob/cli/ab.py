"""`slob ab`: which of two settings, servers or states of one is better, by pairs of runs until it is decided."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from openslob.cli.common_options import (
    ALL,
    DURATION,
    RECORD_JSON,
    REPORT_INTERVAL,
    RESULTS,
    RETRIES,
    at_least,
    parse_percent,
)
from openslob.cli.console import write_record
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import Resolved, with_workload
from openslob.core.errors import UndecidedError, VerdictError
from openslob.core.units import format_duration
from openslob.kinds.ab.execute import DEFAULT_FOR_S, DEFAULT_RUN_S, DEFAULT_WARMUP_S, FIGURE, AbRequest, execute, plan
from openslob.kinds.ab.figures import is_invalid, require_end
from openslob.kinds.ab.record import AbRecord
from openslob.kinds.ab.report import ab_answers, ab_document

_SIDE = "Settings as NAME=VALUE,…, a server, a command that prepares the target, or as-is."
SIDE_A = Annotated[str, typer.Argument(metavar="A", help=_SIDE)]
SIDE_B = Annotated[str, typer.Argument(metavar="B", help="The other side, given like A: it is judged against A.")]
UNTIL = Annotated[
    bool,
    typer.Option("--until-decided", metavar="", help="Look after every pair, and end once it is decided."),
]
FOR = Annotated[
    float | None,
    typer.Option(
        "--for", parser=at_least(1), metavar=DURATION, show_default=format_duration(DEFAULT_FOR_S),
        help="Longest time in all.",
    ),
]  # fmt: skip
SAME = Annotated[
    float,
    typer.Option("--same-within", parser=parse_percent, metavar="PCT", help="Differences up to this do not matter."),
]
FIGURE_OPTION = Annotated[str, typer.Option("--figure", metavar="NAME", help="Figure that decides, such as op_p99_us.")]
NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the record.")]


_SHORT = {"run_time": f"{DEFAULT_RUN_S:g}", "warmup": f"{DEFAULT_WARMUP_S:g}"}


@partial(with_workload, defaults=_SHORT)
def ab(
    resolved: Resolved,
    a: SIDE_A,
    b: SIDE_B,
    *,
    until_decided: UNTIL = False,
    seconds: FOR = None,
    same_within: SAME = "5%",  # type: ignore[assignment]
    figure: FIGURE_OPTION = FIGURE,
    name: NAME = "ab",
    results: RESULTS,
    retries: RETRIES = 1,
    report_interval: REPORT_INTERVAL = None,
    json: RECORD_JSON = False,
    whole: ALL = False,
) -> None:
    """Compare two sides in pairs of runs, each after a restart: B is better, worse, the same, or it is undecided.

    Exit codes: 0 not worse, 3 worse, 4 undecided.
    Example: slob ab as-is synchronous_commit=off --until-decided --update-pct 50
    """
    limit_s = seconds or DEFAULT_FOR_S
    request = AbRequest((a, b), resolved.parameters, name, figure, same_within, limit_s, until_decided, retries)
    context = make_context(resolved, results, Screen(report_interval))
    folder = execute(plan(request, context), context)
    write_record(folder.record, folder.path, json, whole, ab_document)
    judge(folder.record)


def judge(record: AbRecord) -> None:
    """Raise the error with the exit code: 1 if it was stopped or failed, 3 if B is worse, 4 if it is undecided."""
    require_end(record)
    answer = ab_answers(record)[0]
    if is_invalid(record) or record.decision == "undecided":
        raise UndecidedError(answer)
    if record.decision == "worse":
        raise VerdictError(answer)
