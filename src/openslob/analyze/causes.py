"""Why a load was slow for a while: stretches that fall out of the rest, each with its cause and the evidence.

A cause is named only if the data show it; the order of `CAUSES` says which comes first where several do. What a cause
looks like is compared with what is usual in the steps around it that are not slow.

Counters are read once a second, so that a stretch shares its first and last step with its neighbours: the third of its
steps where a series is highest, or lowest, stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np

from openslob.analyze.level import amount as in_words
from openslob.analyze.slow_steps import BRIDGED, LEAST_STEPS, Steps, parts_of, slow_steps
from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array
from openslob.analyze.trace import Mark, Trace
from openslob.core.measurement import Cap

# Steps before and after a stretch that show what is usual.
_BESIDE = 60
_WAITS = "waits."
# The kind of the marks of slow stretches.
SLOW = "slow stretch"
# A share of the sessions: what so many of them wait for may hold the load up.
_MANY = 0.3
# A cause explains a loss if at least this part of it is the cause's.
_PART = 0.5
# Of the CPUs: less is lost in the noise of a second.
_LEAST_CPUS = 0.15
_BUSY = 0.85
# Seconds of tasks that are held back, and of requests, in each second: less happens at any time.
_LEAST_THROTTLED = 0.1
_LEAST_EXCEEDED = 0.05
_LEAST_PRESSURE = 0.1
_LEAST_SILENT_S = 0.7
# A limit is what usually does much more; a rate at a limit varies by less than this, in so many seconds.
_BELOW = 0.9
_REACHED = 0.5
_FLAT = 0.03
_LEAST_FLAT = 4
_LEAST_STALL_MS = 5.0
_STUCK_MS = 900.0
# Pages go to the log whole when they first change after a checkpoint began.
_AFTER_CHECKPOINT_S = 10.0
# Host and server are read at moments of their own: a mark may be so many steps off.
_MARK_STEPS = 1.5
_EXCEEDED = {
    "volume.iops_exceeded": "the volume's IOPS",
    "volume.bytes_exceeded": "the volume's throughput",
    "instance.iops_exceeded": "the IOPS of the machine's type",
    "instance.bytes_exceeded": "the throughput of the machine's type",
}


class Cause(StrEnum):
    """What made a load slow for a while."""

    STOPPED = "server stopped"
    DRIVER = "driver"
    QUOTA = "CPU quota"
    IO_CAP = "I/O cap"
    STALL = "device stall"
    LOCK = "lock"
    MEMORY = "memory"
    CHECKPOINT = "checkpoint"
    LOG_SYNC = "log sync"
    OTHERS_IO = "I/O of others"
    OTHERS_CPU = "CPU taken by others"
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Episode:
    """A stretch in which the load was slow, in seconds after it began, and why.

    ``lost_ops`` is how many operations less were done than usual. ``also`` are further causes that the data show.
    ``rate`` and ``usual_rate`` are operations per second in it, and usually.
    """

    begin_s: float
    end_s: float
    cause: Cause
    evidence: str
    lost_ops: float
    rate: float
    usual_rate: float
    also: tuple[Cause, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class TraceStretch:
    """A stretch of a trace beside what is usual around it.

    ``lost`` is the share of the throughput that it lacks; ``begin_s`` is when the trace begins, for its marks.
    ``cap`` was in force in the stretch, as the course of the whole load shows.
    """

    trace: Trace
    part: Steps
    rest: Steps
    lost: float
    begin_s: float
    cap: Cap | None = None

    def usual(self, name: str) -> float:
        """Return what is usual; NaN if it is not known."""
        known = self._known(name, self.rest)
        return float(np.median(known)) if len(known) else float("nan")

    def high(self, name: str) -> float:
        """Return the mean of the highest third of the stretch; NaN if it is not known."""
        known = np.sort(self._known(name, self.part))
        return float(np.mean(known[-self._third(len(known)) :])) if len(known) else float("nan")

    def low(self, name: str) -> float:
        """Return the mean of the lowest third of the stretch; NaN if it is not known."""
        known = np.sort(self._known(name, self.part))
        return float(np.mean(known[: self._third(len(known))])) if len(known) else float("nan")

    def at_lowest(self, name: str, other: str) -> float:
        """Return the mean of a series in the third of the stretch in which another is lowest; NaN if not known."""
        values, of_other = (self.trace.get(each)[self.part] for each in (name, other))
        known = np.isfinite(values) & np.isfinite(of_other)
        if not known.any():
            return float("nan")
        lowest = np.argsort(of_other[known], kind="stable")[: self._third(int(known.sum()))]
        return float(np.mean(values[known][lowest]))

    def behind(self, name: str) -> float:
        """Return how far the sum of a series has fallen below its highest, just before the stretch."""
        before = np.nan_to_num(self.trace.get(name)[: int(np.argmax(self.part))])
        sums = np.concatenate([[0.0], np.cumsum(before)]) * self.trace.step_s
        return float(np.max(sums) - sums[-1])

    def rises(self, name: str, least: float, times: float = 1.0) -> bool:
        """Return whether a series is above what is usual by ``least``, by so many times, and by more than its noise."""
        usual, high = self.usual(name), self.high(name)
        others = self._known(name, self.rest)
        spread = float(np.median(np.abs(others - usual))) if len(others) else 0.0
        return bool(high - usual >= max(least, 4 * spread) and high >= times * usual)

    @property
    def cores(self) -> float:
        """The CPUs that the server may run on, or those of its host; 1 if neither is known."""
        known = [cores for name in ("server.cores", "host.cores") if np.isfinite(cores := self.usual(name))]
        return known[0] if known else 1.0

    def falls(self, name: str, times: float) -> bool:
        """Return whether a series is below a part of what is usual."""
        return bool(self.low(name) < times * self.usual(name))

    def has_waited_for(self, kind: str) -> bool:
        """Return whether many sessions waited for this kind of resource, or nobody knows."""
        high = self.high(f"share.{kind}")
        return not high < _MANY

    def marks(self, kind: str, before_s: float = 0.0) -> list[Mark]:
        """Return the marks of a kind at or beside the stretch, or so long before it."""
        at = np.flatnonzero(self.part)
        margin = _MARK_STEPS * self.trace.step_s
        begin_s = self.begin_s + at[0] * self.trace.step_s - margin - before_s
        end_s = self.begin_s + (at[-1] + 1) * self.trace.step_s + margin
        return [mark for mark in self.trace.marks if mark.kind == kind and mark.at_s < end_s and mark.until_s > begin_s]

    def _known(self, name: str, steps: Steps) -> Array:
        values = self.trace.get(name)[steps]
        return values[np.isfinite(values)]

    @staticmethod
    def _third(count: int) -> int:
        return max(1, (count + 2) // 3)


def find_stop(look: TraceStretch) -> str | None:
    """Return the evidence that the server answered nobody, though its sessions had work."""
    usual, samples = look.usual("samples"), look.trace.get("samples")[look.part]
    if not usual > 0:
        return None
    silent_s = float(np.sum(np.maximum(0.0, 1 - np.nan_to_num(samples) / usual))) * look.trace.step_s
    idle, starved = look.falls("sessions.busy", 0.6), look.rises("others.cpu", _LEAST_CPUS * look.cores)
    if silent_s < _LEAST_SILENT_S or look.low("samples") > 0.5 * usual or idle or starved:
        return None
    if not look.falls("server.cpu", 0.5):
        return None
    cpu = _instead(look.low("server.cpu"), look.usual("server.cpu"), "CPUs")
    return f"the server answered no question for about {silent_s:.1f} s, and its processes used {cpu}"


def find_quota(look: TraceStretch) -> str | None:
    """Return the evidence that the CPU quota of its control group held the server back."""
    if not look.rises("cgroup.cpu_throttled", _LEAST_THROTTLED):
        return None
    allowed = look.low("cgroup.cpu_quota")
    quota = f" of {allowed:.3g} CPUs" if np.isfinite(allowed) else ""
    held = f"{look.high('cgroup.cpu_throttled'):.2g} s a second instead of {look.usual('cgroup.cpu_throttled'):.2g} s"
    return f"the CPU quota{quota} of the server's control group held its tasks back for {held}"


def find_io_cap(look: TraceStretch) -> str | None:
    """Return the evidence that a limit on I/O held requests back: one that was read, or a rate flat as a limit is."""
    for name, whose in _EXCEEDED.items():
        if look.rises(name, _LEAST_EXCEEDED):
            return f"more was asked than {whose} allow, for {look.high(name):.2g} s of each second"
    for way in ("read", "write"):
        for amount, name, unit in ((f"{way}s", f"{way}_limit", f"{way}s"), (f"{way}_bytes", f"{way}_bytes_limit", "")):
            limit, usual = look.low(f"cgroup.{name}"), look.usual(f"device.{amount}")
            # A rate far below a limit is low for other reasons.
            reached = not look.high(f"device.{amount}") < _REACHED * limit
            if limit < _BELOW * usual and reached and (look.has_waited_for("data_io") or look.has_waited_for("log")):
                said = f"{limit:,.0f} {unit}" if unit else f"{_mb(limit)} of {way}s"
                before = f"{usual:,.0f}" if unit else _mb(usual)
                own = look.low(f"device.{way}_each_ms")
                device = f"; the device itself took {_ms(own)} a {way}" if np.isfinite(own) else ""
                return f"a limit of {said} a second of the server's control group, which usually does {before}{device}"
    return _find_flat(look) or _find_cap(look)


def _find_cap(look: TraceStretch) -> str | None:
    """Return the evidence of the cap on I/O that the course of the whole load shows."""
    cap = look.cap
    if cap is None or cap.kind == "cpu":
        return None
    of = {"both": "all requests"}.get(cap.direction, f"{cap.direction}s")
    return f"a cap of {in_words(cap.cap, cap.unit)} on {of} was in force"


def _find_flat(look: TraceStretch) -> str | None:
    """Return the evidence of a limit that nobody tells: a rate that does not vary, while requests wait longer."""
    inner = np.flatnonzero(look.part)[1:-1]
    if len(inner) < _LEAST_FLAT:
        return None
    for way in ("read", "write"):
        for amount, shown in ((f"{way}s", f"{{:,.0f}} {way}s"), (f"{way}_bytes", "")):
            values = look.trace.get(f"device.{amount}")[inner]
            mean = float(np.mean(values))
            flat = np.isfinite(mean) and mean > 0 and float(np.std(values)) <= _FLAT * mean
            slower = look.rises(f"device.{way}_each_ms", 0.2, 1.5)
            if flat and slower and mean < _BELOW * look.usual(f"device.{amount}"):
                rate = shown.format(mean) if shown else f"{_mb(mean)} of {way}s"
                each = _instead(look.high(f"device.{way}_each_ms"), look.usual(f"device.{way}_each_ms"), "ms")
                return f"the device did {rate} a second, the same in every second, and each took {each}"
    return None


def find_lock(look: TraceStretch) -> str | None:
    """Return the evidence that so many sessions waited for locks as explains the loss."""
    if not look.rises("share.lock", max(0.1, _PART * look.lost)):
        return None
    usual = look.usual("share.lock")
    return f"{look.high('share.lock'):.0%} of the sessions waited for locks, usually {usual:.0%}".replace("%", " %")


def find_checkpoint(look: TraceStretch) -> str | None:
    """Return the evidence that a checkpoint wrote more, or that pages were logged whole after it began."""
    if not look.marks("checkpoint", _AFTER_CHECKPOINT_S):
        return None
    said = [
        f"{_mb(look.high(name))} a second were written instead of {_mb(look.usual(name))}"
        for name in ("device.write_bytes", "engine.write_bytes", "server.write_bytes")
        if look.rises(name, 1e6, 1.5)
    ][:1]
    images = "engine.full_page_images"
    if look.rises(images, 10, 2):
        said.append(
            f"{look.high(images):,.0f} whole pages a second went to the log instead of {look.usual(images):,.0f}"
        )
    return f"a checkpoint ran: {', and '.join(said)}" if said else None


def find_stall(look: TraceStretch) -> str | None:
    """Return the evidence that the device kept its requests, or took far longer for fewer of them.

    A device that moves as many bytes as usual meanwhile does not stall: it has other work, such as a checkpoint's.
    """
    if look.at_lowest("device.bytes", "device.requests") > look.usual("device.bytes"):
        return None
    fewer = look.falls("device.requests", 0.5)
    done = f"it completed {look.low('device.requests'):,.0f} a second instead of {look.usual('device.requests'):,.0f}"
    waited = look.has_waited_for("data_io") or look.has_waited_for("log")
    for way in ("read", "write"):
        name = f"device.{way}_each_ms"
        if fewer and waited and look.rises(name, _LEAST_STALL_MS, 4):
            took = f"{_ms(look.high(name))} instead of {_ms(look.usual(name))}"
            return f"device {way}s took {took}; {done}"
    stuck = look.high("device.busy_ms") > _STUCK_MS and look.falls("device.requests", 0.1)
    return f"the device had requests all the time, but {done}" if stuck and waited else None


def find_lack_of_memory(look: TraceStretch) -> str | None:
    """Return the evidence that memory was short."""
    if look.high("cgroup.oom_kills") > 0:
        return "the kernel killed processes of the server's control group because memory was short"
    if not look.rises("pressure.memory", _LEAST_PRESSURE):
        return None
    high, usual = (100 * share for share in (look.high("pressure.memory"), look.usual("pressure.memory")))
    return f"tasks waited for memory {high:.0f} % of the time, usually {usual:.0f} %"


def find_io_of_others(look: TraceStretch) -> str | None:
    """Return the evidence that others than the server kept its device busy, so that its requests took longer."""
    if not (look.has_waited_for("data_io") or look.has_waited_for("log")):
        return None
    slower = [way for way in ("read", "write") if look.rises(f"device.{way}_each_ms", 0.1, 1.5)]
    for way, verb in (("read", "read from"), ("write", "wrote to")):
        name = f"others.{way}_bytes"
        # What the server wrote before may reach the device now.
        late = look.behind(name) if way == "write" else 0.0
        more = look.high(name) - late / max(1.0, look.part.sum() * look.trace.step_s)
        if slower and look.rises(name, 1e6, 2) and more > _PART * look.usual("device.bytes"):
            each = f"device.{slower[0]}_each_ms"
            took = f"a {slower[0]} took {_ms(look.high(each))} instead of {_ms(look.usual(each))}"
            return f"others than the server {verb} its device {_mb(look.high(name))} a second, and {took}"
    return None


def find_slow_log_sync(look: TraceStretch) -> str | None:
    """Return the evidence that forcing the log to storage took longer."""
    if not (look.rises("log.sync_each_ms", 1.0, 2) and look.has_waited_for("log")):
        return None
    took = f"{_ms(look.high('log.sync_each_ms'))} instead of {_ms(look.usual('log.sync_each_ms'))}"
    return f"a sync of the log took {took}"


def _round(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def find_others_on_cpu(look: TraceStretch) -> str | None:
    """Return the evidence that the hypervisor, or other programs, took the CPU."""
    if look.rises("host.steal", 0.1 * look.cores):
        return f"the hypervisor took {_instead(look.high('host.steal'), look.usual('host.steal'), 'CPUs')}"
    cores, others = look.usual("host.cores"), look.high("others.cpu")
    if look.high("host.busy") < _BUSY * cores or not look.falls("server.cpu", 0.85):
        return None
    fell = look.usual("server.cpu") - look.low("server.cpu")
    # On a host that is busy anyway, others can't take much more: what the server lacks is what they took.
    if look.rises("others.cpu", min(_LEAST_CPUS * look.cores, _PART * fell)):
        used = _instead(others, look.usual("others.cpu"), "CPUs")
        server = _instead(look.low("server.cpu"), look.usual("server.cpu"), "CPUs")
        return f"other programs used {used}, and the server {server}, of {cores:.0f}"
    return None


def find_busy_driver(look: TraceStretch) -> str | None:
    """Return the evidence that sessions were idle because this program did not begin their next operations."""
    if not look.falls("sessions.busy", 0.6):
        return None
    busy = _instead(look.low("sessions.busy"), look.usual("sessions.busy"), "sessions")
    return f"{busy} were inside operations: this program did not begin their next ones"


def find_stopped_driver(look: TraceStretch) -> str | None:
    """Return the evidence that this program did nothing at all: it took no sample either."""
    return find_busy_driver(look) if look.falls("samples", 0.2) and look.falls("sessions.busy", 0.15) else None


def find_maintenance(look: TraceStretch) -> str | None:
    """Return the evidence that the server's own maintenance read or wrote."""
    if not look.marks("maintenance"):
        return None
    for name, verb in (("server.read_bytes", "read"), ("server.write_bytes", "written")):
        if look.rises(name, 1e6, 1.5):
            return f"maintenance ran: {_mb(look.high(name))} a second were {verb} instead of {_mb(look.usual(name))}"
    return None


