"""The window's closing edge is the last reading of the time line, whatever a tick posted just before it."""

from __future__ import annotations

import csv
import os
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from factories.running import eventually
from factories.tables import table
from factories.texts import numbers
from openslob.core.counts import SliceCounts
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram
from openslob.core.measurement import EngineDelta, OtherSessions, TimedWait, WaitClass
from openslob.core.method import OpKind
from openslob.core.process_selector import ProcessTree
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import Activity, CounterReading, SliceResult
from openslob.engines.facts import ServerLocation
from openslob.host.remote import RemoteHost
from openslob.host.remote_shell import RemoteShell
from openslob.host.sampler import OsReader
from openslob.kinds.run.plan import session_plans
from openslob.kinds.run.recorder import Recorder
from openslob.kinds.run.samplers import Samplers as RealSamplers
from openslob.kinds.run.samplers import SystemReading
from openslob.kinds.run.window import WindowReadings, count_between, read_ahead_s, read_opening
from openslob.kinds.run.worker import SliceDone
from openslob.record.raw_csv import RawCsv, raw_table

BEGIN = 1_000 * NANOS


def reading(at_s, reads):
    with_reads = CounterReading(BEGIN + int(at_s * NANOS), {"reads": float(reads)}, "")
    reader = OsReader([], [], list, "no server here")
    try:
        return SystemReading(with_reads, reader.read(), time.monotonic_ns())
    finally:
        reader.close()


def between(before, after):
    return EngineDelta(read_requests=after.counters.values["reads"] - before.counters.values["reads"])


@dataclass
class Samplers:
    """Posts a last tick while it is being stopped, then has a closing edge, or none."""

    tick: SystemReading
    edge: SystemReading | None
    posted: list = field(default_factory=list)

    def stop(self):
        self.posted.append(self.tick)
        return []

    def settle(self, _before, after):
        return after

    def closing_reading(self, _ended_ns):
        if self.edge is None:
            raise SlobError("the server is gone")
        return self.edge


@pytest.fixture
def raw(tmp_path):
    with RawCsv(tmp_path) as files:
        yield files


@pytest.fixture
def recorder(raw):
    return Recorder(session_plans(Workload(sessions=1), 8192, "test"), BEGIN, 3, raw, between, lambda _: None)


def closed(recorder, samplers):
    for at_s, reads in ((0, 0), (1, 50), (2, 150)):
        recorder.add_reading(reading(at_s, reads))
    window = WindowReadings(recorder)
    window.read_end(samplers, lambda: [recorder.add_reading(posted) for posted in samplers.posted])
    recorder.finish()
    return window


def reads_by_begin(folder):
    with (folder / "engine.csv").open(newline="") as file:
        return {
            row["begin_ns"]: float(row["value"]) for row in csv.DictReader(file) if row["figure"] == "read_requests"
        }


@pytest.mark.parametrize("tick_s", [2.99, 2.3])
def test_what_is_counted_after_the_last_tick_is_in_the_time_line(recorder, raw, tmp_path, tick_s):
    edge = reading(3.02, 300)
    window = closed(recorder, Samplers(reading(tick_s, 240), edge))
    assert window.after is edge
    assert recorder.last_reading is edge
    raw.flush()
    assert sum(reads_by_begin(tmp_path).values()) == 300


def test_the_last_tick_is_kept_when_the_edge_cannot_be_read(recorder, raw, tmp_path):
    window = closed(recorder, Samplers(reading(2.99, 240), None))
    assert window.after is None
    assert window.errors == ["the server is gone"]
    raw.flush()
    assert sum(reads_by_begin(tmp_path).values()) == 240


@dataclass
class Sampling:
    """Samples of sessions that wait and of one that is not the test's; from some sample on the connection is lost."""

    lost_after: int
    error: str = ""

    def sample(self):
        self.lost_after -= 1
        if self.lost_after < 0:
            raise SlobError("the connection was lost")
        return Activity({"CPU": 1}, {"somebody": 1})


