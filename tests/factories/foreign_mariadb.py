"""A MariaDB or MySQL server that is not ours, as somebody else would have set it up: passwords, TCP, ordinary users."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from factories.foreign_postgresql import PASSWORD, free_port
from openslob.engines.managed.account import ServerAccount, current_user, server_account
from openslob.engines.mysql.binaries import find_installation

PATIENCE_S = 120.0
# Both products know these.
_OPTIONS = {
    "bind-address": "127.0.0.1", "skip-name-resolve": 1, "innodb-buffer-pool-size": "16M",
    "innodb-flush-log-at-trx-commit": 1, "performance-schema": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Programs:
    """A server's program, and what makes its data directory: MariaDB's script, or the program itself.

    ``root`` is the folder that they see as /. ``options`` are those that only this product or release has.
    """

    server: Path
    installer: Path | None = None
    base: Path | None = None
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)

    def inside(self, path: Path) -> Path:
        """Return the name that they know a path by."""
        return Path("/") / path.relative_to(self.root)

    def run_by(self, account: ServerAccount, *command: object) -> tuple[list[str], dict[str, object]]:
        """Return a command that runs one of them as the account, and what `subprocess` needs for it."""
        words = [str(word) for word in command]
        environment: dict[str, object] = {"env": {**os.environ, **self.environment}, "cwd": "/"}
        if self.root != Path("/"):
            return ["chroot", f"--userspec={account.uid}:{account.gid}", str(self.root), *words], environment
        switched = {"user": account.uid, "group": account.gid, "extra_groups": []} if account.switched else {}
        return words, {**environment, **switched}


def host_programs() -> Programs:
    """Return the MariaDB of this host. SlobError when there is none."""
    found = find_installation(None)
    return Programs(found.server, found.installer, options={"innodb-log-file-size": "64M"})


def _listens(place: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(str(place)) == 0


class ForeignMariaDb:
    """Runs from ``start`` to ``stop`` in a folder of its own; ``tls`` is a folder with server.crt and server.key."""

    def __init__(self, tls: Path | None = None, programs: Programs | None = None) -> None:
        self._programs = programs or host_programs()
        self.place = Path(tempfile.mkdtemp(prefix="slob-m-", dir=self._programs.root / "tmp"))
        self.data, self.socket = self.place / "data", self.place / "s"
        self.port = free_port()
        self._tls = tls
        self._account = server_account()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Make it and start it."""
        self.place.chmod(0o755)
        self._account.share(self.place, 0o775)
        self._make()
        inside = self._programs.inside
        options = {
            **self._folders(), "socket": inside(self.socket), "pid-file": inside(self.data / "pid"),
            "log-error": inside(self.data / "log"), "port": self.port,
            **_OPTIONS, **self._programs.options, **self._tls_options(),
        }  # fmt: skip
        command, how = self._command(self._programs.server, "--no-defaults", *_flags(options))
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how
        )
        self._wait()

    def _make(self) -> None:
        """Make the data directory, with an administrator of this process's name who needs no password."""
        by = self._programs
        if by.installer is not None:
            own = [
                "--skip-test-db",
                f"--auth-root-socket-user={current_user()}",
                "--auth-root-authentication-method=socket",
                "--force",
            ]
            self._run(by.installer, "--no-defaults", *_flags(self._folders()), *own)
        else:
            self._run(by.server, "--no-defaults", "--initialize-insecure", *_flags(self._folders()))

    def _folders(self) -> dict[str, object]:
        """Return what both programs need; in /tmp a server that starts removes others' temporary tables."""
        data = self._programs.inside(self.data)
        base = {} if self._programs.base is None else {"basedir": self._programs.base}
        return {**base, "datadir": data, "tmpdir": data if self._programs.installer else data.parent}

    def _command(self, *command: object) -> tuple[list[str], dict[str, object]]:
        return self._programs.run_by(self._account, *command)

    def _run(self, *command: object) -> None:
        words, how = self._command(*command)
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S, **how)
        assert done.returncode == 0, done.stdout + done.stderr

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

    def admin_url(self, database: str) -> str:
        """By the unix socket, as the administrator."""
        return f"mariadb://{self.admin}@localhost/{database}?unix_socket={self.socket}"

    @property
    def admin(self) -> str:
        """Who may do everything, by the unix socket and without a password."""
        return current_user() if self._programs.installer else "root"

    def ask(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """A statement of the administrator's."""
        with pymysql.connect(unix_socket=str(self.socket), user=self.admin, autocommit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchall()

    def add_user(self, user: str, database: str, rights: str = "ALL") -> None:
        """An ordinary user with a database of its own, and these rights on it alone."""
        self.ask(f"CREATE DATABASE {database}")
        self.ask(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        if rights:
            self.ask(f"GRANT {rights} ON {database}.* TO {user}@'127.0.0.1'")


def _flags(options: Mapping[str, object]) -> Sequence[str]:
    return [f"--{name}={value}" for name, value in options.items()]
