"""Which process on this host is at the other end of a connection: the proof that a server runs here.

An address proves nothing: 127.0.0.1 may be a tunnel, a proxy or a container's port. The kernel knows better:

- A unix socket tells who listens on it (SO_PEERCRED: the process that called ``listen``).
- A TCP connection that ends on this host stands twice in ``/proc/net/tcp``, once from either end; the inode of the far
  end is among the open files of the process that has it. Reading those takes root or the same user.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# struct ucred: pid, uid, gid.
_CREDENTIALS = struct.Struct("3i")
_TABLES = {socket.AF_INET: "tcp", socket.AF_INET6: "tcp6"}


class UnprovedError(Exception):
    """Nothing proves that the other end is on this host; the text is the reason."""


def listener(handle: int) -> int:
    """The process that listens on the unix socket ``handle`` is connected to. UnprovedError: none of this host."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise UnprovedError("this system does not tell who listens on a socket")
    with socket.socket(fileno=os.dup(handle)) as shared:
        text = shared.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid = int(_CREDENTIALS.unpack(text)[0])
    # Processes of another pid namespace are shown as 0.
    if not pid:
        raise UnprovedError("the server's processes can't be seen from here: they run in a container of their own")
    return pid


def holder(handle: int, candidates: Iterable[int], proc: Path = Path("/proc")) -> int:
    """Which of the processes ``candidates`` has the far end of the TCP connection ``handle``.

    UnprovedError: none of them has, or this user may not know.
    """
    inode = _far_inode(handle, proc)
    hidden = False
    for pid in candidates:
        try:
            if f"socket:[{inode}]" in _open_files(proc / str(pid) / "fd"):
                return pid
        except PermissionError:
            hidden = True
        except FileNotFoundError:
            continue
    if hidden:
        raise UnprovedError("this user may not see which process of this host has the other end of the connection")
    raise UnprovedError("the connection ends in another process of this host than the server: a proxy or a tunnel")


def serves(pid: int) -> Path:
    """The directory that a process works in. UnprovedError: this user may not know, or sees another there."""
    link = Path(f"/proc/{pid}/cwd")
    try:
        place = link.readlink()
        ours = place.samefile(link)
    except PermissionError:
        raise UnprovedError("this user may not see where the server's process keeps its data") from None
    except OSError:
        ours = False
    if not ours:
        raise UnprovedError("the server's process sees other files than we do: it runs in a container of its own")
    return place


def is_unix(handle: int) -> bool:
    """Whether the connection is by a unix socket."""
    with socket.socket(fileno=os.dup(handle)) as shared:
        return shared.family == socket.AF_UNIX


def _far_inode(handle: int, proc: Path) -> int:
    with socket.socket(fileno=os.dup(handle)) as shared:
        near, far, family = shared.getsockname()[:2], shared.getpeername()[:2], shared.family
    table = proc / "net" / _TABLES[family]
    if not table.exists():
        raise UnprovedError("this system does not tell where connections end")
    wanted = (_in_table(far), _in_table(near))
    # Both tables: a server that listens on IPv6 alone may be reached by IPv4.
    for local, remote, inode in _connections(table.parent):
        if (local, remote) == wanted and inode:
            return inode
    raise UnprovedError("the server is not on this host")


def _connections(folder: Path) -> Iterator[tuple[tuple[str, int], tuple[str, int], int]]:
    """Local end, remote end and inode of every TCP connection of this network namespace."""
    for name in _TABLES.values():
        table = folder / name
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            yield _end(fields[1]), _end(fields[2]), int(fields[9])


def _end(text: str) -> tuple[str, int]:
    address, _, port = text.partition(":")
    return _plain(b"".join(_word(address[at : at + 8]) for at in range(0, len(address), 8))), int(port, 16)


def _word(digits: str) -> bytes:
    """Addresses are printed as words of this machine's byte order."""
    return int(digits, 16).to_bytes(4, sys.byteorder)


def _in_table(end: tuple[str, int]) -> tuple[str, int]:
    return _plain(ipaddress.ip_address(end[0].partition("%")[0]).packed), end[1]


def _plain(packed: bytes) -> str:
    """An address as text; an IPv4 address in IPv6 clothes is itself."""
    address = ipaddress.ip_address(packed)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _open_files(folder: Path) -> Iterator[str]:
    for entry in folder.iterdir():
        try:
            yield str(entry.readlink())
        except FileNotFoundError:
            continue
