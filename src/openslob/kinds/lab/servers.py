"""The servers of a lab: made for it, destroyed at its end, and only one of them running at a time.

Settings that a restart can change share a server and its data for the loads that write, and another one for those that
only read: after updates, whoever reads a block first also clears up in it, and would pay for both sides. Where a value
needs a new server, both sides of its pairs have servers of their own: so both are loaded and aged in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from openslob.core.errors import SlobError, UsageError
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.engines.settings import Effect, SettingChange
from openslob.kinds.lab.loads import reading_and_writing, writes
from openslob.kinds.lab.record import LabArm

PURPOSE = "lab"
READS = f"{PURPOSE}-reads"


def template(target: str, cache_bytes: int) -> ServerSpec:
    """Return what the servers of a lab are made like: the managed server that the target names, with another cache.

    UsageError for any other target: a lab restarts servers.
    """
    if "://" in target or "," in target:
        raise UsageError(
            "a lab restarts servers, and never one of yours: it makes its own, like a managed server",
            "name a managed server by --target, or leave --target out",
        )
    like = registry.find_or_new(target).status().spec
    return replace(
        like, name=PURPOSE, cache_bytes=cache_bytes, huge_pages=False, standby_of=None, port=None, made_for=PURPOSE,
        data_dir=like.data_dir.with_name(f"{like.data_dir.name}-lab") if like.data_dir else None,
    )  # fmt: skip


def changes_of(arm: LabArm) -> list[SettingChange]:
    """Return the settings of the server's own that an arm has.

    What a session could set is set for all of the server's: both sides then run the same statements.
    """
    effect = Effect.NEW_SERVER if arm.effect == Effect.NEW_SERVER else Effect.RESTART
    return [SettingChange(name, value, effect) for name, value in arm.settings.items()]


def needs_new(of_setting: Iterable[LabArm]) -> bool:
    """Return whether a value of a setting needs a new server, which both sides of its pairs then have."""
    return any(each.effect == Effect.NEW_SERVER for each in of_setting)


def groups(of_setting: Iterable[LabArm], loads: Collection[str]) -> list[tuple[str, ...]]:
    """Return the loads that one start of a server runs, group by group, in the order of the loads."""
    apart = reading_and_writing(loads)
    return [tuple(load for group in apart for load in group)] if needs_new(of_setting) and apart else apart


class LabServers:
    """Starts and stops the servers of one lab."""

    def __init__(self, like: ServerSpec, arms: Sequence[LabArm]) -> None:
        self._like = like
        self._numbers = {setting: number for number, setting in enumerate(dict.fromkeys(arm.setting for arm in arms))}
        self._of_setting = {setting: [arm for arm in arms if arm.setting == setting] for setting in self._numbers}
        self._running: ManagedServer | None = None

    def spec(self, setting: str, arm: LabArm | None, loads: Sequence[str]) -> ServerSpec:
        """Return the specification of the server of one side for loads: with the value of ``arm``, or without it."""
        of_setting = self._of_setting[setting]
        name = PURPOSE if writes(loads) else READS
        if needs_new(of_setting):
            name = f"{PURPOSE}-{self._numbers[setting]}-{of_setting.index(arm) + 1 if arm else 0}"
        data_dir = self._like.data_dir
        placed = replace(
            self._like, name=name, data_dir=data_dir.with_name(f"{data_dir.name}-{name}") if data_dir else None
        )
        if arm is None:
            return placed
        return replace(placed, **arm.server).with_settings(changes_of(arm))

    @property
    def names(self) -> list[str]:
        """The names of all servers."""
        sides = [
            (setting, arm, group)
            for setting, arms in self._of_setting.items()
            for arm in (None, *arms)
            for group in groups(arms, {load for each in arms for load in each.every_load})
        ]
        return list(dict.fromkeys(self.spec(*side).name for side in sides))

    def start(self, setting: str, arm: LabArm | None, loads: Sequence[str]) -> tuple[Engine, ManagedServer]:
        """Start a side's server; no other one runs. SlobError when that fails."""
        self.stop()
        self._running = server = registry.managed(self.spec(setting, arm, loads))
        return registry.engine_for(server.start().url), server

    def stop(self) -> None:
        """Stop the server that runs, if one does."""
        if self._running:
            self._running.stop()
        self._running = None


@contextmanager
def lab_servers(like: ServerSpec, arms: Sequence[LabArm], notify: Callable[[str], None]) -> Iterator[LabServers]:
    """Provide the servers during the block, not yet made, and destroy them with their data at its end.

    Servers that a killed lab left behind, whatever it compared, are destroyed first. SlobError if another lab uses
    these.
    """
    servers = LabServers(like, arms)
    with ExitStack() as stack:
        for name in servers.names:
            stack.enter_context(registry.claim(name, PURPOSE))
            registry.remove_left(name, PURPOSE)
            stack.callback(_destroy, name, notify)
        registry.remove_every_left(PURPOSE)
        yield servers


def _destroy(name: str, notify: Callable[[str], None]) -> None:
    """Destroy a server if it was made. One that can't be removed does not keep the others from it."""
    try:
        registry.remove_left(name, PURPOSE)
    except SlobError as error:
        notify(f"the server {name} of the lab is left: {error}")
