"""The table of records: one row each, with its number, what it is, its answer and how far it is to be trusted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from openslob.analyze.verdict_registry import Severity, gravest, severity_of
from openslob.core.workload import Mode, updates_asked
from openslob.kinds.contract import kind_of
from openslob.record import labels
from openslob.record.finding import Listed
from openslob.record.model import Holds, RunRecord, Status, Verdict
from openslob.report.format import number, shorten

RUNNING = "running"
UNREADABLE = "unreadable"
OK = "ok"
_BY_GRAVITY = [*Severity, OK]
# A moment of the last half year is shown with its time, an older one with its year, as `ls -l` does.
_RECENT = timedelta(days=182)
# So wide are columns of text that say enough: of those that are wider, a narrow screen cuts the widest beyond it first.
_ENOUGH = {"what": 17, "on": 8, "answer": 29, "tags": 12, "remarks": 0}
_LEAST = {"what": 12, "on": 6, "answer": 18, "tags": 6, "remarks": 6}
# Reasons of failures are longer: they are remarks, where no other column has to be as wide.
_LONGEST_ANSWER = 60
_GAP = "  "
# So wide is a screen that shows ids and remarks, too.
_WIDE = 120

# What a run can be about, and what a list calls it.
READS = "pio_read_per_s"
MAIN_RATES = {
    "commits_per_s": "commits/s",
    "transactions_per_s": "transactions/s",
    READS: "reads/s",
    "lio_per_s": "cached reads/s",
    "block_visits_per_s": "block visits/s",
}
# From this share of block visits on, a run is about the reads that are not served by the cache.
_READS_LEAD = 0.5


@dataclass(frozen=True)
class Shown:
    """What a list shows beside the records themselves: their numbers, and the runs of those that have some."""

    numbers: Mapping[str, int]
    runs: Mapping[Path, Sequence[RunRecord]]

    @classmethod
    def of(cls, listed: Sequence[Listed], given: Mapping[str, int]) -> Shown:
        """Return what is shown of these records with ``given`` numbers, by the names of their folders."""
        runs: dict[Path, list[RunRecord]] = defaultdict(list)
        for each in listed:
            if each.part_of and each.entry.record:
                runs[each.part_of.path].append(each.entry.record)
        return cls(given, runs)

    def number(self, listed: Listed) -> int | None:
        """Return the number of a record; None if it is a part of another one, or has none."""
        return None if listed.part_of else self.numbers.get(listed.entry.id)

    def answer(self, listed: Listed) -> str:
        """Return the main figure of a record, or how it ended and why; empty if there is nothing to say."""
        record = listed.entry.record
        if record is None:
            return f"{UNREADABLE}: {listed.entry.problem}"
        said = kind_of(listed).answer(record, self.runs.get(listed.entry.path, ()))
        if listed.entry.pid is not None:
            return f"{RUNNING}: {said}" if said and not listed.busy else RUNNING
        why = next(iter(getattr(record, "errors", ())), "")
        if record.status is Status.COMPLETE:
            return said
        return f"{record.status.value}: {why or said}" if why or said else str(record.status.value)

    def checks(self, listed: Listed) -> str:
        """Return the gravest that follows from a record's verdicts, or those of its runs; empty without verdicts.

        Of runs of which only some are invalid, it is how many.
        """
        record = listed.entry.record
        if record is None or listed.entry.pid is not None:
            return ""
        if own := getattr(record, "verdicts", ()):
            return _gravest(own)
        of_runs = [_gravest(run.verdicts) for run in self.runs.get(listed.entry.path, ()) if run.verdicts]
        invalid = of_runs.count(Severity.INVALID)
        if 0 < invalid < len(of_runs):
            return f"{invalid}/{len(of_runs)} {Severity.INVALID}"
        return min(of_runs, key=_BY_GRAVITY.index) if of_runs else ""


def _gravest(verdicts: Sequence[Verdict]) -> str:
    failed = [severity_of(each.name, each.figures) for each in verdicts if each.verdict is Holds.FAILS]
    return gravest(failed).value if failed else OK


def overview(listed: Listed, shown: Shown | None = None) -> dict[str, Any]:
    """Return one record as plain values; None means unknown.

    ``p99_us`` is that of the most frequent kind of operation. For a raw measurement, ``tool`` names its command and
    ``pio_read_per_s`` is the highest rate it found. ``sweep`` is the id of the sweep that a run is a point of, and
    ``part_of`` that of the record of any kind that it is a part of. ``number``, ``server``, ``answer``, ``checks`` and
    ``tags`` are as the list shows them.
    """
    entry, record, whole = listed.entry, listed.entry.record, listed.part_of
    shown = shown or Shown.of([listed], {})
    row: dict[str, Any] = {"id": entry.id, "path": str(entry.path), "number": shown.number(listed)}
    if record is None:
        return {**row, "status": UNREADABLE, "problem": entry.problem}
    return {
        **row,
        "kind": record.kind,
        "name": record.name,
        "sweep": None,
        "part_of": whole.path.name if whole else None,
        "started_at": record.started_at,
        "status": RUNNING if entry.pid is not None else record.status.value,
        "pid": entry.pid,
        "server": kind_of(listed).server(record),
        "answer": shown.answer(listed),
        "checks": shown.checks(listed),
        "tags": list(tags_of(listed)),
        **(kind_of(whole).of_part(whole) if whole else {}),
        **kind_of(listed).row(record),
    }


def tags_of(listed: Listed) -> tuple[str, ...]:
    """Return the tags of a record; none if it can't be read, which its row says."""
    return labels.of(listed.entry.path).tags if listed.entry.record else ()


