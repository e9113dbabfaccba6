"""Sessions of the work loop that a killed driver left in the server.

Each ends by itself when its slice has ended and nobody takes the result. They are told to end it at once, which needs
no right and holds on all instances of a cluster; those that stay are ended, if this user may do that. An instance
counts its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import oracledb

from openslob.core.errors import SlobError
from openslob.engines.common_checks import require_no_driver
from openslob.engines.oracle.connection import Connection, Row, query, statement
from openslob.engines.oracle.errors import codes_of, is_missing
from openslob.engines.oracle.run_table import STOP, let_work, tell_to_stop

_OF_RUNS = "run/%"
# Sessions that sleep look for the signal five times a second.
_SLICE_END_S = 0.5
_END_PATIENCE_S = 3.0
_POLL_S = 0.05
_IDLE = "INACTIVE"
_GONE = ("ORA-00030", "ORA-00031", "ORA-00026")


def count(connection: Connection) -> int:
    """Return how many sessions of the work loop the server still has; 0 if this user may not see them."""
    return len(_sessions(connection, _OF_RUNS) or ())


def release(connection: Connection, target: str) -> int:
    """End the sessions that a killed driver left; return how many there were. Requires the target's lock.

    SlobError when they are those of a run that is still going on, or when they stay and this user may not end them.
    Without the right to see sessions they are told to end, and a moment later they have.
    """
    found = _sessions(connection, _OF_RUNS)
    if found == []:
        return 0
    if found:
        require_no_driver(target, lambda: [_named(row) for row in _sessions(connection, STOP) or ()])
    try:
        tell_to_stop(connection)
    except oracledb.DatabaseError as error:
        # Nothing was ever loaded, so nothing was left.
        if is_missing(error):
            return 0
        raise
    try:
        if found is None:
            time.sleep(_SLICE_END_S)
            return 0
        _end(connection)
    finally:
        let_work(connection)
    return len(found)


def _end(connection: Connection) -> None:
    """Wait until all have ended, and end those that have not done so in time."""
    for act in (_wait, _kill, _wait):
        act(connection)
        if not count(connection):
            return


def _wait(connection: Connection) -> None:
    deadline = time.monotonic() + _END_PATIENCE_S
    while count(connection) and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _kill(connection: Connection) -> None:
    for row in _sessions(connection, _OF_RUNS) or ():
        text = statement("stop", "kill", victim=_victim(row))
        try:
            query(connection, text)
        except oracledb.DatabaseError as error:
            # One whose driver's host is gone waits for it, and disturbs nobody.
            if row["status"] == _IDLE or any(code in _GONE for code in codes_of(error)):
                continue
            why = f"sessions of an earlier run are still at work, and this user may not end them ({_named(row)})"
            raise SlobError(why, f"as an administrator: {text}") from error


def _sessions(connection: Connection, purpose: str) -> Sequence[Row] | None:
    """Return our sessions with a purpose on this instance; None if this user may not see them."""
    try:
        return list(query(connection, statement("stop", "sessions"), {"purpose": purpose}))
    except oracledb.DatabaseError as error:
        if not is_missing(error):
            raise
        return None


def _victim(row: Row) -> str:
    return f"{row['sid']},{row['serial']}"


def _named(row: Row) -> str:
    return f"session {_victim(row)}"
