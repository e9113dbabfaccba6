"""Finding, reading and comparing records of runs: those of a folder, of a sweep, or of a name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from openslob.analyze import timeline
from openslob.analyze.compare import ComparedValues, Comparison
from openslob.analyze.compare import compare as compare_runs
from openslob.analyze.curves.points import ParameterValue, Run
from openslob.analyze.curves.series import PointSet, point_set
from openslob.analyze.history import History
from openslob.analyze.history import histories as of_records
from openslob.analyze.latencies import means_us
from openslob.analyze.run_folder import engine_course, tables_of, take_engine_counts
from openslob.core.disk import is_there
from openslob.core.errors import SlobError, UsageError
from openslob.core.places import server_of
from openslob.kinds.contract import Kind, every_kind, with_ratios
from openslob.metrics import add_costs
from openslob.metrics.cost import price_in
from openslob.record import finding, numbers, store
from openslob.record.model import DISCARDED, DocumentModel, RunRecord, Status
from openslob.report.several_runs import runs_document

if TYPE_CHECKING:
    from openslob.report.html.page import Page

# The files that time lines are made of.
TIMED = ("slices.csv", "engine.csv", "latency.csv", "response.csv")
# So many runs that are the same have an interval from how they differ.
_REPEATS = 2


@dataclass(frozen=True)
class Runs:
    """The runs of a record, of a name or of a folder, in the order in which they began.

    ``name`` is what was asked for, ``folders`` has the folder of each run, ``problems`` why records could not be read.
    ``whole`` is the record of a sweep or a lab, if these are the runs of just one; ``against`` is the parameter whose
    two values it compares.
    """

    name: str
    runs: tuple[Run, ...]
    folders: tuple[Path, ...]
    problems: tuple[str, ...] = ()
    against: ComparedValues | None = None
    whole: DocumentModel | None = None

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of the runs."""
        return tuple(run.record for run in self.runs)

    def points(self) -> PointSet:
        """Return the runs as points (repeats with 95 % intervals) in series with knee, peak and limiting resource."""
        return point_set(self.runs)

    def page(self) -> Page:
        """Return the page of the report."""
        # Pictures take a moment to import, and only some want them.
        from openslob.report.html.page import page_of  # noqa: PLC0415

        sides = [(self.name, self.runs)]
        return page_of(runs_document(sides, self.runs, self.folders, self.problems, self.against))

    def at_price(self, price: str) -> Self:
        """Return the same runs with what they cost at a price of the server, such as ``"123.45 EUR/month"``.

        It takes the place of the price that they were made with, if they were. Nothing is written. UsageError if it is
        not a price.
        """
        known = price_in(price)
        return replace(self, runs=tuple(replace(run, record=add_costs(run.record, known)) for run in self.runs))


def histories(
    target: str | None,
    figures: Sequence[str],
    results: Path,
    tell: Callable[[str], None] = store.say_nothing,
    load: str = "",
    with_labs: bool = False,
) -> list[History]:
    """Return the runs of each load over time, of the servers whose name or URL is or has ``target``; None: of all.

    ``load`` is a part of the words for the load, or of its parameters: only such loads are returned.

    Runs that others are compared with on purpose in a sweep are histories, too; those of labs, on servers that a lab
    makes and destroys, only ``with_labs``. ``tell`` gets why records could not be read.

    Raises:
        UsageError: There is no run of such a server, or a figure is unknown.

    """
    records = []
    for entry in store.find(results):
        if entry.problem:
            tell(entry.problem)
        elif entry.record and entry.pid is None and (with_labs or not _is_of_lab(entry.path)):
            records.append(entry.record)
    known = {str(record.engine.get("target")) for record in records}
    chosen = {each for each in known if target in (each, server_of(each))}
    chosen = chosen or {each for each in known if target is None or target in each}
    found = of_records([record for record in records if str(record.engine.get("target")) in chosen], figures)
    if not found:
        there = f"there are runs of {', '.join(sorted(map(server_of, known)))}" if known else "`slob run` makes one"
        raise UsageError(f"there is no complete run of {target or 'a server'} in {results}", there)
    wanted = [each for each in found if load.lower() in each.words.lower()]
    if not wanted:
        raise UsageError(f"no load has {load!r} in its description", f"such as {found[-1].words}")
    return wanted


def _is_of_lab(folder: Path) -> bool:
    """Return whether a run is one of pairs, which a lab compares."""
    return any(_is_of(kind, folder.parent) for kind in with_ratios())


