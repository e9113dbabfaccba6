"""A folder with copies of another host's files, where the code that reads this host's files reads them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from openslob.core.host import FigureUnknownError


class Copies:
    """The folder, in memory if there is room for files; it is removed at the latest when this process ends."""

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self._folder = tempfile.TemporaryDirectory(
            prefix="slob-host-", dir=memory if os.access(memory, os.W_OK) else None, ignore_cleanup_errors=True
        )
        self.root = Path(self._folder.name)

    def find(self, path: str | Path) -> Path:
        """Return where the copy of a file is. FigureUnknownError for a name that would lead out of the folder."""
        if ".." in Path(path).parts:
            raise FigureUnknownError(f"{path} is not a file that another host would show")
        return self.root / str(path).lstrip("/")

    def write(self, path: str, text: bytes) -> None:
        """Write a copy; in place, so that who keeps it open reads on."""
        ours = self.find(path)
        ours.parent.mkdir(parents=True, exist_ok=True)
        ours.write_bytes(text)

    def remove(self, path: str) -> None:
        """Make a copy empty, for who keeps it open, and remove it."""
        ours = self.find(path)
        if ours.exists():
            ours.write_bytes(b"")
            ours.unlink()

    def close(self) -> None:
        """Remove the folder; a second call does nothing."""
        self._folder.cleanup()
