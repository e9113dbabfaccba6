"""What the process that leads a run and its drivers say to each other. All of it is plain data that can be pickled."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob._version import __version__
from openslob.core.secrets import Address
from openslob.engines.base import SessionPlan
from openslob.host.model import text_of
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.worker import Report

# The raw files that a driver writes itself.
FILES = ("slices.csv", "latency.csv", "response.csv")
# Where they are, below the folder of a record.
DRIVERS = "drivers"


@dataclass(frozen=True)
class Who:
    """A driver's process: where it runs, and by which code. ``machine`` is the same for all processes of one host."""

    host: str
    pid: int
    machine: str
    python: str
    version: str
    code: str

    @classmethod
    def here(cls) -> Who:
        """Return this process."""
        machine = text_of(Path("/proc/sys/kernel/random/boot_id")) or socket.gethostname()
        return cls(socket.gethostname(), os.getpid(), machine.strip(), platform.python_version(), __version__, _code())


def _code() -> str:
    """Return what tells two states of the package's code apart that have the same version."""
    root, digest = Path(__file__).parent.parent, hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.sql")]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Order:
    """One driver's part of a run. ``target`` is None if the driver has its own; the password is shown nowhere.

    ``run`` is unique: an order that came before is refused. ``folder`` is the record's, if the driver's host is the
    same as that of the leading process, else None. ``direct`` is the server itself behind a target that is a pooler.
    """

    run: str
    number: int
    target: Address
    plans: Sequence[SessionPlan]
    folder: Path | None
    direct: Address | None = None


@dataclass(frozen=True)
class Said:
    """What the leading process says. Everything may be said twice: an answer can get lost.

    ``phase`` is the one to run, if any; its end may have been moved since it was first said. ``ended``: no phase will
    follow. ``heard`` is how many reports have arrived.
    """

    phase: Phase | None = None
    ended: bool = False
    stop: bool = False
    cancel: Sequence[int] = ()
    cut: Sequence[int] = ()
    heard: int = 0


@dataclass(frozen=True)
class Heard:
    """What a driver answers: its reports from number ``first`` on, its sessions that still run, and why it can't go on.

    A session runs for as long as not all that it reported is in this answer or an earlier one. ``begun`` sessions have
    the order of the phase that begins at ``begin_ns``.
    """

    first: int
    reports: Sequence[Report]
    alive: frozenset[int]
    begin_ns: int
    begun: int
    error: str = ""


@dataclass(frozen=True)
class Use:
    """What a driver used in the window, by its own clock, and what it wrote. None: unknown.

    ``still_s`` and what follows are as in `openslob.core.measurement.DriverUse`.
    """

    clock_offset_s: float | None = None
    seconds: float | None = None
    cpu_s: float | None = None
    peak_rss_bytes: float | None = None
    host_busy_s: float | None = None
    host_cpus: int | None = None
    folder: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    why_unknown: str = ""
    still_s: float = 0.0
    still_at_s: float | None = None
    still_cpu_s: float | None = None
    still_waited_s: float | None = None
