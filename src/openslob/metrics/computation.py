"""The computation of a run's figures: their raw numbers, and the arithmetic on them.

A computation declares its inputs, so that `slob check` can report before a run which figures will be unknown, and why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram
from openslob.core.measurement import (
    DeviceIo,
    EngineDelta,
    HostDelta,
    Measurement,
    Observed,
    Schedule,
    SessionTotals,
    WaitClass,
    Window,
)
from openslob.metrics import quantity
from openslob.metrics.quantity import (
    ENGINE_SPAN,
    HOST_SPAN,
    Counted,
    Quantity,
    block_visits,
    host_cpu_left_pct,
    own_load,
    rate,
    window_fault,
)
from openslob.metrics.waits import db_time_shares, is_enough

NO_RATE = "no rate was given"
NO_COMMAND = "no command was observed"

NO_INSERTS = "no row was inserted"
STAY_CONNECTED = "sessions stayed connected, or connected but before the window"
NO_WAKE_UP = "no session had to wait for an operation, or the engine does not time it"


@dataclass(frozen=True)
class Input(ABC):
    """A raw number of a measurement, by the name of its field in one of the classes ``holders``.

    ``span`` names the counters that, like the engine's, must span the same time as the load for a rate.
    """

    field: str
    holders: ClassVar[tuple[type, ...]]
    span: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        """Raise TypeError if no class in ``holders`` has the field."""
        if not any(self.field == each.name for holder in self.holders for each in fields(holder)):
            raise TypeError(f"{self.holders[0].__name__} has no field {self.field}")

    @abstractmethod
    def read(self, measurement: Observed) -> Quantity:
        """Return the number, or why it is unknown."""

    def why_unknown(self, counted: Counted) -> str:  # noqa: ARG002
        """Return why a run will not know the number, from what is counted before it; empty if it will be known."""
        return ""


class CountedInput(Input):
    """A number that is counted before a run, too: what is unknown then will be unknown of the run."""

    @abstractmethod
    def find(self, counted: Counted) -> Quantity:
        """Return the number, or why it is unknown."""

    def read(self, measurement: Observed) -> Quantity:
        return self.find(measurement)

    def why_unknown(self, counted: Counted) -> str:
        return self.find(counted).why


class EngineCounter(CountedInput):
    """A counter of the engine."""

    holders = (EngineDelta,)

    def find(self, counted: Counted) -> Quantity:
        return quantity.engine(counted, self.field)


class SampledTime(EngineCounter):
    """A time that the engine counts, and whose share of DB time samples of the waits tell, where they are enough."""

    def why_unknown(self, counted: Counted) -> str:
        """Return the engine's reason, unless there will be enough samples."""
        return "" if is_enough(counted.waits) else super().why_unknown(counted)


class HostCounter(CountedInput):
    """A number of the operating system."""

    holders = (HostDelta,)
    span = HOST_SPAN

    def find(self, counted: Counted) -> Quantity:
        return quantity.host(counted, self.field)


class ClientCpu(HostCounter):
    """The CPU seconds of an observed command; unknown where none was observed."""

    def find(self, counted: Counted) -> Quantity:
        return super().find(counted) if counted.host.client_cpu_s is not None else Quantity.missing(NO_COMMAND)


class ServerCpu(HostCounter):
    """The server's CPU seconds: the host's count, or the engine's own if the host's is unknown."""

    def find(self, counted: Counted) -> Quantity:
        return quantity.server_cpu_s(counted)


class PartOfCpu(HostCounter):
    """CPU seconds of the server's sessions, or of its background processes: the engine's count, or else the host's."""

    def find(self, counted: Counted) -> Quantity:
        return quantity.part_of_cpu_s(counted, self.field)


class HostCpuTime(HostCounter):
    """The host's CPU time by kind. The field is a mapping; `read` returns the share of the time that was not busy."""

    def read(self, measurement: Observed) -> Quantity:
        """Return the share of the CPU time that was not busy, in %."""
        return quantity.host_cpu_left_pct(measurement)

    def why_unknown(self, counted: Counted) -> str:
        """Return why idle time is unknown; the engine's reason if it is the engine that counts it."""
        why = quantity.why_no_cpu(counted, "idle")
        return quantity.engine_host_cpu_s(counted).why if why and quantity.counts_host_cpu(counted.engine) else why


class DeviceCounter(CountedInput):
    """A counter of the block device under the data."""

    holders = (DeviceIo,)
    span = HOST_SPAN

    def find(self, counted: Counted) -> Quantity:
        return quantity.device(counted, self.field)


class DbTime(Input):
    """The sessions' time inside operations, in µs; by samples where it was not in the server's own loop."""

    holders = (SessionTotals,)

    def read(self, measurement: Observed) -> Quantity:
        return quantity.db_time_us(measurement)


class OfOwnLoad(Input):
    """A number that only a run has, whose load is slob's own."""


