"""A number that may be unknown: arithmetic that carries the reason along, and never divides by zero."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from openslob.counts import COUNTERS
from openslob.measurement import Measurement
from openslob.metrics.cpu import AT_REST, total_s

# In `unknown`: the reason that holds for all figures that have none of their own.
EVERY_FIGURE = "*"
NOT_LOCAL = "the server is not on this host"


@dataclass(frozen=True)
class Quantity:
    """A value, or None and the reason why there is none."""

    value: float | None
    why: str = ""

    @classmethod
    def missing(cls, why: str) -> Self:
        """An unknown quantity."""
        return cls(None, why)

    def times(self, factor: float) -> Quantity:
        """The quantity multiplied by a known factor."""
        return self if self.value is None else Quantity(self.value * factor)

    def plus(self, other: Quantity) -> Quantity:
        """The sum, unknown when either is."""
        if self.value is None or other.value is None:
            return self if self.value is None else other
        return Quantity(self.value + other.value)

    def per(self, other: Quantity, if_none: str) -> Quantity:
        """The quotient; ``if_none`` is the reason given when the divisor is not above zero."""
        if self.value is None or other.value is None:
            return self if self.value is None else other
        if other.value <= 0:
            return Quantity.missing(if_none)
        quotient = self.value / other.value
        return Quantity(quotient) if math.isfinite(quotient) else Quantity.missing(if_none)


def engine(measurement: Measurement, field: str) -> Quantity:
    """A figure of the engine's counters by the name of its field in `EngineDelta`."""
    delta = measurement.engine
    return _quantity(getattr(delta, field), delta.unknown, field)


def host(measurement: Measurement, field: str) -> Quantity:
    """A figure of the operating system by its field in `HostDelta`; unknown when the server is elsewhere."""
    if not measurement.local:
        return Quantity.missing(NOT_LOCAL)
    return _quantity(getattr(measurement.host, field), measurement.host.unknown, field)


def device(measurement: Measurement, field: str) -> Quantity:
    """A figure of the block device under the data by the name of its field in `DeviceIo`."""
    if not measurement.local:
        return Quantity.missing(NOT_LOCAL)
    io = measurement.host.device
    return _quantity(getattr(io, field) if io else None, measurement.host.unknown, "device")


def host_cpu_pct(measurement: Measurement, *kinds: str) -> Quantity:
    """Share of the host's CPU time that went to these kinds, in %; unknown when one of them is not counted."""
    if not measurement.local:
        return Quantity.missing(NOT_LOCAL)
    cpu = measurement.host.cpu
    if cpu is None:
        return _quantity(None, measurement.host.unknown, "cpu")
    uncounted = [kind for kind in kinds if kind not in cpu]
    if uncounted:
        return Quantity.missing(f"the host does not count {' and '.join(uncounted)} time")
    return (
        Quantity(sum(cpu[kind] for kind in kinds))
        .times(100)
        .per(Quantity(total_s(cpu)), "the host counted no CPU time")
    )


def host_cpu_left_pct(measurement: Measurement) -> Quantity:
    """Share of the host's CPU time that was idle or waiting for I/O, in %; hosts that do not tell the two apart."""
    cpu = measurement.host.cpu or {}
    return host_cpu_pct(measurement, *(kind for kind in AT_REST if kind in cpu or kind == "idle"))


def total(measurement: Measurement, field: str) -> float:
    """Return the sum over the sessions of a counter of `SliceCounts`, or of a time of `SessionTotals`."""
    if field in COUNTERS:
        return float(getattr(measurement.counts, field))
    return float(sum(getattr(session, field) for session in measurement.sessions))


def block_visits(measurement: Measurement) -> float:
    """Table rows, and so blocks, that the work loop visited, whatever for."""
    return sum(total(measurement, field) for field in ("rows_read", "rows_updated", "rows_scanned"))


def _quantity(value: float | None, reasons: Mapping[str, str], field: str) -> Quantity:
    if value is not None:
        return Quantity(float(value))
    return Quantity.missing(reasons.get(field) or reasons.get(EVERY_FIGURE) or f"{field} was not measured")
