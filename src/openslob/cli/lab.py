"""`slob lab`: what each setting of a server costs here, by interleaved pairs of runs with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from typing import Annotated

import typer

from openslob.analyze.intervals import LEAST_STARTS
from openslob.cli.common_options import (
    ALL,
    DURATION,
    RECORD_JSON,
    REPORT_INTERVAL,
    REQUIRE,
    RESULTS,
    at_least,
    parse_cache,
    require_known,
    require_verdicts,
)
from openslob.cli.completion import records
from openslob.cli.console import columns, notify, write, write_record
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import OnTarget, price_of_target, with_target
from openslob.cli.progress import working
from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address
from openslob.core.units import format_bytes, format_duration
from openslob.kinds.lab import KIND as LAB
from openslob.kinds.lab.execute import execute
from openslob.kinds.lab.figures import NAMES
from openslob.kinds.lab.loads import DEFAULT_CACHE
from openslob.kinds.lab.plan import needed_s, ready_list, round_s
from openslob.kinds.lab.record import LabRecord
from openslob.kinds.lab.report import lab_document, lab_plan
from openslob.kinds.lab.request import DEFAULT_FOR_S, DEFAULT_RUN_S, DEFAULT_SESSIONS, PRECISION_PCT, LabRequest, plan
from openslob.record import finding
from openslob.record.model import Status
from openslob.report.format import pairs
from openslob.report.terminal import render_blocks

_SHORTEST_S = 1.0

SETTINGS = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SETTING]", show_default=False,
        help="Settings of the server, as NAME=V1,V2, or NAME for all other values of a switch or an enumeration.",
    ),
]  # fmt: skip
READY = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A ready setting, such as io-method; repeatable. list: show them all."),
]
FOR = Annotated[
    float | None,
    typer.Option(
        "--for", parser=at_least(_SHORTEST_S), metavar=DURATION, show_default=format_duration(DEFAULT_FOR_S),
        help="The time that it may take in all; what is settled earlier is left alone.",
    ),
]  # fmt: skip
PRECISION = Annotated[
    float,
    typer.Option(metavar="PERCENT", min=0.1, max=50, help="How narrow the interval of a rate is to be: ± so much."),
]
PAIRS = Annotated[
    int,
    typer.Option(
        "--pairs", metavar="N", min=1, max=1000,
        help="Refuse to begin unless --for gives each comparison so many pairs; of fewer than 6, none is settled.",
    ),
]  # fmt: skip
LOADS = Annotated[
    str | None,
    typer.Option(
        metavar="LOAD,…",
        help="Run every setting under these loads. By default, each is run under those where it can matter.",
    ),
]
CACHE = Annotated[
    int | None,
    typer.Option(
        parser=parse_cache, metavar="SIZE", show_default=format_bytes(DEFAULT_CACHE),
        help="Cache of the servers that are made; the data are eight times as large.",
    ),
]  # fmt: skip
SESSIONS = Annotated[int, typer.Option(metavar="N", min=1, max=1024, help="Sessions of each run.")]
RUN_TIME = Annotated[
    float | None,
    typer.Option(
        parser=at_least(_SHORTEST_S), metavar=DURATION, show_default=format_duration(DEFAULT_RUN_S),
        help="Length of the measured window of each run.",
    ),
]  # fmt: skip
SEED = Annotated[
    int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Seed of the order, and of what the runs visit.")
]
DRY_RUN = Annotated[bool, typer.Option("--dry-run", metavar="", help="Show what would be compared, and run nothing.")]
RESUME = Annotated[
    str | None,
    typer.Option(
        metavar="RECORD", autocompletion=records,
        help="Go on with this lab for the rest of its time. With --for, for that time; a folder, an id, latest.",
    ),
]  # fmt: skip
NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the lab.")]
PRICE = Annotated[
    str | None, typer.Option(metavar="AMOUNT/month", help="What the server costs: its runs then have figures of cost.")
]


@with_target
def lab(
    ctx: typer.Context,
    target: Address,
    settings: SETTINGS = None,
    ready: READY = None,
    seconds: FOR = None,
    precision: PRECISION = PRECISION_PCT,
    least_pairs: PAIRS = LEAST_STARTS,
    loads: LOADS = None,
    sessions: SESSIONS = DEFAULT_SESSIONS,
    cache: CACHE = None,
    run_time: RUN_TIME = None,
    seed: SEED = 1,
    price: PRICE = None,
    name: NAME = "lab",
    *,
    dry_run: DRY_RUN = False,
    resume: RESUME = None,
    results: RESULTS,
    require: REQUIRE = None,
    report_interval: REPORT_INTERVAL = None,
    whole: ALL = False,
    as_json: RECORD_JSON = False,
) -> None:
    """Find out what each setting of a server costs here: interleaved pairs of runs with and without it.

    It makes servers like the target and destroys them at its end; the target itself is left alone.
    Without a setting, all ready ones are compared.
    Example: slob lab full_page_writes=off synchronous_commit=off --for 10m
    """
    if ready and "list" in ready:
        listed = ready_list(target.reveal())
        write(dumps(listed, indent=1) if as_json else "\n".join(pairs(list(listed.items()))))
        return
    require_known(require or (), NAMES)
    if resume and (settings or ready):
        raise UsageError("--resume takes the settings of the record", "leave others out")
    path = finding.one(resume, results, notify, {LAB}).folder if resume else None
    names = tuple(word for each in ready or () for word in _words(each))
    request = LabRequest(
        name, tuple(settings or ()), names, _words(loads), seconds, precision, cache or DEFAULT_CACHE, sessions,
        run_time or DEFAULT_RUN_S, seed, price_of_target(ctx, price), path, least_pairs,
    )  # fmt: skip
    context = make_context(OnTarget(target=target), results, Screen(report_interval))
    with working("asking which settings such a server takes"):
        planned = plan(request, context)
    if dry_run:
        wanted_s = needed_s(planned.record, planned.pairs)
        write(render_blocks(lab_plan(planned.record, round_s(planned.record), planned.pairs, wanted_s), columns()))
        return
    folder = execute(planned, context)
    write_record(folder.record, folder.path, as_json, whole, lab_document)
    _judge(folder.record, require or ())


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _judge(record: LabRecord, required: Sequence[str]) -> None:
    """Raise the error with the exit code: 1 if it was stopped or failed, 3 or 4 for a verdict that does not hold."""
    if record.status is Status.FAILED:
        raise SlobError(next(iter(record.errors), "the lab failed"), f"slob lab --resume {record.id} tries again")
    if record.status is Status.INTERRUPTED:
        raise SlobError("the lab was stopped before its end", f"slob lab --resume {record.id} goes on")
    require_verdicts(record.verdicts, required)
