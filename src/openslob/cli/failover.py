"""`slob failover`: outages as the subject of a test, and the rate of commits that copies follow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import (
    ALL,
    DURATION,
    RECORD_JSON,
    REQUIRE,
    RESULTS,
    at_least,
    require_known,
    require_verdicts,
)
from openslob.cli.completion import one_of, servers
from openslob.cli.console import notify, stoppable, write_record
from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address
from openslob.engines import registry
from openslob.kinds.failover.execute import FailoverRequest, execute
from openslob.kinds.failover.figures import NAMES
from openslob.kinds.failover.record import FailoverRecord
from openslob.kinds.failover.report import failover_document
from openslob.kinds.failover.servers import pair_of
from openslob.kinds.failover.sessions import Retry
from openslob.record.model import Status

TARGET = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="URL|NAME[,…]", autocompletion=servers, show_default=False,
        help="A managed server and its standby, or all servers that clients may go to (default: a new pair).",
    ),
]  # fmt: skip
ENGINE = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE", autocompletion=one_of(registry.standby_engines()), help="Database of the new servers."
    ),
]
NODES = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=3, max=9, show_default=False,
        help="Make a cluster of so many nodes instead of a pair. One of them is killed.",
    ),
]  # fmt: skip
ON_OUTAGE = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="What makes the outage of your own servers and lets another take over; default: you, by hand.",
    ),
]
REPAIR = Annotated[str | None, typer.Option(metavar="COMMAND", help="What repairs your servers after each outage.")]
CYCLES = Annotated[
    int, typer.Option(metavar="N", min=1, max=10_000, callback=rehearsal.repeats, help="Number of outages.")
]
SESSIONS = Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Sessions that commit.")]
RATE = Annotated[
    float | None,
    typer.Option(min=0.1, max=10**9, metavar="N", help="Commits per second of all sessions; default: no limit."),
]
BEFORE = Annotated[
    float,
    typer.Option("--before", parser=at_least(3), metavar=DURATION, help="Load before the outage, or in each step."),
]
RECOVERY = Annotated[
    float,
    typer.Option(parser=at_least(2), metavar=DURATION, help="Longest wait after an outage for the level to return."),
]
RETRY = Annotated[
    Retry, typer.Option(help="What clients do with an operation in doubt: ask whether it is there, or send it again.")
]
ANSWER = Annotated[
    float,
    typer.Option(
        "--answer-timeout", parser=at_least(0.1), metavar=DURATION,
        help="A session that waits longer for an answer tries the other servers.",
    ),
]  # fmt: skip
SYNCHRONOUS = Annotated[
    bool, typer.Option("--synchronous", metavar="", help="Let commits wait for the standby (managed pairs only).")
]
FOLLOW = Annotated[
    float | None,
    typer.Option(
        parser=at_least(0.05), metavar=DURATION,
        help="Make no outage: find the highest rate at which the copies lag by less than this.",
    ),
]  # fmt: skip
YES = Annotated[
    bool,
    typer.Option("--yes", "-y", metavar="", help="Do not ask before managed servers are killed and created again."),
]
NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the record.")]


def failover(
    target: TARGET = None,
    engine: ENGINE = None,
    nodes: NODES = None,
    on_outage: ON_OUTAGE = None,
    repair: REPAIR = None,
    cycles: CYCLES = 1,
    sessions: SESSIONS = 8,
    rate: RATE = None,
    before_s: BEFORE = "10s",  # type: ignore[assignment]
    recovery: RECOVERY = "60s",  # type: ignore[assignment]
    retry: RETRY = Retry.ASK,
    answer_timeout: ANSWER = "10s",  # type: ignore[assignment]
    synchronous: SYNCHRONOUS = False,
    follow_limit: FOLLOW = None,
    yes: YES = False,
    name: NAME = "failover",
    *,
    results: RESULTS,
    require: REQUIRE = None,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Make an outage under load: how long nobody is served, what becomes of each commit, when the level is back.

    Example: slob failover --cycles 3 --synchronous
    """
    require_known(require or (), NAMES)
    request = FailoverRequest(
        name, results, sessions, cycles, before_s, recovery, retry, rate, answer_timeout, synchronous, follow_limit,
        registry.instances(Address.parse(target).reveal()) if target else (), engine, nodes, on_outage, repair,
    )  # fmt: skip
    request.check()
    if request.kills_named and not yes:
        _require_consent(request.targets)
    with stoppable() as interrupt:
        record, folder = execute(request, interrupt, notify)
    _show(record, folder, require, json, whole)


def _require_consent(names: Sequence[str]) -> None:
    """Ask whether managed servers may be killed and created again. UsageError where nobody can be asked."""
    primary, standby = (server.name for server in pair_of(names))
    what = f"{primary} is killed, {standby} promoted, and {primary} created again as a copy of {standby}"
    if not sys.stdin.isatty():
        raise UsageError(what, "--yes allows it; without --target new servers are made for the test")
    if not typer.confirm(f"slob: {what}. What {primary} alone has is lost. Go on?", err=True):
        raise SlobError(f"nothing was done to {primary} and {standby}", "without --target new servers are made")


def _show(record: FailoverRecord, folder: Path, require: list[str] | None, json: bool, whole: bool) -> None:
    """Print the result. SlobError if the test did not end, VerdictError if a required verdict does not hold."""
    write_record(record, folder, json, whole, failover_document)
    if record.status is not Status.COMPLETE:
        raise SlobError(f"the test did not end: {'; '.join(record.errors)}", f"its record is {folder}")
    require_verdicts(record.verdicts, require or ())
