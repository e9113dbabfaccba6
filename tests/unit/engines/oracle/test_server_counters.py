"""What Oracle counts of all its sessions, and what all its clients do."""

from __future__ import annotations

from contextlib import closing

import pytest

from factories.oracle.standin_sql import database, translated
from factories.tables import table
from openslob.engines.oracle.connection import statement
from openslob.engines.oracle.counters import DatabaseCounters
from openslob.engines.oracle.delta import to_server_delta
from openslob.metrics.measurement import ObjectIo

CHANGE = {
    "sysstat.session logical reads": 6500.0,
    "sysstat.physical read IO requests": 600.0,
    "sysstat.user commits": 100.0,
    "sysstat.user rollbacks": 5.0,
    "sysstat.redo writes": 90.0,
    # What only the work loop's own sessions and statements show.
    "sessions.identity": 0.0,
    "io.reads.Buffer Cache Reads": 590.0,
    "io.writes.Buffer Cache Reads": 0.0,
    "io.reads.LGWR": 1.0,
    "io.writes.LGWR": 95.0,
    "event.waits.User I/O:db file sequential read": 500.0,
    "event.us.User I/O:db file sequential read": 177e3,
    "histogram.db file sequential read.512": 500.0,
}


def test_everything_is_of_all_sessions():
    delta = to_server_delta(CHANGE)
    assert (delta.logical_reads, delta.read_requests, delta.commits, delta.transactions) == (6500, 600, 100, 105)
    assert (delta.server_wide, delta.others) == (frozenset(), {})
    assert "work loop's own tables" in delta.unknown["rows_updated"]
    (wait,) = delta.timed_waits
    assert (wait.event, wait.count, wait.durations) == ("User I/O:db file sequential read", 500, {(256, 512): 500})


def test_requests_are_counted_by_function():
    objects = to_server_delta(CHANGE).by_object
    assert objects["LGWR"] == ObjectIo(None, 1, None, 95, None)
    assert objects["Buffer Cache Reads"] == ObjectIo(None, 590, None, 0, None)
    assert objects["log"].write_requests == 90


@table(("missing", "why"), [({"sysstat": "no grant"}, "no grant"), ({}, "version")])
def test_transactions_that_are_not_counted_are_unknown(missing, why):
    delta = to_server_delta({}, missing)
    assert delta.transactions is None
    assert why in delta.unknown["transactions"]


def test_no_part_that_needs_our_tables_is_read():
    assert not {"sql", "sessions", "objects"} & set(DatabaseCounters._parts)


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


@pytest.mark.parametrize("column", ["user commits", "user rollbacks"])
def test_half_of_the_transactions_is_not_all(column):
    change = {name: value for name, value in CHANGE.items() if name != f"sysstat.{column}"}
    assert to_server_delta(change).transactions is None
