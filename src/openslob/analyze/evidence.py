"""What shows each cause of a slow stretch, and how much of the time that the stretch lost it explains.

A finder returns None unless the data show what separates its cause from others. Where they fit another cause as well,
its evidence is only `Strength.POSSIBLE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from openslob.analyze.level import ProbeAnswer
from openslob.analyze.outcome import amount as in_words
from openslob.analyze.trace_stretch import TraceStretch
from openslob.analyze.verdicts.level import FLUSHES_MATTER, cap_in_words
from openslob.core.units import MIB

# Of the CPUs: less is lost in the noise of a second.
_LEAST_CPUS = 0.15
_BUSY = 0.85
# Seconds of tasks that are held back, and of requests, in each second: less happens at any time.
_LEAST_THROTTLED = 0.1
_LEAST_EXCEEDED = 0.05
_LEAST_PRESSURE = 0.1
_LEAST_SILENT_S = 0.7
# Threads that wait for a CPU: fewer do at any time.
_LEAST_QUEUED = 0.2
# Of a server whose threads wait for a CPU all the time, the part of its CPU time that others leave it.
_LESS_CPU = 0.9
# A limit is what usually does much more.
_BELOW = 0.9
_REACHED = 0.5
_STEADY = 0.1
# A device that completes less than this part of its requests has nearly stopped, if they are so many a second.
_STOPPED, _LEAST_REQUESTS = 0.02, 10.0
_LEAST_STALL_MS = 5.0
_STUCK_MS = 900.0
# Requests that take so many times as long, and so much longer, take longer.
_LONGER, _LEAST_LONGER_MS = 1.5, 0.02
# What shows how long a sync of the log takes, the most exact first.
_SYNCS = {
    "log.sync_each_ms": "a sync of the log took",
    "log.between_ms": "sessions waited for the log, and its syncs came every",
    "device.write_each_ms": "a write of the device took",
}
# Where less than this part of the device's requests are writes, sessions wait for others.
_LEAST_WRITES = 0.05
# Of what others use more of the CPU, less than this part is that of niced programs, if these are not it.
_FEW_NICED = 0.2
# Others' requests, and how long the device's take, rise together from this correlation on.
_TOGETHER = 0.5
# Pages go to the log whole when they first change after a checkpoint began.
_AFTER_CHECKPOINT_S = 10.0
# So many for each operation matter.
_LEAST_IMAGES = 0.05
_EXCEEDED = {
    "volume.iops_exceeded": "the volume's IOPS",
    "volume.bytes_exceeded": "the volume's throughput",
    "instance.iops_exceeded": "the IOPS of the machine's type",
    "instance.bytes_exceeded": "the throughput of the machine's type",
}
_IO = ("data_io", "log")


class Strength(IntEnum):
    """How far evidence goes: what was recorded of a cause itself is more than what it left in other figures.

    A ``SYMPTOM`` is what a cause that nothing shows did to the server. What is ``POSSIBLE`` looks the same as another.
    """

    POSSIBLE = 0
    SYMPTOM = 1
    SHOWN = 2
    RECORDED = 3


@dataclass(frozen=True)
class Evidence:
    """A sentence, the share of the lost time that it explains (NaN if that is not known), and its strength."""

    text: str
    share: float
    strength: Strength = Strength.SHOWN


def find_stop(look: TraceStretch) -> Evidence | None:
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
    text = f"the server answered no question for about {silent_s:.1f} s, and its processes used {cpu}"
    return Evidence(text, _at_rest(look, silent_s / look.seconds), Strength.RECORDED)


def find_quota(look: TraceStretch) -> Evidence | None:
    """Return the evidence that the CPU quota of its control group held the server back."""
    if not look.rises("cgroup.cpu_throttled", _LEAST_THROTTLED):
        return _find_hidden_quota(look)
    allowed = look.low("cgroup.cpu_quota")
    quota = f" of {allowed:.3g} CPUs" if np.isfinite(allowed) else ""
    held, usual = look.high("cgroup.cpu_throttled"), look.usual("cgroup.cpu_throttled")
    text = f"the CPU quota{quota} of the server's control group held its tasks back for {held:.2g} s a second"
    # The kernel counts the CPUs on which tasks were held back, and not how many.
    share = _most(_share_queued(look), _at_rest(look, (held - usual) / look.cores))
    return Evidence(f"{text} instead of {usual:.2g} s", share, Strength.RECORDED)


def _find_hidden_quota(look: TraceStretch) -> Evidence | None:
    """Return the evidence that the server's threads waited for a CPU though there were some to be had.

    Where others use all that is left anyway, they also use what a quota takes from the server.
    """
    if not _is_queue_longer(look):
        return None
    cores = look.usual("cpus.all")
    idle = cores - look.high("cpus.busy")
    if idle > _LEAST_CPUS * cores:
        unused = f"{idle:.2g} of its {cores:.0f} CPUs were idle"
        text = f"{_say_queue(look)}, though {unused}, as under {_say_quota(look)} that can't be read"
        return Evidence(text, _share_queued(look))
    if _may_be_quota(look):
        text = f"{_say_queue(look)}, and whether it had {_say_quota(look)} can't be read"
        return Evidence(text, _share_queued(look), Strength.POSSIBLE)
    return None


def _say_quota(look: TraceStretch) -> str:
    """Return a quota that can't be read as what the server used under it."""
    used = look.typical("server.cpu")
    return f"a quota of about {used:.3g} CPUs" if np.isfinite(used) else "a quota"


