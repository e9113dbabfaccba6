"""The execution of a repeated run: the same run at fixed times, until all were made or it is stopped.

A time is never made up for: one at which the run before it was still going on, or no driver was there, is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob._version import __version__
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import format_duration, iso
from openslob.core.workload import Workload
from openslob.engines.base import Engine
from openslob.kinds.repeated.figures import figures_of, with_findings
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedRecord, RepeatedTime, TimeState
from openslob.kinds.run import runner
from openslob.kinds.run.progress import ProgressSink
from openslob.record.model import Holds, RunRecord, Status
from openslob.record.store import record_id

# The shortest time between the begins of two runs.
LEAST_EVERY_S = 5.0
# A run that can't begin within this share of the time between two runs is missed.
LATE_SHARE = 0.1
# What a run takes beside its warm-up and its window: checks, connections, counters, the record.
BESIDE_S = 3.0
NO_DRIVER, STILL_BUSY = "no driver was there to make it", "the run before it was still going on"


@dataclass(frozen=True)
class Repeating:
    """What runs are made with: a new connection for each, and how they are stopped, shown and reported."""

    connect: Callable[[], Engine]
    interrupt: Interrupt
    show: ProgressSink
    render: Callable[[RunRecord], str]
    tell: Callable[[RepeatedTime], None]


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
    started_at = iso(int(now_s * 1e9))
    return RepeatedRecord(
        id=record_id(name, started_at), name=name, started_at=started_at, openslob_version=__version__, target=target,
        workload=workload.to_record(), sources=sources, every_s=every_s, first_s=now_s, planned=planned,
        notes=tuple(notes),
    )  # fmt: skip


def require_unfinished(record: RepeatedRecord) -> None:
    """Raise UsageError unless there are runs left to be made."""
    if _is_over(record):
        raise UsageError(f"the repeated run {record.id} is complete", f"`slob show {record.id}` shows it")


def repeat(folder: RepeatedFolder, with_: Repeating, clock: Callable[[], float] = time.time) -> None:
    """Make the runs that are due from now on; times that have passed are missed."""
    why_missed = NO_DRIVER
    while not _is_over(folder.record) and not with_.interrupt.requested:
        record = folder.record
        number = len(record.times) + 1
        due_s, now_s = record.due_s(number), clock()
        if now_s > due_s + LATE_SHARE * record.every_s:
            missed = RepeatedTime(number=number, due_s=due_s, state=TimeState.MISSED, why=why_missed)
            _add(folder, missed, with_)
            continue
        if now_s < due_s:
            # A clock that is set is noticed when it matters: not later than in a minute.
            with_.interrupt.stop.wait(min(due_s - now_s, 60.0))
            continue
        made = _made(folder, number, due_s, now_s, with_)
        if made is not None:
            _add(folder, made, with_)
        why_missed = STILL_BUSY
    ended = _is_over(folder.record) or folder.record.planned is None
    folder.save(folder.record.model_copy(update={"status": Status.COMPLETE if ended else Status.INTERRUPTED}))


def _is_over(record: RepeatedRecord) -> bool:
    return record.planned is not None and len(record.times) >= record.planned


def _add(folder: RepeatedFolder, done: RepeatedTime, with_: Repeating) -> None:
    record = folder.record
    folder.save(with_findings(record.model_copy(update={"times": (*record.times, done)})))
    with_.tell(done)


def _made(folder: RepeatedFolder, number: int, due_s: float, begun_s: float, with_: Repeating) -> RepeatedTime | None:
    """Make the run of a time; None if it was stopped, so that its time is still to come, or missed."""
    record, before = folder.record, set(folder.path.iterdir())
    at = RepeatedTime(number=number, due_s=due_s, begun_s=begun_s, state=TimeState.FAILED)
    request = runner.RunRequest(
        Workload.model_validate(record.workload), f"run-{number:04}", folder.path, record.notes, record.sources,
        goes_on=True,
    )  # fmt: skip
    try:
        finished = runner.run(with_.connect(), request, with_.interrupt, with_.show, with_.render)
    except SlobError as error:
        made = _new_folder(folder.path, before)
        return None if with_.interrupt.requested else at.model_copy(update={"run": made, "why": error.what})
    if finished.record.status is not Status.COMPLETE:
        return None
    found = {
        "state": TimeState.DONE,
        "run": finished.folder.name,
        "figures": figures_of(finished.record),
        "failed_verdicts": tuple(
            verdict.name for verdict in finished.record.verdicts if verdict.verdict is Holds.FAILS
        ),
    }
    return at.model_copy(update=found)


def _new_folder(path: Path, before: set[Path]) -> str | None:
    return next((each.name for each in path.iterdir() if each not in before and each.is_dir()), None)
