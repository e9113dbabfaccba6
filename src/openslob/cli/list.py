"""`slob list`: the records in the results folder."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.console import notify, write
from openslob.record import storage
from openslob.record.sweep import find_sweeps
from openslob.report.listing import overview, render_list, render_sweeps

JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the list as JSON.")]


def list_records(*, results: RESULTS, as_json: JSON = False) -> None:
    """List the records, the oldest first: how each ended, its main figures, and the verdicts that failed.

    Example: slob list --results /data/results
    """
    found = storage.find_all(results)
    if as_json:
        print(json.dumps([overview(entry) for entry in found], indent=1))
    elif found:
        write(render_list(found) + render_sweeps(find_sweeps(results)) + f"\nrecords: {results.absolute()}")
    else:
        notify(f"there are no records in {results}; `slob run` makes one")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_records)
