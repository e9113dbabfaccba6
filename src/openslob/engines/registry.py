"""Which engine serves which target. A new engine adds a line here and nothing elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from openslob.engines.base import Engine
from openslob.engines.client_benchmark import ClientProgram
from openslob.engines.cluster.engine import ClusterEngine
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.engines.managed.state import ServerState, claimed, home, names, spec_from
from openslob.errors import UsageError

# scheme of a target URL -> module with `connect(url) -> Engine`
_SCHEMES = {
    "mariadb": "openslob.engines.mysql.adapter",
    "mysql": "openslob.engines.mysql.adapter",
    "postgresql": "openslob.engines.postgresql.adapter",
    "postgres": "openslob.engines.postgresql.adapter",
}
# --engine -> module that is a `_Managing`
_MANAGED = {"mariadb": "openslob.engines.mysql.server", "postgresql": "openslob.engines.postgresql.server"}

DEFAULT_ENGINE = "postgresql"
# The managed servers that are made on demand, by engine.
EMBEDDED = "embedded"
_ON_DEMAND = {DEFAULT_ENGINE: EMBEDDED, "mariadb": "embedded-mariadb"}


class _Managing(Protocol):
    """The functions of an engine's module for managed servers."""

    def managed(self, spec: ServerSpec) -> ManagedServer: ...

    def default_spec(self, name: str) -> ServerSpec: ...

    def remembered(self, spec: ServerSpec) -> ManagedServer: ...

    def client_program(self, spec: ServerSpec, url: str) -> ClientProgram: ...


def engine_for(url: str) -> Engine:
    """The engine for a target URL. UsageError when no engine takes its scheme."""
    scheme = url.partition("://")[0]
    if "://" not in url or scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in sorted(_SCHEMES))
        raise UsageError(f"no engine takes the target {url.partition('@')[2] or url!r}", f"known are {known}")
    return cast(Engine, import_module(_SCHEMES[scheme]).connect(url))


def managed(spec: ServerSpec) -> ManagedServer:
    """The managed server of this name, to be run as specified; nothing is touched yet."""
    return _managing(spec.engine).managed(spec)


def default_spec(name: str, engine: str = DEFAULT_ENGINE) -> ServerSpec:
    """A managed server as it is made when nothing else is asked for."""
    return _managing(engine).default_spec(name)


def client_program(server: ManagedServer) -> ClientProgram:
    """The benchmark program that comes with a managed server's product. SlobError when there is none here."""
    status = server.status()
    return _managing(status.spec.engine).client_program(status.spec, status.url)


def find(name: str) -> ManagedServer | None:
    """The managed server of this name as it was last asked for, whatever its engine; None if there is none."""
    state = ServerState(name).read()
    if state is None:
        return None
    spec = spec_from(state)
    return _managing(spec.engine).remembered(spec)


def claim(name: str) -> AbstractContextManager[None]:
    """Keep a managed server to this process for the block. SlobError when another has it."""
    return claimed(name)


def managed_engines() -> list[str]:
    """Names of the engines whose servers can be managed, the default one first."""
    return sorted(_MANAGED, key=lambda engine: (engine != DEFAULT_ENGINE, engine))


def embedded(engine: str) -> str:
    """The name of the engine's server that is made on demand. UsageError when it has none."""
    _managing(engine)
    return _ON_DEMAND[engine]


def engine_on_demand(name: str) -> str | None:
    """The engine of which a server of this name is made on demand; None for all other names."""
    return next((engine for engine, own in _ON_DEMAND.items() if own == name), None)


def servers_place() -> Path:
    """The directory below which managed servers keep their data; it need not exist yet."""
    return home()


def known() -> list[str]:
    """Names of all managed servers, sorted."""
    return names()


def resolve(target: str) -> tuple[Engine, ManagedServer | None]:
    """The engine for a target: a URL, or the name of a managed server, which is started if need be.

    Those made on demand are made with defaults when they are not there. Several, separated by commas, are the instances
    of one cluster; none of them is then treated as a managed server. UsageError when nothing has that name.
    """
    instances = _instances(target)
    if len(instances) > 1:
        return ClusterEngine([resolve(instance)[0] for instance in instances]), None
    if "://" in target:
        return engine_for(target), None
    server = find_or_new(target)
    return engine_for(server.start().url), server


def _instances(target: str) -> list[str]:
    """The parts of a comma-separated target.

    A URL may hold commas itself: only another URL or the name of a managed server behind it is another instance.
    """
    found: list[str] = []
    for part in target.split(","):
        if found and "://" in found[-1] and "://" not in part and part not in known():
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def find_or_new(name: str) -> ManagedServer:
    """The managed server of this name, or one made on demand, still to be made. UsageError when there is no such name.

    Nothing is touched yet.
    """
    if server := find(name):
        return server
    engine = engine_on_demand(name)
    if engine is None:
        there = ", ".join(sorted({*known(), *_ON_DEMAND.values()}))
        raise UsageError(f"there is no server {name!r}", f"give a URL or the name of a managed server ({there})")
    return managed(default_spec(name, engine))


def _managing(engine: str) -> _Managing:
    if engine not in _MANAGED:
        raise UsageError(f"no server of {engine!r} can be managed", f"known are {', '.join(sorted(_MANAGED))}")
    return cast(_Managing, import_module(_MANAGED[engine]))
