"""The stop signal of a run: a named lock that is held when the sessions must stop."""

from __future__ import annotations

from contextlib import suppress

import pymysql

from openslob.engines.mysql.connection import Connection, query, statement
from openslob.engines.mysql.errors import reported
from openslob.engines.mysql.names import Names

STOP = "stop"
_PATIENCE_S = 5


class MysqlStop:
    """Holds the lock from `request` until it is closed. A session that finds it held ends its slice."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self._connection = connection
        self._values = {"lock": names.lock(STOP), "patience": _PATIENCE_S}

    def request(self) -> None:
        """Make every session stop within a fraction of a second."""
        with reported("the sessions can't be stopped"):
            query(self._connection, statement("facts", "lock"), self._values)

    def close(self) -> None:
        """Release the lock."""
        with suppress(pymysql.Error):
            self._connection.close()
