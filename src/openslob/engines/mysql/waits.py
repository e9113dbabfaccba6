"""Samples what the test's sessions are doing over one connection."""

from __future__ import annotations

from contextlib import suppress

import pymysql

from openslob.engines.mysql.connection import Connection, ask, statement, thread_id
from openslob.engines.mysql.failures import reported
from openslob.engines.mysql.names import Names


class MysqlWaits:
    """Wait events where the server observes them, else the stages of statements that it shows to everybody."""

    def __init__(self, connection: Connection, names: Names, sessions: str) -> None:
        self._connection = connection
        self._values = {"purpose": sessions}
        self._statement = statement("waits", self._source(), roster=names.roster())

    def _source(self) -> str:
        try:
            return "instrumented" if ask(self._connection, statement("waits", "ready")) else "states"
        except pymysql.Error:  # this user may not read them
            return "states"

    def look(self) -> dict[str, int]:
        """Sessions by event; SlobError when the server is gone."""
        with reported("the wait events can't be sampled"):
            return {row["event"]: row["sessions"] for row in ask(self._connection, self._statement, self._values)}

    def backend_ids(self) -> list[int]:
        """The server's number of the sampler's connection."""
        return [thread_id(self._connection)]

    def close(self) -> None:
        """Close the connection."""
        with suppress(pymysql.Error):
            self._connection.close()
