"""Sizes, durations, prices and times: parsed from text and formatted as text; clocks."""

from __future__ import annotations

import re
import time
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from math import inf, isinf
from typing import Self

KIB = 1024
MIB = 1024**2
GIB = 1024**3
MICROS = 1_000_000
NANOS = 1_000_000_000

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?b)?", re.IGNORECASE)
# The units of durations in seconds, and the pattern of each, from the longest to the shortest.
_SECONDS = {"d": "86400", "h": "3600", "m(?:in)?": "60", "s": "1", "ms": "0.001"}
_DURATION = re.compile(r"\s*".join(rf"(?:(\d+(?:\.\d+)?)\s*{unit})?" for unit in _SECONDS), re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Return the bytes of ``512M``, ``1.5 GiB`` or ``8192``; suffixes are powers of 1024. ValueError otherwise."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size such as 512M or 2G")
    return int(Decimal(match[1]) * 1024 ** _POWERS[match[2].lower()])


def format_bytes(count: float) -> str:
    """Format ``count`` bytes in the largest binary unit in which it is at least 1."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(count) < 1024 or unit == "TB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.4g} {unit}"


def parse_duration(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``1m30s``, ``2h`` or ``500ms``. ValueError otherwise."""
    stripped = text.strip()
    if _PLAIN_NUMBER.fullmatch(stripped):
        total = float(stripped)
    elif stripped and (match := _DURATION.fullmatch(stripped)):
        parts = zip(match.groups(default="0"), _SECONDS.values(), strict=True)
        total = float(sum(Decimal(amount) * Decimal(seconds) for amount, seconds in parts))
    else:
        total = inf
    if isinf(total):
        raise ValueError(f"{text!r} is not a duration such as 90, 90s, 5m or 1h30m")
    return total


def format_duration(seconds: float) -> str:
    """Format seconds as ``45 s``, ``3 min 20 s``, ``15 min`` or ``2 h 5 min``."""
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    if minutes:
        return f"{minutes} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole} s"


@dataclass(frozen=True)
class Extent:
    """An amount of data, either in database blocks (a plain number) or in bytes (a number with a suffix).

    SLOB's SCALE has both forms; the engine's block size is needed to convert bytes to blocks.
    """

    amount: int
    in_bytes: bool = False

    @classmethod
    def parse(cls, text: str) -> Extent:
        """Read ``10000`` as blocks and ``80M`` as bytes. ValueError for other texts."""
        if text.strip().isdecimal():
            return cls(int(text))
        if not text.strip()[-1:].isalpha():
            raise ValueError(f"{text!r} is neither a whole number of blocks nor a size such as 512M or 2G")
        return cls(parse_bytes(text), in_bytes=True)

    def blocks(self, block_size: int) -> int:
        """Return the whole blocks of ``block_size`` bytes in this extent."""
        return self.amount // block_size if self.in_bytes else self.amount

    def __str__(self) -> str:
        """Return the exact amount, which `parse` reads back: records and fingerprints contain this text."""
        if not self.in_bytes:
            return str(self.amount)
        power = max(power for power in range(6) if self.amount % 1024**power == 0) if self.amount else 0
        return f"{self.amount >> 10 * power}{'BKMGTP'[power]}"


# A month is a twelfth of a year of 365 days, as providers of servers count it.
_HOURS = {"hour": 1, "month": 730, "year": 8760}
_CURRENCY = r"[^\d\s.,;:/=+*'\"@|<>()\[\]{}-]{1,8}"
_PRICE = re.compile(
    rf"({_CURRENCY})?\s*(\d+(?:\.\d+)?|\.\d+)\s*({_CURRENCY})?\s*(?:/|\bper\b)\s*(hour|month|year)", re.IGNORECASE
)


@dataclass(frozen=True)
class Price:
    """What a server costs for a time: an hour, a month or a year. ``currency`` is the user's word; empty: not named."""

    amount: Decimal
    currency: str
    per: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``123.45/month``, ``123.45 EUR/month`` or ``$0.50/hour``. ValueError for other texts, and for 0."""
        match = _PRICE.fullmatch(text.strip())
        if not match or (match[1] and match[3]) or not Decimal(match[2]):
            raise ValueError(f"{text!r} is not a price such as 123.45/month or 0.50 EUR/hour")
        currency = match[1] or match[3] or ""
        if not all(unicodedata.category(sign) in ("Lu", "Ll", "Lo", "Sc") for sign in currency):
            raise ValueError(f"{currency!r} in {text!r} is not a currency such as EUR or $")
        return cls(Decimal(match[2]), currency.upper(), match[4].lower())

    @property
    def per_s(self) -> float:
        """What a second costs."""
        return float(self.amount / (_HOURS[self.per] * 3600))

    def __str__(self) -> str:
        """Return the exact price, which `parse` reads back: records contain this text."""
        return f"{self.amount:f}{f' {self.currency}' if self.currency else ''}/{self.per}"


@dataclass(frozen=True)
class Anchor:
    """A reading of this process's monotonic clock and of the wall clock at the same moment."""

    monotonic_ns: int
    wall_ns: int

    @classmethod
    def now(cls) -> Anchor:
        """Read both clocks together."""
        return cls(time.monotonic_ns(), time.time_ns())

    def wall_of(self, monotonic_ns: int) -> int:
        """Convert a monotonic reading to wall-clock nanoseconds since the epoch."""
        return self.wall_ns + monotonic_ns - self.monotonic_ns


def is_above(value: float, limit: float, decimals: int) -> bool:
    """Return whether a value with so many ``decimals`` is above a limit: what a reader sees is what is compared."""
    return round(value, decimals) > limit


def is_below(value: float, limit: float, decimals: int) -> bool:
    """Return whether a value with so many ``decimals`` is below a limit; see `is_above`."""
    return round(value, decimals) < limit


def iso(wall_ns: int) -> str:
    """Format nanoseconds since the epoch as UTC time in ISO 8601, to the second."""
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
