"""Verdicts on a report: conditions under which its figures mean what they seem to mean.

Each verdict holds, fails or is unknown, with its figures. They cover what misleads readers of SLOB's reports: a window
longer than the load, an average over two kinds of I/O, commits without a wait for the log, reads that no device served,
a saturated CPU mistaken for slow storage, time that is neither CPU nor a wait, and blocks mistaken for requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from openslob.awr import rates
from openslob.awr.latency import latency_of
from openslob.awr.model import Bucket, Report, ReportKind, Scope, WaitEvent
from openslob.awr.numbers import Number

IDLE_SHARE = 0.05  # of the window: SLOB idles for 30 s, which is 10 % of its default 300 s and 5 % of 600 s
MODE_SHARE_PCT = 1.0  # a second mode with 1 % of the waits determines the p99
MODE_DISTANCE = 4.0  # the second mode's waits must be four times (two buckets) as long as the first's
VALLEY = 0.5  # and a bucket between them must hold less than half of the smaller mode
SYNC_SHARE = 0.5  # redo syncs per commit; with the PL/SQL commit optimisation there are 97 for 6,400 commits
FEW_COMMITS = 100  # fewer commits are the test's housekeeping
CACHE_US = 50.0  # through a driver and an interrupt, no device answers a single-block read faster on average
MOST_REQUESTS = 5e6  # read requests/s of one instance: twice the vendor's claim for a server of the largest appliance
CPU_SHARE = 0.9  # of all CPUs; above this, every latency includes waiting for CPU
# Of DB time. In ten real reports CPU and waits are 99 to 110 % of it, in four others 23 to 76 %, in two 115 and 194 %.
UNACCOUNTED_PCT = 10.0
BLOCKS_PER_REQUEST = 1.1  # above, blocks/s overstate IOPS by more than 10 %

SINGLE_BLOCK_READS = ("db file sequential read", "cell single block physical read")


@dataclass(frozen=True, slots=True)
class AwrVerdict:
    """Whether the condition ``name`` holds for a report, why, and the figures it was judged by."""

    name: str
    verdict: Literal["holds", "fails", "unknown"]
    why: str
    figures: Mapping[str, float] = field(default_factory=dict)


def verdicts(report: Report, sessions: int | None = None) -> tuple[AwrVerdict, ...]:
    """Return all verdicts on ``report``; ``sessions`` is the number of sessions that ran the load, if known."""
    return (_judge_window(report, sessions), *(check(report) for check in _CHECKS))


def single_block_read(report: Report) -> WaitEvent | None:
    """Return the foreground single-block read event, of an ordinary database or of Exadata."""
    found = (report.foreground(name) for name in SINGLE_BLOCK_READS)
    return next((event for event in found if event is not None), None)


def _unknown(name: str, why: str) -> AwrVerdict:
    return AwrVerdict(name, "unknown", why)


def _judge(name: str, holds: bool, why: str, **figures: float) -> AwrVerdict:
    return AwrVerdict(name, "holds" if holds else "fails", why, figures)


def _judge_window(report: Report, sessions: int | None) -> AwrVerdict:
    """Judge whether DB time is sessions x elapsed time; less means idle time in the window, or think time."""
    name, minutes = "window_is_load", report.header.db_time_min
    elapsed, active_s = rates.find_seconds(report), minutes.scaled(60.0) if minutes else None
    if not sessions:
        return _unknown(name, "the file name does not say how many sessions ran")
    if isinstance(elapsed, str) or active_s is None:
        return _unknown(name, elapsed if isinstance(elapsed, str) else "DB time is missing")
    active = active_s.value / elapsed.value
    idle_s = max(0.0, (1 - active / sessions) * elapsed.value)
    why = (
        f"{active:.1f} of {sessions} sessions active on average over {elapsed.value:.0f} s, "
        f"which equals {idle_s:.0f} s of idle time"
    )
    return _judge(name, active >= (1 - IDLE_SHARE) * sessions, why, active_sessions=active, idle_s=idle_s)


def _judge_modes(report: Report) -> AwrVerdict:
    """Judge whether the histogram has one mode; the average of two modes is a latency that hardly any I/O has."""
    name, event = "average_is_typical", single_block_read(report)
    histogram = report.histogram(event.name) if event else None
    if event is None or histogram is None:
        return _unknown(name, "no single-block read event with a histogram")
    modes = _modes(histogram.buckets)
    if len(modes) < 2:
        return _judge(name, True, f"{event.name}: one mode in the histogram")
    first, second = modes[:2]
    figures = {"first_low_us": first.low_us, "second_low_us": second.low_us, "second_pct": second.share_pct}
    why = f"{event.name}: most waits take {_span(first)}, but {second.share_pct:.1f} % take {_span(second)}"
    return _judge(name, False, why, **figures)


def _modes(buckets: tuple[Bucket, ...]) -> list[Bucket]:
    """Return the separate peaks of the histogram, the highest first."""
    peaks = [
        (at, bucket)
        for at, bucket in enumerate(buckets)
        if bucket.share_pct >= MODE_SHARE_PCT
        and all(
            bucket.share_pct >= near.share_pct for near in (*buckets[max(0, at - 1) : at], *buckets[at + 1 : at + 2])
        )
    ]
    peaks.sort(key=lambda peak: -peak[1].share_pct)
    separate = peaks[:1]
    for at, bucket in peaks[1:]:
        if all(_are_separate(buckets, at, other) for other, _ in separate):
            separate.append((at, bucket))
    return [bucket for _, bucket in separate]


def _are_separate(buckets: tuple[Bucket, ...], one: int, other: int) -> bool:
    left, right = sorted((one, other))
    lower = min(buckets[left].share_pct, buckets[right].share_pct)
    between = buckets[left + 1 : right]
    far = buckets[right].low_us >= MODE_DISTANCE * max(buckets[left].low_us, 1.0)
    return far and any(bucket.share_pct < VALLEY * lower for bucket in between)


def _span(bucket: Bucket) -> str:
    return f"{_us(bucket.low_us)} to {_us(bucket.high_us)}" if bucket.high_us else f"{_us(bucket.low_us)} or more"


def _us(microseconds: float) -> str:
    """Format µs in the unit that suits the value."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            return f"{microseconds / size:g} {unit}"
    return f"{microseconds:g} us"


