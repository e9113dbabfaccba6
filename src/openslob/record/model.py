"""The record of one run or observation, as stored in `run.json`. It is versioned, so that old records stay readable.

History of the format, newest first:
  6  ``classes``: what each class of sessions did. ``instances``: how far copies were behind. ``stages``: what was done
     in each stage of a rate that changes.
  5  ``engine.flavour``: which product answered, and how that is known. ``product`` and ``version`` are that product's;
     before, they were those of the product whose protocol the server speaks.
  4  ``episodes``: the stretches in which the load was slow, with their causes. Raw files of loads of more than an hour
     are thinned: from the events ``step_s`` on, a row is about so many seconds (`record/thinning.py`).
  3  ``kind`` observation: a load that is not ours. Its ``spec`` has no workload, and it has no operations.
  2  ``response``: latency from the due time, of a run at a given rate.
  1  first version.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator

from openslob.core.workload import CLASSES, RATE_SCHEDULE
from openslob.record.parts import READ, EngineFacts, Environment, Facts, Latencies, require_load

RECORD_VERSION = 6
# The settings of the server that a run was made with on purpose, in `RunRecord.engine`.
SET = "set"
# And the list of the settings that the server refused to its sessions (`core.measurement.RefusedSetting`).
REFUSED = "refused_settings"
# Stretches in which a load was slow. One of days may have thousands: they are not all worth reading, and a record is
# read whole.
MOST_EPISODES = 200
# Moments in ns are the largest: this is in the year 2116.
_MOST_WHOLE = 2**62
NOT_RECORDED = "not recorded"
# What a note begins with that names a run whose window was lost, and in whose place this one was made.
DISCARDED = "discarded, and this run made in its place: "
# The fact in ``environment`` that says how another host was read.
READER = "reader"
# 300 years: a time in seconds that is a moment in ns all the same.
_MOST_S = 1e10


class RecordKind(StrEnum):
    """What a record is of: a run of slob's own load, or a load that slob only observed."""

    RUN = "run"
    OBSERVATION = "observation"


class Status(StrEnum):
    """The end of a run."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Holds(StrEnum):
    """The outcome of a verdict."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


class RecordModel(BaseModel):
    """The base of everything in a record: immutable, and strict about unknown keys.

    An unknown key means that a newer program wrote the record: to ignore it could mean to misread the rest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_validator(mode="after")
    def _has_numbers(self, info: ValidationInfo) -> Self:
        """Raise ValueError if a number that is read is none, such as a text "nan", or fits no array."""
        if info.context is READ:
            for value in vars(self).values():
                if type(value) is float and not math.isfinite(value):
                    raise ValueError("a number is not finite")
                if type(value) is int and abs(value) > _MOST_WHOLE:
                    raise ValueError("a number is larger than any of a record")
        return self


class DocumentModel(RecordModel):
    """A record that is one JSON document in a folder of its own, whose name is its ``id``."""

    if TYPE_CHECKING:  # each kind has the fields at its own place
        id: str
        name: str
        status: Status
        started_at: str
        openslob_version: str

    @model_validator(mode="after")
    def _is_whole(self, info: ValidationInfo) -> Self:
        """Raise ValueError if a record that is read lacks what follows from its other parts."""
        if info.context is READ:
            for lack in self.find_lacks():
                raise ValueError(lack)
        return self

    def find_lacks(self) -> Iterator[str]:
        """Yield what a record that is read must have because of its other parts, and has not."""
        return iter(())


class Figure(RecordModel):
    """A published number with its unit. ``value`` is None when it is not known, and ``why`` gives the reason then."""

    value: float | None
    unit: str
    why: str | None = None

    @classmethod
    def of(cls, value: float | None, unit: str, why: str) -> Self:
        """Return a figure; ``why`` is the reason if its value is None, and is left out otherwise."""
        return cls(value=value, unit=unit, why=why if value is None else None)


def value_of(figures: Mapping[str, Figure], name: str) -> float | None:
    """Return the value of a figure; None when it is not known."""
    figure = figures.get(name)
    return figure.value if figure else None


class Verdict(RecordModel):
    """One judgement on the run: its name, its outcome, the reason in one sentence, and the figures it is based on."""

    name: str
    verdict: Holds
    why: str
    figures: Mapping[str, float | str | None] = Field(default_factory=dict)


class DocumentWithFigures(DocumentModel):
    """A record with figures of its own, and with verdicts on them."""

    if TYPE_CHECKING:  # as above
        summary: Mapping[str, Figure]
        verdicts: tuple[Verdict, ...]

    def value(self, name: str) -> float | None:
        """Return a figure of the summary; None when it is not known."""
        return value_of(self.summary, name)

    def why_unknown(self, name: str) -> str:
        """Return why a figure of the summary is not known."""
        figure = self.summary.get(name)
        return (figure.why if figure else None) or NOT_RECORDED

    def outcome(self, name: str) -> Holds:
        """Return the outcome of a verdict; unknown if the record does not have it."""
        return next((verdict.verdict for verdict in self.verdicts if verdict.name == name), Holds.UNKNOWN)


class WaitRow(RecordModel):
    """One wait event: samples, share of DB time in %, DB time in s, and mean wait in µs if the engine times it."""

    event: str
    samples: int | float
    share_pct: float
    db_time_s: float
    mean_us: float | None = None


class EpisodeRow(RecordModel):
    """A stretch in which the load was slow, in seconds after it began: its cause, and the evidence in a sentence.

    ``cause`` is a `Cause`, or "either A or B" where the first does not explain clearly more than the second.
    ``lost_ops`` operations less were done than usual; ``ops_per_s`` were done, ``usual_ops_per_s`` are usual. Of a load
    that is not ours, operations are transactions. ``also`` are further causes that the data show.
    """

    begin_s: float
    end_s: float
    cause: str
    evidence: str
    lost_ops: float
    ops_per_s: float
    usual_ops_per_s: float
    also: tuple[str, ...] = ()


class InstanceRow(RecordModel):
    """One instance of a cluster: the totals of its sessions in the window, and its own counters; None: not known.

    ``role`` is ``read-write`` or ``read-only``; ``errors`` is how many of its sessions were lost. ``behind_bytes`` of
    its primary's log were not applied on a copy, on average, and ``most_behind_bytes`` at most; what came
    into that log in the window was lacking for ``behind_s`` at most.
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
    behind_bytes: float | None = None
    most_behind_bytes: float | None = None
    behind_s: float | None = None


