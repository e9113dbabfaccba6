"""Where the server is on this host, proved by a connection of ours: never guessed from its address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from openslob.engines.base import Footprint
from openslob.engines.hosting.other_end import UnprovedError, holder, is_unix, listener, works_in


def locate(connection: psycopg.Connection[Any]) -> Footprint:
    """The postmaster behind ``connection`` and its data directory, as far as this user may see them."""
    try:
        main_pid = _postmaster(connection)
    except UnprovedError as error:
        return Footprint(None, None, str(error))
    try:
        # The postmaster works in its data directory, whatever a role may be told of it.
        return Footprint(main_pid, works_in(main_pid))
    except UnprovedError as error:
        return Footprint(main_pid, None, str(error))


def with_tables_in(found: Footprint, tablespaces: Sequence[str]) -> Footprint:
    """The same with the directory of the tablespace that holds the test tables; none if they lie in several."""
    if found.data_directory is None or not tablespaces:
        return found
    if len(tablespaces) > 1:
        return replace(found, data_directory=None, why_unknown="the test tables lie in several tablespaces")
    return replace(found, data_directory=found.data_directory / tablespaces[0])


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
