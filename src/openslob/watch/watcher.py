"""Watches a server: a reading at a fixed interval, for as long as is asked, also when the server goes away for a while.

No difference is ever taken across a gap: connections that were lost are opened again, and a new series begins.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from math import inf, isinf
from threading import Event
from typing import NamedTuple

from openslob.core.errors import SlobError
from openslob.core.host import FigureUnknownError
from openslob.core.interrupt import Interrupt
from openslob.core.units import NANOS, format_duration
from openslob.engines.base import Activity, Engine, SamplingScope
from openslob.engines.patience import Patience, StoppedError
from openslob.host.model import OsReading
from openslob.host.sampler import next_tick
from openslob.kinds.run.observation.observer import PULSE_S, Observer
from openslob.kinds.run.samplers import Samplers, SystemReading
from openslob.kinds.run.window import count_between
from openslob.watch.interval import Samples, WatchedInterval, interval_between

# A server that does not answer for so long is said to hang; one that is up answers in milliseconds.
SILENT_S = 2.0
# How often a server that is gone is tried again, and how long it may take to answer then.
RETRY_S = 1.0
ANSWER_S = 10.0
# The pause between two samples of waits. It grows with what watching costs: a sample takes longer the more sessions
# there are in the server.
SAMPLE_EVERY_S, SAMPLE_AT_LEAST_S = 0.1, 0.5
# What watching may take of a core, in %; and where only the time that samples take is known, their share of the time.
OWN_PCT = 0.7
SAMPLE_SHARE = 0.002


class AttentivePatience(Patience):
    """Says when the server keeps a reading waiting, and when it answers again."""

    _silent_since: float | None = None

    def check(self, began: float) -> None:
        """Raise SlobError when a wait must end; say once that it is long."""
        super().check(began)
        if self._silent_since is None and time.monotonic() > began + SILENT_S:
            self._silent_since = began
            self.tell("the server does not answer; waiting for it")

    def note_answer(self) -> None:
        """Say that the server answers, if it was said that it does not."""
        if self._silent_since is not None:
            self.tell(f"the server answers again, after {format_duration(time.monotonic() - self._silent_since)}")
        self.forget()

    def forget(self) -> None:
        """Forget the last wait, without a message."""
        self._silent_since = None


class WaitSampling:
    """Samples what sessions wait for between two readings, as often as that costs next to nothing."""

    def __init__(self, samplers: Samplers) -> None:
        self._samplers = samplers
        self.pause_s = SAMPLE_EVERY_S
        # The shortest time that a sample took: any other one had to wait.
        self.took_s = inf
        # Why waits are no longer sampled; empty while they are.
        self.error = ""

    def until(self, due: float, stop: Event) -> list[Activity]:
        """Return the samples until ``due``, a moment of the monotonic clock in seconds, or until ``stop``.

        SlobError when the server is gone.
        """
        found: list[Activity] = []
        while not self.error and not stop.wait(max(0.0, min(self.pause_s, due - time.monotonic()))):
            began = time.monotonic()
            if began >= due:
                break
            found.append(self._samplers.sample())
            self.took_s = min(time.monotonic() - began, self.took_s)
        stop.wait(max(0.0, due - time.monotonic()))
        return found

    def adapt(self, own_pct: float | None) -> None:
        """Set the pause, after an interval in which watching took so many % of a core, if that is known."""
        if own_pct is not None:
            pause_s = self.pause_s * min(2.0, max(0.5, own_pct / OWN_PCT))
        else:
            pause_s = 0.0 if isinf(self.took_s) else self.took_s / SAMPLE_SHARE
        self.pause_s = min(max(SAMPLE_EVERY_S, pause_s), SAMPLE_AT_LEAST_S)


def measure_own_pct(before: OsReading, after: OsReading) -> float | None:
    """Return the CPU of this process and its sessions in the server between two readings, in %; None if not known."""
    used = 0.0
    for source, name in (("driver", "driver_cpu_s"), ("sampler", "sampler_cpu_s")):
        first, last = (reading.sources[source].values.get(name) for reading in (before, after))
        if first is None or last is None:
            return None
        used += last - first
    return 100 * used * NANOS / (after.time_ns - before.time_ns)


def add_up(found: Sequence[Activity], instances: Sequence[str]) -> Samples:
    """Return the sum of samples: of all, and of each of the ``instances``, by target."""
    by_instance = {
        target: add_up([each.by_instance[number] for each in found if each.by_instance], ())
        for number, target in enumerate(instances)
    }
    events = Counter[str]()
    for each in found:
        events.update(each.events)
    return Samples(len(found), events, any(each.others is None for each in found), by_instance)


class RecordingError(SlobError):
    """What is watched can no longer be recorded."""


class WatchStep(NamedTuple):
    """Two readings and the samples between them."""

    samplers: Samplers
    before: SystemReading
    after: SystemReading
    activities: Sequence[Activity]


# Connections to the server, and what is read over them.
_Opened = tuple[ExitStack, Iterator[WatchStep]]
# Returns the observer of a record that begins now; it gives each reading and each sample to the two functions.
Recording = Callable[[Callable[[SystemReading], None], Callable[[Activity], None]], Observer]


class Watcher:
    """Reads a server at a fixed interval. ``tell`` gets a line when the server hangs, is gone, or is back.

    ``instances`` are the targets of a cluster's instances, in their order. With ``recording`` all that is read goes
    into records as well: one from when the server is there until it is gone.
    """

    def __init__(
        self,
        engine: Engine,
        interval_s: float,
        interrupt: Interrupt,
        tell: Callable[[str], None],
        recording: Recording | None = None,
        instances: Sequence[str] = (),
    ) -> None:
        self._engine = engine
        self._interval_s = interval_s
        self._interrupt = interrupt
        self._patience = AttentivePatience(interrupt, tell)
        self._recording = recording
        self._instances = instances
        engine.follow(self._patience)

    def intervals(self) -> Generator[WatchedInterval]:
        """Yield what happened between two readings, until the interrupt.

        SlobError when the server is not there at first. One that is lost later is tried again and again.
        """
        with suppress(StoppedError):
            opened: _Opened | None = self._open()
            while opened is not None:
                connections, steps = opened
                with connections:
                    yield from self._until_lost(steps)
                opened = self._reopen()

    def _open(self) -> _Opened:
        if host := self._engine.host:
            # If it does not answer, its figures say so.
            with suppress(FigureUnknownError):
                host.reopen()
        connections = ExitStack()
        return connections, connections.enter_context(self._record() if self._recording else self._connect())

    def _until_lost(self, steps: Iterator[WatchStep]) -> Iterator[WatchedInterval]:
        try:
            for step in steps:
                yield self._interval(step)
        except (StoppedError, RecordingError):
            raise
        except SlobError as error:
            self._patience.tell_once(f"the server is gone: {error.what}")

    def _interval(self, step: WatchStep) -> WatchedInterval:
        engine, _ = count_between(step.samplers, step.before, step.after, step.before.counters.server_ns)
        samples = add_up(step.activities, self._instances)
        found = interval_between(step.before, step.after, engine, samples, step.samplers.local, self._instances)
        return replace(found, missed=max(0, round(found.seconds / self._interval_s) - 1))

    def _reopen(self) -> _Opened | None:
        """Connect again once the server is back; None after the interrupt."""
        gone = time.monotonic()
        while not self._interrupt.stop.wait(RETRY_S):
            self._patience.allow(ANSWER_S)
            try:
                opened = self._open()
            except StoppedError:
                raise
            except SlobError as error:
                self._patience.tell_once(f"the server is gone: {error.what}")
                continue
            self._patience.allow(None)
            self._patience.forget()
            self._patience.tell_once(f"the server is back, after {format_duration(time.monotonic() - gone)}")
            return opened
        return None

    @contextmanager
    def _connect(self) -> Iterator[Iterator[WatchStep]]:
        samplers = Samplers(self._engine, 0, lambda _: None, SamplingScope.SERVER, cpu_alone=True)
        with closing(samplers):
            yield self._steps(samplers)

    def _follow_price(self, samplers: Samplers) -> None:
        """Read as rarely as what a reading takes of another host demands."""
        if samplers.least_s > self._interval_s:
            self._interval_s = samplers.least_s
            every = f"a reading is made every {samplers.least_s:.1f} s"
            self._patience.tell(f"{every}: it takes 1 % of a CPU of the server's host")

    def _steps(self, samplers: Samplers) -> Iterator[WatchStep]:
        samplers.get_ready()
        samplers.find_price()
        self._follow_price(samplers)
        sampling = WaitSampling(samplers)
        before, began_ns, tick = samplers.read(), time.monotonic_ns(), 0
        interval_ns = round(self._interval_s * NANOS)
        while True:
            # After a reading that came late the next one would follow at once: an interval is at least half as long.
            tick, _ = next_tick(tick, time.monotonic_ns() + interval_ns // 2, began_ns, interval_ns)
            activities = self._sample_waits(sampling, samplers, (began_ns + tick * interval_ns) / NANOS)
            if self._interrupt.requested:
                return
            after = samplers.read()
            self._patience.note_answer()
            sampling.adapt(measure_own_pct(before.os, after.os))
            yield WatchStep(samplers, before, after, activities)
            before = after

    def _sample_waits(self, sampling: WaitSampling, samplers: Samplers, due: float) -> list[Activity]:
        try:
            return sampling.until(due, self._interrupt.stop)
        except StoppedError:
            raise
        except SlobError as error:
            samplers.read()  # fails, too, when it is the server that is gone
            sampling.error = error.what
            self._patience.tell(f"what sessions wait for is no longer known: {error.what}")
            return []

    @contextmanager
    def _record(self) -> Iterator[Iterator[WatchStep]]:
        readings: list[SystemReading] = []
        activities: list[Activity] = []
        assert self._recording
        with self._recording(readings.append, activities.append) as observer:
            observer.begin()
            self._follow_price(observer.samplers)
            try:
                yield self._recorded_steps(observer, readings, activities)
            finally:
                observer.finish()
                self._patience.tell(f"recorded in {observer.folder}")

    def _recorded_steps(
        self, observer: Observer, readings: list[SystemReading], activities: list[Activity]
    ) -> Iterator[WatchStep]:
        while not self._interrupt.requested:
            if problem := observer.pulse():
                observer.samplers.read()  # fails, too, when it is the server that is gone
                raise RecordingError(problem)
            self._patience.note_answer()
            while len(readings) > 1:
                yield WatchStep(observer.samplers, readings.pop(0), readings[0], activities[:])
                activities.clear()
            self._interrupt.stop.wait(PULSE_S)
