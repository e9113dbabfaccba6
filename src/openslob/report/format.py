"""Formatting of numbers, units, wrapped text, and of tables in the width that a screen has."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from unicodedata import category

from openslob.core.units import MIB, format_bytes

# Columns of running text: the narrowest terminal in use. Tables are as wide as they need to be.
WIDTH = 80
MISSING = "–"
INDENT = "  "
# Smaller numbers are shown with an exponent.
_SMALLEST_PLAIN = 1e-6
_PLAIN_SIGNS = str.maketrans(
    {"✓": "+", "✗": "x", "–": "-", "—": "-", "µ": "u", "×": "x", "…": "~", "±": "+-", "≥": ">=", "≤": "<=", "→": "->"}
    | {"·": "-", "│": "|", "┤": "+", "└": "+", "─": "-", "┬": "+"}
    | dict(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True))
)
_BEYOND_ASCII = re.compile(r"[^\t\n -~]+")
_NUMBER_AND_UNIT = re.compile(r"(\d) (%|[KMGT]?B\b|[mµ]?s\b)")
_SECOND_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
GAP = "  "
# Joins words that stay in one line.
NO_BREAK = "\u00a0"
# A column of text is wrapped beside others if this much room is left for it; else it goes into the next block.
_NARROWEST_TEXT = 20
# No column of text is made narrower than this, whatever the screen.
_LEAST_TEXT = 8
# Keys are wrapped if all of them together take more than this share of the screen.
_KEY_SHARE = 0.5


def fold_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int | None = None,
    keys: int = 1,
    texts: Collection[int] = (0,),
    indent: str = GAP,
) -> list[str]:
    """Return the lines of a table that is at most ``columns`` wide; None: as wide as it needs to be.

    Columns that do not fit go into further blocks, and nothing is cut. Every block repeats the key columns, so each can
    be read alone. A cell of text is wrapped in its column; a figure stays whole, even if its line is then longer than
    the screen.

    Args:
        head: The headings, one for each column.
        rows: The cells; figures are texts already.
        columns: Width of the screen.
        keys: How many of the first columns name the row; each block repeats them.
        texts: Numbers of the columns with text: they are left-aligned and may be wrapped. The others are right-aligned.
        indent: What each line begins with.

    """
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    room = None if columns is None else columns - len(indent)
    if room is None or _width(widths) <= room:
        blocks = [dict(enumerate(widths))]
    else:
        narrow = [max([_longest_word(title), *map(len, column)]) for title, *column in zip(head, *rows, strict=True)]
        # Headings are wrapped only if that saves a block.
        blocks = min((_divide_columns(each, room, keys, texts) for each in (widths, narrow)), key=len)
    lines: list[str] = []
    for block in blocks:
        lines += [""] if lines else []
        lines += _row([head[column] for column in block], block, texts, indent, heading=True)
        for row in rows:
            lines += _row([row[column] for column in block], block, texts, indent)
    return lines


def _divide_columns(widths: Sequence[int], room: int, keys: int, texts: Collection[int]) -> list[dict[int, int]]:
    """Return the blocks of a table as widths by column number.

    Each column is in one block, and the keys in all. A block is wider than ``room`` only if it has one column beside
    the keys, and neither can be made narrower.
    """
    shown = _key_widths(widths, room, keys, texts)
    most = room - _width(shown.values()) - len(GAP)
    blocks = [dict(shown)]
    for column in range(keys, len(widths)):
        left = room - _width(blocks[-1].values()) - len(GAP)
        fits_elsewhere = widths[column] <= most and column < len(widths) - 1
        wrapped = column in texts and left >= _NARROWEST_TEXT and not fits_elsewhere
        if left < widths[column] and not wrapped and len(blocks[-1]) > keys:
            blocks.append(dict(shown))
            left = most
        blocks[-1][column] = min(widths[column], max(left, _LEAST_TEXT)) if column in texts else widths[column]
    return blocks


def _key_widths(widths: Sequence[int], room: int, keys: int, texts: Collection[int]) -> dict[int, int]:
    """Return the widths of the keys; the widest text among them is wrapped until each other column has room."""
    shown = dict(enumerate(widths[:keys]))
    others = [min(width, _NARROWEST_TEXT) if column in texts else width for column, width in enumerate(widths)][keys:]
    most = max(room - max(others) - len(GAP), int(room * _KEY_SHARE)) if others else room
    while _width(shown.values()) > most:
        wrappable = [column for column in shown if column in texts and shown[column] > _LEAST_TEXT]
        if not wrappable:
            break
        shown[max(wrappable, key=lambda column: shown[column])] -= 1
    return shown


def _width(widths: Collection[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _longest_word(title: str) -> int:
    return max(map(len, title.split(" ")), default=0)


def _row(
    cells: Sequence[str], block: dict[int, int], texts: Collection[int], indent: str, heading: bool = False
) -> list[str]:
    """Return the lines of one row; the short cells of a heading stand at the bottom, others at the top."""
    parts = [
        _parts(cell, width, heading or column in texts)
        for cell, (column, width) in zip(cells, block.items(), strict=True)
    ]
    if heading:
        height = max(map(len, parts))
        parts = [[""] * (height - len(lines)) + lines for lines in parts]
    lines = zip_longest(*parts, fillvalue="")
    return [(indent + GAP.join(_align(line, block, texts))).replace(NO_BREAK, " ").rstrip() for line in lines]


def _parts(cell: str, width: int, may_wrap: bool) -> list[str]:
    if len(cell) <= width or not may_wrap:
        return [cell]
    return textwrap.wrap(cell, width) or [""]


def _align(line: Sequence[str], block: dict[int, int], texts: Collection[int]) -> Iterator[str]:
    for text, (column, width) in zip(line, block.items(), strict=True):
        yield text.ljust(width) if column in texts else text.rjust(width)


def number(value: float | None) -> str:
    """Format a number with three significant digits, or all digits of a whole part; None becomes a dash."""
    if value is None:
        return MISSING
    size = abs(value)
    if value == int(value) or size >= 100:
        return f"{value:,.0f}"
    if size >= 1:
        return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
    if size >= _SMALLEST_PLAIN:
        return f"{value:.{2 - math.floor(math.log10(size))}f}".rstrip("0").rstrip(".")
    return f"{value:.1e}"


def as_float(figure: object) -> float | None:
    """Return a figure of a verdict that is a number; None for others."""
    return float(figure) if isinstance(figure, (int, float)) else None


def percent(value: float | None) -> str:
    """Format a percentage; 99.997 is not rounded to 100."""
    if value is None:
        return MISSING
    if 99.9 < value < 100:
        return f"{math.floor(value * 100) / 100:.2f} %"
    whole = value == int(value)
    return f"{value:.0f} %" if whole else f"{value:.1f} %" if abs(value) >= 1 else f"{value:.2g} %"


def micros(us: float | None) -> str:
    """Format a duration given in µs with the unit that suits it."""
    return seconds(None if us is None else us / 1e6)


def seconds(value: float | None) -> str:
    """Format a duration given in seconds with the unit that suits it."""
    if not value:
        return MISSING if value is None else "0 s"
    scale, unit = next((each for each in _SECOND_UNITS if abs(value) >= each[0]), _SECOND_UNITS[-1])
    return f"{number(value / scale)} {unit}"


def local_moment(at_s: float) -> str:
    """Format a time of day in the zone of this host, with its day."""
    return f"{datetime.fromtimestamp(at_s).astimezone():%a %Y-%m-%d %H:%M}"


def size(count: float | None) -> str:
    """Format a number of bytes with the unit that suits it."""
    if count is None:
        return MISSING
    return f"{number(count)} B" if abs(count) < 1024 else format_bytes(count)


def quantity(value: float | None, unit: str) -> str:
    """Format a value in a unit of the registry without ``/s``, which callers add or put into a heading."""
    if value is None:
        return MISSING
    if unit == "MB":
        return size(value * MIB)
    if unit in ("s", "µs"):
        return seconds(value) if unit == "s" else micros(value)
    if unit == "%":
        return percent(value)
    return f"{number(value)} {unit}".rstrip()


def per_second(value: float | None, unit: str) -> str:
    """Format a rate with its unit. Seconds per second are a number: of CPUs, or of sessions at work."""
    if value is None or unit == "s/s":
        return number(value)
    return f"{quantity(value, unit.removesuffix('/s').removeprefix('1'))}/s"


def pairs(rows: Sequence[tuple[str, str]], columns: int = WIDTH, least: int = 0) -> list[str]:
    """Return lines of ``label  text`` with aligned texts; a long text is wrapped below its beginning.

    There is room for labels of ``least`` letters.
    """
    width = max([least, *(len(label) for label, _ in rows)])
    return [line for label, text in rows for line in hanging(f"{label:<{width}}{INDENT}", text, columns)]


def hanging(head: str, text: str, columns: int = WIDTH) -> list[str]:
    """Wrap ``text`` after ``head`` with a hanging indent."""
    first = INDENT + head
    return wrap(text, first, " " * len(first), columns) or [first.rstrip()]


def warning_lines(texts: Iterable[str], columns: int = WIDTH) -> list[str]:
    """Return what must be read first, each text after an exclamation mark."""
    return [line for text in texts for line in hanging("! ", text, columns)]


def wrap(text: str, first: str = "", later: str = "", columns: int = WIDTH) -> list[str]:
    """Wrap ``text`` to ``columns``; a number and its unit stay on one line."""
    kept = _NUMBER_AND_UNIT.sub(rf"\1{NO_BREAK}\2", text)
    lines = textwrap.wrap(kept, columns, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def title_lines(name: str, right: str) -> list[str]:
    """Return a name and, at the right margin, what belongs to it; in two lines if one is too short."""
    room = WIDTH - len(name) - len(INDENT)
    return [f"{name}{INDENT}{right:>{room}}"] if len(right) <= room else [name, f"{right:>{WIDTH}}"]


def shorten(text: str, width: int) -> str:
    """Cut ``text`` to ``width`` columns, ending in an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Replace signs that an encoding lacks by ASCII ones; an error handler for `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end].translate(_PLAIN_SIGNS).encode("ascii", "replace").decode(), error.end


def without_controls(text: str) -> str:
    """Return ``text`` with its control characters, except tab and line end, shown as in JSON.

    Texts of servers and files could otherwise make a terminal show or do anything: turn around what follows, as U+202E
    does, or hide it. What Unicode does not call printable is none of a text, but for blanks of other widths.
    """
    return _BEYOND_ASCII.sub(_without_controls, text)


def _without_controls(found: re.Match[str]) -> str:
    if found[0].isprintable():
        return found[0]
    return "".join(each if each.isprintable() or category(each) == "Zs" else _escape(each) for each in found[0])


def _escape(sign: str) -> str:
    halves = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at : at + 2].hex()}" for at in range(0, len(halves), 2))


def printable(text: str, encoding: str | None) -> str:
    """Return ``text`` without control characters, and in ASCII unless ``encoding`` can represent it."""
    text = without_controls(text)
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(_PLAIN_SIGNS).encode("ascii", "replace").decode()
    return text
