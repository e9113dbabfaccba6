"""What the page's server answers: the page and its files, a stream of what is new, and the figures for Prometheus."""

from __future__ import annotations

import asyncio
import math
from functools import cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from openslob._version import __version__
from openslob.core.errors import SlobError
from openslob.export.openmetrics import exposition
from openslob.live.web.door import Door
from openslob.live.web.figures_now import figures_now
from openslob.live.web.guard import Guard
from openslob.live.web.hub import Hub
from openslob.report.html.drawing import library
from openslob.report.html.page import style

_PACKAGE = "openslob.live.web"
_STREAM = "text/event-stream"
LONGEST_SPAN_S = 10 * 365 * 86_400.0
FASTEST = 100_000.0


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
