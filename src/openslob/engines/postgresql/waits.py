"""Samples the wait events of the test's sessions over one connection."""

from __future__ import annotations

from typing import Any

import psycopg

from openslob.engines.postgresql.failures import reported
from openslob.engines.postgresql.pooling import backend_pid
from openslob.engines.sql import read_sql

PACKAGE = "openslob.engines.postgresql"


class PostgresWaits:
    """One statement a look, prepared once: its cost is the sampler's own and is measured."""

    def __init__(self, connection: psycopg.Connection[Any], application: str) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._statement = read_sql(PACKAGE, "waits").encode()
        self._parameters = {"application": application}

    def look(self) -> dict[str, int]:
        """Sessions by event; SlobError when the server is gone."""
        with reported("the wait events can't be sampled"):
            # Prepared from the first look on, so that all cost the same.
            return dict(self._cursor.execute(self._statement, self._parameters, prepare=True).fetchall())

    def backend_ids(self) -> list[int]:
        """Process id of the sampler's backend."""
        return [backend_pid(self._connection)]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
