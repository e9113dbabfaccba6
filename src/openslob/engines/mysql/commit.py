"""COMMIT_MODE: what a commit waits for is one setting of the whole server, so it is set for a run and put back."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.engines.mysql.connection import Connection, ask, statement
from openslob.workload import CommitMode, Workload

# innodb_flush_log_at_trx_commit: 1 writes and syncs the log at each commit, 0 once a second.
_SETTING: Mapping[CommitMode, str] = {CommitMode.WAIT: "1", CommitMode.NOWAIT: "0"}


def wanted_setting(workload: Workload) -> str | None:
    """The setting that a workload needs; None when the server's own is meant."""
    return _SETTING.get(workload.commit_mode)


def current_setting(connection: Connection) -> str:
    """The setting now."""
    return str(ask(connection, statement("facts", "commit_setting"))[0]["value"])


def change_setting(connection: Connection, value: str) -> None:
    """Set it, unless it is so already. pymysql.Error when this user may not."""
    if current_setting(connection) != value:
        ask(connection, statement("facts", "set_commit"), {"value": int(value)})
