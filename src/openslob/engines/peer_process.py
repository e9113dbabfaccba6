"""Finds the process of this host at the other end of a connection, which proves that a server runs here.

An address proves nothing: 127.0.0.1 may be a tunnel, a proxy or a container's port. The kernel knows the process:

- Of a unix socket it reports the process that called ``listen`` (SO_PEERCRED).
- A TCP connection between two processes of this host is in the kernel's table twice, once from either end. psutil
  finds the far end among the open files of the process that has it; reading those takes root or the same user. For
  another user's process it is proof, too, that it is the only one that can have the far end, and that the server sees
  the same client port as this end: a proxy or a tunnel would have a port of its own.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from openslob.core.errors import UsageError
from openslob.core.host import FigureUnknownError, OtherHost
from openslob.core.process_selector import ProcessTree
from openslob.engines.facts import ServerLocation

# struct ucred: pid, uid, gid.
_CREDENTIALS = struct.Struct("3i")
_End = tuple[str, int]
# The kernel shows its table of connections part by part: a reading may miss one while others come and go.
_READINGS = 3


class UnprovedError(Exception):
    """It is not proved that the other end is on this host; the text is the reason."""


def find_listener(handle: int) -> int:
    """Return the process that listens on the other end of a unix socket. UnprovedError: it can't be seen."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise UnprovedError("this system does not report who listens on a socket")
    with socket.socket(fileno=os.dup(handle)) as shared:
        text = shared.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid = int(_CREDENTIALS.unpack(text)[0])
    # Processes of another pid namespace are shown as 0.
    if not pid:
        raise UnprovedError("the server's processes can't be seen from here: they run in a container of their own")
    return pid


def find_holder(handle: int, candidates: Iterable[int], seen_port: int | None = None) -> int:
    """Return the process among ``candidates`` that has the far end of the TCP connection ``handle``.

    ``seen_port`` is the client's port as the server sees it.

    Raises:
        UnprovedError: None of them has it, or this user may not see which of them.

    """
    with socket.socket(fileno=os.dup(handle)) as shared:
        far_end = _end(shared.getpeername()), _end(shared.getsockname())
    hidden: set[int] = set()
    for pid in (*candidates,) * _READINGS:
        try:
            if far_end in _connections(psutil.Process(pid)):
                return pid
        except psutil.AccessDenied:
            hidden.add(pid)
        except psutil.NoSuchProcess:
            continue
    try:
        on_this_host = any(far_end in _connections(psutil) for _ in range(_READINGS))
    except (OSError, psutil.Error):
        raise UnprovedError("this system does not report where connections end") from None
    if not on_this_host:
        raise UnprovedError("the server is not on this host")
    if len(hidden) == 1 and seen_port == far_end[1][1]:
        return hidden.pop()
    if hidden:
        raise UnprovedError(
            "this user may not see which process of this host has the other end of the connection: connect by the "
            "server's unix socket, run slob as the server's user or as root, or name the process by --server-pid"
        )
    raise UnprovedError("the connection ends in a process of this host other than the server: a proxy or a tunnel")


def read_directory(pid: int) -> Path:
    """Return the working directory of a process. UnprovedError: this user may not read it, or sees another."""
    link = Path(f"/proc/{pid}/cwd")
    try:
        place = link.readlink()
        ours = place.samefile(link)
    except PermissionError:
        raise UnprovedError("this user may not see where the server's process keeps its data") from None
    except OSError:
        ours = False
    if not ours:
        raise UnprovedError("the server's process sees other files than this one: it runs in a container of its own")
    return place


def locate(find_main_pid: Callable[[], int]) -> ServerLocation:
    """Return where the server is whose main process ``find_main_pid`` proves, as far as this user may see it.

    Its working directory is its data directory.
    """
    try:
        return locate_process(find_main_pid())
    except UnprovedError as error:
        return ServerLocation.unknown(str(error))


def locate_process(pid: int) -> ServerLocation:
    """Return the location of a server by its main process; without a directory that this user may not see."""
    try:
        return ServerLocation(ProcessTree(pid), (read_directory(pid),))
    except UnprovedError as error:
        return ServerLocation(ProcessTree(pid), (), str(error))


def take_named_process(location: ServerLocation, pid: int | None) -> ServerLocation:
    """Return a location as it was found; if nothing was, that of the process ``pid``, which the user names.

    Raises:
        UsageError: This host has no such process.

    """
    if location.is_known or pid is None:
        return location
    if not Path(f"/proc/{pid}").exists():
        raise UsageError(f"--server-pid {pid}: this host has no such process", "give the server's main process")
    return locate_process(pid)


def locate_elsewhere(
    host: OtherHost, find_main_pid: Callable[[], int], named: int | None, name_directory: Callable[[], str]
) -> ServerLocation:
    """Return where the server is on another host: by the process that the user names, or that is found and proved.

    Where that host shows no processes, the directory is what the server calls it; empty if it does not say so.

    Raises:
        UsageError: That host has no such process, or shows none.

    """
    if host.hides_processes:
        if named is not None:
            raise UsageError(f"--server-pid {named}: {host.hides_processes}", "leave it out")
        named_directory = name_directory()
        why = "" if named_directory else "the server does not report to this user where its data are"
        place = (Path(named_directory),) if named_directory else ()
        return ServerLocation(None, place, host.hides_processes, (), host.where, why)
    try:
        if named is not None and host.read(f"/proc/{named}/stat") is None:
            raise UsageError(
                f"--server-pid {named}: {host.where} has no such process", "give the server's main process"
            )
        pid = named or find_main_pid()
        directory = host.find_directory(pid)
    except (UnprovedError, FigureUnknownError) as error:
        return ServerLocation.unknown(str(error))
    hidden = f"this user may not see on {host.where} where the server keeps its data: log on as the server's user"
    return ServerLocation(
        ProcessTree(pid), (directory,) if directory else (), "" if directory else hidden, (), host.where
    )


def is_unix(handle: int) -> bool:
    """Return whether the connection is by a unix socket."""
    with socket.socket(fileno=os.dup(handle)) as shared:
        return shared.family == socket.AF_UNIX


def _connections(owner: psutil.Process | ModuleType) -> set[tuple[_End, _End]]:
    """Return the local and the remote end of each TCP connection of a process, or (``psutil``) of this host.

    IPv4 and IPv6 together: a server that listens on IPv6 alone may be reached by IPv4. In TIME_WAIT no process has it.
    """
    return {
        (_end(connection.laddr), _end(connection.raddr))
        for connection in owner.net_connections("tcp")
        if connection.raddr and connection.status != psutil.CONN_TIME_WAIT
    }


def _end(address: Sequence[Any]) -> _End:
    """Return address and port; an IPv4-mapped IPv6 address as IPv4, and without a zone."""
    ip = ipaddress.ip_address(address[0].partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip), address[1]
