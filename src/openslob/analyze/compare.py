"""The comparison of two runs or two sweeps: what makes them hard to compare, and the difference in every figure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import zip_longest

from openslob.analyze.curves.points import (
    PLANS,
    SESSIONS,
    STAGE_FIGURES,
    Parameters,
    ParameterValue,
    Point,
    Run,
    facts,
    in_order,
    points,
    varying,
)
from openslob.analyze.curves.series import label, order
from openslob.analyze.differences import DETECT_PCT, Difference, Outcome, difference, mean_difference
from openslob.analyze.intervals import spread
from openslob.analyze.load_kinds import LOAD, is_client_loop, load_kind, timed_of
from openslob.analyze.statistics import Estimate
from openslob.core.errors import UsageError
from openslob.core.histogram import step_of
from openslob.core.rate_schedule import RateSchedule, RateStage
from openslob.core.session_classes import name_kind, split_kind
from openslob.core.units import Price
from openslob.core.wait_classes import classify_wait
from openslob.core.workload import RATE_SCHEDULE
from openslob.metrics import METRICS, Better
from openslob.metrics.cost import CURRENCY
from openslob.metrics.model import RESPONSE_PREFIX
from openslob.metrics.run_metrics import RATE_OF, STAGE
from openslob.metrics.waits import CPU_ROW, MIN_SAMPLES
from openslob.record.model import SET, RunRecord

# Requested values, and sums that grow with the length of the run, are not results.
_NO_RESULTS = frozenset(
    {"elapsed_s", "sessions", "ops_total", "updates_total", "selects_total", "scans_total"} | {"target_ops_per_s"}
)
_LATENCY = re.compile(r"(op|select|update|scan)_(response_)?(mean|p50|p90|p99|p999)_us")
LATENCY_FIGURES = tuple(
    f"{kind}_{prefix}{statistic}_us"
    for prefix in ("", RESPONSE_PREFIX)
    for kind in ("select", "update", "scan")
    for statistic in ("mean", "p50", "p90", "p99", "p999")
)
FIGURES = (*(name for name in METRICS if name not in _NO_RESULTS), *LATENCY_FIGURES)

# The only metrics that a class of sessions, or a stage of a rate that changes, has beside its latencies.
OF_CLASS = frozenset({"ops_per_s", *STAGE_FIGURES})

RECOVERY = "recovery_s"
# Facts of the engine that come from the load of a run.
_OF_LOAD = frozenset({"plans", "data_bytes"})
NO_PLAN = "none"

Key = tuple[tuple[str, ParameterValue], ...]
OUTSIDE = "outside of operations"
BESIDE_SERVER = "driver, protocol and network"
# The samples do not tell running from waiting for a CPU.
_CPU = "CPU"
_SETTINGS = "engine.settings"


@dataclass(frozen=True)
class TimePart:
    """The time per operation that one kind of waiting takes, in µs: in A and in B."""

    name: str
    a_us: float
    b_us: float


@dataclass(frozen=True)
class Breakdown:
    """The time per operation in A and in B, in µs, and its parts, the largest difference first.

    With a given number of sessions, the time per operation decides the throughput: it is all time of the sessions,
    divided by the operations. A part of it passes outside of operations: think time, waiting for a due time, between
    slices. The rest is divided as the samples of what sessions wait for say. So the parts add up to the whole, and
    their differences to the whole difference.
    """

    a_us: float
    b_us: float
    parts: tuple[TimePart, ...]

    @property
    def change_pct(self) -> float:
        """How much more time an operation takes in B, in % of A's."""
        return 100 * (self.b_us - self.a_us) / self.a_us

    def points_of(self, part: TimePart) -> float:
        """Return the share of `change_pct` that a part makes; these add up to it."""
        return 100 * (part.b_us - part.a_us) / self.a_us


