"""A repeated run: each run at its time, missed ones named, a stop gone on with. Nothing waits for a real clock."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from factories.contexts import context_in
from factories.records import physical
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.workload import Workload
from openslob.kinds.repeated import record as repeated
from openslob.kinds.repeated.execute import NO_DRIVER, STILL_BUSY, new_record, repeat
from openslob.kinds.repeated.record import RepeatedFolder, TimeState
from openslob.kinds.run import runner
from openslob.kinds.run.context import Context
from openslob.record.model import Holds, Status

EVERY_S = 60.0


class World:
    """A clock that `repeat` reads and that waiting moves on, and runs that take ``takes_s`` of it."""

    def __init__(self, monkeypatch, takes_s=10.0):
        self.now_s, self.takes_s, self.begun, self.told, self.fail_at = time.time(), takes_s, [], [], {}
        self.stop_at = None
        self.interrupt = Interrupt()
        self.interrupt.stop = SimpleNamespace(wait=self._wait, is_set=lambda: False, set=lambda: None)
        monkeypatch.setattr(runner, "run", self._run)
        monkeypatch.setattr(Context, "connect", lambda _: SimpleNamespace())

    def _wait(self, seconds):
        self.now_s += seconds

    def _run(self, _engine, request, *_):
        assert request.goes_on
        self.begun.append(self.now_s)
        number = len(self.begun)
        self.now_s += self.takes_s if isinstance(self.takes_s, float) else self.takes_s[number - 1]
        if self.stop_at == number:
            self.interrupt.request()
            raise SlobError("stopped")
        if number in self.fail_at:
            raise SlobError(self.fail_at[number])
        folder = request.results / f"{number}-{request.name}"
        folder.mkdir()
        return SimpleNamespace(record=physical(), folder=folder)

    def repeat(self, folder):
        repeat(folder, context_in(interrupt=self.interrupt), self.told.append, clock=lambda: self.now_s)


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def record(planned=3, **parameters):
    return new_record("often", "t", Workload(run_time=5, warmup=0, **parameters), EVERY_S, planned, {})


def test_each_run_begins_at_its_time(world, tmp_path):
    with RepeatedFolder.begin(tmp_path, record()) as folder:
        world.repeat(folder)
    first = folder.record.first_s
    assert [at - first for at in world.begun] == pytest.approx([0, 60, 120], abs=1)
    assert folder.record.status is Status.COMPLETE
    assert [each.state for each in world.told] == [TimeState.DONE] * 3
    verdicts = {each.name: each.verdict for each in folder.record.verdicts}
    assert verdicts == {"every_time": Holds.HOLDS, "predictable": Holds.UNKNOWN}
    assert repeated.load(folder.path) == folder.record


def test_a_time_at_which_the_run_before_was_still_going_on_is_missed_and_not_made_up_for(world, tmp_path):
    world.takes_s = [10.0, 100.0, 10.0]
    with RepeatedFolder.begin(tmp_path, record(planned=4)) as folder:
        world.repeat(folder)
    states = [(each.state, each.why) for each in folder.record.times]
    assert states == [
        (TimeState.DONE, ""), (TimeState.DONE, ""), (TimeState.MISSED, STILL_BUSY), (TimeState.DONE, ""),
    ]  # fmt: skip
    assert [at - folder.record.first_s for at in world.begun] == pytest.approx([0, 60, 180], abs=1)


def test_a_run_that_fails_is_named_and_the_next_one_made(world, tmp_path):
    world.fail_at = {2: "the server is gone"}
    with RepeatedFolder.begin(tmp_path, record()) as folder:
        world.repeat(folder)
    assert [each.state for each in folder.record.times] == [TimeState.DONE, TimeState.FAILED, TimeState.DONE]
    assert folder.record.times[1].why == "the server is gone"
    (every_time, _) = folder.record.verdicts
    assert every_time.verdict is Holds.FAILS


def test_what_was_stopped_goes_on_and_names_the_times_that_have_passed(world, tmp_path):
    world.stop_at = 2
    with RepeatedFolder.begin(tmp_path, record(planned=5)) as folder:
        world.repeat(folder)
    assert folder.record.status is Status.INTERRUPTED
    assert len(folder.record.times) == 1
    world.stop_at, world.interrupt.requested = None, False
    world.now_s = folder.record.first_s + 200
    with RepeatedFolder.resume(folder.path) as again:
        world.repeat(again)
    assert [(each.state, each.why) for each in again.record.times] == [
        (TimeState.DONE, ""), (TimeState.MISSED, NO_DRIVER), (TimeState.MISSED, NO_DRIVER),
        (TimeState.MISSED, NO_DRIVER), (TimeState.DONE, ""),
    ]  # fmt: skip


def test_without_an_end_a_stop_is_the_end(world, tmp_path):
    world.stop_at = 3
    with RepeatedFolder.begin(tmp_path, record(planned=None)) as folder:
        world.repeat(folder)
    assert (folder.record.status, len(folder.record.times)) == (Status.COMPLETE, 2)


def test_runs_that_take_longer_than_the_time_between_them_are_refused():
    with pytest.raises(UsageError, match="takes about 1 min 5 s, and one is due every 1 min;"):
        new_record("often", "t", Workload(run_time=60, warmup=2), EVERY_S, 3, {})
