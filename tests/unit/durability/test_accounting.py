"""Every operation is accounted for: a server that loses, doubles, tears or makes up what it has is always caught."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslob.durability.accounting import account
from openslob.durability.ledger import Operation
from openslob.engines.ledger import Entry, LedgerContents

ROWS = 3


@dataclass
class Server:
    """A server that commits what it is told to."""

    sessions: dict = field(default_factory=lambda: {number: Entry(0, 0, 0) for number in range(2)})
    rows: dict = field(default_factory=lambda: {(s, k): Entry(0, 0, 0) for s in range(2) for k in range(ROWS)})

    def commit(self, operation, own=True, row=True):
        if own:
            self._write(self.sessions, operation.session, operation)
        if row:
            self._write(self.rows, (operation.session, operation.key), operation)

    def _write(self, table, name, operation):
        table[name] = Entry(operation.number, table[name].times + 1, 1_000_000 + operation.number)

    def contents(self):
        return LedgerContents(dict(self.sessions), dict(self.rows))


def acked(operation):
    return replace(operation, acked_ns=operation.sent_ns + 5, server_ns=1_000_000 + operation.number)


def sent(session, number, first=1):
    """Operations of a session in order, all acknowledged."""
    return [acked(Operation(session, n, n % ROWS, 10 * n)) for n in range(first, first + number)]


def run(operations, committed):
    """Return what the server has after it committed these."""
    server = Server()
    for operation in committed:
        server.commit(operation)
    return account(Server().contents(), operations, server.contents())


cycles = st.tuples(st.integers(0, 12), st.integers(0, 12))


@given(cycles, st.sets(st.integers(0, 1)), st.sets(st.integers(0, 1)))
def test_all_acknowledged_and_any_in_doubt_is_clean(counts, doubtful, there):
    operations, committed = [], []
    for session, count in enumerate(counts):
        its_own = sent(session, count)
        committed += its_own
        if session in doubtful:
            last = Operation(session, count + 1, (count + 1) % ROWS, 999)
            its_own = [*its_own, last]
            committed += [last] if session in there else []
        operations += its_own
    found = run(operations, committed)
    assert found.is_clean, found
    assert (found.acked, found.in_doubt) == (sum(counts), len(doubtful))
    assert found.doubtful_there == len(doubtful & there)


@given(st.integers(1, 12), st.data())
def test_the_last_acknowledged_that_are_lost_are_named(count, data):
    lost = data.draw(st.integers(1, count))
    operations = sent(0, count) + sent(1, 4)
    found = run(operations, operations[: count - lost] + sent(1, 4))
    assert [operation.number for operation in found.lost] == list(range(count - lost + 1, count + 1))
    assert {operation.session for operation in found.lost} == {0}
    assert (found.lost_unnamed, found.faults) == (0, ())
    assert found.lost_in_all == lost


@given(st.integers(2, 12), st.data())
def test_one_that_is_lost_in_the_middle_is_missed(count, data):
    lost = data.draw(st.integers(1, count - 1))
    operations = sent(0, count)
    found = run(operations, [each for each in operations if each.number != lost])
    assert found.lost_in_all == 1


@given(st.integers(1, 12), st.data())
def test_one_that_is_done_twice_is_doubled(count, data):
    twice = data.draw(st.integers(1, count))
    operations = sent(0, count)
    found = run(operations, sorted([*operations, operations[twice - 1]], key=lambda each: each.number))
    assert (found.doubled, found.lost_in_all) == (1, 0)
    assert not found.is_clean


@given(st.integers(1, 12), st.data())
def test_one_that_is_done_twice_is_doubled_even_beside_one_in_doubt(count, data):
    twice = data.draw(st.integers(1, count))
    operations = sent(0, count)
    doubtful = Operation(0, count + 1, (count + 1) % ROWS, 999)
    found = run([*operations, doubtful], sorted([*operations, operations[twice - 1]], key=lambda each: each.number))
    assert (found.doubled, found.lost_in_all, found.doubtful_there) == (1, 0, 0)


@pytest.mark.parametrize("part", ["own", "row"])
@given(st.integers(1, 12))
def test_a_transaction_of_which_a_part_is_there_is_torn(part, count):
    operations = [*sent(0, count), Operation(0, count + 1, (count + 1) % ROWS, 999)]
    server = Server()
    for operation in operations[:-1]:
        server.commit(operation)
    server.commit(operations[-1], **{part: False})
    found = account(Server().contents(), operations, server.contents())
    assert found.torn
    assert not found.is_clean


def test_what_was_never_sent_is_found():
    operations = sent(0, 3)
    found = run(operations, [*operations, Operation(0, 4, 1, 0)])
    assert tuple(found.never_sent) == (
        "session 0 has operation 4, which was never sent",
        "row 1 of session 0 has operation 4, which was never sent",
    )


def test_an_operation_sent_again_after_doubt_is_one_operation():
    doubtful = Operation(0, 1, 1, 10)
    again = acked(replace(doubtful, sent_ns=20))
    assert run([doubtful, again], [again]).is_clean
    assert run([doubtful, again], [doubtful, again]).doubled == 1


def test_the_next_cycle_is_compared_with_what_was_there_before():
    server = Server()
    for operation in sent(0, 5):
        server.commit(operation)
    before = server.contents()
    later = sent(0, 4, first=9)
    for operation in later:
        server.commit(operation)
    assert account(before, later, server.contents()).is_clean


def test_a_server_that_went_back_behind_an_earlier_cycle_has_lost_that_too():
    server = Server()
    for operation in sent(0, 5):
        server.commit(operation)
    found = account(server.contents(), sent(0, 4, first=9), Server().contents())
    assert (len(found.lost), found.lost_unnamed) == (4, 5)
    assert "session 0 went back from operation 5 to 0" in found.altered


def test_rows_that_nobody_wrote_must_stay_as_they_were():
    before, after = Server(), Server()
    after.rows[1, 2] = Entry(0, 0, 7)
    (altered,) = account(before.contents(), [], after.contents()).altered
    assert altered.startswith("row 2 of session 1 has another time ")
    del after.rows[1, 2]
    (gone,) = account(before.contents(), [], after.contents()).altered
    assert gone.startswith("row 2 of session 1 is not there ")


def test_a_row_with_another_time_than_was_acknowledged_is_altered():
    operations = sent(0, 2)
    server = Server()
    for operation in operations:
        server.commit(operation)
    server.rows[0, 2] = replace(server.rows[0, 2], server_ns=5)
    found = account(Server().contents(), operations, server.contents())
    assert [re.findall(r"(\w+) (\d+)", text) for text in found.altered] == [
        [("row", "2"), ("session", "0"), ("operation", "2")]
    ]
    assert found.torn


def test_each_session_is_compared_by_the_rows_that_are_its_own():
    def contents(first, second):
        rows = {**{(0, key): first for key in range(3)}, **{(1, key): second for key in (7, 8)}}
        return LedgerContents({0: Entry(0, 0, 0), 1: Entry(0, 0, 0)}, rows)

    nothing, other = Entry(0, 0, 0), Entry(0, 0, 9)
    assert account(contents(nothing, nothing), [], contents(nothing, nothing)).is_clean
    altered = account(contents(nothing, nothing), [], contents(nothing, other)).altered
    assert [re.findall(r"(\w+) (\d+)", text) for text in altered] == [
        [("row", "7"), ("session", "1")], [("row", "8"), ("session", "1")],
    ]  # fmt: skip


def test_a_session_of_which_nothing_is_there_any_more_has_lost_every_operation():
    before = Server().contents()
    operations = sent(0, 4)
    after = LedgerContents({1: Entry(0, 0, 0)}, {name: row for name, row in before.rows.items() if name[0] == 1})
    found = account(before, operations, after)
    assert [operation.number for operation in found.lost] == [1, 2, 3, 4]
    assert found.altered[0].startswith("session 0 is not there ")
    assert len(found.altered) == 1 + ROWS


def test_what_a_session_without_any_row_before_has_afterwards_is_counted_from_nothing():
    operations = sent(2, 2)
    server = Server(
        sessions={2: Entry(0, 0, 0)}, rows={(2, key): Entry(0, 0, 0) for key in range(ROWS)},
    )  # fmt: skip
    for operation in operations:
        server.commit(operation)
    assert account(LedgerContents({}, {}), operations, server.contents()).is_clean
    twice = LedgerContents(server.contents().sessions, {**server.contents().rows, (2, 1): Entry(1, 2, 1_000_001)})
    assert account(LedgerContents({}, {}), operations, twice).doubled == 1
