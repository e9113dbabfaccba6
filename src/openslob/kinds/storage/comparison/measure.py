"""Measurement of one contender, as a step of the record. The steps of all contenders have the same figures.

``iops`` are reads per second: fio's requests, or the read requests that the server counted. ``cpu_us_per_io`` is the
CPU of fio's processes, or of the server, per read. ``host_cpus_busy`` is the CPU of all processes on the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MICROS
from openslob.engines.base import Engine
from openslob.engines.clients import ClientResult
from openslob.engines.managed.resources import confined
from openslob.engines.patience import Patience
from openslob.kinds.observation.command import ObservedCommand, observe_command, program_of
from openslob.kinds.observation.observer import Observer
from openslob.kinds.storage import calibrate
from openslob.kinds.storage.comparison.clients import Client
from openslob.kinds.storage.comparison.plan import ASYNC, CALIBRATE, RAMP_SHARE, SYNC, ComparisonPlan, Contender
from openslob.kinds.storage.job import IoEngine, Job
from openslob.kinds.storage.session import Notify
from openslob.kinds.storage.testfile import TestFile
from openslob.metrics import storage_figure
from openslob.metrics.storage_metrics import latency_figures
from openslob.record.model import Figure, RunRecord, Status
from openslob.record.storage import StorageStep


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
    command = ObservedCommand(words, variables, within=partial(confined, client.cpus))
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
