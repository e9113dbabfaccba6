"""`slob demo`: server, load, runs and result, without any preparation."""

from __future__ import annotations

import os
import shutil
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import psutil
import typer

from openslob.analyze.curves.series import point_set
from openslob.cli.common_options import RECORD_JSON, RESULTS
from openslob.cli.console import columns, default_interrupt, notify, write, write_file, write_report
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import OnTarget
from openslob.cli.progress import working
from openslob.cli.screen import LIVE_OR_NOT
from openslob.core import rehearsal
from openslob.core.disk import existing_parent
from openslob.core.errors import SlobError
from openslob.core.secrets import Address
from openslob.core.workload import Mode
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer
from openslob.kinds import runs
from openslob.kinds.run.context import Context
from openslob.kinds.run.runner import RunRequest
from openslob.kinds.runs import Runs
from openslob.kinds.sweep import demo as plan
from openslob.kinds.sweep.demo import demo_json, render_demo_table
from openslob.kinds.sweep.time_left import TimeLeft
from openslob.record.model import RunRecord
from openslob.report.format import WIDTH
from openslob.report.set_summary import reads_are_physical
from openslob.report.text_plot import text_petals

ENGINE = Annotated[
    str,
    typer.Option(
        envvar="SLOB_ENGINE", metavar="ENGINE", help=f"Which database: {' or '.join(registry.managed_engines())}."
    ),
]
KEEP = Annotated[bool, typer.Option("--keep", metavar="", help="Leave the server running, with its data.")]
OPEN = Annotated[bool, typer.Option("--open", metavar="", help="Open the HTML report in the browser at the end.")]
# A wider plot has more room between its points, and nothing else.
WIDEST_PLOT = 100


def demo(
    engine: ENGINE = registry.default_engine(),
    *,
    results: RESULTS,
    keep: KEEP = False,
    open_report: OPEN = False,
    live: LIVE_OR_NOT = None,
    json: RECORD_JSON = False,
) -> None:
    """Show what this host can do in three minutes: create a server, load it, make cached and physical runs.

    At the end it draws latency over reads per second, and writes the HTML report of the runs.

    Example: slob demo --open
    """
    context = make_context(OnTarget(target=Address.parse(plan.SERVER)), results, Screen(live=live))
    with context.stopping():
        size = plan.sizes(
            shutil.disk_usage(existing_parent(registry.servers_place())).free, psutil.virtual_memory().total
        )
        with demo_server(engine, size, keep) as (target, server):
            load(target, server, size, context)
            with context.display.viewing(results):
                records = list(make_runs(target, plan.runs(size, os.cpu_count() or 1), context))
    made = runs.find([record.id for record in records], results)
    address = write_page(made, results)
    if json:
        write(demo_json(records), end="", kept=results)
    else:
        picture = petals(made, columns() or WIDTH)
        write_report(render_demo_table(records, columns()) + picture + next_steps(results, keep, address), kept=results)
    if open_report and address and not webbrowser.open(address):
        notify(f"no browser could be opened: open {address}")


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


def load(engine: Engine, server: ManagedServer, size: plan.Sizes, context: Context) -> None:
    """Load and verify the demonstration's data."""
    context.follow(engine)
    result = context.load(engine, server, plan.load_workload(size))
    notify(f"loaded and verified {result.bytes / 2**30:.1f} GB of blocks in {result.seconds:.0f} s")


def make_runs(engine: Engine, runs: Sequence[plan.DemoRun], context: Context) -> Iterator[RunRecord]:
    """Make the runs, and show how long all of them still take."""
    time_left = TimeLeft()
    planned = [plan.estimate(run) for run in runs]
    for at, run in enumerate(runs):
        time_left.begin()
        label, left_s = f"[{at + 1} of {len(runs)}] {run.name}", time_left.of(planned[at:])
        request = RunRequest(run.workload, run.name, context.results, rehearsal.notices())
        yield context.run(engine, request, label, left_s).record
        time_left.note_done(planned[at])


def write_page(made: Runs, results: Path) -> str:
    """Write the HTML report of the runs beside their records, and return its address; empty if it can't be written."""
    first = made.records[0]
    file = results / f"{first.id.removesuffix(first.name)}demo.html"
    with default_interrupt():
        from openslob.report.html.page import render_page  # noqa: PLC0415 - takes a moment to import

        try:
            write_file(file, render_page(made.page()))
        except SlobError as error:
            notify(f"there is no HTML report: {error}")
            return ""
    return file.absolute().as_uri()


def petals(made: Runs, width: int) -> str:
    """Return latency over reads per second of the physical runs, drawn in characters."""
    from openslob.report.record_view import FigureNames  # noqa: PLC0415 - takes a moment to import

    physical = [run for run in made.runs if run.record.spec.get("mode") == Mode.PIO]
    names = FigureNames(reads_are_physical([run.record for run in physical]))
    lines = text_petals(point_set(physical), names.axis, min(width, WIDEST_PLOT))
    return "\n".join(["", *lines, ""]) if lines else ""


def next_steps(results: Path, keep: bool, address: str = "") -> str:
    """Return where the records are, and commands to try next."""
    kept = f"The server {plan.SERVER!r} still runs: slob server stop {plan.SERVER}\n" if keep else ""
    report = f"Report:  {address}\n" if address else ""
    return f"""
{report}Records: {results.absolute()}
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