def _may_be_quota(look: TraceStretch) -> bool:
    """Return whether a quota would look the same as others who take the CPU: all is in use, and nobody sees quotas.

    What a quota leaves is taken by programs that had next to nothing before beside a busy server: by niced ones. Others
    that want the CPU have their share of it, quota or not.
    """
    busy = look.usual("cpus.busy") >= _BUSY * look.usual("cpus.all")
    more, niced = (look.high(name) - look.usual(name) for name in ("others.cpu", "host.nice"))
    return bool(busy) and not look.is_known("cgroup.cpu_throttled") and not niced < _FEW_NICED * more


def find_io_cap(look: TraceStretch) -> Evidence | None:
    """Return the evidence that a limit on I/O held requests back: one that was read, found, or only possible."""
    for name, whose in _EXCEEDED.items():
        if look.rises(name, _LEAST_EXCEEDED):
            text = f"more was asked than {whose} allow, for {look.high(name):.2g} s of each second"
            return Evidence(text, look.share_of(*_IO), Strength.RECORDED)
    return _find_limit(look) or _find_cap(look) or _find_longer(look)


def _find_limit(look: TraceStretch) -> Evidence | None:
    """Return the evidence of a limit of the server's control group, which its requests reached."""
    for way in ("read", "write"):
        for amount, name, unit in ((f"{way}s", f"{way}_limit", f"{way}s"), (f"{way}_bytes", f"{way}_bytes_limit", "")):
            rate = look.first_known(f"server.{amount}", f"device.{amount}")
            limit, usual = look.low(f"cgroup.{name}"), look.usual(rate)
            # A rate far below a limit is low for other reasons.
            if limit < _BELOW * usual and not look.high(rate) < _REACHED * limit:
                said = f"{limit:,.0f} {unit}" if unit else f"{_mb(limit)} of {way}s"
                before = f"{usual:,.0f}" if unit else _mb(usual)
                own = look.low(f"device.{way}_each_ms")
                device = f"; the device itself took {_ms(own)} a {way}" if np.isfinite(own) else ""
                text = f"a limit of {said} a second of the server's control group, "
                text += f"whose {_whose(rate)} usually does {before}{device}"
                return Evidence(text, look.share_of(*_IO), Strength.RECORDED)
    return None


def _whose(name: str) -> str:
    """Return whose counter a series is."""
    return name.partition(".")[0]


def _find_cap(look: TraceStretch) -> Evidence | None:
    """Return the evidence of the cap on I/O that the course of the whole load shows."""
    cap = look.cap
    if cap is None or cap.kind == "cpu":
        return None
    return Evidence(f"a{cap_in_words(cap)[1:]} was in force", look.share_of(*_IO))


