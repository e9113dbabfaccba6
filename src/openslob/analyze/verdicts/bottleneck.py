"""The verdicts on what limited the run, storage, CPU or something else, and on whether its time is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from openslob.analyze.limits import (
    CLIENT,
    CPU,
    CPU_QUOTA,
    EITHER,
    GIVEN_RATE,
    HIDDEN_QUOTA,
    INSTANCES,
    IO_CAP,
    LOCKS,
    OTHERS_CPU,
    STORAGE,
    THINK_TIME,
    UNDECIDED,
    UNKNOWN_QUOTA,
    UNKNOWN_USER,
    UNKNOWN_WAIT,
)
from openslob.analyze.other_sessions import BESIDE, has_worked
from openslob.analyze.outcome import Shown, count, fails, holds, unknown, unknown_because
from openslob.analyze.verdicts.course import are_idle, idle_shares_pct
from openslob.analyze.verdicts.environment import quota_figures, quota_says
from openslob.analyze.verdicts.level import cap_in_words
from openslob.analyze.verdicts.mode import is_reached
from openslob.core.measurement import Measurement, Observed, WaitClass
from openslob.core.workload import Loop
from openslob.metrics.quantity import (
    HOST_SPAN,
    Quantity,
    db_time_us,
    device,
    engine,
    engine_host_cpu_s,
    host,
    host_cpu_left_pct,
    part_of_cpu_s,
    server_cpu_s,
    total,
    window_fault,
)
from openslob.metrics.waits import MIN_SAMPLES, db_time_shares, waits_pct
from openslob.record.model import Verdict

# Scheduling and short idle gaps take the last 5 % of a host's CPU: no load can use more.
SATURATED_PCT = 95.0
# A faster resource shortens the time most when sessions spend more than half of their time on it.
MAIN_SHARE_PCT = 50.0
# Of the time that sessions wait for data, the device takes most; the rest goes to file system, engine and run queue.
LEAST_IN_DEVICE = 0.2
# Waits for a CPU below this share of DB time come and go on any host.
LEAST_WAITED_PCT = 10.0
# A share is clearly more than another from here on; less may be either.
CLEARLY = 1.5
# In ordinary runs of two engines on a busy host the parts were 104 to 176 % of DB time. In three of six runs with
# updates of one of them they were 56 to 69 %, and in one whose sessions were stopped for 60 % of the time 54 %.
LEAST_ACCOUNTED_PCT = 90.0
# Standard errors of what samples say. In a thousand runs one differs by more.
_ERRORS = 3
# So many CPUs left, in %, that waits for one are not those of a busy host.
IDLE_PCT = 15.0
# Rates of runs without a cap vary by this share and more from second to second.
FLAT = 0.006


def limit_found(measurement: Measurement) -> Verdict:
    """Judge whether a resource limited the run, so that the figures are the platform's; ``why`` names the resource.

    For a run that reached its given rate, the limit is that rate. Otherwise the limit is the first of: the CPU quota of
    the server's control group, if it was used up in most of its periods; a cap on I/O that held the load back for more
    than half of it (`level_sustained`); what is outside of the server, if the client sends the operations, the CPU was
    not saturated, and the server had a statement for less than half of their time; the CPU, if it was saturated and the
    server used it up, or waited for it, or a driver on its host did with it; think time, if sessions spent more than
    half of the load outside of operations; storage, if they spent more than half of their time in data I/O or in
    writing the log; locks, or other instances of a cluster, if they spent it there. The verdict fails when nothing was
    at its limit, and is unknown when other sessions took their part, when CPU and storage took about as much of the
    time, or when nothing known is the limit and a figure is missing. The device's busy time tells whether storage's
    throughput or its latency was the limit.

    That others use the CPU, or that it is busy, limits nothing by itself: niced programs may give way. The server's
    threads must have waited for it, which the kernel counts. A session that waits for a CPU after its read is seen in
    data I/O still: that time is not storage's. Where the CPU of the whole server can't be known, as in a pluggable
    database, that of its sessions is the least that it used.

    Shares are of DB time, so they prove nothing when sessions were idle (`sessions_busy`). Sessions that waited for
    data while the device had hardly any requests did not wait for storage.
    """
    name, shares = "limit_found", db_time_shares(measurement)
    queued, inside = _cpu_wait_pct(measurement), _in_server_pct(measurement)
    cpu, server, sessions = _cpu_pct(measurement), _server_cpu_pct(measurement), _sessions_cpu_pct(measurement)
    busy, queue = _device_busy_pct(measurement), _device_queue(measurement)
    given = is_reached(measurement) and _have_all_rates(measurement)
    limit = GIVEN_RATE if given else _limit(measurement, cpu, server if sessions.value is None else sessions, shares)
    disturbed = limit != GIVEN_RATE and bool(has_worked(measurement.others))
    doubt = _doubt(measurement, limit, shares, queue)
    figures: dict[str, Shown] = {
        "limit": None if doubt or disturbed or limit in UNDECIDED else limit,
        "cpu_pct": cpu.value,
        "server_cpu_pct": server.value,
        **_known(foreground_cpu_pct=sessions.value),
        "data_io_pct": shares[WaitClass.DATA_IO].value,
        "log_pct": shares[WaitClass.LOG].value,
        "lock_pct": shares[WaitClass.LOCK].value,
        **({"cluster_pct": shares[WaitClass.CLUSTER].value} if WaitClass.CLUSTER in shares else {}),
        **_known(cpu_wait_pct=queued.value, in_server_pct=inside),
        "device_busy_pct": busy.value,
        "device_queue": queue.value,
        **quota_figures(measurement),
    }
    own = f"server {_pct(server)}" if sessions.value is None else f"server's sessions {_pct(sessions)}"
    held_back = f"; {said}" if (said := quota_says(measurement)) else ""
    used = f"CPU {_pct(cpu)} (by the {own}{held_back}), and of DB time: {_say_waits(shares, queued, inside)}"
    if disturbed:
        return unknown(name, f"Can't be determined: {BESIDE}, and what limited the test may be their load.", **figures)
    if limit in UNDECIDED:
        return unknown(name, f"Can't be determined: {UNDECIDED[limit]}: {used}.", **figures)
    if doubt:
        return fails(name, f"{doubt}: {used}; {_state(busy, queue)}.", **figures)
    if limit:
        return holds(name, _describe_limit(measurement, limit, used, busy, queue), **figures)
    if any(quantity.value is None for quantity in (cpu, *shares.values())):
        return unknown_because(name, cpu, *shares.values(), **figures)
    advice = "but a cap may be in force" if _is_flat(measurement) else "so more sessions may do more"
    return fails(name, f"Nothing was at its limit, {advice}: {used}{_evenness(measurement)}.", **figures)


def _say_waits(shares: Mapping[WaitClass, Quantity], queued: Quantity, inside: float | None) -> str:
    waited = ", ".join(f"{kind.value} {_pct(share)}" for kind, share in shares.items())
    waited += f", for a CPU {_pct(queued)}" if queued.value is not None else ""
    return waited + (
        "" if inside is None else f"; the server had a statement for {inside:.0f} % of the operations' time"
    )


def time_is_accounted(measurement: Measurement) -> Verdict:
    """Judge whether the sessions' time inside operations is CPU, waits for a CPU, and other waits.

    The first two are what the kernel counted of the server's processes, and not the samples without a wait: these are
    all of the rest whatever a session did. CPU of background processes, and CPU during a wait, make the sum larger than
    the time. Less means that sessions waited for what the server does not name: inside it, such as for a free page of
    its cache, for memory that was swapped out, for a CPU that a hypervisor gave to others, or they were stopped. Parts
    that are not known are needed only if the others do not make up the time.
    """
    name = "time_is_accounted"
    if fault := window_fault(measurement, HOST_SPAN):
        return unknown(name, f"Can't be determined: {fault}.")
    parts = {
        "cpu_pct": server_cpu_s(measurement).times(1e8).per(db_time_us(measurement), "no DB time"),
        "cpu_wait_pct": _cpu_wait_pct(measurement),
        "waits_pct": waits_pct(measurement),
    }
    figures: dict[str, Shown] = {part: share.value for part, share in parts.items()}
    known = sum(share.value or 0.0 for share in parts.values())
    cpu, queued, waits = (_pct(share) for share in parts.values())
    said = f"Of the sessions' time in operations, CPU is {cpu}, waits for a CPU are {queued} and other waits {waits}"
    samples, waited = sum(measurement.waits.values()), (parts["waits_pct"].value or 0.0) / 100
    error = 100 * _ERRORS * sqrt(max(0.0, waited * (1 - waited)) / samples) if samples else 0.0
    if known >= LEAST_ACCOUNTED_PCT:
        return holds(name, f"{said}.", **figures)
    if None in figures.values():
        return unknown_because(name, *parts.values(), **figures)
    if known + error >= LEAST_ACCOUNTED_PCT:
        return unknown(name, f"Can't be determined with {count(samples)} samples: {said}.", **figures)
    rest = f"{100 - known:.0f} % is none of these: the server has no name for that wait, and its samples show it as CPU"
    return fails(name, f"{said}. {rest}.", **figures, unaccounted_pct=100 - known)


def _describe_limit(measurement: Measurement, limit: str, used: str, busy: Quantity, queue: Quantity) -> str:
    if limit == GIVEN_RATE:
        return f"Not limited: the run reached the given rate with {used}."
    if limit == IO_CAP:
        return f"{_in_force(measurement)}, not what the storage behind it can do: {used}; {_state(busy, queue)}."
    if limit == STORAGE:
        return f"Storage was the limit: {used}; {_device(measurement, busy, queue)}."
    return f"The limit was the {limit}, not storage: {used}."


def _doubt(measurement: Measurement, limit: str | None, shares: dict[WaitClass, Quantity], queue: Quantity) -> str:
    """Return why the shares of DB time do not show what limited the run; empty if they do, or are not needed."""
    if limit not in (GIVEN_RATE, CPU_QUOTA, IO_CAP, CPU, OTHERS_CPU, HIDDEN_QUOTA) and are_idle(measurement):
        return f"The sessions were idle {sum(idle_shares_pct(measurement)):.0f} % of the time, which limited the run"
    if limit == STORAGE and _has_waited_elsewhere(measurement, shares, queue):
        return "The sessions waited for data, but the device had hardly any requests"
    return ""


def _uses_up_quota(measurement: Measurement) -> bool:
    """Return whether the server was held back in most periods of its quota, or used nearly all of it."""
    group, used_s = measurement.host.group, measurement.host.server_cpu_s
    if not measurement.local or group is None or not group.periods_throttled:
        return False
    allowed_s = (group.cpu_quota or 0.0) * measurement.host.seconds
    nearly_all = bool(allowed_s and used_s is not None and 100 * used_s >= SATURATED_PCT * allowed_s)
    return nearly_all or group.throttled_pct > MAIN_SHARE_PCT


def _capped_share(measurement: Measurement) -> float:
    """Return the share of the load for which a cap on I/O held it back."""
    cap = measurement.caps.proven if measurement.caps else None
    if cap is None or cap.kind == "cpu" or measurement.window.load_seconds <= 0:
        return 0.0
    return sum(end - begin for begin, end in cap.held) / measurement.window.load_seconds


def _in_force(measurement: Measurement) -> str:
    cap = measurement.caps.proven if measurement.caps else None
    assert cap is not None
    share = f"for {100 * _capped_share(measurement):.0f} % of the load" if not cap.always else "all the time"
    return f"The limit was a{cap_in_words(cap)[1:]}, in force {share}"


def _have_all_rates(measurement: Measurement) -> bool:
    """Return whether no class of sessions works as fast as it can beside those with a rate."""
    return all(part.workload.is_paced or not part.name for part in measurement.workload.parts)


def _mostly_thinks(measurement: Measurement) -> bool:
    """Return whether sessions with think time were in operations for less than half of the load."""
    if not measurement.workload.thinks or measurement.window.load_seconds <= 0:
        return False
    working_s = total(measurement, "busy_us") / 1e6
    return working_s < len(measurement.sessions) * measurement.window.load_seconds * (1 - MAIN_SHARE_PCT / 100)


def _known(**figures: float | None) -> dict[str, Shown]:
    return {name: value for name, value in figures.items() if value is not None}


def _in_server_pct(measurement: Measurement) -> float | None:
    """Return for which share of the operations' time the server had a statement, by samples, in %.

    None unless the client sends the operations, and where samples do not show it.
    """
    # All operations of a batch wait at the same time.
    busy_us, sampled_us = measurement.busy_us / measurement.workload.pipeline, measurement.sampled_us
    seen = measurement.wait_samples * len(measurement.sessions)
    if measurement.workload.loop is not Loop.CLIENT or sampled_us is None or seen < MIN_SAMPLES or not busy_us:
        return None
    return min(100.0, 100 * sampled_us / busy_us)


def _has_waited_elsewhere(measurement: Measurement, shares: dict[WaitClass, Quantity], queue: Quantity) -> bool:
    """Return whether far fewer requests were in the device than sessions that waited for data.

    A wait for the log says nothing: many sessions wait for one request, and devices do not count flushes.
    """
    waited_s = (db_time_us(measurement).value or 0.0) / 1e6 * (shares[WaitClass.DATA_IO].value or 0) / 100
    if queue.value is None or (shares[WaitClass.LOG].value or 0) > MAIN_SHARE_PCT:
        return False
    return queue.value * measurement.window.load_seconds < LEAST_IN_DEVICE * waited_s


def _limit(measurement: Measurement, cpu: Quantity, server: Quantity, shares: dict[WaitClass, Quantity]) -> str | None:
    if _uses_up_quota(measurement):
        return CPU_QUOTA
    if _capped_share(measurement) > MAIN_SHARE_PCT / 100:
        return IO_CAP
    inside = _in_server_pct(measurement)
    is_outside = inside is not None and inside < MAIN_SHARE_PCT and (cpu.value or 0.0) < SATURATED_PCT
    if found := CLIENT if is_outside else _limit_by_cpu(measurement, cpu, server, shares):
        return found
    if _mostly_thinks(measurement):
        return THINK_TIME
    if any((shares[kind].value or 0) > MAIN_SHARE_PCT for kind in (WaitClass.DATA_IO, WaitClass.LOG)):
        return STORAGE
    others = {WaitClass.LOCK: LOCKS, WaitClass.CLUSTER: INSTANCES}
    waits = (name for kind, name in others.items() if kind in shares and (shares[kind].value or 0) > MAIN_SHARE_PCT)
    return next(waits, None)


def _limit_by_cpu(
    measurement: Measurement, cpu: Quantity, server: Quantity, shares: dict[WaitClass, Quantity]
) -> str | None:
    """Return whose use of the CPU was the limit, or what can't be decided; None if nobody waited for a CPU."""
    busy, waited = cpu.value or 0.0, _cpu_wait_pct(measurement).value
    if (server.value or 0.0) >= SATURATED_PCT:
        return CPU
    whose = _whose_cpu(measurement, cpu, server)
    if waited is None:
        return None if busy < SATURATED_PCT else UNKNOWN_WAIT if whose == OTHERS_CPU else whose
    running = host(measurement, "server_cpu_s").times(1e8).per(db_time_us(measurement), "no DB time").value or 0.0
    on_cpu = min(100.0, running + waited)
    storage = min(100 - on_cpu, sum(shares[kind].value or 0.0 for kind in (WaitClass.DATA_IO, WaitClass.LOG)))
    if waited < LEAST_WAITED_PCT or storage >= CLEARLY * on_cpu:
        return None
    if busy < SATURATED_PCT:
        return HIDDEN_QUOTA if busy < 100 - IDLE_PCT and waited >= CLEARLY * max(storage, running) else None
    if on_cpu < CLEARLY * storage:
        return EITHER
    return UNKNOWN_QUOTA if whose == OTHERS_CPU and measurement.host.group is None else whose


