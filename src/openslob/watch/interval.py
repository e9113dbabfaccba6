"""What happened between two readings of a server's counters and of its host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from openslob.core.measurement import (
    DEVICE_COUNTERS,
    EVERY_FIGURE,
    DeviceIo,
    EngineDelta,
    HostDelta,
    ObjectIo,
    Observed,
    OtherSessions,
    WaitClass,
    Window,
)
from openslob.core.units import NANOS
from openslob.core.wait_classes import CPU_EVENT, classify_wait
from openslob.host.sampler import difference
from openslob.kinds.run.samplers import SystemReading
from openslob.metrics import CHURNING, METRICS, OF_OWN_LOAD, PRICED, cpu, quantity
from openslob.metrics.quantity import Quantity
from openslob.metrics.waits import CPU_ROW
from openslob.record.model import Figure


@dataclass(frozen=True)
class EventRate:
    """One wait event in an interval: waits per second, mean number of sessions in it, and mean wait in µs.

    ``timed`` tells whether the engine counts and times every wait of the event; else the sessions are those that
    samples saw in it, and the other two are None.
    """

    event: str
    wait_class: WaitClass
    sessions: float
    per_s: float | None = None
    mean_us: float | None = None
    timed: bool = False


class Sort(StrEnum):
    """The order of wait events: by the time spent in them, by their count, or by their mean wait."""

    TIME = "time"
    COUNT = "count"
    LATENCY = "latency"


@dataclass(frozen=True)
class Selection:
    """Which wait events are shown, and in which order.

    An event is shown if its name or its class matches one of ``patterns``, or if there are none. A pattern with ``*``,
    ``?`` or ``[`` must match the whole name, any other one a part of it; case is ignored.
    """

    patterns: Sequence[str] = ()
    sort: Sort = Sort.TIME

    def of(self, waits: Sequence[EventRate]) -> list[EventRate]:
        """Return the events that match, the largest first; those that were only sampled have neither count nor mean."""
        keys: dict[Sort, Callable[[EventRate], float | None]] = {
            Sort.TIME: lambda each: each.sessions,
            Sort.COUNT: lambda each: each.per_s,
            Sort.LATENCY: lambda each: each.mean_us,
        }
        key = keys[self.sort]

        def order(each: EventRate) -> tuple[float, float, str]:
            value = key(each)
            return (-1.0 if value is None else value) * -1, -each.sessions, each.event

        return sorted((each for each in waits if self._matches(each)), key=order)

    def _matches(self, wait: EventRate) -> bool:
        names = (wait.event.lower(), wait.wait_class.value.lower())
        return not self.patterns or any(_matches(name, each.lower()) for each in self.patterns for name in names)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) if set(pattern) & set("*?[") else pattern in name


@dataclass(frozen=True)
class Samples:
    """What the samples of an interval saw: the sessions by event, summed over ``taken`` samples.

    ``hidden``: this user may not see what some sessions do. ``by_instance`` are those of each instance of a cluster, by
    target.
    """

    taken: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    hidden: bool = False
    by_instance: Mapping[str, Samples] = field(default_factory=dict)


@dataclass(frozen=True)
class WatchedInterval:
    """An interval of ``seconds`` that ended at ``end_ns`` of the server's clock.

    ``figures`` are those of a run's summary, by name, as far as they are known without our loop. ``io`` has totals by
    kind of object or file, ``cpu`` the host's CPU time in % by kind. ``by_instance`` are the instances of a cluster by
    target, whose sums these figures are. ``samples`` is how often waits were sampled; ``hidden``: this user could not
    see what some sessions did. ``missed`` readings were due within the interval and could not be made. ``fault`` says
    why no figure of the engine is known, if so.
    """

    end_ns: int
    seconds: float
    figures: Mapping[str, Figure]
    waits: Sequence[EventRate] = ()
    io: Mapping[str, ObjectIo] = field(default_factory=dict)
    cpu: Mapping[str, float] = field(default_factory=dict)
    by_instance: Mapping[str, WatchedInterval] = field(default_factory=dict)
    samples: int = 0
    hidden: bool = False
    missed: int = 0
    fault: str = ""


# What neither needs the work loop nor is known by another name.
_FIGURES = {
    name: metric
    for name, metric in METRICS.items()
    if name not in OF_OWN_LOAD | CHURNING | PRICED and name not in ("client_cpu_per_s", "elapsed_s")
}
# Why the device has no latency in an interval.
NO_DEVICE_READS, NO_DEVICE_WRITES = "the device completed no read", "the device completed no write"
NO_TIME = "no time passed"
_NO_HOST = HostDelta(0.0, 0)


def interval_between(
    before: SystemReading,
    after: SystemReading,
    engine: EngineDelta,
    samples: Samples,
    local: bool,
    instances: Sequence[str] = (),
) -> WatchedInterval:
    """Return what happened between two readings, of which ``engine`` is what the engine counted.

    ``local``: the server is on this host. ``instances`` are the targets of a cluster's instances, in their order.
    """
    host = difference(before.os, after.os)
    counted_s = (after.counters.server_ns - before.counters.server_ns) / NANOS
    # Of a server whose clock was set nothing is known, but this host's clock goes on.
    seconds = host.seconds if EVERY_FIGURE in engine.unknown else counted_s
    whole = _interval(engine, _over(host, seconds), seconds, samples, local)
    parts = {
        target: _instance(part, seconds, samples.by_instance.get(target, Samples()), after.counters.server_ns)
        for target, part in zip(instances, engine.by_instance, strict=False)
    }
    cpu_pct = _cpu_pct(host.cpu) if local and host.cpu else {}
    return replace(whole, end_ns=after.counters.server_ns, cpu=cpu_pct, by_instance=parts)


def _instance(engine: EngineDelta, seconds: float, samples: Samples, end_ns: int) -> WatchedInterval:
    """Return what one instance of a cluster counted itself. What the host counts is not told apart by instance."""
    found = _interval(engine, _NO_HOST, seconds, samples, local=False)
    figures = {name: figure for name, figure in found.figures.items() if figure.why != quantity.NOT_LOCAL}
    return replace(found, end_ns=end_ns, figures=figures)


def _interval(engine: EngineDelta, host: HostDelta, seconds: float, samples: Samples, local: bool) -> WatchedInterval:
    measured = Observed(
        block_size=0,
        cache_bytes=None,
        window=Window(0, round(seconds * NANOS), seconds, None, 0.0, 0.0),
        engine=engine,
        host=host,
        # What some sessions do may be hidden: the time of the others is not that of all.
        waits={} if samples.hidden else samples.events,
        wait_samples=0 if samples.hidden else samples.taken,
        others=OtherSessions(hidden=samples.taken if samples.hidden else 0),
        timeline=(),
        direct_io=None,
        local=local,
    )
    found = {name: (metric.unit, metric.of(measured)) for name, metric in _FIGURES.items()}
    found |= _more_of_host(measured)
    return WatchedInterval(
        end_ns=0,
        seconds=seconds,
        figures={
            name: Figure(value=each.value, unit=unit, why=each.why or None) for name, (unit, each) in found.items()
        },
        waits=_waits(engine, samples, seconds),
        io=engine.by_object,
        samples=samples.taken,
        hidden=samples.hidden,
        fault=engine.unknown.get(EVERY_FIGURE, ""),
    )


def _over(host: HostDelta, seconds: float) -> HostDelta:
    """Return the host's amounts as if they were of so many seconds.

    Host and engine are read one after the other, some milliseconds apart, so that each has a rate of its own.
    """
    if not host.seconds:
        return host
    factor = seconds / host.seconds

    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    amounts: dict[str, Any] = {name: times(getattr(host, name)) for name in _HOST_AMOUNTS}
    return replace(
        host,
        seconds=seconds,
        cpu=host.cpu and {kind: each * factor for kind, each in host.cpu.items()},
        device=host.device and _device_over(host.device, factor),
        **amounts,
    )


_HOST_AMOUNTS = (
    *("server_cpu_s", "sampler_cpu_s", "server_cpus_busy_s", "server_read_bytes", "server_write_bytes"),
    *("driver_cpu_s", "server_runqueue_s", "foreground_cpu_s", "background_cpu_s"),
)


def _device_over(device: DeviceIo, factor: float) -> DeviceIo:
    return replace(device, parts=(), **{name: getattr(device, name) * factor for name in DEVICE_COUNTERS})


def _more_of_host(measured: Observed) -> dict[str, tuple[str, Quantity]]:
    """Return what a run's summary does not have, with its unit: the device's times, memory, and what watching costs."""
    device, host = partial(quantity.device, measured), partial(quantity.host, measured)
    seconds = Quantity(measured.host.seconds)
    return {
        "dev_read_latency_us": ("µs", device("read_ms").times(1000).per(device("reads"), NO_DEVICE_READS)),
        "dev_write_latency_us": ("µs", device("write_ms").times(1000).per(device("writes"), NO_DEVICE_WRITES)),
        "dev_busy_pct": ("%", device("busy_ms").times(0.1).per(seconds, NO_TIME)),
        "page_cache_bytes": ("B", host("page_cache_bytes_after")),
        "memory_available_bytes": ("B", host("memory_available_bytes")),
        "watch_cpu_pct": ("%", host("driver_cpu_s").plus(host("sampler_cpu_s")).times(100).per(seconds, NO_TIME)),
    }


def _cpu_pct(by_kind: Mapping[str, float]) -> dict[str, float]:
    total = cpu.total_s(by_kind)
    counted = {kind: each for kind, each in by_kind.items() if kind not in cpu.COUNTED_WITHIN_OTHERS}
    return {kind: 100 * each / total for kind, each in counted.items()} if total > 0 else {}


def _waits(engine: EngineDelta, samples: Samples, seconds: float) -> tuple[EventRate, ...]:
    """Return the events: those that the engine times by its own figures, all others as the samples saw them."""
    timed = {
        wait.event: EventRate(
            wait.event,
            wait.wait_class,
            wait.time_us / 1e6 / seconds,
            wait.count / seconds,
            wait.time_us / wait.count,
            True,
        )
        for wait in engine.timed_waits
        if wait.count and seconds > 0
    }
    sampled = [
        EventRate(CPU_ROW if event == CPU_EVENT else event, classify_wait(event), count / samples.taken)
        for event, count in samples.events.items()
        if event not in timed and count
    ]
    return (*timed.values(), *sampled)
