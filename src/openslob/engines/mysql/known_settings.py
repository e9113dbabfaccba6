"""The server's settings: which there are, how each takes effect, and whether the server takes a value.

A managed server is not asked itself, as it may be down, or not be there yet: an empty one is made of the same programs,
which starts with each value, reads statements from its input instead of serving clients, and is removed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pymysql
from pymysql.constants import ER

from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.engines.managed.account import ServerAccount
from openslob.engines.mysql import server_config as config
from openslob.engines.mysql.binaries import MariaPrograms
from openslob.engines.mysql.connection import Connection, query, statement
from openslob.engines.mysql.errors import explain_error, ignoring
from openslob.engines.mysql.names import quote
from openslob.engines.settings import Effect, ServerSetting, SettingChange, not_known, not_of_sessions, not_taken

_SWITCH = ("ON", "OFF")
_TRUE, _FALSE = frozenset({"ON", "TRUE", "1"}), frozenset({"OFF", "FALSE", "0"})
_SUFFIXES = {sign: 1 << 10 * power for power, sign in enumerate("KMGTPE", start=1)}
# The catalogue says that they can be changed: that is so for the tables made from then on.
_MADE_WITH = frozenset(
    {"innodb_checksum_algorithm", "innodb_data_file_path", "innodb_default_row_format", "innodb_encrypt_tables"}
    | {"innodb_file_per_table", "innodb_fill_factor", "innodb_undo_tablespaces", "lower_case_table_names"}
)
# Settings that slob makes of something else, with that.
_OURS = {
    "innodb_buffer_pool_size": "--cache",
    "innodb_page_size": "--block-size",
    "large_pages": "--huge-pages",
    "rocksdb_block_cache_size": "--cache",
    "rocksdb_block_size": "--block-size",
    "default_storage_engine": "--table-engine",
    "max_connections": "slob server start --max-sessions",
}
_PARAMETERS = {"innodb_flush_log_at_trx_commit": ("commit_mode", "engine")}
TRIAL_S = 60.0
_SMALL = {"innodb_buffer_pool_size": f"{24 * MIB}", "innodb_log_file_size": f"{4 * MIB}"}
# The empty server, which serves nobody, has others in the place of the defaults.
_DEFAULTS = {
    "max_relay_log_size": "1073741824",
    "report_port": "0",
    "skip_grant_tables": "OFF",
    "thread_handling": "one-thread-per-connection",
}
_DUMP = "settings.tsv"
_NULL = r"\N"


@dataclass(frozen=True)
class Variable:
    """A row of information_schema.SYSTEM_VARIABLES."""

    name: str
    scope: str
    read_only: bool
    type: str
    choices: tuple[str, ...]
    value: str
    is_option: bool

    @property
    def of_session(self) -> bool:
        """Whether a session can change it for itself."""
        return self.scope.startswith("SESSION") and not self.read_only

    def setting(self, effect: Effect) -> ServerSetting:
        choices = _SWITCH if self.type == "BOOLEAN" else self.choices if self.type == "ENUM" else ()
        return ServerSetting(self.name, effect, choices, self.value, _PARAMETERS.get(self.name))

    def is_shown(self, asked: str, read_shown: str) -> bool:
        """Return whether the server has what was asked for, which it may write in another way."""
        if self.type == "BOOLEAN":
            return any(asked.upper() in same and read_shown.upper() in same for same in (_TRUE, _FALSE))
        if self.type == "ENUM":
            numbered = self.choices[int(asked)] if asked.isdecimal() and int(asked) < len(self.choices) else asked
            return numbered.upper() == read_shown.upper()
        wanted, found = number(asked), number(read_shown)
        if wanted is not None and found is not None:
            return wanted == found
        # Lists of flags are completed by the server.
        return self.type not in ("VARCHAR",) or asked == read_shown


def number(text: str) -> float | None:
    """Return the number in a text as the server takes it, such as 16M; None for other texts."""
    factor = _SUFFIXES.get(text[-1:].upper(), 1)
    try:
        return float(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        return None


def variable(row: Sequence[object]) -> Variable:
    """Return a row of the catalogue's query."""
    name, scope, read_only, kind, choices, value, argument = (_text(cell) for cell in row)
    listed = tuple(choices.split(",")) if choices else ()
    return Variable(name.lower(), scope, read_only == "YES", kind, listed, value, bool(argument))


