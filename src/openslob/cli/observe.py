"""`slob observe`: any load between two readings of the server's counters, with all samplers of a run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from openslob.analyze.verdicts import OF_ANY_LOAD
from openslob.cli.common_options import (
    DURATION,
    RECORD_JSON,
    REQUIRE,
    RESULTS,
    at_least,
    require_known,
    require_verdicts,
)
from openslob.cli.console import columns, complain, notify, stoppable, write, write_report
from openslob.cli.options import with_target
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve
from openslob.errors import SlobError, UsageError
from openslob.interrupt import Interrupt
from openslob.observe.command import ObservedCommand, program_of
from openslob.observe.observer import PULSE_S, Ending, Observer
from openslob.record.model import RunRecord, Status
from openslob.report.text import answer, render
from openslob.secrets import Target

COMMAND = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND …]", help="The command to observe, with its arguments, after two dashes."),
]
FOR = Annotated[
    float | None,
    typer.Option("--for", parser=at_least(1), metavar=DURATION, help="Without a command: observe for so long."),
]
NAME = Annotated[
    str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the observation.")
]


@with_target
def observe(
    target: Target,
    command: COMMAND = None,
    *,
    seconds: FOR = None,
    name: NAME = "observe",
    results: RESULTS,
    require: REQUIRE = None,
    json: RECORD_JSON = False,
) -> None:
    """Observe any load: counters, waits, device and CPU while a command runs, or for a time. Its exit code is slob's.

    Example: slob observe --target embedded -- pgbench -c 8 -T 60
    """
    require_known(require or (), [verdict.__name__ for verdict in OF_ANY_LOAD])
    if (command is None) == (seconds is None):
        raise UsageError(
            "give what to observe: a command or a time",
            "slob observe -- pgbench -c 8 -T 60, or slob observe --for 60s",
        )
    words = [program_of(command), *command[1:]] if command else []
    engine, _ = resolve(target.reveal())
    spec = {"command": command, "seconds": seconds}
    with stoppable() as interrupt:
        engine.follow(Patience(interrupt, notify))
        with Observer(engine, results, name, spec, interrupt=interrupt, render=render) as observer:
            if words:
                record, code = _of_command(observer, ObservedCommand(words, os.environ), interrupt, json)
            else:
                record, code = _of_time(observer, float(seconds or 0), interrupt), 0
    _print(record, observer.folder, json)
    _judge(record, code, require)


def _of_time(observer: Observer, seconds: float, interrupt: Interrupt) -> RunRecord:
    """Observe for so many seconds, or until the interrupt."""
    observer.begin()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not interrupt.requested and not observer.pulse():
        interrupt.stop.wait(min(PULSE_S, left))
    return observer.finish()


def _of_command(
    observer: Observer, command: ObservedCommand, interrupt: Interrupt, json: bool
) -> tuple[RunRecord, int]:
    """Observe a command from its start to its end. Return the record and the command's exit code.

    The first request to stop is passed on to the command; the second ends it. Where the server can no longer be
    observed, the command goes on.
    """
    observer.begin()
    with command:
        # Of a JSON document, standard output holds nothing else.
        command.start(sys.stderr if json else sys.stdout, sys.stderr)
        passed = problem = ""
        while not command.ended.wait(PULSE_S):
            if not problem and (problem := observer.pulse()):
                complain(f"{problem}; the command goes on, its observation is over")
            passed = _passed_on(command, interrupt, passed)
        command.collect()
    observer.attach("stdout.txt", command.output.text())
    observer.attach("stderr.txt", command.errors.text())
    failed = [f"the command ended with {command.how_it_ended}"] if command.exit_code and not interrupt.requested else []
    facts = {"exit_code": command.exit_code, "elapsed_s": command.seconds, "cpu_s": command.cpu_s}
    return (
        observer.finish(Ending(command.ended_ns, command.cpu_s, failed, {"command": facts})),
        command.exit_code,
    )


def _passed_on(command: ObservedCommand, interrupt: Interrupt, passed: str) -> str:
    """Pass requests to stop on to the command; return which was, to be given the next time."""
    if interrupt.now.is_set() and passed != "now":
        command.signal(9)
        return "now"
    if interrupt.requested and not passed:
        command.signal(interrupt.number)
        return "stop"
    return passed


def _print(record: RunRecord, folder: Path, json: bool) -> None:
    if json:
        write(record.model_dump_json(indent=1), kept=folder)
    else:
        write_report(render(record, folder, columns()), answer(record), folder)


def _judge(record: RunRecord, code: int, require: list[str] | None) -> None:
    """Raise what gives the exit code: that of the command if it failed, 3 for a required verdict that does not hold."""
    if code:
        complain(f"{record.errors[0]}; its record says {record.status}" if record.errors else "the command was stopped")
        raise typer.Exit(code)
    if record.errors:
        raise SlobError(record.errors[0], "the record says failed")
    if record.status is Status.INTERRUPTED and not record.spec.get("command"):
        raise SlobError("the observation was stopped before its end; its record says interrupted")
    require_verdicts(record.verdicts, require or [])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(observe)
