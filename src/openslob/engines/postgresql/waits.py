"""Samples the wait events of the test's sessions over one connection, several looks a call."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

import psycopg
from psycopg import sql

from openslob.engines.base import WaitLook
from openslob.engines.postgresql.failures import reported
from openslob.engines.postgresql.names import Names
from openslob.engines.sql import read_sql

PACKAGE = "openslob.engines.postgresql"


def compose_waits(names: Names) -> sql.Composed:
    """The statement that creates the sampling procedure."""
    return sql.SQL(read_sql(PACKAGE, "waits")).format(waits=names.waits(), nap=names.nap())


class PostgresWaits:
    """Calls the sampling procedure. Its cost inside the server is this session's, and is measured."""

    def __init__(self, connection: psycopg.Connection[Any], names: Names, application: str) -> None:
        self._connection = connection
        connection.prepare_threshold = None
        self._statement = sql.SQL("CALL {}(%s, %s, %s, '{{}}', '{{}}', '{{}}')").format(names.waits())
        self._application = application

    def watch(self, looks: int, every_s: float) -> list[WaitLook]:
        """Look so many times; SlobError when the server is gone."""
        with reported("the wait events can't be sampled"):
            row = self._connection.execute(self._statement, (self._application, looks, every_s)).fetchone()
        seen = zip(*row, strict=True) if row else ()
        return [
            WaitLook(looked_us * 1000, {event: sessions for _, event, sessions in found if event})
            for looked_us, found in groupby(seen, key=itemgetter(0))
        ]

    def backend_id(self) -> int:
        """Process id of the sampler's backend."""
        return self._connection.info.backend_pid

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
