"""Samples what the test's sessions are doing over one connection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pymysql

from openslob.engines.mysql.connection import Connection, Row, ask, statement, thread_id
from openslob.engines.mysql.failures import reported
from openslob.engines.mysql.names import Names

_TRANSACTIONS = "information_schema.innodb_trx"
_NONE = "(SELECT 0 AS trx_mysql_thread_id, '' AS trx_state)"


class MysqlWaits:
    """Wait events where the server observes them, else the stages of statements that it shows to everybody."""

    def __init__(self, connection: Connection, names: Names, sessions: str) -> None:
        self._connection = connection
        self._values = {"purpose": sessions}
        locks_seen = self._ask("row_locks") is not None
        # Without it a session that waits for a row lock would be taken for one on the CPU.
        source = "instrumented" if locks_seen and self._ask("ready") else "states"
        transactions = _TRANSACTIONS if locks_seen else _NONE
        self._statement = statement("waits", source, roster=names.roster(), transactions=transactions)

    def _ask(self, question: str) -> Sequence[Row] | None:
        """The answer; None when this user may not know."""
        try:
            return ask(self._connection, statement("waits", question))
        except pymysql.Error:
            return None

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
