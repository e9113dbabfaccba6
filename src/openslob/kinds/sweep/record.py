"""The record of a sweep, `sweep.json`: the request, every point with its state, and the folder of its run.

A sweep is a folder, ``results/<time>-<name>/``, with `sweep.json` and the folders of its runs. The file is replaced as
a whole after every point, so that a sweep can be resumed after any crash; a point whose run was in progress is still
pending then.

History of the format, newest first:
  2  settings of the server's own in ``server_grid``, with their ``effects``.
  1  first version.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field

from openslob.core.errors import SlobError
from openslob.record import store
from openslob.record.model import DocumentModel, RecordModel, Status
from openslob.record.parts import Load
from openslob.record.store import DocumentFolder
from openslob.record.varied import Value, Values, format_parameter, in_words
from openslob.record.versions import Format, NewerVersionError, take_defaults

SWEEP_VERSION = 2
SWEEP_FILE = "sweep.json"


class PointState(StrEnum):
    """The state of a point. SKIPPED: it was never run, because its server or its data could not be provided."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class SweepPoint(RecordModel):
    """One run of the sweep. ``number`` is its position in the order, ``repeat`` counts equal points; both from 1.

    ``values`` holds the workload parameters that the sweep varies, ``server`` the server parameters, by the names of
    `SweepRecord.grid` and ``server_grid``. ``run`` is the folder of the run inside the sweep's folder, None before
    there is one. ``estimated_s`` is the estimated time, including the restart and load before the point.
    """

    number: int
    values: Values
    server: Values = Field(default_factory=dict)
    repeat: int = 1
    state: PointState = PointState.PENDING
    run: str | None = None
    error: str | None = None
    estimated_s: float = 0.0

    @property
    def label(self) -> str:
        """The point's values in words and, from the second on, the repeat."""
        words = [in_words(name, value) for name, value in {**self.server, **self.values}.items()]
        return ", ".join(words or ["the only point"]) + (f", repeat {self.repeat}" if self.repeat > 1 else "")

    @property
    def run_name(self) -> str:
        """The name of the point's run."""
        words = [f"{name}-{value}" for name, value in self._format_values()]
        return "-".join([*(words or ["point"]), f"r{self.repeat}"])

    def _format_values(self) -> list[tuple[str, str]]:
        return [format_parameter(name, value) for name, value in {**self.server, **self.values}.items()]


class SearchRecord(RecordModel):
    """A search for the session count with the highest throughput within a latency limit, and its answer.

    ``at`` is ``mean``, or a percentile such as ``p99`` of the latency of the most frequent operation. ``throughput``
    names the metric that was maximised. ``sessions`` is the answer; it is None before there is one, and when even one
    session exceeds the limit. ``why`` says what ended the search; it is None while the search is in progress.
    """

    limit_us: float
    at: str
    most_sessions: int
    throughput: str | None = None
    sessions: int | None = None
    best: float | None = None
    latency_us: float | None = None
    why: str | None = None


_ANSWER = ("throughput", "sessions", "best", "latency_us", "why")


