"""Where the counters of a host are read: here, or elsewhere (`openslob.host.remote`)."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from openslob.core.host import ProcFiles
from openslob.host.device import device_under
from openslob.host.proc_files import LocalProc


@dataclass(frozen=True)
class ThisHost:
    """The host that this process runs on. Implements `openslob.core.host.Host`."""

    root: Path = Path("/")
    where: str = ""

    def refresh(self, again: bool = False) -> int:  # noqa: ARG002
        """Do nothing: the kernel makes the text of a file when it is read."""
        return time.monotonic_ns()

    def processes(self) -> ProcFiles:
        """Return the files in /proc."""
        return LocalProc(self.root / "proc")

    def watch_group(self, pid: int) -> None:
        """Do nothing: it is visible, or not."""

    def find_device(self, directory: Path) -> Path:
        """Ask the file system."""
        return device_under(directory, self.root / "proc", self.root / "sys")

    def resolve(self, directory: Path) -> Path:
        """Follow the links."""
        return directory.resolve()

    def identify(self) -> dict[str, Any]:
        """Return what Python's libraries say, on every system."""
        return {
            "host": platform.node(),
            "os": platform.platform(terse=True),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "processor": platform.processor() or None,
            "online": psutil.cpu_count(),
            "cores": psutil.cpu_count(logical=False),
            "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            "total_bytes": psutil.virtual_memory().total,
            "swap_bytes": psutil.swap_memory().total,
        }

    def describe_reading(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def cpu_s(self) -> float:
        """Return 0: the readings are this process's own."""
        return 0.0


HERE = ThisHost()
