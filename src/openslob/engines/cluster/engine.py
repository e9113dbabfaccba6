"""Several instances of one database as one target: sessions go round-robin over them, and their counters add up.

Data are loaded and the work loop is created on the first instance that takes writes. The others get both by the
database's own replication, which is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from openslob.core.errors import SlobError, UsageError
from openslob.core.host import OtherHost
from openslob.core.secrets import Address
from openslob.core.session_classes import join_classes, parse_classes
from openslob.core.workload import DataSpec, StatisticsType, Workload
from openslob.engines.base import Calibrator, Engine, Hold, SamplingScope, SessionPlan, Snapshotter
from openslob.engines.capabilities import Capability, merge_capabilities
from openslob.engines.cluster.instances import (
    Clocks,
    ClusterCounters,
    ClusterSession,
    ClusterSnapshots,
    ClusterStop,
    ClusterWaits,
    InstanceThreads,
    name_instance,
)
from openslob.engines.copies import CopyReader, Replicated
from openslob.engines.facts import (
    OTHER_INSTANCES,
    READ_ONLY_FINDING,
    DataState,
    Finding,
    InstanceFacts,
    LoadResult,
    ProgressSink,
    ServerFacts,
    ServerLocation,
    place_sessions,
)
from openslob.engines.patience import Patience
from openslob.engines.proofs import Proving
from openslob.engines.settings import KnownSettings

# An instance that made no progress for so long does not replicate.
STALLED_S = 30.0
POLL_S = 0.02
_Answer = TypeVar("_Answer")


class ClusterEngine:
    """Instances of one database. Implements `openslob.engines.base.Engine`; UsageError if they can't be one target."""

    def __init__(self, instances: Sequence[Engine]) -> None:
        self.server_pid: int | None = None
        self.host: OtherHost | None = None
        self.direct: Address | None = None
        products = sorted({instance.name for instance in instances})
        if len(products) > 1:
            raise UsageError(
                f"the targets are of several engines: {', '.join(products)}", "give one engine's instances"
            )
        targets = [instance.target for instance in instances]
        twice = next((target for target in targets if targets.count(target) > 1), None)
        if twice:
            raise UsageError(f"{twice} is given twice", "name each instance once")
        self.name = products[0]
        self.target = ",".join(targets)
        self.address = Address.parse(",".join(instance.address.reveal() for instance in instances))
        self.instances = instances
        self._targets = targets
        self._clocks = Clocks(len(instances))

    def ask(self, question: Callable[[Engine], _Answer]) -> list[_Answer]:
        """Return the answers of all instances to one question; errors name the instance."""

        def ask_named(instance: Engine) -> _Answer:
            with name_instance(instance.target):
                return question(instance)

        team = InstanceThreads(len(self.instances))
        try:
            return team.ask(ask_named, self.instances)
        finally:
            team.close()

    def _open(self, connect: Callable[[Engine], _Answer], close: Callable[[_Answer], None]) -> list[_Answer]:
        """Open something on every instance; when one refuses, nothing stays open."""
        with ExitStack() as stack:
            opened = []
            for instance in self.instances:
                with name_instance(instance.target):
                    opened.append(connect(instance))
                stack.callback(close, opened[-1])
            stack.pop_all()
        return opened

    @property
    def data(self) -> ClusterData:
        """The data of the instance that takes writes; the others have copies."""
        return ClusterData(self)

    @property
    def replication(self) -> Replicated | None:
        """The log position of the instance that takes writes."""
        return self.writer().replication

    def facts(self) -> ServerFacts:
        """Return what all instances have in common. SlobError when they differ in what makes results comparable.

        The cache is the smallest instance's, since each has to hold what its own sessions visit. Values of settings
        that differ are joined in the order of the instances.
        """
        every = self.ask(lambda instance: instance.facts())
        for name in ("product", "version", "block_size", "tablespace", "cluster_id"):
            self._require_same(name, [str(getattr(facts, name)) for facts in every])
        self._require_distinct([facts.instance for facts in every])
        direct, started = [facts.direct_io for facts in every], [facts.started_at for facts in every]
        names = dict.fromkeys(name for facts in every for name in facts.settings)
        return replace(
            every[0],
            cache_bytes=_least([facts.cache_bytes for facts in every]),
            free_connections=_multiply_least([facts.free_connections for facts in every]),
            settings={name: _join([facts.settings.get(name, "") for facts in every]) for name in names},
            direct_io=None if None in direct else all(direct),
            instance="",
            programs=_join([facts.programs for facts in every]),
            read_only=all(facts.read_only for facts in every),
            started_at=", ".join(started) if all(started) else "",
            instances=tuple(
                InstanceFacts(target, facts.read_only) for target, facts in zip(self._targets, every, strict=True)
            ),
        )

    def _require_same(self, what: str, values: Sequence[str]) -> None:
        other = next((number for number, value in enumerate(values) if value != values[0]), None)
        if other is None:
            return
        if what == "cluster_id":
            why = f"{self._targets[other]} has no copy of the data of {self._targets[0]}"
            raise SlobError(f"{why}: they are not instances of the same cluster", "run them one by one")
        ours, theirs = f"{values[0]} on {self._targets[0]}", f"{values[other]} on {self._targets[other]}"
        raise SlobError(
            f"the instances differ in {what.replace('_', ' ')}: {ours}, {theirs}",
            "configure them alike",
        )

    def _require_distinct(self, landed: Sequence[str]) -> None:
        """Refuse two targets that lead to one instance, whose counters would be added twice."""
        for number, name in enumerate(landed):
            if name and name in landed[:number]:
                why = (
                    f"{self._targets[landed.index(name)]} and {self._targets[number]} lead to the same instance, {name}"
                )
                raise SlobError(why, "name each instance by a service or an instance name of its own")

    def location(self) -> ServerLocation:
        """Return every instance's processes and data, if all are on this host, or on the one that the user names."""
        if self.host is not None and self.host.hides_processes:
            why = f"{self.host.hides_processes}, and which of the target's instances it belongs to is not known"
            raise UsageError(why, "leave --host out")
        if self.direct is not None:
            raise UsageError("--direct names one server, and the target has several instances", "leave it out")
        if self.server_pid is not None:
            raise UsageError("--server-pid names one process, and the target has several instances", "leave it out")
        for instance in self.instances:
            instance.host = self.host
        locations = self.ask(lambda instance: instance.location())
        for target, location in zip(self._targets, locations, strict=True):
            if not location.is_known:
                return ServerLocation.unknown(f"{target}: {location.why_unknown}")
        return replace(locations[0], others=tuple(locations[1:]))

    def writer(self) -> Engine:
        """Return the first instance that takes writes."""
        roles = self.ask(lambda instance: instance.facts().read_only)
        writers = [instance for instance, read_only in zip(self.instances, roles, strict=True) if not read_only]
        if not writers:
            raise SlobError("no instance of the target accepts writes", "name one that accepts writes, too")
        return writers[0]

    def findings(self, workload: Workload) -> Iterator[Finding]:
        """Return what spoils the run on the whole cluster, then on each instance with its share of the sessions."""
        instances = self.facts().instances
        read_only = [instance.target for instance in instances if instance.read_only]
        if len(read_only) == len(self.instances):
            why = "no instance of the target accepts writes, so the work loop can't be created"
            yield Finding("cluster", why, "name one that accepts writes, too", True)
            return
        writing = [part for part in workload.parts if part.workload.update_pct]
        if read_only and any(part.workload.instance_role.includes(read_only=True) for part in writing):
            what = "above 0 in a class" if workload.classes else workload.update_pct
            why = f"UPDATE_PCT is {what} and {', '.join(read_only)} takes reads only"
            remedy = "use UPDATE_PCT=0 or INSTANCE_ROLE=read-write, or leave it out of the target"
            yield Finding("cluster", why, remedy, True)
        yield from self._location_findings()
        self.await_copies()
        placed = place_sessions(workload, instances)
        for number, instance in enumerate(self.instances):
            share = self._share_of(workload, [placed_on == number for placed_on in placed], instances[number])
            for finding in instance.findings(share):
                if finding.name not in (READ_ONLY_FINDING, OTHER_INSTANCES):
                    yield replace(finding, why=f"{instance.target}: {finding.why}")

    def try_statements(self, plan: SessionPlan) -> Iterator[Finding]:
        """Try them on the instance that takes writes; all instances have the same version."""
        yield from self.writer().try_statements(plan)

    def _location_findings(self) -> Iterator[Finding]:
        why = self.location().why_unknown
        if why:
            remedy = "run slob on the host of all instances, or do without these figures"
            yield Finding("place", f"the CPU and devices of the cluster are unknown ({why})", remedy, False)

    def _share_of(self, workload: Workload, is_here: Sequence[bool], instance: InstanceFacts) -> Workload:
        """Return the load with the sessions that an instance gets; ``is_here`` says which, by their numbers.

        Checks are made for at least one session of each class that may work there, and of a load, for one that reads.
        """
        if not workload.classes:
            return workload.changed(sessions=max(1, sum(is_here)))
        classes = parse_classes(workload.classes)
        own = {
            part.name: {**classes[part.name], "sessions": str(max(1, sum(is_here[number] for number in part.numbers)))}
            for part in workload.parts
            if part.workload.instance_role.includes(instance.read_only)
        }
        if not own:
            return workload.changed(classes=None, sessions=1, update_pct=0)
        return workload.changed(classes=join_classes(own))

    def await_copies(self) -> None:
        """Wait until every instance has all changes that are durable on the writer now.

        SlobError for an instance that makes no progress. Instances that share one copy of the data are not waited for.
        """
        writer = self.writer()
        if writer.replication is None:
            return
        goal = writer.replication.log_position()
        for instance in self.instances:
            if instance is not writer and instance.replication is not None:
                with name_instance(instance.target):
                    _await(instance.replication, goal, writer.target)

    def proving(self) -> AbstractContextManager[Proving] | None:
        """Return the questions of the instance that takes writes."""
        return self.writer().proving()

    def ledger(self) -> None:
        """Return None: each instance is a target of its own for a proof of what it keeps."""

    @contextmanager
    def known_settings(self) -> Iterator[KnownSettings]:
        """Give the settings of the first instance; sessions of all of them set the values."""
        with self.instances[0].known_settings() as known:
            yield known

    @contextmanager
    def exclusive(self, purpose: str) -> Iterator[Hold]:
        """Hold the locks of all instances, taken in the same order by every process."""
        restored: list[str] = []
        held: list[Hold] = []
        with ExitStack() as stack:
            for instance in sorted(self.instances, key=lambda instance: instance.target):
                held.append(stack.enter_context(instance.exclusive(purpose)))
                restored += [f"{instance.target}: {line}" for line in held[-1].restored]
            yield Hold(
                restored, lambda: _each(hold.require for hold in held), lambda: _each(hold.restore for hold in held)
            )

    def capabilities(self) -> list[Capability]:
        """Return the capabilities of the cluster: present only if all instances have them."""
        return merge_capabilities(self.ask(lambda instance: instance.capabilities()))

    def install(self, workload: Workload) -> None:
        """Create the work loop where writes go, and wait until all instances have it."""
        self.writer().install(workload)
        self.await_copies()

    def quiesce(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        """Prepare the instance that takes writes, then the others, once they have what it wrote."""
        writer = self.writer()
        done = {writer.target: writer.quiesce(workload, warm_cache)}
        self.await_copies()
        for instance in self.instances:
            if instance is not writer:
                with name_instance(instance.target):
                    done[instance.target] = instance.quiesce(workload, warm_cache)
        return [f"{target}: {what}" for target, lines in done.items() for what in lines]

    def open_session(self, plan: SessionPlan) -> ClusterSession:
        """Connect a session to the instance of its plan, or round-robin over the instances by its number."""
        number = plan.number % len(self.instances) if plan.instance is None else plan.instance
        instance = self.instances[number]
        with name_instance(instance.target):
            return ClusterSession(instance.open_session(plan), number, instance.target, self._clocks)

    def open_counters(self, scope: SamplingScope = SamplingScope.TEST) -> ClusterCounters:
        """Connect the counter samplers and compare the instances' clocks."""
        with ExitStack() as stack:
            places = self._open_places() if scope is SamplingScope.TEST else []
            for reader in places:
                stack.callback(reader.close)
            counters = self._open(lambda instance: instance.open_counters(scope), lambda sampler: sampler.close())
            stack.pop_all()
        return ClusterCounters(counters, self._targets, self._clocks, places)

    def _open_places(self) -> Sequence[CopyReader]:
        """Connect readers of the instances' places in the log, if some are copies and all of them tell these."""
        has_copies = any(instance.read_only for instance in self.facts().instances)
        if not has_copies or any(instance.replication is None for instance in self.instances):
            return []
        readers = self._open(_open_place, lambda reader: reader.close())
        if all(map(_tells_place, readers)):
            return readers
        for reader in readers:
            reader.close()
        return []

    def open_waits(self, scope: SamplingScope = SamplingScope.TEST) -> ClusterWaits:
        return ClusterWaits(self._open(lambda instance: instance.open_waits(scope), lambda sampler: sampler.close()))

    def open_snapshots(self, kind: StatisticsType, consented: frozenset[str]) -> Snapshotter | None:
        """Connect what takes snapshots; None when no instance's server does. One database may take them for all."""
        if kind.is_of_all_instances and all(instance.replication is None for instance in self.instances):
            return self.instances[0].open_snapshots(kind, consented)
        opened = self._open(
            lambda instance: instance.open_snapshots(kind, consented),
            lambda snapshotter: snapshotter.close() if snapshotter else None,
        )
        snapshots = {number: snapshotter for number, snapshotter in enumerate(opened, 1) if snapshotter}
        return ClusterSnapshots(snapshots) if snapshots else None

    def open_calibrator(self, consented: frozenset[str]) -> Calibrator:
        """Connect to one instance: it calibrates the storage that all of them have."""
        return self.instances[0].open_calibrator(consented)

    def open_stop(self) -> ClusterStop:
        return ClusterStop(self._open(lambda instance: instance.open_stop(), lambda signal: signal.close()))

    def follow(self, patience: Patience) -> None:
        for instance in self.instances:
            instance.follow(patience)

    def obstacle(self) -> str:
        """Return who keeps connections waiting, by instance. SlobError names one that does not answer."""
        found = zip(self._targets, self.ask(lambda instance: instance.obstacle()), strict=True)
        return "; ".join(f"{target}: {text}" for target, text in found if text)

    def sessions_left(self) -> int:
        return sum(self.ask(lambda instance: instance.sessions_left()))

    def release_sessions(self) -> int:
        return sum(self.ask(lambda instance: instance.release_sessions()))


class ClusterData:
    """The test data of a cluster, changed where writes go. Implements `openslob.engines.base.DataStore`."""

    def __init__(self, cluster: ClusterEngine) -> None:
        self._cluster = cluster

    def state(self) -> DataState | None:
        return self._cluster.writer().data.state()

    def load(self, spec: DataSpec, degree: int, progress: ProgressSink, cancelled: Callable[[], bool]) -> LoadResult:
        """Load where writes go, and wait until all instances have the data."""
        result = self._cluster.writer().data.load(spec, degree, progress, cancelled)
        self._cluster.await_copies()
        states = self._cluster.ask(lambda instance: instance.data.state())
        for instance, state in zip(self._cluster.instances, states, strict=True):
            if state is None or not state.verified or state.spec != spec:
                why = f"{instance.target} does not have the data that were loaded"
                raise SlobError(why, "see whether it replicates them")
        return result

    def drop(self) -> list[str]:
        """Remove everything where writes go, and wait until it is gone from all instances."""
        removed = self._cluster.writer().data.drop()
        self._cluster.await_copies()
        return removed

    def table_blocks(self) -> int:
        """Return the number of blocks of the test tables where writes go; the others have the same."""
        return self._cluster.writer().data.table_blocks()

    def files(self, _directory: Path) -> Sequence[Path]:
        return ()


def _open_place(instance: Engine) -> CopyReader:
    assert instance.replication is not None
    return instance.replication.open_reader()


def _tells_place(reader: CopyReader) -> bool:
    """Return whether an instance tells its place in the log; it does not to a user without the right to see it."""
    try:
        return reader.read().position is not None
    except SlobError:
        return False


def _each(acts: Iterable[Callable[[], None]]) -> None:
    for act in acts:
        act()


def _await(copy: Replicated, goal: int, source: str) -> None:
    """Wait until ``copy`` has reached ``goal``, for as long as it makes progress."""
    position, moved_at = copy.log_position(), time.monotonic()
    while position < goal:
        time.sleep(POLL_S)
        now = copy.log_position()
        if now > position:
            position, moved_at = now, time.monotonic()
        elif time.monotonic() - moved_at > STALLED_S:
            raise SlobError(
                f"it does not follow {source}: nothing arrived for {STALLED_S:.0f} s", "check its replication"
            )


def _least(values: Sequence[int | None]) -> int | None:
    """Return the least of the values; None if one is unknown."""
    known = [value for value in values if value is not None]
    return min(known) if len(known) == len(values) else None


def _multiply_least(values: Sequence[int | None]) -> int | None:
    """Return the least of the values as often as there are values; None if one is unknown."""
    least = _least(values)
    return None if least is None else len(values) * least


def _join(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else " | ".join(values)
