"""The list of all records in a folder, for the page that opens them: each is read again only if it has changed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob.analyze.verdict_registry import Severity, severity_of
from openslob.core.disk import file_identity
from openslob.core.errors import SlobError
from openslob.kinds.contract import kind_of, list_followable
from openslob.kinds.listing import RUNNING, UNREADABLE, overview
from openslob.record import finding, store
from openslob.record.finding import Found, Listed
from openslob.record.model import Status
from openslob.report.document import in_words
from openslob.report.format import micros, number

Row = dict[str, Any]


class MissingError(Exception):
    """What is asked for is not there."""


_FIGURES = ("sessions", "update_pct", "ops_per_s", "pio_read_per_s")
# What a record's folder says: when it began, and its name.
_TIMED = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-(?P<name>.+)")
# So many records are read before the clock is looked at again.
_AT_ONCE = 25


@dataclass(frozen=True)
class _Known:
    """A record's row, and by what a change is noticed. Before the record is read, its row is what its folder says."""

    identity: tuple[object, ...]
    row: Row
    is_read: bool = False


class Catalogue:
    """The whole records of a folder; their runs are seen with them."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._known: dict[str, _Known] = {}

    def look(self, budget_s: float) -> Mapping[str, Any]:
        """Return a row for each record, the newest first, and how many records are still to be read.

        What is new or has changed is read for so long, newest first; until then its row has what its folder says.
        However slow the host is, some records are read unless there is no time at all.
        """
        self._note_changes()
        until, goes_on = time.monotonic() + budget_s, budget_s > 0
        unread = [name for name, each in self._known.items() if not each.is_read]
        while unread and goes_on:
            self._read(unread[:_AT_ONCE])
            del unread[:_AT_ONCE]
            goes_on = time.monotonic() < until
        rows = [each.row for each in self._known.values()]
        rows.sort(key=lambda row: (row["started"], row["id"]), reverse=True)
        return {"where": str(self.results.absolute()), "rows": rows, "left": len(unread)}

    def find(self, record: str) -> Row:
        """Return the row of a record by its id. MissingError if there is none."""
        self._note_changes()
        if record not in self._known:
            raise MissingError(record)
        if not self._known[record].is_read:
            self._read([record])
        return self._known[record].row

    def find_current(self) -> str:
        """Return the id of the newest record in progress that can be seen live, or else of the newest.

        MissingError if there is none.
        """
        while (listed := self.look(1.0))["left"]:
            pass
        shown = [row for row in listed["rows"] if row["live"]]
        busy = [row for row in shown if row["state"] == RUNNING]
        if not shown:
            raise MissingError("no record")
        return str((busy or shown)[0]["id"])

    def _note_changes(self) -> None:
        """Forget what is gone, and the rows of what has changed."""
        before, self._known = self._known, {}
        for name in finding.newest_names(self.results):
            folder = self.results / name
            found = finding.at(folder)
            if found is None:
                continue
            pid = store.running_pid(folder)
            identity = (*file_identity(folder / found.kind.files[0]), pid)
            known = before.get(name)
            same = known is not None and known.identity == identity
            self._known[name] = known if known and same else _Known(identity, _row_of_folder(found, pid is not None))

    def _read(self, names: Sequence[str]) -> None:
        for listed in finding.every(self.results, names, parts=False):
            name = listed.entry.path.name
            self._known[name] = _Known(self._known[name].identity, row_of(listed), is_read=True)


def _row_of_folder(found: Found, is_running: bool) -> Row:
    """Return what the list shows of a record that was not read yet."""
    name = found.path.name
    timed = _TIMED.match(name)
    return {
        "id": name,
        "kind": found.kind.labels.listed,
        "name": timed.group("name") if timed else name,
        "started": "{}-{}-{}T{}:{}:{}Z".format(*timed.groups()[:6]) if timed else "",
        "state": RUNNING if is_running else Status.COMPLETE.value,
        "figures": [["", None]] * (len(_FIGURES) + 1),
        "invalid": "",
        "remarks": "",
        "live": found.kind in list_followable(),
        "runs": found.kind.is_of_runs and not is_running,
        "opens": not is_running,
    }


def row_of(listed: Listed) -> Row:
    """Return what the list shows of a record. Figures are pairs of text and number, by which they are sorted."""
    row, kind = overview(listed), kind_of(listed)
    state = str(row["status"])
    failed = _by_severity(listed, row.get("failed_verdicts", ()))
    caution = failed.get(Severity.CAUTION, "")
    parts = [_ending(listed, row), _contents(listed), f"caution: {caution}" if caution else ""]
    is_over = state not in (RUNNING, UNREADABLE)
    return {
        "id": row["id"],
        "kind": str(row.get("tool") or kind.labels.listed),
        "name": listed.name,
        "started": str(row.get("started_at") or ""),
        "state": state,
        "figures": [*(_figure(row.get(name)) for name in _FIGURES), [micros(row.get("p99_us")), row.get("p99_us")]],
        "invalid": failed.get(Severity.INVALID, ""),
        "remarks": "; ".join(part for part in parts if part),
        "live": _is_seen_live(listed),
        "runs": kind.is_of_runs and is_over,
        "opens": is_over,
    }


def _ending(listed: Listed, row: Row) -> str:
    """Return how a record ended unless it is complete, and why."""
    if row["status"] in (RUNNING, Status.COMPLETE):
        return ""
    why = row.get("problem") or next(iter(getattr(listed.entry.record, "errors", ())), "")
    return f"{row['status']}: {why}" if why else str(row["status"])


def _contents(listed: Listed) -> str:
    record = listed.entry.record
    return "" if record is None else kind_of(listed).contents(record)


def _by_severity(listed: Listed, failed: Sequence[str]) -> Mapping[Severity, str]:
    """Return the verdicts that fail by what follows, in words."""
    figures = {each.name: each.figures for each in getattr(listed.entry.record, "verdicts", ())}
    found: dict[Severity, list[str]] = {}
    for name in failed:
        found.setdefault(severity_of(name, figures.get(name, {})), []).append(in_words(name))
    return {severity: ", ".join(names) for severity, names in found.items()}


def _is_seen_live(listed: Listed) -> bool:
    if listed.entry.record is None or listed.kind not in list_followable():
        return False
    try:
        kind_of(listed).follow(listed.entry.path)
    except SlobError:
        # A copy of a record without its runs.
        return False
    return True


def _figure(value: float | Sequence[float] | None) -> list[Any]:
    """Return the text of a figure, or of the lowest and the highest of several, and the highest one."""
    if not isinstance(value, Sequence):
        return [number(value), value]
    low, high = number(min(value)), number(max(value))
    return [low if low == high else f"{low}–{high}", max(value)]
