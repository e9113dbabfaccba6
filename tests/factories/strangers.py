"""Somebody else's server with an ordinary user on it, and what its own statistics and the kernel say from outside."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import psycopg
import pymysql

from factories.foreign_mariadb import ForeignMariaDb
from factories.foreign_postgresql import ForeignServer
from factories.promised import PROMISED, Server
from openslob.core.units import NANOS

DATABASE, USER = "bench", "app"
_EVERY_S = 0.1


@dataclass(frozen=True)
class Rows:
    """What happened to the rows of the test tables by the server's statistics, found by the loop's index."""

    found: int
    updated: int

    def __sub__(self, before: Rows) -> Rows:
        return Rows(self.found - before.found, self.updated - before.updated)


class Stranger(ABC):
    """A server and its ordinary user, who has the rights that docs/your-own-server.md demands for a load and a run.

    ``reads_counter`` is the line of /proc/PID/io that counts the bytes of blocks that it reads.
    """

    reads_counter: str
    url: str
    # Of the administrator, who owns the contract tests' data.
    admin_url: str

    @abstractmethod
    def version(self) -> str:
        """Return the release, such as 8.0.31."""

    @abstractmethod
    def grant(self, remedy: str) -> None:
        """Do as the administrator what `slob check` advises, as it is printed."""

    @abstractmethod
    def main_pid(self) -> int:
        """Return the process that all others of the server descend from."""

    @abstractmethod
    def rows(self) -> Rows:
        """Return the server's own counts of the rows of the test tables."""

    @abstractmethod
    def commits(self) -> int:
        """Return how many transactions have changed something."""

    @abstractmethod
    def left(self) -> Sequence[str]:
        """Return what the ordinary user has left: tables, procedures, locks and sessions."""

    @abstractmethod
    def writer(self) -> object:
        """Context in which another client, in a database of its own, changes rows all the time."""

    @abstractmethod
    def stop(self) -> None:
        """Stop and remove it."""


class PostgresqlStranger(Stranger):
    """PostgreSQL, whose reads the page cache serves."""

    reads_counter = "rchar"

    def __init__(self, server: ForeignServer) -> None:
        self._server = server
        server.add_role(USER)
        server.add_database(DATABASE)
        server.ask(f"GRANT CONNECT ON DATABASE {DATABASE} TO {USER}")
        server.ask(f"CREATE SCHEMA slob AUTHORIZATION {USER}", DATABASE)
        server.add_database("others")
        server.add_database("contract")
        self.url = server.url(USER, DATABASE)
        self.admin_url = server.url(database="contract")

    def version(self):
        return self._server.ask("SHOW server_version")[0][0].split()[0]

    def grant(self, remedy):
        # psql sends each statement by itself, as they are printed a line each.
        with psycopg.connect(self._server.url(database=DATABASE), autocommit=True) as connection:
            for line in remedy.splitlines():
                connection.execute(line)

    def main_pid(self):
        return int((self._server.data / "postmaster.pid").read_text().split()[0])

    def rows(self):
        asked = "SELECT sum(idx_tup_fetch), sum(n_tup_upd) FROM pg_stat_user_tables WHERE relname LIKE 'cf1%'"
        return Rows(*map(int, self._server.ask(asked, DATABASE)[0]))

    def commits(self):
        return int(self._server.ask("SELECT txid_snapshot_xmax(txid_current_snapshot())")[0][0])

    def left(self):
        things = f"""
            SELECT 'relation ' || oid::regclass FROM pg_class WHERE relowner = '{USER}'::regrole
            UNION ALL SELECT 'routine ' || oid::regprocedure FROM pg_proc WHERE proowner = '{USER}'::regrole
            UNION ALL SELECT 'lock ' || classid || '/' || objid FROM pg_locks WHERE locktype = 'advisory'
            UNION ALL SELECT 'session ' || pid FROM pg_stat_activity WHERE usename = '{USER}'"""
        return [row[0] for row in self._server.ask(things, DATABASE)]

    @contextmanager
    def writer(self):
        self._server.ask(
            "CREATE TABLE IF NOT EXISTS busy AS SELECT n, 0 AS v FROM generate_series(1, 2000) AS n", "others"
        )
        with (
            closing(psycopg.connect(self._server.url(database="others"), autocommit=True)) as connection,
            repeated(lambda: connection.execute("UPDATE busy SET v = v + 1")),
        ):
            yield

    def stop(self):
        self._server.stop()


