"""`slob observe`: any load between two readings of the server's counters, with all samplers of a run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Annotated, Any

import typer

from openslob.analyze.verdicts import OF_ANY_LOAD
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
from openslob.cli.console import complain, notify, stoppable, write_record
from openslob.cli.options import CONSENT, REPORTS, OnTarget, price_of_target, with_place
from openslob.cli.progress import LiveLine, working
from openslob.config.configuration import names
from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import redact_words
from openslob.core.workload import PRICE as PRICE_OF
from openslob.core.workload import StatisticsType
from openslob.engines.base import Engine
from openslob.engines.clients import ROWS_PER_SCALE, WorkloadRequest, require_workload
from openslob.engines.managed.base import require_writes
from openslob.engines.patience import Patience
from openslob.engines.registry import client_programs, resolve
from openslob.host.remote import find_host
from openslob.kinds.run.observation.command import ObservedCommand, observe_command, program_of
from openslob.kinds.run.observation.observer import PULSE_S, Observer
from openslob.kinds.run.server_reports import ServerReports
from openslob.record.model import RunRecord, Status
from openslob.report.text import render, run_document

COMMAND = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND …]", help="The command to observe, with its arguments, after two dashes."),
]
FOR = Annotated[
    float | None,
    typer.Option(
        "--for",
        parser=at_least(1),
        metavar=DURATION,
        help="How long to observe; not with a command, which ends by itself (ready-made workload: 60s).",
    ),
]
NAME = Annotated[
    str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the observation.")
]
WORKLOAD = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A ready-made workload on its own tables, such as tpcb. tpcb, tpcb-select, tpcb-simple-update (pgbench), "
        "oltp-read-write, oltp-read-only, oltp-point-select, oltp-update-index, … (sysbench).",
    ),
]
SCALE = Annotated[
    int,
    typer.Option(min=1, max=100_000, callback=rehearsal.units, help="Size of a ready-made workload, in 100,000 rows."),
]
CLIENTS = Annotated[int, typer.Option(min=1, max=10_000, help="Connections of a ready-made workload.")]
KEEP = Annotated[bool, typer.Option("--keep", metavar="", help="Leave the tables of a ready-made workload there.")]
WORKLOAD_S = 60.0


PRICE = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT/month", help="What the server costs: the record then has the cost of its reads."),
]


@with_place
def observe(
    ctx: typer.Context,
    on: OnTarget,
    command: COMMAND = None,
    *,
    seconds: FOR = None,
    workload: WORKLOAD = None,
    scale: SCALE = 10,
    clients: CLIENTS = 8,
    keep: KEEP = False,
    price: PRICE = None,
    reports: REPORTS = StatisticsType.NONE,
    consent: CONSENT = None,
    name: NAME = "observe",
    results: RESULTS,
    require: REQUIRE = None,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Observe any load: counters, waits, device and CPU while a command runs, or for a time.

    slob exits with the exit code of the command.

    Example: slob observe --target embedded --workload tpcb --for 60s
    """
    require_known(require or (), [verdict.__name__ for verdict in OF_ANY_LOAD])
    _require_one(command, workload, seconds)
    cost = price_of_target(ctx, price)
    engine, server = resolve(on.target.reveal())
    engine.server_pid, engine.host = on.server_pid, find_host(on.host)
    url = server.status().url if server else on.target.reveal()
    with stoppable() as interrupt, ExitStack() as opened:
        engine.follow(Patience(interrupt, notify))
        around = ServerReports(engine, reports, names(consent), "flag")
        for finding in around.findings():
            raise SlobError(finding.why, finding.advice)
        load = _Load(command, {"command": command and redact_words(command), "seconds": seconds}, _environment(url))
        if workload:
            require_writes(engine, server)
            bin_dir = server.status().spec.bin_dir if server else None
            request = WorkloadRequest(
                workload, clients, seconds or rehearsal.seconds(WORKLOAD_S), scale, engine.facts().version, bin_dir,
                interrupt.stop.is_set,
            )  # fmt: skip
            load = _ready_made(opened, engine, url, request, keep)
        spec = {**load.spec, **({PRICE_OF: str(cost)} if cost else {})}
        # What a command prints is between the lines about it.
        line = LiveLine(drawn=load.command is None)
        opened.callback(line.clear)
        observer = opened.enter_context(
            Observer(engine, results, name, spec, interrupt=interrupt, show=line, render=render, reports=around)
        )
        for text in load.remarks:
            observer.note(text)
        # Of a JSON document, standard output holds nothing else.
        streams = (sys.stderr if json else sys.stdout, sys.stderr)
        record, code = _observe(observer, load, float(seconds or 0), interrupt, streams)
    write_record(record, observer.folder, json, whole, run_document)
    _judge(record, code, require)


