"""`slob watch`: what a server does, interval by interval; with --every, the same run again and again at fixed times."""

from __future__ import annotations

import csv
import io
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.cli.common_options import ALL, DURATION, REQUIRE, RESULTS, at_least, require_known, require_verdicts
from openslob.cli.completion import records
from openslob.cli.configured import config_file, environment
from openslob.cli.console import columns, complain, notify, reader_is_gone, stoppable, write, write_document
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import OnTarget, with_place
from openslob.config.layers import nearest
from openslob.config.parameters import format_value, parameters
from openslob.config.resolve import resolve
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.engines.base import Activity, Engine
from openslob.engines.facts import ServerFacts
from openslob.engines.registry import resolve_as_is
from openslob.host.remote import find_host
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.repeated.execute import LEAST_EVERY_S, RepeatedRequest, execute
from openslob.kinds.repeated.figures import NAMES
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedTime
from openslob.kinds.repeated.report import repeated_document, time_line
from openslob.kinds.run.observation.observer import Observer
from openslob.kinds.run.progress import ProgressSink
from openslob.kinds.run.samplers import SystemReading
from openslob.record import finding
from openslob.record.model import Status, reservations
from openslob.report.format import warning_lines, wrap
from openslob.report.text import render
from openslob.watch.interval import Selection, Sort, WatchedInterval
from openslob.watch.lines import Lines, rates_of
from openslob.watch.watcher import Watcher

# The shortest interval: servers show what their sessions did up to a second late.
_SHORTEST_S = 1.0
_DEFAULT_TOP = 5
_PANEL = "Repeated runs"
# What the sum of a cluster's instances is called where instances have their targets.
_SUM = "all"

INTERVAL = Annotated[
    float, typer.Option(parser=at_least(_SHORTEST_S), metavar=DURATION, help="Time between two readings.")
]
COUNT = Annotated[
    int | None, typer.Option(min=1, max=10**9, metavar="N", help="End after so many intervals (default: Ctrl-C).")
]
FILTER = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", metavar="EVENT|CLASS",
        help="Only wait events with this text in name or class. Or like a pattern, such as 'IO:*'; "
        "can be repeated.",
    ),
]  # fmt: skip
SORT = Annotated[
    Sort, typer.Option(help="Order of wait events. By time spent in them, their count, or their mean wait.")
]
TOP = Annotated[
    int | None,
    typer.Option(
        min=0, max=10_000, metavar="N", help=f"Show so many wait events (default: {_DEFAULT_TOP}; files: all)."
    ),
]
RECORD = Annotated[
    bool, typer.Option("--record", metavar="", help="Write a record. Other commands then show what was read.")
]
NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the record.")]
CSV = Annotated[bool, typer.Option("--csv", metavar="", help="Print CSV: a row for each figure of each interval.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON: one line for each interval.")]

Printer = Callable[[WatchedInterval], None]


EVERY = Annotated[
    float | None,
    typer.Option(
        "--every", parser=at_least(LEAST_EVERY_S), metavar=DURATION, rich_help_panel=_PANEL,
        help="Make the same run at this interval, such as 15m, instead of watching.",
    ),
]  # fmt: skip
FOR = Annotated[
    float | None,
    typer.Option(
        "--for", parser=at_least(5), metavar=DURATION, rich_help_panel=_PANEL,
        help="How long to make runs, such as 3d; default: until Ctrl-C. --count gives their number instead.",
    ),
]  # fmt: skip
RUN = Annotated[
    str,
    typer.Option(
        "--run", metavar="OPTIONS", rich_help_panel=_PANEL, show_default=False,
        help="The run: parameters of `slob run` as one text, such as '--sessions 8 --run-time 30'.",
    ),
]  # fmt: skip
RESUME = Annotated[
    str | None,
    typer.Option(
        metavar="RECORD", autocompletion=records, rich_help_panel=_PANEL,
        help="Go on with this repeated run; the times that have passed are missed.",
    ),
]  # fmt: skip