def _text(value: object) -> str:
    return "" if value is None or value == _NULL else str(value)


class MysqlCatalogue:
    """The variables of a server by name."""

    def __init__(self, product: str, variables: Sequence[Variable]) -> None:
        self.product = product
        self.variables = {known.name: known for known in variables}

    def variable(self, name: str) -> Variable:
        """Return a variable. UsageError when there is none of this name."""
        found = self.variables.get(name.lower().replace("-", "_"))
        if found is None:
            raise not_known(self.product, name, difflib.get_close_matches(name.lower(), self.variables, 2))
        return found


class ManagedMariaSettings:
    """The settings of a managed server. Implements `openslob.engines.settings.KnownSettings`."""

    def __init__(self, programs: MariaPrograms, account: ServerAccount, place: Path, ours: Mapping[str, str]) -> None:
        self._programs, self._account, self._place = programs, account, place
        self._own = {name: value for name, value in ours.items() if name not in config.ACCESS} | _SMALL
        self._own["large_pages"] = "OFF"
        self._tried = 0
        # What is so here only is shown as the server has it.
        meant = {**_DEFAULTS, **{name: value for name, value in ours.items() if name in {*_SMALL, *_DEFAULTS}}}
        found = [replace(known, value=meant.get(known.name, known.value)) for known in self._ask("data", {})]
        self._catalogue = MysqlCatalogue(f"MariaDB {programs.version()}", found)

    def find(self, name: str) -> ServerSetting:
        found = self._catalogue.variable(name)
        if found.name in _OURS:
            raise UsageError(f"slob sets {found.name} of its servers itself", f"use {_OURS[found.name]}")
        if found.name in config.ACCESS:
            raise UsageError(f"slob reaches its servers by {found.name}", "leave it as it is")
        if found.name in _MADE_WITH:
            return found.setting(Effect.NEW_SERVER)
        if found.of_session:
            return found.setting(Effect.SESSION)
        if not found.is_option:
            raise UsageError(f"{found.name} of {self._catalogue.product} can't be changed", "leave it out")
        return found.setting(Effect.RESTART)

    def require(self, setting: ServerSetting, value: str) -> None:
        """Start the empty server with the value. UsageError if it refuses, or has another value then."""
        known = self._catalogue.variable(setting.name)
        if not known.is_option:
            return  # of sessions alone: each of them tries it
        self._tried += 1
        # What data were made with one value says nothing of another one.
        place = f"data-{self._tried}" if setting.effect is Effect.NEW_SERVER else "data"
        refused = f"{self._catalogue.product} refuses {setting.name}={value}"
        try:
            asked = MysqlCatalogue(self._catalogue.product, self._ask(place, {setting.name: value}))
        except SlobError as error:
            raise UsageError(f"{refused}: {error.what}") from error
        found = asked.variable(setting.name).value
        if not known.is_shown(value, found):
            raise UsageError(f"{refused}: it takes {found} instead", _list_allowed(setting))

    def _ask(self, name: str, settings: Mapping[str, str]) -> list[Variable]:
        """Return the variables of a server with these settings. SlobError with its complaint if it does not start."""
        data = self._place / name
        self._account.make_private(data)
        (data / _DUMP).unlink(missing_ok=True)
        values = {**self._own, **settings}
        options = [f"--{option}={value}" if value else f"--{option}" for option, value in values.items()]
        command: list[str | Path] = [
            self._programs.server,
            "--no-defaults",
            "--bootstrap",
            f"--datadir={data}",
            f"--tmpdir={data}",
        ]
        text = f"{statement('catalogue', 'settings')} {statement('catalogue', 'to_file')}"
        done = self._account.run([*command, *options], " ".join(text.split()) + ";\n", timeout=TRIAL_S)
        if done.returncode or not (data / _DUMP).exists():
            raise SlobError(_complaint(done.stderr, settings))
        rows = (data / _DUMP).read_text(encoding="utf-8", errors="replace").splitlines()
        return [variable(row.split("\t")) for row in rows if row.count("\t") == len(Variable.__annotations__) - 1]


