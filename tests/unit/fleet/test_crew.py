"""Sessions dealt over drivers: what they report adds up to what they wrote, and who is late or gone is named."""

import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories import effort
from factories.fleets import MadeUpServer, Rig, use_made_up
from openslob.core.errors import SlobError, UsageError
from openslob.core.histogram import lower_edge_us
from openslob.fleet.channel import NO_SCHEDULER, NoSchedulerError
from openslob.fleet.crew import dealt
from openslob.kinds.run.worker import SliceDone
from openslob.record.raw_csv import raw_table


@pytest.fixture
def server(monkeypatch, tmp_path):
    made = MadeUpServer()
    use_made_up(monkeypatch, made, tmp_path / "home")
    yield made
    made.end_agents()


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "20261122-120000-run"
    place.mkdir()
    return place


def written(folder):
    """Operations by bucket, and by session, of the files of all drivers."""
    buckets, ops = Counter(), Counter()
    for place in (folder / "drivers").iterdir():
        for _second, kind, edge, count in raw_table(place, "latency.csv")[1]:
            buckets[kind, edge] += count
        columns, rows = raw_table(place, "slices.csv")
        for row in rows:
            ops[row[columns.index("session")]] += row[columns.index("ops")]
    return buckets, ops


def merged(rig, accumulator):
    buckets = Counter()
    for kind, histogram in accumulator.latency.items():
        for bucket, count in histogram.counts.items():
            buckets[kind.value, lower_edge_us(bucket)] += count
    return buckets, rig.ops


@given(st.integers(1, 5), st.integers(0, 7), st.integers(0, 2**32), st.booleans())
@settings(max_examples=effort.number(3, 10))
def test_what_was_merged_is_the_sum_of_what_drivers_wrote_bucket_for_bucket(
    tmp_path_factory, drivers, more, seed, shared
):
    with pytest.MonkeyPatch.context() as monkeypatch:
        home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("record")
        server = MadeUpServer(seed)
        use_made_up(monkeypatch, server, home)
        rig = Rig(server, folder, drivers=drivers, sessions=drivers + more, shared=shared)
        used, accumulator = rig.window()
        assert written(folder) == merged(rig, accumulator)
    assert rig.pool.errors == []
    assert [each.lost for each in used] == [""] * drivers
    assert [each.ops for each in used] == [each.ops_written for each in used]
    assert sum(each.ops for each in used) == accumulator.counts.ops
    assert [number for each in used for number in each.sessions] == list(range(drivers + more))
    assert not list(home.glob("drivers/*/*")), "what was fetched is not left on a driver's host"


@pytest.mark.parametrize("here", [True, False])
def test_when_sessions_ended_is_known_by_the_clock_of_drivers_on_this_host(server, folder, here):
    rig = Rig(server, folder, here=here)
    begun_ns = time.monotonic_ns()
    rig.window()
    assert rig.crew.is_heard_late == here
    if here:
        assert begun_ns <= rig.pool.ended_ns <= time.monotonic_ns()
    else:
        assert rig.pool.ended_ns is None


def test_each_driver_says_what_it_used_and_its_clock(server, folder):
    begun = time.monotonic()
    used, _ = Rig(server, folder).window()
    took = time.monotonic() - begun
    for each in used:
        assert each.cpu_s >= 0
        # A busy host may let the driver make its first reading when the window has begun.
        assert 0 < each.seconds <= took
        assert each.clock_offset_s == pytest.approx(3600, abs=60)
        assert each.files == f"drivers/{each.number}"


def test_only_files_with_rows_are_kept(server, folder):
    Rig(server, folder).window()
    assert {path.name for path in (folder / "drivers/1").iterdir()} == {"slices.csv", "latency.csv"}


def test_a_driver_that_is_gone_loses_its_own_sessions_only_and_is_named_once(server, folder):
    rig = Rig(server, folder, drivers=3, run_time=3600)

    def kill():
        server.wait_until_at_work(6)
        rig.lines[2].broken = True
        rig.crew.channels[1].ask()

    threading.Thread(target=kill, daemon=True).start()
    used, _ = rig.window()
    assert rig.pool.lost == {2, 3}
    assert rig.pool.ended_ns is None, "nobody knows when those ended"
    assert len(set(rig.pool.errors)) == 1
    assert rig.pool.errors[0].startswith("driver 2 (host, pid 1) is gone")
    assert [bool(each.lost) for each in used] == [False, True, False]
    for number in (0, 1, 4, 5):
        assert rig.ops[number] > 0
    assert [each.ops for each in used if not each.lost] == [each.ops_written for each in used if not each.lost]


def test_a_scheduler_that_is_gone_is_not_called_a_driver_that_is(server, folder):
    rig = Rig(server, folder, run_time=3600)

    def kill():
        server.wait_until_at_work(6)
        for line, channel in zip(rig.lines.values(), rig.crew.channels, strict=True):
            line.broken = NoSchedulerError("Timed out trying to connect")
            channel.ask()

    threading.Thread(target=kill, daemon=True).start()
    used, _ = rig.window()
    assert {error.partition(") ")[2] for error in rig.pool.errors} == {NO_SCHEDULER}
    assert "driver" not in NO_SCHEDULER
    assert [each.lost for each in used] == [NO_SCHEDULER] * 2


