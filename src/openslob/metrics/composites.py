"""Figures of a run that are more than an amount, a rate or a quotient."""

from __future__ import annotations

from openslob.measurement import Measurement, WaitClass
from openslob.metrics.computation import NO_RATE
from openslob.metrics.quantity import (
    ENGINE_SPAN,
    HOST_SPAN,
    Quantity,
    block_visits,
    host_cpu_left_pct,
    rate,
    total,
    window_fault,
)
from openslob.metrics.waits import db_time_shares

NO_WAKE_UP = "no session had to wait for an operation, or the engine does not time it"


def block_visit_rate(measurement: Measurement) -> Quantity:
    """Return the blocks that the work loop visited per second of load."""
    return rate(measurement, Quantity(block_visits(measurement)))


def cpu_left_pct(measurement: Measurement) -> Quantity:
    """Return the share of the host's CPU time that was not busy, in %.

    A share of the counters' window is a share of the load only if the two are the same.
    """
    fault = window_fault(measurement, ENGINE_SPAN, HOST_SPAN)
    return Quantity.missing(fault) if fault else host_cpu_left_pct(measurement)


def cpu_busy_pct(measurement: Measurement) -> Quantity:
    """Return the share of the host's CPU time that was busy, in %."""
    return cpu_left_pct(measurement).times(-1).plus(Quantity(100.0))


def session_count(measurement: Measurement) -> Quantity:
    """Return how many sessions ran the work loop."""
    return Quantity(float(len(measurement.sessions)))


def log_wait_pct(measurement: Measurement) -> Quantity:
    """Return the share of DB time that went to the log, in %."""
    return db_time_shares(measurement)[WaitClass.LOG]


def begun_pct(measurement: Measurement) -> Quantity:
    """Return the share of the operations due in the window that began in it, in %; unknown without a given rate."""
    if measurement.schedule is None:
        return Quantity.missing(NO_RATE)
    ops = total(measurement, "ops")
    due = Quantity(ops + measurement.schedule.not_begun)
    return Quantity(ops).times(100).per(due, "no operation was due in the window")


def not_begun_pct(measurement: Measurement) -> Quantity:
    """Return the share of the operations due in the window that did not begin in it, in %."""
    return begun_pct(measurement).times(-1).plus(Quantity(100.0))


def wake_up_late_us(measurement: Measurement) -> Quantity:
    """Return the mean time by which sessions woke up late, in µs."""
    if measurement.schedule is None:
        return Quantity.missing(NO_RATE)
    mean = measurement.schedule.wake_ups.mean_us()
    return Quantity.missing(NO_WAKE_UP) if mean is None else Quantity(mean)
