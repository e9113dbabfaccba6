"""What became of every operation, from what each session sent and what the servers had of it. Pure functions.

A server that takes over has a beginning of each session's writes: replication loses the end of them, and nothing in
between. The row of a session counts them, so that this beginning is known to the last operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from openslob.durability.clients import key_of
from openslob.engines.ledger import Entry, LedgerContents
from openslob.kinds.failover.journal import IN_DOUBT, Journal, Look

NOTHING = Entry(0, 0, 0)
_MOST_SHOWN = 5


@dataclass(frozen=True)
class LostOperation:
    """An operation that was acknowledged and is gone."""

    session: int
    number: int
    acked_ns: int


@dataclass(frozen=True)
class Account:
    """Everything that was sent, by what became of it, and what does not fit.

    What was in doubt is ``doubt_there`` or ``doubt_gone`` by what the server had that took over; the client may have
    sent it again, which counts apart. ``doubled`` operations were written twice, since the client sent again what was
    there. ``problems`` say where the servers have what was never sent, or not what was.
    """

    acked_there: int
    lost: Sequence[LostOperation]
    doubt_there: int
    doubt_gone: int
    doubled: int
    problems: Sequence[str]

    @property
    def sent(self) -> int:
        """All that was sent."""
        return self.acked_there + len(self.lost) + self.doubt_there + self.doubt_gone


def account(journals: Sequence[Journal], contents: LedgerContents, rows: int) -> Account:
    """Return what became of all operations; ``rows`` is the number of rows of each session."""
    parts = [_of_session(journal, contents, rows) for journal in journals]
    sessions = {journal.session for journal in journals}
    others = [each for each in contents.sessions if each not in sessions]
    stray = [f"the server has a session {number}, which there was not" for number in others]
    return Account(
        sum(part.acked_there for part in parts),
        [each for part in parts for each in part.lost],
        sum(part.doubt_there for part in parts),
        sum(part.doubt_gone for part in parts),
        sum(part.doubled for part in parts),
        [each for part in parts for each in part.problems] + stray,
    )


def _of_session(journal: Journal, contents: LedgerContents, rows: int) -> Account:
    indexes, problems = surviving(journal, contents.sessions.get(journal.session, NOTHING))
    problems += _rows(journal.session, [journal.numbers[each] for each in indexes], contents, rows)
    there = set(indexes)
    lost = [
        LostOperation(journal.session, journal.numbers[each], acked_ns)
        for each, acked_ns in enumerate(journal.acked_ns)
        if acked_ns != IN_DOUBT and each not in there
    ]
    doubtful = [each for each, acked_ns in enumerate(journal.acked_ns) if acked_ns == IN_DOUBT]
    doubt_there = sum(each in there for each in doubtful)
    return Account(
        acked_there=len(journal) - len(doubtful) - len(lost),
        lost=lost,
        doubt_there=doubt_there,
        doubt_gone=len(doubtful) - doubt_there,
        doubled=sum(times > 1 for times in Counter(journal.numbers[each] for each in indexes).values()),
        problems=problems,
    )


def surviving(journal: Journal, final: Entry) -> tuple[list[int], list[str]]:
    """Return the attempts, by index, whose writes are there in the end, in their order, and what does not fit.

    ``final`` is the row of the session in the end.
    """
    there: list[int] = []
    problems: list[str] = []
    begin = 0
    for look in (*journal.looks, Look(len(journal), -1, final)):
        there += range(begin, look.attempts)
        begin = look.attempts
        there, problem = _as_seen(journal, there, look)
        problems += problem
    return there, problems


def _as_seen(journal: Journal, there: list[int], look: Look) -> tuple[list[int], list[str]]:
    """Return those attempts that the server had when it was looked at: as many of the first as it counts."""
    seen = there[: look.entry.times]
    number = journal.numbers[seen[-1]] if seen else 0
    if look.entry.times > len(there) or number != look.entry.number:
        return there, [
            f"session {journal.session}: after {look.attempts} attempts the server had {look.entry.times} writes, "
            f"the last of operation {look.entry.number}: that does not fit what was sent"
        ]
    return seen, []


def _rows(session: int, written: Sequence[int], contents: LedgerContents, rows: int) -> list[str]:
    """Compare the rows of a session in the end with the operations that are there."""
    last = {key_of(number, rows): number for number in written}
    times = Counter(key_of(number, rows) for number in written)
    there: Mapping[int, Entry] = {key: each for (owner, key), each in contents.rows.items() if owner == session}
    wrong = [
        f"session {session}, row {key}: {_instead(there.get(key), Entry(last.get(key, 0), times[key], 0))}"
        for key in _keys(there, last)
        if not _same(there.get(key, NOTHING), Entry(last.get(key, 0), times[key], 0))
    ]
    return wrong[:_MOST_SHOWN] + ([f"and {len(wrong) - _MOST_SHOWN} rows more"] if wrong[_MOST_SHOWN:] else [])


def _keys(there: Iterable[int], last: Iterable[int]) -> list[int]:
    return sorted({*there, *last})


def _same(found: Entry, wanted: Entry) -> bool:
    return (found.number, found.times) == (wanted.number, wanted.times)


def _instead(found: Entry | None, wanted: Entry) -> str:
    has = f"{found.times} writes, the last of operation {found.number}" if found else "nothing"
    return f"the server has {has}, and {wanted.times}, the last of operation {wanted.number}, should be there"
