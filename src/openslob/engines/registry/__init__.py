"""Which engine serves which target: engines are found by the entry points of every installed distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError
from openslob.core.places import home
from openslob.core.secrets import redact_url, require_target
from openslob.engines.base import Counting, Engine
from openslob.engines.clients import ClientPrograms
from openslob.engines.cluster.engine import ClusterEngine
from openslob.engines.cluster.instances import ClusterCounting
from openslob.engines.managed.base import RUNNING, Control, ManagedCluster, ManagedServer, ReadySetting, ServerSpec
from openslob.engines.managed.state import ServerState, is_ours, names, spec_from
from openslob.engines.registry.entry import DEFAULT_SERVER, GROUP, EngineEntry, ManagedServers
from openslob.engines.settings import KnownSettings

# The managed server that is the default target.
EMBEDDED = DEFAULT_SERVER
# Returns the specification to make a server with, from its default one.
Creation = Callable[[ServerSpec], ServerSpec]


@cache
def find_entry_points() -> Mapping[str, Sequence[EntryPoint]]:
    """Return the entry points of each URL scheme: one, unless several engines claim it."""
    points: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        points.setdefault(point.name, {})[point.value] = point
    return {scheme: tuple(by_value.values()) for scheme, by_value in points.items()}


def _load(scheme: str) -> EngineEntry:
    """Import the entry of a scheme that is installed. SlobError when that fails, or two engines serve the scheme."""
    point, *others = find_entry_points()[scheme]
    if others:
        claims = " and ".join(f"{claim.value} of {_distribution(claim)}" for claim in (point, *others))
        raise SlobError(f"several installed engines serve {scheme}://: {claims}", "uninstall all but one")
    try:
        entry = point.load()
    except (ImportError, AttributeError) as error:
        why = f"the engine {scheme} of {_distribution(point)} can't be loaded: {error}"
        raise SlobError(why, "repair that installation, or uninstall it") from error
    if not isinstance(entry, EngineEntry):
        raise SlobError(f"{point.value} of {_distribution(point)} is not an EngineEntry", "report it to its authors")
    return entry


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def _engines() -> dict[str, EngineEntry]:
    """Return every installed engine by its name; those that can't be loaded are left out."""
    entries = []
    for scheme in sorted(find_entry_points()):
        with suppress(SlobError):
            entries.append(_load(scheme))
    return {entry.name: entry for entry in entries}


def _require_any() -> None:
    """Raise SlobError when no engine at all is known, which is so for a source tree that was not installed."""
    if not find_entry_points():
        raise SlobError(
            "no engine is installed: Python knows no entry points of openslob",
            "install it (from a source tree: pip install -e .); running the sources alone is not enough",
        )


def engine_for(url: str) -> Engine:
    """Return the engine for a target URL. UsageError when no installed engine takes its scheme."""
    _require_any()
    require_target(url)
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in find_entry_points():
        known = ", ".join(f"{name}://" for name in sorted(find_entry_points()))
        if "://" in url:
            raise UsageError(f"no engine for {scheme}:// is installed", f"there are {known}")
        raise UsageError(f"no engine takes the target {redact_url(url)!r}", f"targets begin with {known}")
    return _load(scheme).connect(url)


def engine_name(target: str) -> str:
    """Return the name of the engine of a target; of a cluster, that of its first instance."""
    first = instances(target)[0]
    if "://" in first:
        engine_for(first)
        return _load(first.partition("://")[0]).name
    return find_or_new(first).status().spec.engine


def client_programs(url: str) -> ClientPrograms | None:
    """Return what is known of the client programs for a target URL; None for a cluster, or if nothing is."""
    require_target(url)
    return _load(url.partition("://")[0]).client_programs() if len(instances(url)) == 1 else None


def require_calibration(target: str) -> None:
    """Raise UsageError if a target's server can't calibrate its storage; no server is started for that."""
    entry = _engines().get(engine_name(target))
    if entry is None or not entry.calibrates:
        raise UsageError(f"{redact_url(target)} has no calibration of its own", "leave out --with")


def workloads(engine: str) -> Sequence[str]:
    """Return the names of the ready-made workloads of an engine; none if there is no such engine."""
    entry = _engines().get(engine)
    programs = entry.client_programs() if entry else None
    return programs.workloads() if programs else ()


def counting(engine: str, facts: object) -> Counting | None:
    """Return what takes differences of an engine's readings again, by what a record keeps of it.

    ``engine`` is the name in the record: that of a scheme, of which one engine may serve several. It is None if no
    installed engine does. SlobError if these can't be such facts.
    """
    entry = _load(engine) if engine in find_entry_points() else None
    if not isinstance(facts, Mapping) or "parts" not in facts:
        return entry.recounting(facts) if entry else None
    parts, targets = facts["parts"], facts.get("targets")
    if not isinstance(parts, Sequence) or not isinstance(targets, Sequence) or len(parts) != len(targets):
        raise SlobError(f"how a cluster of {engine} counted is damaged", "restore the record")
    each = [counting(engine, part) for part in parts]
    return None if None in each else ClusterCounting([part for part in each if part], list(map(str, targets)))


