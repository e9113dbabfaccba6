"""`slob load`: make the data a workload needs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from openslob.cli.load_view import LoadView, result_json, result_text
from openslob.cli.options import Resolved, with_workload
from openslob.cli.progress import stoppable
from openslob.engines.registry import resolve
from openslob.run import loading

JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


@with_workload
def load(resolved: Resolved, as_json: JSON = False) -> None:
    """Load the test tables in parallel and verify them; at once if they are there already.

    Example: slob load --schemas 8 --scale 256M
    """
    engine, server = resolve(resolved.target.reveal())
    with stoppable() as interrupt, LoadView(engine.facts().block_size) as view:
        result = loading.load(engine, server, resolved.workload, view, interrupt.stop.is_set, _notify)
    print(result_json(result) if as_json else result_text(result))


def _notify(text: str) -> None:
    print(f"slob: {text}", file=sys.stderr, flush=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(load)