def _whose_cpu(measurement: Measurement, cpu: Quantity, server: Quantity) -> str:
    """Return who used most of the busy CPU: the server, a driver beside it that sent the operations, or others.

    ``server`` may be what its sessions used alone: of the rest nobody knows whose it was.
    """
    of_busy = server.times(100).per(cpu, "no CPU was busy").value
    if of_busy is None or of_busy > MAIN_SHARE_PCT:
        return CPU
    if _server_cpu_pct(measurement).value is None:
        return UNKNOWN_USER
    if measurement.workload.loop is not Loop.CLIENT or measurement.elsewhere:
        return OTHERS_CPU
    both = server.plus(_of_capacity(measurement, "driver_cpu_s")).times(100).per(cpu, "no CPU was busy").value
    return CLIENT if both is not None and both > MAIN_SHARE_PCT else OTHERS_CPU


def _cpu_wait_pct(measurement: Observed) -> Quantity:
    """Return for how long threads of the server waited for a CPU, in % of DB time."""
    return host(measurement, "server_runqueue_s").times(1e8).per(db_time_us(measurement), "no DB time")


def _cpu_pct(measurement: Measurement) -> Quantity:
    """Return how busy the CPUs were that the server may run on, in %: all of the host, or those it is restricted to.

    When single CPUs are not measured, a restricted server is judged by its own CPU time alone.
    """
    if _cores(measurement) == measurement.host.cores:
        return host_cpu_left_pct(measurement).times(-1).plus(Quantity(100.0))
    busy = _of_capacity(measurement, "server_cpus_busy_s")
    return busy if busy.value is not None else _server_cpu_pct(measurement)


