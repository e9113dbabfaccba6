"""Replication: how far a server is in the log, and the promotion of a managed standby."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openslob.core.errors import SlobError
from openslob.engines.copies import CopyReading, LogPosition
from openslob.engines.patience import PROBE_S, NoAnswerError, Patience, Watch, Work, wait
from openslob.engines.postgresql.connection import PACKAGE, Connection, PatientPsycopg
from openslob.engines.postgresql.errors import report_as
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.sql import read_statements

# A standby that got much of the log and applied little of it does so first.
_PROMOTION_S = 300.0
_ATTACHED_S = 30.0
# pg_promote itself would look ten times a second.
_POLL_S = 0.001


class PostgresReplication:
    """The position of a primary or a standby. Implements `openslob.engines.base.Replicated`."""

    def __init__(self, target: str, connect: Callable[[str], Connection]) -> None:
        self._target = target
        self._connect = connect

    def log_position(self) -> int:
        """Return the log position up to which changes are durable on a primary, replayed on a standby."""
        with self._connect("query") as connection, report_as(f"{self._target} does not answer"):
            row = connection.execute(read_statements(PACKAGE, "facts")["log_position"]).fetchone()
        return int(row[0]) if row else 0

    def open_reader(self) -> PostgresCopyReader:
        return PostgresCopyReader(self._target, self._connect("copies"))


class PostgresCopyReader(ConnectionOwner[Connection]):
    """Reads the position in the log over one connection. Implements `openslob.engines.copies.CopyReader`."""

    def __init__(self, target: str, connection: Connection) -> None:
        self._target = target
        super().__init__(connection)

    def read(self) -> CopyReading:
        with report_as(f"{self._target} does not answer"):
            row = self._connection.execute(read_statements(PACKAGE, "facts")["copy_position"]).fetchone()
        position, received, said_s = row or (None, None, None)
        return CopyReading(_at(position), _at(received), said_s)


def _at(offset: int | None) -> LogPosition | None:
    return None if offset is None else LogPosition(offset)


@contextmanager
def _connect_as_administrator(url: str, failure: str) -> Iterator[Connection]:
    """Open a connection for the block on which no statement is waited for without end: the server may hang."""
    with report_as(failure), PatientPsycopg.connect(url, autocommit=True, connect_timeout=PROBE_S) as connection:
        connection.watch = Watch(Patience(), Work.SHORT, str)
        try:
            yield connection
        except NoAnswerError as error:
            raise SlobError(f"{failure}: {error.what}", error.remedy) from error


def promote(url: str, name: str) -> None:
    """Let a standby apply what it has got of the log and take writes from then on. SlobError if it does not."""
    text = read_statements(PACKAGE, "replication")
    with _connect_as_administrator(url, f"{name} can't be promoted") as connection:
        connection.execute(text["promote"])
        if not wait(lambda: not _value(connection, text["in_recovery"]), _PROMOTION_S, _POLL_S):
            raise SlobError(f"{name} does not end its recovery", "its log may say why")


def forget(url: str, name: str, slot: str) -> None:
    """Remove a standby's slot from its primary, if it has the slot: it need not keep the log any more."""
    with _connect_as_administrator(url, f"the slot of {name} can't be removed") as connection:
        connection.execute(read_statements(PACKAGE, "replication")["forget"], {"slot": slot})


def await_copies(url: str, name: str, on: bool) -> None:
    """Let commits wait until a standby has them on its disk, or no longer. SlobError if no standby is attached."""
    text = read_statements(PACKAGE, "replication")
    with _connect_as_administrator(url, f"the replication of {name} can't be set") as connection:
        connection.execute(text["wait" if on else "go_on"])
        connection.execute(text["reload"])
        if on and not wait(lambda: bool(_value(connection, text["waits"])), _ATTACHED_S, _POLL_S):
            connection.execute(text["go_on"])
            connection.execute(text["reload"])
            raise SlobError(f"no standby of {name} takes part in synchronous replication", "see the standby's log")


def _value(connection: Connection, statement: str) -> object:
    row = connection.execute(statement).fetchone()
    return row and row[0]
