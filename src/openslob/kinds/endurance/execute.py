"""The execution of an endurance run: one segment, from where the record ends to the end of the planned time.

Before a segment begins, the record says that it is running, so that a driver that is killed leaves a record that can be
resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.config.resolve import Resolution
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.engines.base import Engine
from openslob.kinds.endurance.record import (
    EnduranceFolder,
    EnduranceRecord,
    Segment,
    SegmentState,
    load,
    measure_segment,
)
from openslob.kinds.endurance.segments import with_figures
from openslob.kinds.run.context import Context
from openslob.kinds.run.loading import take_loaded
from openslob.kinds.run.runner import RunRequest
from openslob.record.model import Status
from openslob.record.store import new_head

# Shorter than this, there is nothing to endure; and a slice takes a second.
LEAST_S = 5.0
# A shorter rest is not measured: it would be shorter than the slice that it consists of.
LEAST_LEFT_S = 2.0
STOPPED = "it was stopped"


@dataclass(frozen=True)
class EnduranceRequest:
    """An endurance run: its parameters, its name, and its time under load in seconds.

    With ``resume``, the folder of an earlier one, it is the rest of that, with the parameters of its record. ``probe``:
    some sessions rest by turns for a while after the load, which tells a cap from requests that take longer.
    """

    parameters: Resolution
    name: str = "endure"
    seconds: float = 0.0
    resume: Path | None = None
    probe: bool = True


class SegmentError(SlobError):
    """A segment ended before its time; ``folder`` is that of the record, which has what was measured."""

    def __init__(self, error: SlobError, folder: EnduranceFolder) -> None:
        super().__init__(error.what, error.remedy)
        self.folder = folder


def execute(request: EnduranceRequest, context: Context) -> EnduranceFolder:
    """Make an endurance run, or the rest of one, and return its folder; its record may say that it was stopped.

    Raises:
        SegmentError: The load could not go on to its end.
        SlobError: It could not begin; then there is no record of a new one.
        UsageError: The load ends by itself, or nothing is left of the one to go on with.

    """
    if request.resume:
        before = load(request.resume)
        require_unfinished(before)
        context = context.at(before.target, request.resume)
    engine = context.connect()
    with context.stopping():
        with _open_folder(request, engine, context) as folder:
            _announce(folder.record, context.tell)
            try:
                with context.display.viewing(folder.path):
                    run_segment(folder, engine, context)
            except SlobError as error:
                if not folder.record.segments:
                    folder.discard()
                    raise
                raise SegmentError(error, folder) from error
        return folder


def _open_folder(request: EnduranceRequest, engine: Engine, context: Context) -> EnduranceFolder:
    if request.resume:
        return EnduranceFolder.resume(request.resume)
    found = take_loaded(request.parameters, engine, context.tell)
    target = context.target.shown
    record = new_record(request.name, target, found.workload, request.seconds, found.sources, found.notices)
    return EnduranceFolder.begin(context.results, record.model_copy(update={"probe": request.probe}))


def _announce(record: EnduranceRecord, tell: Callable[[str], None]) -> None:
    left = f"{format_duration(record.left_s)} under load"
    if record.segments:
        tell(f"resuming {record.id}: {left} of {format_duration(record.planned_s)} are left")
    else:
        tell(f"{left}; what is measured survives a stop or a crash, and slob endure --resume latest goes on")


def new_record(
    name: str,
    target: str,
    workload: Workload,
    seconds: float,
    sources: Mapping[str, str],
    notes: Sequence[str] = (),
) -> EnduranceRecord:
    """Return the record of an endurance run that has no segment yet; ``target`` must not contain a password.

    UsageError for a load that ends by itself, or whose rate changes.
    """
    if workload.work_loop:
        raise UsageError(
            f"WORK_LOOP={workload.work_loop} ends sessions after so many operations, and an endurance run lasts a time",
            "leave WORK_LOOP out",
        )
    if workload.rate_schedule:
        raise UsageError(
            "RATE_SCHEDULE changes the load, and an endurance run judges whether it keeps one level",
            "slob run --rate-schedule, or --target-ops for one rate",
        )
    return EnduranceRecord(
        **new_head(name),
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


def run_segment(folder: EnduranceFolder, engine: Engine, context: Context) -> None:
    """Run the load for the time that is left, and save what the record comes to.

    SlobError, with the record saved, when the segment could not go on to its end.
    """
    record = folder.record
    segment = Segment(number=len(record.segments) + 1)
    whole = Workload.model_validate(record.workload)
    # With its own seed a later segment does not visit the blocks again that the first one began with.
    own = whole.changed(run_time=record.left_s, seed=(whole.seed + segment.number - 1) % 2**31)
    folder.save(record.with_segment(segment))
    request = RunRequest(
        own,
        segment.run_name,
        folder.path,
        record.notes,
        record.sources,
        consented=context.consented,
        goes_on=segment.number > 1,
        probe=record.probe,
    )
    try:
        finished = context.run(engine, request)
    except SlobError as error:
        stopped = context.interrupt.requested
        state = SegmentState.INTERRUPTED if stopped else SegmentState.FAILED
        _save(folder, measure_segment(folder.path, segment, state, STOPPED if stopped else error.what))
        raise
    complete = finished.record.status is Status.COMPLETE
    state, why = (SegmentState.COMPLETE, "") if complete else (SegmentState.INTERRUPTED, STOPPED)
    _save(folder, measure_segment(folder.path, segment, state, why))


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
