"""MariaDB under contract: triggers show the rows that updates change."""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager
from itertools import groupby
from threading import Thread

import numpy as np
import pymysql

from factories.subjects import COLUMNS, SCHEMAS, Subject, Update
from openslob.core.units import MIB
from openslob.engines.mysql.adapter import connect
from openslob.engines.mysql.connection import parse
from openslob.engines.mysql.slice_procedure import buckets_of

TABLES = {f"cf1_{number}": number for number in range(1, SCHEMAS + 1)}
_AUDIT = """
CREATE TABLE slob.audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, at_us BIGINT, place TEXT, first_key BIGINT,
                         before_row TEXT, after_row TEXT) ENGINE = InnoDB
"""
_NOTE = """
CREATE TRIGGER slob.note_{table} AFTER UPDATE ON slob.{table} FOR EACH ROW
INSERT INTO slob.audit (at_us, place, first_key, before_row, after_row) VALUES (
    TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6)), '{table}', NEW.custid,
    JSON_ARRAY({before}), JSON_ARRAY({after}))
"""


class MariaSubject(Subject):
    """A managed server."""

    # InnoDB has none of these counts; a table and its indexes are one file.
    unknown = frozenset({
        "log_sync_time_us", "full_page_images", "full_page_image_bytes", "maintenance", "shared_visits",
        "db_cpu_us", "db_time_us",
    })  # fmt: skip
    objects = frozenset({"table and index", "log"})
    of_tables = frozenset({"rows_read", "rows_updated", "rows_updated_in_place", "commits"})

    def __init__(self, url):
        self.params = parse(url)
        # On a socket there is no TLS, for which the library would read all certificates of the host: 30 ms of CPU.
        self.arguments = {**self.params.arguments, "ssl_disabled": "unix_socket" in self.params.arguments}
        self.engine = connect(url)

    def ask(self, statement, *values):
        with pymysql.connect(**self.arguments, autocommit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(statement, values or None)
            return cursor.fetchall()

    def strange_transactions(self, commits, rollbacks):
        with closing(self.stranger()) as connection, connection.cursor() as cursor:
            for end in (*[connection.commit] * commits, *[connection.rollback] * rollbacks):
                cursor.execute("SELECT COUNT(*) FROM mysql.innodb_table_stats")
                end()

    @contextmanager
    def strange_wait(self):
        with closing(self.stranger()) as holder, closing(self.stranger()) as waiter:
            holder.cursor().execute("SELECT GET_LOCK('test', 60)")
            waiting = Thread(target=waiter.cursor().execute, args=["SELECT GET_LOCK('test', 60)"])
            waiting.start()
            yield "Lock:user"
            holder.cursor().execute("SELECT RELEASE_LOCK('test')")
            waiting.join()

    def stranger(self):
        return pymysql.connect(**{**self.arguments, "database": "mysql"})

    @contextmanager
    def watching(self):
        self.ask(_AUDIT)
        for table in TABLES:
            before, after = (", ".join(f"{row}.{column}" for column in COLUMNS) for row in ("OLD", "NEW"))
            self.ask(_NOTE.format(table=table, before=before, after=after))
        try:
            yield _Watch(self)
        finally:
            for table in TABLES:
                self.ask(f"DROP TRIGGER slob.note_{table}")
            self.ask("DROP TABLE slob.audit")

    @contextmanager
    def with_values(self, condition):
        for table in TABLES:
            self.ask(f"UPDATE slob.{table} SET c2 = CASE WHEN {condition} THEN 'x' END WHERE custid IS NOT NULL")
        try:
            yield
        finally:
            for table in TABLES:
                self.ask(f"UPDATE slob.{table} SET c2 = 'x' WHERE c2 IS NULL AND custid IS NOT NULL")

    @contextmanager
    def without_index(self):
        self.ask("ALTER TABLE slob.cf1_1 DROP INDEX custid, ADD INDEX custid (c3)")
        try:
            yield
        finally:
            self.ask("ALTER TABLE slob.cf1_1 DROP INDEX custid, ADD UNIQUE INDEX custid (custid)")

    @contextmanager
    def slow_commits(self, seconds):
        with pymysql.connect(**self.arguments, autocommit=True) as connection:
            cursor = connection.cursor()
            for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
                cursor.execute(f"BACKUP STAGE {stage}")
            releasing = Thread(target=self._release_commits, args=(cursor, seconds))
            releasing.start()
            try:
                yield
            finally:
                releasing.join()

    def _release_commits(self, cursor, seconds):
        """End the stage ``seconds`` after a session began to wait for it, or when none does."""
        waiting = "SELECT count(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for backup lock'"
        for _ in range(1000):
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                break
            time.sleep(0.01)
        time.sleep(seconds)
        cursor.execute("BACKUP STAGE END")

    def reset_counters(self):
        self.ask("FLUSH STATUS")
        self.ask("FLUSH INDEX_STATISTICS")

    def buckets(self, latencies_us):
        return buckets_of(np.array(latencies_us)).tolist()


class _Watch:
    def __init__(self, subject):
        self._ask = subject.ask

    def clear(self):
        self._ask("TRUNCATE slob.audit")

    def updates(self):
        """One for each value of c2, which every operation writes anew; its rows follow each other in each session."""
        rows = self._ask("SELECT place, first_key, at_us, before_row, after_row FROM slob.audit ORDER BY id")
        parsed = [(*row[:3], json.loads(row[3]), json.loads(row[4])) for row in rows]
        return [_update(list(group)) for _, group in groupby(parsed, key=lambda row: (row[0], row[4][0]))]


def _update(rows):
    table, _, at_us, before, after = rows[0]
    return Update(
        schema=TABLES[table],
        keys=tuple(row[1] for row in rows),
        at_us=at_us,
        before=dict(zip(COLUMNS, before, strict=True)),
        after=dict(zip(COLUMNS, after, strict=True)),
    )


def start(make_server, version):
    server = make_server(name="contract-mariadb", engine="mariadb", cache_bytes=48 * MIB)
    return attach(server.status().url)


# Cheap commits, as the tests' workloads ask for, and what a managed server counts: settings of the whole server.
_SETTINGS = (
    "SET GLOBAL innodb_flush_log_at_trx_commit = 0",
    "SET GLOBAL userstat = ON",
    "SET GLOBAL innodb_monitor_enable = 'log_checkpoints'",
    "SET GLOBAL innodb_monitor_enable = 'trx_rw_commits'",
    "SET GLOBAL innodb_monitor_enable = 'trx_ro_commits'",
    "SET GLOBAL innodb_monitor_enable = 'trx_nl_ro_commits'",
    "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'events_waits_current'",
)


def attach(url):
    subject = MariaSubject(url)
    for setting in _SETTINGS:
        subject.ask(setting)
    return subject
