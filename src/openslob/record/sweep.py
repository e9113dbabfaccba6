"""The record of a sweep, `sweep.json`: what was asked for, every point with its state, and where its run lies.

A sweep is a folder, ``results/<time>-<name>/``, with `sweep.json` and the folders of its runs. The file is replaced as
a whole after every point, so that a sweep can go on after any end; a point whose run was under way is pending still.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openslob.errors import SlobError, UsageError
from openslob.record.model import Status
from openslob.record.store import DocumentFolder, lock_marker, new_folder, read_document, running_pid
from openslob.units import Extent

SWEEP_VERSION = 1
SWEEP_FILE = "sweep.json"

_SIZES = ("cache_bytes", "block_size")

Value = bool | int | float | str | None
Values = Mapping[str, Value]


def shown_parameter(name: str, value: Value) -> tuple[str, str]:
    """A varied parameter as its flag has it: ``cache`` and ``16M`` for 16,777,216 ``cache_bytes``."""
    if name in _SIZES and isinstance(value, int):
        return name.removesuffix("_bytes"), str(Extent(value, in_bytes=True))
    return name, str(value)


class PointState(StrEnum):
    """How far a point is. Skipped ones were never tried: their server or their data could not be had."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SweepPoint(_Plain):
    """One run of the sweep. ``number`` is its place in the order, from 1, ``repeat`` counts equal points, from 1.

    ``values`` are the workload parameters that the sweep varies, by field name, ``server`` those of the server; both
    as `SweepRecord.grid` and ``server_grid`` have them. ``run`` is the folder of its run inside the sweep's, None as
    long as there is none. ``estimated_s`` is the plan's time for it, its share of restarts and loads included.
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
        """The point in words: its values and, from the second on, the repeat."""
        words = [f"{name.replace('_', ' ')} {value}" for name, value in self._shown()]
        return ", ".join(words or ["the only point"]) + (f", repeat {self.repeat}" if self.repeat > 1 else "")

    @property
    def run_name(self) -> str:
        """What to call its run."""
        words = [f"{name}-{value}" for name, value in self._shown()]
        return "-".join([*(words or ["point"]), f"r{self.repeat}"])

    def _shown(self) -> list[tuple[str, str]]:
        return [shown_parameter(name, value) for name, value in {**self.server, **self.values}.items()]


class SearchRecord(_Plain):
    """A search over session counts for the highest throughput with a latency within a limit, and what came of it.

    ``at`` is ``mean`` or a percentile such as ``p99`` of the latency of the most frequent operation. ``throughput`` is
    the metric that was maximised. ``sessions`` is the answer, None while there is none or when even one session is too
    slow; ``why`` says what ended the search, None while it goes on.
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


