"""A drawing in characters: every cell has a sign and a role, which a terminal shows as it can.

Parts of a canvas are canvases too, so that each pane draws from its own corner. Texts of records reach a terminal only
through `Canvas.text`, which leaves out what could control it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from openslob.report.format import printable

_BLANK = ord(" ")


class Role(IntEnum):
    """What a cell is, from which its colour follows. The eight series follow each other, and the steps of maps."""

    PLAIN = 0
    SOFT = 1
    STRONG = 2
    GOOD = 3
    BAD = 4
    UNSURE = 5
    SELECTED = 6
    SERIES = 10
    MAP = 20


SERIES_ROLES = 8
MAP_STEPS = 6


def series_role(number: int) -> int:
    """Return the role of a series or part by its number; they repeat."""
    return Role.SERIES + number % SERIES_ROLES


@dataclass(frozen=True)
class Signs:
    """The signs of plots. ``ascii``: only those that every terminal has. ``coloured``: series differ by colour."""

    ascii: bool = False
    coloured: bool = True

    @property
    def encoding(self) -> str:
        """What text may be made of."""
        return "ascii" if self.ascii else "utf-8"

    @property
    def dotted(self) -> bool:
        """Whether lines are drawn with the eight dots of Braille signs, and distinguished by colour alone."""
        return self.coloured and not self.ascii

    def mark(self, number: int) -> str:
        """Return the sign of a line or a part by its number."""
        if self.dotted:
            return "█"
        return "o+x*=%@&"[number % SERIES_ROLES]

    @property
    def map_steps(self) -> str:
        """The steps of a map, from rare to frequent."""
        return ".:+*#@" if self.ascii else "·░▒▓██" if self.coloured else "·:░▒▓█"

    @property
    def bar(self) -> tuple[str, str]:
        """What is done and what is left of a bar."""
        return ("#", "-") if self.ascii else ("█", "░")


class Canvas:
    """Cells of signs and roles; what is drawn beyond the edges is cut off."""

    def __init__(self, codes: NDArray[np.uint32], roles: NDArray[np.uint8]) -> None:
        self.codes = codes
        self.roles = roles

    @classmethod
    def blank(cls, width: int, height: int) -> Canvas:
        """Return an empty canvas."""
        return cls(np.full((height, width), _BLANK, np.uint32), np.zeros((height, width), np.uint8))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.codes.shape[1])

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[0])

    def part(self, x: int, y: int, width: int, height: int) -> Canvas:
        """Return a part, which shows on this canvas what is drawn on it."""
        x, y = max(x, 0), max(y, 0)
        across, down = slice(x, x + max(width, 0)), slice(y, y + max(height, 0))
        return Canvas(self.codes[down, across], self.roles[down, across])

    def copy(self) -> Canvas:
        """Return another canvas with the same drawing."""
        return Canvas(self.codes.copy(), self.roles.copy())

    def clear(self) -> None:
        """Draw nothing in every cell."""
        self.codes[:], self.roles[:] = _BLANK, Role.PLAIN

    def put(self, x: int, y: int, sign: str, role: int = Role.PLAIN) -> None:
        """Draw one sign of one column."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self.codes[y, x] = ord(sign)
            self.roles[y, x] = role

    def fill(self, x: int, y: int, height: int, sign: str, role: int) -> None:
        """Draw a column of equal signs, ``height`` rows from row ``y`` downwards."""
        if 0 <= x < self.width:
            self.codes[y : y + height, x] = ord(sign)
            self.roles[y : y + height, x] = role

    def text(self, x: int, y: int, text: str, role: int = Role.PLAIN, signs: Signs | None = None) -> int:
        """Write a text, without what could control a terminal; return the column behind it."""
        if not 0 <= y < self.height or x < 0:
            return x
        text = " ".join(printable(text, (signs or Signs()).encoding).splitlines()).replace("\t", " ")
        if text.isascii():
            written = text[: max(self.width - x, 0)]
            self.codes[y, x : x + len(written)] = np.frombuffer(written.encode("ascii"), np.uint8)
            self.roles[y, x : x + len(written)] = role
            return x + len(text)
        for sign in text:
            wide = columns_of(sign)
            if wide and x + wide <= self.width:
                self.put(x, y, sign, role)
                if wide == 2:
                    self.codes[y, x + 1], self.roles[y, x + 1] = 0, role
            x += wide
        return x

    def write(self, x: int, y: int, parts: Sequence[tuple[str, int]], signs: Signs) -> int:
        """Write texts with a role each, one behind the other; return the column behind the last."""
        for text, role in parts:
            x = self.text(x, y, text, role, signs)
        return x

    def row_text(self, y: int) -> str:
        """Return the signs of a row; the second column of a wide sign is NUL."""
        return str(self.codes[y].tobytes(), "utf-32-le")

    def runs(self, y: int) -> list[tuple[str, int]]:
        """Return the texts of a row with one role each."""
        roles, text = self.roles[y], self.row_text(y)
        cuts = [0, *(int(at) + 1 for at in np.flatnonzero(np.diff(roles))), len(text)]
        return [(text[begin:end].replace("\0", ""), int(roles[begin])) for begin, end in pairwise(cuts)]

    def lines(self) -> list[str]:
        """Return the rows as text."""
        return [self.row_text(y).replace("\0", "").rstrip() for y in range(self.height)]


def columns_of(sign: str) -> int:
    """Return how many columns a sign takes on a terminal."""
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
