"""The servers of a test: who makes the outage, who takes over, and how a pair is whole again for the next cycle."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from string import ascii_lowercase
from typing import Protocol

from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedCluster, ManagedServer, ServerSpec

PURPOSE = "failover"
# Servers that are made for a test: their cache holds the tables, so that commits are what is measured.
_NODE = "failover-{}"
NAMES = (_NODE.format("a"), _NODE.format("b"))
_CACHE_BYTES, _LOG_BYTES = 64 * MIB, 128 * MIB
# How often it is looked whether the user's command has ended, or the test was stopped.
_POLL_S = 0.05
_ENDING_S = 5.0


class Servers(Protocol):
    """The servers of a test. The first takes writes; the others are its copies, or take writes, too (``spread``).

    ``makes_outage``: the test makes it, rather than somebody else. ``roles`` say in words who makes it and who ends it.
    """

    spread: bool
    makes_outage: bool
    roles: Mapping[str, str]

    @property
    def names(self) -> Sequence[str]:
        """The servers as messages name them, without passwords."""

    def engines(self) -> list[Engine]:
        """Return the engines of the servers, in their order."""

    def cause(self) -> None:
        """Make the outage; it begins when this is called."""

    def take_over(self) -> int:
        """Let another server take over; return when it took writes, in ns of the monotonic clock."""

    def mend(self) -> None:
        """Make the servers whole again after a cycle, and put the one that takes writes first."""

    def synchronous(self, on: bool) -> None:
        """Let commits wait for a copy, or no longer."""


class ManagedPair:
    """A managed server and its standby. The server is killed, the standby promoted. Implements `Servers`."""

    spread = False
    makes_outage = True

    def __init__(self, primary: ManagedServer, standby: ManagedServer) -> None:
        self._primary, self._standby = primary, standby
        self._waits = False
        self.roles: Mapping[str, str] = {
            "cause": "all processes of the primary killed at one moment (SIGKILL)",
            "take_over": "promotion of the standby by slob",
        }

    @property
    def names(self) -> Sequence[str]:
        return [self._primary.name, self._standby.name]

    def engines(self) -> list[Engine]:
        return [registry.engine_for(server.status().url) for server in (self._primary, self._standby)]

    def cause(self) -> None:
        self._primary.kill()

    def take_over(self) -> int:
        return self._standby.promote()

    def mend(self) -> None:
        """Make the old primary again, as the standby of the new one: what it had alone is gone."""
        old, new = self._primary, self._standby
        spec = replace(old.status().spec, standby_of=new.name)
        old.destroy()
        again = registry.managed(spec)
        self._primary, self._standby = new, again
        again.start()

    def synchronous(self, on: bool) -> None:
        self._waits = on or self._waits
        self._primary.await_copies(on)

    def release(self) -> None:
        """Let commits wait for no standby any more, if this test let them: the next standby may be gone for long."""
        if self._waits:
            with suppress(SlobError):  # it may be down
                self.synchronous(False)


class ManagedNodes:
    """The nodes of a managed cluster, each of which takes writes. One is killed, others go on. Implements `Servers`."""

    spread = True
    makes_outage = True

    def __init__(self, cluster: ManagedCluster) -> None:
        self._cluster = cluster
        self._nodes = list(cluster.nodes)
        self.roles: Mapping[str, str] = {
            "cause": "all processes of a node killed at one moment (SIGKILL)",
            "take_over": "the other nodes, by themselves",
        }

    @property
    def names(self) -> Sequence[str]:
        """The names, that of the node first that is killed next."""
        return [node.name for node in self._nodes]

    def engines(self) -> list[Engine]:
        return [registry.engine_for(node.status().url) for node in self._nodes]

    def cause(self) -> None:
        self._nodes[0].kill()

    def take_over(self) -> int:
        """Wait until one of the others goes on without it."""
        return self._cluster.await_others(self._nodes[0].name)

    def mend(self) -> None:
        """Make the killed node again; the next one is killed then."""
        self._cluster.mend()
        self._nodes = [*self._nodes[1:], self._nodes[0]]

    def synchronous(self, on: bool) -> None:
        """Refuse: the commits of a cluster always wait for its nodes."""
        if on:
            raise UsageError("commits of a cluster wait for its other nodes in any case", "leave out --synchronous")


class ForeignServers:
    """Servers of the user's own: a command of theirs makes the outage, or nobody does. Implements `Servers`."""

    def __init__(self, targets: Sequence[str], command: UserCommand | None, repair: UserCommand | None) -> None:
        self._targets, self._command, self._repair = list(targets), command, repair
        self.makes_outage = command is not None
        said = f"the command {command.text}" if command else "somebody else"
        self.roles: Mapping[str, str] = {"cause": said, "take_over": said}
        self.spread = False
        self._sort()

    @property
    def names(self) -> Sequence[str]:
        return [engine.target for engine in self.engines()]

    def engines(self) -> list[Engine]:
        return [registry.resolve_as_is(target) for target in self._targets]

    def _sort(self) -> None:
        """Put those first that take writes."""
        read_only = {target: registry.resolve_as_is(target).facts().read_only for target in self._targets}
        self._targets.sort(key=lambda target: read_only[target])
        self.spread = list(read_only.values()).count(False) > 1
        if all(read_only.values()):
            raise UsageError("none of the servers takes writes", "name the primary, too")

    def cause(self) -> None:
        """Run the user's command, whose end is not waited for here."""
        if self._command:
            self._command.begin()

    def take_over(self) -> int:
        """Wait until the command has done its work."""
        if self._command:
            self._command.end()
        return time.monotonic_ns()

    def mend(self) -> None:
        """Run the command that repairs the servers; put the one first that takes writes."""
        if self._repair:
            self._repair.run()
        self._sort()

    def synchronous(self, on: bool) -> None:
        """Refuse: how these servers replicate is their owner's business."""
        if on:
            raise UsageError("slob sets synchronous replication on managed servers alone", "set it on your servers")


