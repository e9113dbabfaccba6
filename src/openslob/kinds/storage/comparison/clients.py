"""The contenders that client programs run: selects on our tables, and ready-made workloads on tables of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.clients import (
    SYSBENCH_WORKLOADS,
    ClientPrograms,
    ReadyWorkload,
    WorkloadRequest,
    require_sysbench,
    require_workload,
)
from openslob.engines.managed.base import ManagedServer
from openslob.kinds.storage.comparison.plan import (
    SELECTS,
    ComparisonPlan,
    Contender,
    client_contender,
    workload_contender,
)
from openslob.kinds.storage.session import Notify


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
        made = self._made(name, programs, status.url, requests)
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

    def _made(
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
