"""The process behind a mount: `VolatileLayer` by FUSE, and the orders of the process that started it.

Orders come as lines of JSON on standard input, each is answered by a line with the statistics. When the input ends, the
process that started it is gone or done: the mount is removed, and what was not synced is lost.

One thread serves all requests: none waits for a disk, and several would only wait for each other in Python.

A removed file that is still open can be read, written and synced; only fstat() of it fails, because the kernel asks for
it by a name. The library's way around, a hidden name, would stay in the folder after a cut.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import mfusepy

from openslob.durability.cut.faults import Fault
from openslob.durability.cut.layer import Survival, VolatileLayer
from openslob.durability.cut.names import Node

# Names and attributes change by this mount alone, so the kernel need not ask again.
_KNOWN_S = 3600
P = ParamSpec("P")
R = TypeVar("R")


def _alone(request: Callable[Concatenate[Requests, P], R]) -> Callable[Concatenate[Requests, P], R]:
    """Let a request wait for an order that is carried out, and the other way round."""

    @wraps(request)  # the library looks at signatures
    def locked(self: Requests, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.turn:
            return request(self, *args, **kwargs)

    return locked


class Requests(mfusepy.Operations):  # type: ignore[misc]
    """What the kernel asks. Paths are None where the request is for an open file, whose handle tells the node."""

    use_ns = True
    flag_nopath = True
    flag_nullpath_ok = True

    def __init__(self, layer: VolatileLayer, kept: Path, mounted: Callable[[], None]) -> None:
        self.layer = layer
        self.turn = threading.Lock()
        self._kept = kept
        self._mounted = mounted
        self._open: dict[int, tuple[Node, bool]] = {}
        self._handles = 0

    def init(self, _path: str) -> None:
        """Tell that the mount is there."""
        self._mounted()

    def _node(self, path: str | None, fh: int | None) -> Node:
        return self._open[fh][0] if fh else self.layer.find(path or "/")

    def _open_handle(self, node: Node, flags: int) -> int:
        self._handles += 1
        # O_SYNC contains O_DSYNC
        self._open[self._handles] = (self.layer.open(node), bool(flags & os.O_DSYNC))
        return self._handles

    @_alone
    def getattr(self, path: str | None, fh: int | None = None) -> dict[str, int]:
        """Answer stat()."""
        node = self._node(path, fh)
        return {
            "st_mode": node.mode,
            "st_nlink": node.names,
            "st_uid": node.uid,
            "st_gid": node.gid,
            "st_size": node.size,
            "st_blocks": -(-node.size // 512),
            "st_atime": node.atime_ns,
            "st_mtime": node.mtime_ns,
            "st_ctime": node.ctime_ns,
        }

    @_alone
    def readdir(self, path: str | None, fh: int) -> Iterable[str]:
        """List a folder."""
        return [".", "..", *self._node(path, fh).entries]

    @_alone
    def readlink(self, path: str) -> str:
        """Return where a link points to."""
        return self.layer.find(path).target

    @_alone
    def create(self, path: str, mode: int, fi: int) -> int:
        """Make and open a file."""
        uid, gid, _ = mfusepy.fuse_get_context()
        return self._open_handle(self.layer.make(path, mode, uid, gid), fi)

    @_alone
    def mknod(self, path: str, mode: int, _dev: int) -> int:
        """Make a file, a socket or a pipe."""
        return self._make(path, mode)

    @_alone
    def mkdir(self, path: str, mode: int) -> int:
        """Make a folder."""
        return self._make(path, mode | 0o040000)

    @_alone
    def symlink(self, target: str, source: str) -> int:
        """Make the link ``target``, which points to ``source``."""
        return self._make(target, 0o120777, source)

    def _make(self, path: str, mode: int, target: str = "") -> int:
        uid, gid, _ = mfusepy.fuse_get_context()
        self.layer.make(path, mode, uid, gid, target)
        return 0

    @_alone
    def link(self, target: str, source: str) -> int:
        """Give the file ``source`` the further name ``target``."""
        self.layer.link(source, target)
        return 0

    @_alone
    def unlink(self, path: str) -> int:
        """Remove a name, or a folder."""
        self.layer.remove(path)
        return 0

    rmdir = unlink

    @_alone
    def rename(self, old: str, new: str) -> int:
        """Rename."""
        self.layer.rename(old, new)
        return 0

    @_alone
    def open(self, path: str, flags: int) -> int:
        """Open a file; O_TRUNC comes along with it."""
        node = self.layer.find(path)
        if flags & os.O_TRUNC:
            self.layer.resize(node, 0)
        return self._open_handle(node, flags)

    @_alone
    def opendir(self, path: str) -> int:
        """Open a folder."""
        return self._open_handle(self.layer.find(path), 0)

    @_alone
    def release(self, _path: str | None, fh: int) -> int:
        """Close a file or folder."""
        self.layer.release(self._open.pop(fh)[0])
        return 0

    releasedir = release

    @_alone
    def read(self, _path: str | None, size: int, offset: int, fh: int) -> bytes:
        """Read."""
        return self.layer.read(self._open[fh][0], offset, size)

    @_alone
    def write(self, _path: str | None, data: bytes, offset: int, fh: int) -> int:
        """Write; with O_DSYNC and O_SYNC the data are synced before the answer."""
        node, synced = self._open[fh]
        written = self.layer.write(node, data, offset)
        if synced:
            self.layer.sync(node)
        return written

    @_alone
    def fsync(self, _path: str | None, _datasync: int, fh: int) -> int:
        """Sync a file or folder; fdatasync() keeps the same, for a size belongs to the data."""
        self.layer.sync(self._open[fh][0])
        return 0

    fsyncdir = fsync

    @_alone
    def truncate(self, path: str | None, length: int, fh: int | None = None) -> int:
        """Change the size."""
        self.layer.resize(self._node(path, fh), length)
        return 0

    @_alone
    def fallocate(self, _path: str | None, mode: int, offset: int, size: int, fh: int) -> int:
        """Extend a file; what else the call can do is refused, as by file systems that have only this."""
        if mode:
            raise OSError(errno.EOPNOTSUPP, "")
        node = self._open[fh][0]
        self.layer.resize(node, max(node.size, offset + size))
        return 0

    @_alone
    def chmod(self, path: str | None, mode: int, fh: int | None = None) -> int:
        """Change the mode."""
        self.layer.set_attributes(self._node(path, fh), mode=mode)
        return 0

    @_alone
    def chown(self, path: str | None, uid: int, gid: int, fh: int | None = None) -> int:
        """Change the owner."""
        self.layer.set_attributes(self._node(path, fh), uid=uid, gid=gid)
        return 0

    @_alone
    def utimens(self, path: str | None, times: tuple[int, int] | None = None, fh: int | None = None) -> int:
        """Change the times, which are not kept."""
        node = self._node(path, fh)
        if times:
            node.atime_ns, node.mtime_ns = times
        return 0

    def statfs(self, _path: str) -> dict[str, int]:
        """Tell the space of the disk that has what is kept."""
        status = os.statvfs(self._kept)
        return {name: getattr(status, name) for name in dir(status) if name.startswith("f_") and name != "f_fsid"}


class _Pointer(Protocol):
    """A pointer to a structure of the library's."""

    contents: Any


