"""Brings the server to rest before the clock starts: the cache as the run wants it, no old work left to write."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pymysql

from openslob.engines.mysql.connection import PACKAGE, Connection, ask, statement
from openslob.engines.mysql.global_settings import GlobalSettingsOverride
from openslob.engines.mysql.names import Names
from openslob.engines.sql import read_statements
from openslob.errors import SlobError
from openslob.workload import CommitMode, Workload

SETTING = "innodb_flush_log_at_trx_commit"
# 1 writes and syncs the log at each commit, 0 once a second.
_VALUES: Mapping[CommitMode, int] = {CommitMode.WAIT: 1, CommitMode.NOWAIT: 0}


def wanted_setting(workload: Workload) -> int | None:
    """The setting that a workload needs; None when the server's own is meant, or nothing is committed."""
    return _VALUES.get(workload.commit_mode) if workload.update_pct else None


# Long enough for some GB to a slow disk; then the run begins all the same, and says so.
_FLUSH_LIMIT_S = 60.0
_LOOK_EVERY_S = 0.05
# The server writes all dirty pages as fast as it may while this is 0.
_DIRTY_SETTING = "innodb_max_dirty_pages_pct"
# The server itself always has a few pages that it just changed.
_FEW_PAGES = 16


def quiesce(
    connection: Connection,
    names: Names,
    borrowed: GlobalSettingsOverride,
    workload: Workload,
    warm_cache: bool,
    block_size: int,
) -> list[str]:
    """Read the active data once if asked to, have dirty pages written if allowed, and commits wait as asked for.

    Returns what was done. What is ``borrowed`` for it stays so for the run, but for what serves to write pages.
    """
    done = [_warm(connection, names, workload, block_size)] if warm_cache else []
    done.append(_flush(connection, borrowed))
    wanted = wanted_setting(workload)
    if wanted is not None:
        done.append(borrowed.change(SETTING, wanted))
    return [each for each in done if each]


def _warm(connection: Connection, names: Names, workload: Workload, block_size: int) -> str:
    ask(connection, read_statements(PACKAGE, "session")["plan"])
    scale = workload.scale.blocks(block_size)
    numbers = range(1, min(workload.schemas, workload.total_sessions) + 1)
    for number in numbers:
        ask(connection, statement("facts", "warm", cf1=names.cf1(number)), {"scale": scale})
        if workload.scan_pct:
            ask(connection, statement("facts", "warm_scan", cf2=names.cf2(number)))
    return f"read {scale:,} blocks of {len(numbers)} tables into the cache"


def _flush(connection: Connection, borrowed: GlobalSettingsOverride) -> str:
    """There is no CHECKPOINT statement: the server writes dirty pages out while it is told to keep none."""
    try:
        borrowed.change(_DIRTY_SETTING, 0)
    except pymysql.Error:
        return f"dirty pages were not written out: this user may not set {_DIRTY_SETTING}"
    except SlobError as error:
        return f"dirty pages were not written out: {error.what}"
    try:
        return _wait_until_clean(connection)
    finally:
        borrowed.restore()


def _wait_until_clean(connection: Connection) -> str:
    deadline = time.monotonic() + _FLUSH_LIMIT_S
    while (left := _dirty(connection)) > _FEW_PAGES:
        if time.monotonic() > deadline:
            return f"{left:,} dirty pages were left after {_FLUSH_LIMIT_S:.0f} s"
        time.sleep(_LOOK_EVERY_S)
    return "dirty pages were written out"


def _dirty(connection: Connection) -> int:
    return int(ask(connection, statement("facts", "dirty"))[0]["Value"])