class SweepRecord(_Plain):
    """A sweep as asked for and as far as it is.

    ``workload`` holds every parameter (`Workload.to_record`); ``grid`` the varied ones with their values by field
    name, ``server_grid`` those of the managed server by the name of `ServerSpec`'s field. ``server`` is the managed
    target as it was before the sweep, so that it can be left so. ``seed`` is that of the shuffle. ``steady_limit_s``
    is the longest warm-up when it shall last until the throughput is steady, else None. ``status`` is interrupted
    while anything is pending, failed when a point failed or was skipped. ``against`` names the parameter of ``grid`` or
    ``server_grid`` whose two values are compared, ``figures`` what of the registry is shown with every point.
    """

    sweep_version: int = SWEEP_VERSION
    kind: str = "sweep"
    id: str
    name: str
    status: Status = Status.INTERRUPTED
    started_at: str
    openslob_version: str
    target: str
    workload: Mapping[str, Any]
    grid: Mapping[str, tuple[Value, ...]]
    server_grid: Mapping[str, tuple[Value, ...]] = Field(default_factory=dict)
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
        """The points still to be run, in their order."""
        return tuple(point for point in self.points if point.state is PointState.PENDING)

    @property
    def values_against(self) -> tuple[Value, ...]:
        """The two values of ``against``, the one that is compared with first; empty when nothing is compared."""
        return {**self.server_grid, **self.grid}[self.against] if self.against else ()

    @property
    def counts(self) -> Mapping[PointState, int]:
        """How many points are in each state."""
        found = Counter(point.state for point in self.points)
        return {state: found[state] for state in PointState}

    def fingerprint(self) -> str:
        """Digest over what was asked for: equal for sweeps of which one can go on where the other ended."""
        search = self.search and (self.search.limit_us, self.search.at, self.search.most_sessions)
        grids = [[(name, *values) for name, values in grid.items()] for grid in (self.grid, self.server_grid)]
        asked = [self.target, dict(self.workload), *grids, self.repeats, self.seed, self.steady_limit_s, search]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]

    def with_point(self, point: SweepPoint) -> Self:
        """The record with this point in place of the one of its number, or added as the last."""
        if point.number > len(self.points):
            return self.model_copy(update={"points": (*self.points, point)}).with_status()
        return self.with_points([point])

    def with_points(self, changed: Sequence[SweepPoint]) -> Self:
        """The record with these points in place of those of the same numbers."""
        by_number = {point.number: point for point in changed}
        points = tuple(by_number.get(point.number, point) for point in self.points)
        return self.model_copy(update={"points": points}).with_status()

    def with_failures_pending(self) -> Self:
        """The record in which what failed or was skipped is to be run again, and a search by that to be answered."""
        bad = [point for point in self.points if point.state in (PointState.FAILED, PointState.SKIPPED)]
        if not bad:
            return self
        again = {"state": PointState.PENDING, "run": None, "error": None}
        open_again = self.search and self.search.model_copy(update=dict.fromkeys(_ANSWER))
        record = self.model_copy(update={"search": open_again})
        return record.with_points([point.model_copy(update=again) for point in bad])

    def with_status(self) -> Self:
        """The record with the status that its points give it."""
        counts = self.counts
        bad = counts[PointState.FAILED] + counts[PointState.SKIPPED]
        searching = self.search is not None and self.search.why is None
        ended = Status.FAILED if bad else Status.COMPLETE
        return self.model_copy(
            update={"status": Status.INTERRUPTED if counts[PointState.PENDING] or searching else ended}
        )


class SweepFolder(DocumentFolder[SweepRecord]):
    """A sweep's folder while the sweep goes on."""

    @classmethod
    def begin(cls, results: Path, record: SweepRecord) -> Self:
        """Make the folder ``results/<record.id>`` (``-2`` and so on added if taken) and write the record."""
        path = new_folder(results, record.id)
        folder = cls(path, SWEEP_FILE, lock_marker(path), record)
        folder.save(record.model_copy(update={"id": path.name}))
        return folder

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Take up a sweep. SlobError when another process is at it."""
        record = load_sweep(path)
        if pid := running_pid(path):
            raise SlobError(f"the sweep {path.name} is going on in process {pid}", "wait for it to end, or stop it")
        return cls(path, SWEEP_FILE, lock_marker(path), record)


def load_sweep(path: Path) -> SweepRecord:
    """The record in a sweep's folder or in a `sweep.json`. SlobError when there is none to read."""
    file = path / SWEEP_FILE if path.is_dir() else path
    return _from_document(read_document(file), file)


def find_sweeps(results: Path) -> list[Path]:
    """The folders of all sweeps in ``results``, the oldest first: their names begin with the time."""
    return sorted(file.parent for file in results.glob(f"*/{SWEEP_FILE}"))


def resolve_sweep(wanted: str, results: Path) -> Path:
    """The sweep folder the user means: a path, an id, the beginning of just one id, or ``latest``.

    UsageError when there is none or more than one.
    """
    if (Path(wanted) / SWEEP_FILE).is_file():
        return Path(wanted)
    folders = find_sweeps(results)
    if wanted == "latest" and folders:
        return folders[-1]
    found = [folder for folder in folders if folder.name == wanted] or [
        folder for folder in folders if folder.name.startswith(wanted)
    ]
    if len(found) == 1:
        return found[0]
    many = f"{len(found)} sweeps begin with {wanted!r}: give more of the id"
    raise UsageError(many if found else f"no sweep in {results} is called {wanted!r} or begins so")


def _from_document(document: object, file: Path) -> SweepRecord:
    version = document.get("sweep_version") if isinstance(document, dict) else None
    if not isinstance(version, int):
        raise SlobError(f"{file} is not the record of a sweep", "it has no sweep_version")
    if version > SWEEP_VERSION:
        raise SlobError(f"{file} has version {version}, this openslob reads up to {SWEEP_VERSION}", "update it")
    try:
        return SweepRecord.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise SlobError(f"{file} is damaged at {where!r}: {first['msg']}") from error
