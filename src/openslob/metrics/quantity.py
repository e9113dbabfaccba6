"""Numbers of a measurement that may be unknown: arithmetic that keeps the reason, and never divides by zero.

Rates are counts divided by the seconds of load. A count over more or less time than the load gives no rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from openslob.core.counts import COUNTERS
from openslob.core.measurement import EVERY_FIGURE, EngineDelta, HostDelta, Measurement, Observed
from openslob.core.units import is_above
from openslob.core.workload import Loop
from openslob.metrics.cpu import AT_REST, total_s

NOT_LOCAL = "the server is not known to be on this host"
NO_LOAD = "no operation ended in the window"
NOT_OUR_LOAD = "the load was not of slob's own operations"
NO_SAMPLES = "what sessions wait for was not sampled"
HIDDEN = "this user may not see what all sessions do"
# A rate is wrong by the same factor as the length of its counters' window: for this reason, published figures of
# SLOB and pgio were wrong by 10 % and by a factor of three. One percent is below the spread between runs on a quiet
# machine, so that a comparison can't show it as a difference.
WINDOW_TOLERANCE_PCT = 1.0
ENGINE_SPAN = "engine counters"
HOST_SPAN = "host counters"
# Parts of the server's CPU: as the host has them by kind of process, and as an engine counts them.
_IN_US = {"foreground_cpu_s": "foreground_cpu_us", "background_cpu_s": "background_cpu_us"}


class Counted(Protocol):
    """The counters of engine and host: a whole measurement, or the part of one that is known before a run."""

    @property
    def engine(self) -> EngineDelta:
        """The engine's counters."""

    @property
    def host(self) -> HostDelta:
        """The operating system's counters."""

    @property
    def local(self) -> bool:
        """Whether the server is on this host."""

    @property
    def waits(self) -> Mapping[str, int]:
        """The sessions that samples saw, by wait event; before a run as many as there will be, whatever the event."""


@dataclass(frozen=True)
class Quantity:
    """A value, or None and the reason why there is none."""

    value: float | None
    why: str = ""

    @classmethod
    def missing(cls, why: str) -> Self:
        """Return an unknown quantity."""
        return cls(None, why)

    def times(self, factor: float) -> Quantity:
        """Return the quantity multiplied by a known factor."""
        return self if self.value is None else Quantity(self.value * factor)

    def plus(self, other: Quantity) -> Quantity:
        """Return the sum, unknown when either is."""
        if self.value is None or other.value is None:
            return self if self.value is None else other
        return Quantity(self.value + other.value)

    def per(self, other: Quantity, if_none: str) -> Quantity:
        """Return the quotient; ``if_none`` is the reason given when the divisor is not above zero."""
        if self.value is None or other.value is None:
            return self if self.value is None else other
        if other.value <= 0:
            return Quantity.missing(if_none)
        quotient = self.value / other.value
        return Quantity(quotient) if math.isfinite(quotient) else Quantity.missing(if_none)


def engine(counted: Counted, field: str) -> Quantity:
    """Return one of the engine's counters, by the name of its field in `EngineDelta`."""
    delta = counted.engine
    return _quantity(getattr(delta, field), delta.unknown, field)


def host(counted: Counted, field: str) -> Quantity:
    """Return a number of the operating system by its field in `HostDelta`; unknown when the server is elsewhere."""
    if not counted.local:
        return Quantity.missing(NOT_LOCAL)
    return _quantity(getattr(counted.host, field), counted.host.unknown, field)


def server_cpu_s(counted: Counted) -> Quantity:
    """Return the server's CPU seconds: the host's figure, else ``db_cpu_us`` of an engine that counts it.

    The host's figure takes precedence because it includes every process. For a server on another host there is only the
    engine's count. Where that is not known either, the reason is the one that the user can do something about.
    """
    by_host, own = host(counted, "server_cpu_s"), engine(counted, "db_cpu_us").times(1e-6)
    if by_host.value is None and (own.value is not None or _counts_cpu(counted.engine)):
        return own
    return by_host


def part_of_cpu_s(counted: Counted, field: str) -> Quantity:
    """Return the CPU seconds of the server's sessions or of its background processes, by the field in `HostDelta`.

    By the engine's own count, which its own reports have too; where it has none, by kind of process. Where neither is
    known, the reason is the engine's, if it counts this for some users.
    """
    own, by_host = engine(counted, _IN_US[field]).times(1e-6), host(counted, field)
    counts = own.value is not None or (by_host.value is None and _IN_US[field] in counted.engine.unknown)
    return own if counts else by_host


def _counts_cpu(delta: EngineDelta) -> bool:
    """Return whether the engine counts its CPU time for some users, so that its reason says what to do about it."""
    return "background_cpu_us" in delta.unknown


def device(counted: Counted, field: str) -> Quantity:
    """Return a number of the block device under the data, by the name of its field in `DeviceIo`."""
    if not counted.local:
        return Quantity.missing(NOT_LOCAL)
    io = counted.host.device
    return _quantity(getattr(io, field) if io else None, counted.host.unknown, "device")


def counts_host_cpu(delta: EngineDelta) -> bool:
    """Return whether the engine counts its host's CPU time, or would for another user."""
    return delta.host_idle_us is not None or "host_idle_us" in delta.unknown


def engine_host_cpu_s(counted: Counted) -> Quantity:
    """Return all CPU seconds of the server's host, busy or not, as the engine counts them."""
    return engine(counted, "host_busy_us").plus(engine(counted, "host_idle_us")).times(1e-6)


