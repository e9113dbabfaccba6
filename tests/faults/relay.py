"""A socket between slob and a managed server, whose connections can be cut, reset or stalled like a network's."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

_RESET = struct.pack("ii", 1, 0)


class Relay:
    """Passes everything on until told otherwise; ``accept`` says whether new connections reach the server."""

    def __init__(self, near: Path, far: str) -> None:
        self._far = far
        self._flows = Event()
        self._flows.set()
        self._closed = False
        self.accepts = True
        self._ends: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(near))
        self._listener.listen(64)
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self.accepts:
                near.close()
                continue
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._far)
            self._ends.append((near, far))
            Thread(target=self._pump, args=(near, far), daemon=True).start()

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError, ValueError):
            while True:
                ready, _, _ = select.select([near, far], [], [])
                self._flows.wait()
                for source in ready:
                    data = source.recv(65536)
                    if not data:
                        raise OSError
                    (far if source is near else near).sendall(data)
        for end in (near, far):
            end.close()

    def cut(self) -> None:
        """End all connections that there are, as a firewall that forgets them and answers with resets."""
        for pair in self._ends:
            for end in pair:
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    end.shutdown(socket.SHUT_RDWR)

    def stall(self) -> None:
        """Pass nothing on from now, and say nothing: packets are lost."""
        self._flows.clear()

    def flow(self) -> None:
        """Pass everything on again."""
        self._flows.set()

    def close(self) -> None:
        """End it."""
        self._closed = True
        self.flow()
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def relayed(near: Path, far: str) -> Iterator[Relay]:
    """A socket at ``near`` that leads to the server's socket ``far``."""
    relay = Relay(near, far)
    try:
        yield relay
    finally:
        relay.close()
