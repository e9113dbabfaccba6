"""Times of snapshots, as reports print them."""

from __future__ import annotations

import re
from datetime import datetime

from openslob.awr.numbers import Number

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = re.compile(
    r"(?P<day>\d{1,2})-(?:(?P<name>[a-z]{3})|(?P<number>\d{1,2})\S? ?)-(?P<year>\d{4}|\d{2})"
    r" +(?P<hour>\d{1,2}):(?P<minute>\d{2})(?P<second>:\d{2})?",
    re.IGNORECASE | re.ASCII,
)
_SPREAD_S = 1.0  # two times, each within half a second


def snapshot_time(text: str | None) -> datetime | None:
    """Return the time in ``text``, such as ``02-Mar-15 10:00:00``; None if the month's name is of another language."""
    match = _TIME.fullmatch((text or "").strip())
    if match is None:
        return None
    name = (match["name"] or "").lower()
    if name and name not in _MONTHS:
        return None
    month = _MONTHS.index(name) + 1 if name else int(match["number"])
    year = int(match["year"]) + (2000 if len(match["year"]) == 2 else 0)
    second = int((match["second"] or ":0")[1:])
    try:
        return datetime(year, month, int(match["day"]), int(match["hour"]), int(match["minute"]), second)
    except ValueError:
        return None


def seconds_between(begin: str | None, end: str | None) -> Number | None:
    """Return the seconds between two snapshots; None unless both are printed to the second."""
    times = [snapshot_time(text) for text in (begin, end) if (text or "").count(":") == 2]
    if len(times) != 2 or times[0] is None or times[1] is None:
        return None
    return Number((times[1] - times[0]).total_seconds(), _SPREAD_S)
