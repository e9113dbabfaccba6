"""Adds up what the slices of the window did: pure bookkeeping, one call a slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from openslob.engines.base import SessionPlan, SliceResult
from openslob.histogram import Histogram
from openslob.method import OpKind
from openslob.record.measurement import SessionTotals
from openslob.units import NANOS


@dataclass
class _SessionTally:
    plan: SessionPlan
    kinds: dict[OpKind, int] = field(default_factory=lambda: dict.fromkeys(OpKind, 0))
    rows_read: int = 0
    rows_updated: int = 0
    rows_scanned: int = 0
    conflicts: int = 0
    busy_us: float = 0.0
    idle_us: float = 0.0
    slices: int = 0
    first_op_ns: int | None = None
    end_ns: int = 0

    def add(self, result: SliceResult) -> None:
        if self.slices:
            self.idle_us += (result.start_ns - self.end_ns) / 1000
        if self.first_op_ns is None:
            self.first_op_ns = result.first_op_ns
        for kind, histogram in result.latency.items():
            self.kinds[kind] += histogram.count
        self.rows_read += result.rows_read
        self.rows_updated += result.rows_updated
        self.rows_scanned += result.rows_scanned
        self.conflicts += result.conflicts
        self.busy_us += result.busy_us
        self.slices += 1
        self.end_ns = max(self.end_ns, result.end_ns)

    def totals(self) -> SessionTotals:
        return SessionTotals(
            number=self.plan.number,
            schema=self.plan.schema,
            ops=sum(self.kinds.values()),
            selects=self.kinds[OpKind.SELECT],
            updates=self.kinds[OpKind.UPDATE],
            scans=self.kinds[OpKind.SCAN],
            rows_read=self.rows_read,
            rows_updated=self.rows_updated,
            rows_scanned=self.rows_scanned,
            busy_us=self.busy_us,
            idle_us=self.idle_us,
            slices=self.slices,
            conflicts=self.conflicts,
        )


class Tally:
    """The window's totals by session, latency by kind, and operations and latency over time.

    ``begin_ns`` is the window's planned begin by the server's clock; second 0 of the time lines begins there.
    """

    def __init__(self, plans: Sequence[SessionPlan], begin_ns: int) -> None:
        self.begin_ns = begin_ns
        self.latency = {kind: Histogram() for kind in OpKind}
        self._sessions = [_SessionTally(plan) for plan in plans]
        self._spans: list[tuple[int, int, int]] = []
        self._seconds: dict[int, dict[OpKind, Histogram]] = {}

    def add(self, session: int, result: SliceResult) -> None:
        """Fold in one slice."""
        self._sessions[session].add(result)
        self._spans.append((result.start_ns, result.end_ns, result.ops))
        # A slice belongs to the second in which it ended; -1 because a slice that ends on the edge lies before it.
        second = self._seconds.setdefault((result.end_ns - 1 - self.begin_ns) // NANOS, {})
        for kind, histogram in result.latency.items():
            if not histogram.counts:
                continue
            self.latency[kind].merge(histogram)
            second.setdefault(kind, Histogram()).merge(histogram)

    def seconds_before(self, second: int) -> Iterator[tuple[int, OpKind, Histogram]]:
        """Take out the latency of the seconds before ``second``, in order: no slice will end in them any more."""
        for number in sorted(number for number in self._seconds if number < second):
            for kind, histogram in self._seconds.pop(number).items():
                if histogram.counts:
                    yield number, kind, histogram

    def totals(self) -> list[SessionTotals]:
        """Totals by session."""
        return [session.totals() for session in self._sessions]

    def ops_between(self, begin_ns: int, end_ns: int) -> float:
        """Operations in an interval; a slice that reaches over an edge counts by its share of time."""
        return sum(_overlap(span, begin_ns, end_ns) for span in self._spans)

    @property
    def load_begin_ns(self) -> int | None:
        """When the first session's first operation began; None when there was none."""
        return min(self._starts(), default=None)

    @property
    def load_end_ns(self) -> int:
        """When the last slice ended."""
        return max((session.end_ns for session in self._sessions), default=0)

    @property
    def start_skew_ms(self) -> float:
        """From the first session's first operation to the last session's."""
        starts = self._starts()
        return (max(starts) - min(starts)) / 1e6 if starts else 0.0

    def _starts(self) -> list[int]:
        return [session.first_op_ns for session in self._sessions if session.first_op_ns is not None]


def _overlap(span: tuple[int, int, int], begin_ns: int, end_ns: int) -> float:
    start, end, ops = span
    shared = min(end, end_ns) - max(start, begin_ns)
    return ops * min(1.0, shared / (end - start)) if shared > 0 and end > start else 0.0
