"""The pictures of a test of failover: commits over time through each outage, and how far copies were behind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from openslob.core.units import MIB
from openslob.kinds.failover.record import COMMITS_FILE, LAG_FILE, TIMES, FailoverRecord, rows_of
from openslob.report.charts.picture import Panel, Picture
from openslob.report.charts.theme import inline
from openslob.report.charts.time_panels import rates
from openslob.report.document import TextTable
from openslob.report.format import seconds

Row = dict[str, Any]
# Cycles that are drawn: those with the longest outages.
_MOST_CYCLES = 5
# In place of a cycle, where the load goes on all the time.
_WHOLE = "commits"


def failover_pictures(record: FailoverRecord, folder: Path, result: str) -> tuple[Picture, ...]:
    """Return the picture of the cycles or steps, described by its ``result``; none without a time line.

    SlobError for a damaged file.
    """
    cycles = _choose_drawn(record)
    commits = commit_rows(rows_of(folder, COMMITS_FILE), cycles)
    if not commits:
        return ()
    lag = [row | {"copy": record.short_name(row["copy"])} for row in rows_of(folder, LAG_FILE)]
    end_s = max(row["middle_s"] for row in commits)
    panels: list[Panel] = [_panel("picked_cycle", commits, "commits/s", end_s)]
    notes = ["Acknowledged commits in each tenth of a second, and how far each copy is behind."]
    for field, scale, title in (("bytes_behind", MIB, "behind (MB)"), ("heartbeat_s", 1, "behind (s)")):
        rows = lag_rows(lag, cycles, field, scale)
        if any(row["value"] for row in rows):
            panels.append(_panel(f"picked_{field}", rows, title, end_s))
        elif rows and field == "heartbeat_s":
            notes.append("No copy ever lacked a beat of the heartbeat.")
    left_out = len(record.cycles) - len(cycles)
    return (
        Picture(
            name="failover",
            title="Commits through an outage" if record.cycles else "Commits and the lag of copies",
            description=result,
            panels=tuple(panels),
            notes=(*notes, *([f"{left_out} cycles with shorter outages are not drawn."] if left_out > 0 else [])),
            table=_table(record),
        ),
    )


def _choose_drawn(record: FailoverRecord) -> dict[str, str]:
    """Return the names of the series by the number of the cycle."""
    longest = sorted(record.cycles, key=lambda cycle: -(cycle.value("outage_s") or 0.0))[:_MOST_CYCLES]
    chosen = {str(cycle.number): f"cycle {cycle.number}" for cycle in sorted(longest, key=lambda each: each.number)}
    return chosen or {"1": _WHOLE}


def commit_rows(rows: Sequence[Row], cycles: dict[str, str]) -> list[Row]:
    """Return a row for each step of the time line of these cycles, as a rate per second."""
    begins = {number: [float(row["from_s"]) for row in rows if row["cycle"] == number] for number in cycles}
    step = min((b - a for each in begins.values() for a, b in pairwise(each) if b > a), default=0.1)
    return [
        {
            "series": cycles[row["cycle"]],
            "middle_s": float(row["from_s"]) + step / 2,
            "value": float(row["acknowledged"]) / step,
        }
        for row in rows
        if row["cycle"] in cycles
    ]


def lag_rows(rows: Sequence[Row], cycles: dict[str, str], field: str, scale: float) -> list[Row]:
    """Return a row for each known sample of the lag."""
    return [
        {
            "series": f"{row['copy']}, {cycles[row['cycle']]}" if len(cycles) > 1 else row["copy"],
            "middle_s": float(row["at_s"]),
            "value": float(row[field]) / scale,
        }
        for row in rows
        if row["cycle"] in cycles and row[field]
    ]


def _panel(pick: str, rows: list[Row], title: str, end_s: float) -> Panel:
    names = list(dict.fromkeys(row["series"] for row in rows))
    return rates(pick, inline(rows), names, title, (0.0, end_s))


def _table(record: FailoverRecord) -> TextTable | None:
    if not record.cycles:
        return None
    rows = tuple(
        (record.cycle_name(cycle), *(seconds(cycle.value(name)) for name, _ in TIMES)) for cycle in record.cycles
    )
    return TextTable(("cycle", *(title for _, title in TIMES)), rows)
