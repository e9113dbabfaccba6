"""The file slob.toml: settings of commands, of managed servers and of workloads, and profiles of all three.

Settings of commands (`COMMAND_KEYS`) and parameters are at the top level, parameters also in ``[workload]``, classes of
sessions in ``[classes.NAME]`` of either, settings of servers in ``[server]``. A profile ``[profiles.NAME]`` has the
same keys and tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openslob.config.layers import Layer, known_layer, nearest
from openslob.config.parameters import ENVIRONMENT_PREFIX, Setting, format_value
from openslob.core.errors import UsageError
from openslob.core.toml import parse_toml
from openslob.core.workload import CLASSES

WORKLOAD, SERVER, PROFILES = "workload", "server", "profiles"
COMMAND_KEYS = ("target", "results", "name", "engine", "consent", "host", "direct")
# The options of `slob server start` that a file may give.
SERVER_KEYS = (
    *("version", "bin_dir", "data_dir", "block_size", "cache"),
    *("log_size", "io", "cpus", "max_sessions", "huge_pages", "table_engine"),
)
# Keys whose value is a path. It is relative to the file that it is in.
_PATHS = frozenset({"results", "bin_dir", "data_dir"})


@dataclass(frozen=True)
class ConfigSection:
    """What a file or a profile in it gives: settings by the environment variable that does the same, and parameters.

    ``notices`` are for the user.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    workload: Layer = field(default_factory=dict)
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlobToml:
    """A file's own section, and those of its profiles by name."""

    section: ConfigSection
    profiles: Mapping[str, ConfigSection]


def variable_of(key: str, prefix: str = "") -> str:
    """Return the environment variable that gives the same as a key of the file; ``prefix`` is the table."""
    return ENVIRONMENT_PREFIX + (f"{prefix}_" if prefix else "").upper() + key.upper()


def setting_variables() -> list[str]:
    """Return the environment variables of all settings that are no parameters of a workload."""
    return [*map(variable_of, COMMAND_KEYS), *(variable_of(key, SERVER) for key in SERVER_KEYS)]


def read_toml(text: str, origin: str, folder: Path = Path()) -> SlobToml:
    """Read a file's text. UsageError names ``origin`` and the line or key; ``folder`` is that of the file."""
    try:
        content = parse_toml(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise UsageError(f"{origin}: {error}") from None
    return _Reader(text, origin, folder).read(content)


@dataclass(frozen=True)
class _Reader:
    text: str
    origin: str
    folder: Path

    def read(self, content: dict[str, Any]) -> SlobToml:
        profiles = self._table(content, PROFILES, ())
        tables = {name: self._table(profiles, name, (PROFILES,)) for name in list(profiles)}
        sections = {name: self._section(table, (PROFILES, name)) for name, table in tables.items()}
        return SlobToml(self._section(content, ()), sections)

    def _section(self, content: dict[str, Any], path: tuple[str, ...]) -> ConfigSection:
        workload, server = (self._table(content, name, path) for name in (WORKLOAD, SERVER))
        commands = {key: content.pop(key) for key in list(content) if key.lower() in COMMAND_KEYS}
        settings = {**self._commands(commands, path), **self._server(server, (*path, SERVER))}
        notices: list[str] = []
        parameters = [*self._settings(content, path), *self._settings(workload, (*path, WORKLOAD))]
        also_known = COMMAND_KEYS if path else (*COMMAND_KEYS, WORKLOAD, SERVER, PROFILES)
        return ConfigSection(settings, known_layer(parameters, notices, also_known), tuple(notices))

    def _table(self, content: dict[str, Any], name: str, path: tuple[str, ...]) -> dict[str, Any]:
        table = content.pop(name, {})
        if isinstance(table, dict):
            return table
        header = ".".join((*path, name))
        raise UsageError(f"{self.origin}: {header} must be a table", f"write [{header}] on a line of its own")

    def _commands(self, table: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Setting]:
        return {variable_of(one.key): self._locate(one) for one in self._settings(table, path)}

    def _server(self, table: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Setting]:
        settings = {}
        for one in self._settings(table, path):
            key = one.key.lower().replace("-", "_")
            if key not in SERVER_KEYS:
                near = nearest(key, SERVER_KEYS)
                known = f"did you mean {near}?" if near else f"there are {', '.join(SERVER_KEYS)}"
                raise UsageError(f"{one.where}: {one.key} is not a setting of servers", known)
            settings[variable_of(key, SERVER)] = self._locate(Setting(key, one.value, one.where))
        return settings

    def _locate(self, setting: Setting) -> Setting:
        """Return a setting with its path relative to the working directory; others as they are."""
        if setting.key.lower() not in _PATHS or not setting.value:
            return setting
        return Setting(setting.key, str(self.folder / Path(setting.value).expanduser()), setting.where)

    def _settings(self, table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Setting]:
        for key, value in table.items():
            where = f"{self.origin}:{self._line_of(key, path)}"
            is_table = isinstance(value, dict) and key.lower() == CLASSES
            if not (is_table or isinstance(value, (str, int, float))):
                raise UsageError(f"{where}: {key} is not a number, a string, true or false")
            try:
                yield Setting(key, format_value(value) if is_table or isinstance(value, bool) else str(value), where)
            except ValueError as error:
                raise UsageError(f"{where}: {error}") from None

    def _line_of(self, key: str, path: tuple[str, ...]) -> int:
        """Return the line on which a key or table begins, at or below its table's header; tomllib does not keep it."""
        names = r"[ \t]*\.[ \t]*".join(rf"""["']?{re.escape(name)}["']?""" for name in path)
        header = re.search(rf"^[ \t]*\[[ \t]*{names}[ \t]*\]", self.text, re.MULTILINE) if path else None
        own = re.compile(rf"""^[ \t]*(\[[ \t]*)?["']?{re.escape(key)}["']?[ \t]*[=.\]]""", re.MULTILINE)
        found = own.search(self.text, header.end() if header else 0) or header
        return self.text.count("\n", 0, found.start(0)) + 1 if found else 1
