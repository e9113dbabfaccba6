"""A run from the first check to the finished record; each phase is one method."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from openslob.analyze.curves.ceiling import other_storage
from openslob.analyze.measure import LATENCY, RESPONSE, times
from openslob.analyze.other_sessions import ours_alone, shares_pct
from openslob.core.errors import SlobError, of_the_system
from openslob.core.histogram import Histogram
from openslob.core.interrupt import Interrupt
from openslob.core.measurement import EVERY_FIGURE, DriverUse, Measurement, RefusedSetting, StorageAlone
from openslob.core.units import NANOS
from openslob.core.workload import Mode, Workload
from openslob.engines.base import Engine, Hold, SessionPlan
from openslob.engines.facts import DataState, ServerFacts
from openslob.engines.patience import ANSWER_S, Patience
from openslob.engines.settings import SettingChange
from openslob.kinds.run import aftermath
from openslob.kinds.run.crew import Hire, local_crew
from openslob.kinds.run.explain import explain_errors
from openslob.kinds.run.hooks import Hook, HookRunner, Moment
from openslob.kinds.run.plan import Phase, between_slices_s, lead_seconds, session_plans
from openslob.kinds.run.preflight import active_bytes, findings, is_cacheable, server_reports
from openslob.kinds.run.probing import (
    SINGLES,
    ProbeCounts,
    ProbePhase,
    SingleCounts,
    SinglePhase,
    can_probe,
    part_seconds,
)
from openslob.kinds.run.progress import Connecting, ProgressLog, ProgressSink, RunProgress, each_second
from openslob.kinds.run.record_builder import RecordBuilder
from openslob.kinds.run.recorder import Recorder, WindowAccumulator
from openslob.kinds.run.samplers import Samplers
from openslob.kinds.run.session_pool import SessionPool, ignore
from openslob.kinds.run.warmup import WarmupMonitor
from openslob.kinds.run.window import READ_EARLIER_S, WindowReadings, count_between, read_ahead_s, read_opening
from openslob.record.model import READER, REFUSED, SET, RunRecord, Status
from openslob.record.raw_csv import Event
from openslob.record.store import RunFolder, UnsavedError

# A run by WORK_LOOP alone has no end time; this one is never reached.
NO_END_S = 100 * 86_400
# What the closing readings may take, with all that follows them, of a server that did not answer before.
CLOSING_S = 2.0


@dataclass(frozen=True)
class RunRequest:
    """A run to make: its workload, its name and the folder of its record. ``notes`` and ``sources`` go into the record.

    With ``steady_limit_s`` the warm-up lasts until the throughput is steady (`WarmupMonitor`), WARMUP at the least and
    so many seconds at the most. ``ceiling`` is a raw measurement of the storage to compare the run with. ``consented``
    names the licensed capabilities of the server that the run may use. ``held`` is the target's lock, if the caller has
    it already. ``goes_on``: an earlier run had the same load, so its data may have grown. ``hire`` makes its crew.
    ``settings`` are settings of the server that the run is made with: its sessions set their own, and find the others.
    ``probe``: some sessions rest by turns for a while after the window (`probing`), if the load allows it. ``retries``:
    how often `Context.run` makes it again if its window is lost. ``hooks`` are commands that run beside it.
    """

    workload: Workload
    name: str
    results: Path
    notes: Sequence[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    steady_limit_s: float | None = None
    ceiling: StorageAlone | None = None
    consented: frozenset[str] = frozenset()
    held: Hold | None = None
    goes_on: bool = False
    hire: Hire = local_crew
    settings: Sequence[SettingChange] = ()
    probe: bool = False
    retries: int = 0
    hooks: Sequence[Hook] = ()


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its record and its folder; ``discarded`` are those before it that lost their window."""

    record: RunRecord
    folder: Path
    discarded: tuple[FinishedRun, ...] = ()


def run(
    engine: Engine,
    request: RunRequest,
    interrupt: Interrupt,
    show: ProgressSink,
    render: Callable[[RunRecord], str],
) -> FinishedRun:
    """Run a workload and write its record; once the checks have passed, a record is written even if the run fails.

    SlobError, with the record written as failed, when the run could not be made or lost a session; without any record
    when the run was refused before it began.
    """
    patience = Patience(interrupt)
    engine.follow(patience)
    try:
        return _Run(engine, request, patience, show, render).execute()
    finally:
        # The run's limits are not those of what the caller does next.
        engine.follow(Patience())


