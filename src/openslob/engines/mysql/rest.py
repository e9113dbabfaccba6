"""Brings the server to rest before the clock starts: the cache as the run wants it, no old work left to write."""

from __future__ import annotations

import time
from contextlib import suppress

import pymysql

from openslob.engines.mysql.connection import PACKAGE, Connection, ask, statement
from openslob.engines.mysql.names import Names
from openslob.engines.sql import read_statements
from openslob.workload import Workload

# Long enough for some GB to a slow disk; then the run begins all the same, and says so.
_FLUSH_LIMIT_S = 60.0
_LOOK_EVERY_S = 0.05
# The server itself always has a few pages that it just changed.
_FEW_PAGES = 16


def settle(connection: Connection, names: Names, workload: Workload, warm_cache: bool, block_size: int) -> list[str]:
    """Read the active data once if asked to, then have dirty pages written if allowed; returns what was done."""
    done = [_warm(connection, names, workload, block_size)] if warm_cache else []
    return [*done, _flush(connection)]


def _warm(connection: Connection, names: Names, workload: Workload, block_size: int) -> str:
    ask(connection, read_statements(PACKAGE, "session")["plan"])
    scale = workload.scale.blocks(block_size)
    numbers = range(1, min(workload.schemas, workload.total_sessions) + 1)
    for number in numbers:
        ask(connection, statement("facts", "warm", cf1=names.cf1(number)), {"scale": scale})
        if workload.scan_pct:
            ask(connection, statement("facts", "warm_scan", cf2=names.cf2(number)))
    return f"read {scale:,} blocks of {len(numbers)} tables into the cache"


def _flush(connection: Connection) -> str:
    """There is no CHECKPOINT statement: the server writes dirty pages out while it is told to keep none."""
    before = ask(connection, statement("facts", "dirty_setting"))[0]["percent"]
    try:
        ask(connection, statement("facts", "flush"), {"percent": 0})
    except pymysql.Error:
        return "dirty pages were not written out: this user may not set innodb_max_dirty_pages_pct"
    try:
        return _wait_until_clean(connection)
    finally:
        with suppress(pymysql.Error):
            ask(connection, statement("facts", "flush"), {"percent": before})


def _wait_until_clean(connection: Connection) -> str:
    deadline = time.monotonic() + _FLUSH_LIMIT_S
    while (left := _dirty(connection)) > _FEW_PAGES:
        if time.monotonic() > deadline:
            return f"{left:,} dirty pages were left after {_FLUSH_LIMIT_S:.0f} s"
        time.sleep(_LOOK_EVERY_S)
    return "dirty pages were written out"


def _dirty(connection: Connection) -> int:
    return int(ask(connection, statement("facts", "dirty"))[0]["Value"])
