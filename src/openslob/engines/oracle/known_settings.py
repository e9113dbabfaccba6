"""The parameters that a session can change, and its values as it has them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

import oracledb

from openslob.core.errors import SlobError, UsageError
from openslob.engines.oracle.connection import Connection, query, statement
from openslob.engines.oracle.errors import explain_error
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.settings import Effect, ServerSetting, SettingChange, not_known, not_of_sessions, not_taken

_YES = "TRUE"
_PARAMETERS = {"commit_wait": ("commit_mode", "engine"), "commit_logging": ("commit_mode", "engine")}
# Names and numbers stand for themselves in ALTER SESSION, all else is a text.
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?|TRUE|FALSE", re.IGNORECASE)
_NAME = re.compile(r"[a-z_][a-z0-9_$#]*")


class SessionParameters:
    """The parameters that sessions may change. Implements `openslob.engines.settings.KnownSettings`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        rows = Survey(connection).rows("every_parameter")
        if rows is None:
            why = "this user may not see V$PARAMETER, so that nobody could tell whether a setting took effect"
            raise SlobError(why, "GRANT SELECT ON V_$PARAMETER TO the user")
        self._rows = {str(row["name"]): row for row in rows}
        self._product = f"Oracle Database {'.'.join(map(str, connection.version))}"

    def find(self, name: str) -> ServerSetting:
        """Return a parameter. UsageError for one that a session can't change."""
        row = self._rows.get(name.lower())
        if row is None:
            raise not_known(self._product, name, difflib.get_close_matches(name.lower(), self._rows, 2))
        if str(row["isses_modifiable"]).upper() != _YES:
            raise not_of_sessions(str(row["name"]), ": it is a parameter of the instance")
        own = str(row["name"])
        return ServerSetting(own, Effect.SESSION, (), str(row["display_value"] or ""), _PARAMETERS.get(own))

    def require(self, setting: ServerSetting, value: str) -> None:
        try:
            set_in_session(self._connection, setting.name, value)
        except oracledb.Error as error:
            raise UsageError(f"the server refuses {setting.name}={value}: {explain_error(error)}") from error


def set_in_session(connection: Connection, name: str, value: str) -> str:
    """Set a parameter of this session, and return its value then."""
    if not _NAME.fullmatch(name.lower()):
        raise UsageError(f"{name!r} is not the name of a parameter", "letters, digits, _, $ and #")
    literal = value if _PLAIN.fullmatch(value) else "'" + value.replace("'", "''") + "'"
    query(connection, statement("session", "set", parameter=name, value=literal))
    return read_in_session(connection, name)


def read_as_set(connection: Connection, changes: Sequence[SettingChange], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of parameters in this session; ``values`` are those that it set. SlobError for others."""
    found = {change.name: read_in_session(connection, change.name) for change in changes}
    for change in changes:
        if found[change.name] != values.get(change.name):
            raise not_taken(change, found[change.name])
    return found


def read_in_session(connection: Connection, name: str) -> str:
    """Return the value of a parameter in this session, as the server writes it; empty if this user may not see it."""
    rows = query(connection, statement("session", "shown"), {"name": name.lower()})
    return str(rows[0]["display_value"] or "") if rows else ""
