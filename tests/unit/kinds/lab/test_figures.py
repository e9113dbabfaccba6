"""What a lab concludes: ratios of pairs, what chance does, when it has seen enough, controls that show something."""

from __future__ import annotations

import pytest

from factories.labs import METHOD, PAGES_OFF, SUMS_OFF, foreground_only, lab_record
from factories.records import physical
from openslob.kinds.lab.figures import (
    CONTROL,
    P99,
    PER_CPU,
    PER_FOREGROUND_CPU,
    RATE,
    SETTLED,
    VALID,
    differing,
    figures_of,
    is_done,
    with_results,
)
from openslob.metrics.run_metrics import figure_of
from openslob.record.model import Figure, Holds

pytestmark = pytest.mark.any_python


def verdicts(record):
    return {each.name: each.verdict for each in record.verdicts}


def test_what_differs_from_round_to_round_does_not_hide_what_a_setting_does():
    """Rates of rounds differ by 20 %, those of a pair by 1.4 %."""
    record = lab_record((PAGES_OFF, 1.12))
    found = record.result(PAGES_OFF, "update")
    assert found.rate.ratio == pytest.approx(1.12, rel=0.02)
    assert found.rate.low < 1.12 < found.rate.high
    assert found.figures[P99].ratio == pytest.approx(1 / found.rate.ratio, rel=1e-6)
    assert (found.settled, found.rate.differs, found.rate.together) == (True, True, True)
    assert is_done(record, PAGES_OFF, "update")


def test_no_difference_says_what_it_would_be_smaller_than():
    record = lab_record((SUMS_OFF, 1.0))
    rate = record.result(SUMS_OFF, "physical").rate
    assert (rate.differs, rate.together) == (False, False)
    assert 0 < rate.smaller_than_pct < 3
    assert differing(record) == (1, 0, 0)


def test_few_pairs_are_not_settled_however_narrow_they_are():
    record = lab_record((PAGES_OFF, 1.12), rounds=5, noise=0.0001)
    assert record.result(PAGES_OFF, "update").rate.half_pct < 1
    assert not is_done(record, PAGES_OFF, "update")
    assert verdicts(record)[SETTLED] is Holds.FAILS


def test_few_pairs_show_nothing_beyond_doubt():
    """A p99 comes in steps of 1.4 %: a few pairs may be exactly alike."""
    few, enough = (lab_record((PAGES_OFF, 1.12), (METHOD, 1.0), rounds=rounds, noise=0.0001) for rounds in (5, 6))
    assert [each.result(PAGES_OFF, "update").figures[P99].together for each in (few, enough)] == [None, True]
    assert few.result(PAGES_OFF, "update").rate.differs
    assert [verdicts(each)[CONTROL] for each in (few, enough)] == [Holds.UNKNOWN, Holds.HOLDS]


def test_one_pair_has_a_ratio_and_no_interval():
    rate = lab_record((PAGES_OFF, 1.12), rounds=1).result(PAGES_OFF, "update").rate
    assert (rate.pairs, rate.low, rate.high, rate.differs, rate.half_pct) == (1, None, None, None, None)
    assert rate.ratio
    assert "one pair" in rate.why


def test_a_control_that_differs_fails_and_counts_apart():
    silent = lab_record((METHOD, 0.7))
    assert verdicts(silent)[CONTROL] is Holds.HOLDS
    assert differing(silent) == (1, 1, 1)
    loud = silent.model_copy(
        update={
            "runs": tuple(
                each.model_copy(update={"figures": {**each.figures, RATE: each.figures[RATE] * 1.1}})
                if each.value == METHOD.value and each.load == "physical"
                else each
                for each in silent.runs
            )
        }
    )
    found = with_results(loud)
    assert verdicts(found)[CONTROL] is Holds.FAILS
    assert verdicts(lab_record((PAGES_OFF, 1.1)))[CONTROL] is Holds.UNKNOWN


def test_controls_that_show_nothing_are_called_different_in_at_most_one_of_twenty():
    loud = [verdicts(lab_record((METHOD, 0.7), rounds=6, seed=seed))[CONTROL] is Holds.FAILS for seed in range(100)]
    assert sum(loud) <= 10  # 5 expected; more than 10 has a chance of 1 %


