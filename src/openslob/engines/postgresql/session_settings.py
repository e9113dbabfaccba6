"""Settings that sessions of PostgreSQL change: all that slob changes on a server that it does not manage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from openslob.core.errors import UsageError
from openslob.engines.postgresql import PACKAGE
from openslob.engines.postgresql.errors import explain_error
from openslob.engines.postgresql.known_settings import EFFECTS, PRODUCT, PostgresCatalogue
from openslob.engines.settings import Effect, ServerSetting, SettingChange, not_of_sessions, not_taken
from openslob.engines.sql import read_statements

# What comes after the configuration file, by pg_settings.source, and the file of ALTER SYSTEM.
_AFTER_FILE = frozenset({"command line", "global", "database", "user", "database user", "client", "session"})
_BY_STATEMENT = "postgresql.auto.conf"


class PostgresSessionSettings:
    """The settings that sessions may change. Implements `openslob.engines.settings.KnownSettings`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        version = connection.info.parameter_status("server_version") or ""
        rows = connection.execute(read_statements(PACKAGE, "catalogue")["settings"]).fetchall()
        self._catalogue = PostgresCatalogue(f"{PRODUCT} {version.split()[0]}", rows)

    def find(self, name: str) -> ServerSetting:
        row = self._catalogue.row(name)
        if EFFECTS.get(row.context) is not Effect.SESSION:
            raise not_of_sessions(row.name, f" (its context is {row.context})")
        return self._catalogue.setting(row, Effect.SESSION)

    def require(self, setting: ServerSetting, value: str) -> None:
        """Set the value in this session, and reset it. UsageError if the server refuses."""
        name = sql.Identifier(*setting.name.split("."))
        try:
            set_in_session(self._connection, setting.name, value)
            self._connection.execute(sql.SQL("RESET {}").format(name))
        except psycopg.Error as error:
            why = explain_error(error)
            raise UsageError(f"the server refuses {setting.name}={value}: {why}") from error


def set_in_session(connection: psycopg.Connection[Any], name: str, value: str) -> str:
    """Set a setting in this session, and return its value as the server writes it."""
    text = read_statements(PACKAGE, "catalogue")["set"]
    rows = connection.execute(text, {"name": name, "value": value}).fetchall()
    return str(rows[0][0])


def read_shown(
    connection: psycopg.Connection[Any], changes: Sequence[SettingChange], values: Mapping[str, str]
) -> dict[str, str]:
    """Return the values of settings in this session; ``values`` are those that it set. SlobError for another value."""
    text = read_statements(PACKAGE, "catalogue")["shown"]
    rows = {row[0]: row[1:] for row in connection.execute(text, {"names": [change.name for change in changes]})}
    for change in changes:
        value, source, file = rows.get(change.name, (None, "", ""))
        taken = {
            Effect.SESSION: value == values.get(change.name),
            Effect.RESTART: source not in _AFTER_FILE and not str(file or "").endswith(_BY_STATEMENT),
            Effect.NEW_SERVER: value == change.value,
        }
        if not taken[change.effect]:
            raise not_taken(change, value)
    return {name: row[0] for name, row in rows.items()}
