"""The server's own settings that runs are made with: asked of its catalogue, tried, and kept apart from parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import product
from types import MappingProxyType
from typing import Any

from openslob.config.parameters import parameters
from openslob.config.resolve import DEFAULT
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ServerSpec, require_primary
from openslob.engines.settings import Effect, ServerSetting, SettingChange
from openslob.record.varied import Value

Texts = Mapping[str, Sequence[str]]
# Values of the server's own parameters that decide which programs run.
_PROGRAMS = ("version", "bin_dir")


@dataclass(frozen=True)
class SettingsGrid:
    """The values of settings by name, how each takes effect, and which parameter of a workload sets it, too.

    That parameter must have the value that leaves the setting to the server.
    """

    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    effects: Mapping[str, Effect] = field(default_factory=dict)
    parameters: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[SettingChange, ...]:
        """The settings with their first values."""
        return tuple(SettingChange(name, str(values[0]), self.effects[name]) for name, values in self.values.items())


NO_SETTINGS = SettingsGrid()


def ask_settings(target: str, texts: Texts, servers: Mapping[str, Sequence[Value]]) -> SettingsGrid:
    """Return the settings of ``texts`` as the target's servers know them, with each value tried on each of them.

    ``servers`` are the values of server parameters by field. UsageError, in one line, for a setting that a server does
    not have, or that can't be changed on it, and for a value that it refuses.
    """
    if not texts:
        return NO_SETTINGS
    found: dict[str, ServerSetting] = {}
    values = assume_settings(texts).values
    for made_with in _programs(servers):
        with registry.known_settings(target, made_with) as known:
            for name, several in values.items():
                found[name] = setting = known.find(name)
                for value in several:
                    known.require(setting, str(value))
    _require_own_names(found)
    return SettingsGrid(
        {setting.name: values[name] for name, setting in found.items()},
        {setting.name: setting.effect for setting in found.values()},
        {setting.name: setting.parameter for setting in found.values() if setting.parameter},
    )


def assume_settings(texts: Texts) -> SettingsGrid:
    """Return settings of ``texts`` before any server was asked, as if sessions could change all of them."""
    values = {name: tuple(dict.fromkeys(rehearsal.ends(several))) for name, several in texts.items()}
    return SettingsGrid(values, dict.fromkeys(values, Effect.SESSION))


def ask_of_run(target: str, texts: Texts) -> SettingsGrid:
    """Return the settings of a single run on a target, each with its one value, which was tried.

    UsageError, in one line, as `ask_settings` raises it, and for what can't be had by a run on this server.
    """
    for name, several in texts.items():
        if len(several) > 1:
            shown = ",".join(several)
            raise UsageError(
                f"--set {name}={shown} has several values", f"slob sweep --set {name}={shown} compares them"
            )
    if texts:
        registry.require_there(target)
    found = ask_settings(target, texts, {})
    for name, effect in found.effects.items():
        if effect is Effect.NEW_SERVER:
            wanted = f"--set {name}={found.values[name][0]}"
            raise UsageError(f"{name} is fixed when a server is created", f"slob sweep {wanted} creates one for it")
    return found


def _programs(servers: Mapping[str, Sequence[Value]]) -> Iterator[Mapping[str, Value]]:
    varied = {name: servers[name] for name in _PROGRAMS if name in servers}
    for combination in product(*varied.values()):
        yield dict(zip(varied, combination, strict=True))


def _require_own_names(found: Mapping[str, ServerSetting]) -> None:
    """Refuse settings with the name of a parameter: records and reports could not tell them apart."""
    ours = {*parameters(), *Workload.model_fields, *(each.name for each in fields(ServerSpec)), "product", "host"}
    if taken := next((each.name for each in found.values() if each.name in ours), None):
        raise UsageError(f"{taken} is a parameter of slob, too, which a sweep could not tell from it", "leave it out")


def give_way(
    workload: Workload,
    sources: Mapping[str, str],
    settings: SettingsGrid,
    varied: Mapping[str, tuple[Any, ...]] = MappingProxyType({}),
) -> tuple[Workload, tuple[str, ...]]:
    """Return the workload with parameters that would set one of the settings, too, leaving it to the server.

    A notice says so for each. ``sources`` are as in `Resolution`, ``varied`` has the values of parameters with several.
    UsageError for a parameter that was given another value.
    """
    notices = []
    for name, (parameter, left) in settings.parameters.items():
        slob = parameters()[parameter].slob
        values = varied.get(parameter, (getattr(workload, parameter),))
        if all(str(value) == left for value in values):
            continue
        if sources.get(parameter, DEFAULT) != DEFAULT:
            raise UsageError(f"{slob} sets {name}, too", f"give one of them: with --set {name} use {slob}={left}")
        workload = workload.changed(**{parameter: left})
        notices.append(f"{slob} is {left}: {name} is set instead")
    return workload, tuple(notices)


@contextmanager
def provide_target(target: str, changes: Sequence[SettingChange], notify: Callable[[str], None]) -> Iterator[Engine]:
    """Give the engine of a target for a run with these settings.

    A managed server is restarted with those that need it, and is as it was at the end of the block; if this process is
    killed, the next command that uses it restarts it so. SlobError when another process uses it, UsageError for a
    standby.
    """
    restarting = [f"{each.name}={each.value}" for each in changes if each.effect is Effect.RESTART]
    if not restarting:
        yield registry.resolve(target)[0]
        return
    with registry.claim(target, "run"):
        server = registry.require_server(target)
        require_primary(server)
        before = server.status().spec
        notify(f"restarting {target} with {', '.join(restarting)}; afterwards it is restarted as it was")
        try:
            status = registry.managed(before.with_settings(changes)).start(for_now=True)
            yield registry.engine_for(status.url)
        finally:
            registry.managed(before).start()
