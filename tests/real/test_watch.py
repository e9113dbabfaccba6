"""`slob watch` on real servers: every figure against the server's own counters, and a server that goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
import pymysql
import pytest

from factories.running import COMMAND, LONG_S, complaint, eventually, measured, rows_of, stopped
from openslob.core.interrupt import Interrupt
from openslob.engines import registry
from openslob.kinds.run.samplers import Samplers
from openslob.record import store
from openslob.record.model import RecordKind, Status
from openslob.watch import watcher as watcher_module
from openslob.watch.watcher import Watcher

pytestmark = pytest.mark.server

# By hand: what the server has counted until now, by the figure that is computed from it.
POSTGRESQL = """
SELECT sum(xact_commit + xact_rollback - sessions)::float8,
       (SELECT sum(reads)::float8 FROM pg_stat_io WHERE object <> 'wal'),
       (SELECT sum(read_bytes / 8192 + hits)::float8 FROM pg_stat_io WHERE object <> 'wal'),
       (SELECT sum(writes + coalesce(extends, 0))::float8 FROM pg_stat_io WHERE object <> 'wal'),
       (SELECT sum(fsyncs)::float8 FROM pg_stat_io WHERE object = 'wal'),
       (SELECT wal_bytes::float8 / 1048576 FROM pg_stat_wal)
  FROM pg_stat_database"""
FIGURES = ("transactions_per_s", "pio_read_per_s", "lio_per_s", "pio_write_per_s", "log_syncs_per_s", "redo_mb_per_s")
MARIADB = {
    "Innodb_buffer_pool_read_requests": "lio_per_s",
    "Innodb_data_reads": "pio_read_per_s",
    "Innodb_data_writes": "pio_write_per_s",
    "Innodb_os_log_fsyncs": "log_syncs_per_s",
}
# What watching itself does: its transactions are left out of its figures, and not of those by hand.
OWN = {"transactions_per_s": 15.0, "lio_per_s": 500.0, "pio_read_per_s": 5.0}
TOLERANCE = 0.02


@contextmanager
def read_by_hand(ask):
    """What ``ask`` returns just before and just after each reading of this thread in this block."""
    found, real, ours = [], Samplers.read, threading.get_ident()

    def read(samplers):
        if threading.get_ident() != ours:
            return real(samplers)
        before = ask()
        reading = real(samplers)
        found.append((before, ask()))
        return reading

    with patch.object(Samplers, "read", read):
        yield found


def watched(engine, count, interval_s=1.0):
    """So many intervals, and what was told meanwhile."""
    interrupt, told = Interrupt(), []
    intervals = Watcher(engine, interval_s, interrupt, told.append).intervals()
    try:
        return [next(intervals) for _ in range(count)], told
    finally:
        interrupt.request()
        intervals.close()


def agree(interval, begin, end, own):
    """Each figure is what was counted between a reading by hand before the interval and one after it."""
    for name in begin[0]:
        least = end[0][name] - begin[1][name]
        most = end[1][name] - begin[0][name]
        counted = interval.figures[name].value * interval.seconds
        room = TOLERANCE * most + own.get(name, 0.0)
        assert least - room <= counted <= most + room, f"{name}: {least} <= {counted} <= {most}"


@contextmanager
def clients(url, number=4):
    """Clients that insert and read, each statement a transaction of its own, until the end of the block."""
    done = threading.Event()

    def work():
        with psycopg.connect(url, autocommit=True) as connection:
            while not done.is_set():
                connection.execute("INSERT INTO watched SELECT generate_series(1, 20)")
                connection.execute("SELECT count(*) FROM watched WHERE n = 7")

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE watched (n int)")
    with ThreadPoolExecutor(number) as pool:
        working = [pool.submit(work) for _ in range(number)]
        try:
            yield
        finally:
            done.set()
            for each in working:
                each.result(LONG_S)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP TABLE watched")


def test_every_figure_equals_the_counters_of_postgresql(trouble_server, tmp_path):
    """Under a run of our own and clients of somebody else at once."""
    url = trouble_server.start().url
    engine = registry.engine_for(url)

    def ask():
        return dict(zip(FIGURES, hand.execute(POSTGRESQL).fetchone(), strict=True))

    with psycopg.connect(url, autocommit=True) as hand, ThreadPoolExecutor() as pool:
        ran = pool.submit(measured, engine, tmp_path, run_time=2, sessions=2, update_pct=20)
        with read_by_hand(ask) as readings, clients(url, 3):
            intervals, told = watched(registry.engine_for(url), 2)
        ran.result(LONG_S)
    assert told == []
    for number, interval in enumerate(intervals):
        agree(interval, readings[number], readings[number + 1], OWN)
    assert all(each.figures["transactions_per_s"].value > 20 for each in intervals)


@pytest.mark.mariadb
def test_every_figure_equals_the_counters_of_mariadb(maria_server):
    """Under a client that commits each row, by the same names as PostgreSQL's."""
    engine: Any = registry.engine_for(maria_server.start().url)
    done = threading.Event()

    def ask():
        return {
            MARIADB[row["Variable_name"]]: float(row["Value"]) for row in status() if row["Variable_name"] in MARIADB
        }

    def status():
        with hand.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb%'")
            return cursor.fetchall()

    def work():
        committed = 0
        with working.cursor() as cursor:
            while not done.is_set():
                cursor.execute("INSERT INTO watched.inserted SELECT seq FROM mysql.seq_1_to_20")
                committed += 1
        return committed

    hand, working = engine.open("hand"), engine.open("work")
    with working.cursor() as cursor:
        cursor.execute("CREATE DATABASE watched")
        cursor.execute("CREATE TABLE watched.inserted (n int)")
    with ThreadPoolExecutor() as pool, read_by_hand(ask) as readings:
        committing = pool.submit(work)
        intervals, told = watched(registry.engine_for(maria_server.url), 2)
        done.set()
        assert committing.result(LONG_S) > 0
    assert told == []
    for number, interval in enumerate(intervals):
        agree(interval, readings[number], readings[number + 1], OWN)
        assert interval.figures["transactions_per_s"].value > 0
    with working.cursor() as cursor:
        cursor.execute("DROP DATABASE watched")
    hand.close()
    working.close()


