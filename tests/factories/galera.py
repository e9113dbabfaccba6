"""A Galera cluster on this host for tests, of the product's own managed servers. By hand::

python tests/factories/galera.py 3      # prints the nodes' URLs, runs until Ctrl-C
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pymysql

from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed.base import ManagedCluster, ManagedServer
from openslob.engines.mysql.connection import parse
from openslob.engines.mysql.galera import library

PROGRAMS = ("mariadbd", "mariadb-install-db", "openssl")
# Only a node that does not come at all takes as long, or a host with much else to do.
PATIENCE_S = 180.0
NAMES = ("galera-a", "galera-b", "galera-c", "galera-d", "galera-e")


def why_not() -> str:
    """What is missing on this host for a Galera cluster; empty when nothing is."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"
    missing = [program for program in PROGRAMS if not shutil.which(program, path=path)]
    missing += [] if library() else ["galera-4"]
    return f"not installed: {', '.join(missing)}" if missing else ""


@dataclass(frozen=True)
class Node:
    """One node."""

    server: ManagedServer

    @property
    def url(self) -> str:
        """Target URL."""
        return self.server.status().url

    def ask(self, *statements: str) -> str:
        """The last column of the last statement's first row; empty if there is none."""
        with pymysql.connect(**parse(self.url).arguments, autocommit=True) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            row = cursor.fetchone()
        return str(row[-1]) if row else ""

    def status(self, name: str) -> str:
        """A status variable's value."""
        return self.ask(f"SHOW GLOBAL STATUS LIKE '{name}'")

    def wait_until(self, name: str, value: str) -> None:
        """Wait for a status variable to have this value."""
        deadline = time.monotonic() + PATIENCE_S
        while self.status(name) != value:
            assert time.monotonic() < deadline, f"{self.server.name} has no {name} {value}"
            time.sleep(0.1)


@contextmanager
def galera(size: int = 3) -> Iterator[ManagedCluster]:
    """A running cluster of ``size`` nodes, all joined; destroyed at the end."""
    small = {"cache_bytes": 32 * MIB, "log_bytes": 64 * MIB, "max_sessions": 70}
    cluster = registry.cluster([replace(registry.default_spec(name, "mariadb"), **small) for name in NAMES[:size]])
    try:
        cluster.start()
        yield cluster
    finally:
        for node in cluster.nodes:
            node.destroy()


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="slob-g-"))
    place.chmod(0o755)
    os.environ["OPENSLOB_HOME"] = str(place)
    with galera(int(sys.argv[1]) if len(sys.argv) > 1 else 3) as running:
        sys.stdout.write("".join(f"{node.status().url}\n" for node in running.nodes))
        sys.stdout.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    shutil.rmtree(place)
