"""What happened between two readings of a server's counters and of its host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openslob.measurement import ObjectIo, WaitClass
from openslob.record.model import Figure


@dataclass(frozen=True)
class EventRate:
    """One wait event in an interval: waits per second, mean number of sessions in it, and mean wait in µs.

    ``timed`` tells whether the engine counts and times every wait of the event; else the sessions are those that
    samples saw in it, and the other two are None.
    """

    event: str
    wait_class: WaitClass
    sessions: float
    per_s: float | None = None
    mean_us: float | None = None
    timed: bool = False


@dataclass(frozen=True)
class Interval:
    """An interval of ``seconds`` that ended at ``end_ns`` of the server's clock.

    ``figures`` are those of a run's summary, by name, as far as they are known without our loop. ``io`` has totals by
    kind of object or file, ``cpu`` the host's CPU time in % by kind. ``by_instance`` are the instances of a cluster by
    target, whose sums these figures are.
    """

    end_ns: int
    seconds: float
    figures: Mapping[str, Figure]
    waits: Sequence[EventRate] = ()
    io: Mapping[str, ObjectIo] = field(default_factory=dict)
    cpu: Mapping[str, float] = field(default_factory=dict)
    by_instance: Mapping[str, Interval] = field(default_factory=dict)
