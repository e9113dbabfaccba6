"""The execution of a repeated run: the same run at fixed times, until all were made or it is stopped.

A time is never made up for: one at which the run before it was still going on, or no driver was there, is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.config.resolve import Resolution
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.engines.base import Engine
from openslob.kinds.contract import list_failed
from openslob.kinds.repeated.figures import figures_of, with_findings
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedRecord, RepeatedTime, TimeState, load
from openslob.kinds.run.context import Context
from openslob.kinds.run.loading import take_loaded
from openslob.kinds.run.runner import RunRequest
from openslob.record.model import Status
from openslob.record.store import new_head

# The shortest time between the begins of two runs.
LEAST_EVERY_S = 5.0
# A run that can't begin within this share of the time between two runs is missed.
LATE_SHARE = 0.1
# What a run takes beside its warm-up and its window: checks, connections, counters, the record.
BESIDE_S = 3.0
NO_DRIVER, STILL_BUSY = "no driver was there to make it", "the run before it was still going on"


@dataclass(frozen=True)
class RepeatedRequest:
    """A run with these parameters every so many seconds, ``planned`` times; None: until it is stopped.

    With ``resume``, the folder of an earlier one, it is the rest of that, with the parameters of its record.
    """

    parameters: Resolution
    name: str = "watch"
    every_s: float = 0.0
    planned: int | None = None
    resume: Path | None = None


def execute(request: RepeatedRequest, context: Context, tell_time: Callable[[RepeatedTime], None]) -> RepeatedFolder:
    """Make the runs that are due, or the rest of them, and return their folder; the record may say it was stopped.

    ``tell_time`` gets each time with what became of it.

    Raises:
        SlobError: The server can't be reached, or the record can't be written. Runs that fail are in the record.
        UsageError: A run takes longer than the time to the next, or nothing is left to be made.

    """
    if request.resume:
        before = load(request.resume)
        require_unfinished(before)
        context = context.at(before.target, request.resume)
    with context.stopping():
        engine = context.connect()
        with _open_folder(request, engine, context) as folder:
            _announce(folder.record, context.tell)
            repeat(folder, context, tell_time)
        return folder


def _open_folder(request: RepeatedRequest, engine: Engine, context: Context) -> RepeatedFolder:
    if request.resume:
        return RepeatedFolder.resume(request.resume)
    found = take_loaded(request.parameters, engine, context.tell)
    record = new_record(
        request.name, context.target.shown, found.workload, request.every_s, request.planned, found.sources,
        found.notices,
    )  # fmt: skip
    return RepeatedFolder.begin(context.results, record)


def _announce(record: RepeatedRecord, tell: Callable[[str], None]) -> None:
    runs = f"{record.planned - len(record.times)} runs" if record.planned else "runs until Ctrl-C"
    tell(f"{runs}, one every {format_duration(record.every_s)}; slob watch --resume {record.id} goes on after a stop")


def new_record(
    name: str,
    target: str,
    workload: Workload,
    every_s: float,
    planned: int | None,
    sources: Mapping[str, str],
    notes: Sequence[str] = (),
) -> RepeatedRecord:
    """Return the record of a repeated run that begins now; ``target`` must not contain a password.

    UsageError if a run takes longer than the time to the next.
    """
    takes_s = workload.run_time + workload.warmup + BESIDE_S
    if workload.run_time and takes_s > every_s:
        raise UsageError(
            f"a run takes about {format_duration(takes_s)}, and one is due every {format_duration(every_s)}",
            "give a longer --every, or a shorter --run-time in --run",
        )
    now_s = time.time()
    return RepeatedRecord(
        **new_head(name, int(now_s * 1e9)), target=target, workload=workload.to_record(), sources=sources,
        every_s=every_s, first_s=now_s, planned=planned, notes=tuple(notes),
    )  # fmt: skip


def require_unfinished(record: RepeatedRecord) -> None:
    """Raise UsageError unless there are runs left to be made."""
    if _is_over(record):
        raise UsageError(f"the repeated run {record.id} is complete", f"`slob show {record.id}` shows it")


def repeat(
    folder: RepeatedFolder,
    context: Context,
    tell_time: Callable[[RepeatedTime], None],
    clock: Callable[[], float] = time.time,
) -> None:
    """Make the runs that are due from now on, each over new connections; times that have passed are missed."""

    def add(done: RepeatedTime) -> None:
        record = folder.record
        folder.save(with_findings(record.model_copy(update={"times": (*record.times, done)})))
        tell_time(done)

    why_missed = NO_DRIVER
    while not _is_over(folder.record) and not context.interrupt.requested:
        record = folder.record
        number = len(record.times) + 1
        due_s, now_s = record.due_s(number), clock()
        if now_s > due_s + LATE_SHARE * record.every_s:
            add(RepeatedTime(number=number, due_s=due_s, state=TimeState.MISSED, why=why_missed))
            continue
        if now_s < due_s:
            # A clock that is set is noticed when it matters: not later than in a minute.
            context.interrupt.stop.wait(min(due_s - now_s, 60.0))
            continue
        made = _make(folder, number, due_s, now_s, context)
        if made is not None:
            add(made)
        why_missed = STILL_BUSY
    ended = _is_over(folder.record) or folder.record.planned is None
    folder.save(folder.record.model_copy(update={"status": Status.COMPLETE if ended else Status.INTERRUPTED}))


def _is_over(record: RepeatedRecord) -> bool:
    return record.planned is not None and len(record.times) >= record.planned


def _make(folder: RepeatedFolder, number: int, due_s: float, begun_s: float, context: Context) -> RepeatedTime | None:
    """Make the run of a time; None if it was stopped, so that its time is still to come, or missed."""
    record, before = folder.record, set(folder.path.iterdir())
    at = RepeatedTime(number=number, due_s=due_s, begun_s=begun_s, state=TimeState.FAILED)
    request = RunRequest(
        Workload.model_validate(record.workload), f"run-{number:04}", folder.path, record.notes, record.sources,
        goes_on=True,
    )  # fmt: skip
    try:
        finished = context.run(context.connect(), request)
    except SlobError as error:
        made = _new_folder(folder.path, before)
        return None if context.interrupt.requested else at.model_copy(update={"run": made, "why": error.what})
    if finished.record.status is not Status.COMPLETE:
        return None
    found = {
        "state": TimeState.DONE,
        "run": finished.folder.name,
        "figures": figures_of(finished.record),
        "failed_verdicts": tuple(list_failed(finished.record.verdicts)),
    }
    return at.model_copy(update=found)


def _new_folder(path: Path, before: set[Path]) -> str | None:
    return next((each.name for each in path.iterdir() if each not in before and each.is_dir()), None)