def managed(spec: ServerSpec) -> ManagedServer:
    """Return the managed server of this name, to be run as specified; nothing is changed yet."""
    return _servers_of(spec.engine).managed(spec)


def controls(engine: str) -> Sequence[Control]:
    """Return the ways to run a managed server of an engine in which a crash loses acknowledged commits."""
    return _servers_of(engine).CONTROLS


def ready_settings(engine: str) -> Sequence[ReadySetting]:
    """Return the settings of an engine's managed servers of which `slob lab` knows the loads."""
    return _servers_of(engine).READY_SETTINGS


def default_spec(name: str, engine: str | None = None) -> ServerSpec:
    """Return the specification of a server for which nothing else is asked; without ``engine``, of the default one."""
    spec = _servers_of(engine or default_engine()).default_spec(name)
    cache, log = (
        rehearsal.amount(spec.cache_bytes, rehearsal.LEAST_DEFAULT_CACHE),
        rehearsal.amount(spec.log_bytes, rehearsal.LEAST_LOG),
    )
    return replace(spec, cache_bytes=cache, log_bytes=log)


def find(name: str) -> ManagedServer | None:
    """Return the managed server of this name as it was last specified, whatever its engine; None if there is none."""
    state = ServerState(name).read()
    if state is None:
        return None
    spec = spec_from(state)
    return _servers_of(spec.engine).remembered(spec)


def remove_left(name: str, made_for: str) -> None:
    """Destroy the server that a killed command left which had made it for itself. UsageError for one of the user's."""
    server = find(name)
    if server is None:
        return
    if server.status().spec.made_for != made_for:
        raise UsageError(
            f"slob {made_for} makes and destroys a server of the name {name}, and there is one that it did not make",
            f"if nobody needs its data, remove it first: slob server destroy {name}",
        )
    server.destroy()


def remove_every_left(made_for: str) -> None:
    """Destroy all servers that killed commands left which had made them for themselves, but those that are in use."""
    for server in every_server():
        if not isinstance(server, SlobError) and server.status().spec.made_for == made_for:
            with suppress(SlobError):
                server.destroy()


def salvage(name: str) -> ManagedServer:
    """Return the server of this name whose state is damaged, to be destroyed; its processes are ended.

    Where the state does not even say the engine, the server may be one of any.
    """
    state, server = ServerState(name), None
    said = state.salvage()
    data_dir = Path(said["data_dir"]) if is_ours(Path(said.get("data_dir", "")), name) else None
    for engine in [said["engine"]] if said.get("engine") in managed_engines() else managed_engines():
        spec = replace(default_spec(name, engine), data_dir=data_dir, standby_of=said.get("standby_of"))
        state.replace(spec)
        server = _servers_of(engine).remembered(spec)
        server.stop()
    if server is None:
        raise SlobError("no engine is installed whose servers can be managed", "install one")
    return server


@contextmanager
def claim(target: str, purpose: str) -> Iterator[None]:
    """Reserve the managed servers that a target names for this process. SlobError when another process has one."""
    with ExitStack() as stack:
        for instance in sorted(instances(target)):
            if "://" not in instance:
                stack.enter_context(ServerState(instance).reserve(purpose))
        yield


def managed_engines() -> list[str]:
    """Return the names of the engines whose servers can be managed, the default one first."""
    engines = [entry for entry in _engines().values() if entry.servers]
    return [entry.name for entry in sorted(engines, key=lambda entry: (entry.embedded != EMBEDDED, entry.name))]


def standby_engines() -> list[str]:
    """Return the names of the engines of which slob makes standbys, the default one first."""
    return [name for name in managed_engines() if _engines()[name].standbys]


def cluster_engines() -> list[str]:
    """Return the names of the engines of which slob makes clusters, the default one first."""
    return [name for name in managed_engines() if _engines()[name].clusters]


def cluster(specs: Sequence[ServerSpec]) -> ManagedCluster:
    """Return a cluster of managed servers of one engine to be made by these specifications."""
    return _engines()[specs[0].engine].cluster(specs)


def default_engine() -> str:
    """Return the name of the engine of new servers; empty when no engine is installed."""
    return next(iter(managed_engines()), "")


def name_embedded(engine: str) -> str:
    """Return the name of the engine's server that is created on demand. UsageError when it has none."""
    _servers_of(engine)
    name = _engines()[engine].embedded
    if name is None:
        raise UsageError(f"no server of {engine!r} is created on demand", "create one: slob server start NAME --engine")
    return name


def engine_on_demand(name: str) -> str | None:
    """Return the engine of which a server of this name is created on demand; None for all other names."""
    return next((entry.name for entry in _engines().values() if entry.embedded == name), None)


