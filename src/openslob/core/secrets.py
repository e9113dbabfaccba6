"""Passwords: a target that shows stars in place of its password, and the removal of passwords from texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from pydantic import SecretStr

from openslob.core.errors import UsageError

STARS = "***"

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*"
_FORM = "write SCHEME://USER@HOST:PORT/DATABASE (`slob help targets` shows that of each server)"
_NEXT_URL = re.compile(rf",(?={_SCHEME}://)")


def _part(excluded: str) -> str:
    """Return the pattern of a part of a URL: percent-encoded are zero bytes never, other ``excluded`` signs always."""
    return rf"(?:[^\s\x00-\x1f\x7f%{excluded}]|%(?!00)[0-9A-Fa-f]{{2}})*"


_USER, _DATABASE, _VALUE = _part(":/@?#"), _part("?#@:;="), _part("&#@;=")
_HOST = rf"(?:\[[\w:.%-]*\]|{_part(':/?#@;,=&')})(?::\d*)?"
_PAIR = rf"[A-Za-z_]\w*={_VALUE}"
# Stricter than the engines: what they misread could be part of a password, which would then be shown as a host's name.
_URL = re.compile(
    rf"{_SCHEME}://(?:{_USER}(?::{_USER})?@)?{_HOST}(?:,{_HOST})*(?:/{_DATABASE})?(?:\?(?:{_PAIR}(?:&{_PAIR})*)?)?"
)
_SERVERS = re.compile(r"[\w.,-]*")
# Up to the last @, so that a password that holds an unescaped @ or / is hidden whole.
_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://[^:/@]*):(.*)@", re.DOTALL)
_PARAMETER = re.compile(r"([?&][^=&]*(?:passw|pwd|secret|token|scram)[^=&]*=)[^&#]*", re.IGNORECASE)
# Any URL within a text. Up to the last @ before a blank: hiding too much does no harm.
_URL_IN_TEXT = re.compile(r"(\b[A-Za-z][\w+.-]*://[^\s/:@]*:)\S*@")
_PARAMETER_IN_TEXT = re.compile(
    r"""(\b\w*(?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'|"[^"]*"|[^\s&;,]+)""", re.IGNORECASE
)
_SECRET_KEY = re.compile(r"(passwd|password|pwd|secret)$", re.IGNORECASE)
# Options of other programs: their next word is a secret, it is behind a sign, or attached; a port is all digits.
_SECRET_NAME = (
    r"(?:--?[\w-]*(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token|credential|api-?key|access-?key|auth)[\w-]*"
    r"|--?(?:[\w-]*-)?(?:pass|pw))"
)
# A line of a protocol, such as Authorization: Bearer X.
_HEADER = re.compile(
    r"^([\"']?[\w-]*(?:authorization|token|secret|api-?key|cookie|password)[\w-]*\s*:\s*)\S.*", re.I | re.DOTALL
)
# As the programs of some servers take it: NAME/PASSWORD@SERVICE.
_BEHIND_SLASH = re.compile(r"^([\w$#]+/)[^\s/@]+(@\S*)$")
_SECRET_OPTION = re.compile(_SECRET_NAME, re.IGNORECASE)
_SECRET_GIVEN = re.compile(rf"({_SECRET_NAME}[=:])\S", re.IGNORECASE)
_ATTACHED = re.compile(r"(-p)(?!\d+$)[^-\s]")
_BEHIND_COLON = re.compile(r"^((?:-u|--(?:proxy-)?user=)?[^\s:/]+:)\S.*$")
# A word of the command line that may contain a password, however it is written.
_MAY_CONTAIN_PASSWORD = re.compile(
    r":.*@|:/.*[?:]|(?:passw|pwd|secret|token|scram)[^=\s]*\s*=", re.IGNORECASE | re.DOTALL
)


def redact_url(url: str) -> str:
    """Return ``url`` with stars for every password; the URLs of a comma-separated list are redacted one by one."""
    return ",".join(_PARAMETER.sub(rf"\1{STARS}", _USERINFO.sub(rf"\1:{STARS}@", one)) for one in _NEXT_URL.split(url))


def require_target(text: str) -> None:
    """Raise UsageError, without a part that could be a password, unless ``text`` is URLs or names of servers."""
    parts = _NEXT_URL.split(text)
    if len({part.partition("://")[0].lower() for part in parts if "://" in part}) > 1:
        # A password may hold a comma and what looks like a scheme: nothing of it is shown.
        raise UsageError(
            "the URLs of the target have different schemes",
            "name instances of one engine; percent-encode other commas and colons (, is %2C and : is %3A)",
        )
    for part in parts:
        scheme, is_url, _ = part.partition("://")
        if is_url and not _URL.fullmatch(part):
            shown = f"{scheme}://{STARS}" if re.fullmatch(_SCHEME, scheme) else STARS
            raise UsageError(
                f"the target {shown} can't be read as a URL",
                f"{_FORM}, special characters percent-encoded (@ is %40, : is %3A, # is %23)",
            )
        if not is_url and not _SERVERS.fullmatch(part):
            raise UsageError(
                "the target is neither a URL nor the name of a managed server",
                f"{_FORM}; the text is not shown, since it may contain a password",
            )


@dataclass(frozen=True)
class Address:
    """A server to measure. ``shown`` has no password and may be printed; `reveal` returns the whole text."""

    shown: str
    secret: SecretStr

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL or a name.

        Raises:
            UsageError: It is neither, or a URL has characters that must be percent-encoded.

        """
        require_target(text)
        return cls(redact_url(text), SecretStr(text))

    @property
    def has_password(self) -> bool:
        """Whether the URL contains a password."""
        return self.shown != self.secret.get_secret_value()

    def with_password(self, password: str) -> Address:
        """Return the same target with ``password`` after the user's name in every URL.

        Raises:
            UsageError: A URL has no user.

        """
        urls = _NEXT_URL.split(self.secret.get_secret_value())
        return Address.parse(",".join(self._with_password(url, password) for url in urls))

    def _with_password(self, url: str, password: str) -> str:
        scheme, _, rest = url.partition("://")
        user, at, server = rest.partition("@")
        if not at or not user:
            raise UsageError(
                f"the target {self.shown} has no user, and a password needs one", "write SCHEME://USER@HOST/DATABASE"
            )
        return f"{scheme}://{user.partition(':')[0]}:{quote(password, safe='')}@{server}"

    def recorded_as(self, recorded: str) -> Address:
        """Return the target of a record: this one, with its password, if it is the same, else the recorded one.

        Raises:
            UsageError: The recorded one needs a password, which no record contains.

        """
        if self.shown == recorded:
            return self
        if STARS in recorded:
            raise UsageError(f"the target of this record is {recorded}", "give it with its password as the target")
        return Address.parse(recorded)

    def reveal(self) -> str:
        """Return the target as the driver needs it, password included."""
        return self.secret.get_secret_value()

    def __str__(self) -> str:
        return self.shown


def redact_text(text: str) -> str:
    """Return ``text`` with the password of every URL and every ``password=…`` replaced by ``***``."""
    # Most texts of a record have no such sign, and to search each of them took longer than all else of saving it.
    if "://" in text and "@" in text:
        text = _URL_IN_TEXT.sub(rf"\1{STARS}@", text)
    return _PARAMETER_IN_TEXT.sub(rf"\1{STARS}", text) if "=" in text else text


def conceal(text: str, given: Iterable[str]) -> str:
    """Return ``text`` redacted, and without those ``given`` words that may contain a password.

    ``given`` are words of the command line, which error messages quote, and which need not be targets.
    """
    for word in given:
        _, is_option, value = word.partition("=")
        for secret in (word, value if is_option else ""):
            if _MAY_CONTAIN_PASSWORD.search(secret):
                for form in (secret, repr(secret)[1:-1], " ".join(secret.split())):
                    text = text.replace(form, redact_url(secret) if _URL.fullmatch(secret) else STARS)
    return redact_text(text)


def redact_words(words: Sequence[str]) -> list[str]:
    """Return the words of another program's command line with stars for what its options say is a secret.

    Options are known by their names (``--password X``, ``--token=X``), and two by their use: ``-pX`` has a password
    attached, unless it is a port, and ``-u NAME:X`` has one behind the colon. A word with blanks may be a script, whose
    words are looked at in the same way. Hiding too much does no harm.
    """
    shown: list[str] = []
    before = ""
    for word in words:
        shown.append(_word_after(before, redact_text(word)))
        before = word
    return shown


def _word_after(before: str, word: str) -> str:
    if _SECRET_OPTION.fullmatch(before) and not word.startswith("-"):
        return STARS
    if len(parts := re.split(r"(\s+)", word)) > 1 and not _HEADER.match(word):
        parts[::2] = redact_words(parts[::2])
        return "".join(parts)
    if given := _HEADER.match(word) or _SECRET_GIVEN.match(word) or _ATTACHED.match(word) or _BEHIND_SLASH.match(word):
        return f"{given[1]}{STARS}{given[2]}" if given.re is _BEHIND_SLASH else f"{given[1]}{STARS}"
    has_user = before in ("-u", "--user", "--proxy-user", "-U") or word.startswith(("-u", "--user=", "--proxy-user="))
    return _BEHIND_COLON.sub(rf"\1{STARS}", word) if has_user else word


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
