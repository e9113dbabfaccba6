"""The server of the page: on the loopback unless another address is given, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt, stop_on
from openslob.live.web.door import Door
from openslob.live.web.where import Where

if TYPE_CHECKING:
    from openslob.live.web.application import Guarded
    from openslob.live.web.shown import Shown

# More viewers than anybody has; each connection has a cost.
MOST_CONNECTIONS = 100
# Connections that have not shown the token yet: a newer one takes the place of the oldest. A browser needs a moment.
MOST_WAITING = 50
PATIENCE_S = 10.0
_TOKEN_BYTES = 24
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_ATTEMPTS = 10


def serve(shown: Callable[[], Shown], where: Where, ready: Callable[[str], None]) -> None:
    """Serve the page until SIGINT or SIGTERM; must be called in the main thread.

    Args:
        shown: Returns what is shown.
        where: Where it is served.
        ready: Gets the address, with its token, once the page can be opened.

    """
    with stop_on(_STOPPING, lambda _number, _repeated: None) as interrupt:
        _serve(shown, where, ready, interrupt)


def _serve(shown: Callable[[], Shown], where: Where, ready: Callable[[str], None], interrupt: Interrupt) -> None:
    sockets = _sockets(where)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    port = sockets[0].getsockname()[1]
    # Connections wait from now on: the reader opens the page while the rest is imported.
    ready(f"{where.address(port)}/?token={token}")
    from openslob.live.web.application import Guarded  # noqa: PLC0415

    guarded = Guarded(token, port, where.hosts(port), Door(MOST_WAITING, MOST_CONNECTIONS))
    asyncio.run(_until_stopped(shown, guarded, sockets, interrupt))


async def _until_stopped(
    make: Callable[[], Shown], guarded: Guarded, sockets: list[socket.socket], interrupt: Interrupt
) -> None:
    from openslob.live.web.application import application  # noqa: PLC0415

    shown = make()
    # What anybody sends is not the reader's business: only errors of the page itself are printed.
    config = uvicorn.Config(
        application(shown, guarded), http=_protocol(guarded.door), ws="none", lifespan="off", log_config=None,
        log_level=logging.ERROR, access_log=False, server_header=False, timeout_graceful_shutdown=1,
        # The door knows connections, and not whom a proxy says that they are from.
        proxy_headers=False,
    )  # fmt: skip
    server = _Server(config)

    def stop() -> None:
        server.should_exit = True
        shown.stop()

    loop = asyncio.get_running_loop()
    for number in _STOPPING:
        loop.add_signal_handler(number, stop)
    if interrupt.requested:  # while all that was imported
        stop()
    reading = asyncio.create_task(shown.begin())
    await server.serve(sockets)
    reading.cancel()


def _protocol(door: Door) -> type[H11Protocol]:
    """Return the protocol of connections that pass a door."""

    class Protocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if self.client is not None:
                door.arrive(self.client, transport.abort)
                self.loop.call_later(PATIENCE_S, door.lose_patience, self.client)

        def connection_lost(self, exc: Exception | None) -> None:
            if self.client is not None:
                door.leave(self.client)
            super().connection_lost(exc)

    return Protocol


class _Server(uvicorn.Server):
    """A server that leaves signals to the program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield


def _sockets(where: Where) -> list[socket.socket]:
    """Return sockets of one port: on 127.0.0.1 and, where there is one, on ::1; or on the address that was given."""
    if where.listen is not None:
        family = socket.AF_INET6 if where.listen.version == 6 else socket.AF_INET
        try:
            return [_bound(family, str(where.listen), where.port or 0)]
        except (OSError, _NoSuchAddressError) as error:
            why = error.strerror if isinstance(error, OSError) else "this host does not have the address"
            place = f"{where.listen}, port {where.port}" if where.port else str(where.listen)
            raise SlobError(f"{place} can't be used: {why}", "choose another with --listen or --port") from error
    port = where.port
    for _ in range(_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            sockets.append(_bound(socket.AF_INET, "127.0.0.1", port or 0))
            with contextlib.suppress(_NoSuchAddressError):
                sockets.append(_bound(socket.AF_INET6, "::1", sockets[0].getsockname()[1]))
            return sockets
        except OSError as error:
            for each in sockets:
                each.close()
            if port is not None:
                raise SlobError(
                    f"port {port} can't be used: {error.strerror}", "choose another, or leave out --port"
                ) from error
    raise SlobError("no port is free on the loopback")


class _NoSuchAddressError(Exception):
    """No address of this family is there, as on a host without IPv6."""


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    try:
        made = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _NoSuchAddressError from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address == "::":
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind((address, port))
        made.listen()
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise _NoSuchAddressError from error
        raise
    return made