class _Run:
    def __init__(
        self,
        engine: Engine,
        request: RunRequest,
        patience: Patience,
        show: ProgressSink,
        render: Callable[[RunRecord], str],
    ) -> None:
        self._engine = engine
        self._request = request
        self._workload = request.workload
        self._patience = patience
        self._render = render
        self._facts: ServerFacts = engine.facts()
        self._data_bytes = active_bytes(request.workload, self._facts.block_size)
        self._builder = RecordBuilder(
            engine,
            self._facts,
            request.workload.to_record(),
            request.name,
            data_bytes=self._data_bytes,
            notes=request.notes,
            sources=request.sources,
        )
        if engine.host:
            # Whoever goes on after this process was killed reads the same host.
            self._builder.environment[READER] = engine.host.describe_reading()
        if request.settings:
            self._builder.engine[SET] = {each.name: each.value for each in request.settings}
        self._show = ProgressLog(show, self._builder.notes)
        self._warmup_s = 0.0
        self._drivers: Sequence[DriverUse] = ()
        self._reports = server_reports(engine, request.workload, request.consented, request.sources)

    def execute(self) -> FinishedRun:
        """Run everything and return the finished run."""
        with ExitStack() as opened:
            folder, measurement = self._begin_and_measure(opened)
            record = self._builder.with_figures(measurement)
            self._show.write()
            folder.finish(record, self._render(record))
        if record.errors:
            raise SlobError(record.errors[0], f"what was measured is in {folder.path}")
        return FinishedRun(record, folder.path)

    def _begin_and_measure(self, opened: ExitStack) -> tuple[RunFolder, Measurement]:
        """Check, begin the record, whose folder ``opened`` closes, and measure."""
        folder, outer, log = None, self._request.held, explain_errors(self._engine)
        try:
            with log as explain, outer.part() if outer else self._engine.exclusive("run") as held:
                self._builder.notes.extend(held.restored)
                state = self._check()
                self._require_not_stopped("before the start")
                # A run that is refused up to here has done nothing: it leaves no record.
                folder = opened.enter_context(self._builder.begin(self._request.results))
                self._show.begin(folder.raw)
                measurement = self._measure(folder, held, state)
                if measurement.errors:
                    first, *others = measurement.errors
                    measurement = replace(measurement, errors=[explain(first), *others])
            return folder, measurement
        except (SlobError, OSError, MemoryError) as error:
            if folder:
                self._record_failure(folder, error)
            raise

    def _record_failure(self, folder: RunFolder, error: Exception) -> None:
        status = Status.INTERRUPTED if self._patience.interrupt.requested else Status.FAILED
        line = str(of_the_system(error) if isinstance(error, OSError | MemoryError) else error)
        # The record that is on disk since the begin says failed too; the reason is what the user needs now.
        failed = self._builder.without_figures(status, (line,))
        self._show.include(failed.errors)
        self._show.write()
        with suppress(UnsavedError):
            folder.finish(failed, self._render(failed))

    def _measure(self, folder: RunFolder, held: Hold, state: DataState | None) -> Measurement:
        self._hooks = HookRunner(self._request.hooks, folder, self._patience.interrupt, self._builder.notes)
        self._hooks.run(Moment.BEFORE)
        try:
            return self._settle_and_measure(folder, held, state)
        finally:
            self._hooks.run(Moment.AFTER)
            if self._hooks.facts:
                self._builder.environment["hooks"] = self._hooks.facts

    def _settle_and_measure(self, folder: RunFolder, held: Hold, state: DataState | None) -> Measurement:
        self._settle(state)
        self._require_not_stopped("before the start")
        held.require()
        made_with = self._request.settings, self._facts.instances
        plans = session_plans(self._workload, self._facts.block_size, uuid.uuid4().hex[:8], *made_with)
        session_pool = SessionPool(self._engine, plans, self._patience, self._request.hire, folder.path)
        self._show.include(session_pool.errors)
        try:
            self._builder.engine["plans"] = self._connect_all(session_pool)
            self._builder.engine["settings"] |= session_pool.settings
            samplers = Samplers(self._engine, len(plans), session_pool.post)
            try:
                return self._warm_up_and_measure(folder, held, session_pool, samplers, plans)
            finally:
                samplers.close()
        finally:
            session_pool.shutdown()
            self._allow_closing(session_pool)
            aftermath.end_sessions(self._engine, self._builder.notes)
            # The end of the lock restores settings of the server.
            self._allow_closing(session_pool)

    def _allow_closing(self, session_pool: SessionPool) -> None:
        """Give what follows an overdue window time of its own, if the server answers."""
        if session_pool.overdue and not session_pool.silent:
            self._patience.allow(CLOSING_S)

    def _connect_all(self, session_pool: SessionPool) -> Mapping[str, str]:
        blocks = self._workload.private_blocks(self._facts.block_size)
        shown = Connecting(self._show, self._workload.total_sessions, blocks)
        plans = session_pool.connect_all(shown, blocks * self._facts.block_size)
        landed = Counter(session_pool.instances.values())
        if len(landed) > 1 and not self._facts.instances:
            found = ", ".join(f"{count} on {instance}" for instance, count in sorted(landed.items()))
            self._builder.notes.append(f"the sessions connected to several instances: {found}")
        return plans

    def _check(self) -> DataState | None:
        self._show(RunProgress("check"))
        if released := self._engine.release_sessions():
            self._builder.notes.append(f"{released} sessions of an earlier run were still in the server and were ended")
        for finding in findings(self._engine, self._workload, self._facts, self._reports):
            if finding.blocking and not (self._request.goes_on and finding.by_load):
                raise SlobError(finding.why, finding.advice)
            self._builder.notes.append(f"{finding.why}; {finding.advice}")
            if finding.refused:
                setting = RefusedSetting(finding.name, finding.why, finding.spoils)
                self._builder.engine.setdefault(REFUSED, []).append(asdict(setting))
        return self._engine.data.state()

    def _settle(self, state: DataState | None) -> None:
        self._show(RunProgress("prepare the server"))
        fits = state is not None and is_cacheable(self._data_bytes, self._facts.cache_bytes)
        self._builder.engine["settled"] = settle(self._engine, self._workload, fits)
        # `quiesce` may have changed settings: record the values that hold in the window.
        self._builder.engine["settings"] = dict(self._engine.facts().settings)

    def _warm_up_and_measure(
        self,
        folder: RunFolder,
        held: Hold,
        session_pool: SessionPool,
        samplers: Samplers,
        plans: Sequence[SessionPlan],
    ) -> Measurement:
        self._builder.environment = samplers.describe_host()
        aftermath.set_extents(self._builder, self._engine, samplers.data_directory)
        if (pid := self._engine.server_pid) is not None:
            self._builder.notes.append(f"--server-pid {pid} names the server's process where it was not found")
        offset_ns = session_pool.clock_offset_ns = samplers.server_clock_offset_ns()
        self._builder.environment["server_clock_offset_s"] = offset_ns / NANOS
        blocks_before = self._engine.data.table_blocks()
        if self._workload.warmup or self._request.steady_limit_s:
            self._warm_up(held, session_pool, plans, self._begin_ns(offset_ns, session_pool.crew.lead_s))
            # Clocks drift apart in a long warm-up.
            offset_ns = session_pool.clock_offset_ns = samplers.server_clock_offset_ns()
            self._builder.environment["server_clock_offset_s"] = offset_ns / NANOS
        around = self._reports.around(self._builder.attach, self._builder.notes, self._show, self._patience)
        with around, self._hooks.during():
            more_s = READ_EARLIER_S[0] + samplers.reading_s + samplers.host_s + session_pool.crew.lead_s
            begin_ns = self._begin_ns(offset_ns, more_s)
            readings = self._window(folder, held, session_pool, samplers, plans, begin_ns, offset_ns)
        measurement = ours_alone(self._measurement(readings, session_pool, samplers, blocks_before))
        if self._request.probe and not (measurement.errors or measurement.interrupted) and can_probe(self._workload):
            self._probe(folder, held, session_pool, measurement)
        return measurement

    def _probe(self, folder: RunFolder, held: Hold, session_pool: SessionPool, measurement: Measurement) -> None:
        """Let some sessions rest by turns, and write what was done; nothing that goes wrong here concerns the run."""
        ops = sum(each.counts.ops for each in measurement.sessions)
        mean_s = sum(each.busy_us for each in measurement.sessions) / 1e6 / max(ops, 1)
        begin_ns = self._begin_ns(session_pool.clock_offset_ns, session_pool.crew.lead_s)
        phase = ProbePhase.beginning_at(begin_ns, part_seconds(mean_s))
        counts = ProbeCounts(phase, self._workload.total_sessions)
        seconds = (phase.end_ns - begin_ns) / NANOS
        pulse = each_second(self._show, phase.name, seconds, partial(session_pool.watch, held))
        session_pool.run_phase(phase, counts.handle, pulse=pulse)
        singles = SingleCounts(self._workload.total_sessions)
        for _ in range(SINGLES):
            if not (session_pool.errors or self._patience.interrupt.requested):
                begin_ns = self._begin_ns(session_pool.clock_offset_ns, session_pool.crew.lead_s)
                session_pool.run_phase(SinglePhase.after(begin_ns), singles.handle)
        self._patience.allow(CLOSING_S if session_pool.overdue else None)
        if session_pool.errors or self._patience.interrupt.requested:
            why = session_pool.errors[0] if session_pool.errors else "it was stopped"
            self._builder.notes.append(f"the probe after the load was cut short: {why}")
            return
        for part in (*counts.parts(), *singles.parts()):
            folder.raw.event(Event.PROBE, part.text)

    def _warm_up(self, held: Hold, session_pool: SessionPool, plans: Sequence[SessionPlan], begin_ns: int) -> None:
        limit_s = max(self._workload.warmup, self._request.steady_limit_s or 0)
        phase = Phase("warm-up", begin_ns, begin_ns + int(limit_s * NANOS))
        watch = WarmupMonitor(phase, plans, self._workload.warmup) if self._request.steady_limit_s else None
        pulse = each_second(self._show, "warm-up", limit_s, partial(session_pool.watch, held))
        session_pool.run_phase(phase, watch.handle if watch else ignore, pulse=pulse)
        self._require_going_on(session_pool)
        self._warmup_s = (phase.end_ns - begin_ns) / NANOS
        if watch:
            self._builder.notes.append(watch.finding())

    def _begin_ns(self, offset_ns: int, more_s: float) -> int:
        lead_s = lead_seconds(self._workload.total_sessions) + more_s
        return time.time_ns() + offset_ns + int(lead_s * NANOS)

    def _end_ns(self, begin_ns: int) -> int:
        return begin_ns + int((self._workload.run_time or NO_END_S) * NANOS)

    def _require_going_on(self, session_pool: SessionPool) -> None:
        if session_pool.errors:
            raise SlobError(session_pool.errors[0])
        self._require_not_stopped("during the warm-up: nothing was measured")

    def _require_not_stopped(self, when: str) -> None:
        if self._patience.interrupt.requested:
            raise SlobError(f"stopped {when}")

    def _window(
        self,
        folder: RunFolder,
        held: Hold,
        session_pool: SessionPool,
        samplers: Samplers,
        plans: Sequence[SessionPlan],
        begin_ns: int,
        offset_ns: int,
    ) -> WindowReadings[Recorder]:
        load = self._workload
        end_ns = self._end_ns(begin_ns)
        recorder = Recorder(plans, begin_ns, load.run_time, folder.raw, samplers.engine_delta, self._show)
        readings = WindowReadings(recorder)
        self._show.include(readings.errors)

        def read_before() -> None:
            samplers.get_ready()
            ahead_s = read_ahead_s(load.run_time, len(plans), max(1, len(self._facts.instances)), samplers.reading_s)
            # The server's clock is known to half of what its reading takes.
            begins_ns = begin_ns - offset_ns - int(samplers.reading_s / 2 * NANOS)
            readings.before, readings.in_time = read_opening(samplers, begins_ns, ahead_s)
            recorder.add_reading(readings.before)
            to_begin_s = (begin_ns - offset_ns - time.time_ns()) / NANOS
            ends_in_s = to_begin_s + (end_ns - begin_ns) / NANOS
            samplers.start(to_begin_s - between_slices_s(len(plans)), ends_in_s)
            if session_pool.crew.is_heard_late:
                samplers.close_from(ends_in_s)
            self._show.window(begin_ns, load.run_time, offset_ns)

        def sample() -> None:
            session_pool.watch(held)
            if problem := readings.pulse(samplers):
                session_pool.fail(problem)

        session_pool.run_phase(Phase("window", begin_ns, end_ns, load.work_loop), recorder.handle, read_before, sample)
        self._patience.allow(CLOSING_S if session_pool.overdue else ANSWER_S)
        self._show(RunProgress("read-out"))
        readings.read_end(samplers, lambda: session_pool.drain(recorder.handle), session_pool.ended_ns)
        if readings.after is not None and not (session_pool.overdue or self._patience.interrupt.requested):
            # The server answers: to measure hundreds of tables may take longer, and settings must be restored after it.
            self._patience.allow(None)
        recorder.finish()
        if recorder.error:
            session_pool.fail(str(recorder.error))
        self._drivers = session_pool.crew.collect()
        aftermath.note_drivers(self._builder, self._drivers, session_pool.errors)
        self._builder.notes.extend(readings.notes)
        return readings

    def _measurement(
        self, readings: WindowReadings[Recorder], session_pool: SessionPool, samplers: Samplers, blocks_before: int
    ) -> Measurement:
        errors = list(dict.fromkeys([*session_pool.errors, *readings.errors]))
        unfinished_s = session_pool.unfinished_s
        aftermath.note_unfinished(self._builder.notes, unfinished_s.values())
        recorder, before, after = readings.recorder, readings.before, readings.after
        accumulator = recorder.accumulator
        measured = self._builder.measure(times_by_kind(accumulator), unfinished_s)
        self._builder.counting = samplers.counting
        assert isinstance(measured, Measurement)
        if before is None or not measured.counts.ops:
            raise SlobError(errors[0] if errors else "the window ended before any operation was done")
        window = measured.window
        counted, counter_seconds = count_between(
            samplers, before, after, window.load_start_ns, accumulator.clock_set_back_s, readings.in_time
        )
        if not counter_seconds:
            self._builder.notes.append(f"no rate can be given: {counted.unknown[EVERY_FIGURE]}")
        seen = readings.host(before, window.load_end_ns - window.load_start_ns)
        host = aftermath.with_drivers(seen, self._drivers)
        host = aftermath.set_host_facts(self._builder, samplers, recorder.limits, host)
        ceiling = self._request.ceiling
        may_grow = self._workload.churns
        after_it = aftermath.data_after(self._engine, self._builder.notes, may_grow) if after else (None, None, "")
        blocks_after, blocks_loaded, data_fault = after_it
        # What no row says, and reasons why figures are unknown.
        return replace(
            measured,
            window=replace(window, counter_seconds=counter_seconds, warmup_s=self._warmup_s),
            sessions=[replace(each, idle_us=accumulator.idle_us[each.number]) for each in measured.sessions],
            slowest=accumulator.slowest,
            engine=counted,
            host=host,
            waits=dict(recorder.waits),
            wait_samples=recorder.wait_samples,
            others=replace(recorder.others, shares_pct=shares_pct(counted, counter_seconds)),
            file_system=self._builder.environment["data"]["file_system"] if samplers.data_directory else None,
            blocks_before=blocks_before,
            blocks_after=blocks_after,
            blocks_loaded=blocks_loaded,
            data_fault=data_fault,
            errors=errors,
            interrupted=self._patience.interrupt.requested,
            schedule=accumulator.schedule(self._end_ns(accumulator.begin_ns)),
            instances=aftermath.instances(
                self._facts.instances, counted, session_pool.instances, session_pool.lost, recorder.places
            ),
            ceiling=ceiling.ceiling(self._facts.block_size) if ceiling else None,
            other_storage=other_storage(ceiling, self._builder.environment) if ceiling else "",
            unfinished_s=tuple(unfinished_s.values()),
            drivers=self._drivers,
            connects=accumulator.connects,
            server_report=self._reports.read(len(self._facts.instances), self._builder.notes),
        )


def settle(engine: Engine, workload: Workload, fits: bool) -> list[str]:
    """Get the server ready for the workload, and return what was done; ``fits``: its data fit into the cache."""
    engine.install(workload)
    warm = workload.mode is Mode.LIO or (workload.mode is not Mode.PIO and fits)
    return list(engine.quiesce(workload, warm))


def times_by_kind(accumulator: WindowAccumulator) -> dict[str, float]:
    """Return time and longest operation by kind, as `measure` names them: rows have them of all kinds together.

    With classes, they are those of each class, too.
    """
    both = {LATENCY: accumulator.latency, RESPONSE: accumulator.response}
    named: list[tuple[str, str, Histogram]]
    named = [(what, kind, found) for what, kinds in both.items() for kind, found in kinds.items()]
    of_classes = accumulator.of_classes
    named += [(what, kind, found) for what in both for kind, found in of_classes[what].items()]
    return dict(total for each in named for total in times(*each))