def test_durations_of_waits_for_storage_are_written_for_every_interval(raw, tmp_path):
    def counted(before, after):
        waits = (
            ("IO:read", WaitClass.DATA_IO, {(64, 128): round(after.counters.values["reads"])}),
            ("IO:sync", WaitClass.LOG, {(512, 1024): 1}),
            ("IO:untimed", WaitClass.DATA_IO, None),
            ("Lock:row", WaitClass.LOCK, {(1, 2): 5}),
        )
        return EngineDelta(timed_waits=[TimedWait(event, kind, 9, 900.0, each) for event, kind, each in waits])

    recorder = Recorder(session_plans(Workload(sessions=1), 8192, "test"), BEGIN, 3, raw, counted, lambda _: None)
    for at_s, reads in ((0, 0), (1, 50), (2, 150)):
        recorder.add_reading(reading(at_s, reads))
    recorder.finish()
    assert [tuple(row[2:]) for row in raw_table(tmp_path, "engine_latency.csv")[1]] == [
        ("IO:read", 64, 128, 50), ("IO:sync", 512, 1024, 1), ("IO:read", 64, 128, 150), ("IO:sync", 512, 1024, 1),
    ]  # fmt: skip


def test_samples_that_could_not_see_all_sessions_are_counted(recorder):
    for others in ({"a": 2}, None, {}):
        recorder.add_sample(Activity({"CPU": 1}, others))
    assert recorder.others == OtherSessions({"a": 2}, 3, hidden=1)


def test_a_window_goes_on_without_samples_of_the_waits_and_drops_those_of_its_begin(recorder):
    window, samplers = WindowReadings(recorder), Sampling(lost_after=2)
    assert [window.pulse(samplers) for _ in range(2)] == ["", ""]
    assert (recorder.waits, recorder.wait_samples, recorder.others.samples) == ({"CPU": 2}, 2, 2)
    assert [window.pulse(samplers) for _ in range(3)] == [""] * 3
    assert (recorder.waits, recorder.wait_samples, recorder.others.seen) == ({}, 0, None)
    (note,) = window.notes
    assert note.endswith(": the connection was lost")
    assert window.errors == []


def test_a_window_ends_at_once_without_counters_or_raw_files(recorder, raw):
    window = WindowReadings(recorder)
    assert window.pulse(Sampling(9, error="the counters can't be read")) == "the counters can't be read"
    raw.error = SlobError("slices.csv can't be written")
    assert window.pulse(Sampling(9)) == "slices.csv can't be written"


class Elsewhere:
    """An engine whose server is on another host, and counts nothing."""

    data_directory, data_directories, processes, others = None, (), None, ()
    is_known, why_unknown, why_no_device = False, "no server here", ""
    host: Any = ""

    def location(self):
        return self

    def open_counters(self, _scope):
        return self

    open_waits = open_counters

    def backend_ids(self):
        return []

    def read(self):
        return CounterReading(BEGIN, {}, "")

    def close(self):
        pass


@table(("error", "says"), [(None, ""), (SlobError("lost"), "lost"), (KeyError("x"), "no longer read: KeyError('x')")])
def test_why_counters_are_no_longer_read_is_never_silent(error, says):
    posted = threading.Event()

    def post(_reading):
        posted.set()
        if error:
            raise error

    samplers = RealSamplers(Elsewhere(), 0, post, interval_s=0.001)
    samplers.start(0)
    assert posted.wait(120)
    assert eventually(lambda: says in samplers.error)
    assert samplers.stop() == ([samplers.error] if error else [])
    samplers.close()


class Counting(Elsewhere):
    """Its readings are numbered."""

    def __init__(self):
        self.made = 0

    def read(self):
        self.made += 1
        return CounterReading(BEGIN, {"number": self.made}, "")


