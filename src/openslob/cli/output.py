"""What the user wants to see of a command: how much, and whether in colour."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

RED, GREEN, YELLOW, BOLD, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
# What is coloured: a verdict's sign and word, and what begins a line that warns.
_COLOURED = (
    (
        re.compile(
            r"\bINVALID\b|✗ FAILS|(?<=^)!! [A-Z].*$|\b\d+ fail(?:s|ed)?\b(?! in)|!! \d+ FAILS?",
            re.MULTILINE,
        ),
        RED,
    ),
    (re.compile(r"✓ holds|\bnone fails\b|(?<=VERDICTS: )all \d+ hold"), GREEN),
    (re.compile(r"^  caution(?=  )|✗ caution|\? can't tell|\? unknown|^! (?=\S)", re.MULTILINE), YELLOW),
    (re.compile(r"^[A-Z/]{2}[A-Z/ ]+(?=$|,|:)", re.MULTILINE), BOLD),
)


class Color(StrEnum):
    """When output is coloured. ``auto``: on a terminal."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass
class Output:
    """The choice of the command that runs."""

    quiet: bool = False
    verbose: bool = False
    color: Color = Color.AUTO

    def is_coloured(self, stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
        """Return whether text on ``stream`` is coloured.

        The option decides, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then CLICOLOR and the terminal.
        """
        if self.color is not Color.AUTO:
            return self.color is Color.ALWAYS
        if environment.get("NO_COLOR"):
            return False
        if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
            return True
        plain = environment.get("CLICOLOR") == "0" or environment.get("TERM", "dumb") in ("dumb", "unknown")
        return stream.isatty() and not plain


# Of this process; the options of the command line set it.
OUTPUT = Output()


def add_colour(text: str, answer: str = "") -> str:
    """Return ``text`` with its verdicts in colour and its headings bold, and ``answer`` wherever it is in it."""
    if answer:
        return f"{BOLD}{answer}{PLAIN}".join(add_colour(part) for part in text.split(answer))
    for pattern, colour in _COLOURED:
        text = pattern.sub(rf"{colour}\g<0>{PLAIN}", text)
    return text
