"""Servers that hang, as one does whose storage or virtual machine was stopped; and locks that others hold."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

import psutil
import psycopg
import pymysql
import pytest

from openslob.engines import patience
from openslob.engines.managed.base import ManagedServer
from openslob.engines.mysql.connection import parse
from openslob.run import ending, runner, session_pool


def give_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a driver wait no longer than a test can, for answers, connections and ends."""
    monkeypatch.setattr(patience, "ANSWER_S", 1.0)
    monkeypatch.setattr(patience, "PROBE_EVERY_S", 0.3)
    monkeypatch.setattr(patience, "PROBE_S", 2)
    monkeypatch.setattr(session_pool, "CONNECT_PATIENCE_S", 1.0)
    monkeypatch.setattr(session_pool, "LATE_PATIENCE_S", 0.5)
    monkeypatch.setattr(ending, "CUT_AFTER_S", 0.5)
    monkeypatch.setattr(ending, "GRACE_S", 1.0)
    monkeypatch.setattr(runner, "CLOSING_S", 0.5)


@contextmanager
def frozen(server: ManagedServer) -> Iterator[None]:
    """No process of a managed server does anything while this lasts; its host still accepts connections."""
    pid = server.status().pid
    assert pid is not None
    pids = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    try:
        _send(signal.SIGSTOP, pids)
        yield
    finally:
        _send(signal.SIGCONT, pids)


def _send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def _locked_in_postgresql(url: str) -> Iterator[None]:
    with psycopg.connect(url, application_name="bob") as connection:
        connection.execute("LOCK TABLE slob.cf1_1 IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


@contextmanager
def _locked_in_mariadb(url: str) -> Iterator[None]:
    with pymysql.connect(**parse(url).arguments) as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES slob.cf1_1 WRITE")
        yield


@dataclass(frozen=True)
class Kind:
    """What tests need to know of an engine.

    ``server`` is the fixture of its server and ``adapter`` the module that calls its ``quiesce``. ``locked(url)`` holds
    a lock of schema 1's table that no operation passes, and ``blocker`` is how an error names its holder.
    ``limits`` are those of the engine's own waits, shortened, by the place where they are defined.
    """

    server: str
    adapter: str
    locked: Callable[[str], AbstractContextManager[None]]
    blocker: str
    limits: Mapping[str, float]


KINDS = {
    "postgresql": Kind(
        "pg_server",
        "openslob.engines.postgresql.adapter",
        _locked_in_postgresql,
        r"waits for a lock held by server process \d+ \(user slob, bob, idle in transaction since",
        # libpq knows no shorter ones.
        {"openslob.engines.postgresql.adapter.CONNECT_TIMEOUT_S": 2, "openslob.engines.postgresql.adapter.PROBE_S": 2},
    ),
    "mariadb": Kind(
        "maria_server",
        "openslob.engines.mysql.adapter",
        _locked_in_mariadb,
        r"\(connection \d+\) waits for a lock \(Waiting for table metadata lock\) that may be held by connection "
        r"\d+ \(\w+@localhost, idle for",
        {"openslob.engines.mysql.connection.CONNECT_TIMEOUT_S": 2},
    ),
}
