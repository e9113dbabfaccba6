"""Steps after a window or a failure, when the server may be gone or blocked. An error in one does not stop others."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from openslob.engines.base import Engine
from openslob.errors import SlobError
from openslob.host.sampler import WHY_UNATTRIBUTED
from openslob.host.server_log import logs_of
from openslob.measurement import HostDelta
from openslob.run.readings import SeenLimits
from openslob.run.record_builder import RecordBuilder
from openslob.run.samplers import Samplers

# The server ends a session soon after its connection was closed, not at once.
GOODBYE_S = 2.0


def data_after(engine: Engine, notes: list[str]) -> tuple[int | None, str]:
    """Return the blocks of the test tables after the window, and what is wrong with them.

    None when they can't be counted, because of somebody's lock for example; a note has the reason.
    """
    try:
        blocks, state = engine.data.table_blocks(), engine.data.state()
    except SlobError as error:
        notes.append(f"the tables could not be measured after the window: {error}")
        return None, ""
    return blocks, "the data are no longer there" if state is None else state.fault


def note_unfinished(notes: list[str], seconds: Collection[float]) -> None:
    """Note the operations that were cancelled at the end, and how long they had run at least."""
    if seconds:
        ran = f"{len(seconds)} operations were still running after at least {max(seconds):.1f} s"
        notes.append(f"{ran}: they were cancelled within a slice, which is not counted")


def set_host_facts(builder: RecordBuilder, samplers: Samplers, limits: SeenLimits, host: HostDelta) -> None:
    """Record the CPU seconds of the window, the host's and the server's by kind of process, and the server's limits."""
    by_kind = None
    try:
        by_kind = samplers.cpu_by_kind(host.server_cpu_s)
    except SlobError as error:
        builder.notes.append(str(error))
    builder.environment["host_cpu_s"] = dict(host.cpu or {})
    builder.set_fact("server_cpu_s", by_kind, host.unknown.get("server_cpu_s") or WHY_UNATTRIBUTED)
    builder.set_fact("server_limits", None if limits.why_unknown else dict(limits.first), limits.why_unknown)
    for at_s, what in limits.changes:
        builder.notes.append(f"the limits of the server's control group changed {at_s:.0f} s after the start: {what}")


def end_sessions(engine: Engine, notes: list[str]) -> None:
    """End all sessions that are still in the server; a server that is gone has none."""
    try:
        deadline = time.monotonic() + GOODBYE_S
        while engine.sessions_left() and time.monotonic() < deadline:
            time.sleep(GOODBYE_S / 20)
        left = engine.release_sessions()
    except SlobError:
        return
    if left:
        notes.append(f"{left} sessions did not end by themselves and were ended")


@contextmanager
def explained(engine: Engine) -> Iterator[Callable[[str], str]]:
    """Add to every error in this block what the server's log says about it, if the log can be read.

    The value does the same with the text of an error that is not raised.
    """
    location = engine.location()
    logs = logs_of(each.main_pid for each in (location, *location.others))

    def explain(text: str) -> str:
        found = "; ".join(filter(None, (log.finding(text) for log in logs)))
        return f"{text} ({found})" if found else text

    try:
        yield explain
    except SlobError as error:
        error.what = explain(error.what)
        raise
