"""Statements by themselves: what they find is tried in SQLite; words that only a real Oracle obeys are held."""

from contextlib import closing

import pytest

from factories.oracle.rowid_text import text_of
from factories.oracle.standin_sql import database, translated
from factories.tables import table
from openslob.engines.oracle.connection import PACKAGE, statement
from openslob.engines.oracle.tables import Rowid
from openslob.engines.sql import read_statements

# File, statement, words, and what would go wrong without them and no test of ours would see.
WORDS = [
    ("schema", "create_table", "PCTFREE 99"),  # one row a block
    ("schema", "create_table", "NOLOGGING"),  # a load without redo
    ("schema", "drop_table", "PURGE"),  # else it stays in the recycle bin, with its space
    ("stop", "create", "PCTFREE 99"),  # lock and stop signal in blocks of their own
    ("stop", "lock", "FOR UPDATE NOWAIT"),  # else the second driver waits for ever
    ("stop", "drop", "PURGE"),
    ("load", "append", "/*+ APPEND_VALUES */"),  # past the cache, in the order of the keys
    ("load", "make", "/*+ APPEND */"),
    ("load", "make", "ORDER BY k.pos"),
    ("load", "create_keys", "ON COMMIT DELETE ROWS"),  # else each batch makes those before it again
    ("quiesce", "through_cache", '"_serial_direct_read" = NEVER'),
    ("prove", "direct", '"_serial_direct_read" = ALWAYS'),
    ("session", "clock", "'+00:00'"),
    ("session", "dynamic_sampling", "= 0"),
    ("slice", "procedure", "AUTHID DEFINER"),
    ("slice", "procedure", "INTERVAL '0.000001' SECOND"),
    ("awr", "pluggable_database", "d.con_dbid AS dbid"),
    ("counters", "sessions", "s.username = USER AND s.module = 'slob'"),
]


@pytest.fixture
def server():
    with closing(database(lambda *_: None)) as server:
        yield server


@table(("file", "name", "words"), WORDS)
def test_words_that_only_a_real_oracle_obeys(file, name, words):
    assert words in " ".join(read_statements(PACKAGE, file)[name].split())


def test_rows_that_are_not_the_first_of_their_block_are_counted(server):
    # Three rows in two blocks, of which two are second ones.
    server.create_function("rowidtochar", 1, lambda number: text_of(Rowid(1, number // 2, number % 2)))
    server.execute("CREATE TABLE cf1_1 AS SELECT 5 AS custid UNION ALL SELECT 6 UNION ALL SELECT 7")
    assert server.execute(translated(statement("verify", "keys", table="cf1_1"))).fetchone() == (3, 5, 7, 2)


def test_the_stop_signal_is_one_row_and_not_the_lock_s(server):
    server.execute("CREATE TABLE slob_run AS SELECT 'lock' AS id, 0 AS stop UNION ALL SELECT 'stop', 0")
    for name, expected in (("request", 1), ("reset", 0)):
        server.execute(translated(statement("stop", name, run_table="slob_run")))
        assert dict(server.execute("SELECT id, stop FROM slob_run").fetchall()) == {"lock": 0, "stop": expected}


def test_waits_of_the_run_s_sessions_and_others_at_work(server):
    server.execute(
        "CREATE TABLE v$session (username, module, action, machine, program, type, status, state, wait_class, event)"
    )
    slob, app = ("SLOB", "slob"), ("APP", "sqlplus")
    for who, action, status, state, wait_class, event in (
        (slob, "run/a.0", "ACTIVE", "WAITING", "User I/O", "db file sequential read"),
        (slob, "run/a.1", "ACTIVE", "WAITED SHORT TIME", "User I/O", "db file sequential read"),
        (slob, "run/a.2", "ACTIVE", "WAITING", "Idle", "PL/SQL lock timer"),
        (slob, "run/a.3", "INACTIVE", "WAITING", "Idle", "SQL*Net message from client"),
        (slob, "waits", "ACTIVE", "WAITED SHORT TIME", "Network", "SQL*Net message to client"),
        (app, None, "ACTIVE", "WAITING", "Application", "enq: TX - row lock contention"),
        (app, None, "INACTIVE", "WAITING", "Idle", "SQL*Net message from client"),
        (("SYS", None), None, "ACTIVE", "WAITED SHORT TIME", "Other", "x"),
    ):
        program = "oracle@h (J001)" if who[0] == "SYS" else None
        row = (*who, action, "h", program, "USER", status, state, wait_class, event)
        server.execute(f"INSERT INTO v$session VALUES ({', '.join('?' * len(row))})", row)
    found = set(server.execute(translated(read_statements(PACKAGE, "waits")["look"])).fetchall())
    assert found == {(0, "User I/O:db file sequential read", 1), (0, "CPU", 1), (1, "APP@h", 1)}
