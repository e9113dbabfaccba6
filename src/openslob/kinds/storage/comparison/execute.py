"""The comparison of storage alone with databases, from the first check to the finished record.

Every round measures all contenders, in a new random order. The measurement of one contender is a step of the record,
and the steps of all have the same figures: ``iops`` are reads per second: fio's requests, or the read requests that the
server counted. ``cpu_us_per_io`` is the CPU of fio's processes, or of the server, per read. ``host_cpus_busy`` is the
CPU of all processes on the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from openslob.core.disk import require_space
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MICROS, format_bytes
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.clients import (
    SYSBENCH_WORKLOADS,
    ClientPrograms,
    ClientResult,
    ReadyWorkload,
    WorkloadRequest,
    require_sysbench,
    require_workload,
)
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.engines.managed.resources import confine
from openslob.engines.patience import Patience
from openslob.kinds.run import loading, runner
from openslob.kinds.run.again import make_until_kept
from openslob.kinds.run.observation.command import ObservedCommand, observe_command, program_of
from openslob.kinds.run.observation.observer import Observer
from openslob.kinds.run.progress import ProgressSink
from openslob.kinds.run.session_pool import ignore
from openslob.kinds.storage import calibrate, session
from openslob.kinds.storage.comparison import realism as table
from openslob.kinds.storage.comparison.plan import (
    ASYNC,
    CALIBRATE,
    RAMP_SHARE,
    SELECTS,
    SYNC,
    ComparisonPlan,
    Contender,
    client_contender,
    order,
    raw_contenders,
    served_contenders,
    workload_contender,
)
from openslob.kinds.storage.comparison.realism import ContenderKind
from openslob.kinds.storage.fio import Fio, IoEngine, Job
from openslob.kinds.storage.process import MeasurementStoppedError
from openslob.kinds.storage.record import StorageRecord, StorageStep
from openslob.kinds.storage.session import Notify, StepRunner, line_of
from openslob.kinds.storage.target import TestFile
from openslob.metrics import storage_figure
from openslob.metrics.storage_metrics import latency_figures
from openslob.record.model import Figure, Holds, RunRecord, Status


@dataclass(frozen=True)
class Client:
    """A workload of a client program whose tables are there, as it was requested; ``cpus`` confine the program."""

    workload: ReadyWorkload
    request: WorkloadRequest
    cpus: str | None = None


def require_workloads(plan: ComparisonPlan) -> None:
    """Raise UsageError for a workload that no server of the comparison has, SlobError if its program is missing."""
    known = dict.fromkeys(name for engine in plan.engines for name in registry.workloads(engine))
    for name in plan.workloads:
        require_workload(name, tuple(known), "--with")
        if name in SYSBENCH_WORKLOADS:
            require_sysbench(name)


@dataclass(frozen=True)
class ClientMaker:
    """Makes the clients of one server, with their tables, which go with the server. ``opened`` has their files."""

    plan: ComparisonPlan
    opened: ExitStack
    interrupt: Interrupt
    notify: Notify

    def clients(self, name: str, engine: Engine, server: ManagedServer) -> Iterator[tuple[Contender, Client | None]]:
        """Yield the contenders; without a client, their ``why`` says why they are left out."""
        status = server.status()
        programs = registry.client_programs(status.url)
        if programs is None:
            return
        names = (SELECTS, *self.plan.workloads)
        version, bin_dir, stopped = engine.facts().version, status.spec.bin_dir, self.interrupt.stop.is_set
        requests = {each: self.plan.client(each, version, bin_dir, stopped) for each in names}
        yield self._selects(name, programs, status.url, requests.pop(SELECTS))
        made = self._make_workloads(name, programs, status.url, requests)
        for each, request in requests.items():
            got = made[each]
            if isinstance(got, str):
                yield workload_contender(self.plan, name, each, got), None
            else:
                yield workload_contender(self.plan, name, each), Client(got, request, self.plan.cpus)

    def _selects(
        self, name: str, programs: ClientPrograms, url: str, request: WorkloadRequest
    ) -> tuple[Contender, Client | None]:
        try:
            selects = self.opened.enter_context(programs.selects(url, request, self.plan.depth, self.plan.keys))
        except SlobError as error:
            return client_contender(name, "client", str(error)), None
        return client_contender(name, selects.program.split()[0]), Client(selects, request, self.plan.cpus)

    def _make_workloads(
        self, name: str, programs: ClientPrograms, url: str, requests: Mapping[str, WorkloadRequest]
    ) -> Mapping[str, ReadyWorkload | str]:
        """Return each workload with its tables, or why it can't be had."""
        known = [request for each, request in requests.items() if each in programs.workloads()]
        others = {each: "this server has no such workload" for each in requests}
        if not known:
            return others
        self.notify(f"{name}: making the tables of {', '.join(each.name for each in known)}")
        try:
            return {**others, **self.opened.enter_context(programs.ready(url, known, True))}
        except SlobError as error:
            if self.interrupt.requested:
                raise
            return {**others, **{each.name: str(error) for each in known}}


