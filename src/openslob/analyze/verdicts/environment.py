"""Verdicts on the conditions of a run: driver, machine, other sessions, steady state, data, and percentiles."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.analyze.other_sessions import BESIDE, IN_WORDS, MAX_AT_WORK, MAX_SHARE_PCT, at_work, has_worked
from openslob.analyze.outcome import Shown, count, count_noun, fails, holds, holds_or_fails, unknown, unknown_because
from openslob.analyze.steady_state import (
    MAX_DRIFT_PCT,
    MIN_STEADY_POINTS,
    MIN_WINDOWS,
    RatePoint,
    drift_pct,
    rate_points,
    spread,
    steady_since,
)
from openslob.analyze.stillness import say_stillness
from openslob.analyze.verdict_registry import (
    MAX_DRIVER_PCT,
    MAX_OTHERS_PCT,
    MAX_SPREAD_PCT,
    MAX_STEAL_PCT,
    REQUIRED_PERCENTILE,
)
from openslob.analyze.verdicts.course import MAX_IDLE_PCT
from openslob.core.histogram import PERCENTILES, Histogram
from openslob.core.measurement import SIZE, DriverUse, Measurement, Observed, OtherSessions
from openslob.core.method import BLOCK_TOLERANCE, OpKind
from openslob.core.units import is_above, is_below
from openslob.core.workload import Loop
from openslob.metrics import METRICS, Timed
from openslob.metrics.cpu import of_processes
from openslob.metrics.quantity import Quantity, block_visits, engine, host, host_cpu_pct
from openslob.record.model import Holds, Verdict

# The steady part must be most of the window, since the published means are over the whole window.
MIN_STEADY_SHARE = 0.8
# One update in a hundred that leaves its block does not affect the figures.
MIN_IN_PLACE_PCT = 99.0
_CHANGES = "the rate was to change (RATE_SCHEDULE)"
# With fewer operations beyond a percentile, its value is that of a few outliers.
MIN_BEYOND = 10


# One CPU runs all sessions of a driver in turn: those that wait for it begin their slices late.
MAX_OWN_CPU_PCT = 25.0
# A host on which others leave less does not run a driver when it must.
MAX_DRIVER_HOST_PCT = 90.0


def driver_quiet(measurement: Observed) -> Verdict:
    """Judge whether the load driver's CPU was small compared with the server's, and of several also each by itself.

    Drivers on the server's host take CPU from it together. Each driver's process must have CPU left, and so must its
    host, unless that is the server's, which is judged by other verdicts. None may stand still for so long that its
    sessions were idle for too long. In a client loop, a single driver must have CPU left, too: it sends each operation.
    """
    together = _driver_quiet(measurement)
    if not isinstance(measurement, Measurement):
        return together
    if not measurement.drivers:
        return _with_own_cpu(measurement, together) if measurement.workload.loop is Loop.CLIENT else together
    sessions = sum(len(each.sessions) for each in measurement.drivers)
    judged = [
        (each, _own(each, measurement.local and not measurement.elsewhere, sessions)) for each in measurement.drivers
    ]
    figures = {f"driver_{each.number}_cpu_pct": each.cpu_pct for each, _ in judged}
    busy = [f"{each.name} {what}" for each, (so, what) in judged if so is Holds.FAILS]
    unseen = [f"{each.name} {what}" for each, (so, what) in judged if so is Holds.UNKNOWN]
    most = max((each.cpu_pct or 0.0 for each, _ in judged), default=0.0)
    if busy:
        why = f"{'; '.join(busy)}. {together.why}"
        return fails("driver_quiet", why, **together.figures, **figures)
    if unseen or together.verdict is Holds.UNKNOWN:
        why = f"{together.why} {'; '.join(unseen)}{'.' if unseen else ''}".strip()
        return unknown("driver_quiet", why, **together.figures, **figures)
    own = f"Of {len(judged)} drivers the busiest used {most:.1f} % of one CPU ({MAX_OWN_CPU_PCT:g} % is allowed)."
    briefly = [f"{each.name} {said}" for each, _ in judged if (said := say_stillness(each))]
    own += f" Too briefly to fail this: {'; '.join(briefly)}." if briefly else ""
    return holds_or_fails(
        "driver_quiet", together.verdict is Holds.HOLDS, f"{together.why} {own}", **together.figures, **figures
    )


def _with_own_cpu(measurement: Measurement, together: Verdict) -> Verdict:
    """Return the verdict on the only driver of a client loop, whose process must have CPU left."""
    used_s, seconds = measurement.host.driver_cpu_s, measurement.host.seconds
    if used_s is None or seconds <= 0:
        return together
    own_pct = 100 * used_s / seconds
    if not is_above(own_pct, MAX_OWN_CPU_PCT, 0):
        return together
    why = f"The driver, which sends each operation, used {own_pct:.0f} % of one CPU ({MAX_OWN_CPU_PCT:g} % is allowed)"
    figures = {**together.figures, "driver_cpu_pct": own_pct}
    return fails("driver_quiet", f"{why}; --drivers spreads it. {together.why}", **figures)


def _own(driver: DriverUse, server_is_here: bool, sessions: int) -> tuple[Holds, str]:
    """Return whether a driver, which has its part of ``sessions``, had CPU left and went on, and what it used."""
    if driver.lost:
        return Holds.UNKNOWN, driver.lost
    idle_s = driver.still_s * len(driver.sessions)
    if idle_s and 100 * idle_s > MAX_IDLE_PCT * sessions * (driver.seconds or driver.still_s):
        return Holds.FAILS, say_stillness(driver)
    if driver.cpu_pct is None:
        return Holds.UNKNOWN, f"did not say what it used: {driver.why_unknown or 'nothing came'}"
    if is_above(driver.cpu_pct, MAX_OWN_CPU_PCT, 0):
        return Holds.FAILS, f"used {driver.cpu_pct:.0f} % of one CPU ({MAX_OWN_CPU_PCT:g} % is allowed)"
    if is_above(driver.host_busy_pct or 0.0, MAX_DRIVER_HOST_PCT, 0) and not (driver.here and server_is_here):
        return Holds.FAILS, (
            f"ran on a host whose CPUs were {driver.host_busy_pct:.0f} % busy ({MAX_DRIVER_HOST_PCT:g} % is allowed)"
        )
    return Holds.HOLDS, ""


def _driver_quiet(measurement: Observed) -> Verdict:
    """Judge the load driver's CPU, as a share of the server's. The cost of sampling is reported too.

    At a given rate, or under a load that is not ours, the server may be nearly idle: then the driver's CPU is compared
    with the host's as well. The CPU of an observed command is part of that load, and told apart.
    """
    share, of_host = METRICS["driver_cpu_pct_of_db"].of(measurement), _driver_pct_of_host(measurement)
    if share.value is None:
        return unknown_because("driver_quiet", share)
    sampling = host(measurement, "sampler_cpu_s").times(100).per(host(measurement, "server_cpu_s"), "no CPU")
    client = host(measurement, "client_cpu_s").times(100).per(host(measurement, "server_cpu_s"), "no CPU")
    figures = {"driver_cpu_pct_of_db": share.value, "sampler_cpu_pct_of_db": sampling.value}
    used = f"The driver used {share.value:.2f} % of the server's CPU"
    if client.value is not None:
        figures["client_cpu_pct_of_db"] = client.value
        used += f" (the observed command {client.value:.0f} %)"
    rate = "at a given rate" if isinstance(measurement, Measurement) else "under a load that is not ours"
    may_idle = not isinstance(measurement, Measurement) or measurement.schedule is not None
    if may_idle and of_host.value is not None and not is_below(share.value, MAX_DRIVER_PCT, 2):
        return holds_or_fails(
            "driver_quiet",
            is_below(of_host.value, MAX_DRIVER_PCT, 2),
            f"{used}, {of_host.value:.2f} % of the host's; {rate} less than {MAX_DRIVER_PCT:g} % of "
            "either is required.",
            **figures,
            driver_cpu_pct_of_host=of_host.value,
        )
    return holds_or_fails(
        "driver_quiet",
        is_below(share.value, MAX_DRIVER_PCT, 2),
        f"{used}; less than {MAX_DRIVER_PCT:g} % is required.",
        **figures,
    )


def _driver_pct_of_host(measurement: Observed) -> Quantity:
    if measurement.elsewhere:
        return Quantity.missing("the driver is on another host")
    capacity = Quantity(measurement.host.seconds * measurement.host.cores)
    return host(measurement, "driver_cpu_s").times(100).per(capacity, "no time")


def quiet_machine(measurement: Observed) -> Verdict:
    """Judge whether nothing disturbed the run: stolen CPU, CPU used by others, and the spread of ops/s between windows.

    The trend is removed from the spread, because `steady` judges it. A load that is not ours may vary on its own: its
    spread is no sign of a disturbance.
    """
    steal, others = host_cpu_pct(measurement, "steal"), _others_cpu_pct(measurement)
    if not isinstance(measurement, Measurement):
        return _judge_undisturbed(measurement, steal, others)
    between = None if measurement.workload.rate_schedule else spread(rate_points(measurement.timeline))
    shares = {"steal_pct": steal.value, "others_cpu_pct": others.value, "spread_pct": between}
    figures = {**shares, **quota_figures(measurement)}
    facts = "; ".join(
        (
            *_uses_of_cpu(measurement, steal, others),
            f"ops/s spread by {between:.1f} % between windows" if between is not None else _why_no_spread(measurement),
        )
    )
    limits = f"({MAX_STEAL_PCT:g} %, {MAX_OTHERS_PCT:g} % and {MAX_SPREAD_PCT:g} % are allowed)"
    unseen = steal.value is None or others.value is None
    over = [(steal.value, MAX_STEAL_PCT), (others.value, MAX_OTHERS_PCT)]
    # On a host that can't be seen, the spread alone does not tell a noisy machine from a server that does other work.
    over += [] if unseen else [(between, MAX_SPREAD_PCT)]
    if any((value or 0) > allowed for value, allowed in over):
        return fails("quiet_machine", f"The machine is noisy: {facts} {limits}.", **figures)
    if unseen or between is None:
        return unknown("quiet_machine", f"Can't be determined: {facts}.", **figures)
    return holds("quiet_machine", f"The machine was quiet: {facts} {limits}.", **figures)


def _judge_undisturbed(measurement: Observed, steal: Quantity, others: Quantity) -> Verdict:
    figures = {"steal_pct": steal.value, "others_cpu_pct": others.value, **quota_figures(measurement)}
    uses = "; ".join(_uses_of_cpu(measurement, steal, others))
    facts = f"{uses} ({MAX_STEAL_PCT:g} % and {MAX_OTHERS_PCT:g} % are allowed)"
    if any((share.value or 0) > most for share, most in ((steal, MAX_STEAL_PCT), (others, MAX_OTHERS_PCT))):
        return fails("quiet_machine", f"The machine is noisy: {facts}.", **figures)
    if steal.value is None or others.value is None:
        return unknown("quiet_machine", f"Can't be determined: {facts}.", **figures)
    return holds("quiet_machine", f"The machine was quiet: {facts}.", **figures)


def _uses_of_cpu(measurement: Observed, steal: Quantity, others: Quantity) -> list[str]:
    """Return who took CPU, and the quota, which is a part of the platform and no disturbance."""
    shares = [
        _share_of_cpu(steal, "was stolen", "stolen CPU"),
        _share_of_cpu(others, "was used by others", "others' CPU"),
    ]
    return [*shares, *filter(None, [quota_says(measurement)])]


def quota_figures(measurement: Observed) -> dict[str, float | None]:
    """Return the CPU quota of the server's control group and the share of its periods in which it was used up.

    There are none without a quota.
    """
    group = measurement.host.group
    if not measurement.local or group is None or not (group.cpu_quota or group.periods_throttled):
        return {}
    return {"cpu_quota": group.cpu_quota, "throttled_pct": group.throttled_pct, "throttled_s": group.throttled_s}


def quota_says(measurement: Observed) -> str:
    """Return how the CPU quota of its control group held the server back; empty without a quota."""
    group = measurement.host.group
    if group is None or not quota_figures(measurement):
        return ""
    size = f"of {group.cpu_quota:g} CPUs" if group.cpu_quota else "that ended during the run"
    return (
        f"the CPU quota {size} of its control group held the server back in {group.throttled_pct:.0f} % of its periods"
    )


def _share_of_cpu(share: Quantity, use: str, name: str) -> str:
    return f"{name} is unknown ({share.why})" if share.value is None else f"{share.value:.2f} % of the CPU {use}"


def _others_cpu_pct(measurement: Observed) -> Quantity:
    """Return the share of processes' CPU time that was not the server's, the driver's or the client's, in %.

    Interrupts are not in it.
    """
    capacity = Quantity(measurement.host.seconds * measurement.host.cores)
    known = host(measurement, "server_cpu_s")
    if not measurement.elsewhere:
        known = known.plus(host(measurement, "driver_cpu_s")).plus(Quantity(measurement.host.client_cpu_s or 0.0))
    ours = known.times(100).per(capacity, "no time")
    others = host_cpu_pct(measurement, *of_processes(measurement.host.cpu or {})).plus(ours.times(-1))
    return others if others.value is None else Quantity(max(0.0, others.value))


def _why_no_spread(measurement: Measurement) -> str:
    return _CHANGES if measurement.workload.rate_schedule else _too_short(MIN_WINDOWS)


def steady(measurement: Observed) -> Verdict:
    """Judge whether operations, or transactions, per second were steady over most of the window, and since when."""
    if isinstance(measurement, Measurement) and measurement.workload.rate_schedule:
        return unknown("steady", f"Not judged: {_CHANGES}.")
    points = rate_points(measurement.timeline)
    if len(points) < MIN_STEADY_POINTS:
        return unknown("steady", f"Not enough data: {_too_short(MIN_STEADY_POINTS)}.")
    return _steady(points, measurement.timeline[-1].at_s)


def _steady(points: list[RatePoint], end_s: float) -> Verdict:
    since, drift = steady_since(points), drift_pct(points)
    figures = {"steady_since_s": since, "drift_pct": drift}
    if since is None:
        return fails(
            "steady",
            f"No part that lasts until the end is steady (drift within {MAX_DRIFT_PCT:g} %, "
            f"spread within {MAX_SPREAD_PCT:g} %).",
            **figures,
        )
    share = (end_s - since) / (end_s - points[0][0])
    if share < MIN_STEADY_SHARE:
        return fails(
            "steady",
            f"Steady only from second {since:.0f} of {end_s:.0f}, but the figures cover the whole window: "
            "a longer WARMUP leaves the beginning out.",
            **figures,
        )
    return holds("steady", f"Steady since second {since:.0f} of {end_s:.0f}.", **figures)


def data_in_place(measurement: Measurement) -> Verdict:
    """Judge whether the data stayed as loaded: no row was missing, no table grew, updated rows stayed in their block.

    How many rows its operations find is exact: each key is there once. Apart from that, the verdict fails if the next
    run would be refused because of the data (`Manifest.fault`), and also if copies of the tables grew that no load
    knows: those of single sessions. With MODE=churn rows do not stay, and how much room they take is what is measured.
    """
    grown = _growth_pct(measurement)
    updated, in_place = engine(measurement, "rows_updated"), engine(measurement, "rows_updated_in_place")
    stayed = Quantity(100.0) if updated.value == 0 else in_place.times(100).per(updated, "no row updated")
    wanted, found = _rows_wanted(measurement), block_visits(measurement)
    figures = {
        "growth_pct": grown.value,
        "in_place_pct": stayed.value if updated.value else None,
        "rows_wanted": wanted,
        "rows_found": found,
    }
    if found != wanted:
        missing = (
            f"The operations found {count(found)} rows where {count(wanted)} should be: the keys are not as loaded."
        )
        return fails("data_in_place", f"{missing} Run `slob drop` and `slob load` before the next run.", **figures)
    if measurement.workload.churns and not measurement.data_fault:
        return holds("data_in_place", f"Each of {count(found)} rows was where it should be.", **figures)
    if measurement.data_fault:
        fault = f"{measurement.data_fault[0].upper()}{measurement.data_fault[1:]}"
        why = f"{fault}. Run `slob load` again before the next run."
        return fails("data_in_place", why, **figures)
    if why := _say_moved(grown, stayed):
        return fails("data_in_place", why, **figures)
    if grown.value is None or stayed.value is None:
        return unknown_because("data_in_place", grown, stayed, **figures)
    moved = f"{stayed.value:.2f} % of the updated rows stayed in their block" if updated.value else "no row was updated"
    return holds("data_in_place", f"The test tables grew by {grown.value:.2f} %, and {moved}.", **figures)


def _say_moved(grown: Quantity, stayed: Quantity) -> str:
    """Return why rows are no longer where they were; empty if that is not known."""
    if grown.value is not None and grown.value > 100 * BLOCK_TOLERANCE:
        return f"The test tables grew by {grown.value:.1f} % during the run."
    if stayed.value is not None and stayed.value < MIN_IN_PLACE_PCT:
        return f"Only {stayed.value:.1f} % of the updated rows stayed in their block."
    return ""


def _rows_wanted(measurement: Measurement) -> float:
    """Return how many rows the operations find in data that are whole."""
    scanned = measurement.workload.scan_table_sz.blocks(measurement.block_size)
    rows = (
        each.counts.selects * part.workload.work_unit
        + each.counts.updates * part.workload.rows_per_update
        + each.counts.scans * scanned
        for part, sessions in measurement.parts
        for each in sessions
    )
    return float(sum(rows))


def percentiles_supported(measurement: Measurement) -> Verdict:
    """Judge whether p99 has enough operations beyond it; name the highest such percentile of each kind."""
    ran = {kind: histogram for kind, histogram in measurement.latency.items() if histogram.count}
    if not ran:
        return unknown("percentiles_supported", "Can't be determined: no operation was timed.")
    batch, times = measurement.workload.pipeline, _count_times(ran, measurement.workload.pipeline)
    limits = [
        f"{kind.value} {_find_trusted(number) or 'none'} "
        f"({count_noun(number, 'op') if batch == 1 else f'in {count(number)} of the batches'})"
        for kind, number in times.items()
    ]
    return holds_or_fails(
        "percentiles_supported",
        all(number >= least_for(REQUIRED_PERCENTILE) for number in times.values()),
        f"Percentiles with at least {MIN_BEYOND} {Timed(batch).many()} beyond them go up to: {', '.join(limits)}.",
        **{f"{kind.value}_ops": float(histogram.count) for kind, histogram in ran.items()},
        **{f"{kind.value}_up_to": _find_trusted(number) for kind, number in times.items()},
    )


def _count_times(ran: Mapping[OpKind, Histogram], batch: int) -> dict[OpKind, int]:
    """Return how many times of each kind were measured: all operations of a batch have that of the batch."""
    batches = sum(histogram.count for histogram in ran.values()) // batch
    return {kind: min(histogram.count, batches) for kind, histogram in ran.items()}


def least_for(share: float) -> int:
    """Return how many operations it takes so that `MIN_BEYOND` of them lie beyond the percentile of this share."""
    return round(MIN_BEYOND / (1 - share))


def _find_trusted(number: int) -> str | None:
    supported = [share for share in PERCENTILES.values() if number >= least_for(share)]
    return f"p{100 * max(supported):g}" if supported else None


def _growth_pct(measurement: Measurement) -> Quantity:
    if why := measurement.engine.unknown.get(SIZE):
        return Quantity.missing(why)
    before, after = measurement.blocks_before, measurement.blocks_after
    if before is None or after is None:
        return Quantity.missing("the tables' sizes were not measured")
    return Quantity(100.0 * (after - before)).per(Quantity(float(before)), "the tables were empty")


def _too_short(points: int) -> str:
    return f"there are fewer than {points} points in time with enough operations to judge"


def alone_on_server(measurement: Measurement) -> Verdict:
    """Judge whether no session but the test's did noticeable work on the server.

    It fails for sessions that the samples saw at work, and for work that the engine counted apart from the test's. It
    holds only if nearly all samples could see all sessions: a long statement is counted when it ends.
    """
    name, others = "alone_on_server", measurement.others
    mean, so = at_work(others), has_worked(others)
    figures: dict[str, Shown] = {
        "sessions_at_work": mean,
        "who": _most_seen(others),
        **{f"others_{field}_pct": share for field, share in others.shares_pct.items()},
    }
    if so:
        return fails(name, f"{BESIDE.capitalize()}: {_evidence(others)}.", **figures)
    if so is None:
        why = "this user may not see what other sessions do, or they were not sampled"
        return unknown(name, f"Can't be determined: {why}.", **figures)
    if not mean:
        return holds(
            name, f"No other session was at work in {count_noun(others.samples - others.hidden, 'sample')}.", **figures
        )
    return holds(
        name,
        f"Other sessions hardly worked: {_evidence(others)}; {MAX_AT_WORK:g} and {MAX_SHARE_PCT:g} % are allowed.",
        **figures,
    )


def _most_seen(others: OtherSessions) -> str | None:
    return max(others.seen, key=lambda who: (others.seen or {})[who], default=None) if others.seen else None


def _evidence(others: OtherSessions) -> str:
    mean, who = at_work(others), _most_seen(others)
    seen = "" if not mean else f"{mean:.2f} of them were at work on average, most often {who}"
    shares = (f"{share:.1f} % of all {IN_WORDS.get(field, field)}" for field, share in others.shares_pct.items())
    did = ", ".join(shares)
    return "; ".join(filter(None, (seen, f"they did {did}" if did else "")))