def test_a_driver_that_can_not_go_on_ends_its_sessions_and_its_files_are_fetched(server, folder):
    rig = Rig(server, folder, run_time=3600, shared=False)
    agent = rig.lines[2].agent

    def fail():
        server.wait_until_at_work(6)
        agent.job.error = "slices.csv can't be written: No space left on device"

    threading.Thread(target=fail, daemon=True).start()
    used, _ = rig.window()
    assert rig.pool.errors == [
        "driver 2 (host, pid 1) can't go on: slices.csv can't be written: No space left on device"
    ] * len(rig.pool.lost)
    assert rig.pool.lost == {3, 4, 5}
    assert agent.job.over.is_set()
    assert agent.job.alive() == frozenset()
    assert (used[1].files, used[1].left) == ("drivers/2", False)
    assert used[1].lost.startswith("can't go on: slices.csv")


def test_an_order_that_comes_after_the_end_of_the_run_is_not_given(server, folder):
    rig = Rig(server, folder, drivers=1)
    (channel_,) = rig.crew.channels
    rig.reachable.clear()
    rig.crew.start()
    rig.crew.give(None)
    rig.reachable.set()
    channel_.join(120)
    assert rig.lines[1].agent.job is None, "no session was begun"
    assert not any(member.is_alive() for member in rig.crew.members)
    assert not channel_.lost


def test_files_of_which_a_part_does_not_come_are_left_on_the_driver(server, folder):
    rig = Rig(server, folder, drivers=1, shared=False)
    rig.lines[1].read = lambda name, offset: b"" if name == "latency.csv" else rig.lines[1].agent.read(name, offset)
    used, _ = rig.window()
    assert used[0].left
    assert used[0].files == str(rig.lines[1].agent.job.folder)
    assert (rig.lines[1].agent.job.folder / "slices.csv").exists()
    assert not (folder / "drivers/1").exists()


def test_an_answer_that_is_lost_on_the_way_is_given_again_and_counts_once(server, folder):
    rig = Rig(server, folder)
    line = rig.lines[1]
    said = []

    def exchange(message):
        said.append(message)
        line.agent.exchange(message)
        return line.agent.exchange(message)

    line.exchange = exchange
    used, accumulator = rig.window()
    assert rig.pool.errors == []
    assert written(folder) == merged(rig, accumulator)
    assert used[0].ops == used[0].ops_written
    assert said[-1].heard > 0


def test_a_driver_that_gets_the_order_after_the_start_is_refused_and_named(server, folder, monkeypatch):
    rig = Rig(server, folder, run_time=3600, lenient=False)
    line, refused = rig.lines[2], threading.Event()

    def exchange(said):
        if said.phase is not None:
            refused.wait(120)
        return line.agent.exchange(said)

    line.exchange = exchange
    fail = rig.pool.fail
    monkeypatch.setattr(rig.pool, "fail", lambda why: (fail(why), refused.set()))
    rig.window()
    assert rig.pool.errors[0].startswith("late for the common start: ")
    assert "driver 2 (host, pid 1) had given the order to 0 of 3 sessions" in rig.pool.errors[0]


def test_an_error_of_a_session_names_its_driver(server, folder):
    server.refused = {4: SlobError("the server takes no more connections")}
    rig = Rig(server, folder)
    with pytest.raises(SlobError, match=r"driver 2 \(host, pid 1\): the server takes no more connections"):
        rig.window()
    assert not (folder / "drivers").exists(), "nothing was measured"


def test_a_stop_ends_all_sessions_and_keeps_what_they_did(server, folder):
    rig = Rig(server, folder, run_time=3600)
    threading.Thread(target=lambda: server.wait_until_at_work(6) and rig.interrupt.request(), daemon=True).start()
    used, accumulator = rig.window()
    assert rig.pool.errors == []
    assert written(folder) == merged(rig, accumulator)
    assert all(each.ops for each in used)


def test_a_driver_that_reports_other_operations_than_it_wrote_is_an_error(server, folder):
    def one_more(report):
        if not isinstance(report, SliceDone):
            return report
        counts = replace(report.result.counts, ops=report.result.counts.ops + 1)
        return replace(report, result=replace(report.result, counts=counts))

    def exchange(agent, said):
        heard = agent.exchange(said)
        return replace(heard, reports=[one_more(report) for report in heard.reports])

    rig = Rig(server, folder)
    for line in rig.lines.values():
        line.exchange = partial(exchange, line.agent)
    used, _ = rig.window()
    assert {each.lost for each in used} == {"reported operations that differ from those in its files"}


@given(st.integers(1, 300), st.integers(1, 40))
def test_sessions_are_dealt_in_order_and_evenly(sessions, drivers):
    plans = list(range(sessions))
    if sessions < drivers:
        with pytest.raises(UsageError, match="use more sessions, or fewer drivers"):
            dealt(plans, drivers)
        return
    parts = dealt(plans, drivers)
    assert [plan for part in parts for plan in part] == plans
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
