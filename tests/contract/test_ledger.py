"""Every engine's proof of what the server keeps: single commits of a client, and what is left of them."""

import time
from contextlib import nullcontext

import pytest

from openslob.core.errors import SlobError
from openslob.engines.ledger import Entry

pytestmark = pytest.mark.server
# How a row's text is exchanged, as a torn page would do.
_TEAR = {
    "postgresql": "UPDATE slob.ledger_rows SET filler = 'x' WHERE session = 1 AND key = 2",
    "mysql": "UPDATE slob.ledger_rows SET filler = 'x' WHERE session = 1 AND row_key = 2",
}


@pytest.fixture(scope="module")
def ledger(subject):
    """The tables of the proof, for two sessions with three rows each."""
    tables = subject.engine.ledger()
    if tables is None:
        pytest.skip("this engine has no proof yet")
    tables.create(2, 3)
    yield tables
    tables.drop()


def test_what_a_session_committed_is_there_with_its_times(ledger):
    before_ns = time.time_ns()
    session = ledger.open_session(1)
    times_ns = [session.commit(number, key) for number, key in ((1, 0), (2, 2), (3, 2))]
    done_ns, now_ns = session.done_ns, session.server_ns()
    last = session.last()
    session.close()
    found = ledger.contents()
    assert found.sessions[0] == Entry(0, 0, 0)
    assert last == found.sessions[1]
    assert (found.sessions[1].number, found.sessions[1].times) == (3, 3)
    assert {key: (entry.number, entry.times) for key, entry in found.rows.items()} == {
        **{(0, key): (0, 0) for key in range(3)},
        (1, 0): (1, 1),
        (1, 1): (0, 0),
        (1, 2): (3, 2),
    }
    # The same clock: both are on this host.
    assert (
        before_ns - 1e6
        < found.rows[1, 0].server_ns
        <= found.rows[1, 2].server_ns
        <= done_ns
        <= now_ns
        < time.time_ns() + 1e6
    )
    assert [found.rows[1, 0].server_ns, found.rows[1, 2].server_ns] == [times_ns[0], times_ns[2]]
    assert found.sessions[1].server_ns == times_ns[2]
    assert ledger.damage() == []
    assert ledger.guards()


def test_a_checkpoint_ends_and_changes_nothing(subject, ledger):
    before = ledger.contents()
    session = ledger.open_session(0)
    # MySQL can be asked for one in debug builds alone.
    refused = subject.engine.facts().product == "MySQL"
    with pytest.raises(SlobError, match="innodb_log_checkpoint_now") if refused else nullcontext():
        session.checkpoint()
    session.close()
    assert ledger.contents() == before


def test_an_operation_that_was_refused_is_an_error_and_leaves_nothing(ledger):
    session = ledger.open_session(0)
    with pytest.raises(SlobError, match="operation 1 of session 0"):
        session.commit(1, 99)
    session.close()


def test_a_session_that_was_cut_off_is_lost(ledger):
    session = ledger.open_session(0)
    session.cut()
    with pytest.raises(SlobError, match="session 0 was lost"):
        session.commit(1, 0)
    session.close()


def test_the_heartbeat_is_that_of_the_last_beat(ledger):
    assert ledger.last_heartbeat() is None
    for number in (4, 5):
        ledger.heartbeat(number)
    last = ledger.last_heartbeat()
    assert (last.number, last.times) == (5, 2)
    assert last.server_ns > 0


def test_a_row_with_the_text_of_another_operation_is_damage(subject, ledger):
    with subject.engine.open("ledger") as connection, connection.cursor() as cursor:
        cursor.execute(_TEAR[subject.engine.name])
    (said,) = ledger.damage()
    assert said.startswith("row 2 of session 1 is of operation ")


def test_drop_removes_the_tables_of_a_proof_that_was_left(subject, ledger):
    removed = subject.engine.data.drop()
    assert {name.rpartition(".")[2] for name in removed} >= {"ledger_sessions", "ledger_rows", "ledger_heartbeat"}
    subject.load()
    ledger.drop()
