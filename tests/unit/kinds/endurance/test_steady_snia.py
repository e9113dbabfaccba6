"""SNIA's criteria of steady state, on made-up rounds."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.kinds.endurance.steady_snia import round_averages, snia_steady_state


def of_rounds(*values: float) -> np.ndarray:
    """Return a series of a minute's steps whose rounds, of a minute each, have these values."""
    rounds = [*values, *[values[-1]] * (25 - len(values))] if len(values) < 25 else list(values)
    return np.repeat(np.asarray(rounds, dtype=float), 60)


def test_a_level_series_is_steady_from_its_first_window() -> None:
    found = snia_steady_state(of_rounds(100.0), 1.0)
    assert found.first is not None
    assert (found.first.begin_s, found.first.end_s) == (0, 300)
    assert (found.first.excursion_pct, found.first.slope_pct) == (0, 0)
    assert found.kept_share == 1


def test_the_first_window_is_the_first_without_the_falling_rounds() -> None:
    found = snia_steady_state(of_rounds(300, 200, 150, 130, 100), 1.0)
    assert found.first is not None
    assert found.first.begin_s == 240
    assert found.last is not None
    assert found.last.is_steady


@pytest.mark.parametrize(
    ("rounds", "excursion", "slope", "steady"),
    [
        # Highest minus lowest is 20 of an average of 100, and 20 % is allowed; the line is flat.
        ((110.0, 90.0, 100.0, 90.0, 110.0), 20.0, 0.0, True),
        # The excursion is within the limit, but the line rises by more than 10 %.
        ((94.0, 97.0, 100.0, 103.0, 106.0), 12.0, 12.0, False),
        ((95.0, 97.5, 100.0, 102.5, 105.0), 10.0, 10.0, True),
        # The line is flat, but one round is out of the way.
        ((100.0, 100.0, 121.0, 100.0, 100.0), 20.15, 0.0, False),
    ],
)
def test_both_criteria_must_hold(rounds: tuple[float, ...], excursion: float, slope: float, steady: bool) -> None:
    window = snia_steady_state(of_rounds(*rounds), 1.0).windows[0]
    assert window.excursion_pct == pytest.approx(excursion, abs=0.01)
    assert window.slope_pct == pytest.approx(slope, abs=1e-6)
    assert window.is_steady is steady


def test_what_was_steady_may_not_stay_so() -> None:
    found = snia_steady_state(of_rounds(*[100.0] * 15, *[50.0] * 10), 1.0)
    assert found.first is not None
    # Of the 21 windows, the four with the fall inside them do not meet the criteria.
    assert found.kept_share == pytest.approx(17 / 21)


def test_no_window_reaches_across_a_gap() -> None:
    series = of_rounds(100.0)
    series[60 * 12 : 60 * 14] = np.nan
    windows = snia_steady_state(series, 1.0).windows
    assert len(windows) == (12 - 4) + (11 - 4)
    assert not any(window.begin_s < 14 * 60 and window.end_s > 12 * 60 for window in windows)


def test_too_short_a_series_has_no_window_and_says_so() -> None:
    found = snia_steady_state(np.full(4, 100.0), 1.0)
    assert found.windows == []
    assert found.first is None
    assert found.kept_share is None
    assert "5 rounds of 60 s" in found.why


@pytest.mark.parametrize("minutes", [5, 25, 8 * 60])
def test_a_round_is_a_minute_however_long_the_run(minutes: int) -> None:
    found = snia_steady_state(np.full(minutes * 60, 100.0), 1.0)
    assert len(found.windows) == minutes - 4


@pytest.mark.parametrize("step_s", [7.0, 120.0])
def test_steps_that_make_no_minutes_have_no_rounds(step_s: float) -> None:
    found = snia_steady_state(np.full(500, 100.0), step_s)
    assert found.windows == []
    assert f"steps of {step_s:g} s" in found.why


def test_steady_state_is_in_time_within_the_rounds_of_the_specification() -> None:
    falling = [100 * 1.2**at for at in range(40, 0, -1)]
    assert snia_steady_state(of_rounds(*falling[-20:], *[100.0] * 10), 1.0).in_time
    late = snia_steady_state(of_rounds(*falling[-21:], *[100.0] * 10), 1.0)
    assert late.first is not None
    assert not late.in_time


def test_a_round_of_which_too_little_is_known_has_no_average() -> None:
    values = np.array([1.0, 3.0, np.nan, np.nan, np.nan, 5.0, 7.0, 7.0, 9.0])
    assert round_averages(values, 1.0, 4.0) == pytest.approx([2.0, 19 / 3])
    assert np.isnan(round_averages(np.array([np.nan, np.nan, np.nan, 5.0]), 1.0, 4.0)).all()


def test_a_round_as_long_as_a_step_has_the_value_of_the_step() -> None:
    assert round_averages(np.array([1.0, 3.0, 2.0]), 60.0, 60.0) == pytest.approx([1, 3, 2])