def describe_change(look: TraceStretch) -> str:
    """Return what was recorded of a stretch whose cause it does not show."""
    shown = {
        "server.cpu": "server's CPUs", "others.cpu": "others' CPUs", "device.requests": "device requests a second",
        "device.read_each_ms": "ms a device read", "device.write_each_ms": "ms a device write",
    }  # fmt: skip
    said = [
        f"{label} {_round(look.high(name))} (usually {_round(look.usual(name))})"
        for name, label in shown.items()
        if np.isfinite(look.high(name)) and np.isfinite(look.usual(name))
    ]
    return f"nothing recorded explains it: {', '.join(said) or 'neither host nor waits were recorded'}"


def _instead(now: float, usual: float, unit: str) -> str:
    return f"{now:.2g} {unit} instead of {usual:.2g}"


def _ms(value: float) -> str:
    return f"{value:.3g} ms" if value < 100 else f"{value:,.0f} ms"


def _mb(value: float) -> str:
    return f"{value / 1e6:,.3g} MB" if value < 1e9 else f"{value / 1e6:,.0f} MB"


CAUSES: tuple[tuple[Cause, Callable[[TraceStretch], str | None]], ...] = (
    (Cause.STOPPED, find_stop),
    (Cause.DRIVER, find_stopped_driver),
    (Cause.QUOTA, find_quota),
    (Cause.IO_CAP, find_io_cap),
    (Cause.LOCK, find_lock),
    (Cause.STALL, find_stall),
    (Cause.CHECKPOINT, find_checkpoint),
    (Cause.MEMORY, find_lack_of_memory),
    (Cause.OTHERS_IO, find_io_of_others),
    (Cause.LOG_SYNC, find_slow_log_sync),
    (Cause.OTHERS_CPU, find_others_on_cpu),
    (Cause.DRIVER, find_busy_driver),
    (Cause.MAINTENANCE, find_maintenance),
)


