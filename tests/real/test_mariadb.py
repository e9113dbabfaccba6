"""MariaDB: what only its pages can show, and the ways in which its runs end early or work with few rights."""

import os
import signal
import struct
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pymysql
import pytest

from factories.running import (
    DATA,
    FULL_SPEED,
    LONG_S,
    Target,
    eventually,
    judged,
    load,
    overran,
    slob,
    stalled,
)
from openslob.core.errors import SlobError
from openslob.core.method import OpKind, kind_of
from openslob.core.units import KIB, MIB
from openslob.core.workload import Workload
from openslob.engines.base import SliceRequest
from openslob.engines.mysql import connection_registry
from openslob.engines.mysql.adapter import connect
from openslob.engines.mysql.connection import parse, query
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.slice_procedure import compose_slice
from openslob.kinds.run.plan import session_plans

pytestmark = pytest.mark.server

UPDATES = {"sessions": 3, "update_pct": 20, "work_unit": 8}
PAGES = 300
_INDEX_PAGE = 17855


def leaf_pages(path, page_size):
    """Surrogate keys in each leaf page of the first index of a table's file, read without the server.

    Offsets from InnoDB's page format: type at 24, header from 38 on (rows at 54, level at 64, index at 66), the first
    row's relative offset before the end marker at 99; a row begins with its primary key, the sign bit turned.
    """
    data = path.read_bytes()
    found = {}
    for start in range(0, len(data), page_size):
        page = data[start : start + page_size]
        level, index = struct.unpack_from(">HQ", page, 64)
        if struct.unpack_from(">H", page, 24)[0] == _INDEX_PAGE and level == 0:
            found.setdefault(index, []).append(_keys(page))
    return found[min(found)]


def _keys(page):
    keys, place = [], 99
    while True:
        place = (place + struct.unpack_from(">h", page, place - 2)[0]) % len(page)
        if place == 112:  # the other end marker
            return keys
        keys.append(struct.unpack_from(">Q", page, place)[0] ^ 1 << 63)


@pytest.mark.parametrize("page_size", [4 * KIB, 64 * KIB])
def test_each_page_holds_one_visited_row_before_and_after_updates_of_all_of_it(make_server, page_size):
    server = make_server(engine="mariadb", block_size=page_size, cache_bytes=48 * MIB)
    engine = connect(server.status().url)
    workload = Workload(
        schemas=1, scale=str(PAGES), scan_table_sz="10", sessions=1, update_pct=100, work_unit=1, redo_stress="HEAVY",
        obfuscate_columns=True, commit_mode="nowait",
    )  # fmt: skip
    file = server.status().data_directory / "slob" / "cf1_1.ibd"
    engine.data.load(workload.data(page_size), 2, lambda _: None, lambda: False)
    server.stop()
    loaded = leaf_pages(file, page_size)
    server.start()
    engine.install(workload)
    session = engine.open_session(session_plans(workload, page_size, "heavy")[0])
    session.prepare()
    result = session.run_slice(SliceRequest(0, 0, 2**61, 3 * PAGES))
    session.close()
    server.stop()
    updated = leaf_pages(file, page_size)
    server.destroy()

    assert result.counts.rows_updated == 3 * PAGES
    rows = layout_of(page_size).rows_per_page
    visited = [sum(key % rows == 0 for key in keys) for keys in loaded]
    assert Counter(visited) == {1: PAGES, 0: 1}  # the first page was split between its row and the fillers
    assert updated == loaded


@pytest.fixture(scope="module")
def server(make_server):
    made = make_server(name="mariatrouble", engine="mariadb", max_sessions=8)
    load(made)
    return made


@pytest.fixture
def target(server, tmp_path):
    return Target(server.start().url, tmp_path / "results")


def test_a_run_to_its_verdicts(target):
    done = target.run(run_time=2, **UPDATES, **FULL_SPEED)
    assert done.returncode == 0, done.stderr
    document = target.document()
    for name in ("errors", "alone_on_server", "counts_agree", "exact_mix", "data_in_place"):
        judged(target.record(), name)
    assert document["engine"]["product"] == "MariaDB"
    assert "2026" <= document["engine"]["server_started_at"] <= document["started_at"]
    assert document["environment"]["server_cpu_s"]["session"] > 0
    assert any(name.startswith("page_clean") for name in document["environment"]["server_cpu_s"])
    assert "Using index condition" in document["engine"]["plans"]["select"]


def test_a_server_that_hangs_beyond_the_end_of_a_run(target, server):
    record, hung_s = stalled(server, target.engine, target.results, 1.5, run_time=1, **UPDATES)
    overran(record, hung_s)


