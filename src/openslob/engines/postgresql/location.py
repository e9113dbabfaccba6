"""Where the server is on this host, and whether its disk can be seen from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from openslob.core.host import OtherHost
from openslob.engines import peer_process
from openslob.engines.facts import ServerLocation
from openslob.engines.peer_process import UnprovedError, find_holder, find_listener, is_unix
from openslob.engines.postgresql.connection import PACKAGE, Connection
from openslob.engines.sql import read_statements


def locate(connection: Connection) -> ServerLocation:
    """Return the postmaster behind ``connection`` and its data directory, as far as this user may see them."""
    # Whether or not this role may read the setting data_directory.
    return peer_process.locate(lambda: _postmaster(connection))


def locate_on(host: OtherHost, connection: Connection, named: int | None) -> ServerLocation:
    """Return the postmaster on another host, and its data directory, as far as the user there may see them."""
    return peer_process.locate_elsewhere(
        host, lambda: _postmaster_on(host, connection), named, lambda: _name_directory(connection)
    )


def _name_directory(connection: Connection) -> str:
    """Return the setting data_directory; empty if this role may not read it."""
    row = connection.execute(read_statements(PACKAGE, "facts")["data_directory"]).fetchone()
    return str(row[0]) if row else ""


def _postmaster_on(host: OtherHost, connection: Connection) -> int:
    backend, port = connection.execute("SELECT pg_backend_pid(), inet_client_port()").fetchone() or (0, None)
    # A process of another server, or of another host, may have this number: its title has the client's port.
    if f"({port})" not in host.read_title(backend):
        raise UnprovedError(
            f"no process of {host.where} serves the connection: the server runs elsewhere, or in a container of its "
            "own; name its main process by --server-pid"
        )
    return parse_parent((host.read(f"/proc/{backend}/stat") or b"").decode(errors="replace"))


def with_tables_in(location: ServerLocation, tablespaces: Sequence[str]) -> ServerLocation:
    """Return the location with the directory of the tablespace of the test tables; none if they are in several."""
    if location.data_directory is None or not tablespaces:
        return location
    if len(tablespaces) > 1:
        return location.without_device("the test tables lie in several tablespaces")
    return replace(location, data_directories=(location.data_directory / tablespaces[0],))


def _postmaster(connection: Connection) -> int:
    """Return the parent of the process that is proved to serve the connection."""
    row = connection.execute("SELECT pg_backend_pid(), inet_client_port()").fetchone()
    backend, port = row or (0, None)
    parent = _parent_of(backend)
    if is_unix(connection.fileno()):
        proved = find_listener(connection.fileno()) == parent
    else:
        seen_port = port if _serves_port(backend, port) else None
        proved = find_holder(connection.fileno(), (backend,), seen_port) == backend
    if parent is None or not proved:
        raise UnprovedError("no process of this host serves the connection: a proxy, a tunnel or a container does")
    return parent


def _parent_of(pid: int) -> int | None:
    try:
        return parse_parent(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
    except OSError:
        return None


def parse_parent(status: str) -> int:
    """Return a process's parent by its status, 0 if that is empty."""
    if not status:
        return 0
    # The second field is the command's name, which may hold blanks and parentheses.
    return int(status[status.rindex(")") + 2 :].split()[1])


def _serves_port(pid: int, port: int | None) -> bool:
    """Return whether a process is by its title the backend of a client with this port.

    A server in a container has process ids of its own, which other processes of this host may have.
    """
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return f"({port})".encode() in title


def is_local(connection: Connection) -> bool:
    """Return whether the server is proved to be on this host."""
    return locate(connection).is_known


def is_visible(directory: Path) -> bool:
    """Return whether this user can see the server's directory."""
    try:
        return directory.is_dir()
    except PermissionError:
        return False