@with_place
def watch(
    on: OnTarget,
    ctx: typer.Context,
    interval: INTERVAL = "1s",  # type: ignore[assignment]
    count: COUNT = None,
    filters: FILTER = None,
    sort: SORT = Sort.TIME,
    top: TOP = None,
    record: RECORD = False,
    name: NAME = "watch",
    *,
    results: RESULTS,
    as_csv: CSV = False,
    as_json: JSON = False,
    every: EVERY = None,
    seconds: FOR = None,
    run: RUN = "",
    resume: RESUME = None,
    require: REQUIRE = None,
    whole: ALL = False,
) -> None:
    """Show what a server does, second by second: transactions, reads, writes, log, CPU, device, waits, I/O by object.

    Everything is of the whole server, whoever uses it; nothing is run or changed there. Ctrl-C ends it.
    With --every, it makes the same run again and again instead, and shows how far the runs differ, and since when.
    Example: slob watch --target embedded --filter IO
    """
    repeats = Repeats(every, seconds, count, run, resume)
    repeats.require_complete()
    if repeats.is_asked:
        watch_runs(on, ctx, repeats, name, results, require or [], whole, as_json)
        return
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other", "give one of them")
    engine = resolve_as_is(on.target.reveal())
    engine.server_pid, engine.host = on.server_pid, find_host(on.host)
    selection = Selection(tuple(filters or ()), sort)
    facts = engine.facts()
    with stoppable(announced=False) as interrupt:
        if as_csv or as_json:
            for reservation in reservations(facts.experimental, facts.stand_in, facts.caution):
                complain(reservation)
            show = (make_csv_printer if as_csv else make_json_printer)(engine, selection, top)
        else:
            show = _plain(engine, facts, interval, selection, _DEFAULT_TOP if top is None else top)
        spec = {"command": None, "seconds": count and count * interval}

        def recording(saw: Callable[[SystemReading], None], saw_sample: Callable[[Activity], None]) -> Observer:
            # Without a count any end is the planned one.
            ended = interrupt if count else Interrupt()
            return Observer(engine, results, name, spec, interval, ended, saw=saw, saw_sample=saw_sample, render=render)

        tell = notify if as_csv or as_json else _tell
        instances = [each.target for each in facts.instances]
        watcher = Watcher(engine, interval, interrupt, tell, recording if record else None, instances)
        with closing(watcher.intervals()) as intervals:
            for each in islice(intervals, count):
                show(each)
                if reader_is_gone():
                    break


def _tell(text: str) -> None:
    write(f"{datetime.now():%H:%M:%S} ! {text}")


def _plain(engine: Engine, facts: ServerFacts, interval_s: float, selection: Selection, top: int) -> Printer:
    width = columns()
    lines = Lines(selection, top, width, shutil.get_terminal_size().lines - 1)
    zone = datetime.now().astimezone().tzname()
    instances = [f"#{number}: {each.target}" for number, each in enumerate(facts.instances, 1)]
    where = f"the sum of {len(instances)} instances" if instances else engine.target
    what = f"{facts.product} {facts.version}, {where}; every {interval_s:g} s, times in {zone}"
    about = [
        *warning_lines(reservations(facts.experimental, facts.stand_in, facts.caution)),
        *(wrap(what, columns=width) if width else [what]),
        *instances,
    ]
    write("\n".join(about))
    return lambda interval: write("\n".join(lines.of(interval)))