def breakdown(a: Sequence[RunRecord], b: Sequence[RunRecord]) -> Breakdown | None:
    """Return the breakdown of the difference between the means of two sides; None if one of them does not know it."""
    sides = [[time_by_kind(record) for record in side] for side in (a, b)]
    known = [[each for each in side if each is not None] for side in sides]
    if not all(known) or [len(each) for each in known] != [len(each) for each in sides]:
        return None
    names = dict.fromkeys(name for side in known for each in side for name in each)
    means = [{name: sum(each.get(name, 0.0) for each in side) / len(side) for name in names} for side in known]
    parts = [TimePart(name, means[0][name], means[1][name]) for name in names]
    ordered = sorted(parts, key=lambda part: -abs(part.b_us - part.a_us))
    return Breakdown(sum(means[0].values()), sum(means[1].values()), tuple(ordered))


def time_by_kind(record: RunRecord) -> Mapping[str, float] | None:
    """Return the time per operation of a run in µs, by what its sessions waited for; None if that is not known."""
    sessions, window = load_kind(record).sessions(record), record.window
    ops = sum(float(each["count"]) for each in record.latency.values())
    samples = sum(row.samples for row in record.waits)
    means = [each["mean_us"] for each in record.latency.values()]
    if not (sessions and window and ops) or None in means or samples < MIN_SAMPLES:
        return None
    if is_client_loop(record) and _db_time_us(record) is None:
        return None
    inside = sum(float(each["count"]) * float(each["mean_us"]) for each in record.latency.values()) / ops
    # All of a batch wait at the same time.
    inside /= timed_of(record).size or 1
    of_server = min(inside, _db_time_us(record) or 0.0) if is_client_loop(record) else inside
    found: dict[str, float] = {BESIDE_SERVER: inside - of_server} if is_client_loop(record) else {}
    for row in record.waits:
        kind = _CPU if row.event == CPU_ROW else classify_wait(row.event).value
        found[kind] = found.get(kind, 0.0) + of_server * row.samples / samples
    return {**found, OUTSIDE: max(0.0, sessions * window.load_seconds * 1e6 / ops - inside)}


def _db_time_us(record: RunRecord) -> float | None:
    """Return the DB time of an operation in µs; None where it is not known."""
    per_s, ops_per_s = record.value("db_time_per_s"), record.value("ops_per_s")
    return 1e6 * per_s / ops_per_s if per_s is not None and ops_per_s else None


@dataclass(frozen=True)
class Mismatch:
    """A parameter or fact that differs between A and B, with its values in each."""

    name: str
    a: tuple[ParameterValue, ...]
    b: tuple[ParameterValue, ...]


@dataclass(frozen=True)
class StageDifference:
    """A stage of a rate that changes, in A and in B.

    ``label`` is its begin and its rate, or its number where these are not the same; ``differences`` has the figures of
    `STAGE_FIGURES` that either side knows; ``why_unrecovered`` is for each side why the time to recover is not known.
    """

    label: str
    differences: Mapping[str, Difference]
    why_unrecovered: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """The same point in A and in B, with the difference in every figure of `FIGURES`, and of classes, that either has.

    ``time`` is what the difference in the time per operation consists of; None where that is not known.
    """

    sessions: int
    label: str
    a: Point
    b: Point
    differences: Mapping[str, Difference]
    time: Breakdown | None = None

    @property
    def stages(self) -> tuple[StageDifference, ...]:
        """The stages of a rate that changes, matched by their numbers; none unless it changes on both sides."""
        asked = [_stages_asked(point) for point in (self.a, self.b)]
        if not all(asked):
            return ()
        both = zip_longest(*asked)
        return tuple(self._stage(number, dict.fromkeys(filter(None, each))) for number, each in enumerate(both, 1))

    @property
    def of_stages(self) -> frozenset[str]:
        """The names of the figures of `stages`."""
        return frozenset(each.figure for stage in self.stages for each in stage.differences.values())

    def _stage(self, number: int, asked: Collection[RateStage]) -> StageDifference:
        names = {figure: name_kind(f"{STAGE}{number}", figure) for figure in STAGE_FIGURES}
        found = {figure: self.differences[name] for figure, name in names.items() if name in self.differences}
        recovery = [point.figure(names[RECOVERY]) for point in (self.a, self.b)]
        said = " ".join(each.in_words for each in asked) if len(asked) == 1 else f"stage {number}"
        return StageDifference(said, found, tuple("" if each.mean is not None else each.why for each in recovery))


