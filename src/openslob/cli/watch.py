"""`slob watch`: what a server does, interval by interval."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

import typer

from openslob.cli.common_options import DURATION, REQUIRE, RESULTS, at_least
from openslob.cli.completion import records
from openslob.cli.console import columns, complain, notify, reader_is_gone, stoppable, write
from openslob.cli.options import with_target
from openslob.cli.repeated import Repeats, watch_runs
from openslob.core.errors import UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import Address
from openslob.engines.base import Activity, Engine
from openslob.engines.facts import ServerFacts
from openslob.engines.registry import resolve_as_is
from openslob.kinds.repeated.execute import LEAST_EVERY_S
from openslob.kinds.run.observation.observer import Observer
from openslob.kinds.run.samplers import SystemReading
from openslob.record.model import reservations
from openslob.report.format import warning_lines, wrap
from openslob.report.text import render
from openslob.watch.interval import Selection, Sort, WatchedInterval
from openslob.watch.lines import Lines, rates_of
from openslob.watch.watcher import Watcher

# The shortest interval: servers show what their sessions did up to a second late.
_SHORTEST_S = 1.0
_DEFAULT_TOP = 5
REPEATED = "Repeated runs"
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
        help="Show the wait events whose name or class has this text in it, or is like this pattern, such as 'IO:*'; "
        "can be repeated.",
    ),
]  # fmt: skip
SORT = Annotated[Sort, typer.Option(help="Order of wait events: time spent in them, their count, or their mean wait.")]
TOP = Annotated[
    int | None,
    typer.Option(
        min=0, max=10_000, metavar="N", help=f"Show so many wait events (default: {_DEFAULT_TOP}; files: all)."
    ),
]
RECORD = Annotated[
    bool, typer.Option("--record", metavar="", help="Write what is read into a record, which other commands read.")
]
NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the record.")]
CSV = Annotated[bool, typer.Option("--csv", metavar="", help="Print CSV: a row for each figure of each interval.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON: one line for each interval.")]

Printer = Callable[[WatchedInterval], None]


EVERY = Annotated[
    float | None,
    typer.Option(
        "--every", parser=at_least(LEAST_EVERY_S), metavar=DURATION, rich_help_panel=REPEATED,
        help="Make the same run again and again, one at this interval, such as 15m, instead of watching.",
    ),
]  # fmt: skip
FOR = Annotated[
    float | None,
    typer.Option(
        "--for", parser=at_least(5), metavar=DURATION, rich_help_panel=REPEATED,
        help="How long to make runs, such as 3d (default: until Ctrl-C); --count gives their number instead.",
    ),
]  # fmt: skip
RUN = Annotated[
    str,
    typer.Option(
        "--run", metavar="OPTIONS", rich_help_panel=REPEATED, show_default=False,
        help="The run: parameters of `slob run` as one text, such as '--sessions 8 --run-time 30'.",
    ),
]  # fmt: skip
RESUME = Annotated[
    str | None,
    typer.Option(
        metavar="RECORD", autocompletion=records, rich_help_panel=REPEATED,
        help="Go on with this repeated run; the times that have passed are missed.",
    ),
]  # fmt: skip


@with_target
def watch(
    target: Address,
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
) -> None:
    """Show what a server does, second by second: transactions, reads, writes, log, CPU, device, waits, I/O by object.

    Everything is of the whole server, whoever uses it; nothing is run or changed there. Ctrl-C ends it.
    With --every, it makes the same run again and again instead, and shows how far the runs differ, and since when.
    Example: slob watch --target embedded --filter IO
    """
    repeats = Repeats(every, seconds, count, run, resume)
    repeats.require_complete()
    if repeats.is_asked:
        watch_runs(target, ctx, repeats, name, results, require or [], as_json)
        return
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other", "give one of them")
    engine = resolve_as_is(target.reveal())
    selection = Selection(tuple(filters or ()), sort)
    facts = engine.facts()
    with stoppable(announced=False) as interrupt:
        if as_csv or as_json:
            for reservation in reservations(facts.experimental, facts.stand_in):
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
        *warning_lines(reservations(facts.experimental, facts.stand_in)),
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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(watch)
