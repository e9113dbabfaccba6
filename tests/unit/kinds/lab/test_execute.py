"""The course of a lab: rounds, time limit, failures, stops. No server is started, and no real clock is waited for."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from factories.contexts import context_in
from factories.labs import METHOD, PAGES_OFF, SUMS_OFF, lab_record
from factories.records import physical
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.kinds.lab import execute
from openslob.kinds.lab.execute import LabExecution
from openslob.kinds.lab.record import LabFolder
from openslob.kinds.lab.servers import groups
from openslob.kinds.run import loading, runner
from openslob.kinds.run.runner import FinishedRun
from openslob.record.model import Figure, Holds, Status

BUSY = "too busy for a rate"


class World:
    """Servers that start, runs that take 7 s, and a clock that both move on. Off, commits are 1.2 times as many."""

    def __init__(self, monkeypatch, noise=0.005):
        self.now_s, self.noise, self.started, self.begun = 0.0, noise, [], []
        self.fail = {}
        self.stop_at = self.side = None
        self.had, self.spoiled = {}, set()
        self.random = np.random.default_rng(4)
        self.interrupt = Interrupt()
        monkeypatch.setattr(runner, "run", self._run)
        monkeypatch.setattr(loading, "load", lambda *_: None)
        monkeypatch.setattr(execute, "lab_servers", self._servers)

    @contextmanager
    def _servers(self, _like, _arms, _notify):
        yield SimpleNamespace(start=self._start, stop=lambda: None)

    def _start(self, setting, arm, loads):
        self.now_s += 1.0
        self.side = arm.label if arm else setting
        self.started.append(self.side)
        if why := self.fail.get(self.side):
            raise SlobError(why)
        facts = SimpleNamespace(product="P", version="1", block_size=8192)
        return SimpleNamespace(follow=lambda _: None, facts=lambda: facts), SimpleNamespace(name="lab")

    def _run(self, _engine, request, *_):
        self.now_s += 7.0
        self.begun.append(request)
        if self.stop_at == len(self.begun):
            self.interrupt.request()
            raise SlobError("stopped")
        level = (1.2 if self.side == PAGES_OFF.label else 1.0) * float(self.random.lognormal(0, self.noise))
        record = physical()
        summary = {name: Figure(value=1000 * level, unit="1/s") for name in ("commits_per_s", "pio_read_per_s")}
        if len(self.begun) in self.spoiled:
            summary = {name: Figure(value=None, unit="1/s", why=BUSY) for name in (*summary, "ops_per_s")}
        summary |= {"pio_read_mb_per_s": summary["commits_per_s"], "db_cpu_per_s": Figure(value=2.0, unit="s/s")}
        settings = {**record.engine, "settings": self.had}
        folder = request.results / f"{len(self.begun)}-{request.name}"
        folder.mkdir()
        return FinishedRun(record.model_copy(update={"summary": summary, "engine": settings}), folder)

    def execute(self, folder):
        LabExecution(folder, context_in(interrupt=self.interrupt), lambda: self.now_s).execute()
        return folder.record


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def new(*arms, limit_s=1800.0):
    record = lab_record(*((arm, 1.0) for arm in arms), rounds=0)
    fresh = {"spent_s": 0.0, "status": Status.INTERRUPTED, "left_out": (), "product": ""}
    return record.model_copy(update={"limit_s": limit_s, **fresh})


def test_each_setting_stops_when_it_is_settled_and_the_lab_when_all_are(world, tmp_path):
    with LabFolder.begin(tmp_path, new(PAGES_OFF, METHOD)) as folder:
        record = world.execute(folder)
    assert (record.status, record.rounds, record.is_settled) == (Status.COMPLETE, 6, True)
    assert len(record.runs) == 6 * (2 + 4)
    assert record.result(PAGES_OFF, "update").rate.low > 1.1
    assert record.product == "P 1"


def test_both_sides_of_a_pair_do_the_same_in_shuffled_order(world, tmp_path):
    with LabFolder.begin(tmp_path, new(PAGES_OFF)) as folder:
        record = world.execute(folder)
    assert len(world.started) == 12
    firsts = world.started[::2]
    assert {PAGES_OFF.label, PAGES_OFF.setting} == set(firsts)
    seeds = [request.workload.seed for request in world.begun]
    assert seeds == [number for number in range(1, 7) for _ in (0, 1)]
    assert {each.run for each in record.runs} == {path.name for path in folder.path.iterdir() if path.is_dir()}


def test_loads_that_read_and_those_that_write_have_starts_and_servers_of_their_own(world, tmp_path):
    both = PAGES_OFF.model_copy(update={"loads": ("physical", "commit", "update")})
    with LabFolder.begin(tmp_path, new(both, limit_s=50.0)) as folder:
        record = world.execute(folder)
    (_, first), (_, second) = [(each.round, each) for each in record.runs[:2]]
    assert [(each.load, each.value) for each in record.runs[:6]] == [
        ("physical", first.value), ("physical", second.value),
        ("commit", record.runs[2].value), ("update", record.runs[2].value),
        ("commit", record.runs[4].value), ("update", record.runs[4].value),
    ]  # fmt: skip
    assert {first.value, second.value} == {record.runs[2].value, record.runs[4].value} == {None, "off"}
    assert len(world.started) == 4 * record.rounds
    assert [group for group in groups([both], both.every_load)] == [("physical",), ("commit", "update")]
    assert groups([SUMS_OFF], ("commit", "physical")) == [("physical", "commit")]


def test_the_time_is_kept_and_what_is_not_settled_says_so(world, tmp_path):
    world.noise = 0.2
    with LabFolder.begin(tmp_path, new(PAGES_OFF, METHOD, limit_s=300.0)) as folder:
        record = world.execute(folder)
    assert 200 < record.spent_s <= 300
    assert record.spent_s == world.now_s
    assert (record.status, record.is_settled) == (Status.COMPLETE, False)


def test_the_first_block_is_made_however_short_the_time_is(world, tmp_path):
    with LabFolder.begin(tmp_path, new(PAGES_OFF, limit_s=1.0)) as folder:
        assert len(world.execute(folder).runs) == 2


def test_a_value_that_fails_again_is_left_out_and_the_others_go_on(world, tmp_path):
    world.fail[METHOD.label] = "it does not start"
    with LabFolder.begin(tmp_path, new(PAGES_OFF, METHOD)) as folder:
        record = world.execute(folder)
    assert record.status is Status.COMPLETE
    assert world.started.count(METHOD.label) == 2
    assert [(each.what, each.why) for each in record.left_out] == [(METHOD.label, "it does not start")]
    assert record.result(PAGES_OFF, "update").settled
    assert record.result(METHOD, "scan") is None


def test_a_value_that_was_left_out_as_it_failed_is_tried_again_in_a_lab_that_goes_on(world, tmp_path):
    world.fail[METHOD.label] = "it does not start"
    with LabFolder.begin(tmp_path, new(PAGES_OFF, METHOD)) as folder:
        assert world.execute(folder).left_out
    world.fail.clear()
    with LabFolder.resume(folder.path) as again:
        record = world.execute(again)
    assert record.left_out == ()
    assert record.result(METHOD, "scan").settled


def test_a_lab_without_any_pair_has_failed_and_says_why(world, tmp_path):
    world.fail[PAGES_OFF.setting] = "no space"
    with LabFolder.begin(tmp_path, new(PAGES_OFF)) as folder:
        record = world.execute(folder)
    assert record.status is Status.FAILED
    assert [error.endswith(": no space") for error in record.errors] == [True]


def test_a_stopped_lab_keeps_its_pairs_and_goes_on_where_it_was(world, tmp_path):
    world.stop_at = 4
    with LabFolder.begin(tmp_path, new(PAGES_OFF)) as folder:
        stopped = world.execute(folder)
    assert (stopped.status, len(stopped.runs)) == (Status.INTERRUPTED, 3)
    world.interrupt, world.stop_at = Interrupt(), None
    with LabFolder.resume(folder.path) as again:
        record = world.execute(again)
    assert record.status is Status.COMPLETE
    assert record.runs[:3] == stopped.runs
    assert record.result(PAGES_OFF, "update").rate.pairs >= 6
    assert record.spent_s == world.now_s


def test_a_server_that_still_has_the_other_value_gives_no_figure(world, tmp_path):
    world.had = {"full_page_writes": "on"}
    with LabFolder.begin(tmp_path, new(PAGES_OFF, limit_s=60.0)) as folder:
        record = world.execute(folder)
    whys = {each.why for each in record.runs if each.value == "off"}
    assert whys == {"the server had full_page_writes=on, not off"}
    assert all(each.figures for each in record.runs if each.value is None)


def test_a_run_that_a_busy_host_spoiled_is_made_again_and_not_counted(world, tmp_path):
    world.spoiled = {2}
    with LabFolder.begin(tmp_path, new(PAGES_OFF, limit_s=60.0)) as folder:
        record = world.execute(folder)
    assert [each.made_again for each in record.runs[:3]] == [False, True, False]
    assert record.runs[1].why == BUSY
    assert record.result(PAGES_OFF, "update").rate.pairs == record.rounds
    assert {each.name: each.verdict for each in record.verdicts}["runs_valid"] is Holds.HOLDS


def test_a_host_that_stays_too_busy_gets_no_more_than_three_tries(world, tmp_path):
    world.spoiled = set(range(1, 100))
    with LabFolder.begin(tmp_path, new(PAGES_OFF, limit_s=55.0)) as folder:
        record = world.execute(folder)
    assert [each.made_again for each in record.runs] == [True, True, False] * 2
    assert record.result(PAGES_OFF, "update").rate.why == BUSY
