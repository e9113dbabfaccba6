r"""The configuration files slob.conf and pgio.conf, whose own keys are translated.

slob.conf and pgio.conf are files of shell assignments. They are read without a shell, so nothing is executed.
The syntax is ``KEY=value`` (also with ``export``), several on a line, both kinds of quotes, ``\``, comments, and
``$KEY``, ``${KEY}``, ``${KEY:-default}``. Anything else that needs a shell is an error that names the line.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from openslob.config.parameters import Setting
from openslob.core.errors import UsageError

PGIO_KEYS = frozenset({"NUM_SCHEMAS", "NUM_THREADS", "DBNAME", "CONNECT_STRING", "CREATE_BASE_TABLE"})
# Key -> the parameter with the same meaning.
ALIASES = {"NUM_SCHEMAS": "SCHEMAS", "NUM_THREADS": "THREADS_PER_SCHEMA", "THINK_TM_MODULUS": "THINK_TM_FREQUENCY"}
_TARGET = "the server is given by --target"
IGNORED = {
    "DBA_PRIV_USER": "no administrator is needed",
    "DBNAME": _TARGET,
    "CONNECT_STRING": _TARGET,
    "CREATE_BASE_TABLE": "a load makes its tables without a base table",
    "BLOCK_SZ": "the server is asked for its block size",
    "NO_OS_PERF_DATA": "the operating system's figures are always taken",
    "HOTSPOT_PCT": "it belongs to DO_UPDATE_HOTSPOT, which is off",
}
# Services of the client's tnsnames.ora: of loads, checks and counters, and of sessions, which go to BASE, or in turn to
# BASE1 to BASEn. The tool that the file was written for makes users of its own; here one user owns all tables.
_ADMIN, _BASE, _MAX = SERVICES = ("ADMIN_SQLNET_SERVICE", "SQLNET_SERVICE_BASE", "SQLNET_SERVICE_MAX")
# The scheme of the engine whose client reads tnsnames.ora.
_SERVICE_URL = "sqlnet://slob@/{}"
_MOST_SERVICES = 64
# A program that is run before and after a run.
EXTERNAL_SCRIPT = "EXTERNAL_SCRIPT"
# Keys that are not parameters here but change the workload if they are on: the value for off, and what to use.
UNSUPPORTED = {
    "DO_UPDATE_HOTSPOT": ("FALSE", "use DO_HOTSPOT, HOTSPOT_MB, HOTSPOT_OFFSET_MB and HOTSPOT_FREQUENCY"),
    "SHARED_DATA_MODULUS": ("0", "use HOT_SCHEMA_FREQUENCY"),
}
# A value may name another one several times, and so on: it would double with each line.
_MOST_SIGNS, _MOST_SIGNS_OF_A_VALUE = 100_000, 2_000
_PASSWORD = re.compile(r"PASSW|PWD|SECRET|TOKEN", re.IGNORECASE)
# The standard library's shlex forgets which quotes stood around a `$` and ends a word at any `#`, so that it would
# read a#b as a. A word is a run of these pieces:
_PIECE = re.compile(
    r"""'(?P<single>[^']*)'
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | \\(?P<escaped>.)
      | (?P<variable>\$(?:\w+|\{[^}]*\}))
      | (?P<plain>[^\s;'"\\$`|&<>()]+)""",
    re.VERBOSE | re.DOTALL,
)
_BETWEEN = re.compile(r"(?P<blank>[ \t]+|\\\n)|(?P<end>[\n;])|(?P<comment>\#[^\n]*)")
_IN_DOUBLE = re.compile(r'\\(?P<escaped>[$`"\\\n])|(?P<variable>\$(?:\w+|\{[^}]*\}))|(?P<shell>`|\$)')
_VARIABLE = re.compile(
    r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<empty>:?)[-=](?P<default>.*))?\})", re.DOTALL
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NAME = re.compile(r"[A-Za-z_]\w*")
# Only these are repeated in an error: any other word of a command might be a password.
_COMMANDS = frozenset(
    {".", ":", "[", "[[", "case", "declare", "echo", "for", "function", "if", "readonly", "set", "source"}
)