class ClassRow(RecordModel):
    """One class of sessions: the totals of its sessions in the window, their rate, and how long operations took.

    ``ops_per_s`` is None where no rate is published, ``target_ops_per_s`` for a class that works as fast as it can.
    ``off_ops`` is by how many operations the session furthest off is off the shares that were asked for. ``latency``
    and ``response`` are as in `RunRecord`, without single operations.
    """

    name: str
    sessions: int
    ops: int
    selects: int
    updates: int
    scans: int
    rows_read: int
    rows_updated: int
    rows_scanned: int
    conflicts: int
    off_ops: float
    ops_per_s: float | None
    target_ops_per_s: float | None
    latency: Latencies = Field(default_factory=dict)
    response: Latencies = Field(default_factory=dict)


class StageRow(RecordModel):
    """One stage of a rate that changes: the fields of `core.rate_schedule.Stage`."""

    begin_s: float
    end_s: float
    first_per_s: float
    last_per_s: float
    ops_per_s: float
    response_p50_us: float | None
    response_p99_us: float | None
    recovery_s: float | None
    why: str = ""


class WindowRecord(RecordModel):
    """The measured window: its begin and end, the seconds of the load and of the counters, and how far they differ."""

    load_start_ns: int
    load_end_ns: int
    load_seconds: float = Field(ge=0, le=_MOST_S)
    counter_seconds: float = Field(ge=0, le=_MOST_S)
    difference_pct: float
    warmup_s: float = Field(ge=0, le=_MOST_S)


# The kinds of operations whose latency is in a record if it has any; a SELECT may be a scan.
_COUNTED = {"update": "updates_total", "scan": "scans_total"}
_RATES = ("target_ops", "target_iops", RATE_SCHEDULE)


def reservations(experimental: str, stand_in: bool, caution: str = "") -> tuple[str, ...]:
    """Return what must be known of a server before any figure: it is no database, its engine is new, or another one."""
    no_database = "No database: the server says that it is a stand-in; its figures are computed, none is measured."
    return (
        *([no_database] if stand_in else []),
        *([f"Experimental: {experimental}."] if experimental else []),
        *([f"{caution}."] if caution else []),
    )


