"""Errors of the server and the driver library as messages: what happened, why, what to do."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager

import psycopg
from psycopg import errors

from openslob.core.errors import DeniedError, SlobError

# The server refuses a connection with a text alone: the library does not pass on the error's class. Where these texts
# are translated, the general remedy is given.
_REFUSALS: tuple[tuple[str, str], ...] = (
    (
        "could not access file|could not load library",
        "RESET session_preload_libraries or local_preload_libraries, of the role, the database or the server",
    ),
    ("is not permitted to log in", "ALTER ROLE … LOGIN, or name another role in the URL"),
    (
        "password authentication failed",
        "check role and password (--ask-password, PGPASSWORD, ~/.pgpass) and that it has not expired "
        "(rolvaliduntil in pg_roles)",
    ),
    ("no password supplied", "--ask-password asks for it; or set PGPASSWORD, or write it to ~/.pgpass"),
    (r'database ".*" does not exist', "create it, or name another one in the URL"),
    (r'role ".*" does not exist', "create it, or name another role in the URL"),
    ("permission denied for database", "GRANT CONNECT ON DATABASE … TO the role"),
    ("not currently accepting connections", "ALTER DATABASE … ALLOW_CONNECTIONS true, or name another one in the URL"),
    ("too many connections for role", "end its other sessions, or ALTER ROLE … CONNECTION LIMIT"),
    ("too many connections for database", "end its other sessions, or ALTER DATABASE … CONNECTION LIMIT"),
    ("too many clients|connection slots are reserved", "raise max_connections, or end other sessions"),
    (
        r"pg_hba\.conf",
        "let this host, role and database in by pg_hba.conf and reload it; TLS (sslmode) may be required",
    ),
    ("(Peer|Ident) authentication failed", "connect as the role of your user's name, or by TCP with a password"),
    ("server does not support SSL", "take sslmode out of the URL, or let the server use TLS"),
    ("starting up|shutting down|in recovery mode", "try again in a moment; the server's log says why"),
    (
        "Connection refused|No such file or directory|could not translate|failed to resolve",
        "check that the server is running and where",
    ),
)
_FULL = re.compile("too many (clients|connections)|connection slots are reserved")
_ADDRESS = re.compile(r"^(connection failed: )?(connection to server (at|on socket) .* failed: )?([A-Z]+:  )?")
_LIMIT = "timeout"
# What messages call the limits of a session or a transaction, and the settings.
_LIMITS = {
    "idle-in-transaction timeout": "idle_in_transaction_session_timeout",
    "idle-session timeout": "idle_session_timeout",
    "transaction timeout": "transaction_timeout",
}

_REMEDIES: tuple[tuple[type[psycopg.Error], str], ...] = (
    (
        errors.SerializationFailure,
        "on a standby set hot_standby_feedback=on or raise max_standby_streaming_delay; elsewhere use read committed",
    ),
    (errors.DiskFull, "free space or choose a smaller SCALE, then try again"),
    (errors.ConnectionTimeout, "the server hangs or is stopped, or something in between drops what is sent to it"),
    (errors.TooManyConnections, "raise max_connections or use fewer sessions"),
    (errors.InsufficientPrivilege, "grant the right (`slob check` prints the statement), or use a role that has it"),
    (errors.AdminShutdown, "somebody ended it, or the server was stopped; see its log"),
    (errors.CrashShutdown, "the server crashed; see its log"),
    (errors.CannotConnectNow, "the server is starting or stopping; try again in a moment"),
    (errors.QueryCanceled, "somebody or a time limit (statement_timeout) ended it; see the server's log"),
    (
        errors.ConfigurationLimitExceeded,
        "RESET the limit that is named, of role, database or server, or let a superuser raise it",
    ),
    (
        errors.ReadOnlySqlTransaction,
        "name a primary; or default_transaction_read_only is on: ALTER ROLE or ALTER DATABASE … RESET it",
    ),
    (errors.LockNotAvailable, "another session holds a lock on the tables: see pg_locks, and end it"),
    (errors.UndefinedTable, "there are no data; run `slob load` first"),
    (errors.UndefinedColumn, "the tables are not as `slob load` made them; run it again"),
    (errors.InvalidSchemaName, "there are no data; run `slob load` first"),
    (errors.DataCorrupted, "the data are damaged: see the server's log, then run `slob load` again"),
    (errors.IndexCorrupted, "an index is damaged: see the server's log, then run `slob load` again"),
    (errors.OutOfMemory, "the server has no memory left: lower its settings or the number of sessions; see its log"),
    (errors.UndefinedFunction, "the work loop is missing or has another version; run `slob run` again"),
    (errors.InvalidPassword, "--ask-password asks for it; or set PGPASSWORD, or write it to ~/.pgpass"),
)


def explain_error(error: psycopg.Error) -> str:
    """Return the first line of a server's error, without its prefix."""
    text = error.diag.message_primary or str(error) or type(error).__name__
    return _ADDRESS.sub("", text.strip().splitlines()[0]).strip()


def is_full(error: BaseException | None) -> bool:
    """Return whether the server answered that it takes no further connection."""
    return isinstance(error, psycopg.OperationalError) and bool(_FULL.search(explain_error(error)))


def find_time_limit(error: psycopg.Error) -> str:
    """Return the time limit that ended a statement or a connection; empty when none did. Only text tells which."""
    said = explain_error(error)
    if _LIMIT not in said or not (isinstance(error, errors.QueryCanceled) or "terminating connection" in said):
        return ""
    return next((setting for words, setting in _LIMITS.items() if words in said), "statement_timeout")


def remedy_for(error: psycopg.Error) -> str:
    """Return what a user can do about a server's error; empty when the message says enough."""
    said = explain_error(error)
    if isinstance(error, errors.QueryCanceled) and "user request" in said:
        return "somebody cancelled it, or a time limit (statement_timeout) that ended just then"
    if limit := find_time_limit(error):
        return f"a time limit of role, database or server ended it: RESET {limit} and its like"
    for kind, remedy in _REMEDIES:
        if isinstance(error, kind):
            return remedy
    for pattern, remedy in _REFUSALS if error.sqlstate is None else ():
        if re.search(pattern, said):
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
            kind = DeniedError if isinstance(error, errors.InsufficientPrivilege) else SlobError
            raise kind(f"{self._what}: {explain_error(error)}", remedy_for(error)) from error


def report_as(what: str) -> AbstractContextManager[None]:
    """Turn a driver's error inside the block into one line that begins with ``what``."""
    return _Reported(what)
