"""The comparison of storage alone with databases, from the first check to the finished record.

Every round measures all contenders, in a new random order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from openslob.core.disk import require_space
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import format_bytes
from openslob.engines.base import Engine
from openslob.engines.facts import LoadProgress
from openslob.engines.patience import Patience
from openslob.kinds.run import loading, runner
from openslob.kinds.run.progress import ProgressSink
from openslob.kinds.storage import session
from openslob.kinds.storage.comparison import realism as table
from openslob.kinds.storage.comparison.clients import Client, ClientMaker, require_workloads
from openslob.kinds.storage.comparison.measure import Measured, missing_rate_reason, observe_client, raw_jobs, step_of
from openslob.kinds.storage.comparison.plan import ComparisonPlan, Contender, order, raw_contenders, served_contenders
from openslob.kinds.storage.comparison.realism import ContenderKind
from openslob.kinds.storage.comparison.servers import ComparisonServers, comparison_servers
from openslob.kinds.storage.fio import Fio
from openslob.kinds.storage.job import Job
from openslob.kinds.storage.process import MeasurementStoppedError
from openslob.kinds.storage.session import Notify, StepRunner, line_of
from openslob.kinds.storage.testfile import TestFile
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Holds, RunRecord, Status
from openslob.record.storage import StorageRecord, StorageStep

# A run has no rates if other load on the host delayed the reading of its counters. After so many the host is too busy.
ATTEMPTS = 3
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
    """A requested comparison on the storage of ``directory``.

    The servers' data lie below ``data_dir``, or in the default location if it is None. ``missing`` has the engines that
    are left out, with the reasons.
    """

    plan: ComparisonPlan
    name: str
    results: Path
    directory: Path
    data_dir: Path | None = None
    missing: Mapping[str, str] | None = None


def compare(
    fio: Fio, request: ComparisonRequest, interrupt: Interrupt, progress: ComparisonProgress
) -> tuple[StorageRecord, Path]:
    """Measure all contenders. Return the record and its folder.

    Raises SlobError before anything is written if directory, space or programs do not allow it, and
    MeasurementStoppedError when stopped.
    """
    plan = request.plan
    plan.check()
    require_workloads(plan)
    progress.notify(plan.announcement)
    require_space(request.directory, plan.bytes_needed, "the comparison with its servers")
    asked = {**asdict(plan), "cache_bytes": plan.cache_bytes, "log_bytes": plan.log_bytes}
    storage_request = session.StorageRequest("compare", request.name, request.results, asked)
    target = session.StorageTarget(request.directory, plan.scale, plan.io_engine)
    with session.session(fio, storage_request, target, progress.notify) as (step_runner, file):
        try:
            with comparison_servers(plan, request.data_dir) as servers, ExitStack() as opened:
                record = _Comparison(plan, step_runner, file, servers, opened, interrupt, progress).execute(
                    request.missing or {}
                )
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
        loading.load(engine, server, workload, _ignore, self._interrupt.stop.is_set, self._progress.notify)
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
        for attempt in range(1, ATTEMPTS + 1):
            measured = self._of_server(contender, number)
            if measured.record.status is Status.INTERRUPTED:
                raise MeasurementStoppedError
            why = missing_rate_reason(measured.record)
            if not why or attempt == ATTEMPTS:
                break
            self._progress.notify(f"{contender.name}: {why}; measuring again")
        step = step_of(self._next, contender, purpose, measured)
        entries = (*self._folder.record.tables[RUNS], {"step": step.number, "run": measured.folder.name})
        notes = (*self._folder.record.notes, *_doubts(contender, purpose, measured.record))
        self._add(step, tables={**self._folder.record.tables, RUNS: entries}, notes=notes)

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


def _doubts(contender: Contender, purpose: str, record: RunRecord) -> list[str]:
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


def _ignore(_progress: LoadProgress) -> None:
    """Ignore the progress of a load: only its start is reported."""
