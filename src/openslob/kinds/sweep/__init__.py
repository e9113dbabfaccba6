"""A sweep: the same load at each point of a grid, or a search for the best one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from openslob.analyze.outcome import count_noun
from openslob.analyze.verdict_registry import invalidates
from openslob.core.errors import UsageError
from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, list_failed
from openslob.record.finding import Found
from openslob.record.kinds import Labels
from openslob.record.model import RunRecord, Status
from openslob.record.store import RECORD_FILE, many_documents
from openslob.report.format import number

if TYPE_CHECKING:
    from openslob.analyze.compare import ComparedValues
    from openslob.analyze.curves.points import ParameterValue, Run
    from openslob.analyze.derive import Derived
    from openslob.kinds.sweep.live import FollowedSweep
    from openslob.kinds.sweep.record import SweepFolder, SweepRecord
    from openslob.report.document import Document


class SweepKind(DocumentKind["SweepRecord"]):
    """Sweeps."""

    labels = Labels("sweep", "sweep", "slob sweep", "point", "; these are the points so far", rank=1)
    files = ("sweep.json",)
    has_runs = True
    has_own_page = False
    chooses_runs = True

    @property
    def folder(self) -> type[SweepFolder]:
        from openslob.kinds.sweep.record import SweepFolder

        return SweepFolder

    def row(self, record: SweepRecord) -> Row:
        """Return the main figures: the values of parameters over the points, and how these ended."""
        return {
            **{name: _list_values(record, name) for name in ("sessions", "update_pct")},
            "mode": _common_mode(record),
            "points": {state.value: count for state, count in record.counts.items()},
            "failed_verdicts": [],
        }

    def of_part(self, whole: Found) -> Row:
        return {"sweep": whole.path.name}

    def contents(self, record: SweepRecord) -> str:
        counts = record.counts.items()
        return ", ".join(f"{count} {state.value}" for state, count in counts if count) or "no points yet"

    def answer(self, record: SweepRecord, runs: Sequence[RunRecord] = ()) -> str:
        """Return the highest rate of its points, which is the mean of the repeats, and the sessions that it takes."""
        from openslob.kinds.listing import MAIN_RATES, main_rate

        points = list(_repeats(record, [run for run in runs if main_rate(run)]))
        if not points:
            return self.contents(record)
        name = Counter(main_rate(run) for point in points for run in point).most_common(1)[0][0] or ""
        rates = [(fmean(known), point) for point in points if (known := [v for r in point if (v := r.value(name))])]
        best, point = max(rates, key=lambda each: each[0])
        return f"{number(best)} {MAIN_RATES[name]} at {count_noun(point[0].value('sessions') or 0, 'session')}"

    def read_as(self, path: Path, _wanted: Wanted) -> SweepRecord:
        """Return the record: a price is that of its runs."""
        return self.read(path)

    def documents(self, found: Found) -> list[tuple[str, Path]]:
        """Return the files of the sweep and of all its points, complete or not."""
        record = self.read(found.path)
        runs = [point.run for point in record.points if point.run]
        kept = [run for run in runs if (found.folder / run / RECORD_FILE).is_file()]
        files = [(f"{record.id}/{run}", found.folder / run / RECORD_FILE) for run in kept]
        return [(record.id, found.folder / self.files[0]), *files]

    def left_out(self, _found: Found) -> list[RunRecord]:
        """Return nothing: a sweep is kept whole."""
        return []

    def given(self, record: SweepRecord, folder: Path) -> Mapping[Path, Mapping[str, ParameterValue]]:
        """Return the server's parameters of each point that has a run."""
        return {folder / point.run: point.server for point in record.points if point.run is not None}

    def against(self, record: SweepRecord) -> ComparedValues | None:
        """Return the parameter of `--against` with its values."""
        from openslob.analyze.compare import ComparedValues

        return ComparedValues(record.against, *record.values_against) if record.against else None

    def follow(self, folder: Path) -> FollowedSweep:
        """Return the follower of the sweep, with its run in progress or the last one."""
        from openslob.kinds.sweep.live import FollowedSweep

        return FollowedSweep(folder)

    def document(self, record: SweepRecord, folder: Path | None = None, wanted: Wanted = AS_IT_IS) -> Document:
        """Return the report, with the runs in its folder."""
        from openslob.kinds.sweep.report import sweep_document

        with many_documents():
            made = _runs(folder, record, wanted) if folder else ()
            return sweep_document(record, [run for run in made if run.record.status is Status.COMPLETE], folder)

    def numbers(self, folder: Path) -> Iterator[Derived]:
        """Yield the answer of a search beside the mean of the runs that it is of."""
        from openslob.analyze.curves.points import Run, points
        from openslob.analyze.curves.series import latency_figure
        from openslob.kinds.again import compare_noted, read_runs

        record, made = self.read(folder), read_runs(folder)
        search = record.search
        if search is None or search.throughput is None:
            return
        names = [each.run for each in record.points if each.values.get("sessions") == search.sessions]
        means = points([Run.of(made[name]) for name in names if name in made])
        figures = {"best": search.throughput, "latency_us": latency_figure(search.at)}
        again = {name: means[0].mean(figure) for name, figure in figures.items()} if len(means) == 1 else {}
        yield from compare_noted("search", {"best": search.best, "latency_us": search.latency_us}, again)


def _repeats(record: SweepRecord, runs: Sequence[RunRecord]) -> Iterator[list[RunRecord]]:
    """Yield the runs of each point that is done: those whose figures can be used, if there are any."""
    from openslob.kinds.sweep.record import PointState

    usable = [run for run in runs if not any(map(invalidates, list_failed(run.verdicts)))]
    by_id = {run.id: run for run in usable or runs}
    points = defaultdict[str, list[RunRecord]](list)
    for each in record.points:
        if each.state is PointState.DONE and each.run in by_id:
            points[repr(sorted({**each.server, **each.values}.items()))].append(by_id[each.run])
    yield from points.values()


def _list_values(record: SweepRecord, name: str) -> list[float] | None:
    """Return the values of a parameter over the points of a sweep; None if it is left to the default."""
    given: list[Any] = [{**record.workload, **point.values}.get(name) for point in record.points]
    return sorted({each for each in given if isinstance(each, int | float)}) or None


def _common_mode(record: SweepRecord) -> str | None:
    """Return the mode that all points of a sweep ask for; None if they ask for none, or for several."""
    modes = {{**record.workload, **point.values}.get("mode") for point in record.points}
    return str(*modes) if len(modes) == 1 and None not in modes else None


def _runs(folder: Path, record: SweepRecord, wanted: Wanted) -> Sequence[Run]:
    from openslob.analyze.curves.series import CACHED, PHYSICAL
    from openslob.kinds import runs

    if not any(point.run for point in record.points):
        return ()
    try:
        # The table of the points has the interval of one figure.
        throughputs = (PHYSICAL.throughput, CACHED.throughput)
        found = runs.load(folder, None if record.figures or record.against else throughputs)
    except UsageError as error:  # every run is lost: what the sweep itself says is left
        wanted.tell(str(error))
        return ()
    for problem in found.problems:
        wanted.tell(problem)
    return found.at_price(wanted.price).runs if wanted.price else found.runs


KIND = SweepKind()