def _server_cpu_pct(measurement: Measurement) -> Quantity:
    by_host, own = _of_capacity(measurement, "server_cpu_s"), engine(measurement, "db_cpu_us")
    if by_host.value is not None or own.value is None:
        return by_host
    return own.times(1e-4).per(engine_host_cpu_s(measurement), "the engine counted no CPU time of the host")


def _sessions_cpu_pct(measurement: Measurement) -> Quantity:
    """Return what the server's sessions used of its host's CPU, in %, where that of the whole server is not known."""
    if _server_cpu_pct(measurement).value is not None:
        return Quantity.missing("the CPU of the whole server is known")
    used = part_of_cpu_s(measurement, "foreground_cpu_s")
    return used.times(100).per(engine_host_cpu_s(measurement), "the engine counted no CPU time of the host")


def _of_capacity(measurement: Measurement, seconds: str) -> Quantity:
    capacity = Quantity(measurement.host.seconds * _cores(measurement))
    return host(measurement, seconds).times(100).per(capacity, "the host counters span no time")


def _cores(measurement: Measurement) -> int:
    return measurement.host.server_cores or measurement.host.cores


def _device_busy_pct(measurement: Measurement) -> Quantity:
    return device(measurement, "busy_ms").times(0.1).per(Quantity(measurement.host.seconds), "no time")


