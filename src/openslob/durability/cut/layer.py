"""A file system over a folder, which loses at a cut what was not synced: its operations, without FUSE.

The folder has at all times what is kept, and nothing else. So a process that is killed is a cut as well.

What a sync keeps is chosen after two models:

- ``journal``, as ext4 (data=ordered) and XFS do: changes of names and sizes are kept in their order, so the sync of a
  file or folder keeps them up to the last change of this one; the name of a new file is among them. Data of other files
  are not kept. These file systems keep more now and then by themselves (ext4 every 5 s); here nothing is kept unasked.
- ``strict``, the least that fsync(2) of the Linux manual promises: fsync() of a file keeps its data and size, and that
  of a folder its names. A rename is one change, and kept with either folder.

Modes, owners and times of what is kept change at once: no server's data depend on when.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from openslob.durability.cut.contents import PAGE_BYTES, Content
from openslob.durability.cut.faults import ActiveFault, Fault, Request
from openslob.durability.cut.names import (
    ROOT,
    DiskChange,
    NameGiven,
    NameMoved,
    NameTaken,
    Node,
    Resized,
    keep_attributes,
)

NamesModel = Literal["journal", "strict"]
Survival = Literal["nothing", "random"]


@dataclass
class CutStatistics:
    """What went through: bytes of data, syncs, and changes of names and sizes.

    ``lied``: syncs that were acknowledged and not made. ``dropped``, ``survived``: what a cut found not synced; what a
    sync that failed lost is dropped, too.
    """

    written_bytes: int = 0
    flushed_bytes: int = 0
    dropped_bytes: int = 0
    survived_bytes: int = 0
    syncs: int = 0
    lied: int = 0
    dropped_changes: int = 0


class VolatileLayer:
    """The file system. Not for several threads at once; errors are OSError, as those of system calls.

    ``torn`` counts after a cut, by path, the blocks of its user that are neither as they were kept nor as written.
    ``fault`` is what is wrong with it at present.
    """

    def __init__(self, kept: Path, names: NamesModel = "journal", lying: bool = False) -> None:
        self.lying = lying
        self.statistics = CutStatistics()
        self.torn: dict[str, int] = {}
        self.fault: ActiveFault | None = None
        self._kept = kept
        self._strict = names == "strict"
        self._pending: deque[tuple[int, DiskChange]] = deque()
        self._changes = 0
        self._numbers = ROOT
        self._dirty: dict[int, Node] = {}
        self._dead = False
        self.root = self._load(kept, ROOT)

    # What was there before.

    def _load(self, path: Path, number: int) -> Node:
        """Return the node of a path that is kept, with all below it."""
        status = path.lstat()
        node = Node(number, status.st_mode, status.st_uid, status.st_gid)
        node.atime_ns, node.mtime_ns, node.ctime_ns = status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns
        node.names = 1
        if stat.S_ISREG(node.mode):
            node.content = Content(self._kept, status.st_size)
        elif stat.S_ISLNK(node.mode):
            node.target = str(path.readlink())
        elif node.is_folder:
            self._load_entries(path, node)
        return node

    def _load_entries(self, path: Path, folder: Node) -> None:
        for each in sorted(path.iterdir()):
            entry = self._load(each, self._next_number())
            entry.kept_at.append((folder, each.name))
            folder.entries[each.name] = entry

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    # Names.

    def find(self, path: str) -> Node:
        """Return the node at ``path``."""
        self._require_power()
        node = self.root
        for name in path.split("/"):
            if name:
                if not node.is_folder:
                    raise _error(errno.ENOTDIR)
                node = node.entries.get(name) or _missing()
        return node

    def _split(self, path: str) -> tuple[Node, str]:
        above, _, name = path.rpartition("/")
        folder = self.find(above)
        if not folder.is_folder:
            raise _error(errno.ENOTDIR)
        return folder, name

    def make(self, path: str, mode: int, uid: int, gid: int, target: str = "") -> Node:
        """Make a file, folder, link (to ``target``) or other entry, by the type in ``mode``."""
        folder, name = self._split(path)
        if name in folder.entries:
            raise _error(errno.EEXIST)
        node = Node(self._next_number(), mode, uid, gid)
        node.target = target
        if stat.S_ISREG(mode):
            node.content = Content(self._kept)
        self._name(node, folder, name)
        return node

    def link(self, path: str, new_path: str) -> None:
        """Give a file one more name."""
        node = self.find(path)
        folder, name = self._split(new_path)
        if name in folder.entries:
            raise _error(errno.EEXIST)
        if node.is_folder:
            raise _error(errno.EPERM)
        self._name(node, folder, name)

    def _name(self, node: Node, folder: Node, name: str) -> None:
        folder.entries[name] = node
        node.names += 1
        self._note_change(NameGiven(node, folder, name))

    def remove(self, path: str) -> None:
        """Remove a name, or an empty folder."""
        folder, name = self._split(path)
        node = folder.entries.get(name) or _missing()
        if node.entries:
            raise _error(errno.ENOTEMPTY)
        del folder.entries[name]
        node.names -= 1
        self._note_change(NameTaken(node, folder, name))
        self._release_unused(node)

    def rename(self, path: str, new_path: str) -> None:
        """Rename, and replace what has the new name."""
        old, new = self._split(path), self._split(new_path)
        node = old[0].entries.get(old[1]) or _missing()
        replaced = new[0].entries.get(new[1])
        if replaced is node:  # POSIX: two names of one file both stay
            return
        if replaced:
            self._require_replaceable(node, replaced)
            replaced.names -= 1
        del old[0].entries[old[1]]
        new[0].entries[new[1]] = node
        self._note_change(NameMoved(node, old, new, replaced))
        if replaced:
            self._release_unused(replaced)

    def _require_replaceable(self, node: Node, replaced: Node) -> None:
        if replaced.is_folder != node.is_folder:
            raise _error(errno.EISDIR if replaced.is_folder else errno.ENOTDIR)
        if replaced.entries:
            raise _error(errno.ENOTEMPTY)

    def _note_change(self, change: DiskChange) -> None:
        self._changes += 1
        self._pending.append((self._changes, change))
        now = time.time_ns()
        for node in change.touched:
            node.last_change = self._changes
            node.ctime_ns = now
        for folder, _ in change.slots:
            folder.mtime_ns = now

    # Contents.

    def open(self, node: Node) -> Node:
        """Count one more user of a node."""
        self._require_power()
        node.handles += 1
        return node

    def release(self, node: Node) -> None:
        """Count one user less; what nobody uses is closed, and what has no name then is gone."""
        node.handles -= 1
        self._release_unused(node)

    def _release_unused(self, node: Node) -> None:
        content = node.content
        if not content or node.handles or self._dead:
            return
        if not node.names:
            self._dirty.pop(node.number, None)
            content.dirty.clear()
        if not content.dirty and (node.kept_at or not node.names):
            content.close()

    def read(self, node: Node, offset: int, length: int) -> bytes:
        """Return what a file has there."""
        self._require_power()
        self._suffer(Request.READ, node)
        return _content(node).read(node.kept_path(self._kept), offset, length)

    def write(self, node: Node, data: bytes, offset: int) -> int:
        """Write; return the bytes written, all of them."""
        self._require_power()
        content = _content(node)
        self._suffer(Request.WRITE, node)
        content.write(node.kept_path(self._kept), self._tear(node, content, data, offset), offset)
        self._dirty[node.number] = node
        self.statistics.written_bytes += len(data)
        node.mtime_ns = node.ctime_ns = time.time_ns()
        return len(data)

    def resize(self, node: Node, size: int) -> None:
        """Cut a file off, or extend it with zeros."""
        self._require_power()
        content = _content(node)
        if size > content.size:
            self._suffer(Request.GROW, node)
        if size != content.size:
            content.resize(size)
            self._note_change(Resized(node, size))
            node.mtime_ns = node.ctime_ns

    def set_attributes(self, node: Node, mode: int | None = None, uid: int = -1, gid: int = -1) -> None:
        """Change mode and owner, of what is kept as well."""
        self._require_power()
        if mode is not None:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        node.uid, node.gid = uid if uid >= 0 else node.uid, gid if gid >= 0 else node.gid
        node.ctime_ns = time.time_ns()
        if path := node.kept_path(self._kept):
            keep_attributes(node, path)

    # Syncs and cuts.

    def sync(self, node: Node) -> None:
        """Keep what fsync() of a file or folder keeps."""
        self._require_power()
        self.statistics.syncs += 1
        self._suffer(Request.SYNC, node)
        if self.lying:
            self.statistics.lied += 1
            return
        if self._strict:
            self._keep_due(node)
        else:
            self._keep_until(node.last_change)
        self._flush(node)

    def sync_all(self) -> None:
        """Keep everything, as an orderly end does."""
        self._require_power()
        self._keep_until(self._changes)
        for node in list(self._dirty.values()):
            self._flush(node)

    def _flush(self, node: Node) -> None:
        if node.content:
            self.statistics.flushed_bytes += node.content.flush(node.kept_path(self._kept))
            self._dirty.pop(node.number, None)
            self._release_unused(node)

    def _keep_until(self, change: int) -> None:
        while self._pending and self._pending[0][0] <= change:
            self._keep(self._pending.popleft()[1])

    def _keep_due(self, node: Node) -> None:
        due = set(_due(node, self._pending))
        changes = [change for number, change in self._pending if number in due]
        self._pending = deque(each for each in self._pending if each[0] not in due)
        for change in changes:
            self._keep(change)

    def _keep(self, change: DiskChange) -> None:
        change.keep(self._kept)
        self._release_unused(change.node)

    def cut(self, survive: Survival, seed: str, block_bytes: int = PAGE_BYTES) -> None:
        """Fail every request from now on; of what was not synced keep nothing, or a random part.

        ``block_bytes``, a multiple of `PAGE_BYTES`, are what a user of the files takes for a whole.
        """
        if self._dead:
            return
        if survive == "random":
            self._keep_some(Random(seed), block_bytes)
        self._dead = True
        dirty = sum(node.content.dirty_bytes for node in self._dirty.values() if node.content)
        self.statistics.dropped_bytes += dirty - self.statistics.survived_bytes
        self.statistics.dropped_changes += len(self._pending)

    def _keep_some(self, random: Random, block_bytes: int) -> None:
        """Keep a random part: of the changes the first ones, as a journal does, and any of the data."""
        for _ in range(random.randint(0, len(self._pending))):
            self._keep(self._pending.popleft()[1])
        for _, node in sorted(self._dirty.items()):
            path = node.kept_path(self._kept)
            if node.content and path:
                survived, torn = node.content.survive(path, random, block_bytes)
                self.statistics.survived_bytes += survived
                if torn:
                    self.torn[str(path.relative_to(self._kept))] = torn

    # Faults.

    def begin_fault(self, fault: Fault, seconds: float, paths: Iterable[str], listed: bool, seed: str) -> None:
        """Let a fault begin on the files with these paths, or on all others if ``listed`` is false."""
        numbers = set()
        for path in paths:
            with suppress(FileNotFoundError):  # removed meanwhile
                numbers.add(self.find(path).number)
        self.fault = ActiveFault(fault, seconds, numbers, listed, seed)

    def _suffer(self, request: Request, node: Node) -> None:
        """Let a request meet the fault if there is one: it waits, or fails. A sync that fails forgets what was written.

        Which one sync fails is drawn: each file has a chance in proportion to what it has to keep.
        """
        fault = self.fault
        if fault is None:
            return
        share = self._dirty_share(node, fault) if fault.kind.once else 1.0
        if not fault.meet(request, node.number, self._name_kept(node), share):
            return
        if not fault.kind.error:
            fault.wait()
            return
        if request is Request.SYNC and node.content:
            self.statistics.dropped_bytes += node.content.dirty_bytes
            node.content.dirty.clear()
            self._dirty.pop(node.number, None)
        raise _error(fault.kind.error)

    def _dirty_share(self, node: Node, fault: ActiveFault) -> float:
        pages = {
            number: len(each.content.dirty)
            for number, each in self._dirty.items()
            if each.content and fault.concerns(number)
        }
        return pages.get(node.number, 0) / max(1, sum(pages.values()))

    def _tear(self, node: Node, content: Content, data: bytes, offset: int) -> bytes:
        fault = self.fault
        if fault is None or not fault.kind.tears:
            return data
        old = content.read(node.kept_path(self._kept), offset, len(data)).ljust(len(data), b"\0")
        return fault.tear(node.number, self._name_kept(node), offset, old, data)

    def _name_kept(self, node: Node) -> Path | None:
        path = node.kept_path(self._kept)
        return path and path.relative_to(self._kept)

    def _require_power(self) -> None:
        if self._dead:
            raise _error(errno.EIO)


def _due(node: Node, pending: deque[tuple[int, DiskChange]]) -> Iterator[int]:
    """Yield the changes that the sync of ``node`` must keep when only those of its own names or size are promised.

    An earlier change is kept too if a later one of them needs it: it is about the same name, node or folder.
    """
    nodes: set[Node] = set()
    slots: set[tuple[Node, str]] = set()
    emptied: set[Node] = {node}
    for number, change in reversed(pending):
        in_folder = not emptied.isdisjoint(folder for folder, _ in change.slots)
        own_size = isinstance(change, Resized) and change.node is node
        if in_folder or own_size or change.node in nodes or not slots.isdisjoint(change.slots):
            yield number
            slots.update(change.slots)
            nodes.update(change.touched)
            emptied.update(each for each in change.touched if each.is_folder and not each.names)


def _content(node: Node) -> Content:
    if node.content is None:
        raise _error(errno.EISDIR if node.is_folder else errno.EINVAL)
    return node.content


def _missing() -> Node:
    raise _error(errno.ENOENT)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