def episodes(trace: Trace, cap: Cap | None = None) -> list[Episode]:
    """Return the slow stretches of a load, in the order of time; ``cap`` is what held the load back for a while."""
    slow, usual = slow_steps(trace)
    if not slow.any():
        return []
    whole = Trace(trace.begin_ns, trace.step_s, _with_means(trace), trace.marks)

    def find(begin: int, end: int) -> Episode:
        return _episode(whole, slow, usual, begin, end, cap)

    return [each for begin, end in stretches(slow, BRIDGED) for each in _by_cause(parts_of(trace, begin, end), find)]


def _by_cause(parts: Sequence[tuple[int, int]], found: Callable[[int, int], Episode]) -> Iterator[Episode]:
    """Yield the episodes of the parts of a stretch: those with one cause one after the other are one."""
    for _, same in groupby(parts, lambda part: found(*part).cause):
        of_cause = list(same)
        yield found(of_cause[0][0], of_cause[-1][1])


def _episode(trace: Trace, slow: Steps, usual: Array, begin: int, end: int, cap: Cap | None) -> Episode:
    """Return the episode of the steps from ``begin`` to before ``end``, with its first cause that the data show."""
    ops, before = trace.get("ops")[begin:end], usual[begin:end]
    rate, usual_rate = float(np.nanmean(ops)), float(np.nanmean(before))
    first, last = max(0, begin - _BESIDE), end + _BESIDE
    if (~slow[first:last]).sum() < LEAST_STEPS:
        first, last = 0, len(slow)
    near = {name: values[first:last] for name, values in trace.series.items()}
    part = np.zeros(len(slow[first:last]), bool)
    part[begin - first : end - first] = True
    beside = Trace(trace.begin_ns, trace.step_s, near, trace.marks)
    missing = max(0.0, 1 - rate / usual_rate) if usual_rate > 0 else 0.0
    held = cap if cap and _is_under(cap, begin * trace.step_s, end * trace.step_s) else None
    look = TraceStretch(beside, part, ~slow[first:last], missing, first * trace.step_s, held)
    shown = [(cause, said) for cause, says in CAUSES if (said := says(look))]
    (cause, what), *others = shown or [(Cause.UNKNOWN, describe_change(look))]
    # What the server leaves of the CPU while it is held up, others take: that is no cause then.
    also = tuple(dict.fromkeys(other for other, _ in others if other not in (cause, Cause.OTHERS_CPU)))
    lost = max(0.0, float(np.nansum(before - ops)) * trace.step_s)
    return Episode(begin * trace.step_s, end * trace.step_s, cause, what, lost, rate, usual_rate, also)


