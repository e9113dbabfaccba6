"""What a cluster opens on all of its instances: sessions, samplers, stop signals and snapshots, in a common time.

Instances on different hosts have different clocks. A run uses the first instance's clock as the common one: sessions
begin and end together, each by the clock of its own server. Times are translated into an instance's own clock when they
are sent to it, and back when they are received.

Counters and waits are read at the same moment in parallel and added up. A figure of the cluster is a sum, so it is
unknown when one instance does not count it; the reason names the instance.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from openslob.core.errors import DeniedError, SlobError
from openslob.core.measurement import CHURN_COUNTERS, EVERY_FIGURE, ONLY_SOME_HAVE, EngineDelta, ObjectIo, sum_waits
from openslob.engines.base import (
    Activity,
    CounterReading,
    Counters,
    Counting,
    Recountable,
    Session,
    Settling,
    SliceRequest,
    SliceResult,
    Snapshotter,
    StopSignal,
    WaitSampler,
)
from openslob.engines.copies import PLACE, CopyReader, LogScale

# The quickest of so many answers has the smallest error: at most half of the time that it took.
QUERIES = 5


class Clocks:
    """How far each instance's clock is ahead of the first one's, in ns; 0 before `compare`."""

    def __init__(self, instances: int) -> None:
        self.ahead_ns: Sequence[int] = (0,) * instances

    def compare(self, readers: Sequence[Callable[[], CounterReading]]) -> None:
        """Compare all clocks, one after the other, so that none waits for this process's other threads."""
        answers = [min(_ask(reader) for _ in range(QUERIES)) for reader in readers]
        self.ahead_ns = tuple(_ahead(answer, answers[0]) for answer in answers)

    def own(self, instance: int, common_ns: int) -> int:
        """Translate a time of the common clock into an instance's own."""
        return common_ns + self.ahead_ns[instance]

    def common(self, instance: int, own_ns: int) -> int:
        """Translate a time of an instance's own clock into the common one."""
        return own_ns - self.ahead_ns[instance]


def _ahead(answer: tuple[int, int], first: tuple[int, int]) -> int:
    """Return the difference of two offsets; 0 if it is within their error, since clocks of one host agree."""
    error_ns = (answer[0] + first[0]) // 2
    difference = answer[1] - first[1]
    return difference if abs(difference) > error_ns else 0


def _ask(read: Callable[[], CounterReading]) -> tuple[int, int]:
    """Return how long the answer took, and the server's clock minus this host's."""
    before = time.time_ns()
    server_ns = read().server_ns
    after = time.time_ns()
    return after - before, server_ns - (before + after) // 2


@contextmanager
def name_instance(target: str) -> Iterator[None]:
    """Name the instance in errors of the block."""
    try:
        yield
    except SlobError as error:
        if error.what.startswith((f"{target}: ", f"{target} ")):
            raise
        kind = DeniedError if isinstance(error, DeniedError) else SlobError
        raise kind(f"{target}: {error.what}", error.remedy) from error


class ClusterSession:
    """Delegates to ``session``; times are translated to and from its server's clock."""

    def __init__(self, session: Session, instance: int, target: str, clocks: Clocks) -> None:
        self._session = session
        self._instance = instance
        self._target = target
        self._clocks = clocks

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:
        with name_instance(self._target):
            self._session.load_private_tables(wrote_blocks)

    def prepare(self) -> None:
        with name_instance(self._target):
            self._session.prepare()

    def plans(self) -> Mapping[str, str]:
        with name_instance(self._target):
            return self._session.plans()

    def settings(self) -> Mapping[str, str]:
        with name_instance(self._target):
            return self._session.settings()

    def run_slice(self, order: SliceRequest) -> SliceResult:
        with name_instance(self._target):
            return self._translate_result(self._session.run_slice(self._translate_order(order)))

    def _translate_order(self, order: SliceRequest) -> SliceRequest:
        return replace(
            order,
            # 0 is before any time on every clock: there is nothing to wait for.
            not_before_ns=order.not_before_ns and self._clocks.own(self._instance, order.not_before_ns),
            until_ns=self._clocks.own(self._instance, order.until_ns),
            due_ns=None if order.due_ns is None else self._clocks.own(self._instance, order.due_ns),
        )

    def _translate_result(self, result: SliceResult) -> SliceResult:
        return replace(
            result,
            start_ns=self._clocks.common(self._instance, result.start_ns),
            end_ns=self._clocks.common(self._instance, result.end_ns),
            first_op_ns=self._translate_time(result.first_op_ns),
            due_ns=self._translate_time(result.due_ns),
        )

    def _translate_time(self, own_ns: int | None) -> int | None:
        return None if own_ns is None else self._clocks.common(self._instance, own_ns)

    def backend_id(self) -> int:
        return self._session.backend_id()

    def instance(self) -> str:
        return self._target

    def cancel(self) -> bool:
        return self._session.cancel()

    def cut(self) -> None:
        self._session.cut()

    def close(self) -> None:
        self._session.close()


class ClusterStop:
    """The stop signals of all instances."""

    def __init__(self, signals: Sequence[StopSignal]) -> None:
        self._signals = signals

    def request(self) -> None:
        """Make every session stop soon. SlobError, after all were asked, when an instance can't be reached."""
        errors = [error for signal in self._signals if (error := _error_of(signal))]
        if errors:
            raise errors[0]

    def close(self) -> None:
        for signal in self._signals:
            signal.close()


