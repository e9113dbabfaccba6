"""Who may see the page: readers on this host who know the token, and no page of another site.

The server listens on the loopback only, but every page in a browser on this host can send requests there, also under a
name of its own that it lets point to 127.0.0.1 (DNS rebinding). So a request must name this server as its host, and
have the token: in the address that was printed, as ``Authorization: Bearer``, or in the cookie that the first page
sets. The cookie keeps the token out of the address bar and of every later request line, no script can read it, and no
other site can make a browser send it.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openslob.live.web.door import Door

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
METHODS = ("GET", "HEAD")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_TOKEN = "token"


class Guard:
    """Answers what is refused, and lets the application answer the rest; adds what browsers must obey."""

    def __init__(self, app: ASGIApp, token: str, port: int, door: Door) -> None:
        self._app = app
        self._door = door
        self._token = token
        self._hosts = {f"{name}:{port}" for name in LOOPBACK}
        self._cookie = f"openslob_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                sent.update(HEADERS)
                if self._is_right(_in_query(scope)):
                    sent["Set-Cookie"] = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await send(message)

        app = self._refusal(scope["method"], headers, _in_query(scope)) or self._full(scope) or self._app
        await app(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers, in_query: str) -> PlainTextResponse | None:
        if [host.lower() for host in headers.getlist("host")] not in [[host] for host in self._hosts]:
            names = " or ".join(sorted(self._hosts))
            return _refused(421, f"This server answers to {names} only. With ssh -L, forward the same port.")
        if method not in METHODS:
            return _refused(405, "This page is read-only.", {"Allow": ", ".join(METHODS)})
        given = (in_query, headers.get("authorization", "").removeprefix("Bearer "), self._in_cookie(headers))
        if not any([self._is_right(each) for each in given]):
            return _refused(403, "Open the address that slob printed: its token is missing here, or wrong.")
        return None

    def _full(self, scope: Scope) -> PlainTextResponse | None:
        client = scope.get("client")
        if self._door.let_in((str(client[0]), int(client[1])) if client else None):
            return None
        return _refused(503, "Too many connections are open: close other windows of this page.")

    def _is_right(self, token: str) -> bool:
        return compare_digest(token.encode(), self._token.encode())

    def _in_cookie(self, headers: Headers) -> str:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return str(morsel.value) if morsel else ""


def _in_query(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get(_TOKEN, [""])[0]


def _refused(status: int, why: str, headers: dict[str, str] | None = None) -> PlainTextResponse:
    return PlainTextResponse(f"{why}\n", status, headers)
