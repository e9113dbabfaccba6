"""Counters and waits of all instances, read at the same moment in parallel and added up.

A figure of the cluster is a sum, so it is unknown when one instance does not count it; the reason names the instance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from openslob.engines.base import Activity, CounterReading, Counters, WaitSampler
from openslob.engines.cluster.clocks import Clocks
from openslob.metrics.measurement import EVERY_FIGURE, ONLY_SOME_HAVE, EngineDelta, ObjectIo, sum_waits

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


class InstanceThreads:
    """One thread for each instance, kept because starting a thread takes longer than most queries."""

    def __init__(self, size: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=size, thread_name_prefix="instance")

    def ask(self, question: Callable[[_Asked], _Answer], asked: Sequence[_Asked]) -> list[_Answer]:
        """Return the answers in the order of ``asked``; raise the first error once all have answered.

        Every question ends in time by itself: engines wait for no server for ever.
        """
        pending = [self._threads.submit(question, subject) for subject in asked]
        errors = [error for future in pending if (error := future.exception())]
        if errors:
            raise errors[0]
        return [future.result() for future in pending]

    def close(self) -> None:
        """End the threads; one that still waits for its instance ends by itself."""
        self._threads.shutdown(wait=False)


@dataclass(frozen=True)
class ClusterReading(CounterReading):
    """All counters by ``instance number.name``; the time is when the last instance had been read.

    Two values are added: ``spread_ns`` is the time between the first and the last reading, ``ahead_ns`` is how far the
    clock of an instance is ahead of the first instance's.
    """

    parts: Sequence[CounterReading] = ()

    @classmethod
    def of(cls, parts: Sequence[CounterReading], clocks: Clocks) -> ClusterReading:
        """Combine the readings of all instances."""
        values = {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.values.items()}
        values |= {f"{number}.ahead_ns": ahead for number, ahead in enumerate(clocks.ahead_ns)}
        moments = [clocks.common(number, part.server_ns) for number, part in enumerate(parts)]
        values["spread_ns"] = max(moments) - min(moments)
        epoch = " ".join(f"{number}:{part.epoch}" for number, part in enumerate(parts))
        # Every instance must be read before the load begins, so the latest reading counts.
        return cls(max(moments), values, epoch, parts)


class ClusterCounters:
    """Reads every instance over a connection of its own."""

    def __init__(self, counters: Sequence[Counters], targets: Sequence[str], clocks: Clocks) -> None:
        self._counters = counters
        self._targets = targets
        self._clocks = clocks
        self._team = InstanceThreads(len(counters))
        clocks.compare([sampler.read for sampler in counters])

    def read(self) -> ClusterReading:
        return ClusterReading.of(self._team.ask(lambda sampler: sampler.read(), self._counters), self._clocks)

    def backend_ids(self) -> list[int]:
        return [backend for sampler in self._counters for backend in sampler.backend_ids()]

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return the sum of the counters' differences over all instances."""
        assert isinstance(before, ClusterReading)
        assert isinstance(after, ClusterReading)
        parts = zip(self._counters, before.parts, after.parts, strict=True)
        return add_deltas([sampler.difference(first, last) for sampler, first, last in parts], self._targets)

    def task_kinds(self) -> Mapping[int, str]:
        """Return nothing: the numbers may be of processes on several hosts."""
        return {}

    def close(self) -> None:
        self._team.close()
        for sampler in self._counters:
            sampler.close()


class ClusterWaits:
    """Samples the sessions of every instance over a connection of its own."""

    def __init__(self, waits: Sequence[WaitSampler]) -> None:
        self._waits = waits
        self._team = InstanceThreads(len(waits))

    def sample(self) -> Activity:
        """Return the sessions of all instances; others are unknown when one instance can't show them."""
        every = self._team.ask(lambda sampler: sampler.sample(), self._waits)
        events, others = Counter[str](), Counter[str]()
        for activity in every:
            events.update(activity.events)
            others.update(activity.others or {})
        return Activity(events, None if any(activity.others is None for activity in every) else others, every)

    def backend_ids(self) -> list[int]:
        return [backend for sampler in self._waits for backend in sampler.backend_ids()]

    def close(self) -> None:
        self._team.close()
        for sampler in self._waits:
            sampler.close()


def add_deltas(deltas: Sequence[EngineDelta], targets: Sequence[str]) -> EngineDelta:
    """Return the sum of what the instances counted.

    A figure that an instance does not know is unknown; its reason names the first such instance.
    """
    names = list(deltas[0].amounts())
    amounts = {name: _total(getattr(delta, name) for delta in deltas) for name in names}
    missing = {name for name, amount in amounts.items() if amount is None}
    reasons = {name: _reason(name, deltas, targets) for name in missing}
    kinds = dict.fromkeys(kind for delta in deltas for kind in delta.by_object)
    sums: dict[str, Any] = dict(amounts)
    return EngineDelta(
        **sums,
        by_object={kind: _objects([delta.by_object.get(kind) for delta in deltas]) for kind in kinds},
        timed_waits=sum_waits(wait for delta in deltas for wait in delta.timed_waits),
        unknown={name: why for name, why in reasons.items() if why},
        by_instance=tuple(deltas),
        server_wide=frozenset[str]().union(*(delta.server_wide for delta in deltas)),
        others=_others(deltas),
        remedies={name: text for delta in reversed(deltas) for name, text in delta.remedies.items()},
    )


def _others(deltas: Sequence[EngineDelta]) -> dict[str, float]:
    """Add up what other sessions did; of a counter for which an instance can't tell, nothing is known."""
    known = set(deltas[0].others).intersection(*(delta.others for delta in deltas))
    return {name: sum(delta.others[name] for delta in deltas) for name in known}


def _total(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _reason(name: str, deltas: Sequence[EngineDelta], targets: Sequence[str]) -> str:
    for delta, target in zip(deltas, targets, strict=True):
        if getattr(delta, name) is None:
            why = delta.unknown.get(name) or ("" if name in ONLY_SOME_HAVE else delta.unknown.get(EVERY_FIGURE))
            return f"{target}: {why}" if why else ""
    return ""


def _objects(parts: Sequence[ObjectIo | None]) -> ObjectIo:
    """Return the sum for a kind of object; unknown when an instance does not report that kind."""

    def of(name: str) -> Callable[[ObjectIo | None], float | None]:
        def amount(part: ObjectIo | None) -> float | None:
            if part and part.read_requests == 0 and name == "read_time_us":
                return 0.0  # no instance that read nothing has a time
            value: float | None = getattr(part, name) if part else None
            return value

        return amount

    return ObjectIo(**{field.name: _total(map(of(field.name), parts)) for field in fields(ObjectIo)})
