"""The memory of this host that can hold the files of a process."""

from __future__ import annotations

from pathlib import Path

import psutil

from openslob.host.model import text_of


def page_cache_limit(pid: int | None, root: Path = Path("/")) -> int:
    """Return the host's memory in bytes, or the least limit of the process's control groups (version 2) if less.

    A control group is charged for the pages that its processes read first.
    """
    groups = text_of(root / f"proc/{pid}/cgroup") or ""
    path = next((line[3:] for line in groups.splitlines() if line.startswith("0::/")), "/")
    folder = root / "sys/fs/cgroup" / path.strip("/")
    texts = [text_of(each / "memory.max") for each in (folder, *folder.parents)]
    return min([int(text) for text in texts if text and text.isdecimal()] + [psutil.virtual_memory().total])
