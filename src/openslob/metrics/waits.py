"""Top timed events: the sessions' time inside operations by wait event, from samples."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.core.histogram import Histogram, bucket_of
from openslob.core.measurement import Observed, TimedWait, WaitClass
from openslob.core.wait_classes import CPU_EVENT, classify_wait
from openslob.metrics.quantity import Quantity, db_time_us, engine
from openslob.record.model import WaitRow

# A session without a wait event is running or waits for a CPU: the samples do not distinguish the two.
CPU_ROW = "CPU + run queue"

# With 100 samples, the standard error of a share of 50 % is 5 %.
MIN_SAMPLES = 100
STAGES_ONLY = "the server reports the stage of a session's statement, not what the session waits for"


def top_events(measurement: Observed) -> tuple[WaitRow, ...]:
    """Return the wait events, the largest share of DB time first; none when nothing was sampled.

    The DB time of an event is its share of the samples times the sessions' time inside operations. It has a mean wait
    only if the engine times it: samples do not show how long a wait lasts.
    """
    samples = sum(measurement.waits.values())
    if samples <= 0:
        return ()
    db_time_s = (db_time_us(measurement).value or 0.0) / 1e6
    rows = [
        WaitRow(
            event=CPU_ROW if event == CPU_EVENT else event,
            samples=count,
            share_pct=100 * count / samples,
            db_time_s=db_time_s * count / samples,
            mean_us=measurement.engine.wait_means_us.get(event),
        )
        for event, count in measurement.waits.items()
        if count > 0
    ]
    return tuple(sorted(rows, key=lambda row: (-row.samples, row.event)))


def class_shares_pct(measurement: Observed) -> Mapping[WaitClass, float]:
    """Return the share of DB time by kind of resource, in %; empty when nothing was sampled."""
    samples = sum(measurement.waits.values())
    shares: dict[WaitClass, float] = {}
    given = {wait.event: wait.wait_class for wait in measurement.engine.timed_waits}
    for event, count in measurement.waits.items() if samples > 0 else ():
        kind = given.get(event) or classify_wait(event)
        shares[kind] = shares.get(kind, 0.0) + 100 * count / samples
    return shares


def is_enough(samples: Mapping[str, int]) -> bool:
    """Return whether samples of waits, by event, tell shares of DB time."""
    return sum(samples.values()) >= MIN_SAMPLES


def db_time_shares(measurement: Observed) -> dict[WaitClass, Quantity]:
    """Return the shares of DB time of data I/O, log and locks, in %; of other instances if sessions waited for those.

    They come from samples, or with too few samples from the times that the engine counts itself. Samples of stages
    show how long sessions took to commit, which is time of the log, and nothing about other waits.
    """
    kinds: tuple[WaitClass, ...] = (WaitClass.DATA_IO, WaitClass.LOG, WaitClass.LOCK)
    if not is_enough(measurement.waits):
        few = f"only {sum(measurement.waits.values())} wait samples"
        return {kind: _counted_share(measurement, kind, few) for kind in kinds}
    shares = class_shares_pct(measurement)
    kinds = (*kinds, WaitClass.CLUSTER) if WaitClass.CLUSTER in shares else kinds
    by_samples = (WaitClass.LOG,) if WaitClass.STAGE in shares else kinds
    counted = {kind: _counted_share(measurement, kind, STAGES_ONLY) for kind in kinds}
    # What no sample met, but the engine counted, is a small share and not none.
    unmet = {kind: counted[kind] if kind is WaitClass.LOG and counted[kind].value else Quantity(0.0) for kind in kinds}
    return {
        kind: (Quantity(shares[kind]) if kind in shares else unmet[kind]) if kind in by_samples else counted[kind]
        for kind in kinds
    }


def waits_pct(measurement: Observed) -> Quantity:
    """Return the share of DB time in which sessions waited, for a CPU apart, in %, by samples.

    Samples of stages, and too few samples, do not show it.
    """
    samples = sum(measurement.waits.values())
    if not is_enough(measurement.waits):
        return Quantity.missing(f"only {samples} wait samples")
    if WaitClass.STAGE in class_shares_pct(measurement):
        return Quantity.missing(STAGES_ONLY)
    return Quantity(100.0 * (samples - measurement.waits.get(CPU_EVENT, 0)) / samples)


def _counted_share(measurement: Observed, kind: WaitClass, why_not: str) -> Quantity:
    """Return the share of DB time by the engine's own clock; ``why_not`` is the reason where it has no such time."""
    field = {WaitClass.DATA_IO: "read_time_us", WaitClass.LOG: "log_sync_time_us"}.get(kind)
    if field is None:
        return Quantity.missing(why_not)
    return engine(measurement, field).times(100).per(db_time_us(measurement), "no DB time")


def histogram_of(wait: TimedWait) -> Histogram | None:
    """Return the durations of an event's waits, each as the longest of its bucket: percentiles are upper limits."""
    if not wait.durations:
        return None
    found, mean_us = Histogram(), wait.time_us / wait.count
    for (_, below), count in wait.durations.items():
        found.add({bucket_of(below - 1): count}, mean_us * count, below)
    return found