@dataclass(frozen=True)
class Measured:
    """The record of a run or an observation, its folder, and what a client program said of its transactions."""

    record: RunRecord
    folder: Path
    said: ClientResult | None = None


def raw_jobs(plan: ComparisonPlan, file: TestFile) -> Mapping[str, Job]:
    """Return the fio job of each method of reading storage alone."""
    asynchronous = Job(
        files=(file.path,),
        size=file.size // plan.block_size * plan.block_size,
        block_size=plan.block_size,
        engine=plan.io_engine,
        seconds=plan.seconds,
        ramp_s=plan.seconds * RAMP_SHARE,
        depth=plan.depth,
        cpus=plan.cpus,
    )
    spread = calibrate.CalibrationPlan(plan.io_engine, plan.block_size, plan.seconds, plan.processes, cpus=plan.cpus)
    return {
        ASYNC: asynchronous,
        SYNC: replace(asynchronous, engine=IoEngine.PSYNC, depth=1, copies=plan.depth),
        CALIBRATE: calibrate.job_maker(file, spread, plan.block_size)(plan.depth),
    }


def observe_client(
    engine: Engine,
    client: Client,
    name: str,
    results: Path,
    interrupt: Interrupt,
    notify: Notify,
    render: Callable[[RunRecord], str],
) -> Measured:
    """Observe the program from its start to its end, as ``slob observe`` does. SlobError when it fails."""
    workload = client.workload
    engine.follow(Patience(interrupt, notify))
    words = [program_of(workload.command), *workload.command[1:]]
    variables = {**os.environ, **workload.environment}
    command = ObservedCommand(words, variables, within=partial(confine, client.cpus))
    with Observer(engine, results, name, workload.spec(client.request), interrupt=interrupt, render=render) as observer:
        for text in workload.remarks:
            observer.note(text)
        record = observe_command(observer, command, interrupt, (StringIO(), StringIO()), notify)
    if record.status is Status.FAILED:
        said = (command.errors.text() or command.output.text()).strip().splitlines()
        raise SlobError(f"{name}: {'; '.join([*record.errors, *said[-1:]])}")
    said_of = workload.result(command.output.text()) if record.status is Status.COMPLETE else None
    return Measured(record, observer.folder, said_of)


def step_of(number: int, contender: Contender, purpose: str, measured: Measured) -> StorageStep:
    """Return the step of a record.

    Its latency is that of SELECTs, which all contenders with sessions of ours execute, or of a program's transactions.
    """
    record, said = measured.record, measured.said
    latency, figures = _latency(measured)
    transactions = {"transactions_per_s": record.summary["transactions_per_s"]} if said else {}
    return StorageStep(
        number=number,
        name=contender.name,
        purpose=purpose,
        figures={
            "iops": record.summary["pio_read_per_s"],
            "mb_per_s": record.summary["pio_read_mb_per_s"],
            **figures,
            "cpu_us_per_io": _cpu_cost(record.summary["iops_per_db_cpu"]),
            **_host_figures(_cpus_busy(record), record.summary["pio_read_per_s"].value),
            "engine_read_latency_us": record.summary["engine_read_latency_us"],
            **transactions,
        },
        latency=latency or None,
    )


def _latency(measured: Measured) -> tuple[Mapping[str, Any], Mapping[str, Figure]]:
    """Return the latency as records have it, if all of it is known, and its figures."""
    said = measured.said
    if said is None:
        latency = measured.record.latency.get("select") or {}
        return latency, latency_figures(latency, "no SELECT ended in the window")
    if said.latency is None:
        return {}, latency_figures(said.latency_us, "the program does not say it")
    latency = said.latency.summary()
    return latency, latency_figures(latency, "no transaction ended")


