"""The execution of an endurance run: one segment, from where the record ends to the end of the planned time.

Before a segment begins, the record says that it is running, so that a driver that is killed leaves a record that can be
resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from openslob._version import __version__
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import format_duration, iso
from openslob.core.workload import Workload
from openslob.engines.base import Engine
from openslob.kinds.endurance.record import EnduranceFolder, EnduranceRecord, Segment, SegmentState, measured
from openslob.kinds.endurance.segments import with_figures
from openslob.kinds.run import runner
from openslob.kinds.run.progress import ProgressSink
from openslob.record.model import RunRecord, Status
from openslob.record.store import record_id

# Shorter than this, there is nothing to endure; and a slice takes a second.
LEAST_S = 5.0
# A shorter rest is not measured: it would be shorter than the slice that it consists of.
LEAST_LEFT_S = 2.0
STOPPED = "it was stopped"


@dataclass(frozen=True)
class Connected:
    """What a segment is made with: the server, and how it is shown, stopped and reported."""

    engine: Engine
    interrupt: Interrupt
    show: ProgressSink
    render: Callable[[RunRecord], str]
    consented: frozenset[str] = frozenset()


def new_record(
    name: str,
    target: str,
    workload: Workload,
    seconds: float,
    sources: Mapping[str, str],
    notes: Sequence[str] = (),
) -> EnduranceRecord:
    """Return the record of an endurance run that has no segment yet; ``target`` must not contain a password.

    UsageError for a load that ends by itself.
    """
    if workload.work_loop:
        raise UsageError(
            f"WORK_LOOP={workload.work_loop} ends sessions after so many operations, and an endurance run lasts a time",
            "leave WORK_LOOP out",
        )
    started_at = iso(time.time_ns())
    return EnduranceRecord(
        id=record_id(name, started_at),
        name=name,
        started_at=started_at,
        openslob_version=__version__,
        target=target,
        workload=workload.changed(run_time=seconds).to_record(),
        sources={**sources, "run_time": "--for"},
        planned_s=seconds,
        notes=tuple(notes),
    )


def require_unfinished(record: EnduranceRecord) -> None:
    """Raise UsageError unless there is time left to be measured."""
    if record.left_s < LEAST_LEFT_S:
        raise UsageError(
            f"the endurance run {record.id} is complete: {format_duration(record.measured_s)} were measured",
            f"`slob show {record.id}` shows it",
        )


def run_segment(folder: EnduranceFolder, with_: Connected) -> None:
    """Run the load for the time that is left, and save what the record comes to.

    SlobError, with the record saved, when the segment could not go on to its end.
    """
    record = folder.record
    segment = Segment(number=len(record.segments) + 1)
    load = Workload.model_validate(record.workload)
    # With its own seed a later segment does not visit the blocks again that the first one began with.
    own = load.changed(run_time=record.left_s, seed=(load.seed + segment.number - 1) % 2**31)
    folder.save(record.with_segment(segment))
    request = runner.RunRequest(
        own,
        segment.run_name,
        folder.path,
        record.notes,
        record.sources,
        consented=with_.consented,
        goes_on=segment.number > 1,
    )
    try:
        finished = runner.run(with_.engine, request, with_.interrupt, with_.show, with_.render)
    except SlobError as error:
        stopped = with_.interrupt.requested
        state = SegmentState.INTERRUPTED if stopped else SegmentState.FAILED
        _save(folder, measured(folder.path, segment, state, STOPPED if stopped else error.what))
        raise
    complete = finished.record.status is Status.COMPLETE
    state, why = (SegmentState.COMPLETE, "") if complete else (SegmentState.INTERRUPTED, STOPPED)
    _save(folder, measured(folder.path, segment, state, why))


def _save(folder: EnduranceFolder, segment: Segment) -> None:
    """Save a segment that has ended, and what all segments come to; one that never was a run leaves no trace."""
    record = folder.record
    if segment.run is None:
        others = tuple(each for each in record.segments if each.number != segment.number)
        record = record.model_copy(update={"segments": others})
    else:
        record = record.with_segment(segment)
    folder.save(with_figures(folder.path, _with_status(record, segment)))


def _with_status(record: EnduranceRecord, last: Segment) -> EnduranceRecord:
    if record.left_s < LEAST_LEFT_S:
        return record.model_copy(update={"status": Status.COMPLETE, "errors": ()})
    failed = last.state is SegmentState.FAILED
    status = Status.FAILED if failed else Status.INTERRUPTED
    return record.model_copy(update={"status": status, "errors": (last.why,) if failed else ()})