def load(path: str | Path, figures: Collection[str] | None = None) -> Runs:
    """Read all runs in the folder of a run, of a sweep, or of several of both. SlobError when there are none.

    With ``figures``, which are of the engine's counters, only these have an interval within a run, and only where runs
    are no repeats: what that takes is read, and to read all takes most of the time.
    """
    folder = Path(path)
    if not is_there(str(path)):
        raise SlobError(f"{folder} does not exist")
    return _load_folder(folder, figures)


def find(names: Sequence[str], results: Path, figures: Collection[str] | None = None) -> Runs:
    """Read the runs that a command's arguments name: a path, an id, a name, the beginning of either, or ``latest``.

    A name means all runs with that name: runs with the same name are repeats. ``figures`` are as in `load`.
    """
    return join([_find(name, results, figures) for name in names])


def compare(a: Runs, b: Runs, like: Runs | None, see_pct: float, stored: str = "") -> Comparison:
    """Return how B differs from A; both and ``like`` have the names that the comparison gives them.

    ``like`` are equal runs, which show how much starts of a server differ. The number of runs is given that show a
    change of ``see_pct`` %. ``stored`` is the baseline that A was stored as; else it is empty.

    Raises:
        UsageError: A run is on both sides, which would make them look more alike than they are; or no point is.

    """
    # By the records, and not by the folders: a baseline has copies of runs.
    in_a = {record.id: record for record in a.records}
    shared = [record.id for record in b.records if in_a.get(record.id) == record]
    if shared:
        remedy = f"the baseline {stored} was stored from it" if stored else "name it on one side only"
        raise UsageError(f"the run {min(shared)} is on both sides", remedy)
    equal, name_like = (like.runs, like.name) if like else ((), "")
    return compare_runs(a.runs, b.runs, a.name, b.name, like=equal, name_like=name_like, see_pct=see_pct)


def _find(wanted: str, results: Path, figures: Collection[str] | None) -> Runs:
    path = Path(finding.nameable(wanted))
    if path.is_dir() and not finding.at(path) and ("/" in wanted or finding.has_records(path)):
        return _load_folder(path, figures)
    problems: list[str] = []
    folders = [found.folder for found in finding.several(wanted, results, problems.append)]
    if len(folders) == 1:
        found = _load_folder(folders[0], figures)
    else:
        found = replace(join([_load_folder(folder, figures) for folder in folders]), name=wanted)
    return replace(found, problems=(*problems, *found.problems))


def title_of(words: str, found: Runs) -> str:
    """Return what runs are called that ``words`` name: these words, but where they say only which record is meant.

    "latest" is another record tomorrow, and a number is one in another folder: the records' names stand for them.
    """
    if not any(map(finding.is_pointer, words.split(","))):
        return words
    names = [found.whole.name] if found.whole else [record.name for record in found.records]
    named = ", ".join(dict.fromkeys(names))
    return f"{named} (#{words.removeprefix('#')})" if numbers.read_number(words) else named


def join(several: Sequence[Runs]) -> Runs:
    """Return several results as one; a run that is in two of them counts once."""
    every = ((run, folder) for part in several for run, folder in zip(part.runs, part.folders, strict=True))
    runs = _not_made_again({folder.resolve(): (run, folder) for run, folder in every}, lambda each: each[0].record)
    ordered = sorted(runs.values(), key=lambda pair: (pair[0].record.started_at, pair[0].record.id))
    problems = tuple(problem for part in several for problem in part.problems)
    name = ", ".join(part.name for part in several)
    of_one = (several[0].against, several[0].whole) if len(several) == 1 else ()
    return Runs(name, tuple(run for run, _ in ordered), tuple(folder for _, folder in ordered), problems, *of_one)


def _load_folder(path: Path, figures: Collection[str] | None = None) -> Runs:
    if path.is_file() or any(os.path.lexists(path / name) for name in (store.RECORD_FILE, store.SLICES)):
        folder = path if path.is_dir() else path.parent
        return Runs(folder.name, (_alone(folder, store.load(path), figures),), (folder,))
    problems: list[str] = []
    chosen = list(_choices(path, problems))
    given = {run: parameters for kind, record, at in chosen for run, parameters in kind.given(record, at).items()}
    runs: dict[Path, Run] = {}
    for entry in store.find(path):
        try:
            if entry.pid is not None or not (entry.path in given or _counts_alone(entry.path)):
                continue
            if entry.record is None:
                problems.append(entry.problem)
            else:
                read = run_of if figures is None else _without_course
                runs[entry.path] = read(entry.path, entry.record, given.get(entry.path))
        except SlobError as error:
            problems.append(str(error))
    runs = _not_made_again(runs, lambda run: run.record)
    if figures:
        runs = _with_courses(runs, figures, problems)
    if not runs:
        problem = next(iter(problems), "")
        raise UsageError(f"there are no records in {path}", problem or "`slob run` and `slob sweep` make them")
    kind, whole = next(((kind, record) for kind, record, folder in chosen if folder == path), (None, None))
    against = kind.against(whole) if kind else None
    return Runs(path.name or str(path), tuple(runs.values()), tuple(runs), tuple(problems), against, whole)