class UserCommand:
    """A command of the user's, without a shell. What it prints goes to this program's standard error."""

    def __init__(self, text: str, interrupt: Interrupt) -> None:
        self.text = text
        self._interrupt = interrupt
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"the command {text!r} can't be read: {error}", "quote it as in a shell") from error
        if not self._words:
            raise UsageError("the command is empty", "give a program with its arguments")

    def run(self) -> None:
        """Run it to its end."""
        self.begin()
        self.end()

    def begin(self) -> None:
        """Start it. SlobError when there is no such program."""
        try:
            self._process = subprocess.Popen(self._words, stdin=subprocess.DEVNULL, stdout=2, start_new_session=True)
        except OSError as error:
            why = f"the command {self._words[0]} can't be run: {error.strerror}"
            raise SlobError(why, "name a program that this user may run") from error

    def end(self) -> None:
        """Wait for its end; it is ended when the test is stopped. SlobError when it fails."""
        process = self._process
        if process is None:
            return
        self._process = None
        while process.poll() is None:
            if self._interrupt.stop.wait(_POLL_S):
                process.terminate()
                try:
                    process.wait(_ENDING_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                raise SlobError(f"the command {self.text} was ended, since the test was stopped")
        if process.returncode:
            raise SlobError(f"the command {self.text} failed with exit code {process.returncode}")


@contextmanager
def fresh_pair(engine: str, tell: Callable[[str], None]) -> Iterator[ManagedPair]:
    """Create a server with a standby for the block, and destroy both with their data at its end.

    Servers that a killed test left behind are destroyed first. SlobError if another test uses them.
    """
    if engine not in registry.standby_engines():
        known = ", ".join(registry.standby_engines())
        raise UsageError(
            f"slob makes standbys of {known} servers, not of {engine}",
            "replicate servers of your own, and name them by URL: --target URL,URL --on-outage COMMAND",
        )
    with _make_servers(NAMES, tell):
        primary = registry.managed(_spec(NAMES[0], engine))
        primary.start()
        standby = registry.managed(replace(_spec(NAMES[1], engine), standby_of=primary.name))
        standby.start()
        yield ManagedPair(primary, standby)


@contextmanager
def fresh_cluster(engine: str, nodes: int, tell: Callable[[str], None]) -> Iterator[ManagedNodes]:
    """Create a cluster for the block, and destroy it at its end, as `fresh_pair` does a pair."""
    if engine not in registry.cluster_engines():
        known = ", ".join(registry.cluster_engines())
        raise UsageError(f"slob makes no clusters of {engine} servers", f"it makes those of {known}, by --engine")
    names = [_NODE.format(letter) for letter in ascii_lowercase[:nodes]]
    with _make_servers(names, tell):
        cluster = registry.cluster([_spec(name, engine) for name in names])
        cluster.start()
        yield ManagedNodes(cluster)


@contextmanager
def _make_servers(names: Sequence[str], tell: Callable[[str], None]) -> Iterator[None]:
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(registry.claim(name, PURPOSE))
        # A standby is destroyed before its primary: whichever it is by then, each must be found by its name.
        _destroy(names)
        stack.callback(_destroy, names)
        tell(f"creating the servers {', '.join(names)}, which are destroyed afterwards")
        yield


def _spec(name: str, engine: str) -> ServerSpec:
    spec = registry.default_spec(name, engine)
    return replace(spec, cache_bytes=_CACHE_BYTES, log_bytes=_LOG_BYTES, made_for=PURPOSE)


def _destroy(names: Sequence[str]) -> None:
    found = [server for name in names if (server := registry.find(name))]
    # A test that was killed may have made more.
    others = [each for each in registry.every_server() if not isinstance(each, SlobError) and each.name not in names]
    found += [each for each in others if each.status().spec.made_for == PURPOSE]
    for server in sorted(found, key=lambda each: each.status().spec.standby_of is None):
        registry.remove_left(server.name, PURPOSE)


def pair_of(names: Sequence[str]) -> tuple[ManagedServer, ManagedServer]:
    """Return the primary and the standby that the names are of, in any order. UsageError if they are no such pair."""
    servers = [registry.require_server(name) for name in names]
    if len(servers) != 2:
        raise UsageError(f"{', '.join(names)}: a failover has one primary and one standby", "name two managed servers")
    primary, standby = sorted(servers, key=lambda server: server.status().spec.standby_of is not None)
    if standby.status().spec.standby_of != primary.name:
        why = f"neither of {' and '.join(names)} is a standby of the other"
        raise UsageError(why, f"slob server start {names[1]} --standby-of {names[0]} creates one")
    return primary, standby


@contextmanager
def use_pair(names: Sequence[str]) -> Iterator[ManagedPair]:
    """Use a managed server and its standby, by name, for the block. UsageError if they are no such pair."""
    primary, standby = pair_of(names)
    with ExitStack() as stack:
        for name in sorted(names):
            stack.enter_context(registry.claim(name, PURPOSE))
        for server in (primary, standby):
            server.start()
        pair = ManagedPair(primary, standby)
        stack.callback(pair.release)
        yield pair


@contextmanager
def open_servers(
    targets: Sequence[str],
    fresh: tuple[str | None, int | None],
    commands: tuple[str | None, str | None],
    interrupt: Interrupt,
    tell: Callable[[str], None],
) -> Iterator[tuple[Servers, bool]]:
    """Provide the servers for the block; the second value says that they are managed ones that stay.

    Without ``targets`` they are made: ``fresh`` names their engine and the nodes of a cluster, if it is to be one.
    ``commands`` make the outage of servers by URL and repair them.
    """
    engine, nodes = fresh
    if nodes:
        with fresh_cluster(engine or registry.cluster_engines()[0], nodes, tell) as cluster:
            yield cluster, False
    elif not targets:
        with fresh_pair(engine or registry.default_engine(), tell) as made:
            yield made, False
    elif are_managed(targets):
        with use_pair(targets) as named:
            yield named, True
    else:
        outage, repair = (UserCommand(text, interrupt) if text else None for text in commands)
        yield ForeignServers(targets, outage, repair), False


def are_managed(targets: Sequence[str]) -> bool:
    """Return whether targets are names of managed servers."""
    return all("://" not in each for each in targets)


def await_copies(tables_there: Sequence[Engine], goal_s: float) -> None:
    """Wait until the tables of the test have reached all copies. SlobError if they do not within so many seconds."""
    deadline = time.monotonic() + goal_s
    for engine in tables_there:
        while True:
            try:
                tables = engine.ledger()
                if tables is None or tables.last_heartbeat() is not None:
                    break
            except SlobError as error:
                missing: SlobError | None = error
            else:
                missing = None
            if time.monotonic() > deadline:
                raise SlobError(
                    f"the tables of the test did not reach {engine.target}" + (f": {missing.what}" if missing else ""),
                    "see whether it is a copy, and whether its replication goes on",
                )
            time.sleep(_POLL_S)
