"""Verdicts on the course of a run: how long it lasted, and whether its sessions worked all the time."""

from __future__ import annotations

from openslob.analyze.outcome import Shown, count_noun, fails, holds, holds_or_fails, unknown
from openslob.analyze.stillness import say_stillness
from openslob.core.measurement import CLOCK_WAS_SET, EVERY_FIGURE, Measurement
from openslob.core.units import is_above
from openslob.metrics.quantity import NO_LOAD, total
from openslob.record.model import Verdict

# A run ends with its last operation, a little after its planned end, and begins late on a busy host. Throughput that is
# wrong by this share is within the spread that `quiet_machine` allows.
MAX_OFF_PCT = 5.0
LEAST_OFF_S = 0.25
# Long operations end late: each session may begin one just before the end.
USUAL_OPERATIONS = 2.0
# The throughput is too low by this share at most. Sessions on a busy host are idle for a few thousandths.
MAX_IDLE_PCT = 3.0
# Shorter waits belong to the distribution of latencies: other users of the storage, a checkpoint, a busy CPU.
STALL_S = 1.0
STALL_MEDIANS = 100.0
# Stalls make the mean latency too high, and the throughput too low, by about their share of DB time.
MAX_STALLED_PCT = 1.0


def planned_time(measurement: Measurement) -> Verdict | None:
    """Judge whether the load lasted as long as RUN_TIME; None for a run that ends by WORK_LOOP alone.

    Its end may be late by twice the usual time of an operation. It may be shorter where the run was interrupted, and
    where WORK_LOOP limited its operations.
    """
    name, planned, load = "planned_time", measurement.window.planned_s, measurement.window.load_seconds
    if not planned:
        return None
    if load <= 0:
        return unknown(name, f"Can't be determined: {NO_LOAD}.")
    figures = {"load_seconds": load, "planned_seconds": planned, "longest_us": _longest_us(measurement)}
    allowed = max(LEAST_OFF_S, planned * MAX_OFF_PCT / 100)
    lasted, fault = f"The load lasted {load:.2f} s; {planned:g} s were planned", _too_long(measurement, allowed)
    if not fault and load < planned - allowed:
        if measurement.interrupted or measurement.workload.work_loop:
            why = "It was interrupted" if measurement.interrupted else "WORK_LOOP ended it"
            return holds(name, f"{lasted}. {why}.", **figures)
        fault = "sessions began late or ended early"
    return fails(name, f"{lasted}: {fault}.", **figures) if fault else holds(name, f"{lasted}.", **figures)


def _too_long(measurement: Measurement, allowed_s: float) -> str:
    """Return by what operations the load went on for too long; empty if it did not."""
    usual_us, planned = _usual_us(measurement), measurement.window.planned_s
    if measurement.unfinished_s and not measurement.interrupted:
        number = count_noun(len(measurement.unfinished_s), "operation")
        return f"{number} had not ended {max(measurement.unfinished_s):.1f} s later and were cancelled"
    if measurement.window.load_seconds <= planned + max(allowed_s, USUAL_OPERATIONS * usual_us / 1e6):
        return ""
    return f"the longest operation took {_time(_longest_us(measurement))}, and half of them {_time(usual_us)} at most"


def idle_shares_pct(measurement: Measurement) -> tuple[float, float]:
    """Return the shares of the sessions' time that they spent between slices, and before the first or after the last.

    Think time and waiting for a due time are inside slices.
    """
    available_us = 1e6 * len(measurement.sessions) * measurement.window.load_seconds
    between, apart = (100 * total(measurement, field) / available_us for field in ("idle_us", "apart_us"))
    return between, apart


def are_idle(measurement: Measurement) -> bool:
    """Return whether sessions were outside of the work loop for too long."""
    has_load = measurement.sessions and measurement.window.load_seconds > 0
    return bool(has_load) and is_above(sum(idle_shares_pct(measurement)), MAX_IDLE_PCT, 1)