class MysqlStranger(Stranger):
    """MariaDB or MySQL, which read past the page cache; a large transaction's part of the binary log, through it."""

    reads_counter = "read_bytes"

    def __init__(self, server: ForeignMariaDb) -> None:
        self._server = server
        server.add_user(USER, DATABASE, "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, CREATE ROUTINE, "
                                        "ALTER ROUTINE, EXECUTE")  # fmt: skip
        server.ask("CREATE DATABASE others")
        self.url, self.admin_url = server.url(USER, DATABASE), server.admin_url("slob")

    def version(self):
        return str(self._server.ask("SELECT VERSION()")[0][0]).split("-")[0]

    def grant(self, remedy):
        self._server.ask(remedy.rstrip(";"))

    def main_pid(self):
        return self._server.pid

    def rows(self):
        asked = f"""SELECT SUM(count_fetch), SUM(count_update)
                    FROM performance_schema.table_io_waits_summary_by_index_usage
                    WHERE object_schema = '{DATABASE}' AND object_name LIKE 'cf1%' AND index_name = 'custid'"""
        return Rows(*map(int, self._server.ask(asked)[0]))

    def commits(self):
        return int(self._server.ask("SHOW GLOBAL STATUS LIKE 'Com_commit'")[0][1])

    def left(self):
        things = f"""
            SELECT CONCAT('table ', table_name) FROM information_schema.tables WHERE table_schema = '{DATABASE}'
            UNION ALL SELECT CONCAT('routine ', routine_name) FROM information_schema.routines
                      WHERE routine_schema = '{DATABASE}'
            UNION ALL SELECT CONCAT('session ', id) FROM information_schema.processlist WHERE user = '{USER}'"""
        return [row[0] for row in self._server.ask(things)]

    @contextmanager
    def writer(self):
        self._server.ask("CREATE TABLE IF NOT EXISTS others.busy (n INT AUTO_INCREMENT PRIMARY KEY, v INT)")
        self._server.ask("INSERT INTO others.busy (v) SELECT 0 FROM information_schema.columns LIMIT 1000")
        way = {"unix_socket": str(self._server.socket), "user": self._server.admin, "autocommit": True}
        with closing(pymysql.connect(**way)) as connection:
            cursor = connection.cursor()
            with repeated(lambda: cursor.execute("UPDATE others.busy SET v = v + 1")):
                yield

    def stop(self):
        self._server.stop()


@contextmanager
def repeated(act):
    """Another thread acts again and again within the block, with a rest in which the server can clean up behind it."""
    ended = threading.Event()

    def act_on():
        while not ended.wait(0.01):
            act()

    thread = threading.Thread(target=act_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def start(name: str) -> Stranger:
    """Start a promised server. NotToBeHadError where it can't be had."""
    server: Server = PROMISED[name].make()
    try:
        server.start()
        return PostgresqlStranger(server) if isinstance(server, ForeignServer) else MysqlStranger(server)
    except BaseException:
        server.stop()
        raise


class Outside:
    """The kernel's counts of a server's processes, ten times a second: bytes that they read, and their CPU seconds."""

    def __init__(self, stranger: Stranger) -> None:
        self._main = psutil.Process(stranger.main_pid())
        self._line = f"{stranger.reads_counter}: "
        self._seen: dict[int, tuple[float, float]] = {}
        self._readings: list[tuple[int, float, float]] = []

    @contextmanager
    def watching(self) -> Iterator[Outside]:
        """Read within the block, at its begin and at its end, too."""
        ended = threading.Event()

        def read_on():
            while not ended.wait(_EVERY_S):
                self._read()

        thread = threading.Thread(target=read_on, daemon=True)
        self._read()
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()
            self._read()

    def _read(self) -> None:
        begun = time.time_ns()
        # A parent's count includes that of the children it has waited for, so that only one of both is taken.
        for process in self._main.children(recursive=True) or [self._main]:
            try:
                cpu = process.cpu_times()
                lines = Path(f"/proc/{process.pid}/io").read_text().splitlines()
            # The counts of one that has ended belong to root until it is waited for.
            except (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError, PermissionError):
                continue
            read = next(line.removeprefix(self._line) for line in lines if line.startswith(self._line))
            self._seen[process.pid] = (float(read), cpu.user + cpu.system)
        bytes_read, cpu_s = (sum(values) for values in zip(*self._seen.values(), strict=True))
        self._readings.append(((begun + time.time_ns()) // 2, bytes_read, cpu_s))

    def rates(self, start_ns: int, end_ns: int) -> tuple[float, float]:
        """Return bytes read and CPU seconds, a second of this window."""
        at_ns, read, cpu_s = np.array(self._readings, dtype=float).T
        seconds = (end_ns - start_ns) / NANOS
        bytes_read, used_s = (np.diff(np.interp([start_ns, end_ns], at_ns, each))[0] for each in (read, cpu_s))
        return float(bytes_read) / seconds, float(used_s) / seconds