def translate(settings: Sequence[Setting]) -> tuple[list[Setting], list[str]]:
    """Return the settings of parameters, and a notice for each other key and each difference in meaning.

    Raises:
        UsageError: A key would change the workload in a way that is not supported.

    """
    kept: list[Setting] = []
    notices: list[str] = []
    for setting in settings:
        key = setting.key.upper()
        if reason := _explain_ignored(key, setting):
            if setting.value:
                notices.append(f"{setting.where}: {setting.key} is not used: {reason}")
        elif key not in (*SERVICES, EXTERNAL_SCRIPT):
            kept.append(setting)
    return kept, [*notices, *_differences({setting.key.upper(): setting for setting in settings})]


def target_of_services(settings: Sequence[Setting], notices: list[str]) -> Setting | None:
    """Return the target that the services of a file are, with a notice; None if it names none.

    Raises:
        UsageError: The number of services is not one.

    """
    given = {setting.key.upper(): setting for setting in settings if setting.value}
    named = given.get(_BASE) or given.get(_ADMIN)
    if named is None:
        return None
    names = [named.value]
    if _BASE in given and (several := given.get(_MAX)):
        names = [f"{named.value}{number}" for number in range(1, _number_of_services(several) + 1)] or names
    notices.append(
        f"{named.where}: {named.key}: unless another target is given, sessions connect to {', '.join(names)} as slob"
    )
    if (admin := given.get(_ADMIN)) and admin.value not in names:
        why = f"loads and checks connect to {names[0]}, like the sessions"
        notices.append(f"{admin.where}: {admin.key} is not used: {why}")
    return Setting(named.key, ",".join(_SERVICE_URL.format(quote(name, safe="")) for name in names), named.where)


def script_of(settings: Sequence[Setting], folder: Path, notices: list[str]) -> Setting | None:
    """Return the program that a file in ``folder`` names to run beside a run, with a notice; None if it names none."""
    found = {setting.key.upper(): setting for setting in settings}.get(EXTERNAL_SCRIPT)
    if found is None or not found.value:
        return None
    path = str(folder.absolute() / Path(found.value).expanduser())
    notices.append(f"{found.where}: {found.key}: `slob run` runs {path} pre before a run, and {path} post after it")
    return Setting(found.key, path, found.where)


def _number_of_services(setting: Setting) -> int:
    if not setting.value.isdecimal() or int(setting.value) > _MOST_SERVICES:
        allowed = f"a whole number from 0 to {_MOST_SERVICES}"
        raise UsageError(f"{setting.where}: {setting.key}={setting.value} is not allowed; allowed is {allowed}")
    return int(setting.value)


def _explain_ignored(key: str, setting: Setting) -> str:
    if _PASSWORD.search(key):
        return "passwords are not read from configuration files"
    if key in UNSUPPORTED:
        off, instead = UNSUPPORTED[key]
        if setting.value.upper() not in (off, ""):
            raise UsageError(f"{setting.where}: {setting.key} is not supported unless it is {off}", instead)
        return "it is off"
    return IGNORED.get(key, "")


def _differences(given: dict[str, Setting]) -> Iterator[str]:
    """Yield the differences between the meaning of a key here and in the tool that the file was written for."""
    is_pgio = not PGIO_KEYS.isdisjoint(given)
    tool, extra_rows = ("pgio", 1) if is_pgio else ("SLOB", -1)
    for key in ("WORK_UNIT", "UPDATE_WORK_UNIT"):
        if key in given and (rows := given[key].value).isdecimal():
            yield f"{given[key].where}: {key}={rows} visits {rows} rows here; {tool} visits {int(rows) + extra_rows}"
    if is_pgio and "UPDATE_PCT" in given and given["UPDATE_PCT"].value not in ("0", ""):
        yield f"{given['UPDATE_PCT'].where}: each update commits here; pgio runs a whole test as one transaction"
    if "NUM_THREADS" in given:
        yield f"{given['NUM_THREADS'].where}: NUM_THREADS is sessions per schema here; loading has LOAD_PARALLEL_DEGREE"


@dataclass(frozen=True)
class _Word:
    raw: str
    where: str


