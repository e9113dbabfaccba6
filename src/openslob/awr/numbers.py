"""Numbers as printed by Oracle's reports, with their precision.

A report rounds, cuts and scales: ``40``, ``.96ms``, ``2198.8K``, ``1.E+03``, ``######``. Each number therefore has a
*step*, the value of one unit in its last printed digit, from which the precision of a quotient follows. Text that is
not clearly a number is read as ``None``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache

US_PER: dict[str, float] = {
    "ns": 1e-3,
    "us": 1.0,
    "µs": 1.0,
    "ms": 1e3,
    "cs": 1e4,
    "s": 1e6,
    "sec": 1e6,
    "min": 6e7,
    "mins": 6e7,
    "m": 6e7,
    "h": 3.6e9,
}
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}

_SHAPE = re.compile(r"(?P<sign>[+-]?)(?P<body>[\d.,'’ ]*\d\.?)(?:[Ee](?P<exp>[+-]?\d{1,3}))?(?P<scale>[KMGTP]?)")
_POINT = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.))(?:\.(\d*))?")
_COMMA = re.compile(r"(?:\d{1,3}(?:[. '’]\d{3})+|\d+|(?=,))(?:,(\d+))?")
_SHORT_DECIMALS_AFTER_COMMA = re.compile(r"\d+,(\d{1,2})")

_SIGNS = str.maketrans("", "", ".,'’ ")

_LARGEST, _SMALLEST = 1e30, 1e-30  # beyond are damaged digits or exponents, not figures

_PROVES_POINT = re.compile(r"\d{1,3}(?:,\d{3}){2,}(?:\.\d+)?|\d{1,3}(?:,\d{3})+\.\d+")
_PROVES_COMMA = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+")
_HINTS_POINT = re.compile(r"\d*\.\d{1,2}")
_HINTS_COMMA = re.compile(r"\d*,\d{1,2}")


@dataclass(frozen=True, slots=True)
class Number:
    """A printed number. ``step`` is the value of one unit in its last digit, in the unit of ``value``."""

    value: float
    step: float

    def scaled(self, factor: float) -> Number:
        """Return the number in another unit."""
        return Number(self.value * factor, self.step * factor)


# Compared by identity, so that what was read is found again without computing a hash: there is one of each (`_format`).
@dataclass(frozen=True, eq=False)
class NumberFormat:
    """Number format of one report: the decimal sign, and whether it also uses the other sign for decimals.

    Oracle's format masks print a comma between thousands in every territory; figures that are converted without a
    mask follow the session's territory. So one report can contain both ``1,234.5`` and ``59,54``.
    """

    decimal: str = "."
    mixed: bool = False

    @classmethod
    def of(cls, cells: Collection[str]) -> NumberFormat:
        """Detect the format from the cells of a report; without evidence the decimal sign is a point."""
        commas = [cell.strip() for cell in cells if "," in cell]
        comma = sum(1 for cell in commas if _HINTS_COMMA.fullmatch(cell))
        if any(map(_PROVES_POINT.fullmatch, commas)):
            return _format(".", comma > 0)
        points = [cell.strip() for cell in cells if "." in cell]
        if any(map(_PROVES_COMMA.fullmatch, points)):
            return _format(",", False)
        point = sum(1 for cell in points if _HINTS_POINT.fullmatch(cell))
        return _format("," if comma > point else ".", False)

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - there are few formats, and half of the cells of a report are repetitions
    def read(self, text: str, thousand: float = 1000.0) -> Number | None:
        """Return the number in ``text``, or None. ``thousand`` is the value of K: 1000 for counts, 1024 for bytes."""
        shape = _SHAPE.fullmatch(text.strip())
        if shape is None:
            return None
        decimals = self._decimals(shape["body"], bool(shape["exp"]))
        if decimals is None:
            return None
        power = _POWER[shape["scale"]]
        places = int(shape["exp"] or 0) - decimals + (3 * power if thousand == 1000.0 else 0)
        factor = 1.0 if thousand == 1000.0 else thousand**power
        digits = shape["body"].translate(_SIGNS)
        value = float(f"{shape['sign']}{digits}e{places}") * factor  # parsed as text: 2677.7 stays 2677.7
        step = float(f"1e{places}") * factor
        return Number(value, step) if abs(value) < _LARGEST and _SMALLEST < step < _LARGEST else None

    def duration_us(self, text: str, unit: str | None) -> Number | None:
        """Return a duration in µs, by its printed unit or else ``unit``, that of its column; None without a unit."""
        match = re.fullmatch(r"(.*?\d\.?[KMGTP]?)\s*([nuµmc]?s|sec|mins?)?", text.strip())
        if match is None:
            return None
        number = self.read(match[1])
        factor = US_PER.get(match[2] or unit or "")
        return number.scaled(factor) if number is not None and factor is not None else None

    def _decimals(self, body: str, exponent: bool) -> int | None:
        """Return the number of decimals of ``body``; None if it is not a number in this format."""
        match = (_POINT if self.decimal == "." else _COMMA).fullmatch(body)
        if match is None and self.mixed:
            match = _SHORT_DECIMALS_AFTER_COMMA.fullmatch(body)
        if match is None:
            return None
        if match[1] == "" and not exponent:
            return None  # "1934." is "1934.1K" in a column too narrow for it, not 1934
        return len(match[1] or "")


@cache
def _format(decimal: str, mixed: bool) -> NumberFormat:
    return NumberFormat(decimal, mixed)


def why_unreadable(text: str) -> str:
    """Return why ``text`` cannot be read as a number."""
    text = text.strip()
    if not text:
        return "blank in the report"
    if "#" in text:
        return "overflowed its column (####)"
    if text.upper() in {"N/A", "NA"}:
        return "not available (N/A)"
    if re.fullmatch(r"[\d,]+\.", text):
        return f"cut by its column ({text})"
    if re.fullmatch(r"[\d,.'+-]+([eE][+-]?\d+)?[KMGTP]?", text):
        return f"beyond any figure ({text[:30]})"
    return f"not a number ({text[:30]})"
