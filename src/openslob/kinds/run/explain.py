"""Errors with what the server's log says about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openslob.core.errors import SlobError
from openslob.engines.base import Engine
from openslob.host.server_log import logs_of


@contextmanager
def explain_errors(engine: Engine) -> Iterator[Callable[[str], str]]:
    """Add to every error in this block what the server's log says about it, if the log can be read.

    The value does the same with the text of an error that is not raised.
    """
    location = engine.location()
    logs = logs_of(each.main_pid for each in (location, *location.others) if not each.host)

    def explain(text: str) -> str:
        found = "; ".join(filter(None, (log.finding(text) for log in logs)))
        return f"{text} ({found})" if found else text

    try:
        yield explain
    except SlobError as error:
        error.what = explain(error.what)
        raise