def read_shell(text: str, origin: str, environment: Mapping[str, str]) -> list[Setting]:
    """Return the assignments of a file in order. ``$KEY`` falls back to ``environment``, as in a shell.

    Raises:
        UsageError: The file has something other than assignments. The text names ``origin`` and the line, no value.

    """
    if len(text) > _MOST_SIGNS:
        raise UsageError(f"{origin}: it has {len(text):,} characters", f"a file may have {_MOST_SIGNS:,}")
    values: dict[str, str] = {}
    scope = ChainMap(values, dict(environment))
    settings = []
    for command in _commands(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), origin):
        for word in _assignments(command):
            key, _, raw = word.raw.partition("=")
            values[key] = _unquote(raw, scope, word.where)
            if len(values[key]) > _MOST_SIGNS_OF_A_VALUE:
                raise UsageError(
                    f"{word.where}: the value of {key} is too long",
                    f"write at most {_MOST_SIGNS_OF_A_VALUE:,} characters",
                )
            settings.append(Setting(key, values[key], word.where))
    return settings


def _commands(text: str, origin: str) -> Iterator[list[_Word]]:
    """Yield the words of each command; a command ends at a line end, a ``;`` or a comment."""
    position, line, command = 0, 1, list[_Word]()
    while position < len(text):
        if between := _BETWEEN.match(text, position):
            position = between.end()
            line += between[0].count("\n")
            if between["end"] and command:
                yield command
                command = []
            continue
        start, where = position, f"{origin}:{line}"
        while piece := _PIECE.match(text, position):
            position = piece.end()
        if position == start:
            raise _unreadable(text[position], where)
        command.append(_Word(text[start:position], where))
        line += text.count("\n", start, position)
    if command:
        yield command


def _assignments(command: list[_Word]) -> list[_Word]:
    exported = command[0].raw == "export"
    words = command[exported:]
    for before, word in zip([None, *words], words, strict=False):
        if _ASSIGNMENT.match(word.raw) or (exported and _NAME.fullmatch(word.raw)):
            continue
        if (before and before.raw.endswith("=")) or any(other.raw.startswith("=") for other in words):
            raise UsageError(f"{word.where}: there is a space beside the =", "write KEY=value")
        raise _needs_shell(repr(word.raw) if word.raw in _COMMANDS else "a command", word.where)
    return [word for word in words if "=" in word.raw]


def _unquote(raw: str, values: Mapping[str, str], where: str) -> str:
    pieces = list(_PIECE.finditer(raw))
    if sum(len(piece[0]) for piece in pieces) < len(raw):
        raise _unreadable("$", where)  # a default that is itself an expansion, or has blanks without quotes
    return "".join(_piece(piece, values, where) for piece in pieces)


def _piece(piece: re.Match[str], values: Mapping[str, str], where: str) -> str:
    if piece["variable"]:
        return _expand(piece["variable"], values, where)
    if piece["double"] is not None:
        return _IN_DOUBLE.sub(lambda found: _in_double(found, values, where), piece["double"])
    if piece["escaped"] == "\n":
        return ""
    return piece["single"] or piece["escaped"] or piece["plain"] or ""


def _in_double(found: re.Match[str], values: Mapping[str, str], where: str) -> str:
    if found["variable"]:
        return _expand(found["variable"], values, where)
    if found["shell"]:
        raise _unreadable(found["shell"], where)
    return found["escaped"].replace("\n", "")


def _expand(text: str, values: Mapping[str, str], where: str) -> str:
    parts = _VARIABLE.fullmatch(text)
    if not parts:
        raise _unreadable("$", where)
    value = values.get(parts["bare"] or parts["name"])
    if parts["default"] is not None and (value is None or (parts["empty"] and not value)):
        return _unquote(parts["default"], values, where)
    return value or ""


def _unreadable(sign: str, where: str) -> UsageError:
    if sign in "'\"":
        return UsageError(f"{where}: the quote that begins here does not end", f"close it with {sign}")
    return _needs_shell(repr(sign), where)


def _needs_shell(what: str, where: str) -> UsageError:
    return UsageError(f"{where}: {what} would need a shell, and nothing is executed", "write KEY=value lines only")
