"""The record of a load that is not ours: all samplers of a run, its raw files and its record, without its sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openslob.core import rehearsal
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.measurement import EVERY_FIGURE, Observed, OtherSessions
from openslob.core.units import NANOS, Anchor
from openslob.engines.base import Activity, Engine, SamplingScope
from openslob.engines.patience import Patience
from openslob.host.sampler import difference, next_tick
from openslob.kinds.run.aftermath import set_host_facts
from openslob.kinds.run.progress import ProgressLog, ProgressSink, RunProgress
from openslob.kinds.run.record_builder import RecordBuilder
from openslob.kinds.run.recorder import SHORTEST_INTERVAL_S, ReadingsRecorder
from openslob.kinds.run.samplers import Samplers, SystemReading
from openslob.kinds.run.server_reports import ServerReports
from openslob.kinds.run.session_pool import ignore
from openslob.kinds.run.window import WindowReadings, count_between
from openslob.metrics import add_costs
from openslob.metrics.cost import price_of
from openslob.record.model import RecordKind, RunRecord

# How often `pulse` is to be called; waits are sampled each time.
PULSE_S = 0.1
# The phase that is shown meanwhile.
OBSERVING = "observing"
# Sessions publish what they counted when they end, which is shortly after the end of their client. A server that rests
# for REST_S has published all of it; one that goes on working for SETTLE_S does so for others.
REST_S = 0.25
SETTLE_S = 1.0


@dataclass(frozen=True)
class CommandEnding:
    """How an observed command ended.

    ``client_cpu_s`` is its CPU; None where there is no command. ``errors`` make the record one of a failed observation.
    ``facts`` go into ``environment``, by name.
    """

    client_cpu_s: float | None = None
    errors: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


NO_COMMAND = CommandEnding()


class SamplesOfAll(ReadingsRecorder):
    """Records the samples of waits that saw all sessions: the time of those that are seen is not that of all."""

    def add_sample(self, activity: Activity) -> None:
        """Record a sample; one in which sessions were hidden is shown only."""
        if activity.others is not None:
            super().add_sample(activity)
            return
        self._hidden += 1
        if self._saw_sample:
            self._saw_sample(activity)


@dataclass(frozen=True)
class ServerClock:
    """What is known of the server's clock: about how far it is ahead of this host's, and the last reading.

    The reading was at ``last_ns`` by the server's clock, and before ``read_ns`` by the monotonic one.
    """

    anchor: Anchor
    offset_ns: int = 0
    last_ns: int = 0
    read_ns: int = 0

    def at(self, monotonic_ns: int) -> int:
        """Return a moment since the last reading, of the monotonic clock, by the server's."""
        # How far the server's clock is off is known to a part of a round trip only: the moment comes after the reading.
        least_ns = self.last_ns + max(0, monotonic_ns - self.read_ns)
        return max(least_ns, self.anchor.wall_of(monotonic_ns) + self.offset_ns)


def read_at_end(samplers: Samplers, ended_ns: int | None) -> SystemReading:
    """Return the closing reading; a command that was observed ended at ``ended_ns`` by the server's clock.

    Sessions publish what they counted when they end. If the server rests once the command has ended, all that was
    counted was counted before: the counters are then those at its end. A server that works on does so for others.
    SlobError when the counters can't be read.
    """
    first = samplers.closing_reading()
    if ended_ns is None:
        return first
    deadline = time.monotonic() + SETTLE_S
    last = after = _read_later(samplers)
    while done := samplers.engine_delta(last, later := _read_later(samplers)).transactions:
        if time.monotonic() > deadline:
            break
        last = later
    if done != 0:
        return after
    return replace(first, counters=replace(later.counters, server_ns=ended_ns))


def _read_later(samplers: Samplers) -> SystemReading:
    time.sleep(REST_S / 2)
    return samplers.opening_reading()


def _no_report(_record: RunRecord) -> str:
    return ""


