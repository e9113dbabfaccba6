"""The runs of one load on one server over time: since when its figures are others, and what had changed by then.

Runs belong to one history if target, host and every parameter are the same. What else may differ between them (version,
settings, cache, kernel, the program) may have caused a change, and is named where it changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from openslob.analyze.change_points import LEAST_PART, Step, course_to_the_last
from openslob.analyze.compare import better_of, is_figure, unit_of
from openslob.analyze.curves.points import ParameterValue, facts, parameters_of
from openslob.analyze.load_kinds import load_kind, timed_of
from openslob.analyze.outcome import count_noun
from openslob.core.errors import UsageError
from openslob.core.places import server_of
from openslob.core.workload import PRICE
from openslob.metrics import PRICED, Better, Timed
from openslob.metrics.cost import CURRENCY, price_of
from openslob.metrics.run_metrics import figure_of
from openslob.metrics.timed import SINGLE
from openslob.record.model import RecordKind, RunRecord, Status

FIGURES = ("ops_per_s", "op_p99_us")
_OBSERVED = "transactions_per_s"
# Of the server, but no part of what makes two runs the same load on the same server.
_MAY_CHANGE = ("product", "version", "block_size", "cache_bytes", "direct_io")
# Between two runs is a gap if it is so many times as long as usual, and at least so long.
GAP_TIMES, LEAST_GAP_S = 3.0, 3600.0
LEAST_RUNS = 2 * LEAST_PART


@dataclass(frozen=True)
class HistoryRun:
    """A run of a history, with what is different since the one before; ``gap_s`` is how long nothing was measured."""

    id: str
    started_at: str
    figures: Mapping[str, float | None]
    changed: tuple[str, ...] = ()
    gap_s: float | None = None

    @property
    def at_s(self) -> float:
        """When it began, in seconds since the epoch."""
        return datetime.fromisoformat(self.started_at).timestamp()


@dataclass(frozen=True)
class FigureStep:
    """Another level of a figure from run number ``at`` on, from 0, which has this ``id``."""

    figure: str
    at: int
    id: str
    started_at: str
    before: float
    after: float
    change_pct: float


@dataclass(frozen=True)
class HistoryChange(FigureStep):
    """A change point of a figure; ``worse`` is None for a figure without a direction.

    ``changed`` is what else changed with this run, or with the one before or after it.
    """

    p: float
    worse: bool | None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class EarlyChange(FigureStep):
    """What may become a change point of a figure: it takes ``more`` runs like those since.

    ``more`` is None if it takes more than `openslob.analyze.change_points.MOST_MORE`; ``worse`` is as of a change.
    """

    more: int | None
    worse: bool | None


@dataclass(frozen=True)
class DriftingFigure:
    """A figure whose changes, of the runs from number ``begin`` to before ``end``, may be slow drift.

    Neighbouring runs are that much alike: ``correlation``, of what is left without the change.
    """

    figure: str
    begin: int
    end: int
    correlation: float


@dataclass(frozen=True)
class History:
    """The runs of one load on one server in the order of time; ``left_out`` failed or were interrupted.

    ``parameters`` distinguish it from others of the same target whose load has the same words. ``currency`` is that of
    the last run with a price: what runs with a price in another one cost is unknown, as nothing is converted.
    """

    target: str
    host: str
    load: str
    parameters: Mapping[str, ParameterValue]
    figures: tuple[str, ...]
    runs: tuple[HistoryRun, ...]
    changes: tuple[HistoryChange, ...]
    left_out: int = 0
    currency: str = ""
    early: tuple[EarlyChange, ...] = ()
    drifts: tuple[DriftingFigure, ...] = ()
    timed: Timed = SINGLE

    def __repr__(self) -> str:
        """Return the load, and how many runs and changes there are: all of them would be hundreds of lines."""
        changes = count_noun(len(self.changes), "change")
        return f"<History: {self.words} on {self.server}, {count_noun(len(self.runs), 'run')}, {changes}>"

    def unit_of(self, figure: str) -> str:
        """Return the unit of a figure."""
        unit = unit_of(figure)
        return self.currency if unit == CURRENCY else unit

    @property
    def server(self) -> str:
        """The target as a reader knows it: by its name, of a managed server."""
        return server_of(self.target)

    @property
    def words(self) -> str:
        """The load in words, with the parameters that tell it from others."""
        given = self.parameters.items()
        more = ", ".join(f"without {name}" if value is None else f"{name} {value}" for name, value in given)
        return f"{self.load} ({more})" if more else self.load

    @property
    def is_long(self) -> bool:
        """Whether there are runs enough to see a change point."""
        return len(self.runs) >= LEAST_RUNS

    def find_undecided(self, runs: int) -> dict[str, str]:
        """Return why a change within the last ``runs`` runs could not show, by figure.

        It shows in a figure that runs enough have, one of the last among them, and that does not drift until now.
        """
        drifting = {each.figure for each in self.drifts if each.end == len(self.runs)}
        why = {}
        for figure in self.figures:
            known = [run.figures[figure] is not None for run in self.runs]
            if sum(known) < LEAST_RUNS:
                why[figure] = f"{sum(known)} of {len(known)} runs have it, and {LEAST_RUNS} are needed"
            elif not any(known[-runs:]):
                why[figure] = f"none of the last {runs} runs has it"
            elif figure in drifting:
                why[figure] = "it drifts"
        return why

    def worse_within(self, runs: int) -> list[HistoryChange]:
        """Return the changes for the worse that begin with one of the last ``runs`` runs."""
        return [each for each in self.changes if each.worse and each.at >= len(self.runs) - runs]


def histories(records: Sequence[RunRecord], figures: Sequence[str] = ()) -> list[History]:
    """Return the histories of these records, that with the latest run last. UsageError for an unknown figure."""
    for name in figures:
        if not is_figure(name):
            raise UsageError(f"{name!r} is not a figure", "docs/figures.md lists them; latencies are such as op_p99_us")
    groups: dict[tuple[tuple[str, ParameterValue], ...], list[RunRecord]] = {}
    for record in sorted(records, key=lambda each: (each.started_at, each.id)):
        groups.setdefault(tuple(sorted(_identity(record).items())), []).append(record)
    made = []
    for key, group in groups.items():
        varying = _varying([dict(other) for other, records in groups.items() if _words(records) == _words(group)])
        made.append(_history(group, {name: value for name, value in key if name in varying}, figures))
    return sorted((each for each in made if each.runs), key=lambda each: each.runs[-1].started_at)


def _identity(record: RunRecord) -> dict[str, ParameterValue]:
    known = {name: value for name, value in parameters_of(record).items() if name not in _MAY_CHANGE}
    return {name: value if _plain(value) else str(value) for name, value in known.items()} | {
        "target": str(record.engine.get("target")), "kind": record.kind.value,
    }  # fmt: skip


def _plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


def _varying(groups: Sequence[Mapping[str, ParameterValue]]) -> set[str]:
    names = {name for group in groups for name in group}
    return {name for name in names if len({str(group.get(name)) for group in groups}) > 1}


def _words(records: Sequence[RunRecord]) -> tuple[object, str]:
    """Return the target and the load in words, which the name of a history begins with."""
    return records[-1].engine.get("target"), load_kind(records[-1]).in_words(records[-1])


def _history(records: Sequence[RunRecord], parameters: Mapping[str, ParameterValue], figures: Sequence[str]) -> History:
    last = records[-1]
    good = [each for each in records if each.status is Status.COMPLETE]
    names = tuple(figures) or _usual(last)
    currency = next((price.currency for each in reversed(good) if (price := price_of(each))), "")
    runs = tuple(_runs(good, names, currency))
    courses = [_course(runs, name) for name in names]
    return History(
        target=str(last.engine.get("target")),
        host=str(last.environment.get("host") or "?"),
        load=load_kind(last).in_words(last),
        parameters=parameters,
        timed=timed_of(last),
        figures=names,
        runs=runs,
        changes=tuple(change for changes, _, _ in courses for change in changes),
        left_out=len(records) - len(good),
        currency=currency,
        early=tuple(step for _, early, _ in courses for step in early),
        drifts=tuple(drift for _, _, drifts in courses for drift in drifts),
    )


def _usual(record: RunRecord) -> tuple[str, ...]:
    return (_OBSERVED,) if record.kind is RecordKind.OBSERVATION else FIGURES


def _figures(record: RunRecord, names: Sequence[str], currency: str) -> dict[str, float | None]:
    price = price_of(record)
    other = PRICED if price and price.currency != currency else frozenset[str]()
    return {name: None if name in other else figure_of(record, name) for name in names}


def _runs(records: Sequence[RunRecord], names: Sequence[str], currency: str) -> Iterator[HistoryRun]:
    plain = [HistoryRun(each.id, each.started_at, _figures(each, names, currency)) for each in records]
    priced = not PRICED.isdisjoint(names)
    waits = [later.at_s - earlier.at_s for earlier, later in pairwise(plain)]
    longest = max(GAP_TIMES * median(waits), LEAST_GAP_S) if waits else 0.0
    before: dict[str, object] | None = None
    for number, (record, run) in enumerate(zip(records, plain, strict=True)):
        now = _conditions(record) | ({PRICE: record.spec.get(PRICE)} if priced else {})
        gap_s = waits[number - 1] if number and waits[number - 1] > longest else None
        yield HistoryRun(run.id, run.started_at, run.figures, tuple(_differences(before, now)), gap_s)
        before = now


def _conditions(record: RunRecord) -> dict[str, object]:
    """Return what may change between the runs of a history, by the name that a reader knows."""
    known: dict[str, object] = {
        name.removeprefix("engine.settings.").removeprefix("environment."): next(iter(values))
        for name, values in facts([record]).items()
    }
    server = f"{record.engine.get('product') or ''} {record.engine.get('version') or ''}".strip()
    more = {name: record.engine.get(name) for name in _MAY_CHANGE[2:]}
    return {"server": server, **more, **known}


def _differences(before: Mapping[str, object] | None, now: Mapping[str, object]) -> Iterator[str]:
    for name in dict.fromkeys((*now, *(before or now))):
        old, new = (before or now).get(name), now.get(name)
        if old == new:
            continue
        if name.startswith("engine.plans."):
            yield f"plan of {name.rpartition('.')[2]}"
        else:
            yield f"{name} {'unknown' if old is None else old} -> {'unknown' if new is None else new}"


def _course(
    runs: Sequence[HistoryRun], name: str
) -> tuple[list[HistoryChange], list[EarlyChange], list[DriftingFigure]]:
    """Return the changes of a figure, what may become one, and where it can't be distinguished from drift."""
    known = [(number, value) for number, run in enumerate(runs) if (value := run.figures.get(name)) is not None]
    course = course_to_the_last([value for _, value in known])
    numbers = [*(number for number, _ in known), len(runs)]
    changes = []
    for change in course.changes:
        at = numbers[change.at]
        near = runs[max(at - 1, 0) : at + 2]
        changed = tuple(dict.fromkeys(each for run in near for each in run.changed))
        changes.append(HistoryChange(**_step(runs[at], at, name, change), p=change.p, changed=changed))
    steps = [] if course.early is None else [course.early]
    early = [
        EarlyChange(**_step(runs[numbers[each.at]], numbers[each.at], name, each), more=each.more) for each in steps
    ]
    drifts = [DriftingFigure(name, numbers[each.begin], numbers[each.end], each.correlation) for each in course.drifts]
    return changes, early, drifts


def _step(run: HistoryRun, at: int, name: str, change: Step) -> dict[str, Any]:
    """Return what a change and what may become one have in common."""
    better = better_of(name)
    return {
        "figure": name,
        "at": at,
        "id": run.id,
        "started_at": run.started_at,
        "before": change.before,
        "after": change.after,
        "change_pct": change.change_pct,
        "worse": None if better is Better.NEITHER else (change.after > change.before) is (better is Better.LESS),
    }
