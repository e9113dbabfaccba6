"""Prepares the server before the clock starts: fills the cache if the run needs that, and writes what is dirty."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pymysql

from openslob.core.errors import SlobError
from openslob.core.workload import CommitMode, Workload
from openslob.engines.mysql.connection import PACKAGE, Connection, query, statement
from openslob.engines.mysql.errors import DENIED, code_of, explain_error
from openslob.engines.mysql.global_settings import GlobalSettingsOverride
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.patience import NoAnswerError, Patience, StoppedError
from openslob.engines.slice_io import cache_warmed, schemas_at_work
from openslob.engines.sql import read_statements

if TYPE_CHECKING:
    from openslob.engines.mysql.table_engine import TableEngine

# 1 writes and syncs the log at each commit, 0 once a second.
_VALUES: Mapping[CommitMode, int] = {CommitMode.WAIT: 1, CommitMode.NOWAIT: 0}

# Enough for some GB on a slow disk. After that the run begins anyway, and reports the pages that are left.
_FLUSH_LIMIT_S = 60.0
# A server that others write to never gets clean: to wait on for that would change nothing.
_NO_FEWER_S = 5.0
_POLL_EVERY_S = 0.05
# While this is 0, the server writes all dirty pages as fast as it can.
_DIRTY_SETTING = "innodb_max_dirty_pages_pct"
# A server always has a few pages that it has just changed itself.
_FEW_PAGES = 16
# What came of it, at best.
WRITTEN_OUT = "dirty pages were written out"


def find_required(workload: Workload) -> int | None:
    """Return the value that a workload needs; None when the server's own is used, or nothing is committed."""
    return _VALUES.get(workload.commit_mode) if workload.writes else None


def quiesce(
    connection: Connection,
    names: MysqlNames,
    tables: TableEngine,
    override: GlobalSettingsOverride,
    workload: Workload,
    warm_cache: bool,
    block_size: int,
    patience: Patience,
) -> list[str]:
    """Read the active data once if asked to, write what is only in memory if allowed, and set how commits wait.

    Return what was done. The setting for commits stays changed during the run (``override``).
    """
    done = [_warm(connection, names, workload, block_size)] if warm_cache else []
    done.append(tables.write_out(connection, override, patience))
    value = find_required(workload)
    if value is not None:
        done.append(override.change(tables.commit_setting, value))
    return [note for note in done if note]


def _warm(connection: Connection, names: MysqlNames, workload: Workload, block_size: int) -> str:
    query(connection, read_statements(PACKAGE, "session")["plan"])
    scale, numbers = workload.scale.blocks(block_size), schemas_at_work(workload)
    for number in numbers:
        query(connection, statement("facts", "warm", cf1=names.cf1(number)), {"scale": scale})
        if workload.scans:
            query(connection, statement("facts", "warm_scan", cf2=names.cf2(number)))
    return cache_warmed(scale, numbers)


def flush_pages(connection: Connection, override: GlobalSettingsOverride, patience: Patience) -> str:
    """Write dirty pages: there is no CHECKPOINT statement, but the server writes them while it may keep none."""
    try:
        override.change(_DIRTY_SETTING, 0)
    except (NoAnswerError, StoppedError):
        raise
    except pymysql.Error as error:
        denied = f"this user may not set {_DIRTY_SETTING}" if code_of(error) in DENIED else ""
        return f"dirty pages were not written out: {denied or explain_error(error)}"
    except SlobError as error:
        return f"dirty pages were not written out: {error.what}"
    try:
        dirty = statement("facts", "dirty")
        return wait_until_clean(lambda: int(query(connection, dirty)[0]["Value"]), patience.check)
    finally:
        override.restore()


def wait_until_clean(
    count_dirty: Callable[[], int],
    check: Callable[[float], None],
    few: int = _FEW_PAGES,
    what: str = "dirty pages",
    done: str = WRITTEN_OUT,
) -> str:
    """Wait while there are more than ``few`` dirty pages, or others of ``what``, and they get fewer.

    Return what came of it, ``done`` at best. ``check`` gets the moment when the wait began, and raises when it must
    end.
    """
    began = fewest_at = time.monotonic()
    fewest = dirty = count_dirty()
    while dirty > few:
        check(began)
        now = time.monotonic()
        if dirty < fewest:
            fewest, fewest_at = dirty, now
        if now > fewest_at + _NO_FEWER_S:
            return f"{dirty:,} {what} were left: they did not get fewer for {_NO_FEWER_S:.0f} s"
        if now > began + _FLUSH_LIMIT_S:
            return f"{dirty:,} {what} were left after {_FLUSH_LIMIT_S:.0f} s"
        time.sleep(_POLL_EVERY_S)
        dirty = count_dirty()
    return done
