"""The sampler of sessions: the test's by wait event, and others at work, by one statement on one connection."""

from __future__ import annotations

from typing import Any

import psycopg

from openslob.engines.base import Activity
from openslob.engines.postgresql.connection import PACKAGE, backend_pid
from openslob.engines.postgresql.errors import reported
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.sql import read_sql


class PostgresWaits:
    """Samples by a statement that is prepared once. Its cost is measured as the sampler's."""

    def __init__(self, connection: psycopg.Connection[Any], application: str) -> None:
        self._connection = connection
        self._pattern = application.encode()
        with reported("the wait events can't be sampled"):
            self._statement = self._prepare()

    def _prepare(self) -> PlainStatement:
        return PlainStatement(self._connection, read_sql(PACKAGE, "waits").encode(), b"sample")

    def sample(self) -> Activity:
        """Return the sessions at work; SlobError when the server is gone.

        Others are unknown when this role may not see what one of them does.
        """
        with reported("the wait events can't be sampled"):
            rows = self._statement.rows(self._pattern)
        found: dict[bytes, dict[str, int]] = {b"test": {}, b"other": {}, b"hidden": {}}
        for kind, what, sessions in rows:
            if number := int(sessions):
                found[kind][str(what, "utf-8")] = number
        return Activity(found[b"test"], None if found[b"hidden"] else found[b"other"])

    def backend_ids(self) -> list[int]:
        return [backend_pid(self._connection)]

    def close(self) -> None:
        self._connection.close()
