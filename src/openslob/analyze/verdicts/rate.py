"""The verdict on a given rate: whether every operation that was due could begin."""

from __future__ import annotations

from openslob.analyze.figures import begun_pct
from openslob.analyze.quantity import total
from openslob.analyze.verdicts.outcome import count, settled, some, untold
from openslob.record.measurement import Measurement
from openslob.record.model import Verdict

# What a rate may be off by: less than the spread between two runs of a quiet machine.
MAX_SHORT_PCT = 1.0


def is_reached(measurement: Measurement) -> bool:
    """A rate was given, and hardly an operation that was due in the window had not begun at its end."""
    share = begun_pct(measurement).value
    return share is not None and share >= 100 - MAX_SHORT_PCT


def rate_reached(measurement: Measurement) -> Verdict | None:
    """The operations that were due in the window began in it; None when no rate was given.

    Judged by what was due, not by the mean rate: of a Poisson process that is due to chance.
    """
    schedule, begun = measurement.schedule, begun_pct(measurement)
    if schedule is None:
        return None
    share = begun.value
    if share is None:
        return untold("rate_reached", begun)
    ops, seconds = total(measurement, "ops"), measurement.window.load_seconds
    achieved = ops / seconds if seconds > 0 else None
    done = "" if achieved is None else f", {achieved:,.1f} of {schedule.wanted_per_s:,.1f} a second"
    left = (
        f"{some(round(schedule.not_begun), 'operation')} due in the window had not begun at its end, "
        f"the oldest {schedule.oldest_s:.3f} s late"
        if schedule.not_begun
        else "none that was due was left at the end"
    )
    return settled(
        "rate_reached",
        is_reached(measurement),
        f"{count(ops)} operations, {share:.2f} % of those due, began{done}; {left}; "
        f"{100 - MAX_SHORT_PCT:g} % is asked.",
        begun_pct=share,
        target_ops_per_s=schedule.wanted_per_s,
        achieved_ops_per_s=achieved,
        not_begun=schedule.not_begun,
        oldest_s=schedule.oldest_s,
    )
