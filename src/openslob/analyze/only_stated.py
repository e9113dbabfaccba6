"""What of a record no raw file says: it is stated once, by the run itself, and nothing else shows it.

At most ten groups: whoever relies on a record must be able to read them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from openslob.record.facts import FactsRecord, Path, leaves


@dataclass(frozen=True)
class Stated:
    """Things that are only stated: their name, and why nothing else shows them."""

    name: str
    why: str


IDENTITY = Stated("name, time and version", "the program's own word; other times are moments of raw files")
ASKED = Stated("what was asked for", "raw files show operations and their rate, and not what was wanted")
PLATFORM = Stated("server, host and settings", "they said so once, and no row has it")
REMARKS = Stated("notes, errors and reasons", "sentences; what they explain is missing from raw files, too")
OTHERS = Stated("other sessions", "samples have the test's sessions alone")
OPERATIONS = Stated("single operations", "slices have sums: slowest, late, and cancelled ones, and times of each kind")
BEFORE = Stated("before and after the window", "sizes of tables, warm-up, ceiling and server's report are of no row")
ROWS = Stated(
    "moments and readings",
    "no figure needs them: figures are of changes, and not of where a counter stood that never moved",
)
FILES = Stated("reports and attachments", "texts for people: only their digests are compared")
DOCUMENT = Stated("the record of several parts", "what it says beside the figures of its runs has no raw files")
GROUPS = (IDENTITY, ASKED, PLATFORM, REMARKS, OTHERS, OPERATIONS, BEFORE, ROWS, FILES, DOCUMENT)

_GIVEN = {"spec": ASKED, "sources": ASKED, "engine": PLATFORM, "environment": PLATFORM, "notes": REMARKS}
_MEASURED = {
    **dict.fromkeys(("engine", "instances", "host", "drivers", "file_system"), PLATFORM),
    "errors": REMARKS, "interrupted": REMARKS,
    "others": OTHERS, "waits": OTHERS, "wait_samples": OTHERS,
    "slowest": OPERATIONS, "schedule": OPERATIONS, "unfinished_s": OPERATIONS, "sessions": OPERATIONS,
    "connects": OPERATIONS,
}  # fmt: skip


def group_of(path: Path) -> Stated:
    """Return the group of a part of a measurement or, below ``given``, of a record."""
    if "unknown" in path:
        return REMARKS
    if path[0] == "given":
        return _GIVEN.get(str(path[1]), IDENTITY)
    return _MEASURED.get(str(path[0]), BEFORE)


def only_stated(facts: FactsRecord, counted: bool) -> Iterator[tuple[Stated, Path]]:
    """Yield what only a run's facts say, with its group; ``counted``: what the engine counted follows from rows."""
    found = [path for path, _ in leaves(dict(facts.given), ("given",))]
    found += [path for path, _ in facts.measured if not (counted and _is_counted(path))]
    found += facts.unmeasured
    for path in found:
        yield group_of(path), path


def _is_counted(path: Path) -> bool:
    return path[0] == "engine" or (path[0] == "instances" and "engine" in path) or path[:2] == ("others", "shares_pct")
