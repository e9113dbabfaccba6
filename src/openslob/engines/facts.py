"""Facts that an engine reports about its server, its data and a load: plain values for findings and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from openslob.core.process_selector import ProcessSelector, ProcessTree
from openslob.core.workload import DataSpec, Workload
from openslob.engines.flavour import Identity

# The name of findings about the data, which a load repairs.
DATA = "data"
# The name of findings about missing rights; the remedy is the statement that grants them.
RIGHTS = "rights"
# The finding about other instances of a database that the target does not name. A cluster names several.
OTHER_INSTANCES = "instances"
# The finding about a server that takes no writes. A cluster has others that do, and a check of its own.
READ_ONLY_FINDING = "read only"


@dataclass(frozen=True)
class Finding:
    """One result of a pre-flight check.

    ``blocking``: the run would fail or be wrong; any other finding is shown and recorded. ``spoils``: the run works,
    but measures something else than it should. A ``remedy`` may be a statement for the server, to be used as it stands,
    or several, one a line; ``by`` says who may run it and where, if this user may not. ``by_load``: it came of a load
    of ours, so that what goes on with the same load takes it as it is. ``refused``: it is about a setting, ``name``,
    that sessions of the work loop give themselves and that the server refuses.
    """

    name: str
    why: str
    remedy: str
    blocking: bool
    spoils: bool = False
    by: str = ""
    by_load: bool = False
    refused: bool = False

    @property
    def advice(self) -> str:
        """The remedy in one line, after who may run it; of several statements the first."""
        first, *others = self.remedy.splitlines() or [""]
        more = f" (and {len(others)} more: `slob check` prints all)" if others else ""
        return f"{self.by}: {first}{more}" if self.by else f"{first}{more}"


@dataclass(frozen=True)
class InstanceFacts:
    """One instance of a cluster: its target, and whether it takes reads only."""

    target: str
    read_only: bool


def place_sessions(workload: Workload, instances: Sequence[InstanceFacts]) -> list[int]:
    """Return the number of the instance that each session works on: round-robin over those of the role of its class.

    Where no instance has the role, it is over all of them: a check refuses such a run.
    """
    placed: list[int] = []
    for part in workload.parts:
        role = part.workload.instance_role
        fit = [number for number, each in enumerate(instances) if role.includes(each.read_only)]
        fit = fit or list(range(len(instances)))
        placed += [fit[number % len(fit)] for number in part.numbers]
    return placed


@dataclass(frozen=True)
class ServerFacts:
    """What the server reports about itself before a run; all of it goes into the record.

    ``settings`` holds every setting that affects the result, as text. ``free_connections`` is how many are left for
    sessions and samplers; it and ``cache_bytes`` are None when the server does not report them to this user.
    ``connection`` says how the server is reached, as text by fact: ``transport`` (unix socket, TCP, TLS with version
    and cipher), ``pooler`` if there is one. ``read_only``: it takes no writes, as a standby. ``cluster_id`` is the same
    for servers that hold copies of the same data, and for no others; empty when the server does not report one.
    ``block_size`` and ``cache_bytes`` are those of ``tablespace``, None when all tables of the server have the same.
    ``instances`` are those of a cluster, in the order in which sessions go round-robin over them; empty for a single
    server. ``instance`` is the one that this connection landed on, where a target may name a service of several;
    empty elsewhere. ``direct_io_remedy`` says how a server with buffered I/O is given direct I/O. ``experimental`` is
    why the engine's figures are not to be relied on yet, or empty. ``stand_in``: the server says that it is no
    database. ``started_at`` is when the server was started, by its clock, to the second; of a cluster all instances'.
    Empty when it does not say. ``least_window_s``: most of the server's counts are unknown over less time, since it
    shows them late. ``clock_us`` is what the readings of the server's clock take that an operation of the work loop
    makes, in µs; None where that is not measured. ``cache_use_limit``: up to how many uses the cache counts of a block,
    if it is a clock whose hand passes blocks that were used; None where it evicts the block that was used longest ago.
    ``programs``: the package or folder that the programs of a server that slob runs are from; empty if it does not say.
    ``identity`` is what ``product`` and ``version`` follow from, where others speak its protocol.
    """

    product: str
    version: str
    block_size: int
    cache_bytes: int | None
    free_connections: int | None
    settings: Mapping[str, str]
    direct_io: bool | None
    connection: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    cluster_id: str = ""
    tablespace: str | None = None
    instances: Sequence[InstanceFacts] = ()
    direct_io_remedy: str = ""
    instance: str = ""
    experimental: str = ""
    stand_in: bool = False
    started_at: str = ""
    least_window_s: float = 0.0
    clock_us: float | None = None
    cache_use_limit: int | None = None
    programs: str = ""
    identity: Identity | None = None

    @property
    def family(self) -> str:
        """The product whose protocol, statements and catalogs the server has."""
        return self.identity.family if self.identity else self.product

    @property
    def number(self) -> str:
        """The version of the family."""
        return self.identity.number if self.identity else self.version

    @property
    def caution(self) -> str:
        """What must be known before any figure, in a sentence without a full stop; empty if nothing must."""
        return self.identity.caution if self.identity else ""

    @property
    def settings_place(self) -> str:
        """Where a setting of the server is changed, if not on the server; else empty."""
        return self.identity.settings if self.identity else ""

    @property
    def no_loop(self) -> str:
        """Why the server can't run the work loop; empty where it can."""
        return self.identity.no_loop if self.identity else ""

    @property
    def no_device(self) -> str:
        """Why no read of the engine is known to be one of a device; empty where they may be."""
        return self.identity.no_device if self.identity else ""


