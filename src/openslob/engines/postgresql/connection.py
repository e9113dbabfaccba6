"""How a connection gets to the server: what goes into the record about it."""

from __future__ import annotations

from typing import Any

import psycopg

from openslob.engines.hosting.other_end import is_unix
from openslob.engines.sql import read_statements

PACKAGE = "openslob.engines.postgresql"


def transport(connection: psycopg.Connection[Any], direct: bool) -> str:
    """Unix socket, plain TCP, or TLS with what was agreed on; ``direct``: the server itself is at the other end.

    Behind a pooler the server tells of another connection, so that nothing but TLS itself is known of ours.
    """
    if not connection.pgconn.ssl_in_use:
        return "unix socket" if is_unix(connection.fileno()) else "TCP, not encrypted"
    row = connection.execute(read_statements(PACKAGE, "facts")["transport"]).fetchone() if direct else None
    return f"{row[0]}, {row[1]}" if row else "TLS"
