"""A PostgreSQL server that is not ours, as somebody else would have set it up: passwords, TCP, TLS, ordinary roles."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg

from openslob.engines.managed.account import server_account
from openslob.engines.postgresql.binaries import make_readable
from openslob.engines.postgresql.providers import find_installation
from openslob.engines.postgresql.server import default_spec

PASSWORD = "not-a-secret"
ADMIN = "boss"
HOST = "db.test.example"
_SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{place}'
shared_buffers = '16MB'
max_wal_size = '256MB'
fsync = off
track_io_timing = on
autovacuum = off
password_encryption = 'scram-sha-256'
"""
_TLS = "ssl = on\nssl_cert_file = 'server.crt'\nssl_key_file = 'server.key'\n"
_ACCESS = "local all all scram-sha-256\n{kind} all all 127.0.0.1/32 scram-sha-256\n"


def free_port() -> int:
    """A TCP port of the loopback that nobody has now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class ForeignServer:
    """Runs from ``start`` to ``stop`` in a folder of its own, on the programs in ``bin_dir`` or our own.

    ``tls`` is a folder with server.crt and server.key.
    """

    def __init__(self, bin_dir: Path | None = None, tls: Path | None = None, settings: str = "") -> None:
        self.place = Path(tempfile.mkdtemp(prefix="slob-f-"))
        self.data = self.place / "data"
        self.port = free_port()
        self._tls, self._settings = tls, settings
        self._account = server_account()
        spec = replace(default_spec("foreign"), bin_dir=bin_dir)
        self._programs = make_readable(find_installation(spec), self._account)

    def start(self) -> None:
        """Make it and start it."""
        self.place.chmod(0o755)
        self._account.make_private(self.data)
        password = self.place / "password"
        password.write_text(PASSWORD)
        initdb = [self._program("initdb"), "-D", self.data, "-U", ADMIN, "-A", "scram-sha-256", "--no-sync"]
        self._run([*initdb, f"--pwfile={password}", "--locale=C.UTF-8", "--encoding=UTF8"])
        self._write(
            "postgresql.conf",
            _SETTINGS.format(port=self.port, place=self.data) + self._settings + (_TLS if self._tls else ""),
        )
        self._write("pg_hba.conf", _ACCESS.format(kind="hostssl" if self._tls else "host"))
        for name in ("server.crt", "server.key") if self._tls else ():
            self._write(name, (self._tls / name).read_text())
        self._run([self._program("pg_ctl"), "start", "-D", self.data, "-l", self.data / "log", "-w", "-s"])

    def stop(self) -> None:
        """Stop it, if it runs, and remove it."""
        self._account.run([self._program("pg_ctl"), "stop", "-D", self.data, "-m", "immediate", "-s"])
        shutil.rmtree(self.place)

    def url(self, role: str = ADMIN, database: str = "postgres", port: int | None = None, **options: str) -> str:
        """By TCP, with the password in it."""
        given = "&".join(f"{name}={value}" for name, value in options.items())
        place = f"127.0.0.1:{port or self.port}/{database}"
        return f"postgresql://{role}:{PASSWORD}@{place}" + (f"?{given}" if given else "")

    def socket_url(self, role: str, database: str) -> str:
        """By the unix socket."""
        return f"postgresql://{role}:{PASSWORD}@/{database}?host={self.data}&port={self.port}"

    def ask(self, statement: str, database: str = "postgres") -> list[tuple]:
        """A statement of the superuser's."""
        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def add_role(self, role: str, options: str = "") -> None:
        """An ordinary role that may log in, and nothing else."""
        self.ask(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}' NOSUPERUSER {options}")

    def add_database(self, name: str) -> None:
        """A database in which nobody but its owner may do anything."""
        self.ask(f"CREATE DATABASE {name}")
        self.ask(f"REVOKE ALL ON DATABASE {name} FROM public", database=name)
        self.ask("REVOKE CREATE ON SCHEMA public FROM public", database=name)

    def _program(self, name: str) -> Path:
        return self._programs.program(name)

    def _run(self, command: list[str | Path]) -> None:
        done = self._account.run(command)
        assert done.returncode == 0, done.stderr

    def _write(self, name: str, text: str) -> None:
        path = self.data / name
        path.write_text(text)
        path.chmod(0o600)
        if self._account.switched:
            shutil.chown(path, self._account.uid, self._account.gid)


@contextmanager
def started(server: ForeignServer) -> Iterator[ForeignServer]:
    """The server, on which the role app owns one schema, in a database where it may make none; gone at the end."""
    try:
        server.start()
        server.add_role("app")
        server.add_database("bench")
        server.ask("GRANT CONNECT ON DATABASE bench TO app")
        server.ask("CREATE SCHEMA slob AUTHORIZATION app", database="bench")
        yield server
    finally:
        server.stop()


@contextmanager
def relay(port, change=None, log=lambda _: None):
    """A TCP port that leads to another, as ssh -L makes; ``change`` is applied to the first thing the server says.

    ``log`` gets all that goes through, in both directions.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    ends = []

    def pump(source, sink, change=None):
        try:
            while data := source.recv(65536):
                log(data)
                sink.sendall(change(data) if change else data)
                change = None
        except OSError:
            return
        finally:
            sink.close()

    def serve():
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", port))
            ends.extend((near, far))
            for way in ((near, far), (far, near, change)):
                threading.Thread(target=pump, args=way, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for end in ends:
            end.close()
