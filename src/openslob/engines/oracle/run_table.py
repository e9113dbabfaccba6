"""The run table: a row that whoever uses the target holds locked, and a row that tells the sessions to stop.

A row's lock needs no right, holds on all instances of a cluster, and ends with the connection that holds it.

Sessions of the work loop that a killed driver left end by themselves when their slices have ended and nobody takes the
results. They are told to end at once, which needs no right and holds on all instances of a cluster; those that stay are
ended, if this user may do that. An instance counts its own.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import local

import oracledb

from openslob.core.errors import SlobError
from openslob.engines.base import Hold
from openslob.engines.common_checks import LOCK_PATIENCE_S, await_ended, require_no_driver
from openslob.engines.oracle.connection import (
    Connection,
    Row,
    change,
    execute_allowed,
    query,
    query_if_visible,
    require_alive,
    statement,
)
from openslob.engines.oracle.errors import IS_LOCKED, IS_THERE, NAME_IN_USE, find_codes, is_missing, report_as
from openslob.engines.oracle.names import MANIFEST, RUN_TABLE
from openslob.engines.server_engine import ConnectionOwner

LOCK, STOP = "lock", "stop"
AGAIN_S = LOCK_PATIENCE_S / 20
# Holders that this thread is. The instances of a cluster share one database, and one lock: who has it has it for all.
_own = local()
_OF_RUNS = "run/%"
# Sessions that sleep look for the signal five times a second.
SLICE_END_S = 0.5
_IDLE = "INACTIVE"
_GONE = ("ORA-00030", "ORA-00031", "ORA-00026")


@contextmanager
def hold_lock(connection: Connection, target: str, purpose: str) -> Iterator[Hold]:
    """Hold the lock of the target over a connection that is used for nothing else. SlobError names the holder."""
    who = f"{purpose} by pid {os.getpid()} on {socket.gethostname()}"
    mine: list[str] = _own.__dict__.setdefault("holders", [])
    connection.raw.autocommit = False
    with report_as(f"{target} can't be locked"):
        is_first = _take_lock(connection, target, who if who in mine else None)
        if is_first:
            _enter(connection, target, who)
    mine.append(who)
    try:
        yield Hold((), lambda: require_alive(connection, f"the lock of {target}"))
    finally:
        mine.remove(who)
        if is_first:
            _leave(connection)


def _enter(connection: Connection, target: str, who: str) -> None:
    """Say who holds the lock, and withdraw a stop signal that a killed driver left."""
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    change(connection, _statement("note_holder"), {"holder": who, "since": since})
    change(connection, _statement("reset"))
    connection.call(connection.raw.commit)
    # Others can read it now, and may have been faster.
    _take_lock(connection, target, None)


def _leave(connection: Connection) -> None:
    """Release the lock; remove the table if nothing is loaded, so that a drop leaves nothing behind."""
    with suppress(oracledb.Error, SlobError):
        if not query(connection, _statement("loaded"), {"manifest": MANIFEST}):
            query(connection, _statement("drop"))
        connection.call(connection.raw.rollback)


def _take_lock(connection: Connection, target: str, shared_with: str | None) -> bool:
    """Take the lock; wait a moment for a driver that has just ended. Return False if ``shared_with`` holds it."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while not _is_taken(connection):
        row = query(connection, _statement("holder"))[0]
        if shared_with and row["holder"] == shared_with:
            return False
        if time.monotonic() > deadline:
            who = f"{row['holder']}, since {row['since']}" if row["holder"] else "another session holds its lock"
            raise SlobError(f"{target} is in use: {who}", "wait for it to end, or stop it")
        time.sleep(AGAIN_S)
    return True


def _is_taken(connection: Connection) -> bool:
    """Try to take the lock; make the table if it is not there. Return whether this connection holds the lock."""
    try:
        if query(connection, _statement("lock")):
            return True
    except oracledb.DatabaseError as error:
        if IS_LOCKED in find_codes(error):
            return False
        if not is_missing(error):
            raise
        _execute_unless(NAME_IN_USE, connection, "create")
    for name in (LOCK, STOP):
        _execute_unless(IS_THERE, connection, "row", id=name)
    connection.call(connection.raw.commit)
    return _is_taken(connection)


def _execute_unless(code: str, connection: Connection, name: str, **values: object) -> None:
    """Execute a statement that another driver may have been faster with."""
    try:
        change(connection, _statement(name), values)
    except oracledb.DatabaseError as error:
        if code not in find_codes(error):
            raise


def _statement(name: str) -> str:
    return statement("stop", name, run_table=RUN_TABLE)


def tell_to_stop(connection: Connection) -> None:
    """Let all sessions of the target end their slices, each within a fraction of a second."""
    change(connection, _statement("request"))


def let_work(connection: Connection) -> None:
    """Withdraw the request to stop."""
    change(connection, _statement("reset"))


class OracleStop(ConnectionOwner[Connection]):
    """Tells the sessions of a run to end their slices. Implements `openslob.engines.base.StopSignal`."""

    def request(self) -> None:
        """Make every session stop within about half a second."""
        with report_as("the sessions can't be stopped"):
            tell_to_stop(self._connection)

    def close(self) -> None:
        with suppress(oracledb.Error, SlobError):
            let_work(self._connection)
        super().close()


def count_sessions(connection: Connection) -> int:
    """Return how many sessions of the work loop the server still has; 0 if this user may not see them."""
    return len(_list_sessions(connection, _OF_RUNS) or ())


def end_sessions(connection: Connection, target: str) -> int:
    """End the sessions that a killed driver left; return how many there were. Requires the target's lock.

    SlobError when they are those of a run that is still going on, or when they stay and this user may not end them.
    Without the right to see sessions they are told to end, and a moment later they have.
    """
    found = _list_sessions(connection, _OF_RUNS)
    if found is not None:
        if not found:
            return 0
        require_no_driver(target, lambda: [_name_session(row) for row in _list_sessions(connection, STOP) or ()])
    try:
        tell_to_stop(connection)
    except oracledb.DatabaseError as error:
        # Nothing was ever loaded, so nothing was left.
        if is_missing(error):
            return 0
        raise
    try:
        if found is None:
            time.sleep(SLICE_END_S)
            return 0
        await_ended(lambda: count_sessions(connection))
        if count_sessions(connection):
            _kill(connection)
            await_ended(lambda: count_sessions(connection))
    finally:
        let_work(connection)
    return len(found)


def _kill(connection: Connection) -> None:
    for row in _list_sessions(connection, _OF_RUNS) or ():
        text = statement("stop", "kill", victim=_name_victim(row))
        try:
            ids = {"sid": row["sid"], "serial": row["serial"]}
            execute_allowed(connection, (text, {}), (statement("stop", "rds_kill"), ids))
        except oracledb.DatabaseError as error:
            # One whose driver's host is gone waits for it, and disturbs nobody.
            if row["status"] == _IDLE or any(code in _GONE for code in find_codes(error)):
                continue
            why = f"sessions of an earlier run are still at work, and this user may not end them ({_name_session(row)})"
            raise SlobError(why, f"as an administrator: {text}") from error


def _list_sessions(connection: Connection, purpose: str) -> Sequence[Row] | None:
    """Return our sessions with a purpose on this instance; None if this user may not see them."""
    return query_if_visible(connection, statement("stop", "sessions"), {"purpose": purpose})


def _name_victim(row: Row) -> str:
    return f"{row['sid']},{row['serial']}"


def _name_session(row: Row) -> str:
    return f"session {_name_victim(row)}"
