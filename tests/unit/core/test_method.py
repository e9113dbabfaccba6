"""The reference arithmetic: every share exact in any 100 operations, and no decision tied to another."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.core.method import OpKind, Phases, is_due, kind_of, phases_of, share_done, takes_share

PERCENTS = range(101)
PHASES = st.integers(0, 99)
NUMBERS = st.integers(0, 10**12)
PERIODS = st.integers(1, 10**6)


def kinds(first, count, update_pct, scan_pct, phases):
    return [kind_of(number, update_pct, scan_pct, phases) for number in range(first, first + count)]


@table("percent", PERCENTS)
def test_any_100_operations_in_a_row_hold_exactly_the_share(percent):
    for phase in range(100):
        taken = [takes_share(number, percent, phase) for number in range(200)]
        assert sum(taken[:100]) == percent
        # Moving on by one operation, the next 100 have as many: what leaves at one end enters at the other.
        assert taken[100:] == taken[:100]


@table(("phase", "taken"), [(0, [3, 7, 11]), (1, [2, 6, 10]), (3, [0, 4, 8]), (99, [0, 4, 8])])
def test_the_phase_says_where_in_its_cycle_a_session_begins(phase, taken):
    assert [number for number in range(12) if takes_share(number, 25, phase)] == taken
    assert [share_done(number, 25, phase) for number in (0, taken[0], taken[0] + 1)] == [0, 0, 1]


@given(st.integers(0, 100), PHASES, NUMBERS, st.integers(0, 300))
def test_any_number_of_operations_holds_the_share_to_less_than_one(percent, phase, first, count):
    done = share_done(first + count, percent, phase) - share_done(first, percent, phase)
    assert abs(done - count * percent / 100) < 1
    assert done == sum(takes_share(number, percent, phase) for number in range(first, first + count))


@given(st.integers(1, 100), PHASES, NUMBERS)
def test_a_share_is_evenly_interleaved(percent, phase, first):
    places = [number for number in range(first, first + 300) if takes_share(number, percent, phase)]
    gaps = {after - before for before, after in pairwise(places)}
    assert gaps <= {100 // percent, -(-100 // percent)}


@given(st.integers(0, 100), st.integers(0, 100), PHASES, PHASES)
def test_scans_are_their_share_of_any_100_selects(update_pct, scan_pct, update_phase, scan_phase):
    phases = Phases(update_phase, scan_phase, 0, 0, 0)
    selects = [kind for kind in kinds(0, 600, update_pct, scan_pct, phases) if kind is not OpKind.UPDATE]
    for start in range(max(0, len(selects) - 99)):
        assert Counter(selects[start : start + 100])[OpKind.SCAN] == scan_pct


@given(NUMBERS, PERIODS, st.data())
def test_one_in_every_period_is_due(first, period, data):
    phase = data.draw(st.integers(0, period - 1))
    due_at = first + (-(first + phase)) % period
    assert is_due(due_at, period, phase)
    assert is_due(due_at + period, period, phase)
    between = data.draw(st.integers(due_at + 1, due_at + period))
    assert is_due(between, period, phase) == (between == due_at + period)


@given(NUMBERS)
def test_a_period_of_0_is_never_due(number):
    assert not is_due(number, 0, 0)


@given(st.integers(0, 2**31 - 1), st.integers(0, 32767))
def test_phases_lie_below_their_periods(seed, session):
    phases = phases_of(seed, session, hotspot=3, hot_schema=7, think=0)
    assert 0 <= phases.update < 100
    assert 0 <= phases.scan < 100
    assert 0 <= phases.hotspot < 3
    assert 0 <= phases.hot_schema < 7
    assert phases.think == 0
    assert phases == phases_of(seed, session, hotspot=3, hot_schema=7, think=0)


def test_phases_of_sessions_and_of_decisions_do_not_coincide():
    """Over 10,000 sessions each phase is uniform, and any two of a session are independent: 100 per cell expected."""
    found = [phases_of(1, session, hotspot=100, hot_schema=100, think=100) for session in range(10_000)]
    columns = list(zip(*(vars(phases).values() for phases in found), strict=True))
    for column in columns:
        assert len(Counter(column)) == 100
        assert max(Counter(column).values()) < 100 + 6 * 10
    for number, first in enumerate(columns):
        for second in columns[:number]:
            cells = Counter((a // 10, b // 10) for a, b in zip(first, second, strict=True))
            assert len(cells) == 100
            assert max(cells.values()) < 100 + 6 * 10
            assert min(cells.values()) > 100 - 6 * 10


def test_seeds_give_other_phases():
    assert phases_of(1, 0, 1000, 1000, 1000) != phases_of(2, 0, 1000, 1000, 1000)


@given(st.integers(1, 99), st.sampled_from([3, 7, 9, 11, 13]))
def test_what_is_due_does_not_decide_what_updates(update_pct, period):
    """With a period that has no factor in common with 100, the due operations of a cycle update by the share too."""
    due = [number for number in range(100 * period) if is_due(number, period, 0)]
    assert len(due) == 100
    assert sum(takes_share(number, update_pct, 0) for number in due) == update_pct
