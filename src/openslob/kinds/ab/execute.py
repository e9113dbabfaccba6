"""A comparison in pairs: both sides in random order, each after a restart, until it is decided or the time is over.

The order of a pair, and how a server is made ready, are in `sides`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from statistics import fmean

from openslob.analyze.compare import RECOVERY, better_of, is_figure
from openslob.analyze.outcome import count_noun
from openslob.analyze.sequential import LEAST_PAIRS, Boundary, Decision
from openslob.config.resolve import DEFAULT, Resolution
from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError
from openslob.core.session_classes import split_kind
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.host.environment import environment
from openslob.kinds.ab.figures import decision_of, figures_of, look_at, values, with_results
from openslob.kinds.ab.record import A, AbFolder, AbRecord, AbRun, B
from openslob.kinds.ab.sides import AbServers, Side, order_of, parse_side
from openslob.kinds.contract import list_failed
from openslob.kinds.run.again import RETRIES, why_lost
from openslob.kinds.run.context import Context
from openslob.kinds.run.loading import take_loaded
from openslob.kinds.run.runner import FinishedRun, RunRequest
from openslob.kinds.run.settings import give_way
from openslob.metrics import Better
from openslob.record.model import Status
from openslob.record.store import new_head, say_nothing
from openslob.report.format import shorten

DEFAULT_FOR_S, WITHIN_PCT, FIGURE = 600.0, 5.0, "ops_per_s"
# Storage drifts within seconds: more pairs of short runs say more than few long ones.
DEFAULT_RUN_S, DEFAULT_WARMUP_S = 3.0, 1.0
# What a run takes beside its warm-up and its window at least: a start of the server, checks, counters, the record.
BESIDE_S = 2.0
# After so many failures in a row the comparison is given up.
_MOST_FAILURES = 2
# Pairs whose time says how long the next one takes.
_LATEST = 3
# Letters of a side in the line of progress.
_LABEL = 30


@dataclass(frozen=True)
class AbRequest:
    """A comparison of two sides, as `sides.parse_side` reads them, by a figure, under a workload.

    It takes ``limit_s`` at the most. ``until_decided``: it ends once it is decided. A difference of ``within_pct``
    does not matter. A run whose window is lost is made again up to ``retries`` times.
    """

    sides: tuple[str, str]
    parameters: Resolution
    name: str = "ab"
    figure: str = FIGURE
    within_pct: float = WITHIN_PCT
    limit_s: float = DEFAULT_FOR_S
    until_decided: bool = False
    retries: int = RETRIES


@dataclass(frozen=True)
class AbPlan:
    """A comparison to be made: its record, its sides, and how often a run is made again."""

    record: AbRecord
    sides: tuple[Side, Side]
    retries: int


def plan(request: AbRequest, context: Context) -> AbPlan:
    """Return what is to be compared. Parameters of the data that nothing gives are those of the data that are loaded.

    Raises:
        SlobError: A server can't be reached.
        UsageError: A side is not understood, a value is not allowed, or the time is too short for a decision.

    """
    if not is_figure(request.figure) or better_of(request.figure) is Better.NEITHER:
        raise UsageError(f"{request.figure!r} is not a figure that can be better or worse", "docs/figures.md has them")
    if split_kind(request.figure)[1] == RECOVERY:
        why = f"{request.figure} is unknown of runs that do not recover: pairs would be of the others alone"
        raise UsageError(why, "decide by a response time, such as op_response_p99_us")
    a, b = (parse_side(text, context.target) for text in request.sides)
    with context.stopping():
        found = _take_loaded(request.parameters, (a, b), context)
    found = replace(found, workload=_with_short_runs(found))
    workload, notices = found.workload, tuple(found.notices)
    for side in (a, b):
        workload, given_way = give_way(workload, found.sources, side.settings)
        notices += given_way
    _require_time(workload, request.limit_s)
    record = AbRecord(
        **new_head(request.name), environment=environment(None), workload=workload.to_record(), sources=found.sources,
        sides=(a.to_record(), b.to_record()), figure=request.figure, within_pct=request.within_pct,
        until_decided=request.until_decided, limit_s=request.limit_s, notes=notices,
    )  # fmt: skip
    return AbPlan(record, (a, b), request.retries)


def _take_loaded(parameters: Resolution, sides: tuple[Side, Side], context: Context) -> Resolution:
    """Return the parameters with those of the data that are loaded, if the user gave no others."""
    first = next((side for side in sides if not side.command), sides[0])
    with AbServers(sides, context.interrupt) as servers:
        return take_loaded(parameters, servers.start(first)[0], context.tell)


def _with_short_runs(found: Resolution) -> Workload:
    short = {"run_time": DEFAULT_RUN_S, "warmup": DEFAULT_WARMUP_S}
    given = {name: rehearsal.seconds(value, 0.2) for name, value in short.items() if found.sources.get(name) == DEFAULT}
    return found.workload.changed(**given)


def least_pair_s(workload: Workload) -> float:
    """Return how many seconds a pair takes at the least."""
    return 2 * (workload.run_time + workload.warmup + BESIDE_S)


def _require_time(workload: Workload, limit_s: float) -> None:
    """Raise UsageError if no more pairs fit than can't decide anything."""
    needed_s = LEAST_PAIRS * least_pair_s(workload)
    if limit_s < needed_s:
        fit = count_noun(int(limit_s / least_pair_s(workload)), "pair")
        raise UsageError(
            f"{format_duration(limit_s)} has room for {fit} of runs, and {LEAST_PAIRS} are needed to decide anything",
            f"--for {ceil(needed_s)}s or more, or a shorter --run-time or --warmup",
        )


