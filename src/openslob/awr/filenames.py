"""Session counts and series from the names of report files.

A report does not say how many SLOB sessions ran; users put the number in the file name. By default only unambiguous
forms are recognised: ``awr_0_16.txt`` (writers, readers), ``awr.064.txt`` and ``awr.txt.128``, with any prefix.
The numbers in Oracle's own names (``awrrpt_1_155_156.html``) are instance and snapshots, not sessions. Other names
need a pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from openslob.awr.inputs import bare_name
from openslob.core.errors import UsageError

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
    """Session counts from a file name. ``sessions`` is writers plus readers; ``group`` is the name without counts."""

    sessions: int | None = None
    writers: int | None = None
    readers: int | None = None
    group: str = ""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a user's pattern; UsageError if it is invalid or has none of the groups in `GROUPS`."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern is not a regular expression: {error}") from None
    if not set(compiled.groupindex) & set(GROUPS):
        raise UsageError(
            "--pattern has none of the named groups", r"use (?P<sessions>\d+), or the groups writers, readers, group"
        )
    return compiled


def parse_name(path: str, pattern: re.Pattern[str] | None = None) -> FileName:
    """Parse the name of ``path``. A ``pattern`` is searched for in the whole path and replaces the default forms."""
    name = bare_name(path)
    if pattern is not None:
        return _from_match(pattern.search(path), name)
    return _from_match(next((match for form in _FORMS if (match := form.fullmatch(name))), None), name)


def _from_match(match: re.Match[str] | None, name: str) -> FileName:
    if match is None:
        return FileName(group=PurePath(name).stem)
    found = match.groupdict()
    sessions, writers, readers = (_count(found.get(key)) for key in ("sessions", "writers", "readers"))
    if sessions is None and (writers is not None or readers is not None):
        sessions = (writers or 0) + (readers or 0)
    return FileName(sessions, writers, readers, found.get("group") or "")


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