def _find_longer(look: TraceStretch) -> Evidence | None:
    """Return the evidence that requests waited longer, and fewer were done: a cap does that, and so does latency.

    Only a load's whole course, a limit that was read or a probe tell the two apart.
    """
    if look.answer is ProbeAnswer.LATENCY:
        return None
    syncs = look.first_known(*_SYNCS)
    # Where reads take no longer, sessions that wait for data wait for writes, which the server does not time.
    waits_for_data = look.share_of(_IO[0]) > look.share_of(_IO[1])
    unread = waits_for_data and not look.rises(_read_each(look), _LEAST_LONGER_MS, _LONGER)
    writes, log = _IO[: _writes_matter(look)], _waits_for_log(look, syncs)
    written, all_io = (*writes[:unread], *log), (*writes, *log)
    ways = (("read", _read_each(look), _IO[:1]), ("write", syncs, written), ("write", "device.write_each_ms", all_io))
    slower = [(way, look.share_of(*kinds)) for way, each, kinds in ways if look.rises(each, _LEAST_LONGER_MS, _LONGER)]
    if slower and slower[0][0] == "read":
        # Sessions that wait for data do so for reads then, and not for the device's writes.
        slower = slower[:2]
    if not slower:
        return None
    way, share = max(slower, key=lambda each: float(np.nan_to_num(each[1])))
    limit = f"a limit of about {_say_level(look, way)} on {way}s"
    if look.answer is ProbeAnswer.CAP:
        return Evidence(f"{limit}: {look.probe}", share)
    return Evidence(f"{limit} would do the same", share, Strength.POSSIBLE)


def _say_level(look: TraceStretch, way: str) -> str:
    """Return what was done in a stretch in both units that a limit may have."""
    flushes = np.nan_to_num(look.typical("device.flushes")) if way == "write" else 0.0
    requests = look.typical(look.first_known(f"server.{way}s", f"device.{way}s"))
    of_bytes = look.first_known(f"server.{way}_bytes" if way == "read" else "", f"device.{way}_bytes")
    said = in_words(requests - flushes, "IOPS")
    said += f" or {in_words(requests, 'IOPS')} with flushes" if flushes > FLUSHES_MATTER * requests else ""
    return f"{said} or {in_words(look.typical(of_bytes) / MIB, 'MB/s')}"


def _server(name: str) -> str:
    return "device" if _whose(name) == "device" else "server"


def find_lock(look: TraceStretch) -> Evidence | None:
    """Return the evidence that more sessions waited for locks."""
    if not look.rises("sessions.lock", 0.1 * look.usual("sessions.active")):
        return None
    high, usual = (min(1.0, of("sessions.lock") / max(of("sessions.active"), 1e-9)) for of in (look.high, look.usual))
    said = f"{high:.0%} of the sessions waited for locks, usually {usual:.0%}".replace("%", " %")
    return Evidence(said, look.share_of("lock"), Strength.RECORDED)


def find_checkpoint(look: TraceStretch) -> Evidence | None:
    """Return the evidence that a checkpoint wrote more, or that pages were logged whole after it began.

    Either makes the device write more: where it writes less than usual, something else holds the load back.
    """
    if not look.marks("checkpoint", _AFTER_CHECKPOINT_S):
        return None
    if look.high("device.write_bytes") < _BELOW * look.usual("device.write_bytes"):
        return None
    said: list[str] = []
    kinds: tuple[str, ...] = ("log", "lock", "cpu")
    own = 1.0
    for name in ("server.write_bytes", "engine.write_bytes", "device.write_bytes"):
        if look.rises(name, 1e6, 1.5) and not said:
            said.append(f"{_mb(look.high(name))} a second were written instead of {_mb(look.usual(name))}")
            kinds = (*_IO, "lock")
            # What the device alone counts may be the server's of before.
            own = 1.0 if _whose(name) == "device" else 1 - _others_part(look, "write")
    images = "engine.full_page_images"
    if look.rises(images, _LEAST_IMAGES * look.usual("ops"), 2):
        said.append(
            f"{look.high(images):,.0f} whole pages a second went to the log instead of {look.usual(images):,.0f}"
        )
    if not said:
        return None
    # Samples of stages show waits for the log, and none for locks.
    share = _most(look.share_of(*kinds), look.share_of(*(kind for kind in kinds if kind in _IO)))
    return Evidence(f"a checkpoint ran: {', and '.join(said)}", own * share)


