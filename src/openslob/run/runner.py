"""A run from first check to finished record. Reads as the run's story; each phase is one method."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob.analyze.ceiling import other_storage
from openslob.analyze.quantity import EVERY_FIGURE
from openslob.engines.base import DataState, Engine, ServerFacts, SessionPlan
from openslob.errors import SlobError
from openslob.record.measurement import EngineDelta, HostDelta, Instance, Measurement, Window
from openslob.record.model import RunRecord, Status
from openslob.record.storage import StorageRecord
from openslob.record.store import RunFolder
from openslob.run.about import About
from openslob.run.crew import Crew, ignore
from openslob.run.edges import Edges, counted_between
from openslob.run.interrupt import Interrupt
from openslob.run.observer import Observer, Progress, ProgressSink
from openslob.run.plan import Phase, between_slices_s, session_plans
from openslob.run.preflight import CACHEABLE, findings
from openslob.run.samplers import Samplers
from openslob.run.steady import SteadyWatch
from openslob.sample.environment import environment
from openslob.sample.kinds import WHY_NONE
from openslob.sample.os_reader import difference
from openslob.units import NANOS
from openslob.workload import Mode, Workload

# From the order to begin until the begin: every session must have its order and wait in the server by then.
LEAD_S = 0.06
LEAD_PER_SESSION_S = 0.003
# The counters are read ahead of the begin by this share of the window, at the most so long, which keeps the two windows
# alike; but not later than a reading takes on a busy host, and it takes longer with more sessions to look at.
READ_AHEAD_SHARE = 0.004
READ_AHEAD_MOST_S = 0.04
READ_AHEAD_LEAST_S = 0.012
READ_AHEAD_PER_SESSION_S = 0.0001
READ_AHEAD_PER_INSTANCE_S = 0.004
# A run by WORK_LOOP alone has no end time; this one is never reached.
NO_END_S = 100 * 86_400
# A session whose connection was closed is gone from the server soon after, not at once.
GOODBYE_S = 2.0


def read_ahead_s(run_time: float, sessions: int, instances: int = 1) -> float:
    """How long before the begin the counters are read, in seconds."""
    more = READ_AHEAD_PER_SESSION_S * sessions + READ_AHEAD_PER_INSTANCE_S * (instances - 1)
    least = READ_AHEAD_LEAST_S + more
    return max(least, min(READ_AHEAD_MOST_S, READ_AHEAD_SHARE * run_time))


@dataclass(frozen=True)
class Request:
    """What to run, what to call it and where to put the record. ``notes`` and ``sources`` go into the record.

    With ``steady_limit_s`` the warm-up lasts until the throughput is steady (`SteadyWatch`), WARMUP at the least and
    so many seconds at the most. ``ceiling`` is a raw measurement of the storage to hold the run against.
    """

    workload: Workload
    name: str
    results: Path
    notes: Sequence[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    steady_limit_s: float | None = None
    ceiling: StorageRecord | None = None


@dataclass(frozen=True)
class Finished:
    """A run's record and the folder it lies in."""

    record: RunRecord
    folder: Path


def run(
    engine: Engine,
    request: Request,
    interrupt: Interrupt,
    show: ProgressSink,
    render: Callable[[RunRecord], str],
) -> Finished:
    """Run a workload and write its record, whatever happens once the server has answered.

    SlobError, with the record written as failed, when the run could not be made or lost a session.
    """
    return _Run(engine, request, interrupt, show, render).execute()