def _cpu_cost(per_cpu: Figure) -> Figure:
    cost = MICROS / per_cpu.value if per_cpu.value else None
    return storage_figure("cpu_us_per_io", cost, per_cpu.why or "no reads")


def _cpus_busy(record: RunRecord) -> Figure:
    share, online = record.summary["host_cpu_busy_pct"], (record.environment.get("cpu") or {}).get("online")
    busy = share.value / 100 * online if share.value is not None and online else None
    return storage_figure("host_cpus_busy", busy, share.why or "how many CPUs the host has is unknown")


def _host_figures(busy: Figure, rate: float | None) -> dict[str, Figure]:
    cost = busy.value * MICROS / rate if busy.value is not None and rate else None
    per_io = storage_figure("host_cpu_us_per_io", cost, busy.why or "the rate is unknown")
    return {"host_cpus_busy": busy, "host_cpu_us_per_io": per_io}


def missing_rate_reason(record: RunRecord) -> str:
    """Return why a run has no rate of reads or no CPU per read; empty if it has both.

    Usually, other load on the host delayed the reading of its counters.
    """
    figures = (record.summary["pio_read_per_s"], record.summary["iops_per_db_cpu"])
    return next((figure.why or "not known" for figure in figures if figure.value is None), "")


def name_of(engine: str) -> str:
    """Return the name of the server that comparisons create for an engine."""
    return f"raw-compare-{engine}"


def spec_of(plan: ComparisonPlan, engine: str, data_dir: Path | None) -> ServerSpec:
    """Return the specification of an engine's server; its data lie below ``data_dir`` if one is given."""
    name = name_of(engine)
    return replace(
        registry.default_spec(name, engine),
        data_dir=data_dir / name if data_dir else None,
        block_size=plan.block_size,
        cache_bytes=plan.cache_bytes,
        log_bytes=plan.log_bytes,
        cpus=plan.cpus,
    )


