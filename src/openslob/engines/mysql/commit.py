"""COMMIT_MODE: what a commit waits for is one setting of the whole server, so it is set for a run and put back."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.workload import CommitMode, Workload

SETTING = "innodb_flush_log_at_trx_commit"
# 1 writes and syncs the log at each commit, 0 once a second.
_VALUES: Mapping[CommitMode, int] = {CommitMode.WAIT: 1, CommitMode.NOWAIT: 0}


def wanted_setting(workload: Workload) -> int | None:
    """The setting that a workload needs; None when the server's own is meant, or nothing is committed."""
    return _VALUES.get(workload.commit_mode) if workload.update_pct else None
