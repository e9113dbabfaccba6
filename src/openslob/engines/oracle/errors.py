"""Errors of the server and the driver library as messages: what happened, why, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import oracledb

from openslob.core.errors import DeniedError, SlobError
from openslob.engines.oracle.remedies import VAGUE, refusal, remedy_of

_CODE = re.compile(r"\b((?:ORA|DPY|DPI|TNS|PLS)-\d{4,5})\b")
# The library ends its messages with a link to its manual, and names the connection in them.
_NOISE = re.compile(
    r"\s*Help: \S+|DPY-6005: cannot connect to database|\s*\(CONNECTION_ID=[^)]*\)\.?|\[Errno -?\d+\] ?"
)
_REFUSAL = re.compile(r"DPY-6000: Listener refused connection\. \(Similar to (ORA-\d+)\)")
# Where in our PL/SQL an error came up, and what it did to the block.
_PLACE = re.compile(r"ORA-06512|ORA-06550: line \d+, column \d+:$|PL/SQL: Statement ignored")

CANCELLED = "ORA-01013"
NO_TABLE = "ORA-00942"
# Since 23ai, of an object that this user knows of.
_NO_PRIVILEGE = "ORA-41900"
_NO_PROCEDURE = "ORA-04043"
NO_COLUMN = "ORA-00904"
IS_LOCKED = "ORA-00054"
IS_THERE = "ORA-00001"
NAME_IN_USE = "ORA-00955"
NO_RIGHT = "ORA-01031"
CONNECTION_LOST = ("DPY-4011", "DPY-1001", "ORA-03113", "ORA-03114", "ORA-03135")
_FULL = ("ORA-00018", "ORA-00020", "ORA-02391", "ORA-12516", "ORA-12519", "ORA-12520", "ORA-12518")
# No space or quota, no right, ended by somebody, or nobody there.
_FINAL = (
    *("ORA-01536", "ORA-01652", "ORA-01653", "ORA-01654", "ORA-01658", "ORA-01659", "ORA-01950", "ORA-30036"),
    *("ORA-00257", NO_RIGHT, "ORA-16000", "ORA-29339", "ORA-00379"),
    *(CANCELLED, "ORA-00028", "ORA-01089", "ORA-01109", "ORA-02399", *CONNECTION_LOST),
)


def codes_of(error: BaseException | None) -> tuple[str, ...]:
    """Return every code in an error's text, such as ORA-00942, in order; the first is the error's own."""
    return tuple(_CODE.findall(str(error))) if isinstance(error, oracledb.Error) else ()


def is_full(error: BaseException | None) -> bool:
    """Return whether the server answered that it takes no further connection."""
    return any(code in _FULL for code in codes_of(error))


def is_missing(error: BaseException) -> bool:
    """Return whether a table or view does not exist, or this user may not see it: Oracle does not say which."""
    return any(code in (NO_TABLE, _NO_PRIVILEGE) for code in codes_of(error))


def is_gone(error: BaseException) -> bool:
    """Return whether there is nothing to drop: no such table, or no such procedure."""
    return is_missing(error) or _NO_PROCEDURE in codes_of(error)


def is_final(error: BaseException) -> bool:
    """Return whether a load that met this error would meet it in every other way, too."""
    return any(code in _FINAL for code in codes_of(error))


def explain_error(error: object) -> str:
    """Return an error's text as one line: without what the library adds to it, if the server said more."""
    text = _REFUSAL.sub(lambda found: refusal(found[1]), _NOISE.sub("", str(error)))
    lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.partition(":")[0] not in VAGUE and not _PLACE.match(line)]
    return "; ".join(telling or lines) or "the connection was closed"


@contextmanager
def reported(what: str) -> Iterator[None]:
    """Turn a driver's error inside the block into one line that begins with ``what``."""
    try:
        yield
    except oracledb.Error as error:
        kind = DeniedError if is_missing(error) or NO_RIGHT in codes_of(error) else SlobError
        raise kind(f"{what}: {explain_error(error)}", remedy(error)) from error


def remedy(error: BaseException) -> str:
    """Return what to do about an error; empty when nothing is known."""
    return remedy_of(codes_of(error), explain_error(error))
