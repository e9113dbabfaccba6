"""Points of reports in the pictures: latency over read requests and over MB read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from openslob.awr.cells import Subject, header, host, rates, waits


@dataclass(frozen=True, slots=True)
class PetalPoint:
    """A report's point. Rates are per second and count reads only, MB are 2^20 bytes.

    ``db_cpu`` is the CPU seconds of the sessions per second, ``host_busy_pct`` the busy share of the host's CPUs.
    ``database`` is its name and id, empty if the report has neither.
    """

    series: str
    sessions: int | None
    reads: float
    read_mb: float | None
    latency_us: float
    db_cpu: float | None
    host_busy_pct: float | None
    file: str
    database: str = ""


def point_of(subject: Subject, group_by: str, event: str | None) -> PetalPoint | str:
    """Return the point of a report, or why it has none. The latency is that of ``event`` or the single-block read."""
    latency = waits.latency(event)(subject) if event else waits.read_latency(subject)
    reads = rates.requests("read")(subject)
    if not isinstance(reads.value, float):
        return reads.why
    if not isinstance(latency.value, float):
        return latency.why
    return PetalPoint(
        series=_series(subject, group_by),
        sessions=subject.name.sessions,
        reads=reads.value,
        read_mb=rates.megabytes("read")(subject).number,
        latency_us=latency.value,
        db_cpu=rates.db_cpu(subject).number,
        host_busy_pct=host.busy_pct(subject).number,
        file=PurePath(subject.report.path).name,
        database=_database(subject),
    )


def _series(subject: Subject, group_by: str) -> str:
    """Return the name of the series that a report belongs to."""
    path = PurePath(subject.report.path)
    if group_by == "dir":
        return path.parent.name or "."
    if group_by == "block_size":
        size = header.block_size(subject).value
        return f"{size / 1024:g}k" if isinstance(size, int) else "block size unknown"
    if group_by == "none":
        return "all reports"
    return subject.name.group if subject.name.sessions is not None else "no session count"


def _database(subject: Subject) -> str:
    head = subject.report.header
    return " ".join(str(part) for part in (head.db_name, head.db_id) if part is not None)
