"""What tables take on disk, and whether the server's disk can be looked at from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from openslob.engines.facts import ServerLocation
from openslob.engines.peer_process import UnprovedError, holder, is_unix, listener, serves
from openslob.engines.postgresql.tables import Connection
from openslob.process_selector import ProcessTree


def locate(connection: psycopg.Connection[Any]) -> ServerLocation:
    """The postmaster behind ``connection`` and its data directory, as far as this user may see them."""
    try:
        main_pid = _postmaster(connection)
    except UnprovedError as error:
        return ServerLocation.unknown(str(error))
    try:
        # The postmaster works in its data directory, whatever a role may be told of it.
        return ServerLocation(ProcessTree(main_pid), (serves(main_pid),))
    except UnprovedError as error:
        return ServerLocation(ProcessTree(main_pid), (), str(error))


def with_tables_in(found: ServerLocation, tablespaces: Sequence[str]) -> ServerLocation:
    """The same with the directory of the tablespace that holds the test tables; none if they lie in several."""
    if found.data_directory is None or not tablespaces:
        return found
    if len(tablespaces) > 1:
        return replace(found, data_directories=(), why_unknown="the test tables lie in several tablespaces")
    return replace(found, data_directories=(found.data_directory / tablespaces[0],))


def _postmaster(connection: psycopg.Connection[Any]) -> int:
    """The parent of the process that serves the connection, once it is known that this one does."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    backend = int(row[0]) if row else 0
    parent = _parent_of(backend)
    if is_unix(connection.fileno()):
        proved = listener(connection.fileno()) == parent
    else:
        proved = holder(connection.fileno(), (backend,)) == backend
    if parent is None or not proved:
        raise UnprovedError("no process of this host serves the connection: a proxy, a tunnel or a container does")
    return parent


def _parent_of(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the command's name, which may hold blanks and parentheses.
    return int(status[status.rindex(")") + 2 :].split()[1])


# An index entry: 8 bytes of key, 8 of tuple, 4 of line pointer, in pages filled to 90 %; and the levels above.
_INDEX_ENTRY_BYTES = 23


def index_bytes(rows: int) -> int:
    """Bytes of the index on so many keys."""
    return rows * _INDEX_ENTRY_BYTES


def is_local(connection: Connection) -> bool:
    """Whether the server is proved to be on this host."""
    return locate(connection).is_here


def visible(directory: Path) -> bool:
    """Whether this user can see the server's directory."""
    try:
        return directory.is_dir()
    except PermissionError:
        return False