def servers_place() -> Path:
    """Return the directory below which managed servers keep their data; it need not exist yet."""
    return home()


def list_known() -> list[str]:
    """Return the names of all managed servers, sorted."""
    return names()


def every_server() -> Iterator[ManagedServer | SlobError]:
    """Yield all managed servers by name; the error for one whose state is damaged."""
    for name in list_known():
        try:
            server = find(name)
        except SlobError as error:
            yield SlobError(f"server {name}: {error.what}", error.remedy)
        else:
            # None: it was destroyed at this moment.
            yield from [server] if server else []


def resolve(target: str, create: Creation | None = None) -> tuple[Engine, ManagedServer | None]:
    """Return the engine for a target, and its managed server if it is one, which is started when it is down.

    A target is a URL or the name of a managed server. Several targets, separated by commas, are the instances of one
    cluster; none of them is then treated as a managed server. ``create`` gets the default specification of a server
    that is created on demand and not there yet, and returns the one to make it with; without ``create`` none is made.
    UsageError when there is no such server.
    """
    return _resolve(target, lambda name: _start(name, create))


def resolve_as_is(target: str) -> Engine:
    """Return the engine for a target as `resolve` does, but start nothing: UsageError for a server that is down."""
    return _resolve(target, _require_running)[0]


@contextmanager
def known_settings(target: str, made_with: Mapping[str, Any] | None = None) -> Iterator[KnownSettings]:
    """Give the settings that can be changed on a target during the block, and how each takes effect.

    Of a managed server, which is neither started nor changed, these are all that its programs have; ``made_with`` are
    fields of its `ServerSpec` with which another server is made in its place, such as another ``version``. Of every
    other target they are those that a session can change.
    """
    if "://" in target or len(instances(target)) > 1:
        with resolve(target)[0].known_settings() as known:
            yield known
    else:
        spec = replace(find_or_new(target).status().spec, **(made_with or {}))
        with managed(spec).known_settings() as known:
            yield known


def _resolve(target: str, server_of: Callable[[str], tuple[ManagedServer, str]]) -> tuple[Engine, ManagedServer | None]:
    """Return engine and managed server; ``server_of`` returns the managed server of a name, and its URL."""
    require_target(target)
    parts = instances(target)
    if len(parts) > 1:
        return ClusterEngine([_resolve(part, server_of)[0] for part in parts]), None
    if "://" in target:
        return engine_for(target), None
    server, url = server_of(target)
    return engine_for(url), server


def _start(name: str, create: Creation | None) -> tuple[ManagedServer, str]:
    server = find(name) or (managed(create(_spec_on_demand(name))) if create else require_server(name))
    return server, server.start().url


def _require_running(name: str) -> tuple[ManagedServer, str]:
    server = require_server(name)
    status = server.status()
    if status.state != RUNNING:
        raise UsageError(
            f"the server {name} is {status.state}, and this command changes nothing",
            f"`slob server start {name}` starts it",
        )
    return server, status.url


def instances(target: str) -> list[str]:
    """Return the parts of a comma-separated target.

    A URL may contain commas: after one, only another URL or the name of a managed server begins another instance.
    """
    parts: list[str] = []
    for part in target.split(","):
        if parts and "://" in parts[-1] and "://" not in part and part not in list_known():
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def require_there(target: str) -> None:
    """Raise UsageError, which says how to get one, unless all managed servers that ``target`` names are there."""
    require_target(target)
    for instance in instances(target):
        if "://" not in instance:
            require_server(instance)


def require_server(name: str) -> ManagedServer:
    """Return the managed server of this name. UsageError when there is none; it says how to get one."""
    if server := find(name):
        return server
    spec = _spec_on_demand(name)
    engine = "" if spec.engine == default_engine() else f" --engine {spec.engine}"
    raise UsageError(
        f"there is no server {name!r} yet, and this command creates none",
        f"`slob load{engine}` creates it with data, `slob demo{engine}` shows all steps, --target URL names your own",
    )


def find_or_new(name: str) -> ManagedServer:
    """Return the managed server of this name, or one that is created on demand. UsageError when there is no such name.

    Nothing is changed yet.
    """
    return find(name) or managed(_spec_on_demand(name))


def _spec_on_demand(name: str) -> ServerSpec:
    """Return the default specification of the server of this name that is created on demand. UsageError without one."""
    engine = engine_on_demand(name)
    if engine is None:
        there = ", ".join(sorted({*list_known(), *(entry.embedded for entry in _engines().values() if entry.embedded)}))
        raise UsageError(f"there is no server {name!r}", f"give a URL or the name of a managed server ({there})")
    return default_spec(name, engine)


def _servers_of(engine: str) -> ManagedServers:
    _require_any()
    engines = _engines()
    if engine not in engines or not engines[engine].servers:
        known = ", ".join(sorted(managed_engines()))
        raise UsageError(f"no server of {engine!r} can be managed", f"choose one of {known}")
    return engines[engine].managed_servers()
