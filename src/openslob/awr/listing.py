"""Text as editors and pagers list it: with a number before each line."""

from __future__ import annotations

import re
from itertools import pairwise

_NUMBER = re.compile(r"[ \t]*(?P<number>\d{1,7})(?P<sign>[:.|)\]] ?|\t| {1,2}|$)")
_NUMBERED = 0.9  # of the lines that are not blank have numbers, and so many of these increase
_FEWEST = 20  # lines; a report has more


def without_line_numbers(text: str, title: re.Pattern[str]) -> str:
    """Remove the line numbers if the lines of ``text`` have them, as the line of the ``title`` does.

    The title begins its line in every report, or follows tags, so the sign between its number and its text is the sign
    on every line. A blank line may have lost the blanks at its end.
    """
    found = title.search(text)
    if found is None:
        return text
    start = text.rfind("\n", 0, found.start()) + 1
    first = _NUMBER.match(text, start, found.start())
    if first is None or not first["sign"] or text[first.end() : found.start()][:1] not in ("", "<"):
        return text
    lines = [line for line in text[start:].split("\n") if line.strip()]
    numbers = [int(match["number"]) for line in lines if (match := _NUMBER.match(line))]
    rising = sum(low < high for low, high in pairwise(numbers))
    if len(lines) < _FEWEST or len(numbers) < _NUMBERED * len(lines) or rising < _NUMBERED * (len(numbers) - 1):
        return text
    sign, bare = (re.escape(form) for form in (first["sign"], first["sign"].rstrip()))
    return re.sub(rf"(?m)^[ \t]*\d{{1,7}}(?:{sign}|{bare}$)", "", text)
