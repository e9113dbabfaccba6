"""The summary: every figure of the registry, from one measurement.

Rates are counts divided by the seconds of load. A count that spans other seconds than the load gives no rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from openslob.analyze.quantity import (
    Quantity,
    block_visits,
    device,
    engine,
    host,
    host_cpu_left_pct,
    total,
)
from openslob.analyze.waits import db_time_shares
from openslob.measurement import Measurement, Schedule, WaitClass
from openslob.metrics import METRICS
from openslob.record.model import Figure
from openslob.units import MIB

# A rate is wrong by as much as its count's window is: SLOB's and pgio's published figures by 10 % and by a factor of
# three. One percent is below the spread between runs on a quiet machine, so that it can't be what a comparison shows.
WINDOW_TOLERANCE_PCT = 1.0
ENGINE_SPAN = "engine counters"
HOST_SPAN = "host counters"

NO_LOAD = "no operation ended in the window"
NO_READS = "the engine made no read request"
BELOW_CLOCK = "the engine's clock showed 0 µs for its reads"
NO_CPU = "the server used no measurable CPU"
NO_SYNCS = "the log was not forced to storage"
SYNCS_UNTIMED = "the engine does not time its log syncs, or its clock showed 0 µs"
NO_RATE = "no rate was given"
NO_WAKE_UP = "no session had to wait for an operation, or the engine does not time it"


def summary(measurement: Measurement) -> Mapping[str, Figure]:
    """Every figure of the registry: a value with its unit, or null with the reason."""
    return {name: _figure(COMPUTATIONS[name](measurement), METRICS[name].unit) for name in METRICS}


def window_differences_pct(measurement: Measurement) -> Mapping[str, float]:
    """By how many percent of the load the spans of the engine's and the host's counters exceed it; needs a load.

    A host that was not sampled at all spans nothing: its figures are unknown for reasons of their own.
    """
    load = measurement.window.load_seconds
    spans = {ENGINE_SPAN: measurement.window.counter_seconds}
    if measurement.local and measurement.host.seconds > 0:
        spans[HOST_SPAN] = measurement.host.seconds
    return {name: 100 * (span - load) / load for name, span in spans.items()}


def window_fault(measurement: Measurement, *spans: str) -> str:
    """Why the counters of these spans give no rate; empty when their window is the load's."""
    if measurement.window.load_seconds <= 0:
        return NO_LOAD
    for name, difference in window_differences_pct(measurement).items():
        if name in spans and abs(difference) > WINDOW_TOLERANCE_PCT:
            more = "more" if difference > 0 else "less"
            return f"the {name} span {abs(difference):.2f} % {more} time than the load: no rate can be told"
    return ""


def load_seconds(measurement: Measurement) -> Quantity:
    """Length of the load; unknown when nothing ran."""
    seconds = measurement.window.load_seconds
    return Quantity(seconds) if seconds > 0 else Quantity.missing(NO_LOAD)


def rate(measurement: Measurement, count: Quantity, *more_spans: str) -> Quantity:
    """``count`` per second of load; unknown when the counters span another window than the load.

    No rate stands beside an engine that was counted over other seconds; ``more_spans`` names what else was counted.
    """
    fault = window_fault(measurement, ENGINE_SPAN, *more_spans)
    return Quantity.missing(fault) if fault else count.per(load_seconds(measurement), NO_LOAD)


def engine_read_latency_us(measurement: Measurement) -> Quantity:
    """Mean time of the engine's read requests, in µs; never 0, because no read takes no time."""
    mean = engine(measurement, "read_time_us").per(engine(measurement, "read_requests"), NO_READS)
    return Quantity.missing(BELOW_CLOCK) if mean.value == 0 else mean


def log_sync_latency_us(measurement: Measurement) -> Quantity:
    """Mean time of the engine's log syncs, in µs; never 0."""
    mean = engine(measurement, "log_sync_time_us").per(engine(measurement, "log_syncs"), NO_SYNCS)
    return Quantity.missing(SYNCS_UNTIMED) if mean.value == 0 else mean


def driver_cpu_pct(measurement: Measurement) -> Quantity:
    """CPU of the load driver in % of that of the server's processes."""
    return host(measurement, "driver_cpu_s").times(100).per(host(measurement, "server_cpu_s"), NO_CPU)


def begun_pct(measurement: Measurement) -> Quantity:
    """Share of the operations due in the window that began in it, in %; unknown when no rate was given."""
    ops = total(measurement, "ops")
    due = _schedule(measurement, lambda schedule: ops + schedule.not_begun)
    return Quantity(ops).times(100).per(due, "no operation was due in the window")


