"""The construction of a run's record from its measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from openslob.analyze.causes import episodes
from openslob.analyze.level import search
from openslob.analyze.trace import Trace
from openslob.analyze.trace_stretch import unevenness_of
from openslob.analyze.verdict_registry import RULES_FACT, RULES_VERSION
from openslob.analyze.verdicts import judge, judge_observed
from openslob.analyze.verdicts.validity import mix_of
from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram
from openslob.core.measurement import (
    WAIT_LATENCY,
    CapSearch,
    ClassTimes,
    Instance,
    Measurement,
    ObjectIo,
    Observed,
)
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.metrics import summary
from openslob.metrics.quantity import ENGINE_SPAN, Quantity, host, why_no_cpu, window_differences_pct
from openslob.metrics.waits import histogram_of, top_events
from openslob.record.model import (
    MOST_EPISODES,
    ClassRow,
    EpisodeRow,
    InstanceRow,
    RecordKind,
    RunRecord,
    StageRow,
    Status,
    WindowRecord,
    value_of,
)

HOST_CPU = "host_cpu_s"


def build_record(
    measured: Observed,
    trace: Trace | None = None,
    *,
    kind: RecordKind = RecordKind.RUN,
    id: str,
    name: str,
    status: Status,
    started_at: str,
    openslob_version: str,
    spec: Mapping[str, Any],
    environment: Mapping[str, Any],
    engine: Mapping[str, Any],
    sources: Mapping[str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> RunRecord:
    """Return the record of a run, or of a load that is not ours: its identity as given, and all that follows from it.

    ``trace`` is the course of the load, if it is known. One of a rate that changes has no level: slower stages are no
    stretches in which the load was slow.
    """
    trace = None if isinstance(measured, Measurement) and measured.workload.rate_schedule else trace
    if trace is not None:
        measured = replace(measured, caps=search(trace), unevenness=unevenness_of(trace))
    return RunRecord(
        kind=kind,
        id=id,
        name=name,
        status=status,
        started_at=started_at,
        openslob_version=openslob_version,
        spec=spec,
        sources=sources or {},
        environment={**with_engine_cpu(measured, with_host_cpu(measured, environment)), RULES_FACT: RULES_VERSION},
        engine=with_wait_latency(measured, engine),
        window=window_record(measured),
        summary=summary(measured),
        waits=top_events(measured),
        io_by_object=io_by_object(measured),
        episodes=None if trace is None else episode_rows(trace, measured.caps),
        errors=tuple(measured.errors),
        notes=notes,
        **_of_own_load(measured) if isinstance(measured, Measurement) else {"verdicts": judge_observed(measured)},
    )


def status_of(measured: Observed) -> Status:
    """Return how the load ended."""
    if measured.errors:
        return Status.FAILED
    return Status.INTERRUPTED if measured.interrupted else Status.COMPLETE


def _of_own_load(measurement: Measurement) -> dict[str, Any]:
    """Return the parts of a record that a load of our own alone has."""
    return {
        "latency": with_slowest(latency(measurement.latency), measurement),
        "response": latency(measurement.response),
        "instances": tuple(instance_row(measurement, instance) for instance in measurement.instances),
        "classes": tuple(class_rows(measurement)),
        "stages": tuple(StageRow(**asdict(stage)) for stage in measurement.stages),
        "verdicts": judge(measurement),
    }


def episode_rows(trace: Trace, caps: CapSearch | None = None) -> tuple[EpisodeRow, ...]:
    """Return the stretches in which the load was slow, in the order of time: all of them, or the worst."""
    worst = sorted(episodes(trace, caps), key=lambda each: -each.lost_ops)[:MOST_EPISODES]
    return tuple(
        EpisodeRow(
            begin_s=each.begin_s,
            end_s=each.end_s,
            cause=str(each.cause),
            evidence=each.evidence,
            lost_ops=each.lost_ops,
            ops_per_s=each.rate,
            usual_ops_per_s=each.usual_rate,
            also=tuple(other.value for other in each.also),
        )
        for each in sorted(worst, key=lambda each: each.begin_s)
    )


def with_host_cpu(measured: Observed, environment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts on the host with the CPU seconds of the window by kind, if it was asked for them."""
    return {**environment, HOST_CPU: dict(measured.host.cpu or {})} if HOST_CPU in environment else environment