@dataclass(frozen=True)
class ServerLocation:
    """Where the server is on this host: its processes and its data directories; or why they are not known.

    Only proven facts: an address of this host may lead through a tunnel, a proxy or into a container. Data
    directories are never known without the processes; but of another host that shows no processes, they are those that
    the server names, and that it runs there is the user's word. ``others`` are the locations of a cluster's other
    instances, all of them on this host too. ``host`` is the address of the host that processes and directories are on;
    empty for this one. ``why_no_device``: why there is no directory, if that is not why the processes are unknown.
    """

    processes: ProcessSelector | None
    data_directories: Sequence[Path]
    why_unknown: str = ""
    others: Sequence[ServerLocation] = ()
    host: str = ""
    why_no_device: str = ""

    @classmethod
    def unknown(cls, why: str) -> ServerLocation:
        """Return the location of a server that is not known to be on this host."""
        return cls(None, (), why)

    def without_device(self, why: str) -> ServerLocation:
        """Return the location of a server whose data are on no device of its host, with the reason ``why``."""
        return replace(self, data_directories=(), why_unknown=self.why_unknown or why, why_no_device=why)

    @property
    def is_known(self) -> bool:
        """Whether the server's host is known, by its processes, or because the user names one that shows none."""
        return self.processes is not None or bool(self.host)

    @property
    def main_pid(self) -> int | None:
        """The main process's id, for a server that has one."""
        return self.processes.main_pid if isinstance(self.processes, ProcessTree) else None

    @property
    def data_directory(self) -> Path | None:
        return self.data_directories[0] if self.data_directories else None


@dataclass(frozen=True)
class DataState:
    """What is loaded: its specification and whether it was verified; ``blocks`` maps schema number to blocks.

    ``fault`` is the reason why data that are not, or no longer, as they were verified can't be used. ``has_grown``:
    they are complete, and the only reason is that tables have grown, as updates make them.
    """

    spec: DataSpec
    verified: bool
    loaded_at: str
    blocks: Mapping[int, int]
    fault: str = ""
    has_grown: bool = False


@dataclass(frozen=True)
class LoadProgress:
    """Progress of a load: its phase, and how many blocks of how many are written; sent several times a second."""

    phase: str
    blocks_done: int
    blocks_total: int


@dataclass(frozen=True)
class LoadResult:
    """A finished, verified load; ``checks`` has the figure of each check. ``reused``: the data were already there."""

    spec: DataSpec
    seconds: float
    blocks: int
    bytes: int
    checks: Mapping[str, str]
    reused: bool


ProgressSink = Callable[[LoadProgress], None]