def _judge_commits(report: Report) -> AwrVerdict:
    name = "commits_are_waited_for"
    commits, syncs = _total(report, "user commits"), _total(report, "redo synch writes")
    if commits is None or syncs is None:
        return _unknown(name, "user commits or redo synch writes are not listed")
    if commits < FEW_COMMITS:
        return _unknown(name, f"only {commits:.0f} commits")
    why = f"{syncs:.0f} redo synch writes for {commits:.0f} commits"
    if syncs < SYNC_SHARE * commits:
        why += ": most commits did not wait for the log (PL/SQL commit optimisation, or COMMIT NOWAIT)"
    return _judge(name, syncs >= SYNC_SHARE * commits, why, commits=commits, redo_synch_writes=syncs)


def _judge_device_reads(report: Report) -> AwrVerdict:
    """Judge whether a device can serve reads so fast or so frequent; if not, a cache below the database served them."""
    name, requests = "reads_reach_a_device", _rate(report, "physical read total IO requests")
    if requests is not None and requests > MOST_REQUESTS:
        return _judge(
            name, False, f"{requests:.0f} read requests/s are more than storage can serve", read_requests_per_s=requests
        )
    event = single_block_read(report)
    found = latency_of(report, event) if event else None
    if event is None or found is None:
        return _unknown(name, "no single-block read event is listed")
    if found.us is None:
        below = found.high_us < CACHE_US
        why = f"{event.name}: below {found.high_us:.3g} us; the report prints 0"
        return _judge(name, False, why, high_us=found.high_us) if below else _unknown(name, why)
    if found.low_us < CACHE_US <= found.high_us:
        return _unknown(name, f"{event.name}: {found.us:.4g} us, printed too coarsely to decide")
    why = f"{event.name}: {found.us:.0f} us on average ({found.source})"
    return _judge(name, found.us >= CACHE_US, why, latency_us=found.us)


def _judge_time(report: Report) -> AwrVerdict:
    """Judge whether DB time is what sessions used of CPU and waited for, apart from idle waits.

    Time that is neither was spent ready to run without a CPU, or in calls of the system that no event covers. Time that
    is both was counted twice: as CPU, and in a wait that uses CPU.
    """
    name, waits = "time_is_accounted", _foreground_wait_s(report)
    db_time, cpu = _db_time_s(report), report.time_model_s.get("DB CPU")
    if db_time is None or cpu is None or waits is None:
        return _unknown(name, "DB time, DB CPU or the foreground wait classes are not listed")
    printed = (cpu.step + db_time.step + waits.step) / 2
    if db_time.value <= 0 or 100 * printed > UNACCOUNTED_PCT * db_time.value:
        return _unknown(name, f"DB time of {db_time.value:g} s is too little for what is printed in whole units")
    used, waited = 100 * cpu.value / db_time.value, 100 * waits.value / db_time.value
    rest = 100 - used - waited
    figures = {"cpu_pct": used, "waits_pct": waited, "unaccounted_pct": rest}
    why = f"CPU is {used:.1f} % and waits are {waited:.1f} % of DB time"
    queue = report.os_stats.get("OS_CPU_WAIT_TIME")
    if rest > UNACCOUNTED_PCT:
        rest_s = rest * db_time.value / 100
        why += f": {rest:.1f} % ({rest_s:,.0f} s) is neither, as without a CPU, or in calls that no event covers"
        if queue is not None and queue.value is not None:
            why += f"; the host's processes waited for a CPU for {queue.value.value / 100:,.0f} s"
    elif rest < -UNACCOUNTED_PCT:
        why += f": {-rest:.1f} % too much, so time is counted twice, or not as time of the same calls"
    return _judge(name, abs(rest) <= UNACCOUNTED_PCT, why, **figures)


