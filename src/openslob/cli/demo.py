"""`slob demo`: server, load, runs and result, without any preparation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import psutil
import typer

from openslob import rehearsal
from openslob.cli.common_options import RECORD_JSON, RESULTS
from openslob.cli.console import columns, notify, stoppable, write, write_report
from openslob.cli.progress import LiveLine, LoadView, working
from openslob.disk import existing_parent
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer
from openslob.engines.patience import Patience
from openslob.interrupt import Interrupt
from openslob.record.model import RunRecord
from openslob.report.listing import demo_json, render_demo_table
from openslob.report.text import render
from openslob.run import loading, runner
from openslob.sweep import demo as plan
from openslob.sweep.time_left import TimeLeft

ENGINE = Annotated[
    str,
    typer.Option(
        envvar="SLOB_ENGINE", metavar="ENGINE", help=f"Which database: {' or '.join(registry.managed_engines())}."
    ),
]
KEEP = Annotated[bool, typer.Option("--keep", metavar="", help="Leave the server running, with its data.")]


def demo(
    engine: ENGINE = registry.default_engine(),
    *,
    results: RESULTS,
    keep: KEEP = False,
    json: RECORD_JSON = False,
) -> None:
    """Show what this host can do in three minutes: create a server, load it, make cached and physical runs.

    Example: slob demo
    """
    with stoppable() as interrupt:
        size = plan.sizes(
            shutil.disk_usage(existing_parent(registry.servers_place())).free, psutil.virtual_memory().total
        )
        with demo_server(engine, size, keep) as (target, server):
            load(target, server, size, interrupt)
            records = list(measured(target, plan.runs(size, os.cpu_count() or 1), results, interrupt))
    if json:
        write(demo_json(records), end="", kept=results)
    else:
        write_report(render_demo_table(records, columns()) + next_steps(results, keep), kept=results)


@contextmanager
def demo_server(engine: str, size: plan.Sizes, keep: bool) -> Iterator[tuple[Engine, ManagedServer]]:
    """Start the server of the demonstration and destroy it at the end of the block, unless ``keep``."""
    notify(f"starting a server with {size.cache // 2**20} MB of cache and direct I/O")
    spec = replace(registry.default_spec(plan.SERVER, engine), cache_bytes=size.cache)
    server = registry.managed(spec)
    with registry.claim(plan.SERVER, "demo"):
        try:
            with working(f"starting the server {plan.SERVER}"):
                url = server.start().url
            yield registry.engine_for(url), server
        finally:
            if not keep:
                server.destroy()


def load(engine: Engine, server: ManagedServer, size: plan.Sizes, interrupt: Interrupt) -> None:
    """Load and verify the demonstration's data."""
    engine.follow(Patience(interrupt, notify))
    with LoadView(engine.facts().block_size) as view:
        result = loading.load(engine, server, plan.load_workload(size), view, interrupt.stop.is_set, notify)
    notify(f"loaded and verified {result.bytes / 2**30:.1f} GB of blocks in {result.seconds:.0f} s")


def measured(engine: Engine, runs: Sequence[plan.DemoRun], results: Path, interrupt: Interrupt) -> Iterator[RunRecord]:
    """Make the runs, and show how long all of them still take."""
    time_left = TimeLeft()
    planned = [plan.estimate(run) for run in runs]
    for at, run in enumerate(runs):
        time_left.begin()
        live = LiveLine(f"[{at + 1} of {len(runs)}] {run.name}", time_left.of(planned[at:]))
        yield measure(engine, run, live, results, interrupt)
        time_left.done(planned[at])


def measure(engine: Engine, run: plan.DemoRun, live: LiveLine, results: Path, interrupt: Interrupt) -> RunRecord:
    """Make one of the runs."""
    try:
        return runner.run(
            engine, runner.RunRequest(run.workload, run.name, results, rehearsal.notices()), interrupt, live, render
        ).record
    finally:
        live.clear()


def next_steps(results: Path, keep: bool) -> str:
    """Return where the records are, and commands to try next."""
    kept = f"The server {plan.SERVER!r} still runs: slob server stop {plan.SERVER}\n" if keep else ""
    return f"""
Records: {results.absolute()}
`slob list` lists them, `slob show RECORD` has the whole report of a run.
{kept}Next, on a server of your own with 4 GB of data, sixteen times its cache:
  slob server start big --cache 256M
  slob load --target big --schemas 1 --scale 4G
  slob run --target big --sessions 16 --update-pct 10 --mode pio
  slob server destroy big
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)