def with_engine_cpu(measurement: Observed, environment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts on the host with the CPU time that only the engine counts; ``cpu_source`` says of which."""
    counted = measurement.engine
    found: dict[str, Any] = {}
    parts = {"sessions": counted.foreground_cpu_us, "background": counted.background_cpu_us}
    known = {name: us * 1e-6 for name, us in parts.items() if us is not None}
    if known and host(measurement, "server_cpu_s").value is None:
        found["server_cpu_s"] = known
    if counted.host_idle_us is not None and counted.host_busy_us is not None and why_no_cpu(measurement, "idle"):
        found["server_host_cpu_s"] = {"busy": counted.host_busy_us * 1e-6, "idle": counted.host_idle_us * 1e-6}
    if not found:
        return environment
    unknown = {name: why for name, why in environment.get("unknown", {}).items() if name not in found}
    return {**environment, **found, "cpu_source": dict.fromkeys(found, "engine"), "unknown": unknown}


def with_wait_latency(measurement: Observed, engine: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts on the engine with the durations of the sampled events, or why the engine could not show them.

    There is neither of an engine that does not count waits by their duration.
    """
    found = {
        wait.event: durations.summary()
        for wait in measurement.engine.timed_waits
        if (durations := histogram_of(wait)) is not None and wait.event in measurement.waits
    }
    if found:
        return {**engine, WAIT_LATENCY: found}
    if why := measurement.engine.unknown.get(WAIT_LATENCY):
        return {**engine, "unknown": {**engine.get("unknown", {}), WAIT_LATENCY: why}}
    return engine


def window_record(measurement: Observed) -> WindowRecord | None:
    """Return the measured window; None when nothing ran in it."""
    window = measurement.window
    if window.load_seconds <= 0:
        return None
    return WindowRecord(
        load_start_ns=window.load_start_ns,
        load_end_ns=window.load_end_ns,
        load_seconds=window.load_seconds,
        counter_seconds=window.counter_seconds,
        difference_pct=window_differences_pct(measurement)[ENGINE_SPAN],
        warmup_s=window.warmup_s,
    )


def latency(histograms: Mapping[OpKind, Histogram]) -> Mapping[str, Mapping[str, Any]]:
    """Return count, exact mean, percentiles, maximum and buckets of each kind of operation that ran."""
    return {kind.value: histogram.summary() for kind, histogram in histograms.items() if histogram.count}


def with_slowest(figures: Mapping[str, Mapping[str, Any]], measurement: Measurement) -> Mapping[str, Mapping[str, Any]]:
    """Return the latencies of kinds with their slowest operations, and between which seconds of the load each came."""
    begin_ns = measurement.window.load_start_ns
    return {
        kind: {
            **of_kind,
            "slowest": [
                {
                    "us": slow.us,
                    "session": slow.session,
                    "from_s": round(max(0, slow.slice_start_ns - begin_ns) / NANOS, 3),
                    "to_s": round((slow.slice_end_ns - begin_ns) / NANOS, 3),
                }
                for slow in measurement.slowest.get(OpKind(kind), ())
            ],
        }
        for kind, of_kind in figures.items()
    }


def io_by_object(measurement: Observed) -> Mapping[str, Mapping[str, float | None]]:
    """Return the engine's I/O by kind of object, with the mean read latency in µs and the share of cache hits in %."""
    return {name: _object_io(io, measurement.block_size) for name, io in measurement.engine.by_object.items()}


def instance_row(measurement: Measurement, instance: Instance) -> InstanceRow:
    """Return the totals of one instance's sessions, and the instance's own counters."""
    own = [session.counts for session in measurement.sessions if session.number in instance.sessions]
    counts, behind = sum(own, SliceCounts()), instance.behind
    return InstanceRow(
        target=instance.target,
        role="read-only" if instance.read_only else "read-write",
        sessions=len(own),
        ops=counts.ops,
        rows_read=counts.rows_read + counts.rows_scanned,
        rows_updated=counts.rows_updated,
        conflicts=counts.conflicts,
        errors=instance.lost,
        read_requests=instance.engine.read_requests,
        log_bytes=instance.engine.log_bytes,
        behind_bytes=behind.bytes_mean if behind else None,
        most_behind_bytes=behind.bytes_most if behind else None,
        behind_s=behind.late_s if behind else None,
    )


def class_rows(measurement: Measurement) -> Iterator[ClassRow]:
    """Yield what each class of sessions did; nothing without classes."""
    if not measurement.workload.classes:
        return
    has_rate = value_of(summary(measurement), "ops_per_s") is not None
    for part, sessions in measurement.parts:
        counts = sum((session.counts for session in sessions), SliceCounts())
        times = measurement.classes.get(part.name, ClassTimes())
        yield ClassRow(
            name=part.name,
            sessions=len(sessions),
            # Those that it has not are of loads with MODE=churn only.
            **{name: value for name, value in asdict(counts).items() if name in ClassRow.model_fields},
            off_ops=mix_of(part, sessions).off_ops,
            ops_per_s=counts.ops / measurement.window.load_seconds if has_rate else None,
            target_ops_per_s=part.workload.ops_per_s_wanted(measurement.block_size),
            latency=latency(times.latency),
            response=latency(times.response),
        )


def _object_io(io: ObjectIo, block_size: int) -> Mapping[str, float | None]:
    hits, read = Quantity(io.hits), Quantity(io.read_bytes).times(1 / block_size)
    return {
        **asdict(io),
        "read_latency_us": Quantity(io.read_time_us).per(Quantity(io.read_requests), "no read").value or None,
        "hit_pct": hits.times(100).per(hits.plus(read), "no access").value,
    }
