"""Lets a command in a process of its own stand still at a named place, so that a test can strike just there."""

from __future__ import annotations

import time
from functools import wraps
from importlib import import_module
from pathlib import Path

# The function before which a run stands still in each phase.
PHASES = {
    "check": ("openslob.kinds.run.runner", "findings"),
    "settle": ("openslob.kinds.run.runner", "settle"),
    "connect": ("openslob.kinds.run.session_pool", "SessionPool.connect_all"),
    "window": ("openslob.kinds.run.window", "WindowReadings.pulse"),
    "read-out": ("openslob.kinds.run.window", "WindowReadings.read_end"),
    "report": ("openslob.kinds.run.record_builder", "RecordBuilder.with_figures"),
}
AT, GO = "paused", "go on"
_LONG_S = 300


def pause_before(module: str, name: str, place: str, then: str = "") -> None:
    """Let the first call of a function, or of a method ``Class.name``, wait until a file in ``place`` says to go on.

    The code ``then`` is executed after that.
    """
    *owners, last = name.split(".")
    owner = import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    real, folder = getattr(owner, last), Path(place)

    @wraps(real)
    def paused(*given, **named):
        if not (folder / AT).exists():
            (folder / AT).touch()
            until = time.monotonic() + _LONG_S
            while not (folder / GO).exists() and time.monotonic() < until:
                time.sleep(0.02)
            exec(then, {})  # a test's own
        return real(*given, **named)

    setattr(owner, last, paused)


# For a command that meets a server which hangs, or somebody's lock: nobody wants to wait as long as it would. It is
# given just then, where it can be: a busy host may be as slow before.
IMPATIENT = """
from openslob.engines import patience
from openslob.kinds.run import ending
from openslob.kinds.run import runner
from openslob.kinds.run import session_pool
patience.ANSWER_S, patience.PROBE_EVERY_S, patience.PROBE_S = 2.0, 0.3, 2
session_pool.CONNECT_PATIENCE_S, session_pool.LATE_PATIENCE_S = 2.0, 0.5
session_pool.PATIENCE_S = ending.CUT_AFTER_S = 0.5
ending.GRACE_S, runner.CLOSING_S, runner.ANSWER_S = 1.0, 0.5, 1.0
import openslob.engines.postgresql.adapter as postgresql, openslob.engines.mysql.connection as mysql
postgresql.CONNECT_TIMEOUT_S = postgresql.PROBE_S = mysql.CONNECT_TIMEOUT_S = 2
"""
