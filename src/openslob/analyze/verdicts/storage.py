"""The verdict on a run beside what its storage gives without a database."""

from __future__ import annotations

from openslob.analyze.ceiling import ceiling_of
from openslob.analyze.figures import rate
from openslob.analyze.quantity import engine
from openslob.analyze.verdicts.outcome import Shown, count, settled, unknown, untold
from openslob.record.measurement import Measurement
from openslob.record.model import Verdict
from openslob.units import format_bytes

# Two measurements of good storage differ by a few %; more than this above it was not the same storage, or not storage.
MAX_ABOVE_PCT = 10.0
# A checkpoint's or a log's few writes cost less than what two measurements differ by.
MAX_WRITES_PCT = 5.0


def within_ceiling(measurement: Measurement) -> Verdict | None:
    """The engine's reads are within what the raw measurement says of storage; ``why`` tells their share of it.

    Only of runs that almost only read: the ceiling is one of reads, and writes take from it. None without one.
    """
    name = "within_ceiling"
    if measurement.ceiling is None:
        return None
    reads, writes = engine(measurement, "read_requests"), engine(measurement, "write_requests")
    if reads.value is not None and writes.value is not None and writes.value > reads.value * MAX_WRITES_PCT / 100:
        return unknown(name, "The run wrote, and the raw measurement only read: they can't be compared.")
    if measurement.other_storage:
        return unknown(name, f"Can't be told: {measurement.other_storage}.")
    mean = engine(measurement, "read_bytes").per(reads, "").value
    if mean is not None and mean > measurement.block_size * (1 + MAX_ABOVE_PCT / 100):
        return unknown(
            name, f"The run's reads were of {format_bytes(mean)} on average, the ceiling is of single blocks."
        )
    in_flight = measurement.workload.total_sessions
    ceiling = ceiling_of(measurement.ceiling, measurement.block_size)
    most, found = ceiling.at(in_flight), rate(measurement, reads)
    if most.value is None or found.value is None:
        return untold(name, most, found)
    share = 100 * found.value / most.value
    figures: dict[str, Shown] = {
        "share_pct": share,
        "ceiling_per_s": most.value,
        "in_flight": float(in_flight),
        "record": ceiling.id,
    }
    why = f"{count(found.value)} reads/s are {share:.0f} % of the {count(most.value)} that storage gives alone"
    beside = f"with {in_flight} in flight ({ceiling.id})"
    so = share <= 100 + MAX_ABOVE_PCT
    doubt = "" if so else "; more than all is not possible: other storage, a disturbed measurement, or a cache"
    return settled(name, so, f"{why}, {beside}{doubt}.", **figures)
