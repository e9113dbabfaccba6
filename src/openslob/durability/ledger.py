"""The driver's ledger: every operation that sessions sent, and which of them the server acknowledged.

One text file, with a line for each event, written by the sessions' own threads. That an operation will be sent is
on disk before it is sent, and with it the acknowledgement of the session's operation before it. So the file says, even
after a crash of the driver's host, what the server may have and what it must have, but for the last acknowledgement of
each session, whose operation is then in doubt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from openslob.core.errors import SlobError

HEADER = "event,session,number,key,monotonic_ns,server_ns\n"
SENT, ACKED = "sent", "acked"


@dataclass(frozen=True)
class Operation:
    """One operation of a session, which has number ``number`` and wrote row ``key``.

    ``sent_ns`` and ``acked_ns`` are by the driver's monotonic clock; ``acked_ns`` is None of an operation in doubt: the
    connection was lost before its answer. ``server_ns`` is the server's clock, as the acknowledgement says.
    """

    session: int
    number: int
    key: int
    sent_ns: int
    acked_ns: int | None = None
    server_ns: int | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether the server may or may not have it."""
        return self.acked_ns is None


class LedgerFile:
    """The ledger while it is written. SlobError when the file can't be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise self._failure(error) from error
        self._write(HEADER)

    def note_sent(self, operation: Operation) -> None:
        """Record, on disk when this returns, that an operation will be sent."""
        self._write(_line(SENT, operation, operation.sent_ns))
        self._sync()

    def note_acked(self, operation: Operation) -> None:
        """Record an acknowledgement; it is on disk before the session's next operation is sent."""
        self._write(_line(ACKED, operation, operation.acked_ns))

    def close(self) -> None:
        """Write everything to disk and close the file."""
        try:
            self._sync()
        finally:
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: str) -> None:
        """Append a line; those of other threads come before or after it."""
        encoded = line.encode("ascii")
        try:
            written = os.write(self._file, encoded)
        except OSError as error:
            raise self._failure(error) from error
        if written != len(encoded):
            raise SlobError(f"the ledger {self._path} can't be written: only a part of a line was", "free space")

    def _sync(self) -> None:
        try:
            if sys.platform == "linux":
                os.fdatasync(self._file)
            else:
                os.fsync(self._file)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> SlobError:
        return SlobError(f"the ledger {self._path} can't be written: {error.strerror}", "use another --results folder")


def _line(event: str, operation: Operation, at_ns: int | None) -> str:
    server_ns = "" if operation.server_ns is None else operation.server_ns
    return f"{event},{operation.session},{operation.number},{operation.key},{at_ns},{server_ns}\n"


def read(path: Path) -> list[Operation]:
    """Return the operations of a ledger in the order in which they were sent.

    A last line that a crash of the driver left unfinished is left out. SlobError when the file is not a ledger.
    """
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SlobError(f"the ledger {path} can't be read: {error}") from error
    whole = text[: text.rfind("\n") + 1]
    if not whole.startswith(HEADER):
        raise SlobError(f"{path} is not a ledger: its first line is not {HEADER.strip()}")
    return _operations(whole.splitlines()[1:], path)


def _operations(lines: Iterable[str], path: Path) -> list[Operation]:
    found: dict[tuple[int, int], Operation] = {}
    for number, line in enumerate(lines, start=2):
        cells = line.split(",")
        try:
            event, numbers = cells[0], [int(cell) if cell else None for cell in cells[1:]]
            session, operation, key, at_ns, server_ns = numbers
            if session is None or operation is None or key is None or at_ns is None:
                raise ValueError("an empty cell")
            if event == SENT:
                found[session, operation] = Operation(session, operation, key, at_ns)
            elif event == ACKED:
                sent = found[session, operation]
                found[session, operation] = replace(sent, acked_ns=at_ns, server_ns=server_ns)
            else:
                raise ValueError(event)
        except (ValueError, KeyError) as error:
            raise SlobError(f"line {number} of the ledger {path} can't be read: {line[:80]!r}") from error
    return list(found.values())


def by_session(operations: Iterable[Operation]) -> Mapping[int, list[Operation]]:
    """Return the operations of each session, in the order in which it sent them."""
    sessions: dict[int, list[Operation]] = {}
    for operation in operations:
        sessions.setdefault(operation.session, []).append(operation)
    return sessions


def select_acked(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield the operations that the server acknowledged."""
    return (operation for operation in operations if not operation.in_doubt)
