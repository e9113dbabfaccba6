"""How a connection gets to its server, and where that is on this host: proved by the connection, not by an address."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

from openslob.engines.facts import ServerLocation
from openslob.engines.mysql.connection import Connection, ask, handle, own_socket, statement, thread_id
from openslob.engines.peer_process import UnprovedError, holder, is_unix, listener, serves
from openslob.errors import SlobError
from openslob.process_selector import ProcessTree

PROXY = "a proxy"
PROXY_REMEDY = "connect to the server itself"
_PROGRAMS = ("mariadbd", "mysqld")
# A server tells the number of a connection in so many bits when it is opened.
_NUMBER_BITS = 32


def transport(connection: Connection) -> str:
    """Unix socket, plain TCP, or TLS with what our own end agreed on, which is true behind a proxy too."""
    ours = own_socket(connection)
    by = "unix socket" if is_unix(ours.fileno()) else ""
    if not isinstance(ours, ssl.SSLSocket):
        return by or "TCP, not encrypted"
    cipher = ours.cipher()
    return ", ".join(part for part in (by, ours.version(), cipher and cipher[0]) if part)


def is_proxied(connection: Connection) -> bool:
    """Whether the server numbers this connection otherwise than whoever answered when it was opened."""
    number = int(ask(connection, statement("facts", "own_number"))[0]["number"])
    return number % (1 << _NUMBER_BITS) != thread_id(connection)


def why_not(target: str) -> str:
    """Why nothing is measured through a proxy."""
    return f"{target} is a proxy: sessions, locks and what ends them would be those of connections that it chooses"


def require_direct(connection: Connection, target: str) -> None:
    """SlobError when a proxy stands between."""
    if is_proxied(connection):
        raise SlobError(why_not(target), PROXY_REMEDY)


def locate(connection: Connection) -> ServerLocation:
    """The server's process behind ``connection`` and its data directory, as far as this user may see them."""
    try:
        main_pid = _server(handle(connection))
    except UnprovedError as error:
        return ServerLocation.unknown(str(error))
    try:
        # A server works in its data directory.
        return ServerLocation(ProcessTree(main_pid), (serves(main_pid),))
    except UnprovedError as error:
        return ServerLocation(ProcessTree(main_pid), (), str(error))


def _server(ours: int) -> int:
    """The process at the other end, if it is a server's: nobody else would be called so and answer as one."""
    servers = tuple(_servers())
    if not is_unix(ours):
        return holder(ours, servers)
    pid = listener(ours)
    if pid not in servers:
        raise UnprovedError("another program than the server listens on the socket: a proxy or a tunnel")
    return pid


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
