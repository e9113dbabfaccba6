"""The slowest operations of runs, and when they came. Where an operation visits one block, they are single reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from openslob.core.units import NANOS
from openslob.record.model import RunRecord
from openslob.report.document import Paragraph, Part, Section, TextTable
from openslob.report.format import micros, number

MOST = 10
# In the text of a run whose subject they are not.
FEW = 5
SLICE_NOTE = (
    "An operation ran between these seconds of the load: a session reports slice by slice. Times are the server's."
)


@dataclass(frozen=True)
class SlowOperation:
    """One of the slowest operations of a run; it ran between two moments, in seconds of the load."""

    record: RunRecord
    kind: str
    us: float
    session: int
    from_s: float
    to_s: float

    @property
    def since(self) -> datetime:
        """The first of the two moments, by the server's clock."""
        begin_ns = self.record.window.load_start_ns if self.record.window else 0
        return datetime.fromtimestamp(begin_ns / NANOS + self.from_s, UTC)


def slowest_of(records: Sequence[RunRecord], most: int | None = MOST) -> list[SlowOperation]:
    """Return the ``most`` slowest operations of the records, or all; none of runs that did not record them."""
    found = [
        SlowOperation(record, kind, each["us"], each["session"], each["from_s"], each["to_s"])
        for record in records
        for kind, figures in record.latency.items()
        for each in figures.get("slowest", ())
    ]
    return sorted(found, key=lambda slow: -slow.us)[:most]


def of_single_blocks(records: Sequence[RunRecord]) -> bool:
    """Return whether every operation of the runs reads one block and does nothing else."""
    return all(
        record.spec.get("work_unit") == 1 and not record.spec.get("update_pct") and not record.spec.get("scan_pct")
        for record in records
    )


def cells_of(found: Sequence[SlowOperation], several: bool) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return head and rows of a table of the operations; of ``several`` runs, with the sessions and id of the run."""
    head = ("latency", "operation", "session", "since (UTC)", "seconds of the load")
    rows = tuple(
        (
            micros(slow.us),
            slow.kind,
            str(slow.session),
            f"{slow.since:%Y-%m-%d %H:%M:%S}.{slow.since.microsecond // 100_000}",
            f"{slow.from_s:.1f} to {slow.to_s:.1f}",
        )
        for slow in found
    )
    if not several:
        return head, rows
    runs = [(number(slow.record.spec.get("sessions")), slow.record.id) for slow in found]
    return (*head, "sessions", "run"), tuple((*row, *run) for row, run in zip(rows, runs, strict=True))


def slowest_section(records: Sequence[RunRecord]) -> Section:
    """Return the slowest operations; the terminal shows fewer unless they are single reads."""
    several, single = len(records) > 1, of_single_blocks(records)
    head, rows = cells_of(slowest_of(records), several)
    texts = frozenset({0, len(head) - 1} if several else {0})
    parts: tuple[Part, ...] = (TextTable(head, rows, texts=texts, few=MOST if single else FEW), Paragraph(SLICE_NOTE))
    return Section("Slowest operations", parts if rows else (), ", of one block each" if single else "")
