"""How far a run is: the contents of the live line, and the events that those who watch its record learn from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from openslob.core.histogram import Histogram
from openslob.metrics.timed import SINGLE, Timed
from openslob.record.raw_csv import Event, RawCsv

WINDOW = "window"
# The phase of sessions with data of their own.
OWN_TABLES = "sessions load their own tables"


@dataclass(frozen=True)
class Amounts:
    """What was counted from the begin of the window until ``at_s``; ``reads`` is None if it is unknown."""

    at_s: float = 0.0
    ops: int = 0
    busy_us: float = 0.0
    visits: int = 0
    commits: int = 0
    reads: float | None = 0.0
    latencies: Mapping[int, int] = field(default_factory=dict)
    """Operations by bucket of their latency: response times if a rate is given, else service times."""


@dataclass(frozen=True)
class Rates:
    """What happened between two states of a window, per second; the latencies in µs. None: unknown."""

    ops: float
    visits: float
    commits: float
    reads: float | None
    mean_us: float | None
    p99_us: float | None


@dataclass(frozen=True)
class RunProgress:
    """Contents of the live line: phase, seconds done of how many, and rates over the last interval (None: unknown).

    ``wanted_per_s`` is the rate that was given, if one was. ``so_far`` allows rates over any other time. ``timed`` is
    what latencies are of.
    ``done`` of ``total`` in ``unit`` is the progress of sessions that connect, or that load their own tables. ``said``
    is what a load that is not ours has in place of rates: figures of the server, in words.
    """

    phase: str
    elapsed_s: float = 0.0
    total_s: float = 0.0
    rates: Rates | None = None
    server_cpu: float | None = None
    wanted_per_s: float | None = None
    so_far: Amounts | None = None
    timed: Timed = SINGLE
    done: int | None = None
    total: int = 0
    unit: str = "blocks"
    said: tuple[str, ...] = ()


ProgressSink = Callable[[RunProgress], None]


class Connecting:
    """Shows how many of so many sessions are connected, once a second, and how much of their own tables is loaded."""

    def __init__(self, show: ProgressSink, sessions: int = 0, blocks: int = 0) -> None:
        self._show = show
        self._sessions, self._blocks = sessions, blocks
        self._loaded = 0
        self._shown_at = time.monotonic()
        show(RunProgress("connect"))

    def show_loaded(self, blocks: int) -> None:
        """Show that so many more blocks were loaded."""
        self._loaded += blocks
        self._show(RunProgress(OWN_TABLES, done=self._loaded, total=self._blocks))

    def ready(self, sessions: int) -> None:
        """Show that so many are connected; nothing while they load their own tables."""
        if not self._loaded and time.monotonic() >= self._shown_at + 1:
            self._shown_at = time.monotonic()
            self._show(RunProgress("connect", done=sessions, total=self._sessions, unit="sessions"))


def each_second(show: ProgressSink, phase: str, total_s: float, also: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does ``also``, and shows the time since now at most once a second."""
    begun = time.monotonic()
    shown_s = 0.0
    show(RunProgress(phase, 0, total_s))

    def pulse() -> None:
        nonlocal shown_s
        also()
        elapsed_s = time.monotonic() - begun
        if elapsed_s >= shown_s + 1:
            shown_s = elapsed_s
            show(RunProgress(phase, elapsed_s, total_s))

    return pulse


def rates_between(before: Amounts, after: Amounts) -> Rates:
    """Return the rates between two states of the same window; ``after`` is later."""
    seconds, ops = after.at_s - before.at_s, after.ops - before.ops
    reads = None if before.reads is None or after.reads is None else (after.reads - before.reads) / seconds
    latencies = {bucket: count - before.latencies.get(bucket, 0) for bucket, count in after.latencies.items()}
    new = Histogram({bucket: count for bucket, count in latencies.items() if count}, max_us=float("inf"))
    return Rates(
        ops=ops / seconds,
        visits=(after.visits - before.visits) / seconds,
        commits=(after.commits - before.commits) / seconds,
        reads=reads,
        mean_us=(after.busy_us - before.busy_us) / ops if ops else None,
        p99_us=new.quantile_us(0.99),
    )


class ProgressLog:
    """Shows progress, and writes each new phase, note and error of a run. Only the runner's thread calls it.

    Before `begin` there is no record: what happened until then is written with the time at which it happened.
    """

    def __init__(self, show: ProgressSink, notes: Iterable[str]) -> None:
        self._show = show
        self._written: set[tuple[Event, str]] = set()
        self._lists: list[tuple[Event, Iterable[str]]] = [(Event.NOTE, notes)]
        self._begun: list[tuple[int, str]] = []
        self._phase = ""
        self._raw: RawCsv | None = None

    def __call__(self, progress: RunProgress) -> None:
        """Show the progress, and write what is new."""
        # Readings of the window are shown after its end as well: `window` alone says when it begins.
        if progress.phase not in (self._phase, WINDOW):
            self._phase = progress.phase
            self._begun.append((time.time_ns(), progress.phase))
        self.write()
        self._show(progress)

    def begin(self, raw: RawCsv) -> None:
        """Write to these files from now on."""
        self._raw = raw
        self.write()

    def include(self, errors: Iterable[str]) -> None:
        """Write the errors of a list that others add to."""
        self._lists.append((Event.ERROR, errors))

    def window(self, begin_ns: int, planned_s: float, clock_offset_ns: int) -> None:
        """Write when the window begins, by the server's clock, its planned length, and what that clock is ahead."""
        if self._raw is None:
            return
        self._raw.event(Event.CLOCK_OFFSET_NS, str(clock_offset_ns))
        self._raw.event(Event.PLANNED_S, f"{planned_s:g}")
        self._raw.event(Event.BEGIN_NS, str(begin_ns))
        self._phase = WINDOW
        self._raw.event(Event.PHASE, self._phase, begin_ns - clock_offset_ns)

    def write(self) -> None:
        """Write the phases, notes and errors that were not written yet."""
        if self._raw is None:
            return
        for wall_ns, phase in self._begun:
            self._raw.event(Event.PHASE, phase, wall_ns)
        self._begun.clear()
        for kind, texts in self._lists:
            for text in texts:
                if (kind, text) not in self._written:
                    self._written.add((kind, text))
                    self._raw.event(kind, text)
