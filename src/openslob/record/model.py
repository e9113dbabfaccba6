"""The record of one run, as it stands in `run.json`. Versioned: an old record stays readable.

History of the format, newest first:
  2  ``response``: latency from the due time, of a run at a given rate.
  1  first version.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

RECORD_VERSION = 2


class Status(StrEnum):
    """How the run ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Holds(StrEnum):
    """Outcome of a verdict."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Figure(_Plain):
    """A published number with its unit; null comes with the reason."""

    value: float | None
    unit: str
    why: str | None = None


class Verdict(_Plain):
    """One judgement on the run: name, outcome, one sentence why, and the figures it rests on."""

    name: str
    verdict: Holds
    why: str
    figures: Mapping[str, float | str | None] = Field(default_factory=dict)


class WaitRow(_Plain):
    """One timed event: its samples, share of DB time, DB time in seconds, mean wait in µs where the engine times it."""

    event: str
    samples: int
    share_pct: float
    db_time_s: float
    mean_us: float | None = None


class InstanceRow(_Plain):
    """One instance of a cluster: totals of the window of its own sessions, and by its own counters; null: not known.

    ``role`` is ``read-write`` or ``read-only``; ``errors`` is how many of its sessions were lost.
    """

    target: str
    role: str
    sessions: int
    ops: int
    rows_read: int
    rows_updated: int
    conflicts: int
    errors: int
    read_requests: float | None
    log_bytes: float | None


class WindowRecord(_Plain):
    """The measured window: when, how long the load ran, how long the counters ran, and how far they differ."""

    load_start_ns: int
    load_end_ns: int
    load_seconds: float
    counter_seconds: float
    difference_pct: float
    warmup_s: float


class RunRecord(_Plain):
    """Everything about one run, without secrets.

    ``spec`` is `Workload.to_record`, ``sources`` where each of its values came from (flag, file and line, …), empty for
    a run that was not asked for by a command of its own. ``environment`` and ``engine`` map facts to values; a fact's
    unit is the end of its name (``_bytes``, ``_s``, ``_pct`` …). The report knows these by name, and shows every other
    as it is: ``environment`` has ``local`` (the server is on this host), ``host`` (its name), and the CPU seconds of
    the window by kind of time (``host_cpu_s``) and by kind of server process or thread (``server_cpu_s``); ``engine``
    has ``product``, ``version``, ``target``, ``block_size``, ``cache_bytes``, ``data_bytes``, ``direct_io``,
    ``settings``, ``plans`` (text by statement). Either may have ``unknown``: fact to reason. ``latency`` is service
    time; ``response`` has the same figures from the due time, of a run at a given rate. ``io_by_object`` holds the
    fields of `ObjectIo`, totals of the window, by kind of object.
    ``instances`` are those of a cluster, none for a single server.
    """

    record_version: int = RECORD_VERSION
    kind: str = "run"
    id: str
    name: str
    status: Status
    started_at: str
    openslob_version: str
    spec: Mapping[str, Any]
    sources: Mapping[str, str] = Field(default_factory=dict)
    environment: Mapping[str, Any]
    engine: Mapping[str, Any]
    window: WindowRecord | None = None
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    latency: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    response: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    waits: tuple[WaitRow, ...] = ()
    io_by_object: Mapping[str, Mapping[str, float | None]] = Field(default_factory=dict)
    instances: tuple[InstanceRow, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
