"""`slob raw compare`: storage alone beside databases on it, the realism table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.progress import LiveLine, stoppable
from openslob.cli.raw_options import BLOCK, CPUS, ENGINE, JSON, NAME, REQUIRE, RESULTS, cpu_list, show, size
from openslob.engines import registry
from openslob.errors import UsageError
from openslob.report.text import render
from openslob.storage.fio import Fio
from openslob.storage.job import IoEngine
from openslob.versus.compare import ComparisonProgress, ComparisonRequest
from openslob.versus.compare import compare as measure
from openslob.versus.plan import ComparisonPlan
from openslob.versus.servers import available

IN_FLIGHT = Annotated[
    int, typer.Option(metavar="N", min=1, max=256, help="Reads at a time: fio's requests, processes, sessions.")
]
RUN_TIME = Annotated[float, typer.Option(min=1, metavar="S", help="Seconds of each, after a ramp of a quarter.")]
REPEATS = Annotated[int, typer.Option(metavar="N", min=1, help="How often all are measured, in an order drawn anew.")]
SCALE = Annotated[int, typer.Option(parser=size, metavar="SIZE", help="Of the test file, and of each server's data.")]
ENGINES = Annotated[
    str | None,
    typer.Option(metavar="NAME,…", help=f"Databases: of {', '.join(registry.managed_engines())} (default: all here)."),
]
UPDATES = Annotated[
    int, typer.Option("--update-pct", metavar="PCT", min=1, max=100, help="Updates of the contender that has some.")
]
UNIT = Annotated[int, typer.Option(metavar="N", min=1, help="Blocks that one SELECT visits; 1 times single reads.")]
PLACE = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A directory on the storage in question (default: where servers lie)."),
]


def compare(
    in_flight: IN_FLIGHT = 8,
    block_size: BLOCK = "8k",  # type: ignore[assignment]
    run_time: RUN_TIME = 10.0,
    repeats: REPEATS = 3,
    scale: SCALE = "2G",  # type: ignore[assignment]
    engines: ENGINES = None,
    update_pct: UPDATES = 20,
    work_unit: UNIT = 64,
    cpus: CPUS = None,
    io_engine: ENGINE = IoEngine.IO_URING,
    data_dir: PLACE = None,
    name: NAME = "compare",
    results: RESULTS = Path("results"),
    require: REQUIRE = None,
    json: JSON = False,
) -> None:
    """Measure in turn, on one file system: storage read by fio, and by databases that look at what they read.

    Servers are made for it and destroyed. Example: slob raw compare --cpus 0 --data-dir /data
    """
    if io_engine is IoEngine.PSYNC:
        raise UsageError("--io-engine psync is compared anyway", "give io_uring or libaio")
    plan = ComparisonPlan(
        io_engine, (), len(cpu_list(cpus)), block_size, in_flight, run_time, repeats, scale, update_pct, work_unit, cpus
    )  # fmt: skip
    live = _Live(LiveLine())
    with stoppable() as interrupt:
        fio = Fio.find(interrupt.stop)
        request = _request(plan, engines, data_dir, name, results)
        try:
            record, folder = measure(fio, request, interrupt, ComparisonProgress(live.notify, live.line, render))
        finally:
            live.line.clear()
    show(record, folder, require, json)


@dataclass(frozen=True)
class _Live:
    """The live line of runs, and lines above it."""

    line: LiveLine

    def notify(self, text: str) -> None:
        """One line of progress."""
        self.line.clear()
        print(f"slob: {text}", file=sys.stderr, flush=True)


def _request(
    plan: ComparisonPlan, engines: str | None, place: Path | None, name: str, results: Path
) -> ComparisonRequest:
    """The request with the engines that are there. UsageError for engines that are not known."""
    asked = [each.strip() for each in engines.split(",")] if engines else None
    place = place.absolute() if place else None
    there, missing = available(plan, asked, place)
    directory = place or registry.servers_place()
    if place is None:
        directory.mkdir(parents=True, exist_ok=True)
    return ComparisonRequest(replace(plan, engines=there), name, results, directory, place, missing)


def register(group: typer.Typer) -> None:
    """Add the command to the group of raw measurements."""
    group.command()(compare)
