"""`slob watch --every`: the same run again and again at fixed times."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from openslob.cli.common_options import require_known, require_verdicts
from openslob.cli.configured import config_file, environment
from openslob.cli.console import notify, write, write_document
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import OnTarget
from openslob.config.layers import nearest
from openslob.config.parameters import parameters
from openslob.config.resolve import resolve
from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.repeated.execute import RepeatedRequest, execute
from openslob.kinds.repeated.figures import NAMES
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedTime
from openslob.kinds.repeated.report import repeated_document, time_line
from openslob.kinds.run.progress import ProgressSink
from openslob.record import finding
from openslob.record.model import Status


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
    target: Address, ctx: typer.Context, asked: Repeats, name: str, results: Path, required: Sequence[str], json: bool
) -> None:
    """Make the runs that are due, and print what they come to."""
    require_known(required, NAMES)
    path = finding.one(asked.resume, results, notify, {REPEATED}).folder if asked.resume else None
    parameters = resolve(parameter_texts(asked.words), config_file(ctx), environment(ctx))
    for notice in () if path else parameters.notices:
        notify(notice)
    request = RepeatedRequest(parameters, name, asked.every_s or 0, asked.planned, path)
    context = make_context(OnTarget(target=target), results, _BetweenLines())
    folder = execute(request, context, _say_nothing if json else _tell)
    _print(folder, json)
    _judge(folder, required)


class _BetweenLines(Screen):
    """The progress of each run on a terminal; elsewhere its lines would hide those of the times."""

    @contextmanager
    def running(self, label: str, left_s: float | None) -> Iterator[ProgressSink]:
        """Show the progress of a run in this block."""
        with super().running(label, left_s) if sys.stderr.isatty() else nullcontext(_say_nothing) as show:
            yield show


def _say_nothing(_: object) -> None:
    """Show nothing."""


def _tell(done: RepeatedTime) -> None:
    write(time_line(done))


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
