"""What the server has, compared with what its clients sent and what it acknowledged: every operation is accounted for.

An operation writes one of its session's rows and the session's own row in one transaction, each with its number and
with how often the row was written. So the last operation of a session and of each row is known, and how many there are.
Operations in doubt may be there or not. Everything else is a fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from openslob.durability.ledger import Operation, by_session, select_acked
from openslob.engines.ledger import Entry, LedgerContents

_NOTHING = Entry(0, 0, 0)


@dataclass
class LedgerAccount:
    """What became of the operations of all sessions.

    ``acked`` and ``in_doubt`` count operations of the ledger, ``doubtful_there`` those in doubt that the server has.
    ``missing`` are operations that were acknowledged and are not there, by session and number. ``lost_unnamed`` counts
    those of which only that they are missing is known: rows were written less often than was acknowledged. ``doubled``
    counts writes beyond one for each operation. ``never_sent``, ``torn`` (transactions of which a part is there) and
    ``altered`` (rows that say something else than the ledger) have one line for each fault.
    """

    acked: int = 0
    in_doubt: int = 0
    doubtful_there: int = 0
    missing: dict[tuple[int, int], Operation] = field(default_factory=dict)
    lost_unnamed: int = 0
    doubled: int = 0
    never_sent: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)

    @property
    def lost(self) -> Sequence[Operation]:
        """The operations that are missing, in the order sent."""
        return sorted(self.missing.values(), key=lambda operation: operation.sent_ns)

    @property
    def lost_in_all(self) -> int:
        """Acknowledged operations that are not there."""
        return len(self.missing) + self.lost_unnamed

    @property
    def faults(self) -> tuple[str, ...]:
        """One line for each fault that is no lost operation."""
        doubled = (f"{self.doubled} more writes than operations",) if self.doubled else ()
        return (*doubled, *self.never_sent, *self.torn, *self.altered)

    @property
    def is_clean(self) -> bool:
        """Whether all is there that must be, once, and nothing else."""
        return not self.lost_in_all and not self.faults


def account(before: LedgerContents, operations: Sequence[Operation], after: LedgerContents) -> LedgerAccount:
    """Compare what the server had before the operations, the operations and what it has afterwards.

    An operation that was sent twice with the same number is one, and acknowledged if one of them was.
    """
    operations = _distinct(operations)
    sent = by_session(operations)
    in_doubt = sum(operation.in_doubt for operation in operations)
    found = LedgerAccount(acked=len(operations) - in_doubt, in_doubt=in_doubt)
    for session in sorted({*before.sessions, *after.sessions, *sent}):
        keys = sorted({key for each, key in {*before.rows, *after.rows} if each == session})
        rows = {key: (before.rows.get((session, key), _NOTHING), after.rows.get((session, key))) for key in keys}
        own = (before.sessions.get(session, _NOTHING), after.sessions.get(session))
        _Session(session, sent.get(session, []), own, rows, found).examine()
    return found


def _distinct(operations: Sequence[Operation]) -> list[Operation]:
    found: dict[tuple[int, int], Operation] = {}
    for operation in operations:
        name = operation.session, operation.number
        if name not in found or found[name].in_doubt:
            found[name] = operation
    return list(found.values())


@dataclass
class _Session:
    """One session's part: ``own`` and each of ``rows`` are the entry before and after, None of a row that vanished."""

    number: int
    operations: Sequence[Operation]
    own: tuple[Entry, Entry | None]
    rows: dict[int, tuple[Entry, Entry | None]]
    findings: LedgerAccount

    def examine(self) -> None:
        by_number = {operation.number: operation for operation in self.operations}
        by_key: dict[int, list[Operation]] = defaultdict(list)
        for operation in self.operations:
            by_key[operation.key].append(operation)
        self._compare(self.operations, self.own, by_number, f"session {self.number}")
        for key in sorted({*self.rows, *by_key}):
            row = self.rows.get(key, (_NOTHING, None))
            its_own = {operation.number: operation for operation in by_key[key]}
            self._compare(by_key[key], row, its_own, f"row {key} of session {self.number}")
        for key in sorted({*self.rows, *by_key}):
            self._count(self.rows.get(key, (_NOTHING, None)), by_key[key])
        self.findings.torn += self._torn(by_number)

    def _compare(
        self,
        operations: Sequence[Operation],
        entries: tuple[Entry, Entry | None],
        known: dict[int, Operation],
        what: str,
    ) -> None:
        """Compare one row with the operations that wrote it."""
        before, after = entries
        findings, reached = self.findings, after.number if after else before.number - 1
        if after is None:
            findings.altered.append(f"{what} is not there any more")
        elif after.number < before.number:
            findings.altered.append(f"{what} went back from operation {before.number} to {after.number}")
        elif after.number > before.number and after.number not in known:
            findings.never_sent.append(f"{what} has operation {after.number}, which was never sent")
        elif after.number == before.number and after.server_ns != before.server_ns:
            findings.altered.append(f"{what} has another time than before, with the same operation")
        last = known.get(reached)
        if after and last and last.server_ns not in (None, after.server_ns):
            findings.altered.append(f"{what} has another time than the server acknowledged for operation {reached}")
        for operation in select_acked(operations):
            if operation.number > reached:
                findings.missing[operation.session, operation.number] = operation

    def _count(self, row: tuple[Entry, Entry | None], operations: Sequence[Operation]) -> None:
        """Compare how often a row was written with the number of its operations.

        Of those in doubt the last one that is there is known by its number, and that later ones are not there.
        """
        written, reached = self._count_written(row), row[1].number if row[1] else 0
        named = sum((self.number, operation.number) in self.findings.missing for operation in operations)
        doubtful = [operation.number for operation in operations if operation.in_doubt]
        there = sum(number == reached for number in doubtful)
        must = len(operations) - len(doubtful) - named + there
        may = must + sum(number < reached for number in doubtful)
        self.findings.lost_unnamed += max(0, must - written)
        self.findings.doubled += max(0, written - may)
        self.findings.doubtful_there += there + min(max(0, written - must), may - must)

    def _torn(self, by_number: dict[int, Operation]) -> Iterator[str]:
        """Yield the transactions of which the session's own row and another one do not agree."""
        own = self.own[1]
        if own is None:
            return
        for key, (before, after) in self.rows.items():
            if after and after.number > max(own.number, before.number):
                yield f"row {key} of session {self.number} has operation {after.number}, the session only {own.number}"
        last = by_number.get(own.number)
        row = self.rows.get(last.key, (_NOTHING, None))[1] if last else None
        if last and row and (row.number, row.server_ns) != (own.number, own.server_ns):
            yield f"session {self.number} has operation {own.number}, its row {last.key} has {row.number}"
        in_rows = sum(self._count_written(row) for row in self.rows.values())
        if in_rows != self._count_written(self.own):
            yield f"session {self.number} has {self._count_written(self.own)} operations, its rows have {in_rows}"

    @staticmethod
    def _count_written(entries: tuple[Entry, Entry | None]) -> int:
        before, after = entries
        return (after.times if after else 0) - before.times
