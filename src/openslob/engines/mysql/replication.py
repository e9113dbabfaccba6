"""Replication: how far a server is in the log, and managed standbys.

The log's position is that of the transactions of a Galera cluster, or that in the binary log. Managed standbys follow
by global transaction ids, over a port of this host that only a password opens.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pymysql
from pymysql.constants import ER

from openslob.core.errors import SlobError
from openslob.engines.copies import CopyReading, LogPosition
from openslob.engines.managed.base import ServerSpec
from openslob.engines.mysql.connection import Connection, open_connection, parse, query, query_shown, statement
from openslob.engines.mysql.errors import code_of, ignoring, report_as
from openslob.engines.patience import PROBE_S, NoAnswerError, Patience, Watch, Work, wait
from openslob.engines.server_engine import ConnectionOwner


@dataclass(frozen=True)
class ReplicationRole:
    """What a server says of its place among servers that replicate.

    ``group`` is the same on a primary and on those that follow it, ``member`` is this one's own; both are empty where
    it does not replicate. ``position`` counts the transactions committed here, None where it does not tell.
    """

    group: str = ""
    member: str = ""
    position: int | None = None


def read_role(connection: Connection) -> ReplicationRole:
    """Return the role of a node of a Galera cluster, or of a MariaDB server that replicates by its binary log."""
    galera = query_shown(connection, statement("facts", "replication"))
    if group := galera.get("wsrep_cluster_state_uuid"):
        return ReplicationRole(group, position=int(galera["wsrep_last_committed"]))
    try:
        own = query(connection, statement("replication", "role"))[0]
        followed = query(connection, statement("replication", "copy"))
    except pymysql.Error as error:
        if code_of(error) not in (ER.UNKNOWN_SYSTEM_VARIABLE, ER.SPECIFIC_ACCESS_DENIED_ERROR):
            raise
        return ReplicationRole()
    if not (own["has_log"] or followed):
        return ReplicationRole()
    primary = followed[0]["Master_Server_Id"] if followed else own["number"]
    return ReplicationRole(f"server {primary}", f"server {own['number']}", count_transactions(own["position"]))


def count_transactions(position: str) -> int | None:
    """Return how many transactions a position of global ids (``DOMAIN-SERVER-NUMBER,…``) has; None if it is empty.

    They have numbers of their own in each domain, and are applied in this order.
    """
    return sum(int(each.rpartition("-")[2]) for each in position.split(",")) if position else None


class MysqlReplication:
    """The position of a node of a Galera cluster, or in the binary log. Implements `engines.base.Replicated`."""

    def __init__(self, target: str, connect: Callable[[str], Connection]) -> None:
        self._target = target
        self._connect = connect

    def log_position(self) -> int:
        """Return the last transaction of the cluster, or of the primary, that is committed here."""
        with self._connect("query") as connection, report_as(f"{self._target} does not answer"):
            position = read_role(connection).position
        if position is None:
            raise SlobError(
                f"{self._target} does not report its replication position",
                "several instances can be measured together only with Galera, or as MariaDB's with a binary log",
            )
        return position

    def open_reader(self) -> MysqlCopyReader:
        return MysqlCopyReader(self._target, self._connect("copies"))


class MysqlCopyReader(ConnectionOwner[Connection]):
    """Reads the position in the binary log over one connection. Implements `openslob.engines.copies.CopyReader`."""

    def __init__(self, target: str, connection: Connection) -> None:
        self._target = target
        super().__init__(connection)

    def read(self) -> CopyReading:
        """Return the position in the binary log of the primary, of this server or of the one that it follows."""
        with report_as(f"{self._target} does not answer"):
            if rows := query(self._connection, statement("replication", "copy")):
                # What MySQL calls a source is a master in MariaDB and in older versions.
                return copy_reading({name.replace("Source", "Master"): value for name, value in rows[0].items()})
            return CopyReading(self._end_of_log())

    def _end_of_log(self) -> LogPosition | None:
        with ignoring(ER.NO_BINARY_LOGGING):
            rows = query(self._connection, statement("replication", "logs"))
            sizes = {_number(row["Log_name"]): int(row["File_size"]) for row in rows}
            return LogPosition(sizes[max(sizes)], max(sizes), sizes) if sizes else None
        return None


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


PURPOSE = "replication"
# A standby that got much of the log and applied little of it does so first.
_PROMOTION_S = 300.0
_LOOK_S = 1
_ATTACHED_S = 30.0
_PASSWORD_BYTES = 24


def user_of(name: str) -> str:
    """Return the account that a standby has on its primary."""
    return f"slob-standby-{name}"


@contextmanager
def connect_as_administrator(url: str, failure: str) -> Iterator[Connection]:
    """Open a connection as an administrator for the block; errors in it begin with ``failure``.

    No statement is waited for without end: the server may hang.
    """
    params = parse(url)
    params = replace(params, arguments={"connect_timeout": PROBE_S, **params.arguments})
    try:
        with open_connection(params, PURPOSE, Watch(Patience(), Work.SHORT, str)) as connection, report_as(failure):
            yield connection
    except NoAnswerError as error:
        raise SlobError(f"{failure}: {error.what}", error.remedy) from error


def follows(url: str) -> bool:
    """Return whether a server knows which one it follows."""
    with connect_as_administrator(url, "the server can't be asked whom it follows") as connection:
        return bool(_status(connection))


def follow(url: str, spec: ServerSpec, primary_url: str, primary: ServerSpec) -> None:
    """Let a server that is a copy of its primary's files follow the primary."""
    with connect_as_administrator(url, f"{spec.name} can't follow {primary.name}") as own:
        account = {"user": user_of(spec.name), "password": secrets.token_urlsafe(_PASSWORD_BYTES)}
        with connect_as_administrator(primary_url, f"{primary.name} can't have a standby") as source:
            for name in ("not_logged", "let_in", "let_follow"):
                query(source, statement(PURPOSE, name), account)
        for name in ("begin", "follow", "start"):
            query(own, statement(PURPOSE, name), {**account, "port": primary.port})