def execute(planned: AbPlan, context: Context) -> AbFolder:
    """Make the comparison and return its folder; its record says how it ended.

    Raises:
        SlobError: The servers can't be used, or the record can't be written.

    """
    with context.stopping(), AbFolder.begin(context.results, planned.record) as folder:
        record = planned.record
        context.tell(
            f"A: {record.sides[0].text}; B: {record.sides[1].text}; pairs of runs of {record.workload['run_time']:g} s "
            f"{'until it is decided, ' * record.until_decided}for at most {format_duration(record.limit_s)}"
        )
        with AbServers(planned.sides, context.interrupt) as servers:
            AbExecution(folder, context, planned, servers).execute()
    return folder


class AbExecution:
    """The pairs of a comparison, made by one process."""

    def __init__(
        self,
        folder: AbFolder,
        context: Context,
        planned: AbPlan,
        servers: AbServers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._context, self._servers, self._clock = folder, context, servers, clock
        self._sides = dict(zip((A, B), planned.sides, strict=True))
        self._retries = planned.retries
        self._workload = Workload.model_validate(planned.record.workload)
        self._boundary = Boundary()
        self._began = clock()
        self._took: list[float] = []
        self._failures = 0

    def execute(self) -> None:
        """Make pairs. SlobError when the record can't be written."""
        while self._pair():
            pass
        record = self._record
        if self._context.interrupt.requested:
            self._save(status=Status.INTERRUPTED)
        elif self._failures >= _MOST_FAILURES or not values(record, record.figure):
            why = next((each.why for each in reversed(record.runs) if each.why), "the time was too short")
            self._save(status=Status.FAILED, errors=(f"no more pairs could be made: {why}",))
        else:
            self._save(status=Status.COMPLETE)

    @property
    def _record(self) -> AbRecord:
        return self._folder.record

    @property
    def _left_s(self) -> float:
        return self._record.limit_s - (self._clock() - self._began)

    def _save(self, **changes: object) -> None:
        record = self._record.model_copy(update={**changes, "spent_s": self._clock() - self._began})
        self._folder.save(with_results(record))

    def _pair(self) -> bool:
        """Make a pair and look at what there is; return whether there is to be another one."""
        number, began = self._record.pairs_begun + 1, self._clock()
        for label in order_of(self._workload.seed, number):
            if self._context.interrupt.requested or self._failures >= _MOST_FAILURES:
                return False
            self._run_side(label, number)
        self._took.append(self._clock() - began)
        goes_on = fmean(self._took[-_LATEST:]) <= self._left_s and not self._context.interrupt.requested
        if self._record.until_decided or not goes_on:
            self._look(goes_on)
        return goes_on and not (self._record.until_decided and decision_of(self._record) is not Decision.UNDECIDED)

    def _look(self, goes_on: bool) -> None:
        """Look at the pairs, if there is a new one or it is the last look: all of the error is spent by then."""
        record, last = self._record, self._record.last_look
        pairs = len(values(record, record.figure))
        if not pairs or (goes_on and last and last.pairs == pairs):
            return
        share = min(1.0, 1 - self._left_s / record.limit_s) if goes_on else 1.0
        look = look_at(record, self._boundary, share)
        self._save(looks=(*record.looks, look))
        if look.low is not None and look.high is not None:
            self._context.tell(f"{count_noun(pairs, 'pair')}: B / A is {look.low:.3f} to {look.high:.3f}")

    def _run_side(self, label: str, number: int) -> None:
        """Make a side's run. A failure is noted, and the comparison goes on until there are several in a row."""
        made = AbRun(pair=number, side=label)
        try:
            finished = self._run(label, number)
        except SlobError as error:
            if not self._context.interrupt.requested:
                self._failures += 1
                self._context.tell(f"{label}: {error}")
                self._save(runs=(*self._record.runs, made.model_copy(update={"why": str(error)})))
            return
        if finished.record.status is Status.COMPLETE:
            self._failures = 0
            lost = [_of_run(made, each, self._record.figure, again=True) for each in finished.discarded]
            self._save(runs=(*self._record.runs, *lost, _of_run(made, finished, self._record.figure)))

    def _run(self, label: str, number: int) -> FinishedRun:
        side = self._sides[label]
        engine, server = self._servers.start(side)
        self._context.follow(engine)
        # That a server is restarted for its load is not said.
        replace(self._context, tell=say_nothing).load(engine, server, self._workload)
        if not self._record.product:
            facts = engine.facts()
            self._save(product=f"{facts.product} {facts.version}")
        # Both sides of a pair visit the same blocks, and those of another pair others.
        workload = self._workload.changed(seed=self._workload.seed + number - 1)
        request = RunRequest(
            workload, label, self._folder.path, goes_on=number > 1, settings=side.changes, retries=self._retries
        )
        shown = shorten(side.to_record().text, _LABEL)
        return self._context.run(engine, request, f"[pair {number}, {label}] {shown}", self._left_s)


def _of_run(made: AbRun, finished: FinishedRun, figure: str, again: bool = False) -> AbRun:
    record = finished.record
    figures = figures_of(record, figure)
    why = why_lost(record) or ("" if figures[figure] is not None else record.why_unknown(figure))
    started = record.engine.get("server_started_at")
    return made.model_copy(
        update={
            "run": finished.folder.name,
            "figures": figures,
            "why": why,
            "failed_verdicts": tuple(list_failed(record.verdicts)),
            "server_started_at": None if started is None else str(started),
            "made_again": again,
        }
    )
