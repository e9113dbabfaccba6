"""The record of a run of hours and days, `endurance.json`: the request, and one run for each life of the driver.

An endurance run is a folder, ``results/<time>-<name>/``, with `endurance.json` and the folders of its segments. Each
segment is the record of a run. The file is replaced as a whole before and after every segment; a segment whose driver
was killed has the state running and no process that holds its lock.

History of the format, newest first:
  2  whether a probe follows each segment, in ``probe``.
  1  first version.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field

from openslob.core.units import NANOS
from openslob.record import store
from openslob.record.model import DocumentWithFigures, Figure, RecordModel, Status, Verdict
from openslob.record.parts import Course, Load
from openslob.record.raw_csv import Event, last_slice_end_ns, window_facts
from openslob.record.store import RECORD_FILE, DocumentFolder, running_pid
from openslob.record.versions import Format, take_defaults

ENDURANCE_VERSION = 2
ENDURANCE_FILE = "endurance.json"
KILLED = "the driver was killed"


class SegmentState(StrEnum):
    """The end of a segment. RUNNING without a living driver: the driver was killed."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    KILLED = "killed"


class Segment(RecordModel):
    """One run of the load, numbered from 1. Times are seconds since the epoch by the driver's clock.

    ``run`` is the folder of its run inside the record's folder; None if it ended before there was one. ``begin_s`` and
    ``seconds`` are of its load; None if it had none. ``why`` says why it did not go on to its planned end.
    """

    number: int
    state: SegmentState = SegmentState.RUNNING
    run: str | None = None
    begin_s: float | None = None
    seconds: float | None = None
    why: str = ""

    @property
    def end_s(self) -> float | None:
        """When its load ended."""
        return None if self.begin_s is None or self.seconds is None else self.begin_s + self.seconds

    @property
    def run_name(self) -> str:
        """The name of its run."""
        return f"segment-{self.number}"


class SegmentGap(RecordModel):
    """A time between two segments, of which nothing is known; times as of a segment."""

    begin_s: float
    end_s: float
    why: str

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


class EnduranceRecord(DocumentWithFigures):
    """The request of an endurance run, its segments, and what they come to.

    ``planned_s`` is the time under load that was asked for. ``workload`` holds every parameter (`Workload.to_record`),
    ``sources`` where each came from. ``probe``: a probe follows each segment. ``summary``, ``verdicts`` and ``tables``
    are of the first ``judged_segments`` segments together; each table is a list of rows of plain values by column name.
    They are empty before the first segment has ended.
    """

    endurance_version: int = ENDURANCE_VERSION
    kind: str = "endurance"
    id: str
    name: str
    status: Status = Status.INTERRUPTED
    started_at: str
    openslob_version: str
    target: str
    workload: Load
    sources: Mapping[str, str] = Field(default_factory=dict)
    planned_s: float
    probe: bool = False
    segments: tuple[Segment, ...] = ()
    judged_segments: int = 0
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    tables: Course = Field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def find_lacks(self) -> Iterator[str]:
        """Yield the summary of its segments."""
        if self.judged_segments and not self.summary:
            yield "it has judged segments and no summary"

    @property
    def measured_s(self) -> float:
        """The time under load that was measured."""
        return sum(each.seconds or 0.0 for each in self.segments)

    @property
    def left_s(self) -> float:
        """The time under load that is still to be measured."""
        return max(0.0, self.planned_s - self.measured_s)

    @property
    def has_news(self) -> bool:
        """Whether segments were measured that the figures do not have: the driver was killed."""
        return self.judged_segments != self.measured_segments

    @property
    def measured_segments(self) -> int:
        """How many segments were measured."""
        return sum(each.seconds is not None for each in self.segments)

    @property
    def gaps(self) -> list[SegmentGap]:
        """The times between segments, in their order."""
        found, before = [], None
        for each in self.segments:
            if each.begin_s is None or each.end_s is None:
                continue
            if before is not None and before.end_s is not None:
                found.append(SegmentGap(begin_s=before.end_s, end_s=max(each.begin_s, before.end_s), why=before.why))
            before = each
        return found

    def with_segment(self, segment: Segment) -> Self:
        """Return the record with this segment in place of the one with the same number, or appended."""
        others = tuple(each for each in self.segments if each.number != segment.number)
        return self.model_copy(update={"segments": (*others, segment)})


class EnduranceFolder(DocumentFolder[EnduranceRecord]):
    """The folder of an endurance run while it is being made."""

    form = Format(
        EnduranceRecord, "the record of an endurance run", "endurance_version", ENDURANCE_VERSION, {1: take_defaults}
    )
    file_name = ENDURANCE_FILE

    def discard(self) -> None:
        """Remove the folder: nothing was measured, as of a run that is refused."""
        shutil.rmtree(self.path, ignore_errors=True)

    @classmethod
    def load(cls, path: Path) -> EnduranceRecord:
        """Read the record, with the time of a segment whose driver was killed as its raw files have it."""
        record, folder = super().load(path), path if path.is_dir() else path.parent
        for segment in record.segments:
            if segment.state is SegmentState.RUNNING and running_pid(folder) is None:
                record = record.with_segment(measure_segment(folder, segment, SegmentState.KILLED, KILLED))
        return record


load = EnduranceFolder.load


def measure_segment(folder: Path, segment: Segment, state: SegmentState, why: str = "") -> Segment:
    """Return a segment that has ended, with the time of its load: that of its record, or else of its raw files."""
    found = run_folder(folder, segment)
    span = _load_span(found) if found else None
    return segment.model_copy(
        update={
            "state": state,
            "run": found.name if found else None,
            "begin_s": span[0] if span else None,
            "seconds": span[1] if span else None,
            "why": why,
        }
    )


def _load_span(run: Path) -> tuple[float, float] | None:
    """Return when the load of a run began by the driver's clock, and how many seconds it lasted; None without one."""
    record = store.load(run)
    if record.window is not None:
        offset_ns = float(record.environment.get("server_clock_offset_s") or 0) * NANOS
        return (record.window.load_start_ns - offset_ns) / NANOS, record.window.load_seconds
    facts = window_facts(run)
    begin_ns, end_ns = facts.get(Event.BEGIN_NS), last_slice_end_ns(run)
    if begin_ns is None or end_ns is None or end_ns <= begin_ns:
        return None
    return (begin_ns - facts.get(Event.CLOCK_OFFSET_NS, 0)) / NANOS, (end_ns - begin_ns) / NANOS


def run_folder(folder: Path, segment: Segment) -> Path | None:
    """Return the folder of a segment's run, also of one whose driver did not live to write its name."""
    if segment.run:
        return folder / segment.run
    named = sorted(folder.glob(f"*-{segment.run_name}/{RECORD_FILE}"))
    return named[-1].parent if named else None