def find_stall(look: TraceStretch) -> Evidence | None:
    """Return the evidence that the device kept its requests, or took far longer for fewer of them.

    A device that moves as many bytes as usual meanwhile does not stall: it has other work, such as a checkpoint's. Nor
    does one that completes as many requests in each second, however few, unless that is next to none: each of them
    takes longer.
    """
    if look.at_lowest("device.bytes", "device.requests") > look.usual("device.bytes"):
        return None
    uneven = look.unevenness("device.requests")
    for way, kinds in (("read", _IO[:1]), ("write", _IO)):
        name, count = _each(way), f"device.{way}s"
        fewer, stopped = look.falls("device.requests", 0.5), look.falls(count, _STOPPED)
        fewer &= look.usual(count) >= _LEAST_REQUESTS
        if fewer and look.rises(name, _LEAST_STALL_MS, 4) and (stopped or (uneven or 0.0) >= _STEADY):
            took = f"{_ms(look.high(name))} instead of {_ms(look.usual(name))}"
            done = f"it completed {look.low(count):,.0f} a second instead of {look.usual(count):,.0f}"
            strength = Strength.SHOWN if stopped else Strength.SYMPTOM
            return Evidence(f"device {way}s took {took}; {done}", look.share_of(*kinds), strength)
    stuck = look.high("device.busy_ms") > _STUCK_MS and look.falls("device.requests", 0.1)
    done = f"it completed {look.low('device.requests'):,.0f} a second instead of {look.usual('device.requests'):,.0f}"
    return Evidence(f"the device had requests all the time, but {done}", look.share_of(*_IO)) if stuck else None


def find_lack_of_memory(look: TraceStretch) -> Evidence | None:
    """Return the evidence that memory was short."""
    if look.high("cgroup.oom_kills") > 0:
        text = "the kernel killed processes of the server's control group because memory was short"
        return Evidence(text, 1.0, Strength.RECORDED)
    if not look.rises("pressure.memory", _LEAST_PRESSURE):
        return None
    high, usual = look.high("pressure.memory"), look.usual("pressure.memory")
    text = f"tasks waited for memory {100 * high:.0f} % of the time, usually {100 * usual:.0f} %"
    return Evidence(text, _at_rest(look, high - usual), Strength.RECORDED)


def find_io_of_others(look: TraceStretch) -> Evidence | None:
    """Return the evidence that others than the server used its device, and its requests took longer just then."""
    slower = [way for way in ("read", "write") if look.rises(f"device.{way}_each_ms", _LEAST_LONGER_MS, _LONGER)]
    for way, verb in (("read", "read from"), ("write", "wrote to")):
        part = _others_part(look, way)
        together = [each for each in slower if look.together(_of_others(look, way), _each(each)) >= _TOGETHER]
        if part <= 0 or not together:
            continue
        each = _each(together[0])
        took = f"a {together[0]} took {_ms(look.high(each))} instead of {_ms(look.usual(each))}"
        name = _of_others(look, way)
        rate = _mb(look.high(name)) if name.endswith("bytes") else f"{look.high(name):,.0f} times"
        verbs = f"others than the server {verb} its device {rate} a second, and {took}"
        return Evidence(verbs, look.share_of(*_IO) * part)
    return None


def _each(way: str) -> str:
    return f"device.{way}_each_ms"


def _of_others(look: TraceStretch, way: str) -> str:
    """Return the series of others' requests, or of their bytes, whichever is more beside the device's usual."""
    name = f"others.{way}_bytes"
    if way == "write":
        return name
    of_bytes, of_requests = (
        (look.high(each) - look.usual(each)) / max(look.usual(whole), 1e-9)
        for each, whole in ((name, "device.bytes"), ("others.reads", "device.requests"))
    )
    return "others.reads" if of_requests > of_bytes else name


def _others_part(look: TraceStretch, way: str) -> float:
    """Return which part of what the device did more is others'; 0 if they did little."""
    name = _of_others(look, way)
    whole, least = ("device.bytes", 1e6) if name.endswith("bytes") else ("device.requests", 50.0)
    # What the server wrote before may reach the device now.
    late = look.behind(name) / look.seconds if way == "write" else 0.0
    more = look.high(name) - look.usual(name) - late
    if not look.rises(name, least, 2) or not look.high(name) > least or not more > 0.25 * look.usual(whole):
        return 0.0
    servers = "server.write_bytes" if way == "write" else "server.read_bytes" if whole.endswith("bytes") else ""
    own = max(0.0, look.high(servers) - look.usual(servers)) if servers and look.is_known(servers) else 0.0
    return float(more / (more + own))


def _read_each(look: TraceStretch) -> str:
    return look.first_known("engine.read_each_ms", "device.read_each_ms")


