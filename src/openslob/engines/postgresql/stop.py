"""The stop signal of a run: an advisory lock that is held exclusively when the sessions must stop."""

from __future__ import annotations

from typing import Any

import psycopg

from openslob.engines.postgresql.errors import reported

# "slobstop" as a number.
STOP_KEY = int.from_bytes(b"slobstop", "big", signed=True)


class PostgresStop:
    """Holds the lock from `request` until it is closed. A session that can't share it ends its slice."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def request(self) -> None:
        """Make every session stop within about half a second."""
        with reported("the sessions can't be stopped"):
            self._connection.execute("SELECT pg_advisory_lock(%s)", (STOP_KEY,))

    def close(self) -> None:
        """Release the lock."""
        self._connection.close()
