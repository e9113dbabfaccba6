"""Managed standbys: replication by global transaction ids, over a port of this host that only a password opens."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from openslob.core.errors import SlobError
from openslob.engines.managed.base import ServerSpec
from openslob.engines.mysql.connection import Connection, open_connection, parse, query, statement
from openslob.engines.mysql.errors import reported
from openslob.engines.patience import PROBE_S, NoAnswerError, Patience, Watch, Work

PURPOSE = "replication"
# A standby that got much of the log and applied little of it does so first.
_PROMOTION_S = 300.0
_LOOK_S = 1
_ATTACHED_S = 30.0
_POLL_S = 0.02
_PASSWORD_BYTES = 24


def user_of(name: str) -> str:
    """Return the account that a standby has on its primary."""
    return f"slob-standby-{name}"


@contextmanager
def connected(url: str, failure: str) -> Iterator[Connection]:
    """Open a connection as an administrator for the block; errors in it begin with ``failure``.

    No statement is waited for without end: the server may hang.
    """
    params = parse(url)
    params = replace(params, arguments={"connect_timeout": PROBE_S, **params.arguments})
    try:
        with open_connection(params, PURPOSE, Watch(Patience(), Work.SHORT, str)) as connection, reported(failure):
            yield connection
    except NoAnswerError as error:
        raise SlobError(f"{failure}: {error.what}", error.remedy) from error


def follows(url: str) -> bool:
    """Return whether a server knows which one it follows."""
    with connected(url, "the server can't be asked whom it follows") as connection:
        return bool(_status(connection))


def follow(url: str, spec: ServerSpec, primary_url: str, primary: ServerSpec) -> None:
    """Let a server that is a copy of its primary's files follow the primary."""
    with connected(url, f"{spec.name} can't follow {primary.name}") as own:
        account = {"user": user_of(spec.name), "password": secrets.token_urlsafe(_PASSWORD_BYTES)}
        with connected(primary_url, f"{primary.name} can't have a standby") as source:
            for name in ("not_logged", "let_in", "let_follow"):
                query(source, statement(PURPOSE, name), account)
        for name in ("begin", "follow", "start"):
            query(own, statement(PURPOSE, name), {**account, "port": primary.port})


def let_go(primary_url: str, name: str, last: bool) -> None:
    """Remove a standby's account from its primary; after the ``last`` one the binary log, too."""
    with connected(primary_url, f"the account of {name} can't be removed") as connection:
        query(connection, statement(PURPOSE, "not_logged"))
        query(connection, statement(PURPOSE, "let_out"), {"user": user_of(name)})
        if last:
            query(connection, statement(PURPOSE, "forget_log"))


def promote(url: str, name: str) -> None:
    """Let a standby apply what it has got of the log and take writes from then on. SlobError if it does not."""
    with connected(url, f"{name} can't be promoted") as connection:
        query(connection, statement(PURPOSE, "receive_no_more"))
        deadline = time.monotonic() + _PROMOTION_S
        while not _has_applied_all(connection, name):
            if time.monotonic() > deadline:
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
        raise SlobError(f"{name} does not apply the log that it has got: {why}", "make it again, or see its log")
    return False


def await_copies(url: str, name: str, on: bool, standbys: Mapping[str, str]) -> None:
    """Let commits wait until a standby has received them, or no longer. SlobError if no standby takes part.

    ``standbys`` are the URLs of the standbys by name: one that connected before asks again to take part.
    """
    failure = f"the replication of {name} can't be set"
    with connected(url, failure) as connection:
        if not on:
            query(connection, statement(PURPOSE, "go_on"))
            return
        query(connection, statement(PURPOSE, "wait_without_end"))
        query(connection, statement(PURPOSE, "wait"))
        for each in standbys.values():
            with connected(each, failure) as copy:
                query(copy, statement(PURPOSE, "receive_no_more"))
                query(copy, statement(PURPOSE, "receive"))
        deadline = time.monotonic() + _ATTACHED_S
        while not _waits(connection):
            if time.monotonic() > deadline:
                query(connection, statement(PURPOSE, "go_on"))
                raise SlobError(f"no standby of {name} takes part in semi-synchronous replication", "see their logs")
            time.sleep(_POLL_S)


def _waits(connection: Connection) -> bool:
    said = {row["Variable_name"]: row["Value"] for row in query(connection, statement(PURPOSE, "waits"))}
    return said.get("Rpl_semi_sync_master_status") == "ON" and int(said.get("Rpl_semi_sync_master_clients", 0)) > 0


def _status(connection: Connection) -> Mapping[str, object]:
    rows = query(connection, statement(PURPOSE, "copy"))
    return rows[0] if rows else {}
