"""The configuration files: slob.toml, and slob.conf and pgio.conf with their own keys translated."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openslob.config.parameters import Setting, shown
from openslob.errors import UsageError

TABLE = "workload"


def read_toml(text: str, origin: str) -> list[Setting]:
    """Return the settings of a file. UsageError names ``origin`` and the line or key."""
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin}: {error}") from None
    table = content.pop(TABLE, {})
    if not isinstance(table, dict):
        raise UsageError(f"{origin}: {TABLE} is a table", f"write [{TABLE}] on a line of its own")
    return [*_settings(content, text, origin), *_settings(table, text, origin)]


def _settings(table: Mapping[str, Any], text: str, origin: str) -> Iterator[Setting]:
    for key, value in table.items():
        where = f"{origin}:{_line_of(key, text)}"
        if not isinstance(value, (str, int, float)):
            raise UsageError(f"{where}: {key} is not a number, a string, true or false")
        yield Setting(key, shown(value) if isinstance(value, bool) else str(value), where)


def _line_of(key: str, text: str) -> int:
    """Return the line on which a key or table begins; tomllib does not keep it."""
    found = re.search(rf"""^[ \t]*(\[[ \t]*)?["']?{re.escape(key)}["']?[ \t]*[=.\]]""", text, re.MULTILINE)
    return text.count("\n", 0, found.start(0)) + 1 if found else 1


PGIO_KEYS = frozenset({"NUM_SCHEMAS", "NUM_THREADS", "DBNAME", "CONNECT_STRING", "CREATE_BASE_TABLE"})

# Key -> the parameter with the same meaning.
ALIASES = {"NUM_SCHEMAS": "SCHEMAS", "NUM_THREADS": "THREADS_PER_SCHEMA", "THINK_TM_MODULUS": "THINK_TM_FREQUENCY"}

_TARGET = "the server is given by --target"
IGNORED = {
    "DATABASE_STATISTICS_TYPE": "the engine's own counters are read, no AWR or Statspack snapshot is taken",
    "ADMIN_SQLNET_SERVICE": _TARGET,
    "SQLNET_SERVICE_BASE": _TARGET,
    "SQLNET_SERVICE_MAX": _TARGET,
    "DBA_PRIV_USER": _TARGET,
    "DBNAME": _TARGET,
    "CONNECT_STRING": _TARGET,
    "EXTERNAL_SCRIPT": "no script is run before or after a test",
    "CREATE_BASE_TABLE": "a load makes its tables without a base table",
    "BLOCK_SZ": "the server is asked for its block size",
    "NO_OS_PERF_DATA": "the operating system's figures are always taken",
    "HOTSPOT_PCT": "it belongs to DO_UPDATE_HOTSPOT, which is off",
}

# Keys that are not parameters here but change the workload if they are on: the value for off, and what to use.
UNSUPPORTED = {
    "DO_UPDATE_HOTSPOT": ("FALSE", "use DO_HOTSPOT, HOTSPOT_MB, HOTSPOT_OFFSET_MB and HOTSPOT_FREQUENCY"),
    "SHARED_DATA_MODULUS": ("0", "use HOT_SCHEMA_FREQUENCY"),
}

_PASSWORD = re.compile(r"PASSW|PWD|SECRET|TOKEN", re.IGNORECASE)


def translate(settings: Sequence[Setting]) -> tuple[list[Setting], list[str]]:
    """Return the settings of parameters, and a notice for each other key and each difference in meaning.

    Raises:
        UsageError: A key would change the workload in a way that is not supported.

    """
    kept: list[Setting] = []
    notices: list[str] = []
    for setting in settings:
        key = setting.key.upper()
        if reason := _ignored_because(key, setting):
            if setting.value:
                notices.append(f"{setting.where}: {setting.key} is not used: {reason}")
        else:
            kept.append(setting)
    return kept, [*notices, *_differences({setting.key.upper(): setting for setting in settings})]


def _ignored_because(key: str, setting: Setting) -> str:
    if _PASSWORD.search(key):
        return "passwords are not taken from here"
    if key in UNSUPPORTED:
        off, instead = UNSUPPORTED[key]
        if setting.value.upper() not in (off, ""):
            raise UsageError(f"{setting.where}: {setting.key} is not supported unless it is {off}", instead)
        return "it is off"
    return IGNORED.get(key, "")


def _differences(given: dict[str, Setting]) -> Iterator[str]:
    """Yield the differences between what a key does here and what it does there."""
    is_pgio = not PGIO_KEYS.isdisjoint(given)
    tool, more = ("pgio", 1) if is_pgio else ("SLOB", -1)
    for key in ("WORK_UNIT", "UPDATE_WORK_UNIT"):
        if key in given and (rows := given[key].value).isdecimal():
            yield f"{given[key].where}: {key}={rows} visits {rows} rows here; {tool} visits {int(rows) + more}"
    if is_pgio and "UPDATE_PCT" in given and given["UPDATE_PCT"].value not in ("0", ""):
        yield f"{given['UPDATE_PCT'].where}: each update commits here; pgio runs a whole test as one transaction"
    if "NUM_THREADS" in given:
        yield f"{given['NUM_THREADS'].where}: NUM_THREADS is sessions per schema here; loading has LOAD_PARALLEL_DEGREE"
