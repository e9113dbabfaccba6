"""Whether other sessions worked on the server beside the test's, and what of a measurement is then still the test's.

Two kinds of evidence, independent of each other: samples that saw other sessions at work, and counters of what other
sessions did, where the engine keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from openslob.core.measurement import EngineDelta, HostDelta, Measurement, OtherSessions

# Mean number of other sessions at work: monitoring is at work for a few % of the time, a load for most of it.
MAX_AT_WORK = 0.05
# In a short run one sample is more than that, and may be of a query of a moment.
MIN_SEEN = 3
# The share of a counter that may be other sessions': below the spread between two runs.
MAX_SHARE_PCT = 2.0
# What takes a few % of one session's time, per second: less is no load, whatever its share of the counter.
_LEAST_PER_S: Mapping[str, float] = {
    "logical_reads": 20_000.0,
    "rows_read": 10_000.0,
    "rows_updated": 100.0,
    "read_requests": 200.0,
    "write_requests": 200.0,
    "commits": 100.0,
    "log_syncs": 50.0,
}
# What the engine's counters count.
IN_WORDS: Mapping[str, str] = {
    "logical_reads": "logical reads",
    "read_requests": "physical reads",
    "read_bytes": "bytes read",
    "write_requests": "physical writes",
    "write_bytes": "bytes written",
    "rows_read": "rows read",
    "rows_updated": "rows changed",
    "log_bytes": "redo",
    "log_syncs": "log syncs",
    "commits": "commits",
}
# Of the whole server on every engine.
_ALWAYS_SERVER_WIDE = frozenset({"db_cpu_us", "db_time_us", "foreground_cpu_us", "background_cpu_us"})
BESIDE = "other sessions worked on the server"
_WHY = f"{BESIDE}, and the engine counts this for all sessions together"
_WHY_CPU = f"{BESIDE}, and the CPU time is that of all its processes"
_OF_PROCESSES = ("server_cpu_s", "foreground_cpu_s", "background_cpu_s", "server_runqueue_s")


def shares_pct(engine: EngineDelta, seconds: float) -> dict[str, float]:
    """Return the other sessions' share of each counter in %, where it is known and they did a noticeable amount."""
    found = {}
    for name, theirs in engine.others.items():
        value = getattr(engine, name)
        least = _LEAST_PER_S.get(name)
        if value is None or least is None or seconds <= 0 or theirs < least * seconds:
            continue
        found[name] = 100 * theirs / max(theirs, value if name in engine.server_wide else value + theirs)
    return found


def at_work(others: OtherSessions) -> float | None:
    """Return how many other sessions were at work on average; None when they could not be seen.

    Where some were hidden, it is the least number: None, unless that is a load already.
    """
    if others.seen is None or not others.samples:
        return None
    are_hidden = others.hidden > MAX_AT_WORK * others.samples
    return None if are_hidden and not _seen_at_load(others) else sum(others.seen.values()) / others.samples


def _seen_at_load(others: OtherSessions) -> bool:
    times = sum((others.seen or {}).values())
    return times >= MIN_SEEN and times > MAX_AT_WORK * others.samples


def has_worked(others: OtherSessions) -> bool | None:
    """Return whether other sessions did noticeable work; None when neither samples nor counters show it."""
    if any(share > MAX_SHARE_PCT for share in others.shares_pct.values()):
        return True
    return None if at_work(others) is None else _seen_at_load(others)


def ours_alone(measurement: Measurement) -> Measurement:
    """Return the measurement without what includes the work of other sessions, if there were any that worked.

    Everything that is published is computed from this, so that no figure has to know of other sessions.
    """
    if not has_worked(measurement.others):
        return measurement
    return replace(
        measurement,
        engine=_engine(measurement.engine),
        host=_host(measurement.host),
        instances=[replace(each, engine=_engine(each.engine)) for each in measurement.instances],
    )


def _engine(engine: EngineDelta) -> EngineDelta:
    spoilt = engine.server_wide | _ALWAYS_SERVER_WIDE
    gone = [name for name, value in engine.amounts().items() if name in spoilt and value is not None]
    return replace(
        engine,
        **_nothing(gone),
        by_object={kind: io for kind, io in engine.by_object.items() if kind not in spoilt},
        timed_waits=[wait for wait in engine.timed_waits if wait.event not in spoilt],
        unknown={**engine.unknown, **dict.fromkeys(gone, _WHY)},
        by_instance=[_engine(each) for each in engine.by_instance],
    )


def _host(host: HostDelta) -> HostDelta:
    gone = [name for name in _OF_PROCESSES if getattr(host, name) is not None]
    return replace(host, **_nothing(gone), unknown={**host.unknown, **dict.fromkeys(gone, _WHY_CPU)})


def _nothing(names: Iterable[str]) -> dict[str, Any]:
    return dict.fromkeys(names)
