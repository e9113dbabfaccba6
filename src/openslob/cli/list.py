"""`slob list`: the records in the results folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.console import columns, notify, write
from openslob.record import finding
from openslob.record.finding import Listed
from openslob.report.listing import overview, render_list

POINTS = Annotated[bool, typer.Option("--points", metavar="", help="List the runs of sweeps and other records, too.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the list as JSON, with all these runs.")]


def list_records(*, results: RESULTS, points: POINTS = False, as_json: JSON = False) -> None:
    """List all records, the oldest first: main figures, failed verdicts, and why a run failed.

    Example: slob list --results /data/results
    """
    found = finding.every(results)
    if as_json:
        print(json.dumps([overview(each) for each in found], indent=1))
    elif found:
        write(render_list(found if points else finding.whole(found), columns()) + "\n" + _foot(found, results))
    else:
        notify(f"there are no records in {results}; `slob run` makes one")


def _foot(found: list[Listed], results: Path) -> str:
    whole = finding.whole(found)
    lines = [f"records: {results.absolute()}"]
    if whole:
        lines.append(f"latest:  {finding.latest(whole).entry.id}")
    if len(found) > len(whole):
        parts = len(found) - len(whole)
        lines.append(f"--points lists the {parts} run{'s' if parts > 1 else ''} of sweeps and other records, too")
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_records)