def test_a_run_without_a_rate_makes_no_pair_and_says_why():
    record = lab_record((PAGES_OFF, 1.12), rounds=1)
    runs = tuple(
        each.model_copy(update={"figures": {RATE: None, P99: 100.0}, "why": "too busy"}) for each in record.runs
    )
    found = with_results(record.model_copy(update={"runs": runs})).result(PAGES_OFF, "update")
    assert (found.rate.pairs, found.rate.ratio, found.rate.why) == (0, None, "too busy")
    assert found.figures[P99].ratio == 1.0


def test_failed_runs_and_verdicts_on_what_was_measured_are_told():
    record = lab_record((PAGES_OFF, 1.12))
    assert verdicts(record)[VALID] is Holds.HOLDS
    first, second, *others = record.runs
    bad = first.model_copy(update={"failed_verdicts": ("counts_agree", "steady")})
    failed = second.model_copy(update={"figures": {}, "why": "the server went away"})
    found = with_results(record.model_copy(update={"runs": (bad, failed, *others)}))
    verdict = next(each for each in found.verdicts if each.name == VALID)
    assert verdict.verdict is Holds.FAILS
    assert "the server went away" in verdict.why
    assert "counts agree fails in 1" in verdict.why
    assert "steady" not in verdict.why
    assert found.result(PAGES_OFF, "update").rate.pairs == 7


def test_a_verdict_that_fails_is_told_where_every_run_was_made():
    record = lab_record((PAGES_OFF, 1.12))
    bad = record.runs[0].model_copy(update={"failed_verdicts": ("counts_agree",)})
    found = with_results(record.model_copy(update={"runs": (bad, *record.runs[1:])}))
    verdict = next(each for each in found.verdicts if each.name == VALID)
    assert (verdict.verdict, verdict.why) == (Holds.FAILS, f"counts agree fails in 1 of {len(record.runs)} runs.")


def test_a_run_counts_by_its_rate_its_rate_per_cpu_and_its_p99():
    record = physical()
    rate, cpu = (record.summary[name].value for name in ("ops_per_s", "db_cpu_per_s"))
    p99 = figure_of(record, "op_p99_us")
    assert p99
    assert figures_of(record, "ops_per_s") == {RATE: rate, PER_CPU: rate / cpu, P99: p99}


def test_where_the_cpu_of_the_server_is_not_known_that_of_its_sessions_counts():
    whole = physical()
    record = whole.model_copy(update={"summary": {**whole.summary, "db_cpu_per_s": Figure(value=None, unit="s/s")}})
    rate, cpu = (record.value(name) for name in ("ops_per_s", "foreground_cpu_per_s"))
    p99 = figure_of(record, "op_p99_us")
    assert figures_of(record, "ops_per_s") == {RATE: rate, PER_CPU: None, PER_FOREGROUND_CPU: rate / cpu, P99: p99}
    lab = foreground_only(lab_record((PAGES_OFF, 1.12)))
    assert lab.result(PAGES_OFF, "update").figures.keys() == {RATE, PER_FOREGROUND_CPU, P99}


def values(count, load="scan"):
    return [
        METHOD.model_copy(update={"value": f"method-{number}", "loads": (load,), "controls": ()})
        for number in range(count)
    ]


def test_values_that_share_the_runs_without_them_have_intervals_that_hold_together():
    alone, three = (lab_record(*((arm, 1.1) for arm in values(count))) for count in (1, 3))
    (single,), several = ([each.rate for each in record.results] for record in (alone, three))
    assert (single.joint_low, single.joint_high) == (single.low, single.high)
    for rate in several:
        assert rate.joint_low < rate.low < rate.ratio < rate.high < rate.joint_high
        assert rate.joint == (rate.joint_low, rate.joint_high)
    # Of another load, or another setting, the runs are others.
    apart = lab_record((METHOD, 1.1), (SUMS_OFF, 1.1))
    assert all(each.rate.joint_low == each.rate.low for each in apart.results)


def test_intervals_of_values_that_do_nothing_hold_together_in_nineteen_of_twenty_labs():
    def excludes(ends):
        return not ends[0] <= 1 <= ends[1]

    labs = [lab_record(*((arm, 1.0) for arm in values(4)), rounds=6, seed=seed).results for seed in range(150)]
    joint = sum(any(excludes(each.rate.joint) for each in results) for results in labs)
    alone = sum(any(each.rate.differs for each in results) for results in labs)
    # 7.5 expected; more than 15 has a chance of 1 %. Of intervals that hold alone, it is twice as many and more.
    assert joint <= 15 < alone