class SessionSum(OfOwnLoad):
    """What the sessions did, summed over them; always known of a run."""

    holders = (SliceCounts, SessionTotals)

    def read(self, measurement: Observed) -> Quantity:
        return quantity.own_load(measurement, lambda run: quantity.total(run, self.field))


class WindowFact(OfOwnLoad):
    """A fact of a run's window; always known."""

    holders = (Window,)

    def read(self, measurement: Observed) -> Quantity:
        return quantity.own_load(measurement, lambda run: float(getattr(run.window, self.field)))


class ScheduleFact(OfOwnLoad):
    """What became of the due times of a run at a given rate; unknown in any other run."""

    holders = (Schedule,)

    def read(self, measurement: Observed) -> Quantity:
        schedule = schedule_of(measurement)
        return Quantity.missing(NO_RATE) if schedule is None else Quantity(float(getattr(schedule, self.field)))


class ConnectTimes(OfOwnLoad):
    """How long sessions took to connect; unknown of a run whose sessions stay connected."""

    holders = (Measurement,)

    def read(self, measurement: Observed) -> Quantity:
        """Return how often they connected."""
        connects = measurement.connects if isinstance(measurement, Measurement) else Histogram()
        return Quantity(float(connects.count)) if connects.count else Quantity.missing(STAY_CONNECTED)


def connect_us(share: float) -> Callable[[Observed], Quantity]:
    """Return the function for the time in µs that this share of the connections did not exceed."""

    def find(measurement: Observed) -> Quantity:
        connects = measurement.connects if isinstance(measurement, Measurement) else Histogram()
        found = connects.quantile_us(share)
        return Quantity.missing(STAY_CONNECTED) if found is None else Quantity(found)

    return find


class ChangeTimes(OfOwnLoad):
    """How long a load took to recover from changes of its rate; unknown of one whose rate does not change."""

    holders = (Measurement,)

    def read(self, measurement: Observed) -> Quantity:
        """Return the longest time; unknown if it is not known of one."""
        stages = measurement.stages if isinstance(measurement, Measurement) else ()
        changes = [stage for stage in stages if stage.why or stage.recovery_s is not None]
        if unknown := next((stage for stage in changes if stage.why), None):
            return Quantity.missing(f"from second {unknown.begin_s:g} on: {unknown.why}")
        longest = max((stage.recovery_s or 0.0 for stage in changes), default=None)
        return Quantity.missing("the rate did not change at once") if longest is None else Quantity(longest)


def schedule_of(measurement: Observed) -> Schedule | None:
    """Return the due times of a run at a given rate; None of any other load."""
    return measurement.schedule if isinstance(measurement, Measurement) else None


class Computation(ABC):
    """How a figure is computed."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """The raw numbers that it needs."""

    @abstractmethod
    def of(self, measurement: Observed) -> Quantity:
        """Return the figure of a run."""

    def only_from(self, kind: type[Input]) -> bool:  # noqa: ARG002
        """Return whether numbers of this kind are enough to compute the figure of a part of a run."""
        return False

    def of_amounts(self, amounts: Mapping[str, float], seconds: float) -> float | None:  # noqa: ARG002
        """Return the figure of a part of a run: ``amounts`` has its numbers by field. None when one is missing."""
        return None


@dataclass(frozen=True)
class Amount(Computation):
    """A raw number times a factor."""

    input: Input
    factor: float = 1.0

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (self.input,)

    def of(self, measurement: Observed) -> Quantity:
        return self.input.read(measurement).times(self.factor)

    def only_from(self, kind: type[Input]) -> bool:
        return isinstance(self.input, kind)

    def of_amounts(self, amounts: Mapping[str, float], seconds: float) -> float | None:  # noqa: ARG002
        amount = amounts.get(self.input.field)
        return None if amount is None else amount * self.factor


@dataclass(frozen=True)
class PerSecond(Amount):
    """A raw number times a factor, per second of load."""

    def of(self, measurement: Observed) -> Quantity:
        """Return the rate; unknown when its counters span another window than the load."""
        spans = (self.input.span,) if self.input.span else ()
        return quantity.rate(measurement, super().of(measurement), *spans)

    def of_amounts(self, amounts: Mapping[str, float], seconds: float) -> float | None:
        """Return the rate in a part of a run."""
        amount = super().of_amounts(amounts, seconds)
        return None if amount is None else amount / seconds


@dataclass(frozen=True)
class Ratio(Computation):
    """A quotient. ``if_none`` is the reason where the divisor is 0, ``if_zero`` where 0 can't be the answer."""

    dividend: Amount
    divisor: Amount
    if_none: str
    if_zero: str = ""

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (*self.dividend.inputs, *self.divisor.inputs)

    def of(self, measurement: Observed) -> Quantity:
        quotient = self.dividend.of(measurement).per(self.divisor.of(measurement), self.if_none)
        return Quantity.missing(self.if_zero) if quotient.value == 0 and self.if_zero else quotient

    def only_from(self, kind: type[Input]) -> bool:
        return self.dividend.only_from(kind) and self.divisor.only_from(kind)

    def of_amounts(self, amounts: Mapping[str, float], seconds: float) -> float | None:
        dividend = self.dividend.of_amounts(amounts, seconds)
        divisor = self.divisor.of_amounts(amounts, seconds)
        return dividend / divisor if dividend is not None and divisor else None


