"""Where the page is served, and by which names browsers may reach it."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from openslob.core.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_NAME = re.compile(r"(?:(https?)://)?((?:[a-z0-9]|[a-z0-9][a-z0-9.-]*[a-z0-9]|\[[0-9a-f:.]+\])(:\d{1,5})?)", re.ASCII)
# Browsers leave out the port that their scheme has by itself.
_USUAL_PORT = 80


@dataclass(frozen=True)
class Where:
    """Where the page is served.

    ``port``: None for any that is free. ``listen`` is an address of this host, or of all its networks (0.0.0.0, ::);
    None: the loopback. ``names`` are further names that browsers use: ``NAME``, ``NAME:PORT``, or ``https://NAME`` for
    a proxy that encrypts.
    """

    port: int | None = None
    listen: IPv4Address | IPv6Address | None = None
    names: Sequence[str] = ()

    @classmethod
    def parse(cls, port: int | None, listen: str | None, names: Sequence[str]) -> Where:
        """Return what the user says. UsageError for what is no address, or no name of a host."""
        try:
            address = None if listen is None else ip_address(listen.strip("[]"))
        except ValueError:
            raise UsageError(f"--listen {listen!r} is not an address", "give one of this host, 0.0.0.0 or ::") from None
        for name in names:
            if not _NAME.fullmatch(name.lower()):
                raise UsageError(
                    f"--host {name!r} is not the name of a host", "give db1, db1:8321 or https://db1.example"
                )
        return cls(port, address, tuple(name.lower() for name in names))

    @property
    def is_readable_on_the_way(self) -> bool:
        """Whether others than this host can reach it, and none of its names is one that encrypts."""
        return bool(self.listen and not self.listen.is_loopback) and not any("https://" in name for name in self.names)

    def hosts(self, port: int) -> dict[str, str]:
        """Return each host that browsers may ask for, as they send it, with the address that they reach it by."""
        end = "" if port == _USUAL_PORT else f":{port}"
        found = {f"{name}{end}": f"http://{name}{end}" for name in (*LOOPBACK, *self._own_names)}
        for name in self.names:
            found |= _hosts_of(name, end)
        return found

    @property
    def _own_names(self) -> list[str]:
        if self.listen is None:
            return []
        return [socket.gethostname().lower() if self.listen.is_unspecified else _in_address(self.listen)]

    def address(self, port: int) -> str:
        """Return how a browser reaches it: by the first name that was given, or else by the address."""
        end = "" if port == _USUAL_PORT else f":{port}"
        if self.names:
            return list(_hosts_of(self.names[0], end).values())[-1]
        shown = LOOPBACK[0] if self.listen is None or self.listen.is_unspecified else _in_address(self.listen)
        return f"http://{shown}{end}"


def _hosts_of(name: str, end: str) -> dict[str, str]:
    """Return the hosts that a name means: without a port it is that of a proxy, or of this server."""
    match = _NAME.fullmatch(name)
    assert match
    scheme, host, port = match.groups()
    found = {host: f"{scheme or 'http'}://{host}"}
    return found if scheme or port else found | {f"{host}{end}": f"http://{host}{end}"}


def _in_address(address: IPv4Address | IPv6Address) -> str:
    return f"[{address}]" if address.version == 6 else str(address)
