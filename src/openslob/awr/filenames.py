"""What the name of a report file tells: how many sessions ran, and to which series the run belongs.

A report itself does not say how many SLOB sessions there were; their users put it in the name. Only forms that
mean nothing else are read without being asked: ``awr_0_16.txt`` (writers, readers), ``awr.064.txt`` and
``awr.txt.128``, with any words before. Oracle's own names (``awrrpt_1_155_156.html``: instance and snapshots) are
not sessions. Everything else takes a pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from openslob.errors import UsageError

_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<group>(?:.*[._-])?awr)_(?P<writers>\d{1,5})_(?P<readers>\d{1,5})\.(?:txt|lst|html?)",
        r"(?P<group>(?:.*[._-])?awr(?:[._-]rac)?)[._-](?P<sessions>\d{1,5})\.(?:txt|lst|html?)",
        r"(?P<group>(?:.*[._-])?awr(?:[._-]rac)?)\.(?:txt|lst|html?)[._-](?P<sessions>\d{1,5})",
    )
)
GROUPS = ("sessions", "writers", "readers", "group")


@dataclass(frozen=True, slots=True)
class FileName:
    """What a name tells; sessions are writers and readers together. ``group`` is the name without the sessions."""

    sessions: int | None = None
    writers: int | None = None
    readers: int | None = None
    group: str = ""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A user's pattern; UsageError when it is no regular expression or has none of the groups that are read."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern is no regular expression: {error}") from None
    if not set(compiled.groupindex) & set(GROUPS):
        raise UsageError("--pattern names no group that is read", r"use (?P<sessions>\d+), or writers, readers, group")
    return compiled


def parse_name(path: str, pattern: re.Pattern[str] | None = None) -> FileName:
    """What the name of ``path`` tells; a ``pattern`` is searched in the whole path, and nothing else is tried."""
    name = PurePath(path).name
    if pattern is not None:
        return _told(pattern.search(path), name)
    return _told(next((match for form in _FORMS if (match := form.fullmatch(name))), None), name)


def _told(match: re.Match[str] | None, name: str) -> FileName:
    if match is None:
        return FileName(group=PurePath(name).stem)
    found = match.groupdict()
    sessions, writers, readers = (_count(found.get(key)) for key in ("sessions", "writers", "readers"))
    if sessions is None and (writers is not None or readers is not None):
        sessions = (writers or 0) + (readers or 0)
    return FileName(sessions, writers, readers, found.get("group") or "")


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
