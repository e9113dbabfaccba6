"""How an engine makes itself known: an `EngineEntry`, named by entry points of the group ``openslob.engines``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import install_command
from openslob.engines.base import Counting, Engine
from openslob.engines.clients import ClientPrograms
from openslob.engines.managed.base import Control, ManagedCluster, ManagedServer, ReadySetting, ServerSpec
from openslob.record.facts import fit

GROUP = "openslob.engines"
# The managed server that is the default target. The engine whose server has this name is the default engine.
DEFAULT_SERVER = "embedded"


class ManagedServers(Protocol):
    """An engine's module for managed servers.

    ``CONTROLS`` are the ways to run a server in which a crash loses acknowledged commits, ``READY_SETTINGS`` the
    settings whose cost is worth to be known, with the loads on which each can matter.
    """

    CONTROLS: Sequence[Control]
    READY_SETTINGS: Sequence[ReadySetting]

    def managed(self, spec: ServerSpec) -> ManagedServer:
        """Return the server of this name, to be run as specified; nothing is changed yet."""

    def default_spec(self, name: str) -> ServerSpec:
        """Return the specification of a server for which nothing else is asked."""

    def remembered(self, spec: ServerSpec) -> ManagedServer:
        """Return the server that was created by this specification, even if its programs are gone."""


@dataclass(frozen=True)
class EngineEntry:
    """One engine. Its modules are given by name and imported when they are needed.

    Each URL scheme that the engine serves is the name of an entry point whose value is this entry.

    Attributes:
        name: What ``--engine`` and the state of managed servers call it.
        adapter: Module with ``connect(url) -> Engine``.
        servers: A module as `ManagedServers`; None if servers of this engine can't be managed.
        embedded: Name of the managed server that is created on demand; None without one.
        extra: What pip installs with it the libraries that only this engine needs; None if openslob always has them.
        standbys: Whether a managed server can be a standby of another one.
        clusters: Module with ``cluster(specs) -> ManagedCluster``; None if slob makes no clusters of this engine.
        counting: Module with ``Counting(**facts)``, which takes differences of the engine's readings again; None if
            nothing does.
        clients: Module with the functions of `ClientPrograms`; None if no client program is known.
        calibrates: Whether servers can calibrate their storage themselves.

    """

    name: str
    adapter: str
    servers: str | None = None
    embedded: str | None = None
    extra: str | None = None
    clients: str | None = None
    standbys: bool = False
    clusters: str | None = None
    counting: str | None = None
    calibrates: bool = False

    def connect(self, url: str) -> Engine:
        """Return the engine for a target URL; nothing is connected yet. SlobError when its library is not installed."""
        try:
            adapter = import_module(self.adapter)
        except ModuleNotFoundError as error:
            if self.extra is None or (error.name or "").startswith("openslob"):
                raise
            why = f"{self.name} needs the Python package {error.name}, which is not installed"
            raise SlobError(why, install_command(self.extra)) from error
        return cast(Engine, adapter.connect(url))

    def client_programs(self) -> ClientPrograms | None:
        """Return what is known of the product's client programs; None if nothing is."""
        return cast(ClientPrograms, import_module(self.clients)) if self.clients else None

    def recounting(self, facts: object) -> Counting | None:
        """Return what takes differences of the engine's readings again, by what a record keeps of it.

        SlobError if that can't be. None if nothing does.
        """
        return cast(Counting, fit(import_module(self.counting).Counting, facts)) if self.counting else None

    def cluster(self, specs: Sequence[ServerSpec]) -> ManagedCluster:
        """Return a cluster of nodes to be made by these specifications. UsageError when slob makes none."""
        if self.clusters is None:
            raise UsageError(f"slob makes no clusters of {self.name} servers", "make one yourself and give its URLs")
        return cast(ManagedCluster, import_module(self.clusters).cluster(specs))

    def managed_servers(self) -> ManagedServers:
        """Return the engine's managed servers. UsageError when it has none."""
        if self.servers is None:
            raise UsageError(f"no server of {self.name!r} can be managed", "start it yourself and give its URL")
        return cast(ManagedServers, import_module(self.servers))
