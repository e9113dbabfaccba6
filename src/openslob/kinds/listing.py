"""The table of records: one row each, with its kind and its most important figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openslob.kinds.contract import kind_of
from openslob.record.finding import Listed
from openslob.record.model import Status
from openslob.report.format import INDENT, fold_table, micros, number

RUNNING = "running"
UNREADABLE = "unreadable"


def overview(listed: Listed) -> dict[str, Any]:
    """Return one record as plain values; None means unknown.

    ``p99_us`` is that of the most frequent kind of operation. For a raw measurement, ``tool`` names its command and
    ``pio_read_per_s`` is the highest rate it found. ``sweep`` is the id of the sweep that a run is a point of, and
    ``part_of`` that of the record of any kind that it is a part of.
    """
    entry, record, whole = listed.entry, listed.entry.record, listed.part_of
    row: dict[str, Any] = {"id": entry.id, "path": str(entry.path)}
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
        **(kind_of(whole).of_part(whole) if whole else {}),
        **kind_of(listed).row(record),
    }


def render_list(listed: Sequence[Listed], columns: int | None = None) -> str:
    """Return the table of records, in as many columns as the screen has."""
    head = ("id", "kind", "sessions", "upd%", "ops/s", "reads/s", "p99", "remarks")
    rows = [_row(each) for each in listed]
    return "\n".join(fold_table(head, rows, columns, texts={0, 1, len(head) - 1})) + "\n"


def _row(listed: Listed) -> tuple[str, ...]:
    row = overview(listed)
    counts = [number(row.get(name)) for name in ("ops_per_s", "pio_read_per_s")]
    whole = listed.part_of
    labels = listed.kind.labels
    kind = f"{INDENT}{whole.kind.labels.part}" if whole else row.get("tool") or row.get("kind") or labels.listed
    varied = [_values(row.get(name)) for name in ("sessions", "update_pct")]
    return (row["id"], kind, *varied, *counts, micros(row.get("p99_us")), _remarks(listed, row))


def _values(value: float | Sequence[float] | None) -> str:
    """Return a value, or the lowest and the highest of several."""
    if isinstance(value, Sequence):
        low, high = (number(each) for each in (min(value), max(value)))
        return low if low == high else f"{low}–{high}"
    return number(value)


def _remarks(listed: Listed, row: Mapping[str, Any]) -> str:
    """Return how a record ended unless it is complete, why, and which verdicts fail."""
    record, status = listed.entry.record, row["status"]
    if record is None:
        return f"{status}: {listed.entry.problem}"
    why = next(iter(getattr(record, "errors", ())), "")
    fails = ", ".join(name.replace("_", " ") for name in row["failed_verdicts"])
    parts = [
        f"{status}: {why}" if why and status != RUNNING else status if status != Status.COMPLETE else "",
        f"fails: {fails}" if fails else "",
        kind_of(listed).contents(record),
    ]
    return "; ".join(part for part in parts if part)