def test_the_closing_reading_is_the_first_that_was_made_since_the_load_ended():
    engine, posted = Counting(), []
    samplers = RealSamplers(engine, 0, posted.append, interval_s=0.001)
    samplers.start(0)
    assert eventually(lambda: posted)
    ended_ns = time.monotonic_ns()
    samplers.close_from(0)
    assert eventually(lambda: engine.made >= len(posted) + 3)
    samplers.stop()
    made, last = engine.made, posted[-1].counters.values["number"]
    found = samplers.closing_reading(ended_ns)
    assert found.counters.values["number"] == last + 1, "the periodic readings end before it"
    assert engine.made == made
    for unknown in (None, time.monotonic_ns()):
        made += 1
        assert samplers.closing_reading(unknown).counters.values["number"] == made
    samplers.close()


class Far(Counting):
    """Its server is on another host, behind a shell of this one."""

    def __init__(self):
        super().__init__()
        self.shell = RemoteShell(["sh"], "ssh://there", 60.0)
        self.host = RemoteHost(self.shell)

    def location(self):
        return ServerLocation(ProcessTree(os.getpid()), (), "", (), self.shell.where)


@table(("ends_in_s", "is_read"), [(1000.0, True), (-1.0, False)])
def test_no_reading_of_another_host_is_begun_that_would_delay_the_closing_one(ends_in_s, is_read):
    engine, posted = Far(), []
    samplers = RealSamplers(engine, 0, posted.append, interval_s=0.001)
    samplers.start(0, ends_in_s)
    assert eventually(lambda: posted, 60 if is_read else 1) == is_read
    samplers.stop()
    samplers.close()
    engine.host.close()


class Late(Counting):
    """Shows a part of the last count late."""

    def settle(self, before, after):
        assert before.values["number"] < after.values["number"]
        return replace(after, values={"number": 77})


def test_what_a_server_shows_late_is_in_the_closing_reading():
    for engine, number in ((Late(), 77), (Counting(), 2)):
        samplers = RealSamplers(engine, 0, lambda _: None)
        before, after = samplers.opening_reading(), samplers.closing_reading()
        found = samplers.settle(before, after)
        assert found.counters.values == {"number": number}
        assert found.os is after.os
        samplers.close()


def test_a_window_ends_with_the_reading_that_settled(recorder, raw, tmp_path):
    opening, edge, settled = reading(0, 0), reading(3.0, 290), reading(3.0, 300)
    samplers = Samplers(reading(2.9, 240), edge)
    samplers.settle = lambda before, after: settled if (before, after) == (opening, edge) else after
    recorder.add_reading(opening)
    window = WindowReadings(recorder)
    window.before = opening
    window.read_end(samplers, lambda: None)
    recorder.finish()
    raw.flush()
    assert window.after is settled
    assert sum(reads_by_begin(tmp_path).values()) == 300


@table(("went_s", "framed"), [(20.0, True), (20.2, True), (19.0, False), (21.0, False), (-5.0, False)])
def test_no_rate_by_a_clock_that_was_set_meanwhile(went_s, framed):
    before, after = reading(0, 0), reading(went_s, 500)
    # By the clock of this host, which nobody can set, it was 20 s.
    after = replace(after, counted_ns=before.counted_ns + 20 * NANOS)
    counted, seconds = count_between(Differing(), before, after, BEGIN + NANOS)
    assert counted.read_requests == (500 if framed else None)
    assert seconds == (pytest.approx(went_s) if framed else 0)
    assert ("clock was set" in counted.unknown.get("*", "")) != framed


def test_no_rate_by_a_clock_that_the_sessions_saw_set_back():
    counted, seconds = count_between(Differing(), reading(0, 0), reading(0.01, 500), BEGIN + NANOS, 0.6)
    assert (seconds, list(counted.unknown), numbers(counted.unknown["*"])) == (0, ["*"], [0.6])