def _complaint(said: str, settings: Iterable[str]) -> str:
    """Return what the program complained of: the line that names one of the settings, else the last one."""
    lines = [line for line in said.splitlines() if any(name in line.replace("-", "_") for name in settings)]
    text = config.COMPLAINTS.find_last("\n".join(lines) or said) or "it gave no reason"
    return re.sub(r"^(\S*mariadbd|\S*mysqld): ", "", text)


def _list_allowed(setting: ServerSetting) -> str:
    return f"it takes {', '.join(setting.choices)}" if setting.choices else "give a value in its range"


class MysqlSessionSettings:
    """The settings that sessions may change. Implements `openslob.engines.settings.KnownSettings`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        version = str(query(connection, "SELECT @@version AS version")[0]["version"])
        product = f"{'MariaDB' if 'MariaDB' in version else 'MySQL'} {version.partition('-')[0]}"
        self._catalogue = MysqlCatalogue(product, _variables(connection))

    def find(self, name: str) -> ServerSetting:
        found = self._catalogue.variable(name)
        if not (found.of_session and self._has_its_own(found.name)):
            raise not_of_sessions(found.name, ": it is a setting of the whole server")
        return found.setting(Effect.SESSION)

    def _has_its_own(self, name: str) -> bool:
        """Return whether each session has a value of its own: MySQL's catalogue does not say."""
        with ignoring(ER.INCORRECT_GLOBAL_LOCAL_VAR):
            query(self._connection, statement("catalogue", "own", setting=quote(name)))
            return True
        return False

    def require(self, setting: ServerSetting, value: str) -> None:
        """Set the value in this session. UsageError if the server refuses, or makes another one of it."""
        known, refused = self._catalogue.variable(setting.name), f"the server refuses {setting.name}={value}"
        try:
            found = set_in_session(self._connection, setting.name, value)
        except pymysql.Error as error:
            raise UsageError(f"{refused}: {explain_error(error)}", _list_allowed(setting)) from error
        if not known.is_shown(value, found):
            raise UsageError(f"{refused}: it takes {found} instead", _list_allowed(setting))


def _variables(connection: Connection) -> list[Variable]:
    with ignoring(ER.UNKNOWN_TABLE, ER.NO_SUCH_TABLE):
        return [variable(list(row.values())) for row in query(connection, statement("catalogue", "settings"))]
    # Which of them a session may change the server says when it is tried.
    rows = query(connection, statement("catalogue", "of_sessions"))
    return [Variable(row["Variable_name"].lower(), "SESSION", False, "", (), str(row["Value"]), False) for row in rows]


def set_in_session(connection: Connection, name: str, value: str) -> str:
    """Set a variable of this session, and return its value then. pymysql.Error when the server refuses."""
    exact = number(value)
    bound: object = value if exact is None else int(exact) if exact == int(exact) else exact
    query(connection, statement("catalogue", "set", setting=f"`{name}`"), {"value": bound})
    return _value(connection, "of_session", name) or ""


def read_shown(connection: Connection, changes: Sequence[SettingChange], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of settings in this session; ``values`` are those that it set. SlobError for another value."""
    of_server = any(change.effect is not Effect.SESSION for change in changes)
    known = MysqlCatalogue("", _variables(connection)) if of_server else None
    found = {}
    for change in changes:
        value = _value(connection, "of_session" if change.effect is Effect.SESSION else "of_server", change.name)
        same = value is not None and (
            value == values.get(change.name)
            if known is None or change.effect is Effect.SESSION
            else known.variable(change.name).is_shown(change.value, value)
        )
        if value is None or not same:
            raise not_taken(change, value)
        found[change.name] = value
    return found


def _value(connection: Connection, scope: str, name: str) -> str | None:
    rows = query(connection, statement("catalogue", scope), {"setting": name})
    return str(rows[0]["Value"]) if rows else None