def sessions_busy(measurement: Measurement) -> Verdict:
    """Judge whether sessions were in the work loop all the time.

    Between two slices a session waits for the driver. Before its first slice and after its last one it waits for other
    sessions.
    """
    name = "sessions_busy"
    if not measurement.sessions or measurement.window.load_seconds <= 0:
        return unknown(name, f"Can't be determined: {NO_LOAD}.")
    between, apart = idle_shares_pct(measurement)
    figures: dict[str, Shown] = {"idle_pct": between + apart, "between_slices_pct": between, "other_idle_pct": apart}
    if not are_idle(measurement):
        return holds(name, f"The sessions were in the work loop {100 - between - apart:.1f} % of the time.", **figures)
    late = _who_was_late(measurement)
    alone = "they did not begin or end together, so RUN_TIME is too short for these operations, or WORK_LOOP was set"
    return fails(
        name,
        f"The sessions were idle {between + apart:.1f} % of the time ({MAX_IDLE_PCT:g} % is allowed), "
        f"{between:.1f} % between slices and {apart:.1f} % before their first or after their last one: "
        f"{late if between > apart else alone}.",
        **figures,
    )


def _who_was_late(measurement: Measurement) -> str:
    """Return why slices began late: where a clock was set, that is no driver that was stopped or short of CPU."""
    if (clock := measurement.engine.unknown.get(EVERY_FIGURE, "")).startswith(CLOCK_WAS_SET):
        return f"{clock}, so how long they waited is not known"
    still = [f"{each.name} {said}" for each in measurement.drivers if (said := say_stillness(each))]
    return "; ".join(still) or "the driver, stopped or short of CPU, began their slices late"


def no_stalls(measurement: Measurement) -> Verdict:
    """Judge whether operations that took very long were a negligible share of DB time.

    A closed loop hides a stall: each session has one operation in it, however long it lasts, so that percentiles do not
    show it. Operations that were cancelled at the end count with the time that they had run at least. At a given rate
    sessions may wait for a due time while the server stalls: then response times are judged.
    """
    name, histograms = "no_stalls", [each for each in measurement.timed if each.count]
    if not histograms:
        return unknown(name, "Can't be determined: no operation was timed.")
    limits_us = [max(1e6 * STALL_S, STALL_MEDIANS * (each.quantile_us(0.5) or 0.0)) for each in histograms]
    ended = [histogram.beyond(limit_us) for histogram, limit_us in zip(histograms, limits_us, strict=True)]
    cut = [seconds for seconds in measurement.unfinished_s if 1e6 * seconds >= min(limits_us)]
    number, stalled_s = sum(count for count, _ in ended), sum(us for _, us in ended) / 1e6 + sum(cut)
    share = 100 * stalled_s / (sum(each.sum_us for each in histograms) / 1e6 + sum(cut)) if stalled_s else 0.0
    longest_us = max(*(each.max_us for each in histograms), *(1e6 * seconds for seconds in cut), 0.0)
    figures: dict[str, Shown] = {
        "stalled_ops": float(number + len(cut)),
        "stalled_pct": share,
        "longest_us": longest_us,
        "unfinished_ops": float(len(measurement.unfinished_s)),
    }
    if not stalled_s:
        return holds(
            name, f"No operation took {_time(min(limits_us))} or more; the longest took {_time(longest_us)}.", **figures
        )
    cancelled = f" ({len(cut)} cancelled)" if cut else ""
    stalled = f"{count_noun(number + len(cut), 'operation')} of {_time(min(limits_us))} or more{cancelled}"
    time = "DB time" if measurement.schedule is None else "response time"
    return holds_or_fails(
        name,
        not is_above(share, MAX_STALLED_PCT, 1),
        f"{stalled} took {share:.1f} % of {time}, the longest {_time(longest_us)}; {MAX_STALLED_PCT:g} % is allowed. "
        "Percentiles count operations, so they hide a stall.",
        **figures,
    )


def _usual_us(measurement: Measurement) -> float:
    """Return the median of the kind of operation that takes longest."""
    medians = (histogram.quantile_us(0.5) for histogram in measurement.latency.values())
    return max((median for median in medians if median is not None), default=0.0)


def _longest_us(measurement: Measurement) -> float:
    return max((histogram.max_us for histogram in measurement.latency.values()), default=0.0)


def _time(us: float) -> str:
    return f"{us / 1e6:.3g} s" if us >= 1e6 else f"{us / 1e3:.3g} ms"
