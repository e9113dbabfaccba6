"""An outage with simulated servers: every operation is accounted for, and both clocks find the same outage."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from factories.two_servers import World
from openslob.analyze.shares import ruled_out_pct
from openslob.core.units import NANOS
from openslob.engines.ledger import Entry, LedgerContents
from openslob.kinds.failover.accounting import IN_DOUBT, Journal, Reconnection, account
from openslob.kinds.failover.execute import bounds, judge_step, next_rate, search_figures
from openslob.kinds.failover.figures import (
    ObservedCycle,
    Offset,
    Pause,
    back_ns,
    figures_of,
    find_kept,
    lag_of_copies,
    longest_pause,
    summary,
    verdicts,
)
from openslob.kinds.failover.lag import Beats, LagSample
from openslob.kinds.failover.record import FailoverCycle
from openslob.kinds.failover.sessions import FailoverSession, Plan, Retry
from openslob.record.model import Figure, Holds

ROWS = 4
# Longer than any host takes.
PATIENCE_S = 120


def outage(world, retry=Retry.ASK, in_flight=0, sessions=3, per_s=None):
    """Sessions at work on a world whose primary dies after a while; what was observed."""
    plan = Plan(dict(enumerate(world.servers)), ROWS, retry=retry, sessions=sessions, per_s=per_s)
    clients = [FailoverSession(number, plan) for number in range(sessions)]
    for client in clients:
        client.connect()
    began = time.monotonic_ns()
    for client in clients:
        client.start()
    wait_for(clients, 20)
    cause = time.monotonic_ns()
    world.kill_primary(in_flight)
    time.sleep(0.05)
    world.promote()
    taken = time.monotonic_ns()
    wait_for(clients, 20)
    plan.stop.set()
    assert all(client.join(PATIENCE_S) for client in clients)
    return ObservedCycle(
        [client.journal for client in clients], world.contents(), ROWS, plan.offsets, began, time.monotonic_ns(),
        cause, taken, time.time_ns() - time.monotonic_ns(),
    )  # fmt: skip


def wait_for(clients, more):
    wanted = [len(client.journal) + more for client in clients]
    deadline = time.monotonic() + PATIENCE_S
    while any(len(client.journal) < count for client, count in zip(clients, wanted, strict=True)):
        assert time.monotonic() < deadline
        time.sleep(0.002)


def accounts_of(seen):
    return account(seen.journals, seen.contents, seen.rows)


def test_nothing_is_lost_when_the_copy_has_everything():
    seen = outage(World())
    found = accounts_of(seen)
    assert found.problems == []
    assert (len(found.lost), found.doubled) == (0, 0)
    assert found.sent == sum(len(journal) for journal in seen.journals) == found.acked_there + found.doubt_gone


def test_what_the_copy_lacked_is_lost_and_named():
    seen = outage(World(behind=5))
    found = accounts_of(seen)
    assert found.problems == []
    assert len(found.lost) == 5
    cycle = figures_of(seen, 1, "a", "b", [])
    assert cycle.accounts["acked_lost"] == len(cycle.lost) == 5
    assert all(row["acked_before_s"] >= 0 for row in cycle.lost)
    assert [each.verdict for each in verdicts([cycle], {})][:2] == [Holds.HOLDS, Holds.FAILS]


def test_a_client_that_asks_does_not_double_what_was_in_doubt():
    found = accounts_of(outage(World(doubtful=True), Retry.ASK, in_flight=2))
    assert (found.problems, found.doubled) == ([], 0)
    assert found.doubt_there == 2


def test_a_client_that_does_not_ask_doubles_what_was_there():
    found = accounts_of(outage(World(doubtful=True), Retry.BLIND, in_flight=2))
    assert (found.problems, found.doubled, found.doubt_there) == ([], 2, 2)


def test_a_client_that_does_not_ask_doubles_nothing_that_was_gone():
    found = accounts_of(outage(World(), Retry.BLIND, in_flight=2))
    assert (found.problems, found.doubled, found.doubt_there) == ([], 0, 0)
    assert found.doubt_gone >= 2


@pytest.mark.parametrize("fault", ["a write that nobody sent", "a write too few", "a torn one", "another session"])
def test_what_does_not_fit_is_a_problem(fault):
    seen = outage(World())
    sessions, rows = dict(seen.contents.sessions), dict(seen.contents.rows)
    last = sessions[1]
    if fault == "a write that nobody sent":
        sessions[1] = Entry(last.number + 9, last.times + 1, 1)
    elif fault == "a write too few":
        sessions[1] = Entry(last.number, last.times - 1, 1)
    elif fault == "a torn one":
        key = next(key for session, key in rows if session == 1 and rows[session, key].number == last.number)
        rows[1, key] = Entry(last.number - 1, rows[1, key].times - 1, 1)
    else:
        sessions[7] = Entry(1, 1, 1)
    seen = dataclasses.replace(seen, contents=LedgerContents(sessions, rows))
    assert accounts_of(seen).problems
    cycle = figures_of(seen, 1, "a", "b", [])
    assert [each.verdict for each in verdicts([cycle], {})][:2] == [Holds.FAILS, Holds.UNKNOWN]


def test_both_clocks_find_the_outage_whatever_the_server_s_clock_says():
    seen = outage(World())
    ahead = 3600 * NANOS
    for journal in seen.journals:
        begin = next(index for index, at in enumerate(journal.acked_ns) if at == IN_DOUBT) + 1
        for index in range(begin, len(journal)):
            journal.done_ns[index] += ahead
    seen = dataclasses.replace(seen, offsets={0: Offset(40, 500), 1: Offset(ahead, 1000)})
    cycle = figures_of(seen, 1, "a", "b", [])
    assert cycle.value("outage_s") >= 0.05
    # A thread of this process may get its turn late between the server's clock and its own.
    told = abs(cycle.value("before_ms")) + abs(cycle.value("after_ms"))
    assert abs(cycle.value("clocks_differ_ms")) <= told + 0.001
    assert cycle.value("outage_kept_s") == pytest.approx(cycle.value("outage_s"))
    assert cycle.value("reconnect_s") == pytest.approx(cycle.value("outage_s") - 0.05, abs=cycle.value("outage_s"))


def test_commits_have_the_time_of_the_driver_s_clock_whatever_the_servers_clocks_say():
    wall, ahead = 10**18, 7 * NANOS
    journal = Journal(0)
    journal.add(1, 100, 0, 90 + wall + 30)
    journal.add(2, IN_DOUBT, 0, 0)
    journal.add(3, 300, 1, 290 + wall + ahead)
    # The first server's clock is ahead by less than the error of that, so that it agrees.
    acked, done = find_kept([journal], [[0, 2]], {0: Offset(30, 500), 1: Offset(ahead, 1000)}, wall)
    assert (acked.tolist(), done.tolist()) == ([100, 300], [120, 290])


def test_without_an_outage_nothing_is_claimed():
    world = World()
    plan = Plan(dict(enumerate(world.servers)), ROWS)
    client = FailoverSession(0, plan)
    client.connect()
    began = time.monotonic_ns()
    client.start()
    wait_for([client], 10)
    plan.stop.set()
    assert client.join(PATIENCE_S)
    seen = ObservedCycle([client.journal], world.contents(), ROWS, {}, began, time.monotonic_ns(), None, None, 0)
    cycle = figures_of(seen, 1, "a", "a", [])
    assert cycle.value("outage_s") is None
    assert "no session was lost" in cycle.figures["outage_s"].why
    found = {each.name: each.verdict for each in verdicts([cycle], {})}
    assert found == {
        "operations_accounted": Holds.HOLDS, "no_acked_commit_lost": Holds.UNKNOWN, "back_to_level": Holds.UNKNOWN,
        "clocks_agree": Holds.UNKNOWN,
    }  # fmt: skip
    assert summary([cycle])["outage_max_s"].value is None


def test_operations_that_were_due_during_the_outage_are_not_sent_later():
    seen = outage(World(), per_s=600)
    assert sum(journal.skipped for journal in seen.journals) >= 0
    assert accounts_of(seen).problems == []


def test_the_longest_gap_is_that_of_the_outage():
    events = np.array([0, 10, 500, 510, 900, 1000], np.int64)
    assert longest_pause(events, 505, 2000) == Pause(510, 900)
    assert longest_pause(events, 0, 490) == Pause(10, 500)
    assert longest_pause(events, 5, 400) == Pause(10, 500)  # what began before all were back
    assert longest_pause(events, 5, 8) == Pause(0, 10)
    assert longest_pause(events, 1001, 2000) is None
    assert longest_pause(events[:1], 0, 2000) is None


def test_back_is_the_begin_of_the_first_second_that_is_full_enough():
    step = NANOS // 100
    slow = np.arange(2 * NANOS, 3 * NANOS, 2 * step)
    fast = np.arange(3 * NANOS, 6 * NANOS, step)
    acked = np.concatenate([np.arange(0, NANOS, step), slow, fast])
    back = back_ns(acked, Pause(NANOS, 2 * NANOS), 100.0, 6 * NANOS)
    assert 2.85 * NANOS <= back <= 3 * NANOS
    assert back_ns(acked, Pause(NANOS, 2 * NANOS), 100.0, round(2.9 * NANOS)) is None


def test_a_copy_is_behind_by_the_oldest_beat_that_it_lacks():
    beats = Beats()
    for second in (1, 2, 3):
        beats.add(second * NANOS)
    assert beats.behind_s(3, 60 * NANOS) == 0.0  # idle, not behind
    assert beats.behind_s(1, 10 * NANOS) == 8.0  # it stands still: the lag grows with time
    assert beats.behind_s(0, round(1.5 * NANOS)) == 0.5  # beats after the moment do not count


def test_lag_that_is_not_known_is_none_with_its_reason():
    samples = [LagSample(1, 1, why="gone"), LagSample(2, 1, 10, 5, 0.25, 9.0)]
    (row,) = lag_of_copies(samples, ["a", "b"])
    assert (row["copy"], row["bytes_behind_max"], row["heartbeat_s_max"], row["said_s_max"]) == ("b", 10, 0.25, 9.0)
    (row,) = lag_of_copies(samples[:1], ["a", "b"])
    assert (row["bytes_behind_max"], row["heartbeat_s_max"], row["why"]) == (None, None, "gone")


def test_two_outages_one_after_the_other_are_accounted_for():
    journal = Journal(0)
    for number, acked in ((1, 10), (2, 20), (3, IN_DOUBT)):
        journal.add(number, acked, 0, 0)
    journal.note_reconnection(Entry(1, 1, 5))  # 2 was acknowledged and is lost, 3 is gone
    journal.add(3, 31, 1, 0)
    journal.add(4, IN_DOUBT, 1, 0)
    journal.note_reconnection(Entry(4, 3, 6))  # 1, 3, 4
    journal.add(5, 41, 0, 0)
    rows = {(0, key): Entry(0, 0, 0) for key in range(ROWS)}
    keys = {number: number * 7919 % ROWS for number in (1, 3, 4, 5)}
    for number in (1, 3, 4, 5):
        before = rows[0, keys[number]]
        rows[0, keys[number]] = Entry(number, before.times + 1, 1)
    found = account([journal], LedgerContents({0: Entry(5, 4, 7)}, rows), ROWS)
    assert (found.problems, [each.number for each in found.lost]) == ([], [2])
    assert (found.acked_there, found.doubt_there, found.doubt_gone, found.doubled) == (3, 1, 1, 0)
    assert journal.reconnections[-1] == Reconnection(5, Entry(4, 3, 6))


@pytest.mark.parametrize("capacity", [3.0, 70.0, 900.0, 4000.0])
def test_the_search_ends_between_a_rate_that_is_followed_and_one_that_is_not(capacity):
    steps = []
    while not steps or (rate := next_rate(steps)) is not None:
        reached = 5000.0 if not steps else rate
        samples = [LagSample(1, 1, 10, 5, 0.0 if reached <= capacity else 9.0)]
        steps.append(judge_step(len(steps) + 1, None if not steps else rate, reached, samples, 1.0))
    low, high = bounds(steps)
    assert low <= capacity < high
    assert high / low <= 1.1 or len(steps) == 10
    assert search_figures(steps)["follows_per_s"].value == low


def test_a_copy_that_follows_everything_has_no_upper_bound():
    step = judge_step(1, None, 800.0, [LagSample(1, 1, 10, 5, 0.2)], 1.0)
    assert step.follows
    assert next_rate([step]) is None
    assert bounds([step]) == (800.0, None)


def test_a_step_whose_lag_is_not_known_says_nothing():
    step = judge_step(1, None, 800.0, [LagSample(1, 1, 10, 5, 0.2), LagSample(2, 1, why="it is gone")], 1.0)
    assert step.follows is None
    assert "it is gone" in step.why
    found = search_figures([step])["follows_per_s"]
    assert (found.value, found.why) == (None, step.why)
    assert judge_step(1, 500.0, 300.0, [LagSample(1, 1, 1, 1, 0.1)], 1.0).why == "only 300/s of 500/s were reached"


@pytest.mark.parametrize(
    ("acked", "verdict"), [((5, 5, 5), Holds.HOLDS), ((5, 0, 0), Holds.HOLDS), ((0, 0, 0), Holds.UNKNOWN)]
)
def test_what_is_ruled_out_follows_from_the_failovers_before_which_something_was_acknowledged(acked, verdict):
    took = Figure(value=1.0, unit="s")
    cycles = [
        FailoverCycle(
            number=number, before="a", after="b", figures={"outage_s": took, "back_s": took},
            accounts={"acked_there": there, "sent": 9},
        )
        for number, there in enumerate(acked)
    ]  # fmt: skip
    found = next(each for each in verdicts(cycles, {}) if each.name == "no_acked_commit_lost")
    assert found.verdict is verdict
    trials = sum(map(bool, acked))
    if trials:
        assert found.figures["ruled_out_pct"] == ruled_out_pct(trials)
        assert f"at most {ruled_out_pct(trials):.2g} % of such failovers lose one" in found.why
