"""The stretches in which a load was slow, with their causes: a section of the report, and lines for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from openslob.analyze.load_kinds import load_kind
from openslob.record.model import MOST_EPISODES, EpisodeRow, RunRecord
from openslob.report.document import Paragraph, Section
from openslob.report.format import INDENT, number

# More would hide the worst ones; the record has the others.
SHOWN = 10


def slow_stretches(record: RunRecord) -> Section:
    """Return the worst stretches in the order of time, and the sums by cause if there are more."""
    rows = record.episodes
    if not rows or record.window is None:
        return Section("Slow stretches", ())
    worst = sorted(sorted(rows, key=lambda row: -row.lost_ops)[:SHOWN], key=lambda row: row.begin_s)
    spans = [f"{row.begin_s:.0f} to {row.end_s:.0f} s" for row in worst]
    width, causes = max(map(len, spans)), max(len(row.cause) for row in worst)
    parts = [Paragraph(_sum(record, rows))]
    for span, row in zip(spans, worst, strict=True):
        also = f" (also: {', '.join(row.also)})" if row.also else ""
        lead = f"{INDENT}{span:>{width}}  {row.cause:<{causes}}  "
        parts.append(Paragraph(f"{loss(row)}; {row.evidence}{also}", lead))
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