def test_an_ordinary_user_with_a_database_of_its_own(server, tmp_path, monkeypatch):
    """Load, run and drop with rights on one database; what the user can't see is unknown, with a reason."""
    place = parse(server.status().url)
    with pymysql.connect(**place.arguments, autocommit=True) as asking:
        cursor = asking.cursor()
        cursor.execute("CREATE DATABASE theirs")
        cursor.execute("CREATE USER plain@localhost IDENTIFIED BY 'secret words'")
        cursor.execute("GRANT ALL ON theirs.* TO plain@localhost")
        cursor.execute("GRANT SELECT ON slob.* TO plain@localhost")
    socket = place.arguments["unix_socket"]
    url = f"mysql://plain@localhost/theirs?unix_socket={socket}"
    environment = {**os.environ, "MYSQL_PWD": "secret words"}
    data = [text for name, value in DATA.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    for command in (
        ["load", "--target", url, *data],
        ["run", "--target", url, *data, "--run-time", 1, "--warmup", 0, "--sessions", 2, "--results", tmp_path],
    ):
        done = slob(*command, env=environment)
        assert done.returncode == 0, done.stderr
        assert "secret" not in done.stdout + done.stderr
    document = Target(server.status().url, tmp_path).document()
    assert document["summary"]["ops_total"]["value"] > 0
    # Nor can it see who else is at work.
    alone = next(verdict for verdict in document["verdicts"] if verdict["name"] == "alone_on_server")
    assert (alone["verdict"], "may not see" in alone["why"]) == ("unknown", True)
    # Who may read the sizes of tables in another way than who loaded them finds them as they were.
    monkeypatch.setenv("MYSQL_PWD", "secret words")
    for user, database in (("root", "theirs"), ("plain", "slob")):
        state = connect(f"mysql://{user}@localhost/{database}?unix_socket={socket}").data.state()
        assert (state.verified, state.fault) == (True, "")
    dropped = slob("drop", "--target", url, env=environment)
    assert dropped.returncode == 0
    with pymysql.connect(**place.arguments) as asking:
        cursor = asking.cursor()
        cursor.execute("SHOW TABLES FROM theirs")
        assert cursor.fetchall() == ()


def test_a_slice_in_a_server_that_no_longer_answers_is_cut_off(target, server):
    workload = Workload(**{**DATA, "sessions": 1, "warmup": 0})
    target.engine.install(workload)
    session = target.engine.open_session(session_plans(workload, 16 * KIB, "stopped")[0])
    session.prepare()
    with ThreadPoolExecutor() as pool:
        slice_done = pool.submit(session.run_slice, SliceRequest(0, 0, 2**61, 0))
        pid = server.status().pid
        os.kill(pid, signal.SIGSTOP)
        try:
            assert session.cancel() is False
            session.cut()
            with pytest.raises(SlobError, match="session 0 was lost"):
                slice_done.result(timeout=LONG_S)
        finally:
            os.kill(pid, signal.SIGCONT)
            session.close()
    # The server notices that the client is gone when it next sends something.
    target.engine.release_sessions()
    assert eventually(target.is_free)


def test_a_session_that_waits_for_a_row_lock_is_not_on_the_cpu(target, server):
    workload = Workload(**{**DATA, "scale": "4", "sessions": 1, "update_pct": 100, "work_unit": 4})
    engine: Any = connect(server.status().url)
    engine.install(workload)
    session = engine.open_session(session_plans(workload, 16 * KIB, "locked")[0])
    session.prepare()
    waits = engine.open_waits()
    work = Thread(target=session.run_slice, args=(SliceRequest(0, 0, 2**61, 1),))
    try:
        with engine.open("blocker") as blocker:
            query(blocker, "START TRANSACTION")
            query(blocker, "UPDATE slob.cf1_1 SET c3 = 'held' WHERE custid BETWEEN 1 AND 4")
            work.start()
            assert eventually(lambda: waits.sample().events == {"Lock:row": 1})
            query(blocker, "ROLLBACK")
        work.join(LONG_S)
    finally:
        waits.close()
        session.close()


def test_a_deadlock_is_one_conflict_and_the_refused_attempt_is_part_of_the_latency(target, server):
    workload = Workload(**{**DATA, "scale": "4", "sessions": 1, "update_pct": 100, "work_unit": 4})
    engine: Any = connect(server.status().url)
    engine.install(workload)
    session = engine.open_session(session_plans(workload, 16 * KIB, "deadlock")[0])
    session.prepare()
    waits = engine.open_waits()
    results = []
    work = Thread(target=lambda: results.append(session.run_slice(SliceRequest(0, 0, 2**61, 1))))
    try:
        with engine.open("blocker") as blocker:
            query(blocker, "START TRANSACTION")
            # InnoDB rolls back the transaction that changed fewer rows: the session's.
            query(blocker, "UPDATE slob.cf1_1 SET c3 = 'held' WHERE custid BETWEEN 4 AND 100")
            work.start()
            assert eventually(lambda: waits.sample().events == {"Lock:row": 1})
            time.sleep(0.5)
            query(blocker, "UPDATE slob.cf1_1 SET c3 = 'held' WHERE custid = 1")
            query(blocker, "ROLLBACK")
        work.join(LONG_S)
    finally:
        waits.close()
        session.close()
    (result,) = results
    assert (result.counts.ops, result.counts.rows_updated, result.counts.conflicts) == (1, 4, 1)
    assert result.latency[OpKind.UPDATE].sum_us >= 500_000


# Breaks the first attempt of an update off, as Galera does: past the handler, with the update undone.
BREAK = """                IF op % {every} = 0 AND NOT (@broken <=> op) THEN
                    SET @broken = op;
                    DO SLEEP({pause});
                    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
                END IF;
                BEGIN
"""


# Letters of latencies that a slice hands out at once.
PART = "65536"


@contextmanager
def breaking(server, workload, every, pause=0, resumable=True):
    """A session on a work loop that is broken off at each ``every``-th operation that updates."""
    engine: Any = connect(server.start().url)
    text = compose_slice(engine.names, 1, workload, layout_of(16 * KIB), resumable)
    assert PART in text
    with engine.open("test") as connection:
        query(connection, f"DROP PROCEDURE IF EXISTS {engine.names.procedure(1)}")
        broken = text.replace("                BEGIN\n", BREAK.format(every=every, pause=pause))
        query(connection, broken.replace(PART, "4096"))
        connection_registry.make(connection, engine.names)
    session = engine.open_session(session_plans(workload, 16 * KIB, "broken")[0])
    try:
        session.prepare()
        yield session
    finally:
        session.close()


def test_a_call_that_is_broken_off_goes_on_where_it_was_and_loses_nothing(server):
    """Each update is, at its first attempt. The longest slice hands out its latencies in several parts."""
    workload = Workload(**{**DATA, "sessions": 1, "update_pct": 1, "scan_pct": 1, "work_unit": 2})
    first, phases = 0, session_plans(workload, 16 * KIB, "")[0].phases
    with breaking(server, workload, every=1) as session:
        for size in (7, 230, 3_000, 1):
            result = session.run_slice(SliceRequest(first, 0, 2**61, size))
            kinds = Counter(kind_of(op, 1, 1, phases) for op in range(first, first + size))
            assert result.counts.ops == size
            assert {kind: each.count for kind, each in result.latency.items() if each.count} == kinds
            counts = result.counts
            assert (counts.rows_read, counts.rows_updated) == (2 * kinds[OpKind.SELECT], 2 * kinds[OpKind.UPDATE])
            assert counts.rows_scanned == 20 * kinds[OpKind.SCAN]
            assert counts.conflicts == kinds[OpKind.UPDATE]
            assert result.busy_us <= (result.end_ns - result.start_ns) / 1000
            first += size


def test_a_broken_update_is_finished_in_its_slice_and_its_time_counts(server):
    workload = Workload(**{**DATA, "sessions": 1, "update_pct": 100, "work_unit": 2, "target_ops": 100})
    with breaking(server, workload, every=10, pause=0.5) as session:
        begin_ns = time.time_ns()
        result = session.run_slice(SliceRequest(0, begin_ns, begin_ns + 300_000_000, 0, begin_ns))
    assert (result.counts.ops, result.counts.conflicts) == (1, 1)
    assert result.due_ns == pytest.approx(begin_ns + 10_000_000, abs=5000)
    for histogram in (result.latency[OpKind.UPDATE], result.response[OpKind.UPDATE]):
        assert histogram.count == 1
        assert histogram.max_us > 500_000


def test_a_call_that_is_broken_off_where_none_should_be_loses_the_session(server):
    workload = Workload(**{**DATA, "sessions": 1, "update_pct": 100, "work_unit": 2})
    with (
        breaking(server, workload, every=3, resumable=False) as session,
        pytest.raises(SlobError, match=r"session 0 was lost: .*the server aborted it"),
    ):
        session.run_slice(SliceRequest(0, 0, 2**61, 10))
