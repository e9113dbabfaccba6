"""The record of a test of failover, `failover.json`: each outage with its figures, and how far copies were behind.

The record has a folder of its own, ``results/<time>-<name>/``, and is replaced as a whole after every cycle or step, so
that completed ones survive any crash. Until its last replacement it says that the test failed. Beside it are the files
`commits.csv` and `lag.csv`, with the columns of `COMMITS` and `LAG`; seconds count from the begin of the cycle's load.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from openslob.record.model import DocumentWithFigures, Figure, RecordModel, Status, Verdict, value_of
from openslob.record.parts import Asked
from openslob.record.store import DocumentFolder, cannot_write
from openslob.record.versions import Format

FAILOVER_VERSION = 1
FAILOVER_FILE = "failover.json"
COMMITS_FILE, LAG_FILE = "commits.csv", "lag.csv"
COMMITS = ("cycle", "from_s", "acknowledged")
LAG = ("cycle", "at_s", "copy", "bytes_behind", "not_received_bytes", "heartbeat_s", "said_s")
# The times of an outage, with their titles.
TIMES = (
    ("outage_s", "outage"), ("outage_server_s", "servers' clocks"), ("session_outage_s", "a session"),
    ("takeover_s", "takeover"), ("reconnect_s", "reconnect"), ("back_s", "level back"),
)  # fmt: skip
UNFINISHED = "the test did not finish: its driver ended before it could write the result"

Row = Mapping[str, Any]


class FailoverCycle(RecordModel):
    """One outage, numbered from 1: its figures, what became of the operations, and what did not fit.

    ``before`` and ``after`` are the targets that took writes before and after it. ``accounts`` counts operations by
    what became of them. ``lost`` are the first acknowledged operations that were lost: session, number, and how long
    before the outage each was acknowledged. ``said`` are the errors of lost sessions, with how many had each.
    ``copies`` has a row for each copy: how far it was behind before the outage.
    """

    number: int
    before: str
    after: str
    figures: Mapping[str, Figure] = Field(default_factory=dict)
    accounts: Mapping[str, int] = Field(default_factory=dict)
    lost: tuple[Row, ...] = ()
    problems: tuple[str, ...] = ()
    said: Mapping[str, int] = Field(default_factory=dict)
    copies: tuple[Row, ...] = ()

    def value(self, name: str) -> float | None:
        """Return a figure; None when it is not known."""
        return value_of(self.figures, name)


class FollowStep(RecordModel):
    """One step of the search for the rate that copies follow; ``asked_per_s`` is None for as fast as sessions can.

    ``lag_s`` is the highest lag of all copies by the heartbeat, ``bytes_behind`` the most bytes.
    """

    number: int
    asked_per_s: float | None
    commits_per_s: float
    lag_s: float | None
    bytes_behind: int | None = None
    follows: bool | None = None
    why: str = ""


class FailoverRecord(DocumentWithFigures):
    """Everything about one test of failover, or of the rate that copies follow.

    ``asked`` is its parameters, ``servers`` what they are (product, version), ``roles`` who makes the outage and who
    ends it, in words. ``summary`` is of all cycles together.
    """

    failover_version: int = FAILOVER_VERSION
    kind: str = "failover"
    id: str
    name: str
    status: Status
    started_at: str
    openslob_version: str
    targets: tuple[str, ...]
    asked: Asked
    servers: Mapping[str, Any] = Field(default_factory=dict)
    roles: Mapping[str, str] = Field(default_factory=dict)
    cycles: tuple[FailoverCycle, ...] = ()
    follow: tuple[FollowStep, ...] = ()
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def cycle_name(self, cycle: FailoverCycle) -> str:
        """Return a cycle's number, and which server took over from which."""
        return f"{cycle.number}. {self.short_name(cycle.before)} → {self.short_name(cycle.after)}"

    def short_name(self, name: str) -> str:
        """Return the name of a managed server; the number of another one in the list of all, whose address is long."""
        return f"#{self.targets.index(name) + 1}" if name in self.targets else name


class FailoverFolder(DocumentFolder[FailoverRecord]):
    """The folder of a test of failover while it is in progress."""

    form = Format(FailoverRecord, "the record of a test of failover", "failover_version", FAILOVER_VERSION)
    file_name = FAILOVER_FILE
    unfinished: ClassVar = {"status": Status.FAILED, "errors": (UNFINISHED,)}

    def add_rows(self, file: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Append rows to a file of the folder. SlobError when it can't be written."""
        path = self.path / file
        try:
            is_new = not path.exists()
            with path.open("a", encoding="utf-8", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerows([*([columns] if is_new else []), *rows])
        except OSError as error:
            raise cannot_write(path, error) from error


load = FailoverFolder.load


def rows_of(folder: Path, file: str) -> list[dict[str, str]]:
    """Return the rows of `commits.csv` or `lag.csv` that are whole; none if the file is missing."""
    try:
        with (folder / file).open(encoding="utf-8", newline="") as text:
            return [row for row in csv.DictReader(text) if _is_whole(row)]
    except FileNotFoundError:
        return []


def _is_whole(row: Mapping[str | None, str | None]) -> bool:
    """Return whether a row has all columns, with numbers in all but ``copy``; some may be unknown, as nothing."""
    numbers = [value for name, value in row.items() if name != "copy"]
    return None not in row and all(value is not None and (not value or _is_number(value)) for value in numbers)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
