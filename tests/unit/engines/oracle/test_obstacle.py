"""Who keeps our connections waiting in an Oracle database."""

import pytest

from factories.oracle.double import Answers, connected, rows
from factories.oracle.wire import OracleError
from openslob.engines.oracle.waits import describe, find_obstacle

WAITS = {
    "sid": 21, "serial": 3, "action": "load", "event": "enq: TM - contention", "b_sid": 44, "b_serial": 5,
    "b_user": "APP", "b_module": "SQL*Plus", "b_program": "sqlplus@host", "b_status": "INACTIVE", "b_seconds": 340,
    "b_action": None, "b_process": "9", "b_machine": "there", "blocking_session": 44,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "held by session 44,5 (user APP, SQL*Plus, idle for 340 s)"),
        ({"b_module": None, "b_status": "ACTIVE"}, "held by session 44,5 (user APP, sqlplus@host, at work for 340 s)"),
        ({"b_module": None, "b_program": None}, "held by session 44,5 (user APP, idle for 340 s)"),
        (
            {"b_user": "SLOB", "b_module": "slob", "b_action": "load", "b_status": "ACTIVE"},
            "held by session 44,5 (user SLOB, slob's load from process 9 on there, at work for 340 s)",
        ),
        ({"b_sid": None}, "held by session 44 of another instance"),
        ({"event": "log file switch (archiving needed)"}, "all redo logs wait to be archived"),
        ({"event": "statement suspended, wait error to be cleared"}, "until somebody adds space"),
    ],
)
def test_who_is_waited_for(changed, expected):
    text = describe([WAITS | changed])
    assert text.startswith("our connection for load (session 21,3) waits ")
    assert expected in text


def test_a_server_that_stands_still_is_named_before_locks():
    stuck = WAITS | {"sid": 30, "event": "log file switch (archiving needed)"}
    assert "archived" in describe([WAITS, stuck])
    assert describe([WAITS, stuck]).endswith(", and 1 more of our connections wait")


def test_nobody_waits():
    assert describe([]) == ""
    assert find_obstacle(connected(Answers(SELECT=rows()))) == ""


def test_it_is_not_known_without_the_right():
    assert find_obstacle(connected(Answers(SELECT=OracleError(942, "table or view does not exist")))) == ""
