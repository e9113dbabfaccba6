"""One value as a user gave it, before anyone has judged it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """``key`` and ``value`` as written; ``where`` names the file and line, the variable or the flag."""

    key: str
    value: str
    where: str
