"""How far copies are behind, while the load goes on: in bytes of the log, and by a row that is written all the time.

The time lag that a copy tells of itself grows on an idle primary and may be small while much of the log has not even
arrived. So a heartbeat's row is written on the primary: a copy is behind by the age of the oldest beat that it lacks.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread

from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.engines.base import Engine
from openslob.engines.copies import CopyReader, CopyReading, bytes_behind
from openslob.engines.ledger import LedgerTables

INTERVAL_S = 0.2
_JOIN_S = 15.0


@dataclass(frozen=True)
class LagSample:
    """How far a copy was behind at one moment of the driver's monotonic clock; None: not known, ``why``.

    ``bytes_behind`` are those that it has not applied, ``not_received`` those that it has not got. ``heartbeat_s`` is
    the age of the oldest beat that it lacks; 0 if it has all. ``said_s`` is what the copy calls its lag itself.
    """

    at_ns: int
    copy: int
    bytes_behind: int | None = None
    not_received: int | None = None
    heartbeat_s: float | None = None
    said_s: float | None = None
    why: str = ""


class Beats:
    """The beats of the heartbeat's row: when each was acknowledged."""

    def __init__(self) -> None:
        self._acked_ns: list[int] = []

    @property
    def next_number(self) -> int:
        """The number of the next beat, from 1."""
        return len(self._acked_ns) + 1

    def add(self, at_ns: int) -> None:
        """Note that the next beat was acknowledged."""
        self._acked_ns.append(at_ns)

    def behind_s(self, number: int, at_ns: int) -> float:
        """Return how long a copy is behind whose row had this number at a moment: since the first beat it lacks."""
        lacking = self._acked_ns[number : bisect_right(self._acked_ns, at_ns)]
        return (at_ns - lacking[0]) / NANOS if lacking else 0.0


class LagSampler:
    """Samples how far copies are behind the first of the servers, on a thread of its own, until it is stopped.

    A copy that does not answer has samples without values.
    """

    def __init__(self, engines: Sequence[Engine], tables: Sequence[LedgerTables]) -> None:
        self.samples: list[LagSample] = []
        self._engines, self._tables = engines, tables
        self._readers: dict[int, CopyReader] = {}
        self._beats = Beats()
        self._stop = Event()
        self._thread = Thread(target=self._work, name="lag", daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> None:
        """End; the samples are complete then."""
        self._stop.set()
        self._thread.join(_JOIN_S)
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def since(self, from_ns: int) -> Sequence[LagSample]:
        """Return the samples from a moment on."""
        return [each for each in self.samples.copy() if each.at_ns >= from_ns]

    def _work(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._beat()
                primary = self._read(0)
            except SlobError as error:
                primary, why = None, error.what
            else:
                why = ""
            for number in range(1, len(self._tables)):
                self.samples.append(self._sample(number, primary, why))
            self._stop.wait(max(0.0, began + INTERVAL_S - time.monotonic()))

    def _beat(self) -> None:
        self._tables[0].heartbeat(self._beats.next_number)
        self._beats.add(time.monotonic_ns())

    def _sample(self, number: int, primary: CopyReading | None, why: str) -> LagSample:
        try:
            reading = self._read(number)
            at_ns = time.monotonic_ns()
            beat = self._tables[number].last_heartbeat()
        except SlobError as error:
            return LagSample(time.monotonic_ns(), number, why=error.what)
        position = primary.position if primary else None
        behind = bytes_behind(position, reading.position)
        return LagSample(
            at_ns=at_ns,
            copy=number,
            bytes_behind=behind,
            not_received=bytes_behind(position, reading.received),
            # A primary that is gone writes no beats that a copy could lack.
            heartbeat_s=self._beats.behind_s(beat.number if beat else 0, at_ns) if primary else None,
            said_s=reading.said_s,
            why=why or ("" if behind is not None else "the servers do not report their position in bytes"),
        )

    def _read(self, number: int) -> CopyReading:
        """Read a server's position over its connection, which is opened when it is needed."""
        reader = self._readers.get(number)
        try:
            if reader is None:
                replication = self._engines[number].replication
                if replication is None:
                    return CopyReading(None)
                reader = self._readers[number] = replication.open_reader()
            return reader.read()
        except SlobError:
            if reader:
                reader.close()
            self._readers.pop(number, None)
            raise
