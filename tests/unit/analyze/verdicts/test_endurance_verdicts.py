"""Verdicts on a run over days: all of its time, steady state by two definitions, and a level that lasts."""

from __future__ import annotations

import numpy as np
import pytest

from factories.tables import table
from openslob.kinds.endurance.figures import (
    LEAST_COURSE_S,
    NAMES,
    Drop,
    level_lasted,
    steady_by_snia,
    steady_course,
    time_covered,
)
from openslob.kinds.endurance.steady_snia import snia_steady_state
from openslob.record.model import Holds

HOLDS, FAILS, UNKNOWN = Holds.HOLDS, Holds.FAILS, Holds.UNKNOWN


def by_snia(*rounds: float):
    return steady_by_snia(snia_steady_state(np.repeat(rounds, 60), 1.0))


def test_each_verdict_has_one_of_the_names():
    found = (time_covered(1, 1, ()), by_snia(1.0), steady_course([], 0.0), level_lasted(None, 0.0))
    assert {each.name for each in found} | {"level_sustained"} == set(NAMES)


@table(
    ("measured_s", "gaps_s", "verdict"),
    [(1000, (), HOLDS), (999, (), HOLDS), (998.9, (), FAILS), (1000, (0.5, 1.5), FAILS)],
)
def test_all_of_the_time_is_covered_but_for_a_rest_within_a_slice(measured_s, gaps_s, verdict):
    found = time_covered(measured_s, 1000, gaps_s)
    assert (found.verdict, found.figures) == (
        verdict, {"measured_s": measured_s, "planned_s": 1000, "gaps_s": sum(gaps_s)},
    )  # fmt: skip


def test_steady_state_by_snia_is_told_with_its_first_and_its_last_window():
    # The first five rounds that are steady are those from the sixth on.
    found = by_snia(*[300.0, 260, 220, 180, 140], *[100.0] * 20)
    assert found.verdict is HOLDS
    assert found.figures == {
        "round_s": 60, "reached_s": 300, "kept_pct": 100, "excursion_pct": 0, "slope_pct": 0, "last_excursion_pct": 0,
        "last_slope_pct": 0,
    }  # fmt: skip
    lost = by_snia(*[100.0] * 20, *[100.0, 110, 120, 130, 140])
    assert (lost.verdict, lost.figures["reached_s"]) == (FAILS, 0)
    # Of 21 windows the last three are not steady: in the last one the rate rises by 40 of 120.
    assert lost.figures["kept_pct"] == pytest.approx(100 * 18 / 21, abs=0.05)
    assert (lost.figures["last_excursion_pct"], lost.figures["last_slope_pct"]) == pytest.approx((33.33, 33.33))
    # Steady at both ends, but not in four of 21 windows between.
    between = by_snia(*[100.0] * 15, *[50.0] * 10)
    assert (between.verdict, between.figures["last_excursion_pct"]) == (FAILS, 0)
    kept = by_snia(*[100.0] * 100, *[50.0] * 10)
    assert (kept.verdict, kept.figures["kept_pct"]) == (HOLDS, pytest.approx(100 * 102 / 106, abs=0.05))
    late = by_snia(*[100 * 1.2**at for at in range(25, 0, -1)], *[100.0] * 30)
    assert late.verdict is FAILS
    assert "after the 25 rounds within which the specification asks for it" in late.why
    never = by_snia(*np.linspace(100, 1000, 25))
    assert (never.verdict, never.figures["reached_s"], never.figures["kept_pct"]) == (FAILS, None, None)


@table(("rising", "verdict"), [(0, HOLDS), (49, HOLDS), (70, FAILS), (100, FAILS)])
def test_at_least_the_later_half_of_the_course_must_be_steady(rising, verdict):
    rates = [*np.linspace(100, 900, rising + 1)[:-1], *[1000.0] * (100 - rising)]
    found = steady_course([(float(at), rate) for at, rate in enumerate(rates)], 100.0)
    assert found.verdict is verdict
    assert set(found.figures) == ({"steady_since_s", "drift_pct"})
    assert steady_course([(0.0, 1.0)] * 9, 9.0).verdict is UNKNOWN


def test_a_level_that_fell_for_good_is_told_with_both_levels():
    drop = Drop(at_s=600.0, before=1000.0, after=400.0, is_write_cliff=True, written_bytes=2.0**30)
    found = level_lasted(drop, LEAST_COURSE_S)
    assert (found.verdict, found.figures) == (
        FAILS, {"at_s": 600, "before_per_s": 1000, "after_per_s": 400, "written_bytes": 2**30},
    )  # fmt: skip
    assert "Write cliff at 10 min, after 1 GB were written: from 1,000 to 400 operations/s (-60 %)" in found.why
    assert level_lasted(None, LEAST_COURSE_S).verdict is HOLDS
    assert level_lasted(None, LEAST_COURSE_S - 1).verdict is UNKNOWN
