"""Differences across starts of the server: shown only by several starts, or by a spread that is known of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from factories.records import Made, physical
from factories.tables import table
from openslob.analyze.ci_gate import GateResult, check, parse_condition
from openslob.analyze.compare import Comparison, compare
from openslob.analyze.curves.points import Run
from openslob.analyze.differences import Difference, Outcome, Shows, difference, mean_difference
from openslob.analyze.intervals import spread
from openslob.analyze.statistics import Basis, Estimate, of_repeats
from openslob.core.errors import UsageError
from openslob.metrics import Better
from openslob.record.model import RunRecord
from openslob.report.comparison import comparison_document
from openslob.report.terminal import render_text

BEFORE, AFTER = [100.0, 101, 99, 100], [110.0, 111, 109, 110]


def told(a: Estimate, b: Estimate) -> Difference:
    return difference("ops_per_s", "1/s", Better.MORE, a, b)


def test_a_side_of_nothing_has_the_spread_of_the_other() -> None:
    """Equal runs that differ by half have 0 now and then."""
    known = spread([[2.0], [6.0], [4.0], [3.0]])
    for first, second in ((0.0, 5.0), (5.0, 0.0)):
        found = difference("x", "", Better.LESS, of_repeats([first]), of_repeats([second]), known)
        assert found.outcome is Outcome.NOT_SHOWN


def test_runs_of_one_start_each_show_no_difference_however_many_they_are() -> None:
    found = told(of_repeats(BEFORE, ["s1"] * 4), of_repeats(AFTER, ["s2"] * 4))
    assert (found.outcome, found.shows, found.repeats_needed) == (Outcome.NOT_ENOUGH, Shows.ONE_START, None)
    assert found.change_low is not None
    near = told(of_repeats(BEFORE, ["s1"] * 4), of_repeats(BEFORE, ["s2"] * 4))
    assert near.outcome is Outcome.NOT_SHOWN


def test_runs_of_the_same_start_on_both_sides_do() -> None:
    found = told(of_repeats(BEFORE, ["s1"] * 4), of_repeats(AFTER, ["s1"] * 4))
    assert (found.outcome, found.shows, found.repeats_needed) == (Outcome.BETTER, Shows.SAME_START, 3)


def test_runs_of_the_same_starts_are_compared_within_each_of_them() -> None:
    starts = ["s1", "s1", "s2", "s2", "s3", "s3"]
    a = of_repeats([100.0, 101, 150, 152, 80, 81], starts)
    b = of_repeats([103.0, 104, 156, 155, 83, 84], starts)
    assert told(a, b).outcome is Outcome.BETTER
    assert told(of_repeats(list(np.ravel(a.runs))), of_repeats(list(np.ravel(b.runs)))).outcome is Outcome.NOT_SHOWN


def test_several_starts_are_what_counts_and_a_plan_keeps_their_runs() -> None:
    a = of_repeats([100.0, 100.1, 104, 104.1, 96, 96.1], ["s1", "s1", "s2", "s2", "s3", "s3"])
    b = of_repeats([104.0, 104.1, 108, 108.1, 100, 100.1], ["s4", "s4", "s5", "s5", "s6", "s6"])
    found = told(a, b)
    assert (found.outcome, found.shows, found.runs_per_start) == (Outcome.NOT_SHOWN, Shows.STARTS, 2)
    assert a.basis is Basis.REPEATS
    assert (found.repeats_needed or 0) % 2 == 0
    assert told(of_repeats([*np.ravel(a.runs)]), of_repeats([*np.ravel(b.runs)])).repeats_needed != found.repeats_needed


def test_single_runs_differ_when_others_have_shown_how_much_starts_do() -> None:
    a, b = of_repeats([100.0], ["s1"]), of_repeats([90.0], ["s2"])
    known = spread([[100.0], [101], [99], [100], [100.5]])
    found = difference("ops_per_s", "1/s", Better.MORE, a, b, known)
    assert (found.outcome, found.shows) == (Outcome.WORSE, Shows.STARTS)
    near = difference("ops_per_s", "1/s", Better.MORE, a, of_repeats([99.0], ["s2"]), known)
    assert (near.outcome, (near.repeats_needed or 0) > 1) == (Outcome.NOT_SHOWN, True)
    assert told(a, b).outcome is Outcome.NOT_ENOUGH


@table(("values", "other"), [([0.0, 0, 1], [5.0, 6, 7]), ([-1.0, 0, 1], [5.0, 6, 7])])
def test_values_without_a_ratio_are_compared_by_their_difference(values: list[float], other: list[float]) -> None:
    assert told(of_repeats(values), of_repeats(other)).outcome is Outcome.BETTER
    assert told(of_repeats(values), of_repeats([100.0])).outcome is Outcome.BETTER


def at_points(a: Sequence[Sequence[str]], b: Sequence[Sequence[str]], gain: float = 0.03) -> Difference:
    """Compare sweeps whose points were made in these starts; each start shifts all of its runs alike."""
    shifts, rng = {"a1": 0.0, "a2": -0.005, "a3": 0.005, "b1": 0.0, "b2": 0.005, "b3": -0.005}, np.random.default_rng(3)
    pairs = []
    for level, of_a, of_b in zip((10.0, 20.0, 40.0, 50.0, 60.0), a, b, strict=True):
        sides = [
            of_repeats([level * (1 + more + shifts[name] + 0.001 * rng.normal()) for name in names], list(names))
            for names, more in ((of_a, 0.0), (of_b, gain))
        ]
        pairs.append(told(*sides))
    return mean_difference("ops_per_s", "1/s", Better.MORE, pairs)


def test_points_of_one_start_are_no_independent_evidence() -> None:
    found = at_points([["a1"]] * 5, [["b1"]] * 5)
    assert (found.outcome, found.shows, found.pct_low) == (Outcome.NOT_ENOUGH, Shows.ONE_START, None)
    assert found.pct == pytest.approx(3, abs=0.2)


def test_points_of_the_same_start_on_both_sides_are_evidence() -> None:
    assert at_points([["a1"]] * 5, [["a1"]] * 5).outcome is Outcome.BETTER


def test_several_starts_of_all_points_are_compared_by_their_means() -> None:
    found = at_points([["a1", "a2", "a3"]] * 5, [["b1", "b2", "b3"]] * 5)
    assert found.outcome is Outcome.BETTER
    # Three starts a side, 0.5 % apart: about ± 1.1 %, and not the ± 0.3 % of fifteen runs.
    assert 0.8 < ((found.pct_high or 0) - (found.pct_low or 0)) / 2 < 1.6


def test_groups_of_points_with_starts_of_their_own_are_evidence() -> None:
    found = at_points([["a1"], ["a1"], ["a2"], ["a2"], ["a3"]], [["b1"], ["b1"], ["b2"], ["b2"], ["b3"]])
    assert found.pct_low is not None
    assert found.pct_high is not None
    assert found.pct_high - found.pct_low > 2


def records(speeds: Sequence[float], starts: Sequence[str], day: int = 1) -> list[RunRecord]:
    made = []
    for at, (speed, start) in enumerate(zip(speeds, starts, strict=True)):
        record = physical(Made(visits=57_960 * speed, read_us=131 / speed), record_id=f"202603{day:02}-12{at:02}00-pio")
        made.append(record.model_copy(update={"engine": {**record.engine, "server_started_at": start}}))
    return made


def compared(a: list[RunRecord], b: list[RunRecord], like: Sequence[RunRecord] = ()) -> Comparison:
    return compare(*([Run.of(each) for each in side] for side in (a, b)), like=[Run.of(each) for each in like])


def test_the_gate_asks_for_restarts_where_each_side_is_of_one_start() -> None:
    found = compared(records([1, 1.01, 0.99], ["x"] * 3), records([0.8, 0.81, 0.79], ["y"] * 3, 2))
    result = check(parse_condition("ops_per_s < -5%"), found)
    assert result.result is GateResult.UNDECIDED
    assert result.difference is not None
    assert result.difference.shows is Shows.ONE_START
    assert "restart" in result.why
    text = " ".join(render_text(comparison_document(found)).split())
    assert "how much starts differ is not known" in text
    passed = check(parse_condition("ops_per_s > 5%"), found)
    assert (passed.result, "one start" in passed.why) == (GateResult.OK, True)


def test_the_gate_decides_on_single_runs_with_the_spread_of_a_baseline() -> None:
    like = records([1, 1.01, 0.99, 1.005], ["1", "2", "3", "4"], 3)
    a, b = records([1], ["x"]), records([0.8], ["y"], 2)
    assert check(parse_condition("ops_per_s < -5%"), compared(a, b)).result is GateResult.UNDECIDED
    found = compared(a, b, like)
    assert check(parse_condition("ops_per_s < -5%"), found).result is GateResult.VIOLATED
    assert "each after a restart of the server" in " ".join(render_text(comparison_document(found)).split())


def test_a_spread_of_other_points_is_refused() -> None:
    other = [each.model_copy(update={"spec": {**each.spec, "work_unit": 3}}) for each in records([1, 1], ["1", "2"])]
    with pytest.raises(UsageError, match="the spread"):
        compared(records([1], ["x"]), records([0.8], ["y"], 2), other)


def test_the_interval_of_a_difference_of_values_without_a_ratio_is_welchs() -> None:
    from scipy import stats  # noqa: PLC0415 - a second of CPU for each worker

    before, after = [0.0, 0, 1, 4], [5.0, 6, 7]
    found = told(of_repeats(before), of_repeats(after))
    expected = stats.ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    assert (found.change_low, found.change_high) == (pytest.approx(expected.low), pytest.approx(expected.high))