def _is_under(cap: Cap, begin_s: float, end_s: float) -> bool:
    """Return whether a cap that was not always in force was so for most of a time."""
    under_s = sum(max(0.0, min(end_s, last) - max(begin_s, first)) for first, last in cap.held)
    return not cap.always and under_s > (end_s - begin_s) / 2


def _with_means(trace: Trace) -> dict[str, Array]:
    """Return the series, and what follows from several of them."""
    get = trace.get
    waits = {name.removeprefix(_WAITS): each for name, each in trace.series.items() if name.startswith(_WAITS)}
    kinds = {"data_io", "log", "lock", *waits}
    with np.errstate(divide="ignore", invalid="ignore"):
        every = np.sum(list(waits.values()), axis=0) if waits else get("waits.cpu")
        return {
            **trace.series,
            # A kind that was never seen is none of what was.
            **{f"share.{kind}": waits.get(kind, np.zeros(trace.steps)) / every for kind in kinds},
            "others.cpu": get("host.busy") - get("server.cpu") - np.nan_to_num(get("driver.cpu")),
            "others.read_bytes": get("device.read_bytes") - get("server.read_bytes"),
            "others.write_bytes": get("device.write_bytes") - get("server.write_bytes"),
            "device.requests": get("device.reads") + get("device.writes"),
            "device.bytes": get("device.read_bytes") + get("device.write_bytes"),
            "device.read_each_ms": get("device.read_ms") / get("device.reads"),
            "device.write_each_ms": get("device.write_ms") / get("device.writes"),
            "log.sync_each_ms": get("engine.log_sync_time_us") / get("engine.log_syncs") / 1e3,
            "engine.read_each_ms": get("engine.read_time_us") / get("engine.read_requests") / 1e3,
        }