def available(
    plan: ComparisonPlan, asked: Sequence[str], data_dir: Path | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the engines whose programs are installed, and why the others are left out.

    Raises SlobError if an engine that was requested by name is not installed.
    """
    installed, missing = [], {}
    for engine in asked or registry.managed_engines():
        try:
            registry.managed(spec_of(plan, engine, data_dir))
            installed.append(engine)
        except SlobError as error:
            if asked:
                raise
            missing[engine] = str(error)
    return tuple(installed), missing


class ComparisonServers:
    """Starts one server at a time.

    The running server is stopped first, so that it does not write its dirty blocks while another one is measured.
    """

    def __init__(self, servers: Mapping[str, ManagedServer]) -> None:
        self._servers = servers
        self._running = ""

    def start(self, name: str) -> tuple[Engine, ManagedServer]:
        """Start the server of an engine, after stopping another one. Return both."""
        if name != self._running:
            self.stop()
        self._running = name
        server = self._servers[name]
        return registry.engine_for(server.start().url), server

    def stop(self) -> None:
        """Stop the server that runs, if any."""
        if self._running:
            self._servers[self._running].stop()
        self._running = ""


@contextmanager
def comparison_servers(plan: ComparisonPlan, data_dir: Path | None) -> Iterator[ComparisonServers]:
    """Create servers for the block, not yet started, and destroy them with their data at its end.

    Servers that a killed comparison left behind are destroyed first. Raises SlobError if another comparison uses them.
    """
    with ExitStack() as stack:
        servers = {}
        for engine in plan.engines:
            stack.enter_context(registry.claim(name_of(engine), "raw compare"))
            if leftover := registry.find(name_of(engine)):
                leftover.destroy()
            servers[engine] = registry.managed(spec_of(plan, engine, data_dir))
            stack.callback(servers[engine].destroy)
        yield ComparisonServers(servers)


# How often a run is made again whose rates are missing: other load on the host delayed the reading of its counters.
RETRIES = 2
RUNS = "runs"
# The verdict whether the reads are those of storage.
REACHED = "reads_reached_device"


@dataclass(frozen=True)
class ComparisonProgress:
    """Output of progress: whole lines, the state of the current run, and the text of a run's report."""

    notify: Notify
    show: ProgressSink
    render: Callable[[RunRecord], str]


@dataclass(frozen=True)
class ComparisonRequest:
    """A requested comparison.

    ``plan`` is without engines: ``engines`` names them, and none all that are installed. The servers' data and the test
    file lie below ``data_dir``, or where managed servers are if it is None.
    """

    plan: ComparisonPlan
    name: str
    results: Path
    engines: Sequence[str] = ()
    data_dir: Path | None = None


def execute(
    request: ComparisonRequest, interrupt: Interrupt, progress: ComparisonProgress
) -> tuple[StorageRecord, Path]:
    """Measure all contenders. Return the record and its folder.

    Raises UsageError for parameters that do not fit together and for an unknown engine, SlobError before anything is
    written if directory, space or programs do not allow it, and MeasurementStoppedError when stopped.
    """
    if request.plan.io_engine is IoEngine.PSYNC:
        raise UsageError("--io-engine psync: the comparison always includes psync", "give io_uring or libaio")
    fio = Fio.find(interrupt.stop)
    place = request.data_dir.absolute() if request.data_dir else None
    installed, missing = available(request.plan, request.engines, place)
    plan = replace(request.plan, engines=installed)
    directory = place or registry.servers_place()
    if place is None:
        directory.mkdir(parents=True, exist_ok=True)
    plan.check()
    require_workloads(plan)
    progress.notify(plan.announcement)
    require_space(directory, plan.bytes_needed, "the comparison with its servers")
    asked = {**asdict(plan), "cache_bytes": plan.cache_bytes, "log_bytes": plan.log_bytes}
    storage_request = session.StorageRequest("compare", request.name, request.results, asked)
    target = session.StorageTarget(directory, plan.scale, plan.io_engine)
    with session.session(fio, storage_request, target, progress.notify) as (step_runner, file):
        try:
            with comparison_servers(plan, place) as servers, ExitStack() as opened:
                comparison = _Comparison(plan, step_runner, file, servers, opened, interrupt, progress)
                record = comparison.execute(missing)
        except SlobError as error:
            # After a request to stop, any error is a consequence of it.
            if interrupt.requested and not isinstance(error, MeasurementStoppedError):
                raise MeasurementStoppedError from error
            raise
    return record, step_runner.folder.path


class _Comparison:
    def __init__(
        self,
        plan: ComparisonPlan,
        step_runner: StepRunner,
        file: TestFile,
        servers: ComparisonServers,
        opened: ExitStack,
        interrupt: Interrupt,
        progress: ComparisonProgress,
    ) -> None:
        self._plan = plan
        self._step_runner = step_runner
        self._folder = step_runner.folder
        self._servers = servers
        self._interrupt = interrupt
        self._progress = progress
        self._jobs: Mapping[str, Job] = raw_jobs(plan, file)
        self._raw = {contender.name: method for method, contender in raw_contenders(plan).items()}
        self._maker = ClientMaker(plan, opened, interrupt, progress.notify)
        self._clients: dict[str, Client] = {}

    def execute(self, missing: Mapping[str, str]) -> StorageRecord:
        notes = (*self._folder.record.notes, *(f"{engine} is left out: {why}" for engine, why in missing.items()))
        contenders = [*raw_contenders(self._plan).values()]
        for engine in self._plan.engines:
            contenders += self._load_engine(engine)
        entries = tuple({**asdict(each), "kind": each.kind.value} for each in contenders)
        self._folder.update(tables={table.TABLE: entries, RUNS: ()}, notes=notes)
        for number in range(1, self._plan.rounds + 1):
            for contender in order([each for each in contenders if not each.why], number):
                self._measure(contender, number)
        self._servers.stop()
        found = table.rows(self._folder.record)
        return self._folder.finish(Status.COMPLETE, summary=summary(found, self._plan), verdicts=table.verdicts(found))

    def _load_engine(self, name: str) -> list[Contender]:
        """Make and load the server of an engine. Return its contenders."""
        plan = self._plan
        self._progress.notify(
            f"{name}: creating a server with {format_bytes(plan.cache_bytes)} of cache and direct I/O"
        )
        engine, server = self._servers.start(name)
        self._check_stop()
        self._progress.notify(f"{name}: loading {format_bytes(plan.scale)}")
        workload = plan.workload(ContenderKind.SHARED)
        engine.follow(Patience(self._interrupt, self._progress.notify))
        loading.load(engine, server, workload, ignore, self._interrupt.stop.is_set, self._progress.notify)
        contenders = [self._with_blocking_reason(each, engine) for each in served_contenders(plan, name)]
        for contender, client in self._maker.clients(name, engine, server):
            contenders.append(contender)
            if client:
                self._clients[contender.name] = client
        return contenders

    def _with_blocking_reason(self, contender: Contender, engine: Engine) -> Contender:
        """Return the contender, with the reason if this server can't run it."""
        try:
            found = engine.findings(self._plan.workload(contender.kind))
            why = next((finding.why for finding in found if finding.blocking), "")
        except SlobError as error:
            why = error.what
        return replace(contender, why=why)

    def _measure(self, contender: Contender, number: int) -> None:
        self._check_stop()
        purpose = f"round {number} of {self._plan.rounds}"
        if contender.kind is ContenderKind.RAW:
            self._servers.stop()
            job = self._jobs[self._raw[contender.name]]
            # A new seed gives an order of reads that no earlier step had.
            self._step_runner.run(replace(job, seed=self._next), contender.name, purpose)
        else:
            self._with_record(contender, number, purpose)

    def _with_record(self, contender: Contender, number: int, purpose: str) -> None:
        discarded: list[str] = []

        def discard(lost: Measured, why: str) -> None:
            discarded.append(f"{contender.name}, {purpose}: {lost.folder.name} was discarded, and made again: {why}")
            self._progress.notify(f"{contender.name}: {why}; the run is discarded, and made again")

        measured = make_until_kept(
            lambda: self._unstopped(contender, number), lambda made: missing_rate_reason(made.record), RETRIES, discard
        )
        step = step_of(self._next, contender, purpose, measured)
        entries = (*self._folder.record.tables[RUNS], {"step": step.number, "run": measured.folder.name})
        notes = (*self._folder.record.notes, *discarded, *find_doubts(contender, purpose, measured.record))
        self._add(step, tables={**self._folder.record.tables, RUNS: entries}, notes=notes)

    def _unstopped(self, contender: Contender, number: int) -> Measured:
        measured = self._of_server(contender, number)
        if measured.record.status is Status.INTERRUPTED:
            raise MeasurementStoppedError
        return measured

    def _of_server(self, contender: Contender, number: int) -> Measured:
        """Run our sessions, or observe a client program."""
        engine, _ = self._servers.start(contender.engine)
        place, name, render = self._folder.path, f"round{number}-{contender.engine}", self._progress.render
        if client := self._clients.get(contender.name):
            name = f"{name}-{client.request.name}"
            return observe_client(engine, client, name, place, self._interrupt, self._progress.notify, render)
        workload = self._plan.workload(contender.kind, number)
        request = runner.RunRequest(workload, f"{name}-{contender.kind.value}", place)
        finished = runner.run(engine, request, self._interrupt, self._progress.show, render)
        return Measured(finished.record, finished.folder)

    @property
    def _next(self) -> int:
        """Number of the next step."""
        return len(self._folder.record.steps) + 1

    def _add(self, step: StorageStep, **changes: object) -> None:
        self._folder.update(steps=(*self._folder.record.steps, step), **changes)
        self._progress.notify(line_of(step))

    def _check_stop(self) -> None:
        if self._interrupt.requested:
            raise MeasurementStoppedError


def find_doubts(contender: Contender, purpose: str, record: RunRecord) -> list[str]:
    """Return that reads came from the page cache, rather than from the storage that they are compared with."""
    broken = [each.why for each in record.verdicts if each.name == REACHED and each.verdict is Holds.FAILS]
    return [f"{contender.name}, {purpose}: {why}" for why in broken]


def summary(found: Sequence[table.ContenderRow], plan: ComparisonPlan) -> Mapping[str, Figure]:
    """Return the ceiling of storage alone, and the median reads per second and per CPU second of each contender."""
    best = table.best_raw(found, lambda row: row.iops)
    figures = {
        "max_iops": storage_figure("max_iops", best.iops.median if best else None, None if best else "not measured"),
        "max_iops_p99_us": storage_figure(
            "max_iops_p99_us", best.p99_us if best else None, None if best else "not measured"
        ),
        "max_iops_in_flight": storage_figure("max_iops_in_flight", plan.depth),
    }
    for row in found:
        for name, spread in (("iops", row.iops), ("iops_per_cpu", row.iops_per_cpu)):
            why = None if spread.median is not None else row.why or "not measured"
            figures[f"{name}: {row.name}"] = storage_figure(name, spread.median, why)
    return figures
