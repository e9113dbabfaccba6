"""Files and folders by their names, and the changes of names and sizes in their order: the journal of a file system.

A node is what users of the file system see. ``kept_at`` is where the folder of what is kept has it; the two differ by
the changes that are not yet kept.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openslob.durability.cut.contents import Content


class Node:
    """A file, folder, link or other entry. ``names`` counts its names, ``handles`` how often it is open."""

    __slots__ = (
        "atime_ns", "content", "ctime_ns", "entries", "gid", "handles", "kept_at", "last_change", "mode", "mtime_ns",
        "names", "number", "target", "uid",
    )  # fmt: skip

    def __init__(self, number: int, mode: int, uid: int, gid: int) -> None:
        self.number = number
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.atime_ns = self.mtime_ns = self.ctime_ns = time.time_ns()
        self.names = 0
        self.handles = 0
        self.kept_at: list[tuple[Node, str]] = []
        self.last_change = 0
        self.entries: dict[str, Node] = {}
        self.content: Content | None = None
        self.target = ""

    @property
    def is_folder(self) -> bool:
        """Return whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def size(self) -> int:
        """The bytes in it."""
        return self.content.size if self.content else len(self.target)

    def kept_path(self, root: Path) -> Path | None:
        """Return where it is kept; None if it is not. The root itself has no name, and is ``root``."""
        if self.number == ROOT:
            return root
        if not self.kept_at:
            return None
        folder, name = self.kept_at[0]
        above = folder.kept_path(root)
        return above and above / name


ROOT = 1


@dataclass(frozen=True)
class DiskChange:
    """A change of names or of a size. ``slots``: the names that it changes, as (folder, name)."""

    node: Node

    @property
    def slots(self) -> tuple[tuple[Node, str], ...]:
        """The names that it changes."""
        return ()

    @property
    def touched(self) -> Iterator[Node]:
        """What must be synced for it to be kept."""
        yield self.node
        yield from (folder for folder, _ in self.slots)

    def keep(self, root: Path) -> None:
        """Make it in the folder of what is kept."""
        raise NotImplementedError


@dataclass(frozen=True)
class _OneName(DiskChange):
    """A change of one name."""

    folder: Node
    name: str

    @property
    def slots(self) -> tuple[tuple[Node, str], ...]:
        """The name."""
        return ((self.folder, self.name),)


class NameGiven(_OneName):
    """A name was given to a node: a new one, or a file that has others."""

    def keep(self, root: Path) -> None:
        """Make the name, and an empty file or folder for a node that is not kept yet."""
        path = _in(root, self.folder, self.name)
        node, there = self.node, self.node.kept_path(root)
        if there is not None:
            path.hardlink_to(there)
        elif node.content and node.content.kept_open is not None:
            # synced before it was named: linkat() gives a name to a file that has none
            os.link(f"/proc/self/fd/{node.content.kept_open}", path, src_dir_fd=node.content.kept_open)
            keep_attributes(node, path)
        else:
            _make(node, path)
            keep_attributes(node, path)
        node.kept_at.append((self.folder, self.name))


class NameTaken(_OneName):
    """A name was removed."""

    def keep(self, root: Path) -> None:
        """Remove the name; the content of a file in use stays open."""
        path = _in(root, self.folder, self.name)
        _hold(self.node, path)
        if self.node.is_folder:
            path.rmdir()
        else:
            path.unlink()
        self.node.kept_at.remove((self.folder, self.name))


@dataclass(frozen=True)
class NameMoved(DiskChange):
    """A node got another name at once, in the place of the one that had it."""

    old: tuple[Node, str]
    new: tuple[Node, str]
    replaced: Node | None

    @property
    def slots(self) -> tuple[tuple[Node, str], ...]:
        """Both names."""
        return (self.old, self.new)

    @property
    def touched(self) -> Iterator[Node]:
        """What must be synced for it to be kept: also what it replaced."""
        yield from super().touched
        if self.replaced:
            yield self.replaced

    def keep(self, root: Path) -> None:
        """Rename it."""
        path = _in(root, *self.new)
        if self.replaced:
            _hold(self.replaced, path)
            self.replaced.kept_at.remove(self.new)
        _in(root, *self.old).rename(path)
        self.node.kept_at[self.node.kept_at.index(self.old)] = self.new


@dataclass(frozen=True)
class Resized(DiskChange):
    """A file was cut off or extended by truncate()."""

    size: int

    def keep(self, root: Path) -> None:
        """Cut the kept content to the size."""
        if self.node.content:
            os.truncate(self.node.kept_path(root) or self.node.content.open_kept(None), self.size)


def keep_attributes(node: Node, path: Path) -> None:
    """Give what is kept at ``path`` the mode and, as far as this user may, the owner of ``node``."""
    if os.geteuid() == 0:
        os.chown(path, node.uid, node.gid, follow_symlinks=False)
    if not stat.S_ISLNK(node.mode):
        path.chmod(stat.S_IMODE(node.mode))


def _make(node: Node, path: Path) -> None:
    if node.is_folder:
        path.mkdir()
    elif stat.S_ISLNK(node.mode):
        path.symlink_to(node.target)
    elif node.content:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    else:
        os.mknod(path, node.mode)


def _hold(node: Node, path: Path) -> None:
    """Open a file that is in use before its name goes: what is kept of it must stay readable."""
    if node.content and (node.handles or node.names):
        node.content.open_kept(path)


def _in(root: Path, folder: Node, name: str) -> Path:
    above = folder.kept_path(root)
    if above is None:
        raise FileNotFoundError(name)
    return above / name
