"""A server that speaks enough of Oracle's protocol for python-oracledb's thin mode: for tests, on loopback only.

It knows what the driver sends when it connects with a password, sets module and action, executes SQL and PL/SQL,
fetches, cancels, commits and leaves. Anything else is an error that names it, and fails the test. What is executed, and
what comes of it, is an `Executor`'s business. The messages are those that the driver itself (UPL/Apache licence) writes
and reads: no Oracle was looked at, so what a real server sends beyond them is not represented. Its banner says that it
is a stand-in.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Self

from factories.oracle.wire_encodings import Column
from factories.oracle.wire_executor import DropError, Executor, Invalid, OracleError, Rows
from factories.oracle.wire_logon import Client, Identity, Logon, accepted, connect_string, refused, told
from factories.oracle.wire_session import Session
from factories.oracle.wire_stream import CONNECT, REFUSE, Stream

__all__ = ["Client", "Column", "DropError", "Executor", "Identity", "Invalid", "OracleError", "Rows", "Server"]
_NO_SERVICE, _NO_SID, _NO_INSTANCE = 12514, 12505, 12521


class Server:
    """Listens on loopback; ``make`` gives an executor for each client.

    With several identities it is a cluster's listener, which hands connections round to the instances unless a client
    names one. What may be set at any time: ``refuses`` (the listener's ORA- number), ``denies`` and ``warns`` (of those
    who gave the right password), ``is_silent`` (accepts connections and says nothing).
    """

    def __init__(
        self,
        make: Callable[[Client], Executor],
        user: str = "slob",
        password: str = "slob",
        identities: Sequence[Identity] = (Identity(),),
        tls: ssl.SSLContext | None = None,
        urgent: bool = False,
    ) -> None:
        self._make, self._user, self._password = make, user, password
        self._identities, self._tls, self._urgent = identities, tls, urgent
        self.refuses: int | None = None
        self.denies: OracleError | None = None
        self.warns: OracleError | None = None
        self.is_silent = False
        self.sessions: list[Session] = []
        self.faults: list[str] = []
        self._numbers = count(1)
        self._unheard: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        threading.Thread(target=self._accept, name="listener", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.stop()
        if kind is None:
            self.close()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def service(self) -> str:
        return self._identities[0].service

    @property
    def dsn(self) -> str:
        return f"127.0.0.1:{self.port}/{self.service}"

    @property
    def url(self) -> str:
        """The target without a password."""
        return f"{'oracles' if self._tls else 'oracle'}://{self._user}@{self.dsn}"

    @property
    def clients(self) -> list[Client]:
        """Those who are connected now."""
        return [session.client for session in self.sessions if session.is_alive()]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.is_silent:
                self._unheard.append(client)
            else:
                threading.Thread(target=self._welcome, args=(client,), name="welcome", daemon=True).start()

    def _welcome(self, client: socket.socket) -> None:
        try:
            stream = Stream(client, self._tls)
        except OSError:
            client.close()
            return
        try:
            asked = told(self._descriptor(stream))
        except (EOFError, OSError):
            stream.close()
            return
        identity = self._chosen(asked)
        if isinstance(identity, int):
            stream.send(REFUSE, refused(identity))
            stream.close()
            return
        with self._lock:
            session = self._session(stream, Client(next(self._numbers), identity, descriptor=asked))
            self.sessions.append(session)
        session.begin(accepted(identity, self._urgent))

    def _descriptor(self, stream: Stream) -> str:
        kind, body = stream.read()
        if kind != CONNECT:
            raise EOFError
        descriptor, missing = connect_string(body)
        return descriptor + (stream.read()[1][2:].decode() if missing else "")

    def _chosen(self, asked: dict[str, str]) -> Identity | int:
        """The instance that a connection goes to, or the listener's ORA- number."""
        if self.refuses:
            return self.refuses
        service, sid, instance = (asked.get(name, "").lower() for name in ("SERVICE_NAME", "SID", "INSTANCE_NAME"))
        if sid:
            named = [each for each in self._identities if each.instance.lower() == sid]
            return named[0] if named else _NO_SID
        offering = [each for each in self._identities if each.service.lower() == service]
        if not offering:
            return _NO_SERVICE
        if instance:
            named = [each for each in offering if each.instance.lower() == instance]
            return named[0] if named else _NO_INSTANCE
        return offering[len(self.sessions) % len(offering)]

    def _session(self, stream: Stream, client: Client) -> Session:
        logon = Logon(client, self._user, self._password)
        session = Session(stream, client, logon, self._make(client), self.faults)
        session.denied, session.warned = self.denies, self.warns
        return session

    def stop(self) -> None:
        """Listen no more, and let all clients find their connections closed."""
        for session in self.sessions:
            session.drop()
        for client in self._unheard:
            client.close()
        with suppress(OSError):  # closing alone would leave the thread that accepts in its wait
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        """Stop. AssertionError when a client asked for what this server does not know."""
        self.stop()
        assert not self.faults, f"the stand-in was asked for what it does not know: {self.faults}"
