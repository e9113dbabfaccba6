"""A MariaDB server that is not ours, as somebody else would have set it up: passwords, TCP, TLS, ordinary users."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pymysql

from factories.foreign_postgresql import PASSWORD, free_port
from openslob.engines.managed.account import current_user, server_account
from openslob.engines.mysql.binaries import find_installation

PATIENCE_S = 30.0


def _listens(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(str(place)) == 0


class ForeignMariaDb:
    """Runs from ``start`` to ``stop`` in a folder of its own; ``tls`` is a folder with server.crt and server.key."""

    def __init__(self, tls: Path | None = None) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="slob-m-"))
        self.data, self.socket = self.place / "data", self.place / "s"
        self.port = free_port()
        self._tls = tls
        self._account = server_account()
        self._programs = find_installation(None)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Make it and start it."""
        self.place.chmod(0o755)
        self._account.share(self.place, 0o775)
        installer = [self._programs.installer, "--no-defaults", f"--datadir={self.data}", "--skip-test-db"]
        # In /tmp a server that starts removes others' temporary tables.
        installer.append(f"--tmpdir={self.data}")
        installer += [f"--auth-root-socket-user={current_user()}", "--auth-root-authentication-method=socket"]
        done = self._account.run(installer)
        assert done.returncode == 0, done.stdout + done.stderr
        options = {
            "tmpdir": self.data,
            "datadir": self.data, "socket": self.socket, "pid-file": self.data / "pid", "log-error": self.data / "log",
            "bind-address": "127.0.0.1", "port": self.port, "skip-name-resolve": 1, "innodb-buffer-pool-size": "16M",
            "innodb-log-file-size": "64M", "innodb-flush-log-at-trx-commit": 1, "performance-schema": 1,
            **self._tls_options(),
        }  # fmt: skip
        flags = [f"--{name}={value}" for name, value in options.items()]
        account = self._account
        self._process = subprocess.Popen(
            [self._programs.server, "--no-defaults", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            **({"user": account.uid, "group": account.gid, "extra_groups": []} if account.switched else {}),
        )  # fmt: skip
        self._wait()

    def _tls_options(self) -> dict[str, object]:
        if self._tls is None:
            return {}
        for name in ("ca.crt", "server.crt", "server.key"):
            shutil.copy(self._tls / name, self.place)
            self._account.share(self.place / name, 0o640)
        ends = {"ca": "ca.crt", "cert": "server.crt", "key": "server.key"}
        return {f"ssl-{end}": self.place / name for end, name in ends.items()} | {"require-secure-transport": 1}

    def _wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            # The driver library leaves its socket open when nobody listens.
            with suppress(pymysql.Error):
                if _listens(self.socket):
                    self.ask("SELECT 1")
                    return
            assert self.pid, (self.data / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    @property
    def pid(self) -> int | None:
        """The server's process, while there is one."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def stop(self) -> None:
        """Stop it, if it runs, and remove it."""
        if self._process:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.place)

    def url(self, user: str, database: str, host: str = "127.0.0.1", port: int | None = None, **options: str) -> str:
        """By TCP, with the password in it."""
        given = "&".join(f"{name}={value}" for name, value in options.items())
        place = f"{host}:{port or self.port}/{database}"
        return f"mariadb://{user}:{PASSWORD}@{place}" + (f"?{given}" if given else "")

    def ask(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """A statement of the administrator's."""
        with pymysql.connect(unix_socket=str(self.socket), user=current_user(), autocommit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchall()

    def add_user(self, user: str, database: str, rights: str = "ALL") -> None:
        """An ordinary user with a database of its own, and these rights on it alone."""
        self.ask(f"CREATE DATABASE {database}")
        self.ask(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        if rights:
            self.ask(f"GRANT {rights} ON {database}.* TO {user}@'127.0.0.1'")
