"""Replication: how far a server is in the log, of the transactions of a Galera cluster or in the binary log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.constants import ER

from openslob.core.errors import SlobError
from openslob.engines.copies import CopyReading, LogPosition
from openslob.engines.mysql.connection import Connection, query, statement
from openslob.engines.mysql.errors import code_of, reported


class MysqlReplication:
    """The position of a node of a Galera cluster, or in the binary log. Implements `engines.base.Replicated`."""

    def __init__(self, target: str, connect: Callable[[str], Connection]) -> None:
        self._target = target
        self._connect = connect

    def log_position(self) -> int:
        """Return the last transaction of the cluster that is committed here."""
        with self._connect("query") as connection, reported(f"{self._target} does not answer"):
            rows = query(connection, statement("facts", "replication"))
        status = {row["Variable_name"]: row["Value"] for row in rows}
        if "wsrep_last_committed" not in status:
            raise SlobError(
                f"{self._target} does not report its replication position",
                "several instances can be measured together only with Galera",
            )
        return int(status["wsrep_last_committed"])

    def open_reader(self) -> MysqlCopyReader:
        return MysqlCopyReader(self._target, self._connect("copies"))


class MysqlCopyReader:
    """Reads the position in the binary log over one connection. Implements `openslob.engines.copies.CopyReader`."""

    def __init__(self, target: str, connection: Connection) -> None:
        self._target = target
        self._connection = connection

    def read(self) -> CopyReading:
        """Return the position in the binary log of the primary, of this server or of the one that it follows."""
        with reported(f"{self._target} does not answer"):
            if rows := query(self._connection, statement("replication", "copy")):
                # What MySQL calls a source is a master in MariaDB and in older versions.
                return copy_reading({name.replace("Source", "Master"): each for name, each in rows[0].items()})
            return CopyReading(self._end_of_log())

    def _end_of_log(self) -> LogPosition | None:
        try:
            rows = query(self._connection, statement("replication", "logs"))
        except pymysql.Error as error:
            if code_of(error) == ER.NO_BINARY_LOGGING:
                return None
            raise
        sizes = {_number(row["Log_name"]): int(row["File_size"]) for row in rows}
        return LogPosition(sizes[max(sizes)], max(sizes), sizes) if sizes else None

    def close(self) -> None:
        with suppress(pymysql.Error):
            self._connection.close()


def copy_reading(status: Mapping[str, Any]) -> CopyReading:
    """Return what the status of a replica tells."""
    return CopyReading(
        _position(status["Relay_Master_Log_File"], status["Exec_Master_Log_Pos"]),
        _position(status["Master_Log_File"], status["Read_Master_Log_Pos"]),
        None if status["Seconds_Behind_Master"] is None else float(status["Seconds_Behind_Master"]),
    )


def _position(file: str, offset: int) -> LogPosition | None:
    return LogPosition(int(offset), _number(file)) if file else None


def _number(file: str) -> int:
    return int(file.rpartition(".")[2])
