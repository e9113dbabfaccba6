"""Limits of the kernel's control groups (version 1) on a server's processes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from common import Bench
from openslob.core.errors import SlobError

GROUPS = Path("/sys/fs/cgroup")


def require_groups(*controllers: str) -> None:
    """Raise SlobError unless this process may make control groups of these controllers."""
    if os.geteuid() != 0 or not all((GROUPS / each / "cgroup.procs").exists() for each in controllers):
        raise SlobError(f"this needs root and control groups of version 1 with {' and '.join(controllers)}", "")


@contextlib.contextmanager
def group(controller: str, name: str = "") -> Iterator[Path]:
    """Make a control group for the block, and yield its folder. At the end its processes go back to the whole."""
    folder = GROUPS / controller / (name or f"slob-bench-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        for _ in range(50):
            for pid in (folder / "cgroup.procs").read_text().split():
                _add(GROUPS / controller, pid)
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.1)


def _add(folder: Path, pid: str) -> None:
    with contextlib.suppress(ProcessLookupError):
        (folder / "cgroup.procs").write_text(pid)


def disk() -> str:
    """Return the numbers of the whole disk that the servers are on: limits are those of disks, not of partitions."""
    number = Path(os.environ.get("OPENSLOB_HOME", Path.home())).stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    whole = folder.parent if (folder / "partition").exists() else folder
    return (whole / "dev").read_text().strip()


def move(target: Bench, folder: Path) -> None:
    """Move the server's processes to a group. Those that it starts later are there, too."""
    main_pid = target.server.status().pid
    if main_pid is None:
        raise SlobError("the server is not running", "")
    own = Path(f"/proc/{main_pid}/task/{main_pid}/children").read_text().split()
    for pid in (str(main_pid), *own):
        _add(folder, pid)