def _not_made_again(runs: Mapping[Path, Any], record_of: Callable[[Any], RunRecord]) -> dict[Path, Any]:
    """Return the runs, by folder, less those that lost their window where the run in their place is among them."""
    replaced = {
        folder.parent / note.removeprefix(DISCARDED).partition(": ")[0]
        for folder, each in runs.items()
        for note in record_of(each).notes
        if note.startswith(DISCARDED)
    }
    return {folder: each for folder, each in runs.items() if folder not in replaced}


def _choosers() -> list[Kind[Any]]:
    """Return the kinds whose records say which runs in their folders count: those that were interrupted don't."""
    return [kind for kind in every_kind() if kind.chooses_runs]


def _counts_alone(folder: Path) -> bool:
    """Return whether a run counts that no record chooses: it is in the folder of none that could."""
    return not any(_is_of(kind, folder.parent) for kind in _choosers())


def _is_of(kind: Kind[Any], folder: Path) -> bool:
    return any(os.path.lexists(folder / file) for file in kind.files)


def _choices(path: Path, problems: list[str]) -> Iterator[tuple[Kind[Any], Any, Path]]:
    """Yield the records that say which runs in a folder count, each with its kind and its folder.

    ``problems`` gets why the runs of one are left out.
    """
    for kind in _choosers():
        if _is_of(kind, path):
            yield kind, kind.read(path), path
            continue
        for entry in kind.find(path):
            if entry.record is None:
                problems.append(f"{entry.problem} (its runs are left out)")
            else:
                yield kind, entry.record, entry.path


def run_of(folder: Path, record: RunRecord, given: Mapping[str, ParameterValue] | None = None) -> Run:
    """Return a run with its time line; ``given`` are parameters that a sweep set."""
    if record.window is None:
        return Run.of(record, given)
    tables = tables_of(folder, record, TIMED)
    ops, updates = (tables.work.from_zero(name) for name in ("ops", "updates"))
    rates = timeline.of_work(ops, updates, tables.unit_s, record.window.load_seconds)
    rows, even = take_engine_counts(tables, record)
    engine = timeline.of_engine(rows, record.window.load_start_ns, record.window.load_end_ns, even)
    # Of each class of sessions, too, if there are any.
    both = {**tables.latency, **tables.class_latency}, {**tables.response, **tables.class_response}
    service = {f"{kind}_mean_us": means_us(each) for kind, each in both[0].items()}
    response = {f"{kind}_response_mean_us": means_us(each) for kind, each in both[1].items()}
    return Run.of(record, given, {**engine, **rates, **service, **response})


def _without_course(_folder: Path, record: RunRecord, given: Mapping[str, ParameterValue] | None = None) -> Run:
    return Run.of(record, given)


def _alone(folder: Path, record: RunRecord, figures: Collection[str] | None) -> Run:
    if figures is None:
        return run_of(folder, record)
    return Run.of(record, timeline=engine_course(folder, record) if figures else None)


def _with_courses(runs: Mapping[Path, Run], figures: Collection[str], problems: list[str]) -> dict[Path, Run]:
    """Return the runs, with time lines where an interval of a figure needs them, less those with a damaged file.

    ``problems`` gets why these are left out.
    """
    knowing = Counter(run.key for run in runs.values() if _knows(run, figures))
    found = {}
    for folder, run in runs.items():
        try:
            alone = run.record.status is Status.COMPLETE and knowing[run.key] < _REPEATS
            found[folder] = replace(run, timeline=engine_course(folder, run.record)) if alone else run
        except SlobError as error:
            problems.append(str(error))
    return found


def _knows(run: Run, figures: Collection[str]) -> bool:
    known = run.record.status is Status.COMPLETE
    return known and all(run.record.value(name) is not None for name in figures)