def _device_queue(measurement: Measurement) -> Quantity:
    waited = device(measurement, "read_ms").plus(device(measurement, "write_ms"))
    return waited.times(0.001).per(Quantity(measurement.host.seconds), "no time")


def _state(busy: Quantity, queue: Quantity) -> str:
    if busy.value is None or queue.value is None:
        return f"how busy the device was is unknown: {busy.why or queue.why}"
    return f"the device was busy {busy.value:.0f} % of the time with {queue.value:.1f} requests in it on average"


def _device(measurement: Observed, busy: Quantity, queue: Quantity) -> str:
    state = _state(busy, queue)
    if busy.value is None or queue.value is None or busy.value >= SATURATED_PCT:
        return f"{state}{_evenness(measurement)}"
    advice = "" if _is_flat(measurement) else ", and more sessions may do more"
    return f"{state}: its latency set the pace{advice}{_evenness(measurement)}"


def _is_flat(measurement: Observed) -> bool:
    """Return whether the rate hardly varied, so that a cap may be in force: then more sessions do not do more."""
    return measurement.unevenness is not None and measurement.unevenness < FLAT


def _evenness(measurement: Observed) -> str:
    if not _is_flat(measurement):
        return ""
    return f"; the rate varied by {100 * (measurement.unevenness or 0.0):.1f} % only, as under a cap"


def _pct(quantity: Quantity) -> str:
    return "unknown" if quantity.value is None else f"{quantity.value:.0f} %"
