"""Every engine's samplers of the whole server: clients that are not ours, in databases without data of ours."""

from contextlib import closing

import pytest

from factories.running import eventually
from openslob.core.measurement import ONLY_SOME_HAVE
from openslob.engines.base import SamplingScope

pytestmark = pytest.mark.server

NOT_ON = {"oracle-rig"}
COMMITS, ROLLBACKS, SAMPLES = 40, 8, 30
# Maintenance of the server that falls into the interval.
FEW = 5


@pytest.fixture
def counters(subject):
    with closing(subject.open_counters(SamplingScope.SERVER)) as opened:
        yield opened


@pytest.fixture
def waits(subject):
    with closing(subject.engine.open_waits(SamplingScope.SERVER)) as opened:
        yield opened


def test_every_transaction_of_a_client_is_counted_and_none_of_the_samplers(subject, counters, waits):
    before = counters.read()
    subject.strange_transactions(COMMITS, ROLLBACKS)
    for _ in range(SAMPLES):
        waits.sample()
    ended = COMMITS + ROLLBACKS
    # A session reports some of its work when it ends, which its client does not wait for.
    assert eventually(lambda: counters.difference(before, counters.read()).transactions >= ended, seconds=15)
    assert counters.difference(before, counters.read()).transactions == pytest.approx(ended, abs=FEW)


def test_what_the_whole_server_does_is_counted_or_there_is_a_reason(subject, counters):
    before = counters.read()
    with subject.session(subject.workload(update_pct=50, commit_mode="wait")) as worked:
        worked.slices(50)
    assert eventually(lambda: counters.difference(before, counters.read()).log_bytes > 25 * 100)
    delta = counters.difference(before, counters.read())
    missing = {name for name, value in vars(delta).items() if value is None} - (ONLY_SOME_HAVE - {"transactions"})
    assert missing == subject.unknown | subject.of_tables
    assert missing <= set(delta.unknown)
    assert (delta.server_wide, dict(delta.others)) == (frozenset(), {})
    assert "log" in delta.by_object
    assert delta.logical_reads >= 50


def test_the_waits_are_those_of_all_clients(subject, waits):
    with subject.strange_wait() as event:
        assert eventually(lambda: waits.sample().events.get(event) == 1)
        assert waits.sample().others == {}
        assert all(waits.sample().events.values())
    assert eventually(lambda: event not in waits.sample().events)
