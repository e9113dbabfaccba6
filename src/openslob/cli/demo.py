"""`slob demo`: server, load, runs and result, without any preparation."""

from __future__ import annotations

import os
import shutil
import webbrowser
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import psutil
import typer

from openslob.cli.common_options import ALL, RECORD_JSON, RESULTS
from openslob.cli.console import default_interrupt, notify, write, write_document, write_file
from openslob.cli.measuring import Screen, make_context
from openslob.cli.options import OnTarget
from openslob.cli.progress import working
from openslob.cli.screen import LIVE_OR_NOT
from openslob.core import rehearsal
from openslob.core.disk import existing_parent
from openslob.core.errors import SlobError
from openslob.core.extras import require_extra
from openslob.core.secrets import Address
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer
from openslob.kinds import runs
from openslob.kinds.contract import Wanted
from openslob.kinds.run.context import Context
from openslob.kinds.run.runner import RunRequest
from openslob.kinds.runs import Runs
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep import demo as plan
from openslob.kinds.sweep.demo import demo_json
from openslob.kinds.sweep.execute import SweepExecution
from openslob.kinds.sweep.record import SweepFolder
from openslob.kinds.sweep.request import SweepPlan, open_folder
from openslob.record.model import RunRecord, Status

if TYPE_CHECKING:
    from openslob.report.document import Document

ENGINE = Annotated[
    str,
    typer.Option(
        envvar="SLOB_ENGINE", metavar="ENGINE", help=f"Which database: {' or '.join(registry.managed_engines())}."
    ),
]
KEEP = Annotated[bool, typer.Option("--keep", metavar="", help="Leave the server running, with its data.")]
OPEN = Annotated[bool, typer.Option("--open", metavar="", help="Open the HTML report in the browser at the end.")]


def demo(
    engine: ENGINE = registry.default_engine(),
    *,
    results: RESULTS,
    keep: KEEP = False,
    open_report: OPEN = False,
    live: LIVE_OR_NOT = None,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Show what this host can do in three minutes: create a server, load it, make cached and physical runs.

    At the end it prints the answer on one screen, and writes the HTML report of the runs.

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
                cached = [run.id for run in run_cached(target, size, context)]
                folder = sweep_physical(size, context)
    made = runs.join([*(runs.find([each], results) for each in cached), runs.load(folder.path)])
    address = write_page(made, results)
    if json:
        write(demo_json(made.records), end="", kept=results)
    else:
        write_document(document_of(folder, made, cached, keep, address), folder.path, whole)
    if open_report and address and not webbrowser.open(address):
        notify(f"no browser could be opened: open {address}")
    if folder.record.status is not Status.COMPLETE:
        raise SlobError("the demonstration did not finish", "run slob demo again")


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


def run_cached(engine: Engine, size: plan.Sizes, context: Context) -> Iterator[RunRecord]:
    """Make the cached runs."""
    for name, workload in plan.cached_runs(size, os.cpu_count() or 1).items():
        request = RunRequest(workload, name, context.results, rehearsal.notices())
        yield context.run(engine, request, name).record


def sweep_physical(size: plan.Sizes, context: Context) -> SweepFolder:
    """Make the physical runs, and return the folder of their sweep."""
    planned = SweepPlan(plan.physical_sweep(size), lambda _engine: None)
    with open_folder(planned, context) as folder, context.hire() as hire:
        SweepExecution(folder, context, planned.ceiling, hire).execute()
    return folder


def write_page(made: Runs, results: Path) -> str:
    """Write the HTML report of the runs beside their records, and return its address; empty if it can't be written."""
    first = made.records[0]
    file = results / f"{first.id.removesuffix(first.name)}demo.html"
    with default_interrupt():
        try:
            require_extra("pictures")
            from openslob.report.html.page import render_page  # noqa: PLC0415 - takes a moment to import

            write_file(file, render_page(made.page()))
        except SlobError as error:
            notify(f"there is no HTML report: {error}")
            return ""
    return file.absolute().as_uri()


def document_of(folder: SweepFolder, made: Runs, cached: Collection[str], keep: bool, address: str) -> Document:
    """Return the report of the demonstration, whose runs with these ids are the ``cached`` ones."""
    physical = [run for run in made.runs if run.record.id not in cached]
    from_cache = [run for run in made.runs if run.record.id in cached]
    document = SWEEP.document(folder.record, folder.path, Wanted(tell=notify))
    called = document.screen.called if document.screen else folder.record.id
    return plan.with_cached(document, physical, from_cache, next_steps(called, keep, address))


def next_steps(called: str, keep: bool, address: str = "") -> list[tuple[str, str]]:
    """Return commands to try next, each with why; the sweep is ``called`` so, the page is at an ``address``."""
    return [
        *([(address, "every run")] if address else []),
        (f"slob show {called} --all", "every point"),
        *([(f"slob server stop {plan.SERVER}", "it still runs")] if keep else []),
        ("slob load --scale 1G && slob run --sessions 16 --mode pio", "4 GB of your own"),
    ]
