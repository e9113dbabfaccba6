"""Measurement of one contender, as a step of the record. The steps of all contenders have the same figures.

``iops`` are reads per second: fio's requests, or the read requests that the server counted. ``cpu_us_per_io`` is the
CPU of fio's processes, or of the server, per read. ``host_cpus_busy`` is the CPU of all processes on the host.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from openslob.analyze.realism import ContenderKind
from openslob.engines.base import Engine
from openslob.engines.entry import ClientLoad, ClientProgram, ClientResult
from openslob.engines.managed.resources import confined
from openslob.errors import SlobError
from openslob.host.sampler import difference
from openslob.interrupt import Interrupt
from openslob.measurement import EngineDelta, HostDelta
from openslob.metrics import storage_figure
from openslob.metrics.cpu import busy_s
from openslob.metrics.storage_metrics import latency_figures
from openslob.record.model import Figure, RunRecord
from openslob.record.storage import StorageStep
from openslob.run.samplers import Samplers, SystemReading
from openslob.storage import calibrate, process
from openslob.storage.job import IoEngine, Job
from openslob.storage.testfile import TestFile
from openslob.units import MIB, MICROS
from openslob.versus.plan import ASYNC, CALIBRATE, RAMP_SHARE, SYNC, ComparisonPlan, Contender

# A session publishes its counters when it ends, which may be shortly after the end of its client.
COUNTERS_SETTLE_S = 0.5


@dataclass(frozen=True)
class ClientMeasurement:
    """Result of a benchmark program, with the changes of the server's and the host's counters while it ran.

    ``host`` covers the time until the program ended. Only its ``server_cpu_s`` includes the time that sessions need to
    publish their counters.
    """

    result: ClientResult
    engine: EngineDelta
    host: HostDelta

    @property
    def per_s(self) -> float:
        """Transactions per second."""
        return self.result.per_s

    @property
    def reads_per_s(self) -> float:
        """Physical read requests per second, scaled to the rate that the program reports."""
        return self.per_s * self._reads / self.result.transactions

    @property
    def reads_per_cpu_s(self) -> float:
        """Physical read requests per CPU second of the server."""
        if not self.host.server_cpu_s:
            raise SlobError("the server's CPU is unknown", str(self.host.unknown))
        return self._reads / self.host.server_cpu_s

    @property
    def _reads(self) -> float:
        # The program's sessions are not ours.
        reads = self.engine.of_all_sessions("read_requests")
        if not reads:
            raise SlobError("the server's reads are unknown", str(self.engine.unknown))
        return reads


def measure_client(
    engine: Engine, program: ClientProgram, load: ClientLoad, stop: Event, cpus: str | None = None
) -> ClientMeasurement:
    """Run a benchmark program to its end, on these CPUs only if given.

    Raises MeasurementStoppedError when stopped, and SlobError if the program fails.
    """
    samplers = Samplers(engine, load.clients, _ignore)
    try:
        samplers.get_ready()
        before = samplers.opening_reading()
        with tempfile.TemporaryDirectory(prefix="slob-client-") as folder:
            with confined(cpus):
                done = process.run(program.command(load, Path(folder)), stop, folder=folder)
            ended = samplers.closing_reading()
            if done.code:
                raise SlobError(f"{program.name} failed: {done.errors.strip() or done.output.strip()}")
            result = program.result(done.output, Path(folder))
        time.sleep(COUNTERS_SETTLE_S)
        settled = samplers.closing_reading()
        # The CPU of all sessions is counted once they have ended; the host's is that of the time under load.
        server = difference(before.os, settled.os).server_cpu_s
        host = replace(difference(before.os, ended.os), server_cpu_s=server)
        return ClientMeasurement(result, samplers.engine_delta(before, settled), host)
    finally:
        samplers.close()


def _ignore(_reading: SystemReading) -> None:
    """Ignore readings: only those at start and end are used."""


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


def run_step(number: int, contender: Contender, purpose: str, record: RunRecord) -> StorageStep:
    """Return the step of a run. Its latency is that of SELECTs, which all contenders of a server execute."""
    latency = record.latency.get("select") or {}
    return StorageStep(
        number=number,
        name=contender.name,
        purpose=purpose,
        figures={
            "iops": record.summary["pio_read_per_s"],
            "mb_per_s": record.summary["pio_read_mb_per_s"],
            **latency_figures(latency, "no SELECT ended in the window"),
            "cpu_us_per_io": _cpu_cost(record.summary["iops_per_db_cpu"]),
            **_host_figures(_cpus_busy(record), record.summary["pio_read_per_s"].value),
            "engine_read_latency_us": record.summary["engine_read_latency_us"],
        },
        latency=latency or None,
    )


def _cpu_cost(per_cpu: Figure) -> Figure:
    cost = MICROS / per_cpu.value if per_cpu.value else None
    return storage_figure("cpu_us_per_io", cost, per_cpu.why or "no reads")


def _cpus_busy(record: RunRecord) -> Figure:
    share, online = record.summary["host_cpu_busy_pct"], (record.environment.get("cpu") or {}).get("online")
    busy = share.value / 100 * online if share.value is not None and online else None
    return storage_figure("host_cpus_busy", busy, share.why or "how many CPUs the host has is unknown")


def client_step(
    number: int, contender: Contender, purpose: str, engine: Engine, program: ClientProgram, plan: ComparisonPlan,
    interrupt: Interrupt,
) -> StorageStep:  # fmt: skip
    """Run the database product's own benchmark program on the same tables. Return its step."""
    load = ClientLoad(plan.depth, plan.keys, plan.depth, min(plan.depth, plan.processes), plan.seconds)
    client = measure_client(engine, program, load, interrupt.stop, plan.cpus)
    latency = client.result.latency.summary()
    busy = busy_s(client.host.cpu) / client.host.seconds if client.host.cpu else None
    host = storage_figure("host_cpus_busy", busy, client.host.unknown.get("cpu", "this system does not count it"))
    return StorageStep(
        number=number,
        name=contender.name,
        purpose=purpose,
        figures={
            "iops": storage_figure("iops", client.reads_per_s),
            "mb_per_s": storage_figure("mb_per_s", client.reads_per_s * plan.block_size / MIB),
            **latency_figures(latency, "no SELECT ended in the window"),
            "cpu_us_per_io": storage_figure("cpu_us_per_io", MICROS / client.reads_per_cpu_s),
            **_host_figures(host, client.reads_per_s),
        },
        latency=latency,
    )


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


def runs_work_loop(kind: ContenderKind) -> bool:
    """Return whether contenders of this kind run sessions of the work loop."""
    return kind in (ContenderKind.LOCAL, ContenderKind.SHARED, ContenderKind.UPDATES)
