"""The contract of managed servers, which slob itself makes; an engine need not have any."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.engines.settings import Effect, KnownSettings, SettingChange, lines

if TYPE_CHECKING:
    from openslob.engines.base import Engine

# State of a server that takes connections, or soon will.
RUNNING = "running"


@dataclass(frozen=True)
class ServerSpec:
    """The specification of a managed server. ``version`` is a major version; ``bin_dir`` overrides it. Sizes in bytes.

    ``engine`` is the name of its `EngineEntry`; an empty ``version`` is that of the programs found.
    ``io`` is ``direct`` or ``buffered``; ``cpus`` is an affinity list such as ``0`` or ``0-3``, or None for all.
    ``standby_of`` names the managed server that this one is a read-only copy of, by replication. ``settings`` are more
    of the server's own settings, ``NAME=VALUE`` in a line each, which come after those that slob makes;
    ``made_settings`` are those that its data are made with. ``made_for`` is the command that made it for itself and
    destroys it; empty: it is the user's. ``port`` is where standbys connect to on this host, of a product whose
    standbys can't use a socket; None: the server listens on no network. ``table_engine`` is the storage engine of the
    test tables, of a product that has several.
    """

    engine: str
    name: str
    version: str
    bin_dir: Path | None
    data_dir: Path | None
    cache_bytes: int
    log_bytes: int
    io: str
    cpus: str | None
    max_sessions: int
    block_size: int | None = None
    huge_pages: bool = False
    standby_of: str | None = None
    settings: str = ""
    made_for: str = ""
    made_settings: str = ""
    port: int | None = None
    table_engine: str | None = None

    def to_record(self) -> dict[str, Any]:
        return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}

    @classmethod
    def from_record(cls, values: Mapping[str, Any]) -> ServerSpec:
        return cls(**{**values, **{name: Path(values[name]) for name in ("bin_dir", "data_dir") if values.get(name)}})

    def with_settings(self, changes: Collection[SettingChange]) -> ServerSpec:
        """Return the specification with these settings after its own; those of sessions are not the server's."""
        of = {effect: {change.name: change.value for change in changes if change.effect is effect} for effect in Effect}
        settings, made = (
            "\n".join(filter(None, (before, lines(of[effect]))))
            for before, effect in ((self.settings, Effect.RESTART), (self.made_settings, Effect.NEW_SERVER))
        )
        return replace(self, settings=settings, made_settings=made)


def small_server(engine: str, name: str, version: str = "", block_size: int | None = None) -> ServerSpec:
    """Return the specification of a server for which nothing else is asked.

    Its cache is so small that physical I/O is easy to reach.
    """
    return ServerSpec(
        engine=engine,
        name=name,
        version=version,
        bin_dir=None,
        data_dir=None,
        cache_bytes=128 * MIB,
        log_bytes=4096 * MIB,
        io="direct",
        cpus=None,
        max_sessions=320,
        block_size=block_size,
    )


@dataclass(frozen=True)
class ServerStatus:
    """The current state of a managed server: ``state`` is running, stopped or gone (its data are missing).

    ``note`` is what the user should know of the last stop or restart: that the server had to be killed.
    """

    spec: ServerSpec
    state: str
    pid: int | None
    url: str
    data_directory: Path
    bytes_on_disk: int
    note: str = ""


@dataclass(frozen=True)
class Control:
    """A way to run a server in which a crash loses commits that it acknowledged, or damages data: a proof must find it.

    ``settings`` are as in `ServerSpec`. ``kill`` and ``cut`` say why the death of all processes, or a cut of the
    storage, may do neither all the same; empty where it must. ``torn``: only pages that are torn do it. ``fault``: only
    this fault of storage does it, on tables.
    """

    name: str
    settings: str
    kill: str = ""
    cut: str = ""
    torn: bool = False
    fault: str = ""


@dataclass(frozen=True)
class ReadySetting:
    """A setting of which `slob lab` knows on which loads it can matter.

    ``setting`` is one of the server's own, or a parameter of managed servers. Without ``values``, every other value
    than the present one is tried. ``loads`` are those on which it can matter, by their names in
    `openslob.kinds.lab.loads`; ``controls`` those on which it must show nothing. ``why_not`` says why it can't be
    compared on any server. ``figures`` are those that a sweep shows, in place of the usual ones. ``on_request``: it is
    compared only where it is named.
    """

    name: str
    setting: str
    about: str
    loads: tuple[str, ...]
    controls: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    why_not: str = ""
    figures: tuple[str, ...] = ()
    on_request: bool = False


class ManagedServer(Protocol):
    """A server that slob makes, starts, stops and destroys; it is found again by name after a crash."""

    name: str

    def start(self, *, for_now: bool = False) -> ServerStatus:
        """Make it if it is new, start it if it is down, restart it if it runs with other settings than asked for.

        SlobError if something must be done and another process uses the server. ``for_now``: it is there, and whoever
        starts it next, even after a crash of this process, finds the specification that it has now.
        """

    def stop(self) -> ServerStatus:
        """Stop it cleanly; nothing to do if it is down."""

    def kill(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Kill all of its processes at one moment, as a crash of its host does; it recovers at its next start.

        ``meanwhile`` is called when all of them stand still, before they are killed.
        """

    def kill_starting(self, after_s: float, meanwhile: Callable[[], None]) -> bool:
        """Start it, and `kill` it so many seconds later, whether it is ready by then or still recovers.

        Returns whether it still recovered. SlobError when it ended before by itself; then ``meanwhile`` is not called.
        """

    def has_pages(self, path: Path) -> bool:
        """Return whether a file of its data directory, by its path there, has pages of tables and indexes."""

    def destroy(self) -> None:
        """Stop it and remove its data."""

    def status(self) -> ServerStatus:
        """Return the state of the server now."""

    def promote(self) -> int:
        """Let a standby take writes: it follows no other server any more. UsageError if it is none.

        Returns when it took writes, in ns of the monotonic clock.
        """

    def await_copies(self, on: bool) -> None:
        """Let commits wait, until the server's end at the most, for a standby to have them, or no longer."""

    def known_settings(self) -> AbstractContextManager[KnownSettings]:
        """Give the settings of such servers during the block. It is neither asked nor changed, nor need it exist."""

    def bulk_loading(self) -> AbstractContextManager[None]:
        """Run the server in its configuration for loads during the block, and as specified afterwards."""


class ManagedCluster(Protocol):
    """Servers that slob makes of which each takes writes, and has what the others have acknowledged."""

    @property
    def nodes(self) -> Sequence[ManagedServer]:
        """Return the servers."""

    def start(self) -> None:
        """Make all of them, and start them as one cluster."""

    def await_others(self, name: str) -> int:
        """Wait until one of the others takes writes without this one; return when, in ns of the monotonic clock."""

    def mend(self) -> None:
        """Make those that were killed again, and start all as one cluster."""


def require_writes(engine: Engine, server: ManagedServer | None = None) -> None:
    """Raise UsageError if the target takes no writes; ``server`` is its managed server, if it is one.

    It can't be left to the server to refuse: some let a superuser write to a standby, which can't follow its primary
    any more then.
    """
    if engine.facts().read_only:
        if server:
            require_primary(server)
        raise UsageError(f"{engine.target} takes no writes: it is a standby, or read-only", "name the primary")


def require_primary(server: ManagedServer) -> None:
    """Raise UsageError for a managed standby; it need not run."""
    if primary := server.status().spec.standby_of:
        raise UsageError(
            f"the server {server.name} is a standby, which takes no writes", f"name its primary instead: {primary}"
        )
