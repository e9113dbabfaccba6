"""What tests of managed servers must know of each engine: how to ask it, and how its settings and files are called."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pymysql

from openslob.engines.managed.base import ManagedServer


@dataclass(frozen=True)
class Subject:
    """An engine as these tests see it.

    ``run`` and ``loading`` are settings with their values in a measurement and in a load. ``too_large`` is a cache in
    TiB for which it does not start, and what it says then. ``fixed`` are changes that a restart can't make.
    """

    engine: str
    program: str
    pid_file: str
    least_bytes: int
    cache_setting: str
    run: Mapping[str, str]
    loading: Mapping[str, str]
    too_large: tuple[int, str]
    fixed: tuple[Mapping[str, object], ...]
    connect: Callable[[ManagedServer], Any]
    setting_query: str
    version_query: str
    connection_id: str

    def execute(self, server: ManagedServer, *statements: str) -> str | None:
        """Run statements one by one, each committed; the first column of the last one's first row, if it has any."""
        connection = self.connect(server)
        try:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            return None if row is None else str(row[0])
        finally:
            connection.close()

    def setting(self, server: ManagedServer, name: str) -> str | None:
        """The value of a setting."""
        value = self.execute(server, self.setting_query.format(name))
        # MariaDB 11 has more than two ways to do this, and shows them as words.
        return {"ON": "1", "OFF": "0"}.get(value or "", value) if name == "innodb_doublewrite" else value

    def settings(self, server: ManagedServer, names: Mapping[str, str]) -> dict[str, str | None]:
        """The values of the settings of these names."""
        return {name: self.setting(server, name) for name in names}


def _to_postgresql(server: ManagedServer) -> Any:
    return psycopg.connect(server.status().url, autocommit=True)


def _to_mariadb(server: ManagedServer) -> Any:
    url = server.status().url
    user, path = url.removeprefix("mariadb://").split("@")[0], url.split("unix_socket=")[1]
    return pymysql.connect(unix_socket=path, user=user, database="slob", autocommit=True)


SUBJECTS = (
    Subject(
        engine="postgresql",
        program="postgres",
        pid_file="postmaster.pid",
        least_bytes=30 << 20,
        cache_setting="shared_buffers",
        run={"wal_level": "replica", "debug_io_direct": "data", "fsync": "on"},
        loading={"wal_level": "minimal", "debug_io_direct": "", "fsync": "on"},
        too_large=(512, 'value for parameter "shared_buffers"'),
        fixed=({"version": "16"}, {"data_dir": Path("/elsewhere")}, {"block_size": 16384}),
        connect=_to_postgresql,
        setting_query="SELECT current_setting('{}')",
        version_query="SELECT split_part(current_setting('server_version'), '.', 1)",
        connection_id="SELECT pg_backend_pid()",
    ),
    Subject(
        engine="mariadb",
        program="mariadbd",
        pid_file="slob.pid",
        least_bytes=80 << 20,
        cache_setting="innodb_buffer_pool_size",
        run={"innodb_doublewrite": "1", "innodb_flush_log_at_trx_commit": "1", "innodb_flush_method": "O_DIRECT"},
        loading={"innodb_doublewrite": "0", "innodb_flush_log_at_trx_commit": "0", "innodb_flush_method": "O_DIRECT"},
        too_large=(7, "Cannot map innodb_buffer_pool_size"),
        fixed=({"data_dir": Path("/elsewhere")}, {"block_size": 8192}),
        connect=_to_mariadb,
        setting_query="SELECT @@{}",
        version_query="SELECT SUBSTRING_INDEX(VERSION(), '.', 2)",
        connection_id="SELECT CONNECTION_ID()",
    ),
)


def python(code: str) -> subprocess.Popen[str]:
    """Another process of ours."""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def wait_until(done: Callable[[], bool], seconds: float = 60) -> None:
    """Fail unless it becomes so within this time."""
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)


def left_behind(home: Path, name: str, subject: Subject) -> list[str]:
    """Files of a running server that a stopped one must not have."""
    base = home / "servers" / name
    sockets = [path for path in (base / "run").iterdir()]
    return [str(path) for path in (base / "data" / subject.pid_file, *sockets) if path.exists()]
