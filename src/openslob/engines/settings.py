"""The server's own settings: how a new value takes effect, and whether a server takes it.

All of it is asked of the server's catalogue: a table of ours would be of some versions only. `registry.known_settings`
opens the catalogue of a target::

    with known_settings("embedded") as known:
        setting = known.find("io_method")     # Effect.RESTART, choices ("sync", "worker")
        known.require(setting, "worker")      # UsageError for a value that the server refuses
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from openslob.core.errors import SlobError, UsageError


class Effect(StrEnum):
    """How a setting takes effect. SESSION: in each session for itself. NEW_SERVER: a server is made with it."""

    SESSION = "session"
    RESTART = "restart"
    NEW_SERVER = "new server"


@dataclass(frozen=True)
class ServerSetting:
    """A setting as a server knows it. ``choices``: all values of a switch or an enumeration; empty for others.

    ``value`` is the value without a change. ``parameter`` is the parameter of a workload that sets it, too, and must
    then leave it to the server, by a value of its own: ``("commit_mode", "engine")``; None for most settings.
    """

    name: str
    effect: Effect
    choices: tuple[str, ...]
    value: str
    parameter: tuple[str, str] | None = None


class KnownSettings(Protocol):
    """The settings that can be changed on one server. Nothing is changed on the server itself."""

    def find(self, name: str) -> ServerSetting:
        """Return a setting, with its name as the server writes it.

        UsageError, in one line, for one that this server does not have, or that can't be changed on it.
        """

    def require(self, setting: ServerSetting, value: str) -> None:
        """Try a value. UsageError, in one line, if the server refuses it or makes another one of it."""


@dataclass(frozen=True)
class SettingChange:
    """A setting and the value that it is to have in a run."""

    name: str
    value: str
    effect: Effect


def of_sessions(changes: Iterable[SettingChange]) -> list[SettingChange]:
    """Return the settings that each session sets for itself."""
    return [change for change in changes if change.effect is Effect.SESSION]


def not_taken(change: SettingChange, shown: str | None) -> SlobError:
    """Return the error of a setting that a session finds with another value than the one asked for."""
    if change.effect is Effect.SESSION:
        why = "slob sets it itself for the work loop, or a parameter such as COMMIT_MODE does"
    else:
        why = "something sets it after the server's configuration, such as ALTER SYSTEM or ALTER ROLE"
    found = "not there" if shown is None else f"{shown!r}, not {change.value!r}"
    return SlobError(
        f"{change.name} is {found}, in a session of the load: {why}", "undo that, or leave the setting out"
    )


def parse_settings(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values by name of texts ``NAME=V1,V2``; two of a name go together. UsageError for other texts.

    A comma in single quotes is part of a value: ``search_path='a,b',c`` has two.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise UsageError(f"--set {text!r} is not a setting", "write NAME=VALUE, or NAME=V1,V2 for several values")
        if any(unicodedata.category(sign) == "Cc" for sign in text):
            raise UsageError(f"--set {text!r} has a character that no setting has", "leave it out")
        several = (*found.get(name.strip(), ()), *_values(values))
        if "" in several:
            raise UsageError(f"--set {text!r} has an empty value", "leave the comma out, or write '' for an empty text")
        found[name.strip()] = tuple(dict.fromkeys("" if value == "''" else value for value in several))
    return found


def _values(text: str) -> Iterator[str]:
    """Yield the values of a list, without the quotes around those that have some."""
    part, quoted = "", False
    for sign in text:
        if sign == "'":
            quoted = not quoted
        if sign == "," and not quoted:
            yield _bare(part)
            part = ""
        else:
            part += sign
    if quoted:
        raise UsageError(f"--set: a quote in {text!r} is not closed", "close it")
    yield _bare(part)


def _bare(part: str) -> str:
    part = part.strip()
    is_quoted = len(part) > 2 and part[0] == part[-1] == "'"
    return part[1:-1] if is_quoted else part


def lines(settings: Mapping[str, str]) -> str:
    """Return settings as `ServerSpec.settings` has them, ``NAME=VALUE`` in a line each."""
    return "\n".join(f"{name}={value}" for name, value in settings.items())


def not_of_sessions(name: str, why: str) -> UsageError:
    """Return the error of a setting that a session can't change."""
    remedy = "on servers that it does not manage, slob can set only what sessions may"
    return UsageError(f"a session can't change {name}{why}", remedy)


def not_known(product: str, name: str, near: Sequence[str]) -> UsageError:
    """Return the error of a setting that a server does not have; ``near`` are names that may have been meant."""
    return UsageError(
        f"{product} has no setting {name}", f"did you mean {' or '.join(near)}?" if near else "check its name"
    )
