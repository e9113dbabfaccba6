"""MySQL under contract, on a server that a developer started."""

from __future__ import annotations

import pytest

from factories.subject_mariadb import MariaSubject

# Tests ask for cheap commits, which are a setting of the whole server, and for counters that are off by default.
_SETTINGS = (
    "innodb_flush_log_at_trx_commit = 0",
    "sync_binlog = 0",
    "innodb_monitor_enable = 'index_page_splits'",
    "innodb_monitor_enable = 'log_checkpoints'",
)


class MysqlSubject(MariaSubject):
    """A server of the developer's, with performance_schema as it is by default."""

    stray_reads = 5

    def slow_commits(self, seconds):
        pytest.skip("MySQL has no lock that stops a COMMIT but not the UPDATE before it")

    def reset_counters(self):
        self.ask("TRUNCATE performance_schema.table_io_waits_summary_by_index_usage")


def attach(url):
    subject = MysqlSubject(url)
    assert subject.engine.facts().product == "MySQL"
    for setting in _SETTINGS:
        subject.ask(f"SET GLOBAL {setting}")
    subject.ask("UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'events_waits_current'")
    return subject