def find_slow_reads(look: TraceStretch) -> Evidence | None:
    """Return the evidence that reads took longer: by the server's clock, beside the device's, or by that alone."""
    by_server, device = _read_each(look), "device.read_each_ms"
    if not look.rises(by_server, _LEAST_LONGER_MS, _LONGER):
        return None
    text = f"a read took the {_server(by_server)} {_ms(look.high(by_server))} instead of {_ms(look.usual(by_server))}"
    return Evidence(text + _beside(look, by_server, device), look.share_of("data_io"), Strength.SYMPTOM)


def find_slow_writes(look: TraceStretch) -> Evidence | None:
    """Return the evidence that sessions waited for the device's writes, and not for reads, which took no longer."""
    each = "device.write_each_ms"
    if look.rises(_read_each(look), _LEAST_LONGER_MS, _LONGER) or not look.rises(each, _LEAST_LONGER_MS, _LONGER):
        return None
    if not _writes_matter(look):
        return None
    text = f"a write of the device took {_ms(look.high(each))} instead of {_ms(look.usual(each))}"
    return Evidence(text, look.share_of("data_io"), Strength.SYMPTOM)


def _writes_matter(look: TraceStretch) -> bool:
    """Return whether the device wrote enough for sessions that wait for data to have waited for that."""
    return bool(look.usual("device.writes") >= _LEAST_WRITES * look.usual("device.requests"))


def _beside(look: TraceStretch, name: str, device: str) -> str:
    """Return what the device took meanwhile; empty where that is not known, or already said."""
    if name == device or not look.is_known(device):
        return ""
    if look.rises(device, _LEAST_LONGER_MS, _LONGER):
        return f", and the device {_ms(look.high(device))} instead of {_ms(look.usual(device))}"
    return f", but the device {_ms(look.high(device))}: the time was lost before it"


def find_slow_log_sync(look: TraceStretch) -> Evidence | None:
    """Return the evidence that forcing the log to storage took longer: by the server's clock, or by what waited for it.

    Where the server does not time it, commits that waited for it longer show that; else the device's writes.
    """
    each = look.first_known(*_SYNCS)
    if not look.rises(each, _LEAST_LONGER_MS, _LONGER):
        return None
    text = f"{_SYNCS[each]} {_ms(look.high(each))} instead of {_ms(look.usual(each))}"
    share = look.share_of(*_waits_for_log(look, each))
    return Evidence(text + _beside(look, each, "device.write_each_ms"), share, Strength.SYMPTOM)


def _waits_for_log(look: TraceStretch, syncs: str) -> tuple[str, ...]:
    """Return the kinds of time in which sessions wait for the log.

    A server that does not time its syncs has waits without a name besides: who needs a free page waits until others are
    written, and these until the log is.
    """
    untimed = syncs == "log.between_ms" and look.is_known("sessions.unnamed")
    return ("log", "unnamed") if untimed else ("log",)


def find_others_on_cpu(look: TraceStretch) -> Evidence | None:
    """Return the evidence that the hypervisor, or other programs, took the CPU while the server waited for it.

    That others use CPUs is no cause by itself: they may have what the server leaves, and give way to it.
    """
    steal, usual = look.high("host.steal"), look.usual("host.steal")
    stolen = f"the hypervisor took {_instead(steal, usual, 'CPUs')}"
    is_stolen = look.rises("host.steal", 0.1 * look.cores)
    is_taken = has_more_of_others(look) and _is_queue_longer(look)
    # What the hypervisor took is in what others used: it takes more where more is used.
    by_hypervisor = steal - usual
    by_programs = look.high("others.cpu") - look.usual("others.cpu") - by_hypervisor
    if is_stolen and not (is_taken and by_programs > by_hypervisor):
        share = _most(look.share_of("cpu"), _share_queued(look), _at_rest(look, by_hypervisor / look.cores))
        return Evidence(stolen, share, Strength.RECORDED)
    if not is_taken:
        return None
    used = _instead(look.high("others.cpu"), look.usual("others.cpu"), "CPUs")
    server = _instead(look.low("server.cpu"), look.usual("server.cpu"), "CPUs")
    text = f"other programs used {used}, and the server {server}, of {look.usual('cpus.all'):.0f}; {_say_queue(look)}"
    text = f"{text}; {stolen}" if is_stolen else text
    return Evidence(text, _share_queued(look), Strength.POSSIBLE if _may_be_quota(look) else Strength.SHOWN)