def why_no_cpu(counted: Counted, *kinds: str) -> str:
    """Return why the host's CPU time of these kinds is unknown; empty when it is known."""
    if not counted.local:
        return NOT_LOCAL
    cpu = counted.host.cpu
    if cpu is None:
        return _quantity(None, counted.host.unknown, "cpu").why
    uncounted = [kind for kind in kinds if kind not in cpu]
    return f"the host does not count {' and '.join(uncounted)} time" if uncounted else ""


def host_cpu_pct(measurement: Observed, *kinds: str) -> Quantity:
    """Return the share of the host's CPU time that went to these kinds, in %; unknown when one is not counted."""
    cpu = measurement.host.cpu
    why = why_no_cpu(measurement, *kinds)
    if cpu is None or why:
        return Quantity.missing(why)
    return (
        Quantity(sum(cpu[kind] for kind in kinds))
        .times(100)
        .per(Quantity(total_s(cpu)), "the host counted no CPU time")
    )


def host_cpu_left_pct(measurement: Observed) -> Quantity:
    """Return the share of the CPU time of the server's host that was not busy, in %. Some systems do not count iowait.

    Where the host can't be examined it is by the engine's count, if the engine has one.
    """
    cpu = measurement.host.cpu or {}
    by_host = host_cpu_pct(measurement, *(kind for kind in AT_REST if kind in cpu or kind == "idle"))
    if by_host.value is not None or not counts_host_cpu(measurement.engine):
        return by_host
    idle_s = engine(measurement, "host_idle_us").times(1e-6)
    return idle_s.times(100).per(engine_host_cpu_s(measurement), "the engine counted no CPU time of the host")


def own_load(measurement: Observed, amount: Callable[[Measurement], float | None]) -> Quantity:
    """Return an amount of slob's own operations; unknown where the load was not made of these."""
    if not isinstance(measurement, Measurement):
        return Quantity.missing(NOT_OUR_LOAD)
    return Quantity(amount(measurement))


def db_time_us(measurement: Observed) -> Quantity:
    """Return DB time in µs: the sessions' time inside operations.

    It is by samples where the load was not our own, and where the client sends the operations, whose time has protocol
    and network in it.
    """
    by_samples = isinstance(measurement, Measurement) and measurement.workload.loop is Loop.CLIENT
    busy = measurement.sampled_us if by_samples else measurement.busy_us
    why = HIDDEN if measurement.others.hidden else NO_SAMPLES
    return Quantity.missing(why) if busy is None else Quantity(busy)


def total(measurement: Measurement, field: str) -> float:
    """Return the sum over the sessions of a counter of `SliceCounts`, or of a time of `SessionTotals`."""
    if field in COUNTERS:
        return float(getattr(measurement.counts, field))
    return float(sum(getattr(session, field) for session in measurement.sessions))


def block_visits(measurement: Measurement) -> float:
    """Return how many table rows, and so blocks, the work loop visited."""
    return float(measurement.counts.rows_visited)


def load_seconds(measurement: Observed) -> Quantity:
    """Return the length of the load; unknown when nothing ran."""
    seconds = measurement.window.load_seconds
    return Quantity(seconds) if seconds > 0 else Quantity.missing(NO_LOAD)


def window_differences_pct(measurement: Observed) -> Mapping[str, float]:
    """Return by how many % the time that the engine's and the host's counters span exceeds that of the load.

    The load must not be empty. A host that was not sampled has no entry: its figures are unknown for other reasons.
    """
    load = measurement.window.load_seconds
    spans = {ENGINE_SPAN: measurement.window.counter_seconds}
    if measurement.local and measurement.host.seconds > 0:
        spans[HOST_SPAN] = measurement.host.seconds
    return {name: 100 * (span - load) / load for name, span in spans.items()}


def is_another_window(difference_pct: float) -> bool:
    """Return whether counters span so much more or less time than the load that they give no rate of it."""
    return is_above(abs(difference_pct), WINDOW_TOLERANCE_PCT, 2)


def why_no_span(measurement: Observed) -> str:
    """Return why the engine's counters span no time at all; empty if they do."""
    return "" if measurement.window.counter_seconds else measurement.engine.unknown.get(EVERY_FIGURE, "")


def window_fault(measurement: Observed, *spans: str) -> str:
    """Return why the counters of these spans give no rate; empty if they span the same time as the load."""
    if measurement.window.load_seconds <= 0:
        return NO_LOAD
    if why := why_no_span(measurement):
        return why
    for name, difference in window_differences_pct(measurement).items():
        if name in spans and is_another_window(difference):
            more = "more" if difference > 0 else "less"
            return f"the {name} span {abs(difference):.2f} % {more} time than the load: no rate can be given"
    return ""


def rate(measurement: Observed, count: Quantity, *more_spans: str) -> Quantity:
    """Return ``count`` per second of load; unknown if the counters span more or less time than the load.

    The engine's counters are always checked; ``more_spans`` names further counters to check.
    """
    fault = window_fault(measurement, ENGINE_SPAN, *more_spans)
    return Quantity.missing(fault) if fault else count.per(load_seconds(measurement), NO_LOAD)


def _quantity(value: float | None, reasons: Mapping[str, str], field: str) -> Quantity:
    if value is not None:
        return Quantity(float(value))
    return Quantity.missing(reasons.get(field) or reasons.get(EVERY_FIGURE) or f"{field} was not measured")
