"""TOML as the standard library reads it; every text that it can't read, or not in a second, is a ValueError."""

from __future__ import annotations

import re
from typing import Any

MOST_SIGNS = 1_000_000
# The time for a key grows with the square of its parts.
_PART = r"""(?:[\w-]{1,100}+|"[^"\n]{0,100}+"|'[^'\n]{0,100}+')[ \t]{0,9}+"""
_LONG_KEY = rf"(?:{_PART}\.[ \t]{{0,9}}+){{100}}"


def parse_toml(text: str) -> dict[str, Any]:
    """Return a TOML document. ValueError, with the line if there is one, for a text that is none."""
    import tomllib  # noqa: PLC0415 - takes a while, and most commands read none

    if len(text) > MOST_SIGNS:
        raise ValueError(f"it has {len(text):,} characters, and may have {MOST_SIGNS:,}")
    if re.search(_LONG_KEY, text):
        raise ValueError("it has a key of more than 100 parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("it has a number of thousands of digits") from None