def test_the_command(trouble_server, tmp_path):
    """A line for each interval, with the events that match alone, and a record; Ctrl-C ends it as its count would."""
    url = trouble_server.start().url
    command = [*COMMAND, "watch", "--target", url, "--json", "--filter", "IO:*", "--record", "--results", tmp_path]
    with clients(url, 2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        documents = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert "recorded in" in complaint(0, process.communicate(timeout=LONG_S)[1], expected=0)
    assert process.returncode == 0
    assert all(each["figures"]["transactions_per_s"]["value"] > 0 for each in documents)
    events = [wait["event"] for each in documents for wait in each["waits"]]
    assert all(event.startswith("IO:") for event in events)
    (found,) = store.find(tmp_path)
    assert (found.record.kind, found.record.status) == (RecordKind.OBSERVATION, Status.COMPLETE)
    assert found.record.summary["transactions_per_s"].value > 0
    assert len(rows_of(found.path, "engine.csv")) > 0


def test_as_many_intervals_as_asked_for_are_printed_though_the_server_goes_away(trouble_server, tmp_path):
    url = trouble_server.start().url
    command = [*COMMAND, "watch", "--target", url, "--json", "--count", "4", "--record", "--results", tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    first = [json.loads(process.stdout.readline()) for _ in range(2)]
    trouble_server.stop()
    while "the server is gone" not in process.stderr.readline():
        assert process.poll() is None
    trouble_server.start()
    rest, _ = process.communicate(timeout=LONG_S)
    assert process.returncode == 0
    assert len(first) + len(rest.splitlines()) == 4
    # Those before the server was gone, and those since it is back.
    assert len(store.find(tmp_path)) == 2


def test_a_server_that_hangs_is_gone_and_comes_back(trouble_server):
    """Each is told once; no interval spans the time without a server, and one that spans the hang says so."""
    server = trouble_server.start()
    interrupt, told, intervals = Interrupt(), [], []
    watcher = Watcher(registry.engine_for(server.url), 0.2, interrupt, told.append)

    def is_told(text):
        return eventually(lambda: any(text in line for line in told))

    with patch.object(watcher_module, "SILENT_S", 0.2), ThreadPoolExecutor() as pool:
        watching = pool.submit(lambda: intervals.extend(watcher.intervals()))
        assert eventually(lambda: len(intervals) > 1 or watching.done())
        with stopped(server.pid):
            assert is_told("the server does not answer")
        assert is_told("the server answers again, after")
        os.kill(trouble_server.status().pid, signal.SIGKILL)
        assert is_told("the server is gone: ")
        gone = len(intervals)
        trouble_server.start()
        assert is_told("the server is back, after")
        assert eventually(lambda: len(intervals) > gone + 1)
        interrupt.request()
        watching.result(LONG_S)
    assert [sum(text in line for line in told) for text in ("does not answer", "answers again", "is back")] == [1, 1, 1]
    assert any(each.missed for each in intervals[:gone])
    assert sum(each.seconds for each in intervals) < (intervals[-1].end_ns - intervals[0].end_ns) / 1e9


def test_a_reset_is_no_interval_s_figure(trouble_server):
    server = trouble_server.start()
    with psycopg.connect(server.url, autocommit=True) as connection:
        interrupt = Interrupt()
        intervals = Watcher(registry.engine_for(server.url), 0.2, interrupt, print).intervals()
        assert next(intervals).fault == ""
        connection.execute("SELECT pg_stat_reset_shared('io')")
        reset, after = next(intervals), next(intervals)
        interrupt.request()
        intervals.close()
    assert "reset" in reset.fault
    assert reset.figures["pio_read_per_s"].value is None
    assert reset.figures["host_cpu_busy_pct"].value is not None
    assert after.figures["pio_read_per_s"].value is not None
