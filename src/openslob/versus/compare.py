"""The realism table from first check to finished record: all contenders in every round, in an order drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from openslob.analyze import realism as table
from openslob.analyze.realism import ContenderKind
from openslob.disk import require_space
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.client_benchmark import ClientProgram
from openslob.engines.facts import LoadProgress
from openslob.errors import SlobError
from openslob.metrics import storage_figure
from openslob.record.model import Figure, RunRecord, Status
from openslob.record.storage import StorageRecord, StorageStep
from openslob.run import loading, runner
from openslob.run.interrupt import Interrupt
from openslob.run.recorder import ProgressSink
from openslob.storage import session
from openslob.storage.fio import Fio
from openslob.storage.job import Job
from openslob.storage.process import MeasurementStoppedError
from openslob.storage.session import Notify, StepRunner, line_of
from openslob.storage.testfile import TestFile
from openslob.units import format_bytes
from openslob.versus.measure import client_step, raw_jobs, run_step, served, why_unrated
from openslob.versus.plan import ComparisonPlan, Contender, client_contender, order, raw_contenders, served_contenders
from openslob.versus.servers import Servers, servers_of

# A run whose counters something else on the host held up has no rates. Every time, and the host is too busy.
ATTEMPTS = 3
RUNS = "runs"


@dataclass(frozen=True)
class ComparisonProgress:
    """How progress is shown: lines, what a run does at the moment, and what its own report is."""

    notify: Notify
    show: ProgressSink
    render: Callable[[RunRecord], str]


@dataclass(frozen=True)
class ComparisonRequest:
    """What is compared and where: ``directory`` on the storage in question; servers lie in their home unless ``place``.

    ``missing`` are engines left out, with the reason.
    """

    plan: ComparisonPlan
    name: str
    results: Path
    directory: Path
    place: Path | None = None
    missing: Mapping[str, str] | None = None


def compare(
    fio: Fio, request: ComparisonRequest, interrupt: Interrupt, view: ComparisonProgress
) -> tuple[StorageRecord, Path]:
    """Measure all contenders; the record and its folder.

    SlobError before anything is begun when place, space or programs do not allow it; StoppedError when stopped.
    """
    plan = request.plan
    plan.check()
    require_space(request.directory, plan.bytes_needed, "the comparison with its servers")
    asked = {**asdict(plan), "cache_bytes": plan.cache_bytes, "log_bytes": plan.log_bytes}
    builder = session.StorageRequest("compare", request.name, request.results, asked)
    where = session.StorageTarget(request.directory, plan.scale, plan.io_engine)
    with session.session(fio, builder, where, view.notify) as (step_runner, file):
        try:
            with servers_of(plan, request.place) as servers:
                record = _Comparison(plan, step_runner, file, servers, interrupt, view).execute(request.missing or {})
        except SlobError as error:
            # Whatever failed because everything was asked to end did not fail by itself.
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
        servers: Servers,
        interrupt: Interrupt,
        view: ComparisonProgress,
    ) -> None:
        self._plan = plan
        self._step_runner = step_runner
        self._folder = step_runner.folder
        self._servers = servers
        self._interrupt = interrupt
        self._view = view
        self._jobs: Mapping[str, Job] = raw_jobs(plan, file)
        self._raw = {contender.name: way for way, contender in raw_contenders(plan).items()}
        self._programs: dict[str, ClientProgram] = {}

    def execute(self, missing: Mapping[str, str]) -> StorageRecord:
        notes = (*self._folder.record.notes, *(f"{engine} is left out: {why}" for engine, why in missing.items()))
        contenders = [*raw_contenders(self._plan).values()]
        for engine in self._plan.engines:
            contenders += self._loaded(engine)
        listed = tuple({**asdict(each), "kind": each.kind.value} for each in contenders)
        self._folder.update(tables={table.TABLE: listed, RUNS: ()}, notes=notes)
        for number in range(1, self._plan.rounds + 1):
            for contender in order([each for each in contenders if not each.why], number):
                self._measure(contender, number)
        self._servers.rest()
        found = table.rows(self._folder.record)
        return self._folder.finish(Status.COMPLETE, summary=summary(found, self._plan), verdicts=table.verdicts(found))

    def _loaded(self, name: str) -> list[Contender]:
        """Make and load the server of an engine; the contenders that it has."""
        plan = self._plan
        self._view.notify(f"{name}: making a server with {format_bytes(plan.cache_bytes)} of cache, direct I/O")
        engine, server = self._servers.at(name)
        self._go_on()
        self._view.notify(f"{name}: loading {format_bytes(plan.scale)}")
        workload = plan.workload(ContenderKind.SHARED)
        loading.load(engine, server, workload, _ignore, self._interrupt.stop.is_set, self._view.notify)
        ways = [self._possible(each, engine) for each in served_contenders(plan, name)]
        try:
            self._programs[name] = registry.client_program(server)
            return [*ways, client_contender(name, self._programs[name].name)]
        except SlobError as error:
            return [*ways, client_contender(name, "client", str(error))]

    def _possible(self, contender: Contender, engine: Engine) -> Contender:
        """The contender, with the reason if this server can't run it."""
        try:
            found = engine.findings(self._plan.workload(contender.kind))
            why = next((finding.why for finding in found if finding.blocking), "")
        except SlobError as error:
            why = error.what
        return replace(contender, why=why)

    def _measure(self, contender: Contender, number: int) -> None:
        self._go_on()
        purpose = f"round {number} of {self._plan.rounds}"
        if contender.kind is ContenderKind.RAW:
            self._servers.rest()
            job = self._jobs[self._raw[contender.name]]
            # An order of its own, that no step before had.
            self._step_runner.run(replace(job, seed=self._next), contender.name, purpose)
        elif served(contender.kind):
            self._run(contender, number, purpose)
        else:
            engine, _ = self._servers.at(contender.engine)
            program = self._programs[contender.engine]
            self._add(client_step(self._next, contender, purpose, engine, program, self._plan, self._interrupt))

    def _run(self, contender: Contender, number: int, purpose: str) -> None:
        engine, _ = self._servers.at(contender.engine)
        name = f"round{number}-{contender.engine}-{contender.kind.value}"
        request = runner.Request(self._plan.workload(contender.kind, number), name, self._folder.path)
        for attempt in range(1, ATTEMPTS + 1):
            finished = runner.run(engine, request, self._interrupt, self._view.show, self._view.render)
            if finished.record.status is Status.INTERRUPTED:
                raise MeasurementStoppedError
            why = why_unrated(finished.record)
            if not why or attempt == ATTEMPTS:
                break
            self._view.notify(f"{contender.name}: {why}; once more")
        step = run_step(self._next, contender, purpose, finished.record)
        listed = (*self._folder.record.tables[RUNS], {"step": step.number, "run": finished.folder.name})
        self._add(step, tables={**self._folder.record.tables, RUNS: listed})

    @property
    def _next(self) -> int:
        """Number of the next step."""
        return len(self._folder.record.steps) + 1

    def _add(self, step: StorageStep, **changes: object) -> None:
        self._folder.update(steps=(*self._folder.record.steps, step), **changes)
        self._view.notify(line_of(step))

    def _go_on(self) -> None:
        if self._interrupt.requested:
            raise MeasurementStoppedError


def summary(found: Sequence[table.ContenderRow], plan: ComparisonPlan) -> Mapping[str, Figure]:
    """The raw ceiling, and of every contender its reads per second and per CPU second, medians, by its name."""
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


def _ignore(_progress: LoadProgress) -> None:
    """Loads are told of by their beginning."""
