"""The readings at both ends of the window, and what the engine counted between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from openslob.core.errors import SlobError
from openslob.core.measurement import CLOCK_WAS_SET, EVERY_FIGURE, EngineDelta, HostDelta
from openslob.core.units import NANOS
from openslob.engines.patience import StoppedError
from openslob.host.sampler import difference
from openslob.kinds.run.recorder import ReadingsRecorder
from openslob.kinds.run.samplers import READING_TIMES, Samplers, SystemReading

# A busy host reads both clocks within this time of each other; a clock that is slewed gains less than a thousandth.
CLOCK_SET_S = 0.25
CLOCK_SET_SHARE = 0.01
# A host that was read later than this share of the load after its begin did not see what its figures are shares of.
LATE_SHARE = 0.01
# The counters are read before the window begins, by this share of its length and by READ_AHEAD_MOST_S at most: the
# counters' window is then about as long as the load's. READ_AHEAD_LEAST_S is what a reading takes on a busy host; it
# takes longer with more sessions and instances. Where it was seen to take long, READING_TIMES says how much longer.
READ_AHEAD_SHARE = 0.004
READ_AHEAD_MOST_S = 0.04
READ_AHEAD_LEAST_S = 0.012
READ_AHEAD_PER_SESSION_S = 0.0001
READ_AHEAD_PER_INSTANCE_S = 0.004
# Earlier readings, in seconds before the begin: a host that is busy for a moment delays the last one, not all of them.
READ_EARLIER_S = (0.25, 0.1)
# Why the first reading has counts of the load.
_TOO_BUSY = (
    "this host, the server or the network was too busy for an earlier reading. Run it again: a longer run hardly helps"
)
_DRIFTED = "by this host's clock it was read before that, so the server's clock gains on it, or was set"
AnyRecorder = TypeVar("AnyRecorder", bound=ReadingsRecorder)


def read_ahead_s(run_time: float, sessions: int, instances: int = 1, reading_s: float = 0.0) -> float:
    """Return how many seconds before the window begins the counters are read, which takes ``reading_s``."""
    more = READ_AHEAD_PER_SESSION_S * sessions + READ_AHEAD_PER_INSTANCE_S * (instances - 1)
    least = max(READ_AHEAD_LEAST_S + more, READING_TIMES * reading_s)
    return max(least, min(READ_AHEAD_MOST_S, READ_AHEAD_SHARE * run_time))


def read_opening(samplers: Samplers, begin_ns: int, ahead_s: float) -> tuple[SystemReading, bool]:
    """Return the last reading that was complete before the window begins at ``begin_ns`` of this host's clock.

    The last of several is asked for ``ahead_s`` before it; nothing of the load is counted until then, so that an
    earlier one has the same counts. When all come too late the first has counts of the load, so its end dates it.
    Whether it came in time is returned, too.
    """
    kept: SystemReading | None = None
    in_time = False
    for each_s in (*(earlier_s for earlier_s in READ_EARLIER_S if earlier_s > ahead_s), ahead_s):
        left_s = (begin_ns - time.time_ns()) / NANOS
        if kept is not None and left_s < each_s:
            continue
        time.sleep(max(0.0, left_s - each_s))
        asked_ns = time.time_ns()
        reading = samplers.opening_reading()
        # Another host may have answered long after the counters were read, and the other clock may be set.
        ended_ns = time.time_ns() - (time.monotonic_ns() - reading.counted_ns)
        if ended_ns <= begin_ns:
            kept, in_time = reading, True
        elif kept is None:
            counters = reading.counters
            kept = replace(reading, counters=replace(counters, server_ns=counters.server_ns + ended_ns - asked_ns))
    assert kept is not None
    return kept, in_time


def count_between(
    samplers: Samplers,
    before: SystemReading,
    after: SystemReading | None,
    load_begin_ns: int,
    clock_set_back_s: float = 0.0,
    in_time: bool = False,
) -> tuple[EngineDelta, float]:
    """Return what the engine counted during the load, and in how many seconds.

    ``in_time``: by this host's clock, the first reading was complete before the load began.

    Every figure is unknown, in 0 seconds, when its counters were not read on both sides of the load, or were reset
    between, or when the server's clock was set during it: by the clock of this host that can't be set, or by that of
    the sessions.
    """
    if after is None:
        return EngineDelta(unknown={"*": "the server's counters could not be read at the end of the window"}), 0.0
    if before.counters.server_ns > load_begin_ns:
        late_ms = (before.counters.server_ns - load_begin_ns) / 1e6
        why = f"the server's counters were first read {late_ms:.1f} ms after the load had begun: "
        why += _DRIFTED if in_time else _TOO_BUSY
        return EngineDelta(unknown={"*": why}), 0.0
    if clock_set_back_s:
        why = f"{CLOCK_WAS_SET} back by {clock_set_back_s:.2f} s during the run"
        return EngineDelta(unknown={"*": why}), 0.0
    seconds = (after.counters.server_ns - before.counters.server_ns) / NANOS
    here = (after.counted_ns - before.counted_ns) / NANOS
    if abs(seconds - here) > max(CLOCK_SET_S, CLOCK_SET_SHARE * here):
        why = f"{CLOCK_WAS_SET} during the run: it went {seconds:.2f} s in {here:.2f} s of this host's"
        return EngineDelta(unknown={"*": why}), 0.0
    counted = samplers.engine_delta(before, after)
    return counted, 0.0 if EVERY_FIGURE in counted.unknown else seconds


class WindowReadings(Generic[AnyRecorder]):
    """The readings before and after the window, and the errors between them."""

    def __init__(self, recorder: AnyRecorder) -> None:
        self.recorder = recorder
        self.before: SystemReading | None = None
        # Whether it was complete before the load began, by this host's clock.
        self.in_time = False
        self.after: SystemReading | None = None
        self.errors: list[str] = []
        self.stopped = False
        self.notes: list[str] = []

    def pulse(self, samplers: Samplers) -> str:
        """Sample the waits, and return why the window can't go on; empty while it can.

        Without counters or raw files a run would end with nothing to publish. It does without samples of the waits.
        """
        if not (self.notes or self.stopped):
            try:
                self.recorder.add_sample(samplers.sample())
            except StoppedError as error:
                self.lose(error)
            except SlobError as error:
                self.notes.append(f"what sessions waited for is unknown: {error}")
                self.recorder.forget_samples()
        return samplers.error or str(self.recorder.error or "")

    def read_end(self, samplers: Samplers, drain: Callable[[], None], ended_ns: int | None = None) -> None:
        """Take the closing reading as soon as the last session is done, at ``ended_ns``, and the connections are free.

        ``drain`` handles what the samplers posted before. A periodic reading that was handled after the closing one
        would end the time line in its place, without the slices that ended between the two.
        """
        self.errors.extend(samplers.stop())
        try:
            self.after = samplers.closing_reading(ended_ns)
            if self.before is not None:
                self.after = samplers.settle(self.before, self.after)
        except SlobError as error:
            self.lose(error)
        drain()
        if self.after is not None:
            self.recorder.add_reading(self.after)

    def lose(self, error: SlobError) -> None:
        """Note an error, once; a wait that the user stopped is none, and closed its connection."""
        self.stopped = self.stopped or isinstance(error, StoppedError)
        if not self.stopped and str(error) not in self.errors:
            self.errors.append(str(error))

    def host(self, before: SystemReading, load_ns: int) -> HostDelta:
        """Return what the host counted during the load, which lasted so long.

        Every figure is unknown when the first reading came late: the CPU of a moment at the end is not the load's.
        """
        host = difference(before.os, (self.after or self.last(before)).os)
        late_s = load_ns / NANOS - host.seconds
        if self.after is None or late_s <= LATE_SHARE * load_ns / NANOS:
            return host
        why = f"the host was first read {late_s:.1f} s after the load had begun: it was too busy"
        return HostDelta(0.0, host.cores, unknown={EVERY_FIGURE: why})

    def last(self, default: SystemReading) -> SystemReading:
        """Return the last periodic reading, for a window without a closing one."""
        return self.recorder.last_reading or default
