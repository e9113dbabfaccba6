"""What sessions of an Oracle database wait for, and who keeps ours waiting."""

from contextlib import closing

import pytest

from factories.oracle.double import Answers, connected, rows
from factories.oracle.made_up_views import MadeUpViews
from factories.oracle.standin_sql import database, translated
from factories.oracle.wire import OracleError
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.engines.oracle.connection import Connection, statement
from openslob.engines.oracle.waits import OracleWaits, describe, find_obstacle

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


LOOK = [(0, "User I/O:db file sequential read", 5), (0, "CPU", 2), (1, "SCOTT@there (sqlplus)", 1)]


@table(
    "rows, container, others",
    [
        (LOOK, 0, {"SCOTT@there (sqlplus)": 1}),
        (LOOK[:2], 0, {}),
        (LOOK, 3, {"SCOTT@there (sqlplus)": 1}),
        # Other pluggable databases may have sessions that are not seen from here.
        (LOOK[:2], 3, None),
        # Nor by a common user in the root, unless it was given their data.
        (LOOK[:2], 1, None),
        (LOOK, 1, {"SCOTT@there (sqlplus)": 1}),
    ],
)
def test_waits_and_others(rows, container, others):
    waits = OracleWaits(Connection(MadeUpViews({"look": rows}, container=container)))
    activity = waits.sample()
    assert activity.events == {"User I/O:db file sequential read": 5, "CPU": 2}
    assert activity.others == others
    assert waits.backend_ids() == [77]
    waits.close()


def test_waits_that_this_user_may_not_see():
    connection = Connection(MadeUpViews(hidden=("v$session",)))
    with pytest.raises(
        SlobError, match=r"the wait events can't be sampled: this user may not read V\$SESSION"
    ) as refused:
        OracleWaits(connection).sample()
    assert refused.value.remedy == "GRANT SELECT ON SYS.V_$SESSION TO SLOB"
    lost = MadeUpViews(refuse={"AS sessions": "DPY-4011: the database or network closed the connection"})
    with pytest.raises(SlobError, match="the wait events can't be sampled: DPY-4011"):
        OracleWaits(Connection(lost)).sample()


WAITING, RUNNING = ("ACTIVE", "WAITING"), ("ACTIVE", "WAITED SHORT TIME")
READ, IDLE = ("User I/O", "db file sequential read"), ("Idle", "SQL*Net message from client")


@table(
    ("session", "seen"),
    [
        (("USER", "APP", *RUNNING, *READ, None, None, None), [(0, "CPU", 1)]),
        (("USER", "APP", *WAITING, *READ, "sqlplus", None, None), [(0, "User I/O:db file sequential read", 1)]),
        (("USER", "SLOB", *WAITING, *READ, "python", "slob", "run/a"), [(0, "User I/O:db file sequential read", 1)]),
        (("USER", "APP", *WAITING, *IDLE, None, None, None), []),
        (("USER", "SLOB", *RUNNING, *READ, "python", "slob", "waits"), []),
        (("USER", "SYS", *RUNNING, *READ, "oracle@db1 (J001)", None, None), []),
        (("BACKGROUND", None, *WAITING, *READ, "oracle@db1 (DBW0)", None, None), []),
    ],
)
def test_clients_at_work_are_seen_by_what_they_wait_for(session, seen):
    columns = "type, username, status, state, wait_class, event, program, module, action"
    with closing(database(lambda *_: None)) as connection:
        connection.execute(f'CREATE TABLE "v$session" ({columns})')
        connection.execute(f'INSERT INTO "v$session" VALUES ({", ".join("?" * len(session))})', session)
        assert connection.execute(translated(statement("waits", "server_look"))).fetchall() == seen
