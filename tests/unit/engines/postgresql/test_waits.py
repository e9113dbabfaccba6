"""Rows about waiting connections as one line."""

from __future__ import annotations

import psycopg
import pytest

from factories.tables import table
from openslob.core.errors import SlobError
from openslob.engines.postgresql.adapter import PostgresEngine
from openslob.engines.postgresql.connection import PatientPsycopg
from openslob.engines.postgresql.waits import describe

BOB = (4711, "client backend", "bob", "psql", "idle in transaction", "2026-01-02 03:04:05")


@table(
    ("rows", "line"),
    [
        ([], ""),
        (
            [("slob/run/ab12.3", 10, *BOB)],
            "session 3 (server process 10) waits for a lock held by server process 4711 "
            "(user bob, psql, idle in transaction since 2026-01-02 03:04:05)",
        ),
        (
            [("slob/install", 10, *BOB), ("slob/install", 10, *BOB), ("slob/run/ab12.3", 11, *BOB)],
            "our connection for install (server process 10) waits for a lock held by server process 4711 "
            "(user bob, psql, idle in transaction since 2026-01-02 03:04:05), and 1 more of our connections wait",
        ),
        (
            [("slob/load", 10, 0, None, None, None, None, None)],
            "our connection for load (server process 10) waits for a lock held by "
            "a prepared transaction (see pg_prepared_xacts)",
        ),
        (
            [("slob/drop", 10, 12, "autovacuum worker", None, "", "active", "2026-01-02 03:04:05")],
            "our connection for drop (server process 10) waits for a lock held by server process 12 "
            "(autovacuum worker, active since 2026-01-02 03:04:05)",
        ),
        (
            [("slob/drop", 10, 12, None, "bob", "psql", None, None)],
            "our connection for drop (server process 10) waits for a lock held by server process 12 (user bob, psql)",
        ),
    ],
)
def test_the_first_that_waits_is_named_with_who_holds_the_lock(rows, line):
    assert describe(rows) == line


FAILED = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '


def asked(monkeypatch, said):
    """What an engine finds out over a new connection that fails in this way."""

    def refuse(*_, **__):
        raise psycopg.OperationalError(FAILED + said)

    monkeypatch.setattr(PatientPsycopg, "connect", refuse)
    return PostgresEngine("postgresql://127.0.0.1/slob").obstacle()


@table("said", [
    "FATAL:  sorry, too many clients already",
    "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
    'FATAL:  too many connections for role "slob"',
])  # fmt: skip
def test_a_server_that_takes_no_further_connection_answers(monkeypatch, said):
    assert asked(monkeypatch, said) == ""


def test_a_server_that_is_gone_does_not(monkeypatch):
    with pytest.raises(SlobError, match="Connection refused"):
        asked(monkeypatch, "Connection refused")
