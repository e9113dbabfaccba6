"""`slob check`: what this server, user and host allow to be measured, before anything is."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from openslob.cli.checkview import result_json, result_text
from openslob.cli.options import Resolved, with_workload
from openslob.engines.registry import resolve
from openslob.report.format import printable
from openslob.run.preflight import preflight

JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


@with_workload
def check(resolved: Resolved, as_json: JSON = False) -> None:
    """Tell what can be measured here, what will be unknown and why, what spoils a test, and what to grant.

    Nothing is changed. Exits with 1 when something blocks a run. Example: slob check --target embedded --mode pio
    """
    engine, _ = resolve(resolved.target.reveal())
    found = preflight(engine, resolved.workload)
    text = result_json(engine.target, found) if as_json else result_text(engine.target, found)
    print(printable(text, sys.stdout.encoding))
    if found.blocked:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
