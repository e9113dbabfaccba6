"""The record of a run that is made again and again at fixed times, `repeated.json`.

It is a folder, ``results/<time>-<name>/``, with `repeated.json` and the folders of its runs. The file is replaced as a
whole after every run. A time at which no run could be made is a point, too: it was missed, and says why.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field

from openslob.record.model import DocumentWithFigures, Figure, RecordModel, Status, Verdict
from openslob.record.parts import Load
from openslob.record.store import DocumentFolder
from openslob.record.versions import Format

REPEATED_VERSION = 1
REPEATED_FILE = "repeated.json"


class TimeState(StrEnum):
    """What became of a time: a run was made, it failed, or none was made."""

    DONE = "done"
    FAILED = "failed"
    MISSED = "missed"


class RepeatedTime(RecordModel):
    """A time at which a run was due, by the driver's clock in seconds since the epoch; numbered from 1.

    ``run`` is the folder of the run inside the record's folder; None if there is none. ``figures`` are some of its
    summary. ``why`` says why there is no figure.
    """

    number: int
    due_s: float
    state: TimeState
    run: str | None = None
    begun_s: float | None = None
    figures: Mapping[str, float | None] = Field(default_factory=dict)
    failed_verdicts: tuple[str, ...] = ()
    why: str = ""


class RepeatedRecord(DocumentWithFigures):
    """The request of a repeated run and what became of each time.

    ``every_s`` is the time between two runs, ``planned`` the number of times; None: until it is stopped. ``first_s`` is
    when the first run was due. ``summary`` has the spread between the runs, ``changes`` a row of plain values for each
    change point.
    """

    repeated_version: int = REPEATED_VERSION
    kind: str = "repeated"
    id: str
    name: str
    status: Status = Status.INTERRUPTED
    started_at: str
    openslob_version: str
    target: str
    workload: Load
    sources: Mapping[str, str] = Field(default_factory=dict)
    every_s: float
    first_s: float
    planned: int | None = None
    times: tuple[RepeatedTime, ...] = ()
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    changes: tuple[Mapping[str, Any], ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def find_lacks(self) -> Iterator[str]:
        """Yield the summary of its runs."""
        if self.times and self.status is Status.COMPLETE and not self.summary:
            yield "it has runs and no summary"

    def due_s(self, number: int) -> float:
        """Return when the run with this number, from 1, is due."""
        return self.first_s + (number - 1) * self.every_s

    @property
    def done(self) -> tuple[RepeatedTime, ...]:
        """The times at which a run was made."""
        return tuple(each for each in self.times if each.state is TimeState.DONE)


class RepeatedFolder(DocumentFolder[RepeatedRecord]):
    """The folder of a repeated run while it is being made."""

    form = Format(RepeatedRecord, "the record of a repeated run", "repeated_version", REPEATED_VERSION)
    file_name = REPEATED_FILE


load = RepeatedFolder.load