def let_go(primary_url: str, name: str, last: bool) -> None:
    """Remove a standby's account from its primary; after the ``last`` one the binary log, too."""
    with connect_as_administrator(primary_url, f"the account of {name} can't be removed") as connection:
        query(connection, statement(PURPOSE, "not_logged"))
        query(connection, statement(PURPOSE, "let_out"), {"user": user_of(name)})
        if last:
            query(connection, statement(PURPOSE, "forget_log"))


def promote(url: str, name: str) -> None:
    """Let a standby apply what it has got of the log and take writes from then on. SlobError if it does not."""
    with connect_as_administrator(url, f"{name} can't be promoted") as connection:
        query(connection, statement(PURPOSE, "receive_no_more"))
        if not wait(lambda: _has_applied_all(connection, name), _PROMOTION_S, every_s=0):
            raise SlobError(f"{name} does not apply the log that it has got", "its log may say why")
        for step in ("stop", "forget_primary", "take_writes"):
            query(connection, statement(PURPOSE, step))


def _has_applied_all(connection: Connection, name: str) -> bool:
    """Wait a while for a standby to apply what it has got; return whether it has. SlobError when it applies nothing."""
    status = _status(connection)
    got = {"position": status.get("Gtid_IO_Pos") or "", "seconds": _LOOK_S}
    if query(connection, statement(PURPOSE, "applied"), got)[0]["missing"] == 0:
        return True
    if status.get("Slave_SQL_Running") != "Yes":
        why = status.get("Last_SQL_Error") or "its replication was stopped"
        raise SlobError(f"{name} does not apply the log that it received: {why}", "create it again, or see its log")
    return False


def await_copies(url: str, name: str, on: bool, standbys: Mapping[str, str]) -> None:
    """Let commits wait until a standby has received them, or no longer. SlobError if no standby takes part.

    ``standbys`` are the URLs of the standbys by name: one that connected before asks again to take part.
    """
    failure = f"the replication of {name} can't be set"
    with connect_as_administrator(url, failure) as connection:
        if not on:
            query(connection, statement(PURPOSE, "go_on"))
            return
        query(connection, statement(PURPOSE, "wait_without_end"))
        query(connection, statement(PURPOSE, "wait"))
        for standby_url in standbys.values():
            with connect_as_administrator(standby_url, failure) as copy:
                query(copy, statement(PURPOSE, "receive_no_more"))
                query(copy, statement(PURPOSE, "receive"))
        if not wait(lambda: _waits(connection), _ATTACHED_S):
            query(connection, statement(PURPOSE, "go_on"))
            raise SlobError(f"no standby of {name} takes part in semi-synchronous replication", "see their logs")


def _waits(connection: Connection) -> bool:
    said = query_shown(connection, statement(PURPOSE, "waits"))
    return said.get("Rpl_semi_sync_master_status") == "ON" and int(said.get("Rpl_semi_sync_master_clients", 0)) > 0


def _status(connection: Connection) -> Mapping[str, object]:
    rows = query(connection, statement(PURPOSE, "copy"))
    return rows[0] if rows else {}
