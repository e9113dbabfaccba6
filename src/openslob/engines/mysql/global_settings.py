"""Settings of the whole server that are changed during a run, and restored even if the driver is killed.

Each change is recorded in the database before it is made. The next holder of the target's lock finds what a killed
driver left changed, and restores it. While a run has settings changed, no other run on the server may change settings:
it would be measured with the wrong ones, or they would be restored at the wrong time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pymysql
from pymysql.constants import ER

from openslob.core.errors import SlobError
from openslob.engines.common_checks import LOCK_PATIENCE_S
from openslob.engines.mysql.connection import Connection, Row, is_on, query, statement
from openslob.engines.mysql.connection_registry import on_this_server
from openslob.engines.mysql.errors import explain_error, ignoring
from openslob.engines.mysql.names import MysqlNames

# One lock for the whole server, whichever database a run uses.
_LOCK = "openslob/settings"
_MISSING = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR)


@dataclass(frozen=True)
class LeftoverSetting:
    """A setting that a killed driver left changed: its name, the server's ``own`` value, and ``ours``."""

    setting: str
    own: float
    ours: float

    @property
    def description(self) -> str:
        """What happened, for the user."""
        return f"{self.setting} was left at {self.ours:g} by a run that was killed"

    @property
    def remedy(self) -> str:
        """The statement that restores it."""
        return f"SET GLOBAL {self.setting} = {self.own:g}"


class GlobalSettingsOverride:
    """The settings that one engine object has changed. While there are any, its own connection holds their lock."""

    def __init__(self, connect: Callable[[], Connection], names: MysqlNames) -> None:
        self._connect = connect
        self._names = names
        self._connection: Connection | None = None

    def change(self, setting: str, value: float) -> str:
        """Change a setting until `restore`; return what was done, empty when the setting has that value already.

        SlobError while another run has settings changed; one that has just ended is waited for, as the server notices
        that a moment later. pymysql.Error when this user may not change the setting.
        """
        connection = self._connection or self._connect()
        try:
            if not _lock(connection, LOCK_PATIENCE_S):
                raise _locked(_holders(connection)["holder"])
            own = _value(connection, setting)
            if own == value:
                return ""
            _record_and_change(connection, self._names, setting, own, value)
            self._connection = connection
        finally:
            if connection is not self._connection:
                connection.close()
        return f"{setting} was set to {value:g} for the run; it was {own:g}"

    def restore(self) -> None:
        """Restore everything. A server that is gone starts again with the settings of its configuration."""
        if self._connection is None:
            return
        with suppress(pymysql.Error, SlobError), self._connect() as connection:
            for leftover in _read_recorded(connection, self._names):
                _restore(connection, self._names, leftover)
        self._connection.close()
        self._connection = None


def find_left_behind(connection: Connection, names: MysqlNames) -> Sequence[LeftoverSetting]:
    """Return the settings that a killed driver left changed; none while a run has settings changed."""
    if _holders(connection)["holder"]:
        return []
    return [
        leftover
        for leftover in _read_recorded(connection, names)
        if _value(connection, leftover.setting) == leftover.ours
    ]


def restore_leftovers(connection: Connection, names: MysqlNames) -> Sequence[str]:
    """Restore the settings that a killed driver left changed; return a line for each. Requires the target's lock.

    While a run in another database has settings changed, nothing is done: a later command restores them.
    """
    if not _lock(connection, LOCK_PATIENCE_S):
        return []
    try:
        lines = [_restore_leftover(connection, names, leftover) for leftover in _read_recorded(connection, names)]
        return [line for line in lines if line]
    finally:
        query(connection, statement("facts", "unlock"), {"lock": _LOCK})


def _restore_leftover(connection: Connection, names: MysqlNames, leftover: LeftoverSetting) -> str:
    try:
        was_restored = _restore(connection, names, leftover)
    except pymysql.Error as error:
        return f"{leftover.description} and could not be restored ({explain_error(error)}): {leftover.remedy}"
    return f"{leftover.description}; it was restored to {leftover.own:g}" if was_restored else ""


def _restore(connection: Connection, names: MysqlNames, leftover: LeftoverSetting) -> bool:
    """Restore a setting unless somebody has changed it since; return whether it was restored."""
    is_ours = _value(connection, leftover.setting) == leftover.ours
    if is_ours:
        _set(connection, leftover.setting, leftover.own)
    _forget(connection, names, leftover.setting)
    return is_ours


def _record_and_change(connection: Connection, names: MysqlNames, setting: str, own: float, ours: float) -> None:
    """Record a change, then make it: a driver killed in between leaves the record of a change that was not made."""
    values = {"setting": setting, "own": own, "ours": ours}
    # A server that takes no writes gets the table from its primary.
    if not is_on(connection, "read_only"):
        query(connection, statement("global_settings", "create", borrowed=names.name_borrowed()))
    with on_this_server(connection):
        query(connection, statement("global_settings", "record", borrowed=names.name_borrowed()), values)
    try:
        _set(connection, setting, ours)
    except pymysql.Error:
        _forget(connection, names, setting)
        raise


def _lock(connection: Connection, patience_s: float) -> bool:
    return bool(query(connection, statement("facts", "lock"), {"lock": _LOCK, "patience": patience_s})[0]["held"])


def _locked(holder: object) -> SlobError:
    why = f"another run has changed settings of the whole server (connection {holder})"
    return SlobError(why, "wait for it to end")


def _holders(connection: Connection) -> Row:
    return query(connection, statement("global_settings", "holder"), {"lock": _LOCK})[0]


def _read_recorded(connection: Connection, names: MysqlNames) -> list[LeftoverSetting]:
    with ignoring(*_MISSING), on_this_server(connection):
        rows = query(connection, statement("global_settings", "recorded", borrowed=names.name_borrowed()))
        return [LeftoverSetting(row["setting"], row["own"], row["ours"]) for row in rows]
    return []


def _forget(connection: Connection, names: MysqlNames, setting: str) -> None:
    with on_this_server(connection):
        query(connection, statement("global_settings", "forget", borrowed=names.name_borrowed()), {"setting": setting})


def _value(connection: Connection, setting: str) -> float:
    return float(query(connection, statement("global_settings", "value", setting=setting))[0]["value"])


def _set(connection: Connection, setting: str, value: float) -> None:
    # An integer setting refuses even 1.0.
    number = int(value) if value == int(value) else value
    query(connection, statement("global_settings", "change", setting=setting), {"value": number})
