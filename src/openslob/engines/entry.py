"""How an engine makes itself known: an `EngineEntry`, named by entry points of the group ``openslob.engines``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from openslob.engines.base import Engine
from openslob.engines.client_benchmark import ClientProgram
from openslob.engines.managed.base import ManagedServer, ServerSpec
from openslob.errors import UsageError

GROUP = "openslob.engines"
# The managed server that is the default target. The engine whose server has this name is the default engine.
DEFAULT_SERVER = "embedded"


class ManagedServers(Protocol):
    """The functions of an engine's module for managed servers."""

    def managed(self, spec: ServerSpec) -> ManagedServer:
        """Return the server of this name, to be run as specified; nothing is touched yet."""

    def default_spec(self, name: str) -> ServerSpec:
        """Return the specification of a server for which nothing else is asked."""

    def remembered(self, spec: ServerSpec) -> ManagedServer:
        """Return the server that was made by this specification, whether its programs are still there or not."""

    def client_program(self, spec: ServerSpec, url: str) -> ClientProgram:
        """Return the benchmark program that comes with the product. SlobError when there is none."""


@dataclass(frozen=True)
class EngineEntry:
    """One engine. Its modules are given by name and imported when they are needed.

    Each URL scheme that the engine serves is the name of an entry point whose value is this entry.

    Attributes:
        name: What ``--engine`` and the state of managed servers call it.
        adapter: Module with ``connect(url) -> Engine``.
        servers: Module with the functions of `ManagedServers`; None if servers of this engine can't be managed.
        embedded: Name of the managed server that is made on demand; None without one.

    """

    name: str
    adapter: str
    servers: str | None = None
    embedded: str | None = None

    def connect(self, url: str) -> Engine:
        """Return the engine for a target URL; nothing is connected yet."""
        return cast(Engine, import_module(self.adapter).connect(url))

    def managed_servers(self) -> ManagedServers:
        """Return the engine's managed servers. UsageError when it has none."""
        if self.servers is None:
            raise UsageError(f"no server of {self.name!r} can be managed", "start it yourself and give its URL")
        return cast(ManagedServers, import_module(self.servers))
