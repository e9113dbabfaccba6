"""What the commands of `slob raw` share: options, sizes, CPU lists, and how a result is shown."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.verdict import demand
from openslob.errors import UsageError
from openslob.record.storage import StorageRecord
from openslob.report.format import printable
from openslob.report.storage import render_storage
from openslob.storage.job import IoEngine
from openslob.units import parse_bytes

# Direct I/O has no smaller unit on any device.
SECTOR = 512


def size(text: str) -> int:
    """Bytes meant by an option. BadParameter, to which the option's name is added."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def block(text: str) -> int:
    """Bytes of a block meant by an option. BadParameter for what no device can be asked for."""
    found = size(text)
    if not found or found % SECTOR:
        raise typer.BadParameter(f"{text} is not a multiple of {SECTOR} bytes")
    return found


BLOCK = Annotated[int, typer.Option(parser=block, metavar="SIZE", help="Of the small random reads.")]
ENGINE = Annotated[IoEngine, typer.Option(help="How requests reach the kernel; no other is taken in its place.")]
CPUS = Annotated[str | None, typer.Option(metavar="CPUS", help="CPUs that may drive, such as 0 or 0-3 (default: all).")]
NAME = Annotated[str, typer.Option(metavar="NAME", help="What to call the measurement.")]
RESULTS = Annotated[Path, typer.Option(envvar="SLOB_RESULTS", metavar="DIR", help="Where records lie.")]
REQUIRE = Annotated[
    list[str] | None, typer.Option(metavar="VERDICT", help="Exit with 3 if this verdict does not hold; repeatable.")
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the record as JSON.")]


def cpu_list(text: str | None) -> frozenset[int]:
    """The CPUs in a list such as ``0,2-3``, all that we may use without one. UsageError for others."""
    usable = os.sched_getaffinity(0)
    if text is None:
        return frozenset(usable)
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise UsageError(f"--cpus {text}: not a list of CPUs such as 0 or 0-3,8")
    ends = [tuple(map(int, part.split("-"))) for part in text.split(",")]
    asked = frozenset(cpu for end in ends for cpu in range(end[0], end[-1] + 1))
    if not asked or not asked <= usable:
        raise UsageError(f"--cpus {text}: this host lets us use {', '.join(map(str, sorted(usable)))}")
    return asked


def show(record: StorageRecord, folder: Path, require: list[str] | None, json: bool) -> None:
    """The result, and the exit code for verdicts that were asked for."""
    text = record.model_dump_json(indent=1) if json else render_storage(record, folder)
    print(printable(text, sys.stdout.encoding))
    demand(record.verdicts, require or ())


def notify(text: str) -> None:
    """One line of progress."""
    print(f"slob: {text}", file=sys.stderr, flush=True)