class CutMount(mfusepy.FUSE):  # type: ignore[misc]
    """The library's dispatcher, which drops the handle of some requests, and the flags of a rename."""

    def truncate_fuse_3(self, path: bytes | None, length: int, fip: _Pointer) -> int:
        """Change the size of an open file."""
        return int(self.operations.truncate(_text(path), length, _handle(fip)))

    def chmod_fuse_3(self, path: bytes | None, mode: int, fip: _Pointer) -> int:
        """Change the mode of an open file."""
        return int(self.operations.chmod(_text(path), mode, _handle(fip)))

    def chown_fuse_3(self, path: bytes | None, uid: int, gid: int, fip: _Pointer) -> int:
        """Change the owner of an open file; the largest number stands for -1: unchanged."""
        ids = (-1 if each == 0xFFFFFFFF else each for each in (uid, gid))
        return int(self.operations.chown(_text(path), *ids, _handle(fip)))

    def utimens_fuse_3(self, path: bytes | None, buf: _Pointer, fip: _Pointer) -> int:
        """Change the times of an open file."""
        if path is None:
            return int(self.operations.utimens(None, None, _handle(fip)))
        return int(self.utimens_fuse_2(path, buf))

    def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
        """Refuse to exchange names, or to rename only to a free name."""
        if flags:
            return -errno.EINVAL
        return int(self.rename_fuse_2(old, new))

    def init_fuse_3(self, connection: _Pointer, config: _Pointer) -> None:
        """Serve requests for open files without paths, and let the kernel keep the answers."""
        config.contents.nullpath_ok = True
        config.contents.hard_remove = True
        config.contents.kernel_cache = True
        config.contents.entry_timeout = config.contents.attr_timeout = _KNOWN_S
        self._init(connection, config)


def _text(path: bytes | None) -> str | None:
    return None if path is None else os.fsdecode(path)


def _handle(fip: _Pointer) -> int | None:
    return int(fip.contents.fh) if fip else None


def _obey(requests: Requests, mountpoint: Path) -> None:
    """Carry out the orders, to the end of the input; then fail all requests, remove the mount, and let FUSE end."""
    for line in sys.stdin:
        with requests.turn:
            reply = _carry_out(requests.layer, json.loads(line))
        _say(reply)
    with requests.turn:
        requests.layer.cut("nothing", "")
    subprocess.run(["fusermount3", "-u", "-z", mountpoint], capture_output=True, check=False)
    while True:  # a signal that comes just before the thread waits for a request does not wake it
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(0.1)


def _carry_out(layer: VolatileLayer, order: Mapping[str, Any]) -> Mapping[str, object]:
    try:
        match order["do"]:
            case "cut":
                survive: Survival = "random" if order["survive"] == "random" else "nothing"
                layer.cut(survive, order["seed"], order["block_bytes"])
                return {**asdict(layer.statistics), "torn": layer.torn}
            case "sync":
                layer.sync_all()
            case "lie" | "be honest" as how:
                layer.lying = how == "lie"
            case "fault":
                where = order["paths"], order["listed"]
                layer.begin_fault(Fault(order["fault"]), order["seconds"], *where, order["seed"])
            case "met":
                return {"met": layer.fault.met, "first": layer.fault.first} if layer.fault else {"met": 0, "first": ""}
    except OSError as error:
        return {"error": str(error)}
    return asdict(layer.statistics)


def _say(reply: Mapping[str, object]) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def serve(kept: Path, mountpoint: Path, settings: Mapping[str, Any]) -> None:
    """Mount, and serve until the mount is removed."""
    layer = VolatileLayer(kept, settings["names"], settings["lying"])
    requests = Requests(layer, kept, lambda: _say({"mounted": True}))
    threading.Thread(target=_obey, args=(requests, mountpoint), daemon=True).start()
    options = {"allow_other": True} if os.geteuid() == 0 else {}
    CutMount(
        requests,
        str(mountpoint),
        foreground=True,
        nothreads=True,
        default_permissions=True,
        fsname="slob-cut",
        subtype="slob-cut",
        **options,
    )


if __name__ == "__main__":
    os.chdir("/")
    serve(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