def _at(interval: WatchedInterval) -> str:
    moment = datetime.fromtimestamp(interval.end_ns / 1e9, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def make_json_printer(engine: Engine, selection: Selection, top: int | None) -> Printer:
    """Return what prints each interval as a line of JSON, with the ``top`` waits of the selection."""

    def document(interval: WatchedInterval) -> dict[str, Any]:
        return {
            "seconds": round(interval.seconds, 6),
            "figures": {name: each.model_dump(exclude_none=False) for name, each in interval.figures.items()},
            "waits": [vars(each) for each in selection.of(interval.waits)[:top]],
            "wait_samples": interval.samples,
            "hidden_sessions": interval.hidden,
            "io": {kind: rates_of(each, interval.seconds) for kind, each in interval.io.items()},
            "cpu_pct": dict(interval.cpu),
        }

    def show(interval: WatchedInterval) -> None:
        head = {
            "at": _at(interval),
            "target": engine.target,
            "missed": interval.missed,
            "fault": interval.fault or None,
        }
        parts = {target: document(each) for target, each in interval.by_instance.items()}
        write(json.dumps({**head, **document(interval), **({"instances": parts} if parts else {})}))

    return show


def make_csv_printer(engine: Engine, selection: Selection, top: int | None) -> Printer:
    """Print the header of a CSV file, and return what prints the rows of each interval."""
    write("time,instance,kind,name,value,unit")

    def show(interval: WatchedInterval) -> None:
        whole = _SUM if interval.by_instance else engine.target
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        for instance, part in {whole: interval, **interval.by_instance}.items():
            for kind, name, value, unit in _rows(part, selection, top):
                shown = "" if value is None else f"{value:.6g}" if abs(value) < 1e5 else f"{value:.1f}"
                rows.writerow((_at(interval), instance, kind, name, shown, unit))
        write(text.getvalue(), end="")

    return show


_IO_UNITS = {"reads_per_s": "1/s", "read_mb_per_s": "MB/s", "read_latency_us": "µs", "writes_per_s": "1/s"}


def _rows(
    interval: WatchedInterval, selection: Selection, top: int | None
) -> Iterator[tuple[str, str, float | None, str]]:
    """Yield kind, name, value and unit of all that is known of one instance."""
    yield "interval", "seconds", interval.seconds, "s"
    yield "interval", "missed", interval.missed, ""
    yield "interval", "wait_samples", interval.samples, ""
    for name, figure in interval.figures.items():
        yield "figure", name, figure.value, figure.unit
    for wait in selection.of(interval.waits)[:top]:
        kind = "timed wait" if wait.timed else "partly sampled wait" if interval.hidden else "sampled wait"
        yield kind, wait.event, wait.sessions, "sessions"
        if wait.timed:
            yield kind, wait.event, wait.per_s, "1/s"
            yield kind, wait.event, wait.mean_us, "µs"
    for name, io_of in interval.io.items():
        for rate, value in rates_of(io_of, interval.seconds).items():
            yield "io", f"{name}: {rate}", value, _IO_UNITS[rate]
    for name, share in interval.cpu.items():
        yield "cpu", name, share, "%"


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
                f"--run: {flag} is not a parameter of a run",
                f"did you mean {near}?" if near else "see slob run --help-all",
            )
        if parameter.is_switch:
            texts[parameter.name] = "FALSE" if flag.startswith("--no-") else "TRUE"
        elif value or rest:
            before = [texts[parameter.name]] if parameter.is_repeated and parameter.name in texts else []
            texts[parameter.name] = format_value([*before, value or rest.pop(0)])
        else:
            raise UsageError(f"--run: {flag} has no value", "give it one")
    return texts


def watch_runs(
    on: OnTarget, ctx: typer.Context, asked: Repeats, name: str, results: Path, required: Sequence[str],
    whole: bool, json: bool,
) -> None:  # fmt: skip
    """Make the runs that are due, and print what they come to."""
    require_known(required, NAMES)
    path = finding.one(asked.resume, results, notify, {REPEATED}).folder if asked.resume else None
    parameters = resolve(parameter_texts(asked.words), config_file(ctx), environment(ctx))
    for notice in () if path else parameters.notices:
        notify(notice)
    request = RepeatedRequest(parameters, name, asked.every_s or 0, asked.planned, path)
    context = make_context(on, results, _BetweenLines())
    folder = execute(request, context, _say_nothing if json else _tell_time)
    _print(folder, whole, json)
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


def _tell_time(done: RepeatedTime) -> None:
    write(time_line(done))


def _print(folder: RepeatedFolder, whole: bool, json: bool) -> None:
    record = folder.record
    if json:
        write(record.model_dump_json(indent=1), kept=folder.path)
    elif record.times:
        write("")
        write_document(repeated_document(record, folder.path), folder.path, whole)


def _judge(folder: RepeatedFolder, required: Sequence[str]) -> None:
    """Raise the error with the exit code: 1 if it was stopped early, 3 or 4 for a verdict that does not hold."""
    record = folder.record
    if record.status is not Status.COMPLETE:
        left = (record.planned or 0) - len(record.times)
        raise SlobError(
            f"the repeated run was stopped with {left} runs left", f"slob watch --resume {record.id} goes on"
        )
    require_verdicts(record.verdicts, required)
