"""Results for notebooks and scripts: records, points and tidy tables, in plain Python.

Example::

    import openslob, pandas
    runs = openslob.load("results/20260301-120000-petals")
    table = pandas.DataFrame(runs.rows())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openslob.analyze import timeline
from openslob.analyze.compare import ComparedValues
from openslob.analyze.curves.points import ParameterValue, Run
from openslob.analyze.curves.series import PointSet, point_set
from openslob.errors import SlobError, UsageError
from openslob.export.tidy import Row, point_rows, run_rows
from openslob.record import store
from openslob.record.model import RunRecord
from openslob.record.raw_csv import engine_rows, latency_rows, slice_rows, slice_spans
from openslob.record.sweep import SWEEP_FILE, find_sweeps, load_sweep, resolve_sweep


@dataclass(frozen=True)
class Results:
    """Runs, in the order in which they began. ``folders`` are theirs; ``problems`` tell what could not be read.

    ``against`` are the two values that a sweep holds against each other, where it does.
    """

    name: str
    runs: tuple[Run, ...]
    folders: tuple[Path, ...]
    problems: tuple[str, ...] = ()
    against: ComparedValues | None = None

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records themselves."""
        return tuple(run.record for run in self.runs)

    def points(self) -> PointSet:
        """Repeats taken together to points with 95 % intervals, and points to lines with knee, peak and limit."""
        return point_set(self.runs)

    def rows(self) -> list[Row]:
        """A tidy table, one row a run: parameters and figures by name, the unit at the end of the name."""
        return run_rows(self.runs)

    def point_rows(self) -> list[Row]:
        """A tidy table, one row a point: each figure's mean, and half the width of its interval as ``…_ci95``."""
        return point_rows(self.points().points)


def load(path: str | Path) -> Results:
    """Everything in the folder of a run, of a sweep, or of many of both. SlobError when there is nothing to read."""
    place = Path(path)
    if not place.exists():
        raise SlobError(f"{place} is not there")
    return _loaded(place)


def find(wanted: str, results: Path) -> Results:
    """What the user of a command means: a path, the name of runs or sweeps, or an id or its beginning.

    All runs of a name count, so that repeats need no more than the same name.
    """
    place = Path(wanted)
    if place.exists():
        return _loaded(place)
    named = _named(wanted, results)
    if named:
        return replace(joined([_loaded(each) for each in named]), name=wanted)
    if any(folder.name.startswith(wanted) for folder in find_sweeps(results)):
        return _loaded(resolve_sweep(wanted, results))
    return _loaded(store.resolve(wanted, results))


def joined(found: Sequence[Results]) -> Results:
    """Several as one; a run that is in two of them counts once."""
    every = ((run, folder) for each in found for run, folder in zip(each.runs, each.folders, strict=True))
    runs = {folder.resolve(): (run, folder) for run, folder in every}
    kept = sorted(runs.values(), key=lambda pair: (pair[0].record.started_at, pair[0].record.id))
    problems = tuple(problem for each in found for problem in each.problems)
    name = ", ".join(each.name for each in found)
    against = found[0].against if len(found) == 1 else None
    return Results(name, tuple(run for run, _ in kept), tuple(folder for _, folder in kept), problems, against)


def _named(name: str, results: Path) -> list[Path]:
    sweeps = [folder for folder in find_sweeps(results) if load_sweep(folder).name == name]
    alone = [each for each in store.find(results) if not (each.path.parent / SWEEP_FILE).is_file()]
    return sweeps or [each.path for each in alone if each.record and each.record.name == name and each.pid is None]


def _loaded(place: Path) -> Results:
    if place.is_file() or (place / store.RECORD_FILE).is_file():
        folder = place if place.is_dir() else place.parent
        return Results(folder.name, (_run(folder, store.load(place), {}),), (folder,))
    given = _given(place)
    found = [each for each in store.find(place) if each.pid is None]
    read = [(each.path, each.record) for each in found if each.record is not None and _wanted(each.path, given)]
    if not read:
        problem = next((each.problem for each in found if each.problem), "")
        raise UsageError(f"there are no records in {place}", problem or "`slob run` and `slob sweep` make them")
    runs = tuple(_run(path, record, given.get(path, {})) for path, record in read)
    problems = tuple(each.problem for each in found if each.record is None)
    return Results(place.name or str(place), runs, tuple(path for path, _ in read), problems, _against(place))


def _against(place: Path) -> ComparedValues | None:
    """What the sweep in this folder holds against each other."""
    record = load_sweep(place) if (place / SWEEP_FILE).is_file() else None
    return ComparedValues(record.against, *record.values_against) if record and record.against else None


def _given(place: Path) -> dict[Path, dict[str, ParameterValue]]:
    """What sweeps set for each of their runs, by folder."""
    sweeps = [place] if (place / SWEEP_FILE).is_file() else find_sweeps(place)
    return {
        folder / point.run: dict(point.server)
        for folder in sweeps
        for point in load_sweep(folder).points
        if point.run is not None
    }


def _wanted(path: Path, given: dict[Path, dict[str, ParameterValue]]) -> bool:
    """Runs of a sweep that it has given up, because they were broken off and repeated, are not wanted."""
    return path in given or not (path.parent / SWEEP_FILE).is_file()


def _run(folder: Path, record: RunRecord, given: dict[str, ParameterValue]) -> Run:
    if record.window is None:
        return Run.of(record, given)
    span = record.window.load_start_ns, record.window.load_end_ns
    rates = timeline.of_slices(slice_rows(folder), *span)
    engine = timeline.of_engine(engine_rows(folder), *span, timeline.counted_evenly(slice_spans(folder)))
    service = timeline.of_latencies(latency_rows(folder))
    response = timeline.of_latencies(latency_rows(folder, "response.csv"), "response_mean_us")
    return Run.of(record, given, {**engine, **rates, **service, **response})
