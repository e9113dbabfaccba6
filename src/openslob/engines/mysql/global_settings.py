"""Settings of the whole server that are changed for the time of a run, and put back whatever becomes of the driver.

Each is noted down in the database before it is changed. Whoever takes the target's lock next finds what a driver that
was killed left, and puts it back. While one run has settings changed, no other run on the server may change or rely on
any: its own would be measured with them, or put back at the wrong time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pymysql
from pymysql.constants import ER

from openslob.engines.mysql.connection import Connection, Row, ask, statement
from openslob.engines.mysql.errors import code_of, explain_error
from openslob.engines.mysql.names import Names
from openslob.errors import SlobError

# One for the whole server, whichever database a run is in.
_LOCK = "openslob/settings"
# The server frees the lock of a process that was killed when it notices, which is soon, not at once.
LOCK_PATIENCE_S = 1.0
_NOT_THERE = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR)


@dataclass(frozen=True)
class Left:
    """A setting that is still as a driver changed it: its name, the server's ``own`` value, and ``ours``."""

    setting: str
    own: float
    ours: float

    @property
    def told(self) -> str:
        """What happened, for the user."""
        return f"{self.setting} was left at {self.ours:g} by a run that was killed"

    @property
    def remedy(self) -> str:
        """The statement that puts it back."""
        return f"SET GLOBAL {self.setting} = {self.own:g}"


class GlobalSettingsOverride:
    """What one engine object has changed. A connection of its own holds the lock of all settings as long as it has."""

    def __init__(self, connect: Callable[[], Connection], names: Names) -> None:
        self._connect = connect
        self._names = names
        self._connection: Connection | None = None

    def change(self, setting: str, value: float) -> str:
        """Change it until `restore`; returns what was done, nothing when it is so already.

        SlobError while another run has settings changed, pymysql.Error when this user may not change it.
        """
        connection = self._connection or self._connect()
        try:
            _require_free(connection)
            own = _value(connection, setting)
            if own == value:
                return ""
            _borrow(connection, self._names, setting, own, value)
            self._connection = connection
        finally:
            if connection is not self._connection:
                connection.close()
        return f"{setting} was set to {value:g} for the run; it was {own:g}"

    def restore(self) -> None:
        """Put everything back. What can't be, because the server is gone, it has in its configuration."""
        if self._connection is None:
            return
        with suppress(pymysql.Error, SlobError), self._connect() as connection:
            for each in _noted(connection, self._names):
                _put_back(connection, self._names, each)
        with suppress(pymysql.Error):
            self._connection.close()
        self._connection = None


def left_behind(connection: Connection, names: Names) -> Sequence[Left]:
    """What is still as a driver changed it that is no more; nothing while any run has settings changed."""
    if _holders(connection)["holder"]:
        return []
    return [left for left in _noted(connection, names) if _value(connection, left.setting) == left.ours]


def restore_leftovers(connection: Connection, names: Names) -> Sequence[str]:
    """Put back what a driver that was killed left changed; returns a line each. The target's lock must be held.

    While a run in another database has settings changed it is left to a later command.
    """
    if not _lock(connection, LOCK_PATIENCE_S):
        return []
    try:
        told = (_restore_leftovers(connection, names, left) for left in _noted(connection, names))
        return [line for line in told if line]
    finally:
        ask(connection, statement("facts", "unlock"), {"lock": _LOCK})


def _restore_leftovers(connection: Connection, names: Names, left: Left) -> str:
    try:
        changed = _put_back(connection, names, left)
    except pymysql.Error as error:
        return f"{left.told} and could not be put back ({explain_error(error)}): {left.remedy}"
    return f"{left.told}; it was put back to {left.own:g}" if changed else ""


def _put_back(connection: Connection, names: Names, left: Left) -> bool:
    """Put a setting back unless somebody has changed it since; returns whether it was."""
    ours = _value(connection, left.setting) == left.ours
    if ours:
        _set(connection, left.setting, left.own)
    _forget(connection, names, left.setting)
    return ours


def _borrow(connection: Connection, names: Names, setting: str, own: float, ours: float) -> None:
    """Note first, then change: a driver killed in between leaves a note of a change that was not made."""
    if not _lock(connection, 0):
        raise _taken(_holders(connection)["holder"])
    values = {"setting": setting, "own": own, "ours": ours}
    ask(connection, statement("borrowed", "create", borrowed=names.borrowed()))
    ask(connection, statement("borrowed", "note", borrowed=names.borrowed()), values)
    try:
        _set(connection, setting, ours)
    except pymysql.Error:
        _forget(connection, names, setting)
        raise


def _lock(connection: Connection, patience_s: float) -> bool:
    return bool(ask(connection, statement("facts", "lock"), {"lock": _LOCK, "patience": patience_s})[0]["held"])


def _require_free(connection: Connection) -> None:
    found = _holders(connection)
    if found["holder"] not in (None, found["own"]):
        raise _taken(found["holder"])


def _taken(holder: object) -> SlobError:
    why = f"another run has changed settings of the whole server for its time (connection {holder})"
    return SlobError(why, "wait for it to end")


def _holders(connection: Connection) -> Row:
    return ask(connection, statement("borrowed", "holder"), {"lock": _LOCK})[0]


def _noted(connection: Connection, names: Names) -> list[Left]:
    try:
        rows = ask(connection, statement("borrowed", "noted", borrowed=names.borrowed()))
    except pymysql.Error as error:
        if code_of(error) in _NOT_THERE:
            return []
        raise
    return [Left(row["setting"], row["own"], row["ours"]) for row in rows]


def _forget(connection: Connection, names: Names, setting: str) -> None:
    ask(connection, statement("borrowed", "forget", borrowed=names.borrowed()), {"setting": setting})


def _value(connection: Connection, setting: str) -> float:
    return float(ask(connection, statement("borrowed", "value", setting=setting))[0]["value"])


def _set(connection: Connection, setting: str, value: float) -> None:
    # A setting of whole numbers takes no others, not even 1.0.
    number = int(value) if value == int(value) else value
    ask(connection, statement("borrowed", "change", setting=setting), {"value": number})
