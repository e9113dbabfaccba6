"""What is told in a text, apart from its words."""

from __future__ import annotations

import re


def numbers(text: str) -> list[float]:
    """Return the numbers in a text, in their order."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]
