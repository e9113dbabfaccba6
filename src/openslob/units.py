"""Sizes, durations and shares: how they are read from users and shown to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

KIB = 1024
MIB = 1024**2
GIB = 1024**3
MICROS = 1_000_000
NANOS = 1_000_000_000

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?b)?", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Bytes meant by ``512M``, ``1.5 GiB`` or ``8192``; suffixes are powers of 1024. ValueError otherwise."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size such as 512M or 2G")
    return int(Decimal(match[1]) * 1024 ** _POWERS[match[2].lower()])


def format_bytes(count: float) -> str:
    """``count`` bytes with the largest binary unit that keeps it at 1 or above."""
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(count) < 1024 or unit == "TB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.4g} {unit}"


def format_duration(seconds: float) -> str:
    """``45 s``, ``3 min 20 s`` or ``2 h 5 min``: two units at the most."""
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


@dataclass(frozen=True)
class Extent:
    """An amount of data given either in database blocks (a bare number) or in bytes (a number with a suffix).

    SLOB's SCALE has both forms; which number of blocks a size means is known only with the engine's block size.
    """

    amount: int
    in_bytes: bool = False

    @classmethod
    def parse(cls, text: str) -> Extent:
        """``10000`` is blocks, ``80M`` is bytes. ValueError says what is allowed."""
        if text.strip().isdecimal():
            return cls(int(text))
        if not text.strip()[-1:].isalpha():
            raise ValueError(f"{text!r} is neither a whole number of blocks nor a size such as 512M or 2G")
        return cls(parse_bytes(text), in_bytes=True)

    def blocks(self, block_size: int) -> int:
        """Whole blocks of ``block_size`` bytes in this extent."""
        return self.amount // block_size if self.in_bytes else self.amount

    def __str__(self) -> str:
        """Exact: `parse` reads the same extent back, since records and fingerprints hold this text."""
        if not self.in_bytes:
            return str(self.amount)
        power = max(power for power in range(6) if self.amount % 1024**power == 0) if self.amount else 0
        return f"{self.amount >> 10 * power}{'BKMGTP'[power]}"
