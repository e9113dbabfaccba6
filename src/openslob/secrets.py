"""Passwords: a target that shows stars in place of its password, and the removal of passwords from texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from pydantic import SecretStr

from openslob.errors import UsageError

STARS = "***"

_NEXT_URL = re.compile(r",(?=[A-Za-z][A-Za-z0-9+.-]*://)")
# Up to the last @, so that a password that holds an unescaped @ or / is hidden whole.
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://[^:/@]*):(.*)@", re.DOTALL)
_PARAMETER = re.compile(r"([?&][^=&]*(?:passw|pwd|secret|token)[^=&]*=)[^&#]*", re.IGNORECASE)
# Any URL within a text. Up to the last @ before a blank: hiding too much does no harm.
_URL_IN_TEXT = re.compile(r"(\b[A-Za-z][\w+.-]*://[^\s/:@]*:)\S*@")
_PARAMETER_IN_TEXT = re.compile(
    r"""(\b\w*(?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'|"[^"]*"|[^\s&;,]+)""", re.IGNORECASE
)
_SECRET_KEY = re.compile(r"(passwd|password|pwd|secret)$", re.IGNORECASE)
_WELL_FORMED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^:/@?#\s]*:[^:/@?#\s]*@[^@]*")


def redact_url(url: str) -> str:
    """Return ``url`` with stars for every password; the URLs of a comma-separated list are redacted one by one."""
    return ",".join(_PARAMETER.sub(rf"\1{STARS}", _USERINFO.sub(rf"\1:{STARS}@", one)) for one in _NEXT_URL.split(url))


@dataclass(frozen=True)
class Target:
    """A server to measure. ``shown`` has no password and may be printed; `reveal` returns the whole text."""

    shown: str
    secret: SecretStr

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL or a name.

        Raises:
            UsageError: A password in a URL has characters that a URL must percent-encode.

        """
        shown = redact_url(text)
        if f":{STARS}@" in shown and not all(map(_WELL_FORMED.fullmatch, _with_password(text))):
            raise UsageError(f"the password in {shown} has characters that must be percent-encoded", "write @ as %40")
        return cls(shown, SecretStr(text))

    @property
    def has_password(self) -> bool:
        """Whether the URL contains a password."""
        return self.shown != self.secret.get_secret_value()

    def with_password(self, password: str) -> Target:
        """Return the same target with ``password`` after the user's name in every URL.

        Raises:
            UsageError: A URL names no user.

        """
        urls = _NEXT_URL.split(self.secret.get_secret_value())
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
        """Return the target as the driver needs it, password included."""
        return self.secret.get_secret_value()

    def __str__(self) -> str:
        return self.shown


def _with_password(text: str) -> list[str]:
    return [url for url in _NEXT_URL.split(text) if _USERINFO.match(url)]


def redact_text(text: str) -> str:
    """Return ``text`` with the password of every URL and every ``password=…`` replaced by ``***``."""
    return _PARAMETER_IN_TEXT.sub(rf"\1{STARS}", _URL_IN_TEXT.sub(rf"\1{STARS}@", text))


def redact_document(value: object) -> object:
    """Return a JSON value with every text redacted, and stars as the value of every key such as ``password``."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {
            redact_text(key): STARS if _SECRET_KEY.search(key) else redact_document(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact_document(item) for item in value]
    return value