@dataclass(frozen=True)
class Comparison:
    """The pairs of equal points of A and B, and the mean difference over all pairs in ``overall``.

    ``loads`` are those of A and B where one is of runs and the other of observations: then they differ on purpose.
    ``see_pct`` is the change for which the number of runs is given, in %; ``name_like`` names the runs that show how
    much equal runs differ, if others than those of A and B do.
    ``overall`` is empty when there is only one pair. ``only_a`` and ``only_b`` name the points that the other side does
    not have.
    """

    name_a: str
    name_b: str
    mismatches: tuple[Mismatch, ...]
    pairs: tuple[Pair, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    overall: Mapping[str, Difference]
    loads: tuple[str, str] | None = None
    see_pct: float = DETECT_PCT
    name_like: str = ""

    @property
    def sides(self) -> tuple[list[Point], list[Point]]:
        """The points of A and those of B."""
        return [pair.a for pair in self.pairs], [pair.b for pair in self.pairs]

    def answer(self, figure: str) -> Difference | None:
        """Return the difference in a figure (see `is_figure`): that of the only pair, or the mean over all pairs."""
        kind, _, at = figure.partition("_")
        if kind == "op":
            figure = f"{self.pairs[0].a.main_kind}_{at}"
        differences = self.overall if len(self.pairs) > 1 else self.pairs[0].differences
        return differences.get(figure)


def is_figure(name: str) -> bool:
    """Return whether a figure can be compared: a metric, or a latency such as ``select_p99_us`` or ``op_p99_us``.

    A class of sessions has latencies and a rate: ``readers/select_p99_us``, ``readers/ops_per_s``.
    """
    of_class, base = split_kind(name)
    is_known = base in (OF_CLASS if of_class else FIGURES)
    return is_known or bool(_LATENCY.fullmatch(base))


def unit_of(figure: str, point: Point | None = None) -> str:
    """Return the unit of a figure; that of a cost is the currency of a point's price."""
    _, base = split_kind(figure)
    unit = METRICS[base].unit if base in METRICS else "µs"
    return Price.parse(point.price).currency if unit == CURRENCY and point and point.price else unit


def better_of(figure: str) -> Better:
    """Return the direction in which a figure is better."""
    _, base = split_kind(figure)
    return METRICS[base].better if base in METRICS else Better.LESS


def compare(
    a: Sequence[Run],
    b: Sequence[Run],
    name_a: str = "A",
    name_b: str = "B",
    *,
    like: Sequence[Run] = (),
    name_like: str = "",
    see_pct: float = DETECT_PCT,
) -> Comparison:
    """Compare all points that both sides have, matched by the parameters that have a value in common.

    A parameter without a common value is a mismatch, and points are matched without it. UsageError when no point
    matches, or when points of one side become equal without such a parameter. A run and an observation have no
    parameters of a load in common: their loads differ, and only the server and its host are compared, of one load on
    each side. ``like`` are further runs of the same points, which show how much starts of the server differ where A and
    B have one.
    """
    loads = None
    if len({run.record.kind for run in (*a, *b)}) > 1:
        _require_one_load(a, name_a)
        _require_one_load(b, name_b)
        loads = _loads(a), _loads(b)
        a, b = ([_any_load(run) for run in side] for side in (a, b))
    a, b, like = _with_settings(a, b, like)
    differing = _without_common_value(a, b)
    by_a, by_b = _by_key(a, differing, name_a), _by_key(b, differing, name_b)
    names = [name for name in varying([*a, *b]) if name not in differing]
    records = [{run.record.id: run.record for run in side} for side in (a, b)]
    by_like = _by_key(like, differing, "the spread") if like else {}
    if like and not by_like.keys() & by_a.keys():
        raise UsageError(
            "the runs that show the spread match no point that both sides have", "name runs with the same parameters"
        )
    pairs = tuple(
        replace(
            _pair(by_a[key], by_b[key], names, by_like.get(key), see_pct), time=_time(by_a[key], by_b[key], records)
        )
        for key in _sort_keys(by_a, names)
        if key in by_b
    )
    if not pairs:
        raise UsageError(f"{name_a} and {name_b} have no point in common", "compare runs with the same sessions")
    return Comparison(
        name_a,
        name_b,
        (*_parameter_mismatches(a, b, differing), *_fact_mismatches(records, pairs)),
        pairs,
        tuple(_label(by_a[key], names) for key in _sort_keys(by_a, names) if key not in by_b),
        tuple(_label(by_b[key], names) for key in _sort_keys(by_b, names) if key not in by_a),
        _overall(pairs),
        loads,
        see_pct,
        name_like,
    )


def _loads(runs: Sequence[Run]) -> str:
    """Return the loads of one side in words."""
    kinds = ((run.record, load_kind(run.record)) for run in runs)
    return " and ".join(dict.fromkeys(f"{kind.whose}{kind.in_words(record)}" for record, kind in kinds))


def _require_one_load(runs: Sequence[Run], side: str) -> None:
    """Raise UsageError for a side with several loads: without their parameters they would become one mean."""
    if len(points(runs)) > 1 or len({run.record.kind for run in runs}) > 1:
        raise UsageError(
            f"{side} names several loads, such as {_loads(runs[:1])} and {_loads(runs[-1:])}: their mean is of neither",
            "a run and an observation are compared one by one: give the id of a record, as slob list shows it",
        )


def _any_load(run: Run) -> Run:
    """Return a run without the parameters of its load, so that it can be compared with one under any load."""
    of_load = {*load_kind(run.record).parameters(run.record), LOAD, SESSIONS}
    server = {name: value for name, value in run.parameters.items() if name not in of_load}
    facts = {name: fact for name, fact in run.record.engine.items() if name not in _OF_LOAD}
    return replace(run, parameters={**server, SESSIONS: None}, record=run.record.model_copy(update={"engine": facts}))


def _with_settings(*sides: Sequence[Run]) -> tuple[list[Run], ...]:
    """Return the runs with the settings that only some were made with on purpose as a parameter of all of them.

    The others had a value, too: the one that the server showed.
    """
    asked = [set(run.record.engine.get(SET) or ()) for side in sides for run in side]
    some = {name for each in asked for name in each if not all(name in other for other in asked)}
    return tuple([_with_shown(run, some) for run in side] for side in sides)


def _with_shown(run: Run, names: Set[str]) -> Run:
    settings = run.record.engine.get("settings") or {}
    shown = {name: settings[name] for name in sorted(names) if name in settings}
    engine = {**run.record.engine, SET: {**(run.record.engine.get(SET) or {}), **shown}}
    return replace(run, parameters={**run.parameters, **shown}, record=run.record.model_copy(update={"engine": engine}))


def _without_common_value(a: Sequence[Run], b: Sequence[Run]) -> frozenset[str]:
    """Return the parameters that have no value in common in A and B. The sessions always distinguish points."""
    names = {name for run in (*a, *b) for name in run.parameters} - {SESSIONS}
    return frozenset(name for name in names if not _values(a, name) & _values(b, name))


def _values(runs: Sequence[Run], name: str) -> set[ParameterValue]:
    return {run.parameters.get(name) for run in runs}


def _by_key(runs: Sequence[Run], without: frozenset[str], side: str) -> dict[Key, Point]:
    by_key: dict[Key, Point] = {}
    for point in points(runs):
        key = tuple(sorted((name, value) for name, value in point.parameters.items() if name not in without))
        if key in by_key:
            raise UsageError(f"{side} has several points that differ only in {', '.join(sorted(without))}")
        by_key[key] = point
    return by_key


def _sort_keys(by_key: Mapping[Key, Point], names: Sequence[str]) -> list[Key]:
    """Return the keys sorted by the parameters ``names``, then by sessions."""

    def sort_key(key: Key) -> list[tuple[bool, bool, float, str]]:
        values = by_key[key].parameters
        return [order(values.get(name)) for name in (*names, SESSIONS)]

    return sorted(by_key, key=sort_key)


def _time(a: Point, b: Point, records: Sequence[Mapping[str, RunRecord]]) -> Breakdown | None:
    first, second = ([by_id[each] for each in p.record_ids] for by_id, p in zip(records, (a, b), strict=True))
    return breakdown(first, second)


def _pair(a: Point, b: Point, names: Sequence[str], like: Point | None, see_pct: float) -> Pair:
    differences = {
        name: _difference(name, a, b, like, see_pct)
        for name in dict.fromkeys((*FIGURES, *a.class_figures, *b.class_figures))
        if a.mean(name) is not None or b.mean(name) is not None
    }
    return Pair(a.sessions, _label(a, names), a, b, differences)


def _difference(name: str, a: Point, b: Point, like: Point | None, see_pct: float) -> Difference:
    unit, unit_b = unit_of(name, a), unit_of(name, b)
    of_a, of_b = a.figure(name), b.figure(name)
    if unit != unit_b and of_a.mean is not None and of_b.mean is not None:
        named = " and ".join(each or "one without a name" for each in (unit, unit_b))
        why = f"the prices are in different currencies: {named}"
        return Difference(name, unit, of_a, of_b, Outcome.UNKNOWN, why=why, unit_b=unit_b)
    # The spread of equal runs is a share of their mean, so that their price does not matter.
    known = spread(like.figure(RATE_OF.get(name, name)).runs) if like else None
    step = step_of_figure(name, of_a.mean, of_b.mean)
    return difference(name, unit, better_of(name), of_a, of_b, known, see_pct, step)


def step_of_figure(name: str, *means: float | None) -> float:
    """Return the steps in which a figure comes, as a share of it: percentiles are counted by buckets; 0 for others."""
    found, known = _LATENCY.fullmatch(split_kind(name)[1]), [mean for mean in means if mean]
    is_percentile = found is not None and found[3] != "mean"
    return step_of(min(known)) if is_percentile and known else 0.0


def _stages_asked(point: Point) -> tuple[RateStage, ...]:
    text = point.parameters.get(RATE_SCHEDULE)
    return RateSchedule.parse(str(text)).stages if text else ()


def _label(point: Point, names: Sequence[str]) -> str:
    key: Parameters = {name: point.parameters.get(name) for name in names}
    return f"{label(key)}, {point.at}" if key else point.at


def _overall(pairs: Sequence[Pair]) -> dict[str, Difference]:
    if len(pairs) < 2:
        return {}
    names = dict.fromkeys(name for pair in pairs for name in pair.differences)
    return {name: _mean(name, [p.differences[name] for p in pairs if name in p.differences]) for name in names}


def _mean(name: str, differences: Sequence[Difference]) -> Difference:
    """Return the mean difference over several points; where currencies differ at one, why there is none."""
    apart = next((each for each in differences if each.unit_b is not None), None)
    if apart:
        no_value = Estimate(None, why=apart.why)
        return Difference(name, apart.unit, no_value, no_value, Outcome.UNKNOWN, why=apart.why, unit_b=apart.unit_b)
    return mean_difference(name, differences[0].unit, better_of(name), differences)


def _parameter_mismatches(a: Sequence[Run], b: Sequence[Run], names: frozenset[str]) -> list[Mismatch]:
    return [Mismatch(name, in_order(_values(a, name)), in_order(_values(b, name))) for name in sorted(names)]


def _fact_mismatches(records: Sequence[Mapping[str, RunRecord]], pairs: Sequence[Pair]) -> list[Mismatch]:
    """Return the facts that differ between or within the two sides of at least one pair, with their values in it."""
    differing: dict[str, tuple[set[ParameterValue], set[ParameterValue]]] = {}
    for pair in pairs:
        sides = [facts([by_id[i] for i in p.record_ids]) for by_id, p in zip(records, (pair.a, pair.b), strict=True)]
        for name in dict.fromkeys((*sides[0], *sides[1])):
            in_a, in_b = (_fact(known, name) for known in sides)
            if in_a != in_b or len(in_a) > 1:
                both = differing.setdefault(name, (set(), set()))
                both[0].update(in_a)
                both[1].update(in_b)
    return [Mismatch(name, in_order(in_a), in_order(in_b)) for name, (in_a, in_b) in sorted(differing.items())]


def _fact(known: Mapping[str, set[ParameterValue]], name: str) -> set[ParameterValue]:
    """Return the values of a fact; of a plan, `NO_PLAN` where the side has plans, but no statement of this kind."""
    has_others = name.startswith(PLANS) and any(other.startswith(PLANS) for other in known)
    return known.get(name, {NO_PLAN if has_others else None})


@dataclass(frozen=True)
class ComparedValues:
    """A parameter and two of its values to compare: the runs with ``b`` are compared with those with ``a``."""

    parameter: str
    a: ParameterValue
    b: ParameterValue


def compare_values(runs: Sequence[Run], compared: ComparedValues) -> Comparison:
    """Compare the runs with two values of a parameter; the parameter itself is not reported as a mismatch.

    UsageError when one of the values has no run, or both have no point in common.
    """
    values = (compared.a, compared.b)
    names = [label({compared.parameter: value}) for value in values]
    sides = [[run for run in runs if run.parameters.get(compared.parameter) == value] for value in values]
    for name, side in zip(names, sides, strict=True):
        if not side:
            raise UsageError(f"there is no run with {name}")
    comparison = compare(sides[0], sides[1], names[0], names[1])
    mismatches = tuple(each for each in comparison.mismatches if each.name != compared.parameter)
    return replace(comparison, mismatches=mismatches)


def not_allowed(mismatches: Sequence[Mismatch], runs: Sequence[Run], may_differ: Sequence[str]) -> tuple[Mismatch, ...]:
    """Return the mismatches that ``may_differ`` does not name, by a condition's name or a prefix that ends at a dot.

    A setting of the server that a run was made with on purpose is a parameter; ``engine.settings`` covers it as well.
    UsageError for a name that is no condition of these runs.
    """
    on_purpose = {name for run in runs for name in run.record.engine.get(SET) or ()}
    known = {name for run in runs for name in run.parameters} | set(facts([run.record for run in runs]))
    known |= {f"{_SETTINGS}.{name}" for name in on_purpose}
    for name in may_differ:
        if not any(_covers(name, each) for each in known):
            raise UsageError(f"{name!r} is not a condition of these runs", _near(name, mismatches, known))

    def is_allowed(condition: str) -> bool:
        called = (condition, f"{_SETTINGS}.{condition}") if condition in on_purpose else (condition,)
        return any(_covers(name, each) for name in may_differ for each in called)

    return tuple(each for each in mismatches if not is_allowed(each.name))


def _covers(name: str, condition: str) -> bool:
    return condition == name or condition.startswith(f"{name}.")


def _near(name: str, mismatches: Sequence[Mismatch], known: Iterable[str]) -> str:
    """Return a question with the likely name: one that differs, if there is one, else any."""
    differing = [each.name for each in mismatches]
    for names in (differing, sorted(known)):
        ends = {each.rpartition(".")[2]: each for each in names}
        near = difflib.get_close_matches(name, [*names, *ends], 1) or [each for each in names if name in each]
        if near:
            return f"did you mean {ends.get(near[0], near[0])}?"
    return f"these differ: {', '.join(differing)}" if differing else "all conditions are the same"
