"""The search for the highest throughput within a latency limit, on platforms given by formulas."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.kinds.sweep.search import FINEST_SHARE, SessionProbe, search_sessions

LARGEST = 7


def answered(platform, limit_us, most):
    """Return the answer and the session counts that were probed, in order."""
    strategy, tried = search_sessions(limit_us, most), []
    sessions = next(strategy)
    while True:
        assert sessions not in tried
        assert 1 <= sessions <= most
        tried.append(sessions)
        try:
            sessions = strategy.send(platform(sessions))
        except StopIteration as end:
            return end.value, tried


def queue(service_us, servers, decay=0.0):
    """``servers`` parallel servers: throughput rises to their capacity, falls by ``decay`` a session beyond it, and
    latency follows by Little's law."""

    def at(sessions):
        used = min(sessions, servers)
        throughput = used / service_us * 1e6 * (1 - decay) ** max(0, sessions - servers)
        return SessionProbe(throughput, sessions / throughput * 1e6)

    return at


@given(
    service_us=st.floats(50, 500), servers=st.integers(1, 200), decay=st.sampled_from([0.0, 0.002, 0.01, 0.1]),
    times=st.floats(1.01, 20), most=st.sampled_from([1, 5, 64, 300]),
)  # fmt: skip
def test_the_answer_is_as_good_as_trying_every_count(service_us, servers, decay, times, most):
    platform, limit = queue(service_us, servers, decay), service_us * times
    answer, tried = answered(platform, limit, most)
    within = [n for n in range(1, most + 1) if platform(n).latency_us <= limit]
    best = max(platform(n).throughput for n in within)
    assert platform(answer.sessions).latency_us <= limit
    # The last gap is an eighth of the count.
    assert platform(answer.sessions).throughput >= best * (1 - FINEST_SHARE)
    assert len(tried) <= 2 + 3 * math.log2(most + 1)


def test_few_sessions_are_found_exactly():
    for servers in range(1, LARGEST):
        platform = queue(100, servers)
        answer, _ = answered(platform, 100.5, 64)
        assert answer.sessions == servers
        assert "above the limit" in answer.why


def test_nothing_is_fast_enough():
    answer, tried = answered(queue(1000, 4), 500, 64)
    assert (answer.sessions, tried) == (None, [1])
    assert "one session" in answer.why


def test_the_limit_is_never_reached():
    answer, tried = answered(queue(100, 1000), 500, 48)
    assert (answer.sessions, tried) == (48, [1, 2, 4, 8, 16, 32, 48, 40, 44])
    assert "most sessions allowed" in answer.why


def test_a_line_that_comes_back_within_the_limit_is_searched_for_its_peak():
    answer, tried = answered(queue(100, 12, decay=0.05), 1e6, 128)
    assert abs(answer.sessions - 12) <= 1
    assert "less throughput" in answer.why
    assert max(tried) == 32


@table("fails_from", [3, 9, 40])
def test_counts_whose_runs_fail_are_no_answer(fails_from):
    def platform(sessions):
        return queue(100, 100)(sessions) if sessions < fails_from else SessionProbe(None, None)

    answer, _ = answered(platform, 500, 64)
    assert fails_from - 1 - fails_from // 8 <= answer.sessions < fails_from
