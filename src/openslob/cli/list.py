"""`slob list`: the records in the results folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.console import columns, notify, write
from openslob.kinds.listing import overview, render_list
from openslob.record import finding
from openslob.record.finding import Listed

# A screenful.
NEWEST = 40
ALL = Annotated[bool, typer.Option("--all", metavar="", help=f"List all records, not only the newest {NEWEST}.")]
POINTS = Annotated[bool, typer.Option("--points", metavar="", help="List the runs of sweeps and other records, too.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the list as JSON, with all these runs.")]


def list_records(*, results: RESULTS, every: ALL = False, points: POINTS = False, as_json: JSON = False) -> None:
    """List records, the newest last: main figures, failed verdicts, and why a run failed.

    Example: slob list --results /data/results
    """
    found, count = (finding.every(results), 0) if every or as_json else finding.newest(results, NEWEST)
    if as_json:
        print(json.dumps([overview(each) for each in found], indent=1))
    elif found:
        write(render_list(found if points else finding.whole(found), columns()) + "\n" + _foot(found, results, count))
    else:
        notify(f"there are no records in {results}; `slob run` makes one")


def _foot(found: list[Listed], results: Path, count: int) -> str:
    whole = finding.whole(found)
    some = f" (the newest {len(whole)} of {count:,}: --all lists all)" if count > len(whole) else ""
    lines = [f"records: {results.absolute()}{some}"]
    if whole:
        lines.append(f"latest:  {finding.latest(whole).entry.id}")
    if len(found) > len(whole):
        parts = len(found) - len(whole)
        lines.append(f"--points lists the {parts} run{'s' if parts > 1 else ''} of sweeps and other records, too")
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_records)
