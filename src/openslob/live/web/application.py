"""What the page's server answers: the page and its files, a stream of what is new, and the figures for Prometheus."""

from __future__ import annotations

import asyncio
import math
from functools import cache
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from secrets import compare_digest
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openslob._version import __version__
from openslob.analyze.curves.points import SERVICE
from openslob.core.errors import SlobError
from openslob.export.openmetrics import Now, exposition
from openslob.kinds.view import RecordState, View
from openslob.live.web.door import Door
from openslob.live.web.hub import Hub
from openslob.report.html.page import library, style

_PACKAGE = "openslob.live.web"
_STREAM = "text/event-stream"
LONGEST_SPAN_S = 10 * 365 * 86_400.0
FASTEST = 100_000.0
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


def application(hub: Hub, token: str, port: int, door: Door) -> ASGIApp:
    """Return the application, which answers only who knows the token and has a place."""

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=_STREAM)
        try:
            span, at, speed = (_number(request, *each) for each in _ASKED)
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        stream = hub.watch(span or 0.0) if at is None else hub.replay(at, speed or 0.0, span or 0.0)
        return StreamingResponse(stream, media_type=_STREAM)

    async def metrics(request: Request) -> Response:
        try:
            now = await hub.now(figures_now)
        except SlobError as error:
            return PlainTextResponse(f"{error}\n", 503)
        text, media_type = exposition(now, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": media_type})

    routes = [Route("/", _page), Route("/events", events), Route("/metrics", metrics)]
    routes += [
        Route(path, answer) for path, answer in (("/page.js", _script), ("/style.css", _style), ("/vega.js", _vega))
    ]
    return Guard(Starlette(routes=routes), token, port, door)


_ASKED = (("span", LONGEST_SPAN_S), ("at", LONGEST_SPAN_S), ("speed", FASTEST))


def _number(request: Request, name: str, most: float) -> float | None:
    """Return a number of the query; None when it is not there."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise ValueError(f"{name} must be a number from 0 to {most:g}")
    return value


async def _page(_request: Request) -> Response:
    return Response(_file("page.html").replace("VERSION", __version__), media_type="text/html")


async def _script(_request: Request) -> Response:
    return Response(_file("page.js"), media_type="text/javascript")


async def _style(_request: Request) -> Response:
    return Response(style() + _file("page.css"), media_type="text/css")


async def _vega(_request: Request) -> Response:
    # To put it together takes seconds.
    return Response(await asyncio.to_thread(library), media_type="text/javascript")


@cache
def _file(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


class Guard:
    """Answers what is refused, and lets the application answer the rest; adds what browsers must obey.

    Readers on this host who know the token may see the page, and no page of another site. The server listens on the
    loopback only, but every page in a browser on this host can send requests there, also under a name of its own that
    it lets point to 127.0.0.1 (DNS rebinding). So a request must name this server as its host, and have the token: in
    the address that was printed, as ``Authorization: Bearer``, or in the cookie that the first page sets. The cookie
    keeps the token out of the address bar and of every later request line, no script can read it, and no other site can
    make a browser send it.
    """

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
            return _refuse(421, f"This server answers to {names} only. With ssh -L, forward the same port.")
        if method not in METHODS:
            return _refuse(405, "This page is read-only.", {"Allow": ", ".join(METHODS)})
        given = (in_query, headers.get("authorization", "").removeprefix("Bearer "), self._in_cookie(headers))
        if not any([self._is_right(each) for each in given]):
            return _refuse(403, "Open the address that slob printed: its token is missing here, or wrong.")
        return None

    def _full(self, scope: Scope) -> PlainTextResponse | None:
        client = scope.get("client")
        if self._door.let_in((str(client[0]), int(client[1])) if client else None):
            return None
        return _refuse(503, "Too many connections are open: close other windows of this page.")

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


def _refuse(status: int, why: str, headers: dict[str, str] | None = None) -> PlainTextResponse:
    return PlainTextResponse(f"{why}\n", status, headers)


def figures_now(view: View) -> Now:
    """Return the figures of the run, or of the one in progress of a sweep."""
    run = view.current or view
    return Now(
        # A name may have half a character, which nothing can show.
        labels={"id": run.head.id, "name": run.head.name.encode(errors="replace").decode()},
        running=view.head.progress is RecordState.RUNNING,
        figures=run.now,
        latency=_latency(run),
        verdicts=run.verdicts,
    )


def _latency(run: View) -> dict[str, dict[str, float]]:
    """Return the latencies of the last second that has any, by kind of operation."""
    known: dict[str, dict[str, float]] = {}
    end_s = run.head.elapsed_s
    for name in run.names:
        _, _, rest = name.partition("latency.")
        kind, _, statistic = rest.partition(".")
        if statistic in SERVICE:
            series = run.series(name, max(end_s - 5, 0), end_s, 5)
            values = [value for value in series.mean if value is not None]
            known.setdefault(kind, {}).update({statistic: values[-1]} if values else {})
    return known