class ClusterSnapshots:
    """Snapshots of all instances whose servers take them; files are named by the instance's number, from 1."""

    def __init__(self, snapshots: Mapping[int, Snapshotter]) -> None:
        self._snapshots = snapshots

    def begin(self) -> None:
        for snapshotter in self._snapshots.values():
            snapshotter.begin()

    def end(self) -> Mapping[str, str | bytes]:
        ended = {number: snapshotter.end() for number, snapshotter in self._snapshots.items()}
        return {f"{number}-{name}": content for number, files in ended.items() for name, content in files.items()}

    def close(self) -> None:
        for snapshotter in self._snapshots.values():
            snapshotter.close()


def _error_of(signal: StopSignal) -> SlobError | None:
    try:
        signal.request()
    except SlobError as error:
        return error
    return None


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
    clock of an instance is ahead of the first instance's. So is the place in the log of each instance (`PLACE`), if
    some are copies.
    """

    parts: Sequence[CounterReading] = ()

    @classmethod
    def combine(
        cls, parts: Sequence[CounterReading], clocks: Clocks, places: Sequence[int | None] = ()
    ) -> ClusterReading:
        values = {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.values.items()}
        values |= {f"{number}.ahead_ns": ahead for number, ahead in enumerate(clocks.ahead_ns)}
        values |= {f"{number}.{PLACE}": place for number, place in enumerate(places) if place is not None}
        moments = [clocks.common(number, part.server_ns) for number, part in enumerate(parts)]
        values["spread_ns"] = max(moments) - min(moments)
        epoch = " ".join(f"{number}:{part.epoch}" for number, part in enumerate(parts))
        # Every instance must be read before the load begins, so the latest reading counts.
        return cls(max(moments), values, epoch, parts)


@dataclass(frozen=True)
class ClusterCounting:
    """Takes differences of the readings of all instances, each of which counts as its part says."""

    parts: Sequence[Counting]
    targets: Sequence[str]

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return the sum of the differences of all instances, and each in ``by_instance``."""
        each = enumerate(self.parts)
        own = [part.difference(_of_instance(before, number), _of_instance(after, number)) for number, part in each]
        return add_deltas(own, self.targets)


def _settle(asked: tuple[Counters, CounterReading, CounterReading]) -> CounterReading:
    sampler, before, after = asked
    return sampler.settle(before, after) if isinstance(sampler, Settling) else after


def _of_instance(reading: CounterReading, number: int) -> CounterReading:
    mine = f"{number}."
    values = {name.removeprefix(mine): value for name, value in reading.values.items() if name.startswith(mine)}
    return CounterReading(reading.server_ns, values, reading.epoch)


class ClusterCounters:
    """Reads every instance over a connection of its own."""

    def __init__(
        self,
        counters: Sequence[Counters],
        targets: Sequence[str],
        clocks: Clocks,
        places: Sequence[CopyReader] = (),
    ) -> None:
        self._counters = counters
        self._places, self._scale = places, LogScale()
        self._targets = targets
        self._clocks = clocks
        self._team = InstanceThreads(len(counters))
        clocks.compare([sampler.read for sampler in counters])

    def read(self) -> ClusterReading:
        parts = self._team.ask(lambda sampler: sampler.read(), self._counters)
        places = self._scale.places(self._team.ask(lambda place: place.read(), self._places))
        return ClusterReading.combine(parts, self._clocks, places)

    def settle(self, before: CounterReading, after: CounterReading) -> ClusterReading:
        """Let the counters of each instance settle, if they are of that kind."""
        assert isinstance(before, ClusterReading)
        assert isinstance(after, ClusterReading)
        parts = self._team.ask(_settle, list(zip(self._counters, before.parts, after.parts, strict=True)))
        values = {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.values.items()}
        return replace(after, values={**after.values, **values}, parts=parts)

    def backend_ids(self) -> list[int]:
        return [backend for sampler in self._counters for backend in sampler.backend_ids()]

    @property
    def counting(self) -> ClusterCounting | None:
        """What takes the differences again; None if those of an instance can't be."""
        parts = [each.counting if isinstance(each, Recountable) else None for each in self._counters]
        return None if None in parts else ClusterCounting([each for each in parts if each], self._targets)

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
        for place in self._places:
            place.close()


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

    A figure that an instance does not know is unknown; its reason names the first such instance. What rows leave behind
    that come and go is counted where writes go: the tables of the others are copies.
    """
    amounts = {name: _amount(name, deltas) for name in deltas[0].amounts()}
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


def _amount(name: str, deltas: Sequence[EngineDelta]) -> float | None:
    values: list[float | None] = [getattr(delta, name) for delta in deltas]
    known = [value for value in values if value is not None]
    return _total(known if known and name in CHURN_COUNTERS else values)


def _total(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _reason(name: str, deltas: Sequence[EngineDelta], targets: Sequence[str]) -> str:
    for delta, target in zip(deltas, targets, strict=True):
        if getattr(delta, name) is None:
            why = delta.unknown.get(name) or ("" if name in ONLY_SOME_HAVE else delta.unknown.get(EVERY_FIGURE))
            if why:
                return f"{target}: {why}"
    return ""


def _objects(parts: Sequence[ObjectIo | None]) -> ObjectIo:
    """Return the sum for a kind of object; unknown when an instance does not report that kind."""

    def read_amount(part: ObjectIo | None, name: str) -> float | None:
        if part and part.read_requests == 0 and name == "read_time_us":
            return 0.0  # no instance that read nothing has a time
        value: float | None = getattr(part, name) if part else None
        return value

    return ObjectIo(
        **{field.name: _total(read_amount(part, field.name) for part in parts) for field in fields(ObjectIo)}
    )
