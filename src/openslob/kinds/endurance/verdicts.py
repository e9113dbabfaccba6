"""Verdicts on an endurance run: was all of the time measured, was its level steady, and did the level last."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.outcome import Shown, counted, fails, holds, holds_or_fails, unknown
from openslob.analyze.steady_state import (
    MAX_DRIFT_PCT,
    MAX_SPREAD_PCT,
    MIN_STEADY_POINTS,
    RatePoint,
    drift_pct,
    steady_since,
)
from openslob.core.units import format_bytes, format_duration
from openslob.kinds.endurance.figures import LEAST_COURSE_S, Drop
from openslob.kinds.endurance.steady_snia import MAX_EXCURSION_PCT, MAX_SLOPE_PCT, SniaResult
from openslob.record.model import Verdict

# A rest that is shorter is within the length of a slice.
LEAST_SHARE = 0.999
# The part of the run that must be steady at its end.
STEADY_SHARE = 0.5
NAMES = ("time_covered", "steady_by_snia", "steady_course", "level_lasted", "level_sustained")


def time_covered(measured_s: float, planned_s: float, gaps_s: Sequence[float]) -> Verdict:
    """Judge whether all of the planned time was measured, without a gap."""
    figures = {"measured_s": round(measured_s, 1), "planned_s": planned_s, "gaps_s": round(sum(gaps_s), 1)}
    of = f"{format_duration(measured_s)} of {format_duration(planned_s)} were measured"
    if gaps_s:
        left_out = f"{counted(len(gaps_s), 'gap')} of {format_duration(sum(gaps_s))} in all, which no figure includes"
        return fails("time_covered", f"{of[0].upper()}{of[1:]}, with {left_out}.", **figures)
    return holds_or_fails("time_covered", measured_s >= LEAST_SHARE * planned_s, f"{of}, without a gap.", **figures)


def steady_by_snia(found: SniaResult) -> Verdict:
    """Judge whether steady state by SNIA's criteria was reached, and held at the end."""
    if found.last is None:
        return unknown("steady_by_snia", f"Not enough data: {found.why}.")
    first, last, kept = found.first, found.last, found.kept_share
    figures: dict[str, Shown] = {
        "round_s": found.round_s,
        "reached_s": first.begin_s if first else None,
        "kept_pct": None if kept is None else round(100 * kept, 1),
        "excursion_pct": round((first or last).excursion_pct, 2),
        "slope_pct": round((first or last).slope_pct, 2),
        "last_excursion_pct": round(last.excursion_pct, 2),
        "last_slope_pct": round(last.slope_pct, 2),
    }
    limits = f"excursion at most {MAX_EXCURSION_PCT:g} %, slope at most {MAX_SLOPE_PCT:g} %"
    rounds = f"five rounds of {format_duration(found.round_s)}"
    if first is None:
        seen = f"in the last one the excursion was {last.excursion_pct:.1f} % and the slope {last.slope_pct:+.1f} %"
        return fails("steady_by_snia", f"No window of {rounds} is steady ({limits}); {seen}.", **figures)
    reached = f"Reached at {format_duration(first.end_s)}, in {rounds} ({limits})"
    met = "too" if last.is_steady else "does not"
    held = f"{100 * (kept or 0):.0f} % of the windows from there on meet the criteria"
    return holds_or_fails("steady_by_snia", last.is_steady, f"{reached}; {held}, the last one {met}.", **figures)


def steady_course(points: Sequence[RatePoint], end_s: float) -> Verdict:
    """Judge whether at least the later half was steady by the criteria that runs have."""
    if len(points) < MIN_STEADY_POINTS:
        return unknown(
            "steady_course", f"Not enough data: it needs {MIN_STEADY_POINTS} points, there are {len(points)}."
        )
    since, drift = steady_since(points), drift_pct(points)
    figures = {"steady_since_s": since, "drift_pct": None if drift is None else round(drift, 2)}
    limits = f"drift within {MAX_DRIFT_PCT:g} %, spread within {MAX_SPREAD_PCT:g} %"
    if since is None:
        return fails("steady_course", f"No part that lasts until the end is steady ({limits}).", **figures)
    so = end_s - since >= STEADY_SHARE * (end_s - points[0][0])
    why = f"Steady from {format_duration(since)} until the end, {format_duration(end_s)} ({limits})."
    return holds_or_fails("steady_course", so, why, **figures)


def level_lasted(drop: Drop | None, known_s: float) -> Verdict:
    """Judge whether the level did not fall for good."""
    if known_s < LEAST_COURSE_S:
        least = format_duration(LEAST_COURSE_S)
        return unknown(
            "level_lasted", f"Too short to tell: it needs {least}, and {format_duration(known_s)} are known."
        )
    if drop is None:
        return holds("level_lasted", "The level did not fall for good at any time.")
    written = "" if drop.written_bytes is None else f", after {format_bytes(drop.written_bytes)} were written"
    what = "Write cliff" if drop.is_write_cliff else "The level fell for good"
    return fails(
        "level_lasted",
        f"{what} at {format_duration(drop.at_s)}{written}: from {drop.before:,.0f} to {drop.after:,.0f} operations/s "
        f"(-{drop.drop_pct:.0f} %), and it did not come back.",
        at_s=drop.at_s,
        before_per_s=drop.before,
        after_per_s=drop.after,
        written_bytes=drop.written_bytes,
    )
