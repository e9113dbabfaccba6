"""The verdict on drivers, of one and of many."""

from dataclasses import replace

import pytest

from factories.measurements import measurement
from openslob.analyze.stillness import say_stillness
from openslob.analyze.verdicts import driver_quiet
from openslob.core.measurement import DriverUse
from openslob.core.workload import Loop
from openslob.record.model import Holds

ONE = DriverUse(
    1, "tls://a:1", "a", 7, "machine", False, range(4), seconds=60.0, cpu_s=1.2, host_busy_s=24.0, host_cpus=4
)


def judged(*drivers):
    return driver_quiet(measurement(drivers=drivers))


def test_each_driver_is_judged_and_the_busiest_named():
    found = judged(ONE, replace(ONE, number=2, cpu_s=6.0))
    assert found.verdict is Holds.HOLDS
    assert "Of 2 drivers the busiest used 10.0 % of one CPU (25 % is allowed)" in found.why
    assert (found.figures["driver_1_cpu_pct"], found.figures["driver_2_cpu_pct"]) == (2.0, 10.0)
    assert found.figures["driver_cpu_pct_of_db"] == driver_quiet(measurement()).figures["driver_cpu_pct_of_db"]


@pytest.mark.parametrize(
    ("changed", "verdict", "said"),
    [
        ({"cpu_s": 30.0}, Holds.FAILS, "driver 2 (a, pid 7) used 50 % of one CPU (25 % is allowed)"),
        ({"host_busy_s": 230.0}, Holds.FAILS, "driver 2 (a, pid 7) ran on a host whose CPUs were 96 % busy"),
        ({"lost": "is gone"}, Holds.UNKNOWN, "driver 2 (a, pid 7) is gone"),
        ({"cpu_s": None, "why_unknown": "no /proc"}, Holds.UNKNOWN, "did not say what it used: no /proc"),
    ],
)
def test_one_driver_that_is_not_quiet_is_named(changed, verdict, said):
    found = judged(ONE, replace(ONE, number=2, **changed))
    assert found.verdict is verdict
    assert said in found.why


def test_a_busy_host_is_no_fault_of_a_driver_beside_the_server():
    assert judged(replace(ONE, host_busy_s=230.0, here=True)).verdict is Holds.HOLDS


def test_the_only_driver_of_a_client_loop_must_have_cpu_left():
    plain = measurement()
    load = plain.workload.model_copy(update={"loop": Loop.CLIENT})
    for cpu_s, verdict in ((6.0, Holds.HOLDS), (30.0, Holds.FAILS)):
        # Beside a server that uses so much more that the driver's share of it is small.
        host = replace(plain.host, driver_cpu_s=cpu_s, server_cpu_s=2000.0)
        found = driver_quiet(replace(plain, workload=load, host=host))
        assert found.verdict is verdict
        # In the server's loop it only gives orders: of one CPU it may use what it needs.
        assert driver_quiet(replace(plain, host=host)).verdict is Holds.HOLDS
    assert "used 50 % of one CPU (25 % is allowed); --drivers spreads it" in found.why
    assert found.figures["driver_cpu_pct"] == pytest.approx(50.0)


STOPPED = {"still_s": 5.0, "still_at_s": 7.04, "still_cpu_s": 0.01, "still_waited_s": 0.0}


def test_a_driver_that_stood_still_is_named_and_fails_when_that_was_long():
    found = judged(ONE, replace(ONE, number=2, **STOPPED))
    said = "driver 2 (a, pid 7) stood still for 5.0 s, 7.0 s after the start: its process or its host was stopped"
    assert found.verdict is Holds.FAILS
    assert said in found.why
    # Of eight drivers for ten minutes it is little.
    found = judged(*(replace(ONE, number=number, seconds=600.0) for number in range(2, 9)), replace(ONE, **STOPPED))
    assert found.verdict is Holds.HOLDS
    assert "Too briefly to fail this: driver 1 (a, pid 7) stood still for 5.0 s" in found.why


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "its process or its host was stopped"),
        ({"still_waited_s": 4.0}, "it waited for a CPU for 4.0 s"),
        ({"still_cpu_s": 4.5}, "its own work took 4.5 s of CPU"),
        ({"still_waited_s": 1.0}, "it was stopped, or short of CPU (it waited for a CPU for 1.0 s, and used 0.0 s)"),
        ({"still_waited_s": None}, "it was stopped, or short of CPU (it waited for a CPU for an unknown time"),
    ],
)
def test_why_a_driver_stood_still_is_told_as_far_as_it_is_known(found, said):
    assert f": {said}" in say_stillness(replace(ONE, **{**STOPPED, **found}))
    assert say_stillness(ONE) == ""
