"""List of records, one line each, including those that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openslob.record.model import Holds, RunRecord
from openslob.record.storage import StorageRecord
from openslob.record.store import RecordEntry
from openslob.record.sweep import SweepRecord
from openslob.report.format import INDENT, MISSING, micros, number, pairs, table
from openslob.report.record_view import value

RUNNING = "running"
UNREADABLE = "unreadable"


def overview(found: RecordEntry[RunRecord] | RecordEntry[StorageRecord]) -> dict[str, Any]:
    """Return one record as plain values; None means unknown.

    ``p99_us`` is that of the most frequent kind of operation. For a raw measurement, ``tool`` names its command and
    ``pio_read_per_s`` is the highest rate it found.
    """
    record = found.record
    row: dict[str, Any] = {"id": found.id, "path": str(found.path)}
    if record is None:
        return {**row, "status": UNREADABLE, "problem": found.problem}
    return {
        **row,
        "kind": record.kind,
        "started_at": record.started_at,
        "status": RUNNING if found.pid else record.status.value,
        "pid": found.pid,
        **(_of_storage(record) if isinstance(record, StorageRecord) else _of_run(record)),
        "failed_verdicts": [verdict.name for verdict in record.verdicts if verdict.verdict is Holds.FAILS],
    }


def _of_storage(record: StorageRecord) -> dict[str, Any]:
    return {
        "tool": record.tool,
        "pio_read_per_s": record.value("max_iops"),
        "p99_us": record.value("max_iops_p99_us"),
    }


def _of_run(record: RunRecord) -> dict[str, Any]:
    return {
        "sessions": value(record, "sessions") or record.spec.get("sessions"),
        "update_pct": record.spec.get("update_pct"),
        "ops_per_s": value(record, "ops_per_s"),
        "pio_read_per_s": value(record, "pio_read_per_s"),
        "p99_us": _p99(record),
    }


def render_list(runs: Sequence[RecordEntry[Any]]) -> str:
    """Return the table of records, followed by the problems of those that cannot be read."""
    rows = [_row(overview(found)) for found in runs]
    head = ("id", "when (UTC)", "status", "sessions", "upd %", "ops/s", "reads/s", "p99", "fails")
    problems = [f"{INDENT}! {found.problem}" for found in runs if found.problem]
    return "\n".join([*table(head, rows, ends_in_text=True), *problems]) + "\n"


def render_sweeps(sweeps: Sequence[tuple[str, SweepRecord | None]]) -> str:
    """Return a line for each sweep that listed runs belong to; empty if there is none."""
    rows = [(name, f"sweep, {each.status.value}: {_points(each)}" if each else UNREADABLE) for name, each in sweeps]
    return "\n".join(["", *pairs(rows), ""]) if rows else ""


def _points(sweep: SweepRecord) -> str:
    return ", ".join(f"{count} {state.value}" for state, count in sweep.counts.items() if count) or "no points yet"


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    when = run.get("started_at", MISSING).replace("T", " ").removesuffix("Z")[:16]
    counts = [number(run.get(name)) for name in ("sessions", "update_pct", "ops_per_s", "pio_read_per_s")]
    fails = ", ".join(name.replace("_", " ") for name in run.get("failed_verdicts", ()))
    return (run["id"], when, run["status"], *counts, micros(run.get("p99_us")), fails)


def _p99(record: RunRecord) -> float | None:
    kinds = [figures for figures in record.latency.values() if figures.get("count")]
    return max(kinds, key=lambda figures: figures["count"])["p99_us"] if kinds else None