class SweepRecord(DocumentModel):
    """The request of a sweep and the state of its points.

    ``workload`` holds every parameter (`Workload.to_record`), ``grid`` the values of the varied ones by field name,
    ``server_grid`` those of the managed server by the name of `ServerSpec`'s field. ``server`` is the specification of
    the managed target before the sweep, so that it can be restored. ``seed`` is the seed of the shuffled order.
    ``steady_limit_s`` is the longest warm-up if the warm-up lasts until throughput is steady, else None. ``status`` is
    interrupted while a point is pending, and failed when a point failed or was skipped. ``against`` names the parameter
    of ``grid`` or ``server_grid`` whose two values are compared; ``figures`` names the metrics to show for every point.
    ``effects`` says how those of ``server_grid`` take effect that are settings of the server's own, by their names.
    """

    sweep_version: int = SWEEP_VERSION
    kind: str = "sweep"
    id: str
    name: str
    status: Status = Status.INTERRUPTED
    started_at: str
    openslob_version: str
    target: str
    workload: Load
    grid: Mapping[str, tuple[Value, ...]]
    server_grid: Mapping[str, tuple[Value, ...]] = Field(default_factory=dict)
    effects: Mapping[str, str] = Field(default_factory=dict)
    server: Mapping[str, Value] | None = None
    repeats: int = 1
    seed: int
    steady_limit_s: float | None = None
    search: SearchRecord | None = None
    against: str | None = None
    figures: tuple[str, ...] = ()
    points: tuple[SweepPoint, ...] = ()
    estimated_s: float | None = None
    estimated_bytes: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[SweepPoint, ...]:
        """The points that are still to be run, in their order."""
        return tuple(point for point in self.points if point.state is PointState.PENDING)

    @property
    def values_against(self) -> tuple[Value, ...]:
        """The two values of ``against``, the baseline first; empty when nothing is compared."""
        return {**self.server_grid, **self.grid}[self.against] if self.against else ()

    @property
    def counts(self) -> Mapping[PointState, int]:
        """The number of points in each state."""
        counter = Counter(point.state for point in self.points)
        return {state: counter[state] for state in PointState}

    def fingerprint(self) -> str:
        """Return a digest of the request: it is equal for two sweeps when one can continue the other."""
        search = self.search and (self.search.limit_us, self.search.at, self.search.most_sessions)
        grids = [[(name, *values) for name, values in grid.items()] for grid in (self.grid, self.server_grid)]
        asked = [self.target, dict(self.workload), *grids, self.repeats, self.seed, self.steady_limit_s, search]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    def with_point(self, point: SweepPoint) -> Self:
        """Return the record with this point in place of the one with the same number, or appended."""
        if point.number > len(self.points):
            return self.model_copy(update={"points": (*self.points, point)}).with_status()
        return self.with_points([point])

    def with_points(self, changed: Sequence[SweepPoint]) -> Self:
        """Return the record with these points in place of those with the same numbers."""
        by_number = {point.number: point for point in changed}
        points = tuple(by_number.get(point.number, point) for point in self.points)
        return self.model_copy(update={"points": points}).with_status()

    def with_failures_pending(self) -> Self:
        """Return the record with failed and skipped points pending again, and its search unanswered if so."""
        return self.with_pending([p for p in self.points if p.state in (PointState.FAILED, PointState.SKIPPED)])

    def with_pending(self, bad: Sequence[SweepPoint]) -> Self:
        """Return the record with these points pending again, and its search unanswered if there are any."""
        if not bad:
            return self
        again = {"state": PointState.PENDING, "run": None, "error": None}
        open_again = self.search and self.search.model_copy(update=dict.fromkeys(_ANSWER))
        record = self.model_copy(update={"search": open_again})
        return record.with_points([point.model_copy(update=again) for point in bad])

    def with_status(self) -> Self:
        """Return the record with the status that follows from its points and its search."""
        counts = self.counts
        bad = counts[PointState.FAILED] + counts[PointState.SKIPPED]
        searching = self.search is not None and self.search.why is None
        ended = Status.FAILED if bad else Status.COMPLETE
        return self.model_copy(
            update={"status": Status.INTERRUPTED if counts[PointState.PENDING] or searching else ended}
        )


class SweepFolder(DocumentFolder[SweepRecord]):
    """The folder of a sweep while it is being executed."""

    form = Format(SweepRecord, "the record of a sweep", "sweep_version", SWEEP_VERSION, {1: take_defaults})
    file_name = SWEEP_FILE


load_sweep, find_sweeps = SweepFolder.load, SweepFolder.find


def lost_points(path: Path, record: SweepRecord) -> list[tuple[SweepPoint, str]]:
    """Return the points of the sweep in ``path`` that are done, but without a record that can be used, and why.

    NewerVersionError when a later program wrote one of the records: it is not lost.
    """
    lost = []
    for point in record.points:
        if point.state is not PointState.DONE:
            continue
        try:
            run = store.load(path / (point.run or "no run"))
            why = "" if run.status is Status.COMPLETE else f"{path / run.id} is {run.status.value}"
        except NewerVersionError:
            raise
        except SlobError as error:
            why = error.what
        if why:
            lost.append((point, why))
    return lost
