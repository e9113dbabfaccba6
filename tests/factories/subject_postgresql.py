"""PostgreSQL under contract: triggers show the rows that updates change."""

from __future__ import annotations

import re
from contextlib import closing, contextmanager
from itertools import groupby
from typing import Any

import psycopg
from psycopg import conninfo

from factories.subjects import COLUMNS, SCHEMAS, Subject, Update
from openslob.core.units import MIB
from openslob.engines.postgresql.adapter import connect
from openslob.engines.postgresql.slice_procedure import compose_slice

# 17 reads several blocks at once, and counts requests since 18.
COMBINES_READS = range(17, 18)
COUNTS_WRITES_SINCE, TIMES_THE_LOG_SINCE = 16, 14
TABLES = {f"cf1_{number}": number for number in range(1, SCHEMAS + 1)}
_AUDIT = """
CREATE SCHEMA audit;
CREATE TABLE audit.rows (id bigserial, tx xid8 DEFAULT pg_current_xact_id(), at timestamptz DEFAULT clock_timestamp(),
                         place text, key bigint, before jsonb, after jsonb);
CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.rows (place, key, before, after) VALUES (TG_TABLE_NAME, NEW.custid, to_jsonb(OLD), to_jsonb(NEW));
    RETURN NULL;
END $$;
"""
# A deferred trigger runs at COMMIT.
_SLOW_COMMIT = """
CREATE FUNCTION slob.slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep({seconds});
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER UPDATE ON slob.cf1_1 DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION slob.slow_commit();
"""


class PostgresSubject(Subject):
    """A managed server."""

    # No version so far counts these.
    unknown = frozenset({"full_page_image_bytes", "block_changes", "db_cpu_us", "db_time_us"})

    def __init__(self, url):
        self.url = url
        self.engine: Any = connect(url)

    def ask(self, statement, *values):
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def strange_transactions(self, commits, rollbacks):
        with self.stranger() as connection:
            for end in (*[connection.commit] * commits, *[connection.rollback] * rollbacks):
                connection.execute("SELECT count(*) FROM pg_class")
                end()

    @contextmanager
    def strange_wait(self):
        with closing(self.stranger()) as holder, closing(self.stranger()) as waiter:
            holder.execute("SELECT pg_advisory_lock(1)")
            waiter.pgconn.send_query(b"SELECT pg_advisory_lock(1)")
            yield "Lock:advisory"

    def stranger(self):
        return psycopg.connect(conninfo.make_conninfo(self.url, dbname="postgres"))

    @contextmanager
    def watching(self):
        self.ask(_AUDIT)
        for table in TABLES:
            self.ask(f"CREATE TRIGGER note AFTER UPDATE ON slob.{table} FOR EACH ROW EXECUTE FUNCTION audit.note()")
        try:
            yield _Watch(self)
        finally:
            self.ask("DROP SCHEMA audit CASCADE")

    @contextmanager
    def with_values(self, condition):
        for table in TABLES:
            self.ask(f"UPDATE slob.{table} SET c2 = CASE WHEN {condition} THEN 'x' END")
        try:
            yield
        finally:
            for table in TABLES:
                self.ask(f"UPDATE slob.{table} SET c2 = 'x' WHERE c2 IS NULL")
                self.ask(f"VACUUM slob.{table}")

    @contextmanager
    def without_index(self):
        mark = "UPDATE pg_index SET indisvalid = {} WHERE indexrelid = 'slob.cf1_1_custid_idx'::regclass"
        self.ask(mark.format("false"))
        try:
            yield
        finally:
            self.ask(mark.format("true"))

    @contextmanager
    def slow_commits(self, seconds):
        self.ask(_SLOW_COMMIT.format(seconds=seconds))
        try:
            yield
        finally:
            self.ask("DROP TRIGGER slow_commit ON slob.cf1_1")
            self.ask("DROP FUNCTION slob.slow_commit")

    def reset_counters(self):
        self.ask("SELECT pg_stat_reset()")

    def buckets(self, latencies_us):
        text = compose_slice(self.engine.names, 1, self.workload()).as_string()
        last_bucket = re.search(r"last_bucket +CONSTANT int := (\d+);", text)[1]
        expression = re.search(r"place := kind \* buckets_a_kind \+ (.*);", text)[1]
        expression = expression.replace("last_bucket", last_bucket)
        rows = self.ask(
            f"SELECT {expression} FROM unnest(%s::float8[]) WITH ORDINALITY AS given(us, n) ORDER BY n",
            list(latencies_us),
        )
        return [bucket for (bucket,) in rows]


class _Watch:
    def __init__(self, subject):
        self._ask = subject.ask

    def clear(self):
        self._ask("TRUNCATE audit.rows")

    def updates(self):
        rows = self._ask(
            "SELECT tx::text, place, key, (date_part('epoch', at) * 1e6)::bigint, before, after "
            "FROM audit.rows ORDER BY id"
        )
        return [_update(list(group)) for _, group in groupby(rows, key=lambda row: row[0])]


def _update(rows):
    _, place, _, at_us, before, after = rows[0]
    assert {row[1] for row in rows} == {place}
    return Update(
        schema=TABLES[place],
        keys=tuple(row[2] for row in rows),
        at_us=at_us,
        before={column: before[column] for column in COLUMNS},
        after={column: after[column] for column in COLUMNS},
    )


def start(make_server, version):
    server = make_server(name=f"contract{version}", version=version, cache_bytes=32 * MIB)
    return attach(server.status().url)


def attach(url):
    subject = PostgresSubject(url)
    ((version,),) = subject.ask("SHOW server_version_num")
    if int(version) // 10_000 < COUNTS_WRITES_SINCE:
        subject.unknown |= {"write_requests", "write_bytes"}
    if int(version) // 10_000 in COMBINES_READS:
        subject.of_tables |= {"read_requests"}
    # As a managed server does: commits are durable, and what can be measured is.
    timed = ("track_wal_io_timing",) if int(version) // 10_000 >= TIMES_THE_LOG_SINCE else ()
    for setting in ("fsync", *timed):
        subject.ask(f"ALTER SYSTEM SET {setting} = on")
    subject.ask("SELECT pg_reload_conf()")
    return subject
