"""Points of the latency-over-IOPS picture from reports: one per report, one line per series of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from openslob.awr import cells
from openslob.awr.cells import ColumnValue, Subject


@dataclass(frozen=True, slots=True)
class PetalPoint:
    """One run: a point of line ``series``, in order of ``sessions``. Rates per second, MB of 2^20 bytes."""

    series: str
    sessions: int | None
    iops: float
    mb_per_s: float | None
    latency_us: float
    file: str


def point(subject: Subject, group_by: str, event: str | None = None) -> PetalPoint | str:
    """The point of a report, or why it has none. ``event`` replaces the single-block read as the latency."""
    latency = cells.latency(event)(subject) if event else cells.read_latency(subject)
    rate = cells.iops(subject)
    if not isinstance(rate.value, float):
        return rate.why
    if not isinstance(latency.value, float):
        return latency.why
    megabytes = cells.mb_per_s(subject).value
    return PetalPoint(
        series=series(subject, group_by),
        sessions=subject.name.sessions,
        iops=rate.value,
        mb_per_s=megabytes if isinstance(megabytes, float) else None,
        latency_us=latency.value,
        file=PurePath(subject.report.path).name,
    )


def series(subject: Subject, group_by: str) -> str:
    """The name of the line a report belongs to."""
    path = PurePath(subject.report.path)
    if group_by == "dir":
        return path.parent.name or "."
    if group_by == "block_size":
        return _block_size(cells.block_size(subject))
    if group_by == "none":
        return "all reports"
    return subject.name.group if subject.name.sessions is not None else "no session count"


def _block_size(size: ColumnValue) -> str:
    return f"{size.value / 1024:g}k" if isinstance(size.value, int) else "block size unknown"
