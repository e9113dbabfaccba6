"""Figures as Oracle prints them, with their exact values and the unit of their last digits."""

from __future__ import annotations

from dataclasses import dataclass, replace

KIB = 1024.0
MIB = 1024.0**2


@dataclass(frozen=True, slots=True)
class Figure:
    """A printed figure. ``value`` is exact, ``step`` one unit of the last digit; None: it cannot be read."""

    text: str
    value: float | None = None
    step: float = 0.0

    def scaled(self, factor: float) -> Figure:
        """The same text for a value in another unit, such as microseconds for printed milliseconds."""
        return self if self.value is None else replace(self, value=self.value * factor, step=self.step * factor)

    def with_unit(self, unit: str) -> Figure:
        return replace(self, text=self.text + unit)


BLANK = Figure("")


def fixed(value: float | None, places: int = 0, width: int = 0, bare: bool = False, comma: bool = True) -> Figure:
    """``1,234.5``. ``bare``: without the zero before the point. A figure too wide for its column is a row of signs."""
    if value is None:
        return BLANK
    text = f"{value:,.{places}f}" if comma else f"{value:.{places}f}"
    if bare and places and abs(value) < 1:
        text = text.replace("0.", ".", 1)
    if width and len(text) > width:
        return Figure("#" * width)
    return Figure(text, value, 10.0**-places)


def exponent(value: float, places: int, width: int) -> Figure:
    """``1.E+03`` for a figure that is too wide for its column."""
    short = fixed(value, places, bare=True, comma=False)
    if len(short.text) <= width:
        return short
    digits = width - 6
    mantissa, power = f"{value:.{digits}E}".split("E")
    return Figure(f"{mantissa}{'' if digits else '.'}E{power}", value, 10.0 ** (int(power) - digits))


def counted(value: int, largest_k: float = 1e6, width: int = 0) -> Figure:
    """``9999``, ``86.3K``, ``1.4M``: a count in multiples of 1000; thousands go up to ``largest_k``.

    A text cuts it at the width of its column: ``118.6`` for 118.6K and ``1934.`` for 1934.3K say nothing.
    """
    for letter, size, least in (("G", 1e9, 1e9), ("M", 1e6, largest_k), ("K", 1e3, 1e4)):
        if value >= least:
            return _cut(_trimmed(value, size, letter, 1), width)
    return fixed(value, comma=False)


def thousands(value: float, places: int = 1) -> Figure:
    """``.6``, ``8771.8``, ``14K``, ``2198.8K``: seconds in a list of the longest waits, without trailing zeros."""
    return _trimmed(value, 1.0, "", places) if value < 9999.95 else _trimmed(value, 1e3, "K", places)


def squeezed(value: float) -> Figure:
    """The same cut at four characters: ``8771`` is not rounded, ``33.9`` was 33.9K and cannot be read."""
    return _cut(thousands(value), 4)


def _cut(figure: Figure, width: int) -> Figure:
    if not width or len(figure.text) <= width:
        return figure
    text = figure.text[:width]
    if not figure.text[-1].isdigit() or text.endswith("."):
        return Figure(text)
    return Figure(text, float(text), 10.0 ** -len(text.partition(".")[2]))


def _trimmed(value: float, size: float, letter: str, places: int) -> Figure:
    text = f"{value / size:.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    decimals = len(text.partition(".")[2])
    if text.startswith("0."):
        text = text[1:]
    return Figure(text + letter, value, size * 10.0**-decimals)


def megabytes(size: float, width: int) -> Figure:
    """``.801M``, ``78.125M``: up to three decimals, fewer where the column is narrow. The value is in MB."""
    for places in (3, 2, 1, 0):
        figure = _trimmed(size / MIB, 1.0, "M", places)
        if len(figure.text) <= width:
            return figure
    return replace(_trimmed(size / MIB, KIB, "G", 1))


def six_decimals(size: float) -> Figure:
    """``.260902``, ``12.3457``: MB in seven characters without a letter, as 11.2.0.2 prints them."""
    for places in range(6, -1, -1):
        figure = fixed(size / MIB, places, bare=True, comma=False)
        if len(figure.text) <= 7:
            return figure
    return Figure("#" * 7)


def volume(size: float) -> Figure:
    """``469M``, ``45.8G``: bytes in multiples of 1024."""
    return _trimmed(size, MIB, "M", 0) if size < 1000 * MIB else _trimmed(size, KIB**3, "G", 1)


def duration(us: float | None, width: int = 9) -> Figure:
    """``258.01ns``, ``109.72us``, ``.96ms``, ``30.00 s``: a time with its unit. The value is in microseconds."""
    if us is None:
        return BLANK
    longest = 9_999_990.0 if width > 8 else 999_990.0
    for below, unit, size in ((0.95, "ns", 1e-3), (950.0, "us", 1.0), (longest, "ms", 1e3)):
        if us < below:
            return fixed(us / size, 2, bare=True, comma=False).scaled(size).with_unit(unit)
    return fixed(us / 1e6, 2, comma=False).scaled(1e6).with_unit(" s")