def _require_one(command: list[str] | None, workload: str | None, seconds: float | None) -> None:
    """Raise UsageError unless one load is given, and SlobError if it is a command that there is not."""
    if (command is not None and (workload or seconds)) or not (command or workload or seconds):
        raise UsageError(
            "give one load to observe: a command, a ready-made workload, or a time",
            "slob observe -- pgbench -c 8 -T 60, slob observe --workload tpcb, or slob observe --for 60s",
        )
    if command:
        program_of(command)


@dataclass(frozen=True)
class _Load:
    """What is observed: a command, if there is one, and how it finds the target; ``spec`` goes into the record."""

    command: Sequence[str] | None
    spec: Mapping[str, Any]
    environment: Mapping[str, str]
    remarks: Sequence[str] = ()


def _environment(url: str) -> Mapping[str, str]:
    programs = client_programs(url)
    return programs.environment(url) if programs else {}


def _ready_made(opened: ExitStack, engine: Engine, url: str, request: WorkloadRequest, keep: bool) -> _Load:
    """Make the tables of a ready-made workload, which are removed when ``opened`` ends."""
    programs = client_programs(url)
    if programs is None:
        raise UsageError(f"there are no ready-made workloads for {engine.target}", "give a command: slob observe -- …")
    require_workload(request.name, programs.workloads())
    opened.enter_context(engine.exclusive("observe"))
    notify(f"making the tables of {request.name}, {request.scale * ROWS_PER_SCALE:,} rows")
    with working(f"making the tables of {request.name}"):
        ready = opened.enter_context(programs.ready(url, [request], keep))[request.name]
    variables = {**programs.environment(url), **ready.environment}
    return _Load(ready.command, ready.spec(request), variables, ready.remarks)


def _observe(
    observer: Observer, load: _Load, seconds: float, interrupt: Interrupt, streams: tuple[IO[str], IO[str]]
) -> tuple[RunRecord, int]:
    """Observe a command, whose output goes to these streams, or for a time; return the record and the exit code."""
    if not load.command:
        return _of_time(observer, seconds, interrupt), 0
    words = [program_of(load.command), *load.command[1:]]
    running = ObservedCommand(words, {**os.environ, **load.environment})
    record = observe_command(observer, running, interrupt, streams, complain)
    return record, running.exit_code


def _of_time(observer: Observer, seconds: float, interrupt: Interrupt) -> RunRecord:
    """Observe for so many seconds, or until the interrupt."""
    observer.begin()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not interrupt.requested and not observer.pulse():
        interrupt.stop.wait(min(PULSE_S, left))
    return observer.finish()


def _judge(record: RunRecord, code: int, require: list[str] | None) -> None:
    """Raise what gives the exit code: that of the command if it failed, 3 or 4 for a verdict that does not hold."""
    if code:
        complain(f"{record.errors[0]}; its record says {record.status}" if record.errors else "the command was stopped")
        raise typer.Exit(code)
    if record.errors:
        raise SlobError(record.errors[0], "the record says failed")
    if record.status is Status.INTERRUPTED and not record.spec.get("command"):
        raise SlobError("the observation was stopped before its end; its record says interrupted")
    require_verdicts(record.verdicts, require or [])
