"""The execution of a lab, round by round; every run is on disk before the next one begins.

A round makes a block for each setting that is not settled yet, in shuffled order: the server without the setting and
with each of its values, in shuffled order, too. Each is started again and makes a run under each load. So whatever
changes slowly meanwhile affects both sides of a pair, and what differs from start to start is part of the interval.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from openslob.analyze.outcome import count_noun
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.kinds.contract import list_failed
from openslob.kinds.lab.figures import RATE, figures_of, is_done, with_results
from openslob.kinds.lab.loads import writes
from openslob.kinds.lab.plan import MAKE_S, REMOVE_S, require_time, round_s, side_s
from openslob.kinds.lab.record import LabArm, LabFolder, LabRecord, LabRun, LeftOut
from openslob.kinds.lab.request import LabPlan
from openslob.kinds.lab.servers import LabServers, changes_of, groups, lab_servers
from openslob.kinds.run.context import Context
from openslob.kinds.run.runner import FinishedRun, RunRequest
from openslob.record.model import RunRecord, Status
from openslob.record.store import say_nothing

# A side whose server or runs failed so often in a row is left out: it would cost time and give no figure.
_MOST_FAILURES = 2
# How often a run is made again whose window a busy host lost.
_RETRIES = 2


@dataclass(frozen=True)
class _Side:
    """One side of the pairs of a setting: a value of it, or the server without (None), with its loads."""

    setting: str
    arm: LabArm | None
    loads: tuple[str, ...]
    base: str

    @property
    def label(self) -> str:
        return self.arm.label if self.arm else self.base

    @property
    def key(self) -> tuple[str, bool]:
        """What it is left out by if it fails: its loads that write, or those that only read."""
        return self.label, writes(self.loads)


class _Takes:
    """How long blocks take: as planned at first, then as those of the same setting took in comparison with the plan."""

    def __init__(self) -> None:
        self._took: dict[str, list[float]] = {}

    def add(self, setting: str, planned_s: float, took_s: float) -> None:
        """Note that a block took so long."""
        self._took.setdefault(setting, []).append(took_s / planned_s)

    def of(self, setting: str, planned_s: float) -> float:
        """Return how many seconds a block of a setting will take."""
        # The first block of a setting may have made servers: the later ones say more.
        took = self._took.get(setting, [])[-3:]
        if took:
            return planned_s * fmean(took)
        # Of a setting that was not measured yet the quickest of the others is assumed: it is not to be left out.
        return planned_s * min((each[-1] for each in self._took.values()), default=1.0)


def execute(planned: LabPlan, context: Context) -> LabFolder:
    """Make a lab, or the rest of one, and return its folder; its record says how it ended.

    Raises:
        SlobError: The servers can't be used, or the record can't be written.
        UsageError: The lab that is to go on is complete, or the time is too short for what one that begins compares.

    """
    if not planned.folder:
        require_time(planned.record, planned.pairs)
    begun = LabFolder.resume(planned.folder) if planned.folder else LabFolder.begin(context.results, planned.record)
    with context.stopping(), begun as folder:
        if planned.folder:
            _give_time(folder, planned.more_s)
        _announce(folder.record, context.tell)
        LabExecution(folder, context).execute()
    return folder


def _give_time(folder: LabFolder, more_s: float | None) -> None:
    """Give a lab more time if that is asked for. UsageError if there is nothing left to be done."""
    record = folder.record
    limit_s = record.spent_s + more_s if more_s else record.limit_s
    if limit_s <= record.spent_s or record.is_settled:
        why = "every comparison is settled" if record.is_settled else "its time is over"
        raise UsageError(
            f"the lab {record.id} is complete: {why}",
            f"`slob show {record.id}` shows it" + ("" if record.is_settled else "; --for gives it more time"),
        )
    folder.update(limit_s=limit_s, status=Status.INTERRUPTED, errors=())


def _announce(record: LabRecord, tell: Callable[[str], None]) -> None:
    wanted = sum(1 for _ in record.compared)
    tell(
        f"{count_noun(wanted, 'comparison')}, until each is known to ± {record.precision_pct:g} %, for at most "
        f"{format_duration(record.limit_s - record.spent_s)}; a round takes about {format_duration(round_s(record))}"
    )
    for each in record.left_out:
        tell(f"not compared: {each.what}: {each.why}")


class LabExecution:
    """The part of a lab that one process executes: until all is settled, the time is over, or it is stopped."""

    def __init__(self, folder: LabFolder, context: Context, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._context, self._clock = folder, context, clock
        self._began = clock()
        self._spent_before = folder.record.spent_s
        self._failures: dict[tuple[str, bool], int] = {}
        self._made: set[str] = set()
        self._make_s = MAKE_S
        self._takes = _Takes()

    def execute(self) -> None:
        """Make rounds. SlobError when the servers can't be used, or the record can't be written."""
        record = self._folder.record
        # What failed before is tried again.
        failed = {label for arm in record.arms for label in (arm.label, arm.base_label)}
        self._save(left_out=tuple(each for each in record.left_out if each.what not in failed))
        with lab_servers(ServerSpec.from_record(record.server), record.arms, self._context.tell) as servers:
            while self._round(servers):
                pass
        self._end()

    def _end(self) -> None:
        record = with_results(self._record)
        if self._context.interrupt.requested:
            self._save(status=Status.INTERRUPTED)
        elif record.results:
            self._save(status=Status.COMPLETE, errors=())
        else:
            reasons = [*(each.why for each in record.runs), *(each.why for each in record.left_out)]
            why = next(filter(None, reasons), "the time was too short")
            self._save(status=Status.FAILED, errors=(f"no pair of runs was made: {why}",))

    @property
    def _record(self) -> LabRecord:
        return self._folder.record

    @property
    def _left_s(self) -> float:
        return self._record.limit_s - self._spent_s

    @property
    def _spent_s(self) -> float:
        return self._spent_before + self._clock() - self._began

    def _planned_s(self, block: Sequence[_Side]) -> float:
        return sum(side_s(self._record, side.loads) for side in block)

    def _save(self, **changes: object) -> None:
        record = self._record.model_copy(update={**changes, "spent_s": self._spent_s})
        self._folder.save(with_results(record))

    def _round(self, servers: LabServers) -> bool:
        """Make a round; return whether there is to be another one."""
        number = self._record.rounds + 1
        settings = list(dict.fromkeys(arm.setting for arm in self._record.arms))
        random.Random(f"{self._record.seed}/{number}").shuffle(settings)
        made = False
        for setting in settings:
            block = self._block(setting, number)
            if block and self._fits(block) and not self._context.interrupt.requested:
                self._run_block(block, number, servers)
                made = True
        return made and not self._context.interrupt.requested

    def _block(self, setting: str, number: int) -> list[_Side]:
        """Return the sides that are still to be run for a setting; none once all is known."""
        record = self._record
        open_ = [
            (arm, {load for load in arm.every_load if not is_done(record, arm, load)})
            for arm in record.arms
            if arm.setting == setting
        ]
        arms, base, order = [arm for arm, _ in open_], open_[0][0].base_label, f"{record.seed}/{number}/{setting}"
        block: list[_Side] = []
        for group in groups(arms, set().union(*(loads for _, loads in open_))):
            own = [(arm, tuple(load for load in group if load in loads)) for arm, loads in open_]
            sides = [_Side(setting, arm, loads, base) for arm, loads in ((None, group), *own) if loads]
            sides = [side for side in sides if self._failures.get(side.key, 0) < _MOST_FAILURES]
            if len(sides) > 1 and any(side.arm is None for side in sides):
                random.Random(order).shuffle(sides)
                block += sides
        return block

    def _fits(self, block: Sequence[_Side]) -> bool:
        """Return whether a block ends before the time is over, servers removed; the first one is made in any case."""
        new = {self._name(side) for side in block} - self._made
        remove_s = REMOVE_S * len(self._made | new)
        takes_s = self._takes.of(block[0].setting, self._planned_s(block)) + len(new) * self._make_s
        return not self._record.runs or takes_s + remove_s <= self._left_s

    def _name(self, side: _Side) -> str:
        servers = LabServers(ServerSpec.from_record(self._record.server), self._record.arms)
        return servers.spec(side.setting, side.arm, side.loads).name

    def _run_block(self, block: Sequence[_Side], number: int, servers: LabServers) -> None:
        began, making = self._clock(), any(self._name(side) not in self._made for side in block)
        for side in block:
            if self._context.interrupt.requested:
                return
            self._run_side(side, number, servers)
        if not making:
            self._takes.add(block[0].setting, self._planned_s(block), self._clock() - began)

    def _run_side(self, side: _Side, number: int, servers: LabServers) -> None:
        """Start a side's server again and make its runs. A failure is noted, and the lab goes on."""
        try:
            began = self._clock()
            engine, server = servers.start(side.setting, side.arm, side.loads)
            self._context.follow(engine)
            self._load(engine, server, side)
            if server.name not in self._made:
                self._made.add(server.name)
                self._make_s = self._clock() - began
            self._note_product(engine)
            for load in side.loads:
                if self._context.interrupt.requested:
                    break
                self._measure(engine, side, load, number)
            servers.stop()
            self._failures.pop(side.key, None)
        except SlobError as error:
            if not self._context.interrupt.requested:
                self._note_failure(side, error)

    def _load(self, engine: Engine, server: ManagedServer, side: _Side) -> None:
        workload = Workload.model_validate(self._record.load(side.loads[0]).workload)
        # That a server is restarted for its load is not said.
        replace(self._context, tell=say_nothing).load(engine, server, workload)

    def _note_product(self, engine: Engine) -> None:
        if not self._record.product:
            facts = engine.facts()
            self._save(product=f"{facts.product} {facts.version}")

    def _note_failure(self, side: _Side, error: SlobError) -> None:
        """Note that a side could not be run. One that fails again and again is left out."""
        self._context.tell(f"{side.label}: {error.what}")
        count = self._failures[side.key] = self._failures.get(side.key, 0) + 1
        if count == _MOST_FAILURES:
            left_out = (*self._record.left_out, LeftOut(what=side.label, why=str(error)))
            self._save(left_out=left_out)

    def _measure(self, engine: Engine, side: _Side, load: str, number: int) -> None:
        """Make a run and save what became of it, and before it what was discarded because a busy host spoiled it.

        One that was stopped leaves no trace in the record. SlobError if it failed.
        """
        record, before = self._record, {path.name for path in self._folder.path.iterdir()}
        value = side.arm.value if side.arm else None
        made = LabRun(round=number, setting=side.setting, value=value, load=load)
        # Both sides of a pair visit the same blocks, and those of another round others.
        workload = Workload.model_validate({**record.load(load).workload, "seed": record.seed + number - 1})
        request = RunRequest(
            workload, f"{side.label}-{load}", self._folder.path, goes_on=number > 1,
            settings=changes_of(side.arm) if side.arm else (), retries=_RETRIES,
        )  # fmt: skip
        try:
            finished = self._context.run(engine, request, f"[round {number}] {side.label}, {load}", self._left_s)
        except SlobError as error:
            if self._context.interrupt.requested:
                return
            created = (path.name for path in self._folder.path.iterdir() if path.is_dir() and path.name not in before)
            failed = made.model_copy(update={"run": next(created, None), "why": error.what})
            self._save(runs=(*record.runs, failed))
            raise
        rate = record.load(load).rate
        again = made.model_copy(update={"made_again": True})
        lost = [_complete_run(again, each, rate, "") for each in finished.discarded]
        kept = [finished] * (finished.record.status is Status.COMPLETE)
        whole = [_complete_run(made, each, rate, _not_as_asked(side, record.arms, each.record)) for each in kept]
        self._save(runs=(*record.runs, *lost, *whole))


def _not_as_asked(side: _Side, arms: Sequence[LabArm], record: RunRecord) -> str:
    """Return what the server had of a setting if that is the value of another side; empty if it is as it should be."""
    found = str(record.engine.get("settings", {}).get(side.setting, "")).lower()
    of_setting = [each for each in arms if each.setting == side.setting]
    own = side.arm.value if side.arm else of_setting[0].here
    others = {each.lower() for each in (of_setting[0].here, *(arm.value for arm in of_setting))} - {own.lower()}
    return f"the server had {side.setting}={found}, not {own}" if found and found in others else ""


def _complete_run(made: LabRun, finished: FinishedRun, rate: str, not_as_asked: str) -> LabRun:
    record = finished.record
    figures = {} if not_as_asked else figures_of(record, rate)
    found: Mapping[str, object] = {
        "run": finished.folder.name,
        "figures": figures,
        "why": not_as_asked or ("" if figures[RATE] else record.why_unknown(rate)),
        "failed_verdicts": tuple(list_failed(record.verdicts)),
    }
    return made.model_copy(update=found)
