"""What the page's server answers: pages and their files, a stream of what is new, and the figures for Prometheus."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
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
from openslob.export.openmetrics import Samples, exposition
from openslob.kinds.view import RecordState, View
from openslob.live.web.catalogue import MissingError
from openslob.live.web.door import Door
from openslob.live.web.shown import Shown
from openslob.report.html.style import style

_PACKAGE = "openslob.live.web"
_STREAM = "text/event-stream"
LONGEST_SPAN_S = 10 * 365 * 86_400.0
FASTEST = 100_000.0
MOST_TOGETHER = 2
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
# A report is a page of its own, which brings its scripts along: it gets none of this server's rights.
REPORT_HEADERS = {
    "Content-Security-Policy": (
        "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
}
_TOKEN, _RECORD = "token", "record"


class _Answers:
    """What is answered from what is shown."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown

    async def first(self, _request: Request) -> Response:
        return _page(self._shown.first_page)

    async def live(self, _request: Request) -> Response:
        return _page("page.html")

    async def records(self, _request: Request) -> Response:
        return Response(json.dumps(await self._shown.look(), allow_nan=False), media_type="application/json")

    async def report(self, request: Request) -> Response:
        records = request.query_params.getlist("record")
        if not 1 <= len(records) <= MOST_TOGETHER:
            return PlainTextResponse(f"A report is of one record, or of {MOST_TOGETHER} that are compared.\n", 400)
        try:
            text = await self._shown.report(records)
        except SlobError as error:
            return PlainTextResponse(f"{error}\n", 422)
        return Response(text, media_type="text/html", headers=REPORT_HEADERS)

    async def events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=_STREAM)
        try:
            span, at, speed = (_number(request, *each) for each in _ASKED)
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", 400)
        hub = await self._shown.hub(request.query_params.get(_RECORD, ""))
        stream = hub.watch(span or 0.0) if at is None else hub.replay(at, speed or 0.0, span or 0.0)
        return StreamingResponse(stream, media_type=_STREAM)

    async def metrics(self, request: Request) -> Response:
        now = await (await self._shown.hub(request.query_params.get(_RECORD, ""))).now(figures_now)
        text, media_type = exposition(now, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": media_type})


def application(shown: Shown, guarded: Guarded) -> ASGIApp:
    """Return the application, which answers only who knows the token and has a place."""
    answers = _Answers(shown)
    routes = {
        "/": answers.first, "/live": answers.live, "/records": answers.records, "/report": answers.report,
        "/events": answers.events, "/metrics": answers.metrics, "/page.js": _script, "/records.js": _list_script,
        "/style.css": _style, "/vega.js": _vega,
    }  # fmt: skip
    starlette = Starlette(
        routes=[Route(path, answer) for path, answer in routes.items()],
        exception_handlers={MissingError: _answer_missing, SlobError: _answer_error},
    )
    return Guard(starlette, guarded)


async def _answer_missing(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("There is no such record here.\n", 404)


async def _answer_error(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 503)


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


def _page(name: str) -> Response:
    return Response(_file(name).replace("VERSION", __version__), media_type="text/html")


async def _script(_request: Request) -> Response:
    return Response(_file("page.js"), media_type="text/javascript")


async def _list_script(_request: Request) -> Response:
    return Response(_file("records.js"), media_type="text/javascript")


async def _style(_request: Request) -> Response:
    return Response(style() + _file("page.css"), media_type="text/css")


async def _vega(_request: Request) -> Response:
    from openslob.report.html.page import library  # noqa: PLC0415 - the list of records needs nothing that draws

    # To put it together takes seconds.
    return Response(await asyncio.to_thread(library), media_type="text/javascript")


@cache
def _file(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Guarded:
    """Who gets an answer: who knows the ``token``, asks for one of the ``hosts`` and has a place.

    ``hosts`` has each host as browsers send it, in small letters, with the address that they reach it by. ``port`` is
    that of this server.
    """

    token: str
    port: int
    hosts: Mapping[str, str]
    door: Door


class Guard:
    """Answers what is refused, and lets the application answer the rest; adds what browsers must obey.

    Readers who know the token may see the page, and no page of another site. The server listens on the loopback unless
    the user gives another address, but every page in a browser on this host can send requests there, also under a name
    of its own that it lets point to 127.0.0.1 (DNS rebinding). So a request must name this server as its host, and have
    the token: in the address that was printed, as ``Authorization: Bearer``, or in the cookie that the first page sets.
    The cookie keeps the token out of the address bar and of every later request line, no script can read it, and no
    other site can make a browser send it.
    """

    def __init__(self, app: ASGIApp, guarded: Guarded) -> None:
        self._app = app
        self._guarded = guarded
        self._cookie = f"openslob_{guarded.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent.setdefault(name, value)
                if self._is_right(_in_query(scope)):
                    address = self._guarded.hosts.get(headers.get("host", "").lower(), "")
                    secure = "; Secure" if address.startswith("https:") else ""
                    token = self._guarded.token
                    sent["Set-Cookie"] = f"{self._cookie}={token}; Path=/; HttpOnly; SameSite=Strict{secure}"
            await send(message)

        app = self._refusal(scope["method"], headers, _in_query(scope)) or self._full(scope) or self._app
        await app(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers, in_query: str) -> PlainTextResponse | None:
        if [host.lower() for host in headers.getlist("host")] not in [[host] for host in self._guarded.hosts]:
            names = " or ".join(sorted(self._guarded.hosts))
            more = "With ssh -L, forward the same port; --host adds a name."
            return _refuse(421, f"This server answers to {names} only. {more}")
        if method not in METHODS:
            return _refuse(405, "This page is read-only.", {"Allow": ", ".join(METHODS)})
        given = (in_query, headers.get("authorization", "").removeprefix("Bearer "), self._in_cookie(headers))
        if not any([self._is_right(each) for each in given]):
            return _refuse(403, "Open the address that slob printed: its token is missing here, or wrong.")
        return None

    def _full(self, scope: Scope) -> PlainTextResponse | None:
        client = scope.get("client")
        if self._guarded.door.let_in((str(client[0]), int(client[1])) if client else None):
            return None
        return _refuse(503, "Too many connections are open: close other windows of this page.")

    def _is_right(self, token: str) -> bool:
        return compare_digest(token.encode(), self._guarded.token.encode())

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


def figures_now(view: View) -> Samples:
    """Return the figures of the run, or of the one in progress of a sweep."""
    run = view.current or view
    return Samples(
        # A name may have half a character, which nothing can show.
        labels={"id": run.head.id, "name": run.head.name.encode(errors="replace").decode()},
        running=view.head.progress is RecordState.RUNNING,
        figures=run.now,
        latency=_latency(run),
        timed=run.head.timed,
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
