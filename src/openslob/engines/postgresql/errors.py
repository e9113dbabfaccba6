"""Errors of the server and the driver library as messages: what happened, why, what to do."""

from __future__ import annotations

from contextlib import AbstractContextManager

import psycopg
from psycopg import errors

from openslob.errors import SlobError

_REMEDIES: tuple[tuple[type[psycopg.Error], str], ...] = (
    (
        errors.SerializationFailure,
        "on a standby set hot_standby_feedback=on or raise max_standby_streaming_delay; elsewhere use read committed",
    ),
    (errors.DiskFull, "free space or choose a smaller SCALE, then try again"),
    (errors.TooManyConnections, "raise max_connections or use fewer sessions"),
    (errors.InsufficientPrivilege, "grant the right, or use a role that has it"),
    (errors.AdminShutdown, "another user ended it, or the server was stopped; see its log"),
    (errors.CrashShutdown, "the server crashed; see its log"),
    (errors.CannotConnectNow, "the server is starting or stopping; try again in a moment"),
    (errors.QueryCanceled, "another user cancelled it"),
    (errors.UndefinedTable, "the data are not there; run `slob load` first"),
    (errors.UndefinedFunction, "the work loop is not there or of another version; run `slob run` again"),
    (errors.InvalidPassword, "set PGPASSWORD or a password file"),
)


def explain_error(error: psycopg.Error) -> str:
    """Return the first line of a server's error, without its prefix."""
    text = error.diag.message_primary or str(error) or type(error).__name__
    return text.strip().splitlines()[0].removeprefix("FATAL:").strip()


def remedy_for(error: psycopg.Error) -> str:
    """Return what a user can do about a server's error; empty when the message says enough."""
    for kind, remedy in _REMEDIES:
        if isinstance(error, kind):
            return remedy
    if isinstance(error, psycopg.OperationalError):
        return "check that the server is running and see its log"
    return ""


class _Reported(AbstractContextManager[None]):
    """A class, not a generator: it is used ten times a second, and its cost is part of the driver's CPU."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, psycopg.Error):
            raise SlobError(f"{self._what}: {explain_error(error)}", remedy_for(error)) from error


def reported(what: str) -> AbstractContextManager[None]:
    """Turn a driver's error inside the block into one line that begins with ``what``."""
    return _Reported(what)
