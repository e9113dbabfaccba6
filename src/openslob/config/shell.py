r"""Read files of shell assignments, such as slob.conf and pgio.conf, without a shell: nothing is executed.

Understood: ``KEY=value`` (also with ``export``), several on a line, both kinds of quotes, ``\``, comments, and
``$KEY``, ``${KEY}``, ``${KEY:-default}``. Whatever only a shell could do is an error that names the line.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from openslob.config.parameters import Setting
from openslob.errors import UsageError

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


@dataclass(frozen=True)
class _Word:
    raw: str
    where: str


def read_shell(text: str, origin: str, environment: Mapping[str, str]) -> list[Setting]:
    """Return the assignments of a file in order. ``$KEY`` falls back to ``environment``, as in a shell.

    Raises:
        UsageError: The file has something other than assignments. The text names ``origin`` and the line, no value.

    """
    values: dict[str, str] = {}
    scope = ChainMap(values, dict(environment))
    settings = []
    for command in _commands(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), origin):
        for word in _assignments(command):
            key, _, raw = word.raw.partition("=")
            values[key] = _unquoted(raw, scope, word.where)
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


def _unquoted(raw: str, values: Mapping[str, str], where: str) -> str:
    pieces = list(_PIECE.finditer(raw))
    if sum(len(piece[0]) for piece in pieces) < len(raw):
        raise _unreadable("$", where)  # a default that is itself an expansion, or has blanks without quotes
    return "".join(_piece(piece, values, where) for piece in pieces)


def _piece(piece: re.Match[str], values: Mapping[str, str], where: str) -> str:
    if piece["variable"]:
        return _expanded(piece["variable"], values, where)
    if piece["double"] is not None:
        return _IN_DOUBLE.sub(lambda found: _in_double(found, values, where), piece["double"])
    if piece["escaped"] == "\n":
        return ""
    return piece["single"] or piece["escaped"] or piece["plain"] or ""


def _in_double(found: re.Match[str], values: Mapping[str, str], where: str) -> str:
    if found["variable"]:
        return _expanded(found["variable"], values, where)
    if found["shell"]:
        raise _unreadable(found["shell"], where)
    return found["escaped"].replace("\n", "")


def _expanded(text: str, values: Mapping[str, str], where: str) -> str:
    parts = _VARIABLE.fullmatch(text)
    if not parts:
        raise _unreadable("$", where)
    value = values.get(parts["bare"] or parts["name"])
    if parts["default"] is not None and (value is None or (parts["empty"] and not value)):
        return _unquoted(parts["default"], values, where)
    return value or ""


def _unreadable(sign: str, where: str) -> UsageError:
    if sign in "'\"":
        return UsageError(f"{where}: the quote that begins here does not end", f"close it with {sign}")
    return _needs_shell(repr(sign), where)


def _needs_shell(what: str, where: str) -> UsageError:
    return UsageError(f"{where}: {what} would need a shell, and nothing is executed", "write KEY=value lines only")