def _schedule(measurement: Measurement, figure: Callable[[Schedule], float | None]) -> Quantity:
    schedule = measurement.schedule
    if schedule is None:
        return Quantity.missing(NO_RATE)
    value = figure(schedule)
    return Quantity.missing(NO_WAKE_UP) if value is None else Quantity(value)


Computation = Callable[[Measurement], Quantity]


def _engine_rate(field: str, factor: float = 1.0) -> Computation:
    return lambda measurement: rate(measurement, engine(measurement, field).times(factor))


def _device_rate(field: str, factor: float = 1.0) -> Computation:
    return lambda measurement: rate(measurement, device(measurement, field).times(factor), HOST_SPAN)


def _total(field: str) -> Computation:
    return lambda measurement: Quantity(total(measurement, field))


def _total_rate(field: str, factor: float = 1.0) -> Computation:
    return lambda measurement: rate(measurement, Quantity(total(measurement, field) * factor))


def _cpu_rate(measurement: Measurement) -> Quantity:
    return rate(measurement, host(measurement, "server_cpu_s"), HOST_SPAN)


def _per_cpu(field: str) -> Computation:
    return lambda measurement: _engine_rate(field)(measurement).per(_cpu_rate(measurement), NO_CPU)


def _cpu_left(measurement: Measurement) -> Quantity:
    # A share of the counters' window is a share of the load only if the two are the same.
    fault = window_fault(measurement, ENGINE_SPAN, HOST_SPAN)
    return Quantity.missing(fault) if fault else host_cpu_left_pct(measurement)


def _figure(quantity: Quantity, unit: str) -> Figure:
    return Figure(value=quantity.value, unit=unit, why=quantity.why or None)


COMPUTATIONS: Mapping[str, Computation] = {
    "ops_per_s": _total_rate("ops"),
    "sql_per_s": _total_rate("ops"),
    "lio_per_s": _engine_rate("logical_reads"),
    "block_visits_per_s": lambda m: rate(m, Quantity(block_visits(m))),
    "pio_read_per_s": _engine_rate("read_requests"),
    "pio_read_mb_per_s": _engine_rate("read_bytes", 1 / MIB),
    "pio_write_per_s": _engine_rate("write_requests"),
    "pio_write_mb_per_s": _engine_rate("write_bytes", 1 / MIB),
    "redo_mb_per_s": _engine_rate("log_bytes", 1 / MIB),
    "commits_per_s": _total_rate("updates"),
    "log_syncs_per_s": _engine_rate("log_syncs"),
    "db_time_per_s": _total_rate("busy_us", 1e-6),
    "db_cpu_per_s": _cpu_rate,
    "iops_per_db_cpu": _per_cpu("read_requests"),
    "lio_per_db_cpu": _per_cpu("logical_reads"),
    "dev_read_per_s": _device_rate("reads"),
    "dev_read_mb_per_s": _device_rate("read_bytes", 1 / MIB),
    "dev_write_per_s": _device_rate("writes"),
    "dev_write_mb_per_s": _device_rate("write_bytes", 1 / MIB),
    "host_cpu_busy_pct": lambda m: _cpu_left(m).times(-1).plus(Quantity(100.0)),
    "host_cpu_left_pct": _cpu_left,
    "engine_read_latency_us": engine_read_latency_us,
    "start_skew_ms": lambda m: Quantity(m.window.start_skew_ms),
    "driver_cpu_pct_of_db": driver_cpu_pct,
    "elapsed_s": load_seconds,
    "sessions": lambda m: Quantity(float(len(m.sessions))),
    "ops_total": _total("ops"),
    "updates_total": _total("updates"),
    "selects_total": _total("selects"),
    "scans_total": _total("scans"),
    "log_write_per_s": _engine_rate("log_write_requests"),
    "log_sync_latency_us": log_sync_latency_us,
    "log_wait_pct": lambda m: db_time_shares(m)[WaitClass.LOG],
    "full_page_images_per_s": _engine_rate("full_page_images"),
    "full_page_image_mb_per_s": _engine_rate("full_page_image_bytes", 1 / MIB),
    "target_ops_per_s": lambda m: _schedule(m, lambda schedule: schedule.wanted_per_s),
    "ops_not_begun_pct": lambda m: begun_pct(m).times(-1).plus(Quantity(100.0)),
    "backlog_s": lambda m: _schedule(m, lambda schedule: schedule.oldest_s),
    "wake_up_late_us": lambda m: _schedule(m, lambda schedule: schedule.wake_ups.mean_us()),
    "conflicts_total": _total("conflicts"),
}
