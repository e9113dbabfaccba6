"""Packets over a socket, with TLS or without: one thread reads while another one writes."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading

CONNECT, ACCEPT, REFUSE, DATA, MARKER = 1, 2, 4, 6, 12
BREAK, RESET = 1, 2
URGENT = bytes([1, 0, BREAK])
_HELLO_OF_TLS = b"\x16\x03"
_WAIT_MS = 1000


class Stream:
    """The packets of one client. A break that comes as urgent data is read as if it were a marker."""

    def __init__(self, client: socket.socket, tls: ssl.SSLContext | None) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = tls.wrap_socket(client, server_side=True) if tls else client
        self._socket.setblocking(False)
        self._lock = threading.Lock()  # OpenSSL's connections may not be used by two threads at once
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN | select.POLLPRI)
        self._unread = b""
        self.full_size = False

    def _ready(self) -> bool:
        """Wait for something to read; whether it is urgent."""
        while True:
            for _, events in self._poll.poll(_WAIT_MS):
                return bool(events & select.POLLPRI)

    def read(self) -> tuple[int, bytes]:
        """Type and content of the next packet. EOFError when the client is gone."""
        while (packet := self._taken()) is None:
            with self._lock:
                try:
                    part = self._socket.recv(65536)
                except (ssl.SSLWantReadError, BlockingIOError):
                    part = None
            if part == b"":
                raise EOFError
            self._unread += part or b""
            if part is None and self._ready():
                self._socket.recv(1, socket.MSG_OOB)
                return MARKER, URGENT
        return packet

    def _taken(self) -> tuple[int, bytes] | None:
        if not self.full_size and self._unread.startswith(_HELLO_OF_TLS):
            raise EOFError
        size = int.from_bytes(self._unread[:4] if self.full_size else self._unread[:2])
        if len(self._unread) < max(size, 8):
            return None
        packet, self._unread = self._unread[:size], self._unread[size:]
        return packet[4], packet[8:]

    def send(self, kind: int, body: bytes) -> None:
        size = struct.pack(">I", len(body) + 8) if self.full_size else struct.pack(">HH", len(body) + 8, 0)
        rest = memoryview(size + bytes([kind, 0, 0, 0]) + body)
        while rest:
            with self._lock:
                try:
                    rest = rest[self._socket.send(rest) :]
                    continue
                except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
                    pass
            select.select([], [self._socket], [], 1)

    def mark(self, kind: int) -> None:
        self.send(MARKER, bytes([1, 0, kind]))

    def shut(self) -> None:
        """Let the client find the connection closed."""
        try:
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        self._socket.close()
