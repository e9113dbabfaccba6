"""What became of every operation, from what each session sent and what the servers had of it. Pure functions.

A session's journal has every attempt of an operation, every lost connection, and what the server had when it was
connected again. Its times are ns of the driver's monotonic clock unless they are called ``done_ns``.

A server that takes over has a beginning of each session's writes: replication loses the end of them, and nothing in
between. The row of a session counts them, so that this beginning is known to the last operation.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openslob.durability.clients import key_of
from openslob.engines.ledger import Entry, LedgerContents

# In place of the time of an acknowledgement that did not come.
IN_DOUBT = -1


@dataclass(frozen=True)
class Reconnection:
    """What a server had of a session when it was connected again, before it went on.

    ``attempts`` is how many attempts the session had made by then.
    """

    attempts: int
    entry: Entry


@dataclass(frozen=True)
class Loss:
    """A lost connection: why, and when the session could go on."""

    why: str
    back_ns: int


def _numbers() -> array[int]:
    return array("q")


@dataclass
class Journal:
    """All of one session. An attempt is a number, and when it was acknowledged or `IN_DOUBT`.

    ``done_ns`` is the server's clock when it had committed; 0 if that is not known. ``skipped`` are the operations that
    were due at a given rate and never sent, since the session was not connected. Written by the session's thread alone;
    readers take the length of ``done_ns``, which is written last.
    """

    session: int
    numbers: array[int] = field(default_factory=_numbers)
    acked_ns: array[int] = field(default_factory=_numbers)
    targets: array[int] = field(default_factory=_numbers)
    done_ns: array[int] = field(default_factory=_numbers)
    reconnections: list[Reconnection] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    skipped: int = 0

    def __len__(self) -> int:
        """Return the number of attempts."""
        return len(self.done_ns)

    def add(self, number: int, acked_ns: int, target: int, done_ns: int) -> None:
        """Note an attempt that has ended."""
        self.numbers.append(number)
        self.acked_ns.append(acked_ns)
        self.targets.append(target)
        self.done_ns.append(done_ns)

    def note_reconnection(self, entry: Entry) -> None:
        """Note what a server has of the session that it takes."""
        self.reconnections.append(Reconnection(len(self), entry))


NOTHING = Entry(0, 0, 0)
_MOST_SHOWN = 5


@dataclass(frozen=True)
class LostOperation:
    """An operation that was acknowledged and is gone."""

    session: int
    number: int
    acked_ns: int


@dataclass(frozen=True)
class SentAndKept:
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


def account(journals: Sequence[Journal], contents: LedgerContents, rows: int) -> SentAndKept:
    """Return what became of all operations; ``rows`` is the number of rows of each session."""
    parts = [_of_session(journal, contents, rows) for journal in journals]
    sessions = {journal.session for journal in journals}
    others = [each for each in contents.sessions if each not in sessions]
    stray = [f"the server has a session {number}, which there was not" for number in others]
    return SentAndKept(
        sum(part.acked_there for part in parts),
        [each for part in parts for each in part.lost],
        sum(part.doubt_there for part in parts),
        sum(part.doubt_gone for part in parts),
        sum(part.doubled for part in parts),
        [each for part in parts for each in part.problems] + stray,
    )


def _of_session(journal: Journal, contents: LedgerContents, rows: int) -> SentAndKept:
    indexes, problems = find_surviving(journal, contents.sessions.get(journal.session, NOTHING))
    problems += _rows(journal.session, [journal.numbers[each] for each in indexes], contents, rows)
    there = set(indexes)
    lost = [
        LostOperation(journal.session, journal.numbers[each], acked_ns)
        for each, acked_ns in enumerate(journal.acked_ns)
        if acked_ns != IN_DOUBT and each not in there
    ]
    doubtful = [each for each, acked_ns in enumerate(journal.acked_ns) if acked_ns == IN_DOUBT]
    doubt_there = sum(each in there for each in doubtful)
    return SentAndKept(
        acked_there=len(journal) - len(doubtful) - len(lost),
        lost=lost,
        doubt_there=doubt_there,
        doubt_gone=len(doubtful) - doubt_there,
        doubled=sum(times > 1 for times in Counter(journal.numbers[each] for each in indexes).values()),
        problems=problems,
    )


def find_surviving(journal: Journal, final: Entry) -> tuple[list[int], list[str]]:
    """Return the attempts, by index, whose writes are there in the end, in their order, and what does not fit.

    ``final`` is the row of the session in the end.
    """
    there: list[int] = []
    problems: list[str] = []
    begin = 0
    for reconnection in (*journal.reconnections, Reconnection(len(journal), final)):
        there += range(begin, reconnection.attempts)
        begin = reconnection.attempts
        there, problem = _as_seen(journal, there, reconnection)
        problems += problem
    return there, problems


def _as_seen(journal: Journal, there: list[int], reconnection: Reconnection) -> tuple[list[int], list[str]]:
    """Return those attempts that the server had when it was looked at: as many of the first as it counts."""
    seen = there[: reconnection.entry.times]
    number = journal.numbers[seen[-1]] if seen else 0
    if reconnection.entry.times > len(there) or number != reconnection.entry.number:
        had = f"{reconnection.entry.times} writes, the last of operation {reconnection.entry.number}"
        after = f"session {journal.session}: after {reconnection.attempts} attempts"
        return there, [f"{after} the server had {had}: that does not fit what was sent"]
    return seen, []


def _rows(session: int, written: Sequence[int], contents: LedgerContents, rows: int) -> list[str]:
    """Compare the rows of a session in the end with the operations that are there."""
    last = {key_of(number, rows): number for number in written}
    times = Counter(key_of(number, rows) for number in written)
    there: Mapping[int, Entry] = {key: each for (owner, key), each in contents.rows.items() if owner == session}
    wrong = [
        f"session {session}, row {key}: {_instead(there.get(key), Entry(last.get(key, 0), times[key], 0))}"
        for key in sorted({*there, *last})
        if not _same(there.get(key, NOTHING), Entry(last.get(key, 0), times[key], 0))
    ]
    return wrong[:_MOST_SHOWN] + ([f"and {len(wrong) - _MOST_SHOWN} rows more"] if wrong[_MOST_SHOWN:] else [])


def _same(found: Entry, wanted: Entry) -> bool:
    return (found.number, found.times) == (wanted.number, wanted.times)


def _instead(found: Entry | None, wanted: Entry) -> str:
    has = f"{found.times} writes, the last of operation {found.number}" if found else "nothing"
    return f"the server has {has}, and {wanted.times}, the last of operation {wanted.number}, should be there"
