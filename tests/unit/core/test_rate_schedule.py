"""A rate that changes as a text, and as steps of one rate each."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from factories.tables import table
from openslob.core.rate_schedule import RateSchedule, RateStage, steps_of
from openslob.core.units import NANOS
from openslob.core.workload import Workload

MINUTES = "0s:1000,1m:1000-5000,2m:5000,180:200"


def test_a_text_has_a_begin_and_a_rate_for_each_stage():
    schedule = RateSchedule.parse(" 0s:1000, 1m:1000-5000,2m:0.5 ")
    assert schedule.stages == (RateStage(0, 1000, 1000), RateStage(60, 1000, 5000), RateStage(120, 0.5, 0.5))
    assert str(schedule) == "0s:1000,60s:1000-5000,120s:0.5"
    assert RateSchedule.parse(str(schedule)) == schedule


@table(
    ("text", "why"),
    [
        ("", "is not a stage"),
        ("1000", "is not a stage"),
        ("0s:1000;60s:2000", "is not a stage"),
        ("0s:-5", "is not a stage"),
        ("0s:1000,x:2000", "is not a duration"),
        ("0s:0", "a rate is from"),
        ("0s:2e9", "is not a stage"),
        ("0s:2000000000", "a rate is from"),
        ("10s:1000", "the first stage begins at 0s"),
        ("0s:1000,60s:2000,60s:1000", "each later than the one before"),
        ("0s:1000,60s:1000-2000", "a ramp ends where the next stage begins"),
        (",".join(f"{second}s:1" for second in range(101)), "100 are possible"),
    ],
)
def test_what_is_no_schedule_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        RateSchedule.parse(text)


@given(st.sampled_from([1.0, 2.5, 30.0]), st.integers(0, 200 * NANOS))
def test_operations_that_are_due_and_when_they_are_say_the_same(step_s, moment_ns):
    steps = steps_of(RateSchedule.parse(MINUTES), step_s)
    assert steps.when(steps.due(moment_ns)) == pytest.approx(moment_ns, abs=10)
    rate, end_ns = steps.at(moment_ns)
    assert end_ns > moment_ns
    assert steps.at(end_ns - 1)[0] == rate


@table("step_s", [1.0, 7.0, 60.0])
def test_as_many_operations_are_due_as_on_the_line_of_a_ramp(step_s):
    """60 s at 1,000, 60 s of 3,000 on average, 60 s at 5,000, and 200 a second from then on."""
    steps = steps_of(RateSchedule.parse(MINUTES), step_s)
    assert [steps.due(60 * number * NANOS) for number in range(5)] == pytest.approx([0, 6e4, 24e4, 54e4, 55.2e4])
    rates = [steps.at(int(second * NANOS))[0] for second in range(60, 120)]
    assert rates == sorted(rates)
    assert max(abs(rate - 1000 - 4000 * (at + 0.5) / 60) for at, rate in enumerate(rates)) <= 4000 / 60 * step_s / 2 + 1


def test_the_last_rate_lasts():
    steps = steps_of(RateSchedule.parse("0s:100,10s:300"), 1.0)
    assert steps.at(10**6 * NANOS) == (300, 2**62)
    assert math.isclose(steps.due(20 * NANOS), 1000 + 3000)


@table(
    ("given", "why"),
    [
        ({"target_ops": 5}, "TARGET_OPS and RATE_SCHEDULE are both given"),
        ({"target_iops": 5}, "TARGET_IOPS and RATE_SCHEDULE are both given"),
        ({"run_time": 60}, "has a stage from 60 s on, and RUN_TIME=60 is too short"),
        ({"run_time": 0, "work_loop": 10}, "RUN_TIME=0 is too short"),
        ({"classes": "a:sessions=1"}, "RATE_SCHEDULE is of all sessions"),
        ({"rate_schedule": None, "classes": "a:sessions=1,rate_schedule=0s:5"}, "rate_schedule is of all sessions"),
    ],
)
def test_what_contradicts_a_schedule_is_refused(given, why):
    with pytest.raises(ValidationError, match=why):
        Workload(**{"rate_schedule": "0s:100,60s:500", "run_time": 90, **given})


def test_a_load_without_a_schedule_has_no_such_parameter():
    load = Workload(rate_schedule="0s:100,30s:500")
    assert (load.is_paced, load.ops_per_s_wanted(8192)) == (True, 500)
    assert load.to_record()["rate_schedule"] == "0s:100,30s:500"
    assert Workload.model_validate(load.to_record()) == load
    assert "rate_schedule" not in Workload().to_record()