def render_list(shown: Shown, listed: Sequence[Listed], columns: int | None = None, now: datetime | None = None) -> str:
    """Return the table, a line for each record; texts are cut to the columns of the screen, None: to none.

    A wide screen shows ids, the load and which verdicts fail, too.
    """
    is_wide = columns is None or columns >= _WIDE
    head = ("#", "when (UTC)", "what", "on", "answer", "checks", "tags", *(["id", "remarks"] if is_wide else []))
    rows = [_row(shown, each, now or datetime.now(UTC))[: len(head)] for each in listed]
    used = [at for at, title in enumerate(head) if title != "tags" or any(row[at] for row in rows)]
    table = [[line[at] for at in used] for line in (head, *rows)]
    titles = table[0]
    widths = _fit(titles, [max(map(len, column)) for column in zip(*table, strict=True)], columns)
    return "\n".join(_line(line, widths) for line in table) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *texts = (shorten(cell, width) for cell, width in zip(cells, widths, strict=True))
    return _GAP.join([f"{first:>{widths[0]}}", *map(str.ljust, texts, widths[1:])]).rstrip()


def _fit(titles: Sequence[str], widths: Sequence[int], columns: int | None) -> list[int]:
    """Return widths that fit into so many columns, as far as texts can be cut."""
    fitted = list(widths)
    texts = [at for at, title in enumerate(titles) if title in _ENOUGH]
    while columns is not None and sum(fitted) + len(_GAP) * (len(fitted) - 1) > columns:
        cut = [at for at in texts if fitted[at] > _LEAST[titles[at]]]
        if not cut:
            break
        fitted[max(cut, key=lambda at: fitted[at] - _ENOUGH[titles[at]])] -= 1
    return fitted


def _row(shown: Shown, listed: Listed, now: datetime) -> tuple[str, ...]:
    record, whole = listed.entry.record, listed.part_of
    kind = f"  {whole.kind.labels.part}" if whole else kind_of(listed).listed_as(record) if record else str(listed.kind)
    given, answer = shown.number(listed), shown.answer(listed) if record else listed.entry.problem
    return (
        "" if given is None else str(given),
        _moment(record.started_at if record else "", now),
        f"{kind} {listed.name}",
        kind_of(listed).server(record) if record else "",
        shorten(answer, _LONGEST_ANSWER) if record else UNREADABLE,
        shown.checks(listed),
        " ".join(tags_of(listed)),
        listed.entry.id,
        "; ".join(each for each in (answer * (len(answer) > _LONGEST_ANSWER or not record), _remarks(listed)) if each),
    )


def _remarks(listed: Listed) -> str:
    """Return the load of a record, what it consists of, and which of its verdicts fail; empty if it can't be read."""
    kind, record = kind_of(listed), listed.entry.record
    if record is None:
        return ""
    row = kind.row(record)
    sessions, updates = (_values(row.get(name)) for name in ("sessions", "update_pct"))
    what = "churn" if row.get("mode") == Mode.CHURN else "updates"
    fails = ", ".join(name.replace("_", " ") for name in row["failed_verdicts"])
    parts = [
        f"{sessions} session{'' if sessions == '1' else 's'}" if sessions else "",
        f"{updates} % {what}" if updates else "",
        kind.contents(record),
        f"fails: {fails}" if fails else "",
    ]
    return "; ".join(part for part in parts if part)


def _values(value: float | Sequence[float] | None) -> str:
    """Return a value, or the lowest and the highest of several; empty for none."""
    if isinstance(value, Sequence):
        low, high = (number(each) for each in (min(value), max(value)))
        return low if low == high else f"{low}–{high}"
    return "" if value is None else number(value)


def _moment(text: str, now: datetime) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return f"{at:%d %b %H:%M}" if abs(now - at) < _RECENT else f"{at:%d %b  %Y}"


def chosen(
    listed: Sequence[Listed], kind: str | None, tags: Collection[str], server: str | None, since: datetime | None
) -> list[Listed]:
    """Return the whole records of a kind, with all of these tags, of a server whose name has this text, since a time.

    None means any. A record that can't be read is none of them.
    """
    return [
        each
        for each in listed
        if (record := each.entry.record)
        and (kind is None or kind in kinds_of(each))
        and set(tags) <= set(tags_of(each))
        and (server is None or server in kind_of(each).server(record))
        and (since is None or datetime.fromisoformat(record.started_at) >= since)
    ]


def kinds_of(each: Listed) -> set[str]:
    """Return the words for the kind of a record that can be read: that of its file, and those of the list."""
    record = each.entry.record
    return {record.kind, each.kind.labels.listed, kind_of(each).listed_as(record)} if record else set()


def main_rate(record: RunRecord) -> str | None:
    """Return the name of the rate that a run is about: a key of `MAIN_RATES`; None if it is not known."""
    known = {name: value for name in MAIN_RATES if (value := record.value(name)) is not None}
    only_updates = record.spec.get("mode") == Mode.REDO or _values(updates_asked(record.spec)) == "100"
    visits = known.get("block_visits_per_s") or known.get("lio_per_s") or 0.0
    if READS in known and known[READS] < _READS_LEAD * visits:
        del known[READS]
    if not only_updates:
        known.pop("commits_per_s", None)
    return next(iter(known), None)