@dataclass(frozen=True)
class FirstKnown(Computation):
    """The first of two computations that gives a value: one that only some engines allow, and the usual one."""

    preferred: Computation
    usual: Computation

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The numbers that every engine needs."""
        return self.usual.inputs

    def of(self, measurement: Observed) -> Quantity:
        found = self.preferred.of(measurement)
        return self.usual.of(measurement) if found.value is None else found

    def only_from(self, kind: type[Input]) -> bool:
        return self.preferred.only_from(kind) and self.usual.only_from(kind)

    def of_amounts(self, amounts: Mapping[str, float], seconds: float) -> float | None:
        found = self.preferred.of_amounts(amounts, seconds)
        return self.usual.of_amounts(amounts, seconds) if found is None else found


class Composite(Computation):
    """A function of the measurement, for what is more than a product or a quotient; ``inputs`` are what it needs."""

    def __init__(self, function: Callable[[Observed], Quantity], *inputs: Input) -> None:
        self._inputs = inputs
        self._function = function

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self._inputs

    def of(self, measurement: Observed) -> Quantity:
        return self._function(measurement)


def block_visit_rate(measurement: Observed) -> Quantity:
    """Return the blocks that the work loop visited per second of load."""
    return rate(measurement, own_load(measurement, block_visits))


def cpu_left_pct(measurement: Observed) -> Quantity:
    """Return the share of the host's CPU time that was not busy, in %.

    A share of the counters' window is a share of the load only if the two are the same.
    """
    fault = window_fault(measurement, ENGINE_SPAN, HOST_SPAN)
    return Quantity.missing(fault) if fault else host_cpu_left_pct(measurement)


def cpu_busy_pct(measurement: Observed) -> Quantity:
    """Return the share of the host's CPU time that was busy, in %."""
    return cpu_left_pct(measurement).times(-1).plus(Quantity(100.0))


def session_count(measurement: Observed) -> Quantity:
    """Return how many sessions ran the work loop."""
    return own_load(measurement, lambda run: float(len(run.sessions)))


def log_wait_pct(measurement: Observed) -> Quantity:
    """Return the share of DB time that went to the log, in %."""
    return db_time_shares(measurement)[WaitClass.LOG]


def write_amplification(measurement: Observed) -> Quantity:
    """Return the bytes that the engine wrote, blocks and log, per byte that was inserted."""
    written = quantity.engine(measurement, "write_bytes").plus(quantity.engine(measurement, "log_bytes"))
    return written.per(own_load(measurement, lambda run: quantity.total(run, "bytes_inserted")), NO_INSERTS)


def update_amplification(measurement: Observed) -> Quantity:
    """Return the bytes of blocks and of the log that the engine wrote, per byte of the rows that sessions changed."""
    written = quantity.engine(measurement, "write_bytes").plus(quantity.engine(measurement, "log_bytes"))
    return written.per(quantity.engine(measurement, "row_bytes_written"), "no row was changed")


def space_amplification(measurement: Observed) -> Quantity:
    """Return the size of the test tables after the run relative to that of the rows that were loaded."""
    counted = quantity.engine(measurement, "row_bytes_read")
    if not isinstance(measurement, Measurement):
        return Quantity.missing(quantity.NOT_OUR_LOAD)
    if counted.value is None:
        return counted
    if measurement.blocks_after is None or not measurement.blocks_loaded:
        return Quantity.missing("the tables' sizes were not measured")
    return Quantity(measurement.blocks_after / measurement.blocks_loaded)


def begun_pct(measurement: Observed) -> Quantity:
    """Return the share of the operations due in the window that began in it, in %; unknown without a given rate."""
    if not isinstance(measurement, Measurement) or measurement.schedule is None:
        return Quantity.missing(NO_RATE)
    ops = Quantity(float(measurement.paced_ops))
    due = ops.plus(Quantity(measurement.schedule.not_begun))
    return ops.times(100).per(due, "no operation was due in the window")


def not_begun_pct(measurement: Observed) -> Quantity:
    """Return the share of the operations due in the window that did not begin in it, in %."""
    return begun_pct(measurement).times(-1).plus(Quantity(100.0))


def wake_up_late_us(measurement: Observed) -> Quantity:
    """Return the mean time by which sessions woke up late, in µs."""
    schedule = schedule_of(measurement)
    if schedule is None:
        return Quantity.missing(NO_RATE)
    mean = schedule.wake_ups.mean_us()
    return Quantity.missing(NO_WAKE_UP) if mean is None else Quantity(mean)
