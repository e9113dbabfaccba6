"""The servers of a sweep: a server as it is, or a managed server with each combination of settings.

Settings that a restart can change are changed on the target itself for now only, and restored at the end: if this
process is killed, whoever starts the target next finds it as it was. The others, such as the version, need a server of
their own; its name follows from the sweep, so that a resumed sweep finds it again. Only one server runs at a time, so
that none takes CPU, memory or storage from another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any

from openslob.core.errors import UsageError
from openslob.engines import registry
from openslob.engines.base import Engine, Hold
from openslob.engines.managed.base import RUNNING, ManagedServer, ServerSpec, require_primary
from openslob.engines.settings import Effect, SettingChange
from openslob.kinds.sweep.plan import keep_made_with
from openslob.kinds.sweep.record import SweepRecord
from openslob.record.varied import Value, Values, in_words

ALL_CPUS = "all"


def describe_target(target: str) -> dict[str, Value]:
    """Return the specification of a managed target as plain values; the default one for a target not yet created.

    UsageError for a URL.
    """
    if "://" in target:
        raise UsageError("only a managed server can be restarted with other settings", "name one by --target")
    spec: ServerSpec = registry.find_or_new(target).status().spec
    return spec.to_record()


def require_target(record: SweepRecord) -> None:
    """Raise UsageError unless the sweep's target is there, or the sweep makes servers of its own in its place.

    Nor can it be a standby: it could not be loaded, and servers that are made like it would be standbys, too.
    """
    if not keep_made_with(record.server_grid, record.effects):
        registry.require_there(record.target)
    if record.target in registry.list_known() and (server := registry.find(record.target)):
        require_primary(server)


def changes_of(values: Values, effects: Mapping[str, str]) -> tuple[SettingChange, ...]:
    """Return the settings of the server's own among a point's values, with how each takes effect."""
    return tuple(SettingChange(name, str(values[name]), Effect(effects[name])) for name in values if name in effects)


class SweepServers:
    """The servers of one sweep. `SweepRecord.server` holds the target's specification before the sweep."""

    def __init__(
        self,
        target: str,
        record: SweepRecord,
        notify: Callable[[str], None],
        adopt: Callable[[Engine], Engine] = lambda engine: engine,
    ) -> None:
        self._target = target
        self._adopt = adopt
        self._sweep_id = record.id
        self._effects = record.effects
        # The target's specification before the sweep; None: it is no managed server.
        self.before: ServerSpec | None = None
        if record.server is not None:
            # Records of sweeps from before there was a choice of engines name none.
            self.before = ServerSpec.from_record({"engine": registry.default_engine(), **record.server})
        self._notify = notify
        self._own_names = {
            self._own_name(fixed) for point in record.points if (fixed := keep_made_with(point.server, record.effects))
        }
        self._target_exists = registry.find(target) is not None if self.before else False
        self._changed = False
        self._claims, self._lock = ExitStack(), ExitStack()

    def claim(self) -> None:
        """Reserve the servers until `close`: else others could use or stop them between two points, or in a restart.

        SlobError when another process uses one.
        """
        for name in (self._target, *sorted(self._own_names)):
            self._claims.enter_context(registry.claim(name, "sweep"))

    def start(self, values: Values, again: bool = False) -> tuple[Engine, ManagedServer | None]:
        """Start the server with these settings, or restart it with them. SlobError when that fails.

        ``again``: restart it even if it runs with them.
        """
        if self.before is None:
            engine, server = registry.resolve(self._target)
            return self._adopt(engine), server
        spec = self.find_spec(self.before, values)
        self._remove_own(keep=spec.name)
        self._notify(f"server {spec.name}: {', '.join(starmap(in_words, values.items()))}")
        is_target = spec.name == self.before.name
        if is_target:
            self._changed = True
            if registry.find(spec.name) is None:
                # What is made here stays: it is made as it is to be afterwards.
                registry.managed(self.before).start()
        else:
            self._stop_target()
        server = registry.managed(spec)
        if again:
            server.stop()
        return registry.engine_for(server.start(for_now=is_target).url), server

    def lock(self, engine: Engine) -> Hold:
        """Take the lock of a target that is no managed server until `close`: for all points, and between them."""
        self._lock.close()
        held = self._lock.enter_context(engine.exclusive("sweep"))
        for line in held.restored:
            self._notify(line)
        return held

    def close(self, finished: bool) -> None:
        """Restore the target, and remove the sweep's own servers if it is finished; otherwise they keep their data."""
        with self._claims, self._lock:
            try:
                if finished:
                    self._remove_own()
            finally:
                self._restore_target()

    def _restore_target(self) -> None:
        target = registry.find(self._target) if self._changed else None
        if target:
            target.start()

    def find_spec(self, before: ServerSpec, values: Values) -> ServerSpec:
        """Return the specification of the server for these settings: the target's, or one of the sweep's own."""
        given: dict[str, Any] = {name: value for name, value in values.items() if name not in self._effects}
        changes = changes_of(values, self._effects)
        if given.get("cpus") == ALL_CPUS:
            given["cpus"] = None
        if given.get("bin_dir"):
            given["bin_dir"] = Path(given["bin_dir"])
        fixed, own = keep_made_with(given), keep_made_with(values, self._effects)
        # A target that does not exist is not created for some of the values only: it would be left behind. Nor is it
        # known what settings it was made with.
        as_target = all(getattr(before, name) == value for name, value in fixed.items()) and own == fixed
        if not own or (self._target_exists and as_target):
            return replace(before, **given).with_settings(changes)
        if "version" in fixed:
            # The target's own bin_dir holds the programs of its version only.
            given.setdefault("bin_dir", None)
        name = self._own_name(own)
        data_dir = before.data_dir.with_name(f"{before.data_dir.name}-{name}") if before.data_dir else None
        return replace(before, **given, name=name, data_dir=data_dir).with_settings(changes)

    def _stop_target(self) -> None:
        target = registry.find(self._target)
        if target and target.status().state == RUNNING:
            self._changed = True
            target.stop()

    def _own_name(self, fixed: Values) -> str:
        text = json.dumps([self._sweep_id, dict(fixed)], sort_keys=True)
        return f"sweep-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def _remove_own(self, keep: str = "") -> None:
        for name in self._own_names - {keep}:
            if server := registry.find(name):
                server.destroy()