def _db_time_s(report: Report) -> Number | None:
    minutes = report.header.db_time_min
    return report.time_model_s.get("DB time") or (minutes.scaled(60) if minutes else None)


def _foreground_wait_s(report: Report) -> Number | None:
    """Return how long sessions waited, idle waits apart: by wait classes, or else by events that are not idle."""
    classes = [row for row in report.wait_classes if row.scope is Scope.FOREGROUND]
    if not classes and report.kind is not ReportKind.AWR_GLOBAL:  # whose events are not all marked
        classes = [row for row in report.events if row.scope is Scope.FOREGROUND and not row.idle]
    times = [row.time_s for row in classes if row.name.lower() != "db cpu" and row.time_s is not None]
    return Number(sum(time.value for time in times), sum(time.step for time in times)) if times else None


def _judge_cpu(report: Report) -> AwrVerdict:
    """Judge whether CPU was left: of the host's CPUs, as the database or other programs use them, and of its share.

    Where DB time has a part that is neither CPU nor a wait, CPUs at rest prove nothing: sessions may have waited for a
    CPU that a quota, a hypervisor or the scheduler kept from them.
    """
    name, cpus, limit = "cpu_is_not_saturated", report.header.cpus, _cpu_count(report)
    busy, idle = _count_cpus_used(report), report.host_cpu.idle_pct if report.host_cpu else None
    figures: dict[str, float] = {}
    reasons: list[str] = []
    held: list[bool] = []
    if busy is not None and cpus:
        figures |= {"cpus_used": busy, "cpus": float(cpus)}
        reasons.append(f"{busy:.1f} of {cpus} CPUs used by the database")
        reasons += [f"cpu_count allows {limit}"] * bool(limit and limit < cpus)
        held.append(busy < CPU_SHARE * min(limit or cpus, cpus))
    if idle is not None:
        figures["host_idle_pct"] = idle.value
        reasons.append(f"the host was {idle.value:g} % idle")
        held.append(idle.value > 100 * (1 - CPU_SHARE))
    if not held or (all(held) and limit and busy is None):
        return _unknown(name, "; ".join(reasons) or "DB CPU, the elapsed time or the number of CPUs is missing")
    rest = _judge_time(report).figures.get("unaccounted_pct", 0.0)
    if all(held) and rest > UNACCOUNTED_PCT:
        why = f"{'; '.join(reasons)}, but {rest:.1f} % of DB time is neither CPU nor a wait"
        return AwrVerdict(name, "unknown", why, figures)
    return _judge(name, all(held), "; ".join(reasons), **figures)


def _count_cpus_used(report: Report) -> float | None:
    """Return the CPUs that sessions and background used on average, from the time model or else the load profile."""
    used, _ = rates.find_rate(report, "db_cpu", "DB CPU")
    background, _ = rates.find_rate(report, "background_cpu", "background cpu time")
    if isinstance(used, str):
        return None
    return used.value + (background.value if isinstance(background, Number) else 0.0)


def _cpu_count(report: Report) -> int | None:
    parameter = report.parameters.get("cpu_count")
    allowed = int(parameter.begin) if parameter and re.fullmatch(r"\d{1,6}", parameter.begin) else 0
    return allowed or None


def _judge_request_size(report: Report) -> AwrVerdict:
    """Judge whether blocks per second equal requests: the load profile counts blocks, IOPS count requests."""
    name = "blocks_are_requests"
    blocks, requests = _rate(report, "physical reads"), _rate(report, "physical read IO requests")
    if blocks is None or requests is None:
        return _unknown(name, "physical reads or physical read IO requests are not listed")
    if requests == 0:
        return _unknown(name, "there were no physical reads")
    size, event = blocks / requests, single_block_read(report)
    why = f"{blocks:.0f} blocks/s in {requests:.0f} requests/s: {size:.2f} blocks per request"
    figures = {"blocks_per_s": blocks, "requests_per_s": requests, "blocks_per_request": size}
    waits = rates.divide(report, event.waits) if event else ""
    if event and isinstance(waits, Number):
        share = 100 * waits.value / requests
        figures["single_block_pct"] = share
        why += f", {min(share, 100.0):.0f} % of them single-block"
    return _judge(name, size <= BLOCKS_PER_REQUEST, why, **figures)


def _total(report: Report, name: str) -> float | None:
    stat = report.activity.get(name)
    return stat.total.value if stat and stat.total else None


def _rate(report: Report, name: str) -> float | None:
    stat = report.activity.get(name)
    return stat.per_second.value if stat and stat.per_second else None


_CHECKS: tuple[Callable[[Report], AwrVerdict], ...] = (
    _judge_modes,
    _judge_commits,
    _judge_device_reads,
    _judge_cpu,
    _judge_time,
    _judge_request_size,
)