class Observer:
    """Observes a server from `begin` to `finish`; in between, `pulse` is to be called every `PULSE_S`.

    ``spec`` says what is observed, for how long (``seconds``), and the ``price`` of the server, if it has one. Counters
    are read every ``interval_s`` seconds; ``saw`` gets each reading, the opening and the closing one too,
    ``saw_sample`` each sample of waits, and ``show`` after each reading how far it is. ``reports`` are those of the
    server's own, whose snapshots are taken before the opening reading and after the closing one. All methods are called
    by one thread. A ``with`` block that ends without `finish` leaves the record of a failed observation.
    """

    def __init__(
        self,
        engine: Engine,
        results: Path,
        name: str,
        spec: Mapping[str, Any],
        interval_s: float = 1.0,
        interrupt: Interrupt | None = None,
        *,
        saw: Callable[[SystemReading], None] = ignore,
        saw_sample: Callable[[Activity], None] = ignore,
        show: ProgressSink | None = None,
        render: Callable[[RunRecord], str] = _no_report,
        reports: ServerReports | None = None,
    ) -> None:
        self._engine = engine
        self._results = results
        self._interval_ns = round(interval_s * NANOS)
        self._interrupt = interrupt or Interrupt()
        self._planned_s = float(spec.get("seconds") or 0.0)
        self._saw = saw
        self._saw_sample = saw_sample
        self._show = show
        self._render = render
        self._reports = reports
        self._facts = engine.facts()
        self._builder = RecordBuilder(engine, self._facts, spec, name, kind=RecordKind.OBSERVATION)
        self._builder.notes.extend(rehearsal.notices())
        self._log = ProgressLog(show or ignore, self._builder.notes)
        self._clock = ServerClock(Anchor.now())
        self._tick = self._tick0_ns = 0
        self._after: SystemReading | None = None
        self._has_ended = False

    def __enter__(self) -> Self:
        """Connect the samplers."""
        with ExitStack() as opened:
            self.samplers = Samplers(self._engine, 0, ignore, SamplingScope.SERVER)
            opened.callback(self.samplers.close)
            self._builder.environment = self.samplers.describe_host()
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def folder(self) -> Path:
        """The folder of the record, from `begin` on."""
        return self._folder.path

    def note(self, text: str) -> None:
        """Add a note to the record."""
        self._builder.notes.append(text)

    def begin(self) -> None:
        """Begin the record, and read the counters for the first time. SlobError when either can't be done."""
        self._folder = self._opened.enter_context(self._builder.begin(self._results))
        self._log.begin(self._folder.raw)
        self._log(RunProgress("connect"))
        self._around = self._opened.enter_context(ExitStack())
        if self._reports:
            patience = Patience(self._interrupt)
            self._around.enter_context(self._reports.around(self.attach, self._builder.notes, self._log, patience))
        self._clock = replace(self._clock, offset_ns=self.samplers.server_clock_offset_ns())
        self._interval_ns = max(self._interval_ns, round(self.samplers.least_s * NANOS))
        self._builder.environment["server_clock_offset_s"] = self._clock.offset_ns / NANOS
        self._readings = WindowReadings(SamplesOfAll(self._folder.raw, self.samplers.engine_delta, self._saw_sample))
        self.samplers.get_ready()
        self._before = self._readings.before = self.samplers.opening_reading()
        self._tick0_ns = time.monotonic_ns()
        self._log.window(self._before.counters.server_ns, self._planned_s, self._clock.offset_ns)
        self._read(self._before)

    def pulse(self) -> str:
        """Sample the waits, and read the counters when it is time; return why that can't go on, else nothing."""
        problem = self._readings.pulse(self.samplers)
        upcoming, _ = next_tick(self._tick, time.monotonic_ns(), self._tick0_ns, self._interval_ns)
        if not (problem or self._readings.errors or self._readings.stopped) and upcoming > self._tick + 1:
            self._tick = upcoming - 1
            try:
                self._read(self.samplers.read())
            except SlobError as error:
                self._readings.lose(error)
        self._log.write()
        return problem or next(iter(self._readings.errors), "")

    def _read(self, reading: SystemReading) -> None:
        self._clock = replace(self._clock, last_ns=reading.counters.server_ns, read_ns=time.monotonic_ns())
        before = self._readings.recorder.last_reading
        self._readings.recorder.add_reading(reading)
        self._saw(reading)
        if self._show:
            elapsed_s = (time.monotonic_ns() - self._tick0_ns) / NANOS
            said = self._say(before, reading) if before else ()
            self._show(RunProgress(OBSERVING, elapsed_s, self._planned_s, said=said))

    def _say(self, before: SystemReading, after: SystemReading) -> tuple[str, ...]:
        """Return what the server did per second between two readings, as far as it is known."""
        seconds = (after.counters.server_ns - before.counters.server_ns) / NANOS
        if seconds < SHORTEST_INTERVAL_S:
            return ()
        delta = self.samplers.engine_delta(before, after)
        counts = {"reads": delta.read_requests, "transactions": delta.transactions}
        return tuple(f"{count / seconds:,.0f} {name}/s" for name, count in counts.items() if count is not None)

    def attach(self, name: str, content: str | bytes) -> None:
        """Add a file to the record, such as the output of what was observed; a text without secrets."""
        self._builder.attach(name, content)

    def end(self, at_ns: int | None = None) -> None:
        """Read the counters for the last time; a command that was observed ended at ``at_ns`` (monotonic clock)."""
        try:
            self._after = read_at_end(self.samplers, None if at_ns is None else self._clock.at(at_ns))
            self._read(self._after)
        except SlobError as error:
            self._readings.lose(error)
        self._has_ended = True

    def finish(self, ending: CommandEnding = NO_COMMAND) -> RunRecord:
        """Write the record, after `end`. UnsavedError when it can't be written."""
        if not self._has_ended:
            self.end()
        self._around.close()
        self._readings.recorder.finish()
        if raw_error := self._readings.recorder.error:
            self._readings.errors.append(str(raw_error))
        self._builder.notes.extend(self._readings.notes)
        self._builder.environment |= ending.facts
        self._log.write()
        record = self._builder.with_figures(self._measure_observed(ending))
        if price := price_of(record):
            record = add_costs(record, price)
        record = record.model_copy(update={"id": self._folder.id})
        self._folder.finish(record, self._render(record))
        return record

    def _measure_observed(self, ending: CommandEnding) -> Observed:
        readings, recorder, before, after = self._readings, self._readings.recorder, self._before, self._after
        measured = self._builder.measure()
        self._builder.counting = self.samplers.counting
        counted, seconds = count_between(self.samplers, before, after, measured.window.load_start_ns)
        if not seconds:
            self._builder.notes.append(f"no rate can be given: {counted.unknown[EVERY_FIGURE]}")
        host = difference(before.os, (after or readings.last(before)).os)
        if ending.client_cpu_s is not None:
            host = replace(host, client_cpu_s=ending.client_cpu_s)
        host = set_host_facts(self._builder, self.samplers, recorder.limits, host)
        hidden = recorder.others.hidden
        # What no row says, and reasons why figures are unknown.
        return replace(
            measured,
            window=replace(measured.window, counter_seconds=seconds),
            engine=counted,
            host=host,
            waits={} if hidden else dict(recorder.waits),
            wait_samples=0 if hidden else recorder.wait_samples,
            others=OtherSessions(hidden=hidden),
            file_system=self._builder.environment["data"]["file_system"] if self.samplers.data_directory else None,
            errors=[*readings.errors, *ending.errors],
            interrupted=self._interrupt.requested,
        )
