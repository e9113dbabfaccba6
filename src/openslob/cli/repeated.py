"""`slob watch --every`: the same run again and again at fixed times."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from openslob.cli.common_options import require_known, require_verdicts
from openslob.cli.configured import config_file, environment
from openslob.cli.console import notify, stoppable, write, write_document
from openslob.cli.options import Asked, Resolved
from openslob.cli.progress import LiveLine
from openslob.config.layers import nearest
from openslob.config.parameters import parameters
from openslob.config.resolve import resolve as resolve_workload
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import Target
from openslob.core.units import format_duration
from openslob.engines.base import Engine
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.repeated import record as repeated
from openslob.kinds.repeated.execute import Repeating, new_record, repeat, require_unfinished
from openslob.kinds.repeated.figures import NAMES
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedTime
from openslob.kinds.repeated.report import repeated_document, time_line
from openslob.kinds.run.progress import Progress
from openslob.record import finding
from openslob.record.model import Status
from openslob.report.text import render


@dataclass(frozen=True)
class Repeats:
    """What the command asks for: a run every so many seconds, how many of them, and its parameters as words."""

    every_s: float | None
    seconds: float | None
    count: int | None
    words: str
    resume: str | None

    @property
    def is_asked(self) -> bool:
        """Whether runs are to be made at all."""
        return bool(self.every_s or self.resume)

    def require_complete(self) -> None:
        """Raise UsageError for options that mean nothing without --every, or with --resume."""
        given = {"--for": self.seconds, "--run": self.words, "--resume": self.resume, "--every": self.every_s}
        names = [name for name, value in given.items() if value]
        if not self.is_asked and names:
            raise UsageError(f"{names[0]} is for runs that are repeated", "add --every, such as --every 15m")
        if self.resume and len(names) > 1:
            others = ", ".join(name for name in names if name != "--resume")
            raise UsageError(f"--resume takes the parameters of the record, not {others}", "leave them out")
        if self.seconds and self.count:
            raise UsageError("--for and --count each say how many runs there are", "give one of them")

    @property
    def planned(self) -> int | None:
        """How many runs are to be made; None: until it is stopped."""
        if self.count or not (self.seconds and self.every_s):
            return self.count
        return max(1, round(self.seconds / self.every_s))


def parameter_texts(words: str) -> dict[str, str]:
    """Return the parameters of a workload that ``words``, such as ``--sessions 8``, give, by field name."""
    flags = {parameter.flag: parameter for parameter in parameters().values()}
    try:
        rest, texts = shlex.split(words), dict[str, str]()
    except ValueError as error:
        raise UsageError(f"--run {words!r} can't be read: {error}", "quote it as in a shell") from error
    while rest:
        flag, _, value = rest.pop(0).partition("=")
        parameter = flags.get(flag) or flags.get(flag.replace("--no-", "--", 1))
        if parameter is None or (parameter.flag != flag and not parameter.is_switch):
            near = nearest(flag, list(flags))
            raise UsageError(
                f"--run: {flag} is no parameter of a run", f"did you mean {near}?" if near else "see slob run --help"
            )
        if parameter.is_switch:
            texts[parameter.name] = "FALSE" if flag.startswith("--no-") else "TRUE"
        elif value or rest:
            texts[parameter.name] = value or rest.pop(0)
        else:
            raise UsageError(f"--run: {flag} has no value")
    return texts


def watch_runs(
    target: Target, ctx: typer.Context, asked: Repeats, name: str, results: Path, required: Sequence[str], json: bool
) -> None:
    """Make the runs that are due, and print what they come to."""
    require_known(required, NAMES)
    path = finding.one(asked.resume, results, notify, {REPEATED}).folder if asked.resume else None
    if path:
        before = repeated.load(path)
        require_unfinished(before)
        target = target.recorded_as(before.target)
    with stoppable() as interrupt:
        engine = _connected(target, interrupt)
        if path is None:
            resolved = _resolved(target, ctx, asked.words).on(engine)
            record = new_record(
                name, target.shown, resolved.workload, asked.every_s or 0, asked.planned, resolved.sources,
                resolved.notices,
            )  # fmt: skip
        with RepeatedFolder.resume(path) if path else RepeatedFolder.begin(results, record) as folder:
            _announce(folder)
            # Between the lines of the runs, phases would hide what is looked for.
            line = LiveLine() if sys.stderr.isatty() else None

            def tell(done: RepeatedTime) -> None:
                if line:
                    line.clear()
                if not json:
                    write(time_line(done))

            repeat(folder, Repeating(lambda: _connected(target, interrupt), interrupt, line or _ignore, render, tell))
            if line:
                line.clear()
            _print(folder, json)
    _judge(folder, required)


def _ignore(_progress: Progress) -> None:
    """Show nothing."""


def _connected(target: Target, interrupt: Interrupt) -> Engine:
    engine, _ = resolve(target.reveal())
    engine.follow(Patience(interrupt, notify))
    return engine


def _resolved(target: Target, ctx: typer.Context, words: str) -> Resolved:
    flags, variables = parameter_texts(words), environment(ctx)
    found = resolve_workload(flags, config_file(ctx), variables)
    for notice in found.notices:
        notify(notice)
    asked = Asked(flags, config_file(ctx), variables)

    return Resolved(found.workload, found.sources, found.notices, target, {}, asked)


def _announce(folder: RepeatedFolder) -> None:
    record = folder.record
    runs = f"{record.planned - len(record.times)} runs" if record.planned else "runs until Ctrl-C"
    notify(f"{runs}, one every {format_duration(record.every_s)}; slob watch --resume {record.id} goes on after a stop")


def _print(folder: RepeatedFolder, json: bool) -> None:
    record = folder.record
    if json:
        write(record.model_dump_json(indent=1), kept=folder.path)
    elif record.times:
        write("")
        write_document(repeated_document(record, folder.path), folder.path)


def _judge(folder: RepeatedFolder, required: Sequence[str]) -> None:
    """Raise the error with the exit code: 1 if it was stopped before its end, 3 for a verdict that does not hold."""
    record = folder.record
    if record.status is not Status.COMPLETE:
        left = (record.planned or 0) - len(record.times)
        raise SlobError(
            f"the repeated run was stopped with {left} runs left", f"slob watch --resume {record.id} goes on"
        )
    require_verdicts(record.verdicts, required)
