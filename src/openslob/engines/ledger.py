"""What an engine offers to prove that it keeps what it acknowledged: single commits of a client, and their traces.

The work loop's own commits are no proof: a COMMIT inside a procedure is not acknowledged to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from openslob.core.errors import SlobError


class TakesNoWritesError(SlobError):
    """The server is a copy, or was made read-only: a session can wait on it, and ask again."""


@dataclass(frozen=True)
class Entry:
    """What the server has of the last operation on one row of a session.

    ``number`` is that of the operation, from 1; ``times`` how often the row was written; ``server_ns`` the server's
    clock when the operation wrote it.
    """

    number: int
    times: int
    server_ns: int


@dataclass(frozen=True)
class LedgerContents:
    """All that the server has: the last operation of each session, and each of its rows by (session, key).

    An operation writes one row and the session's own in one transaction, with the same number and time.
    """

    sessions: Mapping[int, Entry]
    rows: Mapping[tuple[int, int], Entry]


class LedgerSession(Protocol):
    """One connection that commits operations one at a time, outside of procedures. Used by one thread.

    ``done_ns`` is the server's clock right after it had committed the last operation that it acknowledged.
    """

    done_ns: int

    def commit(self, number: int, key: int) -> int:
        """Write operation ``number`` to row ``key`` of the session, in one transaction with the session's own row.

        Returns when the server has acknowledged the commit: the server's clock, in ns since the epoch, that it wrote to
        both rows. SlobError when the server refuses it or the connection is lost: whether it was committed is not known
        then, and the session is of no more use.
        """

    def last(self) -> Entry:
        """Return the session's own row, with all that this server or its cluster has acknowledged.

        TakesNoWritesError when the server does not: a copy may lack the last operations. The session can go on.
        """

    def server_ns(self) -> int:
        """Return the server's clock, in ns since the epoch."""

    def checkpoint(self) -> None:
        """Let the server write and sync all changed pages, as it does by itself now and then; return when it has.

        SlobError when it refuses, has no statement for that, or the connection is lost.
        """

    def cut(self) -> None:
        """Break the connection off from this side; never raises. May come from another thread."""

    def close(self) -> None:
        """End the session; never raises."""


class LedgerTables(Protocol):
    """The tables of the proof, in a schema of their own beside the test data; names begin as all of this product's."""

    def create(self, sessions: int, rows: int) -> None:
        """Create the tables with so many rows for each session, at most two to a block; replaces what is there."""

    def drop(self) -> None:
        """Remove the tables; nothing to do if there are none."""

    def open_session(self, session: int) -> LedgerSession:
        """Connect a session, numbered from 0. SlobError, within a few seconds, when the server can't be reached."""

    def contents(self) -> LedgerContents:
        """Return what the server has, by a full scan of the tables."""

    def settings(self) -> Mapping[str, str]:
        """Return the server's settings that decide what a commit waits for, and what protects pages, by name."""

    def guards(self) -> Sequence[str]:
        """Return what damage is found by on this server: checksums of pages, if they are on, and the like."""

    def damage(self) -> Sequence[str]:
        """Return what is damaged, one line each: torn pages by checksums, tables and indexes that disagree.

        Rows that say something else than their operation, and rows that are there more than once, are damage, too.
        """

    def heartbeat(self, number: int) -> None:
        """Write ``number`` and the server's clock to the row of the heartbeat, and commit."""

    def last_heartbeat(self) -> Entry | None:
        """Return the row of the heartbeat as this server (a copy, too) has it; None if there is none yet."""