class _Run:
    def __init__(
        self,
        engine: Engine,
        request: Request,
        interrupt: Interrupt,
        show: ProgressSink,
        render: Callable[[RunRecord], str],
    ) -> None:
        self._engine = engine
        self._request = request
        self._workload = request.workload
        self._interrupt = interrupt
        self._show = show
        self._render = render
        self._facts: ServerFacts = engine.facts()
        self._about = About(engine, self._facts, request.workload, request.name, request.notes, request.sources)
        self._warmup_s = 0.0

    def execute(self) -> Finished:
        """The whole run."""
        with RunFolder.begin(self._request.results, self._about.without_figures(Status.FAILED)) as folder:
            try:
                with self._engine.exclusive("run") as righted:
                    self._about.notes.extend(righted)
                    measurement = self._measure(folder)
            except SlobError as error:
                status = Status.INTERRUPTED if self._interrupt.requested else Status.FAILED
                self._finish(folder, self._about.without_figures(status, (str(error),)))
                raise
            record = self._about.with_figures(measurement)
            self._finish(folder, record)
        if record.errors:
            raise SlobError(record.errors[0], f"what was measured is in {folder.path}")
        return Finished(record, folder.path)

    def _finish(self, folder: RunFolder, record: RunRecord) -> None:
        folder.write_report(self._render(record))
        folder.finish(record)

    def _measure(self, folder: RunFolder) -> Measurement:
        state = self._check()
        self._settle(state)
        plans = session_plans(self._workload, self._facts.block_size, uuid.uuid4().hex[:8])
        crew = Crew(self._engine, plans, self._interrupt)
        try:
            self._about.engine["plans"] = self._bring_up(crew)
            samplers = Samplers(self._engine, len(plans), crew.post)
            try:
                return self._warm_up_and_measure(folder, crew, samplers, plans)
            finally:
                samplers.close()
        finally:
            crew.dismiss()
            self._see_off()

    def _bring_up(self, crew: Crew) -> Mapping[str, str]:
        self._show(Progress("connect", 0, 0))
        total, done = self._workload.private_blocks(self._facts.block_size), 0

        def loaded(blocks: int) -> None:
            nonlocal done
            done += blocks
            self._show(Progress("sessions load their own tables", 0, 0, blocks_done=done, blocks_total=total))

        return crew.bring_up(loaded, total * self._facts.block_size)

    def _check(self) -> DataState | None:
        self._show(Progress("check", 0, 0))
        released = self._engine.release_sessions()
        if released:
            self._about.notes.append(f"{released} sessions of an earlier run were still in the server and were ended")
        for finding in findings(self._engine, self._workload, self._facts):
            if finding.blocking:
                raise SlobError(finding.why, finding.remedy)
            self._about.notes.append(f"{finding.why}; {finding.remedy}")
        return self._engine.data_state()

    def _settle(self, state: DataState | None) -> None:
        self._show(Progress("settle", 0, 0))
        self._engine.install(self._workload)
        fits = state is not None and self._about.data_bytes <= CACHEABLE * self._facts.cache_bytes
        warm = self._workload.mode is Mode.LIO or (self._workload.mode is not Mode.PIO and fits)
        self._about.engine["settled"] = list(self._engine.settle(self._workload, warm))
        # As they are in the window, not as they were before.
        self._about.engine["settings"] = dict(self._engine.facts().settings)

    def _warm_up_and_measure(
        self, folder: RunFolder, crew: Crew, samplers: Samplers, plans: Sequence[SessionPlan]
    ) -> Measurement:
        self._about.environment = environment(samplers.data_directory)
        self._about.environment["local"] = samplers.local
        offset_ns = crew.clock_offset_ns = samplers.server_clock_offset_ns()
        self._about.environment["server_clock_offset_s"] = offset_ns / NANOS
        blocks_before = self._engine.table_blocks()
        if self._workload.warmup or self._request.steady_limit_s:
            self._warm_up(crew, plans, self._begin_ns(offset_ns))
        window = self._window(folder, crew, samplers, plans, self._begin_ns(offset_ns), offset_ns)
        return self._measurement(window, crew, samplers, blocks_before)

    def _warm_up(self, crew: Crew, plans: Sequence[SessionPlan], begin_ns: int) -> None:
        limit_s = max(self._workload.warmup, self._request.steady_limit_s or 0)
        self._show(Progress("warm-up", 0, limit_s))
        phase = Phase("warm-up", begin_ns, begin_ns + int(limit_s * NANOS))
        watch = SteadyWatch(phase, plans, self._workload.warmup) if self._request.steady_limit_s else None
        crew.run_phase(phase, watch.handle if watch else ignore)
        self._require_going_on(crew)
        self._warmup_s = (phase.end_ns - begin_ns) / NANOS
        if watch:
            self._about.notes.append(watch.finding())

    def _begin_ns(self, offset_ns: int) -> int:
        lead_s = LEAD_S + LEAD_PER_SESSION_S * self._workload.total_sessions
        return time.time_ns() + offset_ns + int(lead_s * NANOS)

    def _end_ns(self, begin_ns: int) -> int:
        return begin_ns + int((self._workload.run_time or NO_END_S) * NANOS)

    def _require_going_on(self, crew: Crew) -> None:
        if crew.errors:
            raise SlobError(crew.errors[0])
        if self._interrupt.requested:
            raise SlobError("stopped during the warm-up: nothing was measured")

    def _window(
        self,
        folder: RunFolder,
        crew: Crew,
        samplers: Samplers,
        plans: Sequence[SessionPlan],
        begin_ns: int,
        offset_ns: int,
    ) -> Edges:
        load = self._workload
        end_ns = self._end_ns(begin_ns)
        observer = Observer(plans, begin_ns, load.run_time, folder.raw, samplers.engine_delta, self._show)
        edges = Edges(observer)

        def read_before() -> None:
            samplers.get_ready()
            ahead_s = read_ahead_s(load.run_time, len(plans), max(1, len(self._facts.instances)))
            time.sleep(max(0.0, (begin_ns - offset_ns - time.time_ns()) / NANOS - ahead_s))
            edges.before = samplers.opening_edge()
            observer.reading(edges.before)
            to_begin_s = (begin_ns - offset_ns - time.time_ns()) / NANOS
            samplers.start(to_begin_s - between_slices_s(len(plans)))

        def look() -> None:
            try:
                observer.waited(samplers.look())
            except SlobError as error:
                edges.lose(str(error))

        crew.run_phase(Phase("window", begin_ns, end_ns, load.work_loop), observer.handle, read_before, look)
        edges.read_end(samplers, lambda: crew.drain(observer.handle))
        observer.finish()
        return edges

    def _measurement(self, edges: Edges, crew: Crew, samplers: Samplers, blocks_before: int) -> Measurement:
        errors = [*crew.errors, *edges.errors]
        if crew.cut_short:
            cut = f"{crew.cut_short} sessions were cancelled in mid-slice: what they did in it is not counted"
            self._about.notes.append(cut)
        tally = edges.observer.tally
        before, after = edges.before, edges.after
        if before is None or tally.load_begin_ns is None:
            raise SlobError(errors[0] if errors else "the window ended before any operation was done")
        counted, counter_seconds = counted_between(samplers, before, after, tally.load_begin_ns)
        if unframed := counted.unknown.get(EVERY_FIGURE):
            self._about.notes.append(f"no rate can be told: {unframed}")
        host = difference(before.os, (after or edges.last(before)).os)
        self._about.environment["host_cpu_s"] = dict(host.cpu or {})
        self._about.tell("server_cpu_s", self._server_cpu(samplers, host), host.unknown.get("server_cpu_s") or WHY_NONE)
        ceiling = self._request.ceiling
        return Measurement(
            workload=self._workload,
            block_size=self._facts.block_size,
            cache_bytes=self._facts.cache_bytes,
            data_bytes=self._about.data_bytes,
            window=Window(
                load_start_ns=tally.load_begin_ns,
                load_end_ns=tally.load_end_ns,
                counter_seconds=counter_seconds,
                start_skew_ms=tally.start_skew_ms,
                planned_s=self._workload.run_time,
                warmup_s=self._warmup_s,
            ),
            sessions=tally.totals(),
            latency=tally.latency,
            engine=counted,
            host=host,
            waits=dict(edges.observer.waits),
            wait_samples=edges.observer.wait_samples,
            timeline=edges.observer.timeline(),
            direct_io=self._facts.direct_io,
            local=samplers.local,
            file_system=self._about.environment["data"]["file_system"] if samplers.data_directory else None,
            blocks_before=blocks_before,
            blocks_after=self._engine.table_blocks() if after else None,
            errors=errors,
            interrupted=self._interrupt.requested,
            response=tally.response,
            schedule=tally.schedule(self._end_ns(tally.begin_ns)),
            instances=self._instances(counted, crew),
            ceiling=ceiling,
            other_storage=other_storage(ceiling, self._about.environment) if ceiling else "",
        )

    def _server_cpu(self, samplers: Samplers, host: HostDelta) -> Mapping[str, float] | None:
        try:
            return samplers.cpu_by_kind(host.server_cpu_s)
        except SlobError as error:
            self._about.notes.append(str(error))
            return None

    def _instances(self, counted: EngineDelta, crew: Crew) -> list[Instance]:
        """The instances of a cluster, with the sessions that went to each and its own part of what was counted."""
        every, sessions = self._facts.instances, self._workload.total_sessions
        own = [range(number, sessions, len(every)) for number in range(len(every))]
        deltas = counted.by_instance or [EngineDelta(unknown=counted.unknown)] * len(every)
        return [
            Instance(facts.target, facts.read_only, numbers, len(crew.lost.intersection(numbers)), delta)
            for facts, numbers, delta in zip(every, own, deltas, strict=True)
        ]

    def _see_off(self) -> None:
        """Leave no session behind; a server that is gone has none."""
        try:
            deadline = time.monotonic() + GOODBYE_S
            while self._engine.sessions_left() and time.monotonic() < deadline:
                time.sleep(GOODBYE_S / 20)
            left = self._engine.release_sessions()
        except SlobError:
            return
        if left:
            self._about.notes.append(f"{left} sessions did not end by themselves and were ended")
