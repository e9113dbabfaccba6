"""Where the time of an operation goes, by what sessions wait for, and what a difference between two sides consists of.

With a given number of sessions, the time per operation decides the throughput: it is all time of the sessions, divided
by the operations. A part of it passes outside of operations: think time, waiting for a due time, between slices. The
rest is divided as the samples of what sessions wait for say. So the parts add up to the whole, and their differences to
the whole difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openslob.analyze.load_kinds import load_kind
from openslob.metrics.waits import CPU_ROW, MIN_SAMPLES, wait_class
from openslob.record.model import RunRecord

OUTSIDE = "outside of operations"
# The samples do not tell running from waiting for a CPU.
_CPU = "CPU"


@dataclass(frozen=True)
class TimePart:
    """The time per operation that one kind of waiting takes, in µs: in A and in B."""

    name: str
    a_us: float
    b_us: float


@dataclass(frozen=True)
class Breakdown:
    """The time per operation in A and in B, in µs, and its parts, the largest difference first."""

    a_us: float
    b_us: float
    parts: tuple[TimePart, ...]

    @property
    def change_pct(self) -> float:
        """How much more time an operation takes in B, in % of A's."""
        return 100 * (self.b_us - self.a_us) / self.a_us

    def points_of(self, part: TimePart) -> float:
        """Return the share of `change_pct` that a part makes; these add up to it."""
        return 100 * (part.b_us - part.a_us) / self.a_us


def breakdown(a: Sequence[RunRecord], b: Sequence[RunRecord]) -> Breakdown | None:
    """Return the breakdown of the difference between the means of two sides; None if one of them does not know it."""
    sides = [[time_by_kind(record) for record in side] for side in (a, b)]
    known = [[each for each in side if each is not None] for side in sides]
    if not all(known) or [len(each) for each in known] != [len(each) for each in sides]:
        return None
    names = dict.fromkeys(name for side in known for each in side for name in each)
    means = [{name: sum(each.get(name, 0.0) for each in side) / len(side) for name in names} for side in known]
    parts = [TimePart(name, means[0][name], means[1][name]) for name in names]
    ordered = sorted(parts, key=lambda part: -abs(part.b_us - part.a_us))
    return Breakdown(sum(means[0].values()), sum(means[1].values()), tuple(ordered))


def time_by_kind(record: RunRecord) -> Mapping[str, float] | None:
    """Return the time per operation of a run in µs, by what its sessions waited for; None if that is not known."""
    sessions, window = load_kind(record).sessions(record), record.window
    ops = sum(float(each["count"]) for each in record.latency.values())
    samples = sum(row.samples for row in record.waits)
    means = [each["mean_us"] for each in record.latency.values()]
    if not (sessions and window and ops) or None in means or samples < MIN_SAMPLES:
        return None
    inside = sum(float(each["count"]) * float(each["mean_us"]) for each in record.latency.values()) / ops
    found: dict[str, float] = {}
    for row in record.waits:
        kind = _CPU if row.event == CPU_ROW else wait_class(row.event).value
        found[kind] = found.get(kind, 0.0) + inside * row.samples / samples
    return {**found, OUTSIDE: max(0.0, sessions * window.load_seconds * 1e6 / ops - inside)}
