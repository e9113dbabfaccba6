"""What was slow in runs: stretches of the load with their causes, and the slowest operations with their times.

Where an operation visits one block, they are single reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from openslob.analyze.load_kinds import load_kind, timed_of
from openslob.core.units import NANOS
from openslob.record.model import MOST_EPISODES, EpisodeRow, RunRecord
from openslob.report.document import Paragraph, Part, Section, TextTable
from openslob.report.format import INDENT, micros, number

MOST = 10
# In the text of a run whose subject they are not.
FEW = 5
SLICE_NOTE = (
    "An operation ran between these seconds of the load: a session reports slice by slice. Times are the server's."
)
# More would hide the worst ones; the record has the others.
SHOWN = 10


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
    """Return whether each latency of the runs is that of an operation which reads one block and does nothing else."""
    return all(
        record.spec.get("work_unit") == 1
        and not (record.spec.get("update_pct") or record.spec.get("scan_pct") or record.classes)
        and not timed_of(record).is_batch
        for record in records
    )


def cells_of(found: Sequence[SlowOperation], several: bool) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return head and rows of a table of the operations; of ``several`` runs, with the sessions and id of the run."""
    head = ("latency", "operation", "session", "since (UTC)", "seconds of the load")
    rows = tuple(
        (
            micros(slow.us),
            timed_of(slow.record).one(slow.kind),
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


def slow_stretches(record: RunRecord) -> Section:
    """Return the worst stretches in the order of time, and the sums by cause if there are more."""
    rows = record.episodes
    if not rows or record.window is None:
        return Section("Slow stretches", ())
    worst = sorted(sorted(rows, key=lambda row: -row.lost_ops)[:SHOWN], key=lambda row: row.begin_s)
    spans = [f"{row.begin_s:.0f} to {row.end_s:.0f} s" for row in worst]
    named = [row.cause.rpartition("either ") for row in worst]
    width, causes = max(map(len, spans)), max(len(either.strip() or cause) for _, either, cause in named)
    parts = [Paragraph(_sum(record, rows))]
    for span, row, (_, either, cause) in zip(spans, worst, named, strict=True):
        also = f" (also: {', '.join(row.also)})" if row.also else ""
        lead = f"{INDENT}{span:>{width}}  {either.strip() or cause:<{causes}}  "
        # Two causes are too long for a column.
        both = f"{cause}; " if either else ""
        parts.append(Paragraph(f"{both}{loss(row)}; {row.evidence}{also}", lead))
    if len(rows) > len(worst):
        all_of_them = "All" if len(rows) < MOST_EPISODES else f"The {len(rows)} worst"
        said = f"These are the {len(worst)} worst. {all_of_them}, by cause: {'; '.join(by_cause(rows))}."
        parts.append(Paragraph(said))
    return Section("Slow stretches", tuple(parts), ", of this load's own course")


def loss(row: EpisodeRow) -> str:
    """Return how much slower the load was, in words."""
    less = 100 * (1 - row.ops_per_s / row.usual_ops_per_s) if row.usual_ops_per_s > 0 else 0.0
    return f"{less:.0f} % slower" if less >= 1 else "higher latency"


def by_cause(rows: Sequence[EpisodeRow]) -> list[str]:
    """Return number, length and lost operations of the stretches of each cause, the greatest loss first."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for row in rows:
        for place, amount in enumerate((1, row.end_s - row.begin_s, row.lost_ops)):
            sums[row.cause][place] += amount
    ordered = sorted(sums.items(), key=lambda item: -item[1][2])
    return [
        f"{cause} {count:.0f} ({number(seconds)} s, {number(round(lost))} lost)"
        for cause, (count, seconds, lost) in ordered
    ]


def _sum(record: RunRecord, rows: Sequence[EpisodeRow]) -> str:
    assert record.window is not None
    seconds, lost = sum(row.end_s - row.begin_s for row in rows), sum(row.lost_ops for row in rows)
    stretches = "1 stretch" if len(rows) == 1 else f"{len(rows)} stretches"
    if len(rows) >= MOST_EPISODES:
        # The record has no more than these.
        stretches = f"The {len(rows)} worst stretches"
    what = load_kind(record).unit_of_work[0].removeprefix("per ")
    whole = number(record.window.load_seconds)
    return f"{stretches}, {number(seconds)} s of {whole} s; {number(round(lost))} {what}s less than usual were done."
