"""Who is in: connections that showed the token, as many as have a place; and those that wait, who may not crowd it."""

from __future__ import annotations

from collections.abc import Callable

Client = tuple[str, int]


class Door:
    """At most ``most_waiting`` connections wait; the newest takes the place of the oldest. ``most_in`` are in."""

    def __init__(self, most_waiting: int, most_in: int) -> None:
        self._most_waiting, self._most_in = most_waiting, most_in
        self._waiting: dict[Client, Callable[[], None]] = {}
        self._in: set[Client] = set()

    def arrive(self, client: Client, send_away: Callable[[], None]) -> None:
        """Let a connection wait. ``send_away`` closes it."""
        if len(self._waiting) >= self._most_waiting:
            self.lose_patience(next(iter(self._waiting)))
        self._waiting[client] = send_away

    def lose_patience(self, client: Client) -> None:
        """Close a connection if it still waits."""
        if send_away := self._waiting.pop(client, None):
            send_away()

    def let_in(self, client: Client | None) -> bool:
        """Let in a connection that showed the token; return whether there is a place."""
        if client is None or client in self._in:
            return True
        if len(self._in) >= self._most_in:
            return False
        self._waiting.pop(client, None)
        self._in.add(client)
        return True

    def leave(self, client: Client) -> None:
        """Forget a connection that has ended."""
        self._waiting.pop(client, None)
        self._in.discard(client)