def has_more_of_others(look: TraceStretch) -> bool:
    """Return whether the host was busy and other programs used more of it than usual."""
    if look.high("cpus.busy") < _BUSY * look.usual("cpus.all"):
        return False
    fell = max(0.0, look.usual("server.cpu") - look.low("server.cpu"))
    # On a host that is busy anyway, others can't take much more: what the server lacks is what they took.
    return look.rises("others.cpu", min(_LEAST_CPUS * look.cores, 0.5 * fell)) if fell else False


def _is_queue_longer(look: TraceStretch) -> bool:
    """Return whether more of the server's threads waited for a CPU, or as many for fewer operations.

    Where most sessions always wait for one, hardly more can.
    """
    if look.rises("sessions.queue", _LEAST_QUEUED):
        return True
    is_full = look.usual("sessions.queue") >= look.usual("cpus.all") <= look.low("sessions.queue")
    return bool(is_full and look.falls("server.cpu", _LESS_CPU) and look.extra_s("queue") > 0)


def _say_queue(look: TraceStretch) -> str:
    high, usual, pressure = look.high("sessions.queue"), look.usual("sessions.queue"), look.high("pressure.cpu")
    text = f"{high:.2g} threads of the server waited for a CPU instead of {usual:.2g}"
    return f"{text}, and tasks {100 * pressure:.0f} % of the time (PSI)" if np.isfinite(pressure) else text


def _share_queued(look: TraceStretch) -> float:
    return look.share_of("queue") if look.is_known("sessions.queue") else float("nan")


def find_busy_driver(look: TraceStretch) -> Evidence | None:
    """Return the evidence that sessions were idle because this program did not begin their next operations."""
    if not look.falls("sessions.busy", 0.6):
        return None
    busy = _instead(look.low("sessions.busy"), look.usual("sessions.busy"), "sessions")
    text = f"{busy} were inside operations: this program did not begin their next ones"
    idle = 1 - float(np.nanmean(look.trace.get("sessions.busy")[look.part])) / look.usual("sessions.busy")
    return Evidence(text, _at_rest(look, idle), Strength.RECORDED)


def find_stopped_driver(look: TraceStretch) -> Evidence | None:
    """Return the evidence that this program did nothing at all: it took no sample either."""
    return find_busy_driver(look) if look.falls("samples", 0.2) and look.falls("sessions.busy", 0.15) else None


def find_maintenance(look: TraceStretch) -> Evidence | None:
    """Return the evidence that the server's own maintenance read or wrote."""
    if not look.marks("maintenance"):
        return None
    for name, verb in (("server.read_bytes", "read"), ("server.write_bytes", "written")):
        if look.rises(name, 1e6, 1.5):
            done = f"{_mb(look.high(name))} a second were {verb} instead of {_mb(look.usual(name))}"
            return Evidence(f"maintenance ran: {done}", look.share_of(*_IO, "lock"))
    return None


def describe_change(look: TraceStretch) -> str:
    """Return what was recorded of a stretch whose cause it does not show."""
    shown = {
        "server.cpu": "server's CPUs", "others.cpu": "others' CPUs", "sessions.queue": "threads waiting for a CPU",
        "device.requests": "device requests a second", "device.read_each_ms": "ms a device read",
        "device.write_each_ms": "ms a device write",
    }  # fmt: skip
    said = [
        f"{label} {_round(look.high(name))} (usually {_round(look.usual(name))})"
        for name, label in shown.items()
        if look.is_known(name)
    ]
    text = f"nothing recorded explains it: {', '.join(said) or 'neither host nor waits were recorded'}"
    if has_more_of_others(look) and not look.is_known("sessions.queue"):
        text += "; whether the server waited for the CPU that others used was not recorded"
    return text


def _at_rest(look: TraceStretch, part: float) -> float:
    """Return the share of the lost time if all sessions stood still for a part of the stretch."""
    return look.explains(max(0.0, part) * look.usual("sessions.active") * look.seconds)


def _most(*shares: float) -> float:
    """Return the highest share that is known; NaN if none is."""
    return max((share for share in shares if np.isfinite(share)), default=float("nan"))


def _instead(now: float, usual: float, unit: str) -> str:
    return f"{now:.2g} {unit} instead of {usual:.2g}"


def _round(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ms(value: float) -> str:
    return f"{value:.3g} ms" if value < 100 else f"{value:,.0f} ms"


def _mb(value: float) -> str:
    return f"{value / 1e6:,.3g} MB" if value < 1e9 else f"{value / 1e6:,.0f} MB"
