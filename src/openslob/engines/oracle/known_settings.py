"""The parameters that a session can change: those that a user asks for, and those that the work loop needs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

import oracledb

from openslob.core.errors import SlobError, UsageError
from openslob.core.workload import CommitMode, Workload
from openslob.engines.facts import Finding
from openslob.engines.oracle.connection import Connection, query, query_if_visible, statement
from openslob.engines.oracle.errors import explain_error, find_codes, is_refused
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.versions import ADAPTIVE_PLANS, IGNORE_HINTS
from openslob.engines.settings import Effect, ServerSetting, SettingChange, not_known, not_of_sessions, not_taken

_YES = "TRUE"
_PARAMETERS = {"commit_wait": ("commit_mode", "engine"), "commit_logging": ("commit_mode", "engine")}
# Names and numbers stand for themselves in ALTER SESSION, all else is a text.
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?|TRUE|FALSE", re.IGNORECASE)
_NAME = re.compile(r"[a-z_][a-z0-9_$#]*")
_COMMIT_SETTING = {CommitMode.WAIT: "commit_wait", CommitMode.NOWAIT: "commit_nowait"}
# Of the session that makes the procedure.
OF_PROCEDURE = ("native", "optimize_level")
_PLANS = "a run checks its plans all the same"
_COMMITS = "COMMIT WRITE in the work loop says the same, and the verdict commits_waited what commits did"
# Statements of session.sql that a run can do without, and what the server's refusal means for it: whether it may change
# the figures, and why. A changed plan would end the run, and COMMIT_WAIT has a verdict of its own.
_DISPENSABLE: Mapping[str, tuple[bool, str]] = {
    **dict.fromkeys(("plan", "hints", "adaptive_plans", "dynamic_sampling"), (False, _PLANS)),
    **dict.fromkeys(_COMMIT_SETTING.values(), (False, _COMMITS)),
    "native": (True, "the work loop is interpreted, so an operation takes more CPU"),
    "optimize_level": (True, "the work loop is optimized less, so an operation may take more CPU"),
}
_COMPARE, _NOTHING = "take it into account when you compare servers", "nothing has to be done"
_ALTERED = re.compile(r"ALTER SESSION (?:SET (\w+) = '?(\w+)'?|DISABLE (PARALLEL QUERY))")


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
        raise UsageError(f"{name!r} is not the name of a parameter", "use letters, digits, _, $ and #")
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


def list_settings(version: Sequence[int], commit_mode: CommitMode) -> Iterator[str]:
    """Yield the names of what a session of the work loop sets for itself (session.sql), on a server of this version."""
    yield from ("clock", "numbers", "plan", "dynamic_sampling")
    if tuple(version) >= IGNORE_HINTS:
        yield "hints"
    if tuple(version) >= ADAPTIVE_PLANS:
        yield "adaptive_plans"
    if commit_mode in _COMMIT_SETTING:
        yield _COMMIT_SETTING[commit_mode]


def apply_setting(connection: Connection, name: str) -> str:
    """Execute a statement of session.sql; return how the server refused what a run can do without, else nothing."""
    if name in _DISPENSABLE:
        return alter_if_allowed(connection, statement("session", name))
    query(connection, statement("session", name))
    return ""


def alter_if_allowed(connection: Connection, text: str) -> str:
    """Execute an ALTER SESSION; return how the server refused it, else nothing."""
    try:
        query(connection, text)
    except oracledb.DatabaseError as error:
        if not is_refused(error):
            raise
        return find_codes(error)[0]
    return ""


def find_refused(connection: Connection, workload: Workload) -> Iterator[Finding]:
    """Yield what the server refuses of the settings that the work loop's sessions give themselves, by trying each.

    A service may refuse a setting with an error, or take it and leave the value as it is. One that has the wanted value
    anyhow is not missed.
    """
    mode = workload.commit_mode if workload.writes else CommitMode.ENGINE
    for name in (*list_settings(connection.version, mode), *OF_PROCEDURE):
        if name not in _DISPENSABLE:
            continue
        why, (parameter, value) = apply_setting(connection, name), _parse_alteration(name)
        shown = query_if_visible(connection, statement("session", "shown"), {"name": parameter.lower()})
        has = str(shown[0]["display_value"] or "") if shown else None
        if has is not None and has.upper() != value:
            why = why or f"it stays {has or 'unset'}, without an error"
        elif has is not None:
            why = ""
        if why:
            spoils, effect = _DISPENSABLE[name]
            what = f"{parameter} = {value} is refused to sessions ({why}): {effect}"
            yield Finding(parameter, what, _COMPARE if spoils else _NOTHING, False, spoils, refused=True)


def _parse_alteration(name: str) -> tuple[str, str]:
    """Return the parameter that a statement of session.sql sets, and the value."""
    found = _ALTERED.match(statement("session", name))
    assert found, name
    return (found[1], found[2]) if found[1] else (found[3], "DISABLED")
