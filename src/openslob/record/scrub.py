"""Nothing secret reaches a record's files: passwords inside connection texts are cut out of every text written."""

from __future__ import annotations

import re

from openslob.secrets import STARS

# Up to the last @ before a blank: a password may itself hold ':', '/' or '@', and hiding too much does no harm.
_IN_URL = re.compile(r"(\b[A-Za-z][\w+.-]*://[^\s/:@]*:)\S*@")
_NAMES_ONE = re.compile(r"(passwd|password|pwd|secret)$", re.I)
_AS_PARAMETER = re.compile(r"""(\b\w*(?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'|"[^"]*"|[^\s&;,]+)""", re.I)


def without_passwords(text: str) -> str:
    """``text`` with the password of every URL and every ``password=…`` replaced by ``***``."""
    return _AS_PARAMETER.sub(rf"\1{STARS}", _IN_URL.sub(rf"\1{STARS}@", text))


def scrubbed(value: object) -> object:
    """A JSON value with every text in it free of passwords, and what stands under a key such as ``password`` hidden."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, dict):
        return {
            without_passwords(key): STARS if _NAMES_ONE.search(key) else scrubbed(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return value
