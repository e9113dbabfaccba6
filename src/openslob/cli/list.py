"""`slob list`: the records in the results folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.completion import kinds, servers, tags
from openslob.cli.console import columns, notify, write
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import parse_duration
from openslob.kinds.listing import Shown, chosen, kinds_of, overview, render_list
from openslob.record import finding
from openslob.record.finding import Listed

# With the heading and what is said below it, a screen of 24 lines.
NEWEST = 18
ALL = Annotated[bool, typer.Option("--all", metavar="", help=f"List all records, not only the newest {NEWEST}.")]
POINTS = Annotated[bool, typer.Option("--points", metavar="", help="List the runs of sweeps and other records, too.")]
KIND = Annotated[
    str | None,
    typer.Option(metavar="KIND", autocompletion=kinds, help="List records of this kind, such as run or sweep."),
]
TAG = Annotated[
    list[str] | None,
    typer.Option(metavar="TAG", autocompletion=tags, help="List records that have this tag; repeatable: all of them."),
]
SERVER = Annotated[
    str | None,
    typer.Option(metavar="NAME", autocompletion=servers, help="List records of servers with this in their names."),
]
SINCE = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="List records since then: a date, or how long ago, such as 7d or 12h."),
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the list as JSON, with all these runs.")]


def list_records(
    *,
    results: RESULTS,
    every: ALL = False,
    points: POINTS = False,
    kind: KIND = None,
    tag: TAG = None,
    server: SERVER = None,
    since: SINCE = None,
    as_json: JSON = False,
) -> None:
    """List the records, the newest first: number, main figure, and how far to trust it. Other commands take the number.

    Example: slob list --kind sweep --since 7d
    """
    asked = any((kind, tag, server, since))
    found, count = (finding.every(results), 0) if every or as_json or asked else finding.newest(results, NEWEST)
    if asked:
        found = finding.among(found, chosen(found, kind, tag or (), server, _moment(since) if since else None))
        count = len(finding.whole(found))
        found = found if every or as_json else finding.among(found, finding.whole(found)[-NEWEST:])
    shown = Shown.of(found, _numbers(results, found))
    if as_json:
        print(json.dumps([overview(each, shown) for each in found], indent=1))
    elif found:
        rows = [each for each in _in_order(found) if points or each.part_of is None]
        latest = None if asked else finding.latest(finding.whole(found))
        foot = [*_left_out(found, count, points), _place(results, shown, latest)]
        write(render_list(shown, rows, columns()) + "\n".join(foot))
    else:
        notify(_say_none(results, kind) if asked else f"there are no records in {results}; `slob run` makes one")


def _numbers(results: Path, found: Sequence[Listed]) -> dict[str, int]:
    """Return the numbers of these records, and give them to new ones; none if they can't be read, which is said."""
    listed = {each.entry.id for each in finding.whole(found)}
    try:
        return {name: number for name, number in finding.give_numbers(results).items() if name in listed}
    except SlobError as error:
        notify(str(error))
        return {}


def _in_order(found: Sequence[Listed]) -> Iterator[Listed]:
    """Yield the whole records, the newest first, each before its runs."""
    for whole in reversed(finding.whole(found)):
        yield whole
        yield from (each for each in found if each.part_of and each.part_of.path == whole.entry.path)


def _moment(text: str) -> datetime:
    """Return the time that an option means: a date in UTC, or how long ago it is. UsageError for any other text."""
    with suppress(ValueError):
        return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--since {text} is not a time", "give a date such as 2026-11-30, or 7d or 12h") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _say_none(results: Path, kind: str | None) -> str:
    there = sorted({word for each in finding.whole(finding.every(results)) for word in kinds_of(each)})
    known = f"; kinds that are there: {', '.join(there)}" if kind and there and kind not in there else ""
    return f"no record in {results} is such a one{known}"


def _left_out(found: Sequence[Listed], count: int, points: bool) -> Iterator[str]:
    whole = finding.whole(found)
    if count > len(whole):
        yield f"… {count - len(whole):,} older: slob list --all"
    if not points and (parts := len(found) - len(whole)):
        yield f"{parts:,} run{'s' if parts > 1 else ''} of sweeps and others: slob list --points"


def _place(results: Path, shown: Shown, latest: Listed | None) -> str:
    which = f"; latest is {shown.number(latest) or latest.entry.id}" if latest else ""
    return f"records: {results.absolute()}{which}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_records)
