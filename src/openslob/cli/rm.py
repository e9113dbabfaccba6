"""`slob rm`: remove records."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.completion import records
from openslob.cli.console import notify, write
from openslob.core.errors import UsageError
from openslob.core.units import format_bytes
from openslob.record import finding, removal

RECORDS = Annotated[
    list[str], typer.Argument(autocompletion=records, metavar="RECORD", help="Records: number, id, name, or path.")
]
YES = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the ids of what was removed as JSON.")]


def rm(records: RECORDS, *, yes: YES = False, results: RESULTS, as_json: JSON = False) -> None:
    """Remove records with their raw measurements, reports and tags. One that is in progress is refused.

    Example: slob rm 11 12
    """
    found = {each.path.resolve(): each for each in (finding.one(word, results, notify) for word in records)}
    for each in found.values():
        removal.check_removable(each)
    names = [each.path.name for each in found.values()]
    size = format_bytes(sum(map(removal.size_of, found.values())))
    if not yes:
        _ask(names, size)
    removed: list[str] = []
    try:
        for each in found.values():
            removal.remove(each)
            removed.append(each.path.name)
            if not as_json:
                write(f"removed {each.path.name}")
    finally:
        if as_json:
            write(json.dumps({"removed": removed}))


def _ask(names: list[str], size: str) -> None:
    """Ask whether these records are to be removed. UsageError where nobody can answer; Abort for no."""
    what = f"{', '.join(names)} ({size})"
    if not sys.stdin.isatty():
        raise UsageError(f"nothing was removed: there is no terminal to ask about {what}", "give --yes")
    typer.confirm(f"Remove {what}?", abort=True, err=True)
