"""The verdicts on the purpose of a run: whether it had the stated mode, and whether it reached the given rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from openslob.analyze.expected_hits import expected_hit_pct
from openslob.analyze.outcome import Shown, count, count_noun, holds_or_fails, unknown, unknown_because
from openslob.analyze.verdicts.validity import reads_reached_device
from openslob.core.access import AccessKind
from openslob.core.measurement import BLOCK_VISITS, Measurement
from openslob.core.workload import Mode
from openslob.metrics.computation import begun_pct
from openslob.metrics.quantity import NO_LOAD, Quantity, block_visits, engine, total
from openslob.record.model import Holds, Verdict

# The tolerance of a given rate: less than the spread between two runs on a quiet machine.
MAX_SHORT_PCT = 1.0

# A miss costs at least a hundred times as much as a hit: with a tenth of the visits cached, I/O still dominates.
MIN_PIO_PCT = 90.0
# Each visit reads at most one block of a table; a visit may be counted in another second than its read.
MAX_PIO_PCT = 102.0
_TABLES = ("table", "private table")
# With hits of 0.5 µs and misses of 100 µs, one miss in a thousand already takes a sixth of the time.
MIN_HIT_PCT = 99.9
# Of full caches that held nothing else, the prediction was within 0.2 points for a clock, and within 3 points for a
# list of which new blocks enter in the middle (bench/skew.py).
MAX_HIT_POINTS = 5.0
# The main writer writes more than all others together.
MIN_LOG_SHARE_PCT = 50.0


def is_reached(measurement: Measurement) -> bool:
    """Return whether a rate was given and nearly all operations that were due in the window began in it."""
    share = begun_pct(measurement).value
    return share is not None and share >= 100 - MAX_SHORT_PCT


def rate_reached(measurement: Measurement) -> Verdict | None:
    """Judge whether the operations that were due in the window began in it; None when no rate was given.

    The measure is the operations that were due and not the mean rate, which is random in a Poisson process.
    """
    schedule, begun = measurement.schedule, begun_pct(measurement)
    if schedule is None:
        return None
    share = begun.value
    if share is None:
        return unknown_because("rate_reached", begun)
    ops, seconds = measurement.paced_ops, measurement.window.load_seconds
    achieved = ops / seconds if seconds > 0 else None
    done = "" if achieved is None else f", {achieved:,.1f} of {schedule.wanted_per_s:,.1f} a second"
    left = (
        f"{count_noun(round(schedule.not_begun), 'operation')} due in the window had not begun at its end, "
        f"the oldest {schedule.oldest_s:.3f} s late"
        if schedule.not_begun
        else "no due operation was left at the end"
    )
    return holds_or_fails(
        "rate_reached",
        is_reached(measurement),
        f"{count(ops)} operations, {share:.2f} % of those due, began{done}; {left}; "
        f"{100 - MAX_SHORT_PCT:g} % is required.",
        begun_pct=share,
        target_ops_per_s=schedule.wanted_per_s,
        achieved_ops_per_s=achieved,
        not_begun=schedule.not_begun,
        oldest_s=schedule.oldest_s,
    )


@dataclass(frozen=True)
class ModeEvidence:
    """Evidence for a mode: ``so`` is whether the run had it (None: unknown), with the reason and the figures."""

    so: bool | None
    why: str
    figures: Mapping[str, Shown]


def mode(measurement: Measurement) -> Verdict:
    """Judge whether the run had its stated mode; without one, name the mode that the figures look like."""
    stated = measurement.workload.mode
    if total(measurement, "ops") <= 0:
        return unknown("mode", f"Can't be determined: {NO_LOAD}.")
    if stated is None:
        looks = looks_like(measurement)
        return unknown("mode", f"No mode was stated; the run looks like {looks or 'no known mode'}.", looks_like=looks)
    evidence = EVIDENCE[stated](measurement)
    if evidence.so is None:
        return unknown(
            "mode",
            f"Whether it was {stated} can't be determined: {evidence.why}.",
            stated=stated.value,
            **evidence.figures,
        )
    sentence = f"It {'was' if evidence.so else 'was not'} {stated}: {evidence.why}."
    return holds_or_fails("mode", evidence.so, sentence, stated=stated.value, **evidence.figures)


def looks_like(measurement: Measurement) -> str | None:
    """Return the first mode that the evidence supports, beginning with the most demanding one."""
    return next(
        (name.value for name in (Mode.SCAN, Mode.REDO, Mode.PIO, Mode.LIO) if EVIDENCE[name](measurement).so), None
    )


def _pio(measurement: Measurement) -> ModeEvidence:
    share = engine(measurement, "read_requests").times(100).per(Quantity(block_visits(measurement)), "no block visited")
    if share.value is None:
        return ModeEvidence(None, share.why, {})
    device = reads_reached_device(measurement)
    figures: dict[str, Shown] = {"physical_pct": share.value, "reads_reached_device": device.verdict.value}
    why = f"{share.value:.1f} % of the block visits were engine reads, {MIN_PIO_PCT:g} % is required"
    of_tables = _table_reads_pct(measurement).value
    if of_tables is not None and of_tables > MAX_PIO_PCT:
        return ModeEvidence(None, f"{why}, but {of_tables:.1f} % were reads of tables: more than visits need", figures)
    if share.value < MIN_PIO_PCT:
        return ModeEvidence(False, why, figures)
    if device.verdict is Holds.UNKNOWN:
        return ModeEvidence(None, f"{why}, but whether they reached a device is unknown", figures)
    reached = device.verdict is Holds.HOLDS
    return ModeEvidence(reached, f"{why}, and they {'reached' if reached else 'did not all reach'} a device", figures)


def _table_reads_pct(measurement: Measurement) -> Quantity:
    """Return the reads of table blocks in % of the block visits; unknown where the engine counts indexes with them."""
    kinds = [measurement.engine.by_object[kind] for kind in _TABLES if kind in measurement.engine.by_object]
    known = [io.read_requests for io in kinds if io.read_requests is not None]
    reads = Quantity(sum(known)) if known else Quantity.missing("reads are not counted by kind of object")
    return reads.times(100).per(Quantity(block_visits(measurement)), "no block visited")


def _lio(measurement: Measurement) -> ModeEvidence:
    hits = _hit_pct(measurement)
    if hits.value is None:
        return ModeEvidence(None, hits.why, {})
    why = f"{hits.value:.3f} % of the logical reads were cache hits, {MIN_HIT_PCT:g} % is required"
    return ModeEvidence(hits.value >= MIN_HIT_PCT, why, {"hit_pct": hits.value})


def _redo(measurement: Measurement) -> ModeEvidence:
    cached = _lio(measurement)
    if cached.so is not True:
        return cached
    log = engine(measurement, "log_bytes")
    share = log.times(100).per(log.plus(engine(measurement, "write_bytes")), "nothing was written")
    if total(measurement, "updates") <= 0:
        return ModeEvidence(False, "nothing was updated", cached.figures)
    if share.value is None:
        return ModeEvidence(None, share.why, cached.figures)
    why = f"{cached.why}, and {share.value:.1f} % of the bytes written were log"
    return ModeEvidence(share.value > MIN_LOG_SHARE_PCT, why, {**cached.figures, "log_share_pct": share.value})


def _scan(measurement: Measurement) -> ModeEvidence:
    scans, ops = total(measurement, "scans"), total(measurement, "ops")
    why = f"{count(scans)} of {count(ops)} operations were scans"
    return ModeEvidence(0 < ops == scans, why, {"scans": scans, "ops": ops})


def _churn(measurement: Measurement) -> ModeEvidence:
    inserted, deleted, churned = (total(measurement, name) for name in ("rows_inserted", "rows_deleted", "updates"))
    why = f"{count(churned)} operations deleted {count_noun(deleted, 'row')} and inserted {count_noun(inserted, 'row')}"
    return ModeEvidence(0 < churned == inserted == deleted, why, {"rows_inserted": inserted, "rows_deleted": deleted})


def _hit_pct(measurement: Measurement) -> Quantity:
    reads = engine(measurement, "read_bytes").times(-1 / measurement.block_size)
    logical = engine(measurement, "logical_reads")
    return logical.plus(reads).times(100).per(logical, "the engine counted no logical read")


def hits_as_expected(measurement: Measurement) -> Verdict | None:
    """Judge whether keys by a Zipf law found as many of their blocks in the cache as expected; None for other keys."""
    load = measurement.workload
    if load.access.kind is not AccessKind.ZIPF:
        return None
    if why := measurement.engine.unknown.get(BLOCK_VISITS):
        return unknown("hits_as_expected", f"Can't be determined: {why}.")
    visits = Quantity(block_visits(measurement))
    reads = engine(measurement, "read_bytes").times(-1 / measurement.block_size)
    hits, cache = visits.plus(reads).times(100).per(visits, NO_LOAD), measurement.cache_bytes
    use_limit, caches = measurement.cache_use_limit, max(1, len(measurement.instances))
    expected = expected_hit_pct(load, measurement.block_size, cache, use_limit, caches)
    figures = {"hit_pct": hits.value, "expected_hit_pct": expected.value}
    if hits.value is None or expected.value is None:
        return unknown_because("hits_as_expected", hits, expected, **figures)
    so = abs(hits.value - expected.value) <= MAX_HIT_POINTS
    why = (
        f"{hits.value:.1f} % of the block visits needed no read, and {expected.value:.1f} % are expected with "
        f"{load.access}; a difference of {MAX_HIT_POINTS:g} points is allowed."
    )
    perhaps = " Perhaps the cache was not full when the window began (a longer WARMUP), or it held other data."
    return holds_or_fails("hits_as_expected", so, why if so else why + perhaps, **figures)


EVIDENCE: Mapping[Mode, Callable[[Measurement], ModeEvidence]] = {
    Mode.PIO: _pio,
    Mode.LIO: _lio,
    Mode.REDO: _redo,
    Mode.SCAN: _scan,
    Mode.CHURN: _churn,
}