class RunRecord(DocumentWithFigures):
    """Everything about one run, without secrets.

    ``spec`` is `Workload.to_record`. That of an observation has ``command`` (the words of the observed command),
    ``seconds`` (how long it was to last) and ``workload`` (the name of a ready-made one, with what it was given).
    ``sources`` tells where each value came from (flag, file and line, …); it is empty for a run that had no command of
    its own, such as a point of a sweep.

    ``environment`` and ``engine`` map facts to values; the end of a fact's name is its unit (``_bytes``, ``_s``,
    ``_pct`` …). The report knows the following facts by name and shows every other one unchanged. ``environment``:
    ``local`` (whether the server is on this host), ``host`` (its name), ``host_cpu_s`` (CPU seconds of the window by
    kind of time), ``server_cpu_s`` (by kind of server process or thread), ``server_host_cpu_s`` (busy and idle, of a
    server's host that can't be examined) and ``cpu_source`` (of which of these the engine is the source). ``drivers``
    has the fields of `DriverUse` of each driver that ran sessions, if the process that wrote the record did not.
    ``server_limits`` has the limits of the server's control group when the window began, by their names in ``os.csv``:
    ``cpu_quota`` in CPUs, ``read_limit`` and ``write_limit`` in requests per second, ``read_bytes_limit`` and
    ``write_bytes_limit``, ``memory_limit_bytes``; it is empty if there are none. ``engine``:
    ``product``, ``version``, ``target``, ``block_size``, ``cache_bytes``, ``data_bytes``, ``direct_io``, ``settings``,
    ``plans`` (text by statement), ``wait_latency`` (of the events whose waits the engine counts by duration, as
    ``latency`` but only as fine as the engine's buckets, each wait at the upper edge of its own) and, where they apply,
    ``server_started_at`` (by the server's clock; runs of one start are more alike than those of several),
    ``programs`` (the package or folder that those of a server that slob runs are from),
    ``attachments`` (files in the run's folder of reports that the server made), ``experimental`` (why the engine's
    figures are not to be relied on yet), ``clock_us`` (what an operation's readings of the server's clock take),
    ``cache_use_limit`` (of runs with a Zipf law: up to how many uses a cache that is a clock counts of a block),
    ``stand_in`` (the server is no database), ``refused_settings`` (settings that it refused to the sessions: fields
    of `RefusedSetting`) and ``flavour`` (of servers whose protocol others speak: the ``family`` whose protocol it is
    with its ``number``, ``by`` what the product was recognised, the version text that it ``says``, why there is
    ``no_device`` of its host that the engine reads, the ``caution`` that comes before any figure, and the
    ``unit`` that a visited row is if it is no block). Either may have
    ``unknown``, which maps a fact to the reason why it is not known.

    ``latency`` is service time by kind of operation; ``slowest`` in it are single operations: ``us``, ``session``, and
    the seconds of the load between which each ran. ``response`` has the same figures measured from the due time, for
    a run at a given rate, without ``slowest``. ``io_by_object`` holds the fields of `ObjectIo`, totals of the window,
    by kind of object.
    ``instances`` lists the instances of a cluster; it is empty for a single server. ``classes`` are those of the
    sessions, in the order of their numbers; it is empty where all do the same work. ``stages`` are those of a rate that
    changes, else it is empty. ``episodes`` are the stretches in which the load was slow, the worst of them if they are
    very many; None if its course was not examined.
    """

    record_version: int = RECORD_VERSION
    kind: RecordKind = RecordKind.RUN
    id: str
    name: str
    status: Status
    started_at: str
    openslob_version: str
    spec: Facts
    sources: Mapping[str, str] = Field(default_factory=dict)
    environment: Environment
    engine: EngineFacts
    window: WindowRecord | None = None
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    latency: Latencies = Field(default_factory=dict)
    response: Latencies = Field(default_factory=dict)
    waits: tuple[WaitRow, ...] = ()
    io_by_object: Mapping[str, Mapping[str, float | None]] = Field(default_factory=dict)
    instances: tuple[InstanceRow, ...] = ()
    classes: tuple[ClassRow, ...] = ()
    stages: tuple[StageRow, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    episodes: tuple[EpisodeRow, ...] | None = None
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_a_load(self, info: ValidationInfo) -> Self:
        if self.kind is RecordKind.RUN:
            require_load(self.spec, info, "spec.")
        return self

    def find_lacks(self) -> Iterator[str]:
        """Yield what a run that has a window must have, and has not."""
        if self.window is None:
            return
        if not self.summary:
            yield "it has a window and no summary"
        if self.value("ops_total") and not self.latency:
            yield "it has operations and no latency"
        if self.latency and any(self.spec.get(name) for name in _RATES) and not self.response:
            yield "it has a given rate and no response times"
        for kind, figure in _COUNTED.items():
            if self.value(figure) and kind not in self.latency:
                yield f"it has operations of the kind {kind}, and no latency of them"
        if bool(self.spec.get(RATE_SCHEDULE)) != bool(self.stages):
            yield "its rate was to change and has no stages, or has some and was not to change"
        if self.kind is RecordKind.RUN and bool(self.spec.get(CLASSES)) != bool(self.classes):
            yield "classes of sessions were asked for and have no figures, or have some and were not asked for"

    @property
    def most_frequent(self) -> str:
        """The kind of operation that was done most often; empty if there was none."""
        return max(self.latency, key=lambda kind: self.latency[kind].get("count") or 0, default="")

    @property
    def relative(self) -> str:
        """The product that answered, with its version, if it is not the one whose protocol it speaks; else empty."""
        family, product = (self.engine.get("flavour") or {}).get("family"), self.engine.get("product")
        return f"{product} {self.engine.get('version')}" if family not in (None, product) else ""

    @property
    def unit(self) -> str:
        """What a row is that the work loop visits: a block, unless the product has none that holds one row."""
        return str((self.engine.get("flavour") or {}).get("unit") or "block")

    @property
    def reservations(self) -> tuple[str, ...]:
        """What a reader must know of the server before any figure, in sentences."""
        engine = self.engine
        caution = str((engine.get("flavour") or {}).get("caution") or "")
        return reservations(str(engine.get("experimental") or ""), bool(engine.get("stand_in")), caution)


def all_reservations(records: Iterable[RunRecord]) -> tuple[str, ...]:
    """Return the reservations of several records, each once."""
    return tuple(dict.fromkeys(each for record in records for each in record.reservations))
