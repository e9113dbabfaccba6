"""A view of made-up figures, for what shows one: every value follows from the second that it is of."""

import math
from dataclasses import dataclass, field, replace

from openslob.kinds.view import Curve, Head, HeatMap, Note, PetalPoint, RecordState, Stack
from openslob.record.model import Figure, Holds, Verdict

READS_PER_S, P99_US = 12_345.0, 1_870.0
EVENTS = {"IO:DataFileRead": 6.5, "on CPU": 1.25, "LWLock:BufferMapping": 0.25}
CPU = {"user": 31.0, "system": 14.0, "iowait": 22.0}
NAMES = {
    "pio_read_per_s": READS_PER_S,
    "lio_per_s": 57_960.0,
    "pio_write_per_s": 1_210.0,
    "ops_per_s": 905.6,
    "engine_read_latency_us": 131.0,
    "latency.select.p50_us": 131.0,
    "latency.select.p90_us": 420.0,
    "latency.select.p99_us": P99_US,
    "latency.select.p999_us": 9_100.0,
    "latency.select.max_us": 24_000.0,
    "device.reads_per_s": 12_400.0,
    "device.writes_per_s": 1_250.0,
    "device.read_mb_per_s": 96.9,
    "device.write_mb_per_s": 9.8,
    "device.read_latency_us": 118.0,
}
NOW = {
    "pio_read_per_s": Figure(value=READS_PER_S, unit="1/s"),
    "engine_read_latency_us": Figure(value=131.0, unit="µs"),
    "pio_write_per_s": Figure(value=1210.0, unit="1/s"),
    "lio_per_s": Figure(value=57_960.0, unit="blocks/s"),
    "commits_per_s": Figure(value=0.0, unit="1/s"),
    "db_cpu_per_s": Figure(value=1.02, unit="s/s"),
    "host_cpu_busy_pct": Figure(value=51.3, unit="%"),
    "redo_mb_per_s": Figure(value=None, unit="MB/s", why="not counted"),
}
HEAD = Head(
    "20260301-120000-made", "made", "run", RecordState.RUNNING, "window", "PostgreSQL 18.1",
    "postgresql://slob@db:5432/slob", "8 sessions, 10 % updates", "2026-03-01T12:00:00Z", 23.0, 60.0,
)  # fmt: skip
VERDICTS = (
    Verdict(name="window", verdict=Holds.HOLDS, why="the counters span the same time as the load"),
    Verdict(name="quiet_machine", verdict=Holds.FAILS, why="9.4 % of the CPU time was stolen by the hypervisor"),
    Verdict(name="mode", verdict=Holds.UNKNOWN, why="known at the end of the run"),
)
NOTES = (
    Note(None, "phase", "check"),
    Note(0.0, "phase", "window"),
    Note(7.5, "note", "a checkpoint began, whose writes compete with the reads of the sessions for the device"),
    Note(11.0, "error", "session 3 was lost"),
)
EDGES_US = tuple(50.0 * 1.25**at for at in range(41))


def wave(second):
    """A factor around 1 that changes from second to second."""
    return 1 + 0.2 * ((second * 7) % 5 - 2) / 2


@dataclass(frozen=True)
class MadeView:
    """Ends at ``head.elapsed_s``."""

    head: Head = HEAD
    now: dict = field(default_factory=lambda: NOW)
    verdicts: tuple = VERDICTS
    notes: tuple = NOTES
    points: tuple = ()
    current: object = None
    names: tuple = tuple(NAMES)

    def _step(self, begin_s, end_s, most):
        return max(1, math.ceil((min(self.head.elapsed_s, end_s or 1e9) - (begin_s or 0)) / most))

    def _at(self, begin_s, end_s, most):
        last, seconds = min(self.head.elapsed_s, end_s or 1e9), self._step(begin_s, end_s, most)
        return [float(at) for at in range(int(begin_s or 0) + seconds, int(last) + 1, seconds)]

    def series(self, name, begin_s=None, end_s=None, most=200):
        at_s = self._at(begin_s, end_s, most)
        mean = [NAMES[name] * wave(second) for second in at_s]
        if mean:
            mean[-1] = NAMES[name]
        return Curve(name, "1/s", at_s, mean, mean, mean, self._step(begin_s, end_s, most))

    def _stack(self, unit, parts, begin_s, end_s, most):
        at_s = self._at(begin_s, end_s, most)
        values = [[value * wave(at) for at in at_s[:-1]] + [value] * bool(at_s) for value in parts.values()]
        return Stack(unit, at_s, list(parts), values, self._step(begin_s, end_s, most))

    def waits(self, begin_s=None, end_s=None, most=200):
        return self._stack("sessions", EVENTS, begin_s, end_s, most)

    def cpu(self, begin_s=None, end_s=None, most=200):
        return self._stack("%", CPU, begin_s, end_s, most)

    waits_by_duration = ()

    def heat(self, of, begin_s=None, end_s=None, most=120):
        at_s = self._at(begin_s, end_s, most)
        # A usual mode around 130 µs and, for some seconds, a second one around 10 ms.
        counts = [
            [900 * 0.5 ** abs(at - 4) + (40 if at == 24 and 8 <= second < 14 else 0) for at in range(len(EDGES_US) - 1)]
            for second in at_s
        ]
        counts = [[count if count >= 1 else 0 for count in row] for row in counts]
        time_us = [[count * edge for count, edge in zip(row, EDGES_US[:-1], strict=True)] for row in counts]
        return HeatMap(of, at_s, EDGES_US, counts, time_us, self._step(begin_s, end_s, most))


class MadeSource:
    """Reads nothing; ``elapsed_s`` is the time that the made-up run has reached, ``grows_s`` more with each poll."""

    read_share = 1.0

    def __init__(self, view=None, grows_s=0.0, **head):
        self.grows_s = grows_s
        self.made = view or MadeView()
        if head:
            self.made = replace(self.made, head=replace(self.made.head, **head))
        self.polls = 0

    def poll(self):
        self.polls += 1
        elapsed_s = self.made.head.elapsed_s + self.grows_s
        self.made = replace(self.made, head=replace(self.made.head, elapsed_s=elapsed_s))
        return True

    def view(self, at_s=None):
        if at_s is None:
            return self.made
        return replace(self.made, head=replace(self.made.head, elapsed_s=at_s))


def point(number, petal, sessions, state, reads, us):
    """A point of a sweep; its figures are unknown without reads."""
    figures = {
        "pio_read_per_s": Figure(value=reads, unit="1/s"),
        "engine_read_latency_us": Figure(value=us, unit="µs"),
    }
    return PetalPoint(number, petal, sessions, state, "", figures if reads else {})


def sweep_view():
    """A sweep with one petal done, another begun."""
    points = (
        point(1, "0 % updates", 1, "done", 4_100.0, 240.0),
        point(2, "0 % updates", 8, "done", 21_000.0, 371.0),
        point(3, "0 % updates", 32, "done", 32_500.0, 960.0),
        point(4, "20 % updates", 1, "done", 3_300.0, 290.0),
        point(5, "20 % updates", 8, "running", 12_345.0, 502.0),
        point(6, "20 % updates", 32, "pending", None, None),
    )
    head = replace(HEAD, kind="sweep", name="petals", elapsed_s=312.0, planned_s=420.0, phase="")
    return MadeView(head=head, points=points, current=MadeView(), now={})
