"""Errors of the server and the driver library as messages: what happened, why, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pymysql
from pymysql.constants import CR, ER

from openslob.core.errors import DeniedError, SlobError

# Missing from the library's constants.
KILLED_WHILE_CONNECTED = 1927
QUERY_TIMED_OUT = (1969, 3024)
DENIED = (
    *(ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR),
    *(ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.PROCACCESS_DENIED_ERROR),
)
_DISK_FULL = (1021, 1114)
_ACCOUNT_LOCKED = (3118, 4151)
_TOO_MANY_OF_USER = 1203
_IN_READ_ONLY = 1792
_PASSWORD_EXPIRED = (1820, 1862)
_FULL = (ER.CON_COUNT_ERROR, ER.USER_LIMIT_REACHED, _TOO_MANY_OF_USER)

# The server could not answer what was asked, whatever it was.
NOT_ANSWERED = (
    *(*QUERY_TIMED_OUT, ER.QUERY_INTERRUPTED, KILLED_WHILE_CONNECTED, ER.SERVER_SHUTDOWN),
    *(CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR),
)
_READ_ONLY = "the server accepts no writes (read_only): name a primary"
_OPTION = "change this setting of the server: SET GLOBAL, and in my.cnf"

_REMEDIES: Mapping[int, str] = {
    **dict.fromkeys(_DISK_FULL, "free space or choose a smaller SCALE, then try again"),
    **dict.fromkeys(
        QUERY_TIMED_OUT, "set max_statement_time (of server and user) or MySQL's max_execution_time to 0: it ended it"
    ),
    _IN_READ_ONLY: "SET GLOBAL tx_read_only = OFF, in newer servers transaction_read_only",
    ER.CON_COUNT_ERROR: "raise max_connections or use fewer sessions",
    ER.ACCESS_DENIED_ERROR: (
        "check user and password (--ask-password, MYSQL_PWD); an account with REQUIRE SSL needs TLS (ssl_ca in the URL)"
    ),
    **dict.fromkeys(_ACCOUNT_LOCKED, "ALTER USER … ACCOUNT UNLOCK, or use another user"),
    **dict.fromkeys(_PASSWORD_EXPIRED, "ALTER USER … IDENTIFIED BY a new password"),
    **dict.fromkeys(
        (ER.USER_LIMIT_REACHED, _TOO_MANY_OF_USER),
        "raise the limit: ALTER USER … WITH MAX_USER_CONNECTIONS (or the limit named) 0",
    ),
    ER.BAD_DB_ERROR: "create the database, or name another one in the URL",
    ER.BAD_FIELD_ERROR: "the tables are not as `slob load` made them; run it again",
    ER.CRASHED_ON_USAGE: "the data are damaged: see the server's log, then run `slob load` again",
    ER.DBACCESS_DENIED_ERROR: "GRANT ALL ON the database.* TO the user, or name a database that this user may use",
    ER.TABLEACCESS_DENIED_ERROR: "grant the right (`slob check` prints the statement), or use a user that has it",
    ER.SPECIFIC_ACCESS_DENIED_ERROR: "grant the right (`slob check` prints the statement), or use a user that has it",
    ER.PROCACCESS_DENIED_ERROR: "GRANT CREATE ROUTINE, ALTER ROUTINE, EXECUTE on the database to the user",
    ER.SERVER_SHUTDOWN: "the server was stopped; see its log",
    ER.QUERY_INTERRUPTED: "somebody cancelled it (KILL QUERY): run again",
    KILLED_WHILE_CONNECTED: "somebody ended its connection (KILL): run again",
    ER.LOCK_WAIT_TIMEOUT: "another session holds it: SHOW PROCESSLIST and SHOW ENGINE INNODB STATUS show who",
    ER.LOCK_DEADLOCK: "the server aborted it because of a change by another session or node: run again",
    ER.NO_SUCH_TABLE: "there are no data; run `slob load` first",
    ER.SP_DOES_NOT_EXIST: "the work loop is missing; run `slob run` again",
    ER.SP_WRONG_NO_OF_ARGS: "the work loop has another version; run `slob run` again",
    CR.CR_CONN_HOST_ERROR: "check that the server is running and where",
    CR.CR_SERVER_LOST: "check that the server is running and see its log",
    CR.CR_SERVER_GONE_ERROR: "check that the server is running and see its log",
}


def code_of(error: BaseException) -> int:
    """Return the server's or library's number of an error; 0 when it has none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def is_full(error: BaseException | None) -> bool:
    """Return whether the server answered that it takes no further connection."""
    return isinstance(error, pymysql.Error) and code_of(error) in _FULL


def explain_error(error: BaseException) -> str:
    """Return the first line of an error's text."""
    text = str(error.args[-1] if error.args else "").strip()
    return text.splitlines()[0] if text else "the connection was closed"


@contextmanager
def report_as(what: str) -> Iterator[None]:
    """Turn a driver's error inside the block into one line that begins with ``what``."""
    try:
        yield
    except pymysql.Error as error:
        kind = DeniedError if code_of(error) in DENIED else SlobError
        raise kind(f"{what}: {explain_error(error)}", _remedy(error)) from error


@contextmanager
def ignoring(*codes: int) -> Iterator[None]:
    """End the block, and go on after it, when the server or the library answers with one of these numbers."""
    try:
        yield
    except pymysql.Error as error:
        if code_of(error) not in codes:
            raise


def _remedy(error: BaseException) -> str:
    # An untrusted certificate is reported as a server that can't be reached.
    if "SSL" in explain_error(error) and code_of(error) == CR.CR_CONN_HOST_ERROR:
        return "see ssl_ca, ssl_verify_cert and ssl_verify_identity in the URL"
    if code_of(error) == ER.OPTION_PREVENTS_STATEMENT:
        return _READ_ONLY if re.search("read.only", explain_error(error)) else _OPTION
    return _REMEDIES.get(code_of(error), "")