def test_counters_that_were_reset_span_no_time():
    class Reset:
        def engine_delta(self, _before, _after):
            return EngineDelta(unknown={"*": "the server's statistics were reset during the run"})

    counted, seconds = count_between(Reset(), reading(0, 0), reading(20, 500), BEGIN + NANOS)
    assert (seconds, list(counted.unknown)) == (0, ["*"])


@table(("late_ns", "framed"), [(-NANOS, True), (0, True), (1, False), (NANOS // 2, False)])
def test_no_rate_of_counters_that_were_first_read_after_the_load_had_begun(late_ns, framed):
    before, after = reading(0, 0), reading(20, 500)
    after = replace(after, counted_ns=before.counted_ns + 20 * NANOS)
    counted, seconds = count_between(Differing(), before, after, BEGIN - late_ns)
    assert (counted.read_requests, seconds) == ((500, 20) if framed else (None, 0))
    assert ("after the load had begun" in counted.unknown.get("*", "")) != framed


@table(("in_time", "said"), [(True, "the server's clock gains on it, or was set"), (False, "was too busy")])
def test_a_clock_that_drifts_is_no_busy_host(in_time, said):
    counted, _ = count_between(Differing(), reading(0, 0), reading(20, 500), BEGIN - NANOS, in_time=in_time)
    assert said in counted.unknown["*"]


@table(("late_s", "ended", "known"), [(0.2, True, True), (0.3, True, False), (19, True, False), (19, False, True)])
def test_what_a_host_did_is_unknown_when_it_was_first_read_late(recorder, late_s, ended, known):
    window, load_s = WindowReadings(recorder), 25
    before = reading(0, 0)
    later = reading(20, 500)
    later = replace(later, os=replace(later.os, time_ns=before.os.time_ns + round((load_s - late_s) * NANOS)))
    if ended:
        window.after = later
    else:  # there is no closing reading: of a run that was broken off the figures are those until then
        recorder.add_reading(later)
    host = window.host(before, load_s * NANOS)
    assert (host.driver_cpu_s is not None) == known
    assert (host.seconds > 0) == known
    assert ("after the load had begun" in host.unknown.get("*", "")) != known


class Differing:
    engine_delta = staticmethod(between)


def test_the_last_rate_shown_is_of_all_the_seconds_it_is_divided_by(raw):
    shown = []
    recorder = Recorder(session_plans(Workload(sessions=1), 8192, "test"), BEGIN, 3, raw, between, shown.append)
    recorder.add_reading(reading(0, 0))
    for number, at_s in enumerate((1, 2)):
        recorder.handle(sliced(number, 100))
        recorder.add_reading(reading(at_s, 100 * at_s))
    recorder.add_reading(reading(2.1, 210))
    assert [round(progress.rates.ops) for progress in shown] == [100, 100, 91]


def test_slices_go_to_the_file_as_they_were(recorder, raw, tmp_path):
    for number in (0, 1):
        recorder.handle(sliced(number, 100 + number))
    raw.flush()
    assert [row[2:4] + row[5:6] for row in raw_table(tmp_path, "slices.csv")[1]] == [
        [BEGIN, BEGIN + NANOS, 100],
        [BEGIN + NANOS, BEGIN + 2 * NANOS, 101],
    ]


def test_no_rate_is_shown_live_of_the_seconds_in_which_the_first_slices_run_or_all_of_the_last_ones_end(raw):
    shown = []
    recorder = Recorder(session_plans(Workload(sessions=2), 8192, "test"), BEGIN, 3, raw, between, shown.append)
    # Two sessions' slices of a second end half a second apart: by 0.75 s one of half a second has.
    for at_s, reads in ((-0.01, 0), (0.75, 50), (1.75, 250), (2.75, 450), (3.01, 600)):
        recorder.add_reading(reading(at_s, reads))
    assert [reads_per_s(progress) for progress in shown] == [None, 200, 200, None]


def test_no_rate_is_shown_live_while_long_slices_are_the_first_or_the_last(raw):
    shown = []
    plans = session_plans(Workload(sessions=16), 8192, "test")  # slices of two seconds, or 2.6
    recorder = Recorder(plans, BEGIN, 10, raw, between, shown.append)
    for second in range(11):
        recorder.add_reading(reading(second, 100 * second))
    assert [reads_per_s(progress) for progress in shown] == [None] * 3 + [100] * 6 + [None]
    assert all(progress.elapsed_s for progress in shown)


def reads_per_s(progress):
    return progress.rates and round(progress.rates.reads)


def sliced(number, ops):
    latency = Histogram()
    latency.add({50: ops}, 37.0 * ops, 37.0)
    begin, end = BEGIN + number * NANOS, BEGIN + (number + 1) * NANOS
    result = SliceResult(begin, end, begin, SliceCounts(ops, rows_read=ops), {OpKind.SELECT: latency})
    return SliceDone(0, number, number * ops, result)


@table(
    "run_time, sessions, reading_s, ahead_s",
    [
        (2.0, 1, 0.003, 0.0121),  # what a reading takes on a busy host
        (300.0, 1, 0.003, 0.04),
        (300.0, 1000, 0.003, 0.112),
        (300.0, 1, 0.1, 0.2),  # this server takes long
    ],
)
def test_counters_are_read_so_early_that_they_are_there_when_the_window_begins(run_time, sessions, reading_s, ahead_s):
    assert read_ahead_s(run_time, sessions, 1, reading_s) == pytest.approx(ahead_s)


class Clock:
    """A clock of this host that only sleep and readings move, and the readings that it dates."""

    def __init__(self, monkeypatch, *took_s):
        self.now_ns, self.took_s, self.asked_s = BEGIN - NANOS, iter(took_s), []
        monkeypatch.setattr("openslob.kinds.run.window.time.time_ns", lambda: self.now_ns)
        monkeypatch.setattr("openslob.kinds.run.window.time.monotonic_ns", lambda: self.now_ns)
        monkeypatch.setattr("openslob.kinds.run.window.time.sleep", self.move)

    def move(self, seconds):
        self.now_ns += round(seconds * NANOS)

    def opening_reading(self):
        asked_s = (self.now_ns - BEGIN) / NANOS
        self.asked_s.append(asked_s)
        self.move(next(self.took_s))
        return reading(asked_s, len(self.asked_s))


def test_counters_that_were_read_in_time_are_kept_however_late_another_host_answers(monkeypatch):
    clock = Clock(monkeypatch)
    read = reading(-0.25, 1)

    def answered_late():
        counted_ns = clock.now_ns
        clock.move(5.0)
        return replace(read, counted_ns=counted_ns)

    clock.opening_reading = answered_late
    assert read_opening(clock, BEGIN, 0.02) == (replace(read, counted_ns=BEGIN - NANOS // 4), True)


@table(
    ("took_s", "asked_s", "kept_s"),
    [
        ((0.01, 0.01, 0.01), [-0.25, -0.1, -0.02], -0.02),
        ((0.01, 0.01, 0.05), [-0.25, -0.1, -0.02], -0.1),  # the last one was not there in time
        ((0.01, 0.2), [-0.25, -0.1], -0.25),
        ((0.17, 0.01), [-0.25, -0.02], -0.02),  # the second one's time had passed
        ((0.24,), [-0.25], -0.25),
        ((0.3,), [-0.25], 0.05),  # it has counts of the load, and is dated after its begin
    ],
)
def test_the_last_reading_that_was_there_before_the_begin_is_kept(monkeypatch, took_s, asked_s, kept_s):
    clock = Clock(monkeypatch, *took_s)
    kept, in_time = read_opening(clock, BEGIN, 0.02)
    assert clock.asked_s == pytest.approx(asked_s)
    assert (kept.counters.server_ns - BEGIN) / NANOS == pytest.approx(kept_s)
    assert in_time == (kept_s < 0)
