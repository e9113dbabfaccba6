"""How a connection reaches its server, and where the server is on this host: proved by the connection itself."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

from openslob.core.errors import SlobError
from openslob.core.host import OtherHost
from openslob.engines import peer_process
from openslob.engines.facts import ServerLocation
from openslob.engines.mysql.connection import Connection, file_descriptor, is_proxied, own_socket, query, statement
from openslob.engines.peer_process import UnprovedError, find_holder, find_listener, is_unix

PROXY = "a proxy"
PROXY_REMEDY = "connect to the server itself"
_PROGRAMS = ("mariadbd", "mysqld")
_ESTABLISHED = "01"


def transport(connection: Connection) -> str:
    """Return unix socket, TCP, or TLS with version and cipher as this client negotiated them, possibly with a proxy."""
    own = own_socket(connection)
    by = "unix socket" if is_unix(own.fileno()) else ""
    if not isinstance(own, ssl.SSLSocket):
        return by or "TCP, not encrypted"
    cipher = own.cipher()
    return ", ".join(part for part in (by, own.version(), cipher and cipher[0]) if part)


def why_not(target: str) -> str:
    """Return why nothing is measured through a proxy."""
    return f"{target} is a proxy: sessions, locks and cancels may reach different server connections"


def require_direct(connection: Connection, target: str) -> None:
    """Raise SlobError when a proxy is between."""
    if is_proxied(connection):
        raise SlobError(why_not(target), PROXY_REMEDY)


def locate(connection: Connection) -> ServerLocation:
    """Return the server's process behind ``connection`` and its data directory, as far as this user may see them."""
    return peer_process.locate(lambda: _server(connection))


def locate_on(host: OtherHost, connection: Connection, named: int | None) -> ServerLocation:
    """Return the server's process on another host, and its data directory, as far as the user there may see them."""

    def name_directory() -> str:
        return str(query(connection, statement("facts", "data_directory"))[0]["place"])

    return peer_process.locate_elsewhere(host, lambda: _server_on(host, connection), named, name_directory)


def _server_on(host: OtherHost, connection: Connection) -> int:
    """Return the one server whose network has this connection, with the client's port that the server sees."""
    port = _seen_port(connection)
    found = [pid for pid in host.find_programs(_PROGRAMS) if port in peer_ports(host, pid)]
    if len(found) == 1:
        return found[0]
    who = f"{len(found)} servers of {host.where} may serve" if found else f"no server of {host.where} serves"
    raise UnprovedError(f"{who} the connection; name its process by --server-pid")


def peer_ports(host: OtherHost, pid: int) -> set[int]:
    """Return the ports at the other ends of the TCP connections that a process's network has."""
    tables = (host.read(f"/proc/{pid}/net/{name}") or b"" for name in ("tcp", "tcp6"))
    # Below a headline: number, own end, other end as HEX:HEX, state.
    lines = (line.split() for table in tables for line in table.decode(errors="replace").splitlines()[1:])
    return {int(fields[2].rpartition(":")[2], 16) for fields in lines if len(fields) > 3 and fields[3] == _ESTABLISHED}


def _server(connection: Connection) -> int:
    """Return the process at the other end, if it is a server by its program's name."""
    ours, servers = file_descriptor(connection), tuple(_servers())
    if not is_unix(ours):
        return find_holder(ours, servers, _seen_port(connection))
    pid = find_listener(ours)
    if pid not in servers:
        raise UnprovedError("a program other than the server listens on the socket: a proxy or a tunnel")
    return pid


def _seen_port(connection: Connection) -> int | None:
    """Return this client's port as the server sees it."""
    seen = str(query(connection, statement("facts", "own_address"))[0]["address"])
    port = seen.rpartition(":")[2]
    return int(port) if port.isdecimal() else None


def _servers() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _program(entry) in _PROGRAMS:
            yield int(entry.name)


def _program(process: Path) -> str:
    try:
        command = (process / "cmdline").read_bytes()
    except OSError:
        return ""
    return Path(command.partition(b"\0")[0].decode(errors="replace")).name
