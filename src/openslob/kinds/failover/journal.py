"""What a session did and saw: every attempt of an operation, every lost connection, and what the server had then.

Times are ns of the driver's monotonic clock unless they are called ``done_ns``.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from openslob.engines.ledger import Entry

# In place of the time of an acknowledgement that did not come.
IN_DOUBT = -1


@dataclass(frozen=True)
class Look:
    """What a server had of a session when it was connected again, before it went on.

    ``attempts`` is how many attempts the session had made by then, ``target`` the number of the server.
    """

    attempts: int
    target: int
    entry: Entry


@dataclass(frozen=True)
class Loss:
    """A lost connection: when it was noticed and why, how often the session tried, and when it could go on."""

    at_ns: int
    why: str
    tries: int
    back_ns: int


def _numbers() -> array[int]:
    return array("q")


@dataclass
class Journal:
    """All of one session. An attempt is a number, when it was sent, and when it was acknowledged or `IN_DOUBT`.

    ``done_ns`` is the server's clock when it had committed; 0 if that is not known. ``skipped`` are the operations that
    were due at a given rate and never sent, since the session was not connected. Written by the session's thread alone;
    readers take the length of ``done_ns``, which is written last.
    """

    session: int
    numbers: array[int] = field(default_factory=_numbers)
    sent_ns: array[int] = field(default_factory=_numbers)
    acked_ns: array[int] = field(default_factory=_numbers)
    targets: array[int] = field(default_factory=_numbers)
    done_ns: array[int] = field(default_factory=_numbers)
    looks: list[Look] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    skipped: int = 0

    def __len__(self) -> int:
        """Return the number of attempts."""
        return len(self.done_ns)

    def add(self, number: int, sent_ns: int, acked_ns: int, target: int, done_ns: int) -> None:
        """Note an attempt that has ended."""
        self.numbers.append(number)
        self.sent_ns.append(sent_ns)
        self.acked_ns.append(acked_ns)
        self.targets.append(target)
        self.done_ns.append(done_ns)

    def look(self, target: int, entry: Entry) -> None:
        """Note what a server has."""
        self.looks.append(Look(len(self), target, entry))
