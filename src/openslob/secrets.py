"""Passwords: held so that printing, logging or recording one by accident shows stars, never the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from openslob.errors import UsageError

STARS = "***"

_NEXT_URL = re.compile(r",(?=[A-Za-z][A-Za-z0-9+.-]*://)")
# Up to the last @, so that a password that holds an unescaped @ or / is hidden whole.
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://[^:/@]*):(.*)@", re.DOTALL)
_PARAMETER = re.compile(r"([?&][^=&]*(?:passw|pwd|secret|token)[^=&]*=)[^&#]*", re.IGNORECASE)
_WELL_FORMED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^:/@?#\s]*:[^:/@?#\s]*@[^@]*")


class Secret:
    """A text that only `reveal` gives away. No JSON encoder takes it, so no record can hold it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the driver and nothing else."""
        return self._text

    def __repr__(self) -> str:
        return STARS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def redact_url(url: str) -> str:
    """``url`` with stars for every password in it; a comma-separated list of URLs is redacted one by one."""
    return ",".join(_PARAMETER.sub(rf"\1{STARS}", _USERINFO.sub(rf"\1:{STARS}@", one)) for one in _NEXT_URL.split(url))


@dataclass(frozen=True)
class Target:
    """Which server is meant: ``shown`` is fit to print and record, `reveal` is what the driver connects with."""

    shown: str
    secret: Secret

    @classmethod
    def parse(cls, text: str) -> Self:
        """From a URL or a name. UsageError when a password in it is not percent-encoded as URLs want it."""
        shown = redact_url(text)
        if f":{STARS}@" in shown and not all(map(_WELL_FORMED.fullmatch, _with_password(text))):
            raise UsageError(f"the password in {shown} has characters that must be percent-encoded", "write @ as %40")
        return cls(shown, Secret(text))

    @property
    def has_password(self) -> bool:
        """Whether the text itself holds a password."""
        return self.shown != self.secret.reveal()

    def with_password(self, password: str) -> Target:
        """The same target with ``password`` put behind its user's name, in every URL. UsageError: one names no user."""
        urls = _NEXT_URL.split(self.secret.reveal())
        return Target.parse(",".join(self._with_password(url, password) for url in urls))

    def _with_password(self, url: str, password: str) -> str:
        scheme, _, rest = url.partition("://")
        user, at, server = rest.partition("@")
        if not at or not user:
            raise UsageError(
                f"the target {self.shown} names no user for the password", "write SCHEME://USER@HOST/DATABASE"
            )
        return f"{scheme}://{user.partition(':')[0]}:{quote(password, safe='')}@{server}"

    def reveal(self) -> str:
        """The target as the driver needs it, password included."""
        return self.secret.reveal()

    def __str__(self) -> str:
        return self.shown


def _with_password(text: str) -> list[str]:
    return [url for url in _NEXT_URL.split(text) if _USERINFO.match(url)]
