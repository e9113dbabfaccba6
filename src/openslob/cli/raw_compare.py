"""`slob raw compare`: storage alone beside databases on it, the realism table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import (
    ALL,
    BLOCK_SIZE,
    CPUS,
    DURATION,
    MEASUREMENT_NAME,
    RECORD_JSON,
    REQUIRE,
    RESULTS,
    at_least,
    parse_amount,
    require_verdicts,
)
from openslob.cli.console import notify, stoppable, write_record
from openslob.cli.progress import LiveLine
from openslob.core import rehearsal
from openslob.engines import registry
from openslob.engines.managed.resources import usable_cpus
from openslob.kinds.storage.comparison.execute import ComparisonProgress, ComparisonRequest, execute
from openslob.kinds.storage.comparison.plan import ComparisonPlan
from openslob.kinds.storage.fio import IoEngine
from openslob.kinds.storage.record import StorageRecord
from openslob.kinds.storage.report import storage_document
from openslob.report.text import render

IO_ENGINE = Annotated[IoEngine, typer.Option(help="I/O interface of the requests; slob never falls back to another.")]
IN_FLIGHT = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=256, help="Concurrent reads. They are fio's requests, processes or sessions."),
]
RUN_TIME = Annotated[
    float,
    typer.Option(
        parser=at_least(1), metavar=DURATION, help="Length of each measurement. A ramp of a quarter of it comes first."
    ),
]
REPEATS = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        callback=rehearsal.repeats,
        help="Repeats of all measurements. Each is in a new random order.",
    ),
]
SCALE = Annotated[
    int, typer.Option(parser=parse_amount, metavar="SIZE", help="Size of the test file and of each server's data.")
]
ENGINES = Annotated[
    str | None,
    typer.Option(metavar="NAME,…", help=f"Databases: of {', '.join(registry.managed_engines())} (default: all here)."),
]
UPDATES = Annotated[
    int,
    typer.Option(
        "--update-pct", metavar="PCT", min=1, max=100, help="Share of updates. It is for contenders that update."
    ),
]
UNIT = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=65_536, help="Blocks that one SELECT reads; with 1, single reads are timed."),
]
WITH = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="NAME,…",
        help="Ready-made workloads of `slob observe` that each server also runs, such as tpcb,tpcb-select; each set of "
        "tables is as large as --scale.",
    ),
]
PLACE = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A directory on the storage to be measured (default: that of managed servers)."),
]


def compare(
    in_flight: IN_FLIGHT = 8,
    block_size: BLOCK_SIZE = "8k",  # type: ignore[assignment]
    run_time: RUN_TIME = 10.0,
    repeats: REPEATS = 3,
    scale: SCALE = "2G",  # type: ignore[assignment]
    engines: ENGINES = None,
    update_pct: UPDATES = 20,
    work_unit: UNIT = 64,
    workloads: WITH = None,
    cpus: CPUS = None,
    io_engine: IO_ENGINE = IoEngine.IO_URING,
    data_dir: PLACE = None,
    name: MEASUREMENT_NAME = "compare",
    *,
    results: RESULTS,
    require: REQUIRE = None,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Measure in turn, on one file system: reads by fio, and by databases, which process what they read.

    The servers are created for this command, then destroyed. Example: slob raw compare --cpus 0 --data-dir /data
    """
    plan = ComparisonPlan(
        io_engine, (), len(usable_cpus(cpus)), block_size, in_flight, run_time, repeats, scale, update_pct, work_unit,
        cpus, tuple(dict.fromkeys(_split_list(workloads))),
    )  # fmt: skip
    request = ComparisonRequest(plan, name, results, _split_list(engines), data_dir)
    live = _MessagesAbove(LiveLine())
    with stoppable() as interrupt:
        try:
            record, folder = execute(request, interrupt, ComparisonProgress(live.notify, live.line, render))
        finally:
            live.line.clear()
    show(record, folder, require, json, whole)


def _split_list(text: str | None) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in text.split(",")] if text else []


@dataclass(frozen=True)
class _MessagesAbove:
    """Prints messages above the live line of runs."""

    line: LiveLine

    def notify(self, text: str) -> None:
        """Print a message of progress."""
        self.line.clear()
        notify(text)


def show(record: StorageRecord, folder: Path, require: list[str] | None, json: bool, whole: bool) -> None:
    """Print the result of a raw measurement. VerdictError if a required verdict does not hold."""
    write_record(record, folder, json, whole, storage_document)
    require_verdicts(record.verdicts, require or ())
