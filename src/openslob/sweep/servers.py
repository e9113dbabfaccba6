"""Where a sweep's points run: a server as it is, or a managed one brought into each of the ways that are asked for.

What a restart can change is changed on the target itself, and put back at the end. What it can't, such as the version,
takes a server of its own, which has a name that follows from the sweep, so that a sweep that goes on finds it again.
Only one of them runs at a time, so that none takes CPU, memory or storage from another's figures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.errors import UsageError
from openslob.record.sweep import SweepRecord, Value, Values, shown_parameter
from openslob.sweep.plan import made_with
from openslob.units import parse_bytes

ALL_CPUS = "all"
_PATHS = ("bin_dir", "data_dir")


@dataclass(frozen=True)
class ServerParameter:
    """A parameter of managed servers that a sweep can vary: its flag's name, its field in `ServerSpec`, a reader."""

    name: str
    field: str
    read: Callable[[str], Value]
    meaning: str

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return "--" + self.name.replace("_", "-")


SERVER_PARAMETERS: Mapping[str, ServerParameter] = {
    each.name: each
    for each in (
        ServerParameter("cache", "cache_bytes", parse_bytes, "Sizes of the cache, such as 64M,1G."),
        ServerParameter("io", "io", str, "direct, buffered or both."),
        ServerParameter("cpus", "cpus", str, "CPUs of the whole server: such as 0 or 0-3 or all."),
        ServerParameter("version", "version", str, "Major versions; each gets a server of its own."),
        ServerParameter("bin_dir", "bin_dir", str, "Directories of other versions' programs, likewise."),
        ServerParameter("block_size", "block_size", parse_bytes, "Block sizes, likewise; programs must have them."),
    )
}


def server_grid(texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[Value, ...]]:
    """Values by field of `ServerSpec` from texts by flag name. UsageError for what is no size or not known."""
    found: dict[str, tuple[Value, ...]] = {}
    for name, values in texts.items():
        if name not in SERVER_PARAMETERS:
            raise UsageError(f"{name} is no parameter of servers", f"known are {', '.join(SERVER_PARAMETERS)}")
        parameter = SERVER_PARAMETERS[name]
        try:
            found[parameter.field] = tuple(dict.fromkeys(parameter.read(text) for text in values))
        except ValueError as error:
            raise UsageError(f"{parameter.flag}: {error}") from error
    return found


def described(target: str) -> dict[str, Value]:
    """A managed target's specification as it is now, or would be made, in plain values. UsageError for a URL."""
    if "://" in target:
        raise UsageError("only a managed server can be restarted with other settings", "name one by --target")
    spec = registry.find_or_new(target).status().spec
    return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(spec).items()}


class SweepServers:
    """The servers of one sweep; `SweepRecord.server` is the target as `described` before it."""

    def __init__(self, target: str, record: SweepRecord, notify: Callable[[str], None]) -> None:
        self._target = target
        self._sweep_id = record.id
        self._before = None if record.server is None else _spec(record.server)
        self._notify = notify
        self._own_names = {self._own_name(made_with(point.server)) for point in record.points}
        self._is_there = registry.find(target) is not None if self._before else False
        self._changed = False

    def at(self, values: Values) -> tuple[Engine, ManagedServer | None]:
        """The server with these settings, running. SlobError when it can't be had."""
        if self._before is None:
            return registry.resolve(self._target)
        spec = self._wanted(self._before, values)
        self._remove_own(keep=spec.name)
        self._notify(f"server {spec.name}: {', '.join(map(' '.join, starmap(shown_parameter, values.items())))}")
        if spec.name == self._before.name:
            self._changed = True
        else:
            self._rest_target()
        server = registry.managed(spec)
        return registry.engine_for(server.start().url), server

    def close(self, finished: bool) -> None:
        """Leave the target as it was. A server of the sweep's own stays, with its data, for one that shall go on."""
        if finished:
            self._remove_own()
        if self._changed and self._before is not None:
            registry.managed(self._before).start()

    def _wanted(self, before: ServerSpec, values: Values) -> ServerSpec:
        given: dict[str, Any] = dict(values)
        if given.get("cpus") == ALL_CPUS:
            given["cpus"] = None
        if given.get("bin_dir"):
            given["bin_dir"] = Path(given["bin_dir"])
        fixed = made_with(given)
        # A target that is not there need not be made, and then be left behind, for some of the values.
        if (self._is_there or not fixed) and all(getattr(before, name) == value for name, value in fixed.items()):
            return replace(before, **given)
        if "version" in fixed:
            # The programs named for the target are those of its own version.
            given.setdefault("bin_dir", None)
        name = self._own_name(made_with(values))
        place = before.data_dir.with_name(f"{before.data_dir.name}-{name}") if before.data_dir else None
        return replace(before, **given, name=name, data_dir=place)

    def _rest_target(self) -> None:
        target = registry.find(self._target)
        if target and target.status().state == "running":
            self._changed = True
            target.stop()

    def _own_name(self, fixed: Values) -> str:
        text = json.dumps([self._sweep_id, dict(fixed)], sort_keys=True)
        return f"sweep-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def _remove_own(self, keep: str = "") -> None:
        for name in self._own_names - {keep}:
            if server := registry.find(name):
                server.destroy()


def _spec(values: Values) -> ServerSpec:
    # Records of sweeps begun before there was a choice of engines do not name one.
    given: dict[str, Any] = {"engine": registry.DEFAULT_ENGINE, **values}
    return ServerSpec(**{**given, **{name: Path(given[name]) for name in _PATHS if given.get(name)}})
