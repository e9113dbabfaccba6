"""Causes of made-up slow stretches, by the time that sessions lose: none is stated that is false."""

from __future__ import annotations

import pytest

from factories import effort
from factories.slow_loads import FAULTS, Fault, answers, course
from openslob.analyze.causes import LEAST_STATED, Cause, episodes
from openslob.analyze.trace import Trace

pytestmark = pytest.mark.any_python

STRENGTHS = (0.0, 0.5, 1.0)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_cause_that_is_stated_is_there(fault: Fault):
    for seed, strength in enumerate(STRENGTHS):
        for seconds in ((3, 12), (12, 3), (3, 12))[seed][: effort.number(1, 2)]:
            worst = max(episodes(course(fault, strength, seconds, seed)), key=lambda each: each.lost_ops)
            assert answers(worst.cause) & fault.right, (strength, seconds, worst)
            assert worst.candidates[0].share >= LEAST_STATED
            assert worst.cause == worst.candidates[0].cause or worst.cause.startswith("either ")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("kept", [(), ("waits.log",)], ids=["no samples", "stages of statements"])
def test_without_samples_of_waits_causes_are_unknown_and_not_false(fault: Fault, kept: tuple[str, ...]):
    for seed, strength in [*enumerate(STRENGTHS)][:: effort.number(2, 1)]:
        sampled = course(fault, strength, 12, seed)
        series = {name: each for name, each in sampled.series.items() if not name.startswith("waits.") or name in kept}
        if kept:
            series["waits.stage"] = sampled.get("sessions.busy") - sampled.get("waits.log")
        trace = Trace(0, 1.0, series, sampled.marks)
        worst = max(episodes(trace), key=lambda each: each.lost_ops)
        assert answers(worst.cause) & (fault.right | {Cause.UNKNOWN}), (strength, worst)


def test_a_wait_for_a_cpu_after_a_read_is_none_for_data():
    hog = next(each for each in FAULTS if each.name == "hog that is waited for after reads")
    for seed, strength in enumerate(STRENGTHS):
        (found,) = episodes(course(hog, strength, 12, seed))
        assert (found.cause, found.also) == (Cause.OTHERS_CPU, ())


def test_no_evenness_of_a_stretch_alone_tells_a_cap_from_slow_reads():
    names = ("reads +1", "spread read", "read cap in")
    for fault in (next(each for each in FAULTS if each.name.startswith(name)) for name in names):
        assert episodes(course(fault, 0.5, 20, 3))[0].cause == "either I/O cap or slow reads"
