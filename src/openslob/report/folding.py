"""Tables in the width that a screen has: columns that do not fit go into further blocks, and nothing is cut.

Every block repeats the key columns, so each can be read alone. A cell of text is wrapped in its column; a figure stays
whole, even if its line is then longer than the screen.

Example::

    lines = folded(("run", "reads/s", "p99"), [("first", "10,300", "1.20 ms")], columns=80)
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

GAP = "  "
# Joins words of a heading that stay in one line.
NO_BREAK = "\u00a0"
# A column of text is wrapped beside others if this much room is left for it; else it goes into the next block.
_NARROWEST_TEXT = 20
# No column of text is made narrower than this, whatever the screen.
_LEAST_TEXT = 8
# Keys are wrapped if all of them together take more than this share of the screen.
_KEY_SHARE = 0.5


def folded(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: int | None = None,
    keys: int = 1,
    texts: Collection[int] = (0,),
    indent: str = GAP,
) -> list[str]:
    """Return the lines of a table that is at most ``columns`` wide; None: as wide as it needs to be.

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
        blocks = min((fold(each, room, keys, texts) for each in (widths, narrow)), key=len)
    lines: list[str] = []
    for block in blocks:
        lines += [""] if lines else []
        lines += _row([head[column] for column in block], block, texts, indent, heading=True)
        for row in rows:
            lines += _row([row[column] for column in block], block, texts, indent)
    return lines


def fold(widths: Sequence[int], room: int, keys: int, texts: Collection[int]) -> list[dict[int, int]]:
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
    return [(indent + GAP.join(_aligned(line, block, texts))).replace(NO_BREAK, " ").rstrip() for line in lines]


def _parts(cell: str, width: int, may_wrap: bool) -> list[str]:
    if len(cell) <= width or not may_wrap:
        return [cell]
    return textwrap.wrap(cell, width) or [""]


def _aligned(line: Sequence[str], block: dict[int, int], texts: Collection[int]) -> Iterator[str]:
    for text, (column, width) in zip(line, block.items(), strict=True):
        yield text.ljust(width) if column in texts else text.rjust(width)
