"""Points: runs with equal parameters taken together, with means, intervals, verdicts and the limiting resource.

Runs are comparable if they were made under the same conditions, apart from the parameters that distinguish points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

from openslob.analyze.load_kinds import ALL_CLIENTS, LOAD, load_kind
from openslob.analyze.statistics import Basis, Estimate, of_repeats, relative_half_width
from openslob.analyze.timeline import Timeline
from openslob.analyze.verdict_registry import Severity, gravest, row_of, severity_of
from openslob.core.session_classes import join_classes, name_kind, parse_classes, split_kind
from openslob.core.workload import CLASSES, PRICE
from openslob.metrics import CHANGING, METRICS, PRICED
from openslob.metrics.model import RESPONSE_PREFIX
from openslob.metrics.run_metrics import RATE_OF, STAGE, figure_of, stage_of
from openslob.record.model import SET, Holds, RunRecord, Status, all_reservations

# Facts that must be equal for two runs to be comparable, apart from the parameters; a name includes all names below it.
_FACTS = (
    "openslob_version", "engine.settings", "engine.plans", "engine.data_bytes", "engine.connection.pooler",
    "environment.local", "environment.os", "environment.kernel", "environment.machine", "environment.cpu",
    "environment.memory.total_bytes", "environment.virtualization", "environment.clock_source",
    "environment.data.file_system", "environment.data.mount_options", "environment.data.device",
)  # fmt: skip
# The parts of a record that have them.
_HAVE_FACTS = {
    part: {name.split(".")[1] for name in _FACTS if name.startswith(f"{part}.")} for part in ("environment", "engine")
}

# The number of processes that the sessions were dealt over.
_DRIVERS = "environment.drivers"
# Runs with fewer sessions than schemas visit fewer tables: within a series of session counts that is expected.
_VARIES_IN_SERIES = frozenset({"engine.data_bytes"})

SEVERAL_PRICES = Estimate(None, why="the runs have different prices")

ParameterValue = str | int | float | bool | None
Parameters = Mapping[str, ParameterValue]
# The quantity that orders the points of a series: the session count; for external reports with unknown session counts,
# their order; or a target rate of operations or block visits, with the text for a rate.
SESSIONS = "sessions"
ORDER = "order"
RATES = {"target_ops": "{:,g} ops/s requested", "target_iops": "{:,g} block visits/s requested"}
# Repeats differ by their seed; the degree of parallel loading does not change the loaded data, the server's own
# snapshots are taken outside the window, and a price changes nothing but the figures of cost.
_NOT_PARAMETERS = frozenset(
    {"seed", "load_parallel_degree", "threads_per_schema", "database_statistics_type", PRICE, SESSIONS}
)
_ENGINE_FACTS = ("product", "version", "block_size", "cache_bytes", "direct_io")
# Parameters that are of no workload and no server.
OTHERS = frozenset({*_ENGINE_FACTS, "instances", "host", LOAD, "seconds", "series"})
SERVICE = ("mean_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us")
LIMIT = "limit_found"


@dataclass(frozen=True)
class ConditionMismatch:
    """A fact that differs between runs of one series, with its values."""

    name: str
    values: tuple[ParameterValue, ...]


def mismatches(runs: Sequence[Run]) -> tuple[ConditionMismatch, ...]:
    """Return the facts that differ between the runs of one series, sorted by name."""
    by_run = [run.facts for run in runs]
    names = sorted({name for known in by_run for name in known} - _VARIES_IN_SERIES)
    # A class without sessions has operations of no kind, and these no plan.
    none: dict[str, set[ParameterValue]] = {name: set() if name.startswith(PLANS) else {None} for name in names}
    values = {name: set[ParameterValue]().union(*(known.get(name, none[name]) for known in by_run)) for name in names}
    return tuple(ConditionMismatch(name, in_order(several)) for name, several in values.items() if len(several) > 1)


def facts(records: Sequence[RunRecord]) -> dict[str, set[ParameterValue]]:
    """Return every fact that affects the figures, with its values in these runs."""
    values: dict[str, set[ParameterValue]] = {}
    for record in records:
        # They distinguish points, as parameters do.
        on_purpose = {f"engine.settings.{name}" for name in record.engine.get(SET) or ()}
        for name, value in _leaves(record):
            if name not in on_purpose and _is_fact(name):
                values.setdefault(name, set()).add(value)
        values.setdefault(_DRIVERS, set()).add(len(record.environment.get("drivers") or ()) or 1)
    return values


def _leaves(record: RunRecord) -> Iterator[tuple[str, ParameterValue]]:
    """Yield what a record has at the places where `_FACTS` are, by name."""
    yield "openslob_version", record.openslob_version
    for part, names in _HAVE_FACTS.items():
        known = getattr(record, part)
        for name, value in known.items():
            if name in names:
                yield from _flat(f"{part}.{name}", value)


@lru_cache(maxsize=10_000)
def _is_fact(name: str) -> bool:
    return any(name == fact or name.startswith(f"{fact}.") for fact in _FACTS)


def _flat(name: str, value: object) -> Iterator[tuple[str, ParameterValue]]:
    """Yield the leaves of nested mappings, with the names of their keys joined by dots."""
    if value is None or isinstance(value, (str, int, float, bool)):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    else:
        # In a record that was not written yet, a list may still be a tuple.
        yield name, str(list(value) if isinstance(value, tuple) else value)


def in_order(values: Set[ParameterValue]) -> tuple[ParameterValue, ...]:
    """Return the values in a fixed order: numbers, then texts, then unknown values."""
    return tuple(sorted(values, key=lambda value: (value is None, isinstance(value, str), str(value))))


# The beginning of the names of facts that are plans of statements.
PLANS = "engine.plans."
RESPONSE = tuple(RESPONSE_PREFIX + name for name in SERVICE)
LATENCIES = (*SERVICE, *RESPONSE)
# The end of the name of a parameter: how many sessions a class has.
CLASS_COUNT = ".sessions"
# In the place of a kind of operation: all operations of a class of sessions, whose rate is ``CLASS/ops_per_s``.
CLASS_RATE = "ops"
# The names of the figures of a stage of a rate that changes, which is in the place of a class.
_RECOVERY = "recovery"
_OF_STAGE: Mapping[str, Collection[str]] = {"ops": ("per_s",), "response": ("p50_us", "p99_us"), _RECOVERY: ("s",)}
STAGE_FIGURES = tuple(f"{kind}_{name}" for kind, names in _OF_STAGE.items() for name in names)


@dataclass(frozen=True, eq=False)
class Run:
    """A record with the parameters that it is grouped by, and its time line if that could be read.

    Each is a key of its own, so that what is computed of many is computed once.
    """

    record: RunRecord
    parameters: Parameters
    timeline: Timeline = field(default_factory=dict)

    @classmethod
    def of(cls, record: RunRecord, given: Parameters | None = None, timeline: Timeline | None = None) -> Run:
        """Return the run of a record. ``given`` are parameters that a sweep set; the record's own take precedence."""
        known = {name: value for name, value in parameters_of(record).items() if value is not None}
        return cls(record, {**parameters_of(record), **(given or {}), **known}, timeline or {})

    @property
    def key(self) -> tuple[tuple[str, ParameterValue], ...]:
        """What is the same in all runs of a point."""
        return tuple(sorted(self.parameters.items()))

    @cached_property
    def facts(self) -> Mapping[str, set[ParameterValue]]:
        """The facts that affect its figures, each with its value."""
        return facts([self.record])


@dataclass(frozen=True)
class LimitingResource:
    """The resource that limits throughput: its name and sentence in the verdict, and the means of its figures."""

    resource: str
    why: str
    figures: Mapping[str, float]


class _Figures(Mapping[str, Estimate]):
    """Estimates by name. Each is computed when it is asked for: a point has many, and a table of points shows few."""

    def __init__(self, names: Collection[str], compute: Callable[[str], Estimate]) -> None:
        self._names, self._compute = names, compute
        self._known: dict[str, Estimate] = {}

    def __getitem__(self, name: str) -> Estimate:
        if name not in self._known:
            if name not in self._names:
                raise KeyError(name)
            self._known[name] = self._compute(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Point:
    """One combination of parameters, with the means over its repeats.

    ``metrics`` has every metric of the registry, ``latency`` the figures of `LATENCIES` by kind of operation.
    ``record_ids`` are the repeats behind the means; ``left_out`` maps the id of each run that failed or was interrupted
    to the reason. ``failed`` maps each verdict that fails in at least one repeat to its sentence; ``held`` are the
    verdicts that hold in every repeat. ``along`` is the parameter that series run along: the sessions, or a rate.
    ``of_classes`` has the figures of each class of sessions, by class and kind of operation (`name_kind`).
    ``severities`` has the gravest severity of each that fails. ``reservations`` are those of the repeats' records,
    ``price`` the one that they have, if it is the same.
    """

    sessions: int
    parameters: Parameters
    record_ids: tuple[str, ...]
    left_out: Mapping[str, str]
    metrics: Mapping[str, Estimate]
    latency: Mapping[str, Mapping[str, Estimate]]
    failed: Mapping[str, str]
    limit: LimitingResource | None
    held: frozenset[str] = frozenset()
    along: str = SESSIONS
    reservations: tuple[str, ...] = ()
    price: str | None = None
    severities: Mapping[str, Severity] = field(default_factory=dict)
    of_classes: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)

    @property
    def severity(self) -> Severity | None:
        """The gravest severity of the verdicts that fail; None if none does."""
        known = [self.severities.get(name, row_of(name).severity) for name in self.failed]
        return gravest(known) if known else None

    @property
    def step(self) -> float:
        """The point's position in its series: its value of ``along``; 0 for an observation, which has none."""
        value = self.parameters.get(self.along)
        if self.along == SESSIONS or not isinstance(value, (int, float)):
            return self.sessions
        return int(value) if value == int(value) else value

    @property
    def has_place(self) -> bool:
        """Whether its position is known: a class may have no sessions, elsewhere 0 stands for an unknown number."""
        return bool(self.step) or self.along.endswith(CLASS_COUNT)

    @property
    def at(self) -> str:
        """The position in words, such as ``8 sessions``."""
        if self.along == ORDER:
            return f"report {self.step}"
        if not self.sessions:
            return str(self.parameters.get(LOAD, ALL_CLIENTS))
        if self.along in RATES:
            return RATES[self.along].format(self.step)
        if self.along.endswith(CLASS_COUNT):
            return f"{self.step} {step_word(self.along)}"
        return f"{self.sessions} session{'' if self.sessions == 1 else 's'}"

    def mean(self, name: str) -> float | None:
        """Return the mean of a figure (see `figure`); None when it is not known."""
        return self.figure(name).mean

    def figure(self, name: str) -> Estimate:
        """Return a metric of the registry, or a latency such as ``select_p99_us``.

        ``op_p99_us`` is that of the most frequent kind of operation; ``select_response_p99_us`` is a response time.
        ``readers/select_p99_us`` and ``readers/ops_per_s`` are those of a class of sessions.
        """
        if name in METRICS:
            return self.metrics[name]
        kind, _, percentile = name.partition("_")
        if kind in self.of_classes:
            return self.of_classes[kind].get(percentile, Estimate(None, why="no such figure of a class"))
        latencies = self.latency.get(self.main_kind if kind == "op" else kind, {})
        return latencies.get(percentile, Estimate(None, why="there was no such operation"))

    @property
    def class_figures(self) -> list[str]:
        """The names of the figures of its classes of sessions, as `figure` takes them."""
        return [f"{kind}_{name}" for kind, figures in self.of_classes.items() for name in figures]

    @property
    def main_kind(self) -> str:
        """The most frequent kind of operation; select when there is a tie or no operation at all."""
        return max(("select", "update", "scan"), key=lambda kind: self.metrics[f"{kind}s_total"].mean or 0)


def parameters_of(record: RunRecord) -> dict[str, ParameterValue]:
    """Return the parameters that distinguish points: the spec without the seed, and facts of engine and host.

    An observation has what was observed as its load, and no sessions: those of its load are not known. A class of
    sessions has a parameter of its own for how many they are: a series may run along it.
    """
    kind = load_kind(record)
    asked = {name: value for name, value in kind.parameters(record).items() if name not in _NOT_PARAMETERS}
    engine = {name: record.engine.get(name) for name in _ENGINE_FACTS}
    settings = record.engine.get(SET) or {}
    # A run on a cluster is no repeat of a run with as many sessions on a single server.
    instances = {"instances": max(1, len(record.instances))}
    return {
        SESSIONS: kind.sessions(record) or None,
        **asked,
        **(_classes_apart(asked[CLASSES]) if asked.get(CLASSES) else {}),
        **engine,
        **settings,
        **instances,
        "host": record.environment.get("host"),
    }


def _classes_apart(text: object) -> dict[str, ParameterValue]:
    """Return how many sessions each class has, by ``CLASS.sessions``, and the classes without that."""
    classes = parse_classes(text)
    counts = {f"{name}{CLASS_COUNT}": int(own["sessions"]) for name, own in classes.items()}
    rest = {name: {key: value for key, value in own.items() if key != SESSIONS} for name, own in classes.items()}
    return {**counts, CLASSES: join_classes(rest)}


def step_word(along: str) -> str:
    """Return the heading of the steps of a series: sessions, those of a class, or a rate that was requested."""
    if along.endswith(CLASS_COUNT):
        return along.removesuffix(CLASS_COUNT)
    return SESSIONS if along == SESSIONS else "requested/s"


def varying(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the names of the parameters that have more than one value, without the sessions."""
    names = dict.fromkeys(name for run in runs for name in run.parameters)
    return tuple(name for name in names if name != SESSIONS and len({run.parameters.get(name) for run in runs}) > 1)


def points(runs: Sequence[Run]) -> list[Point]:
    """Return a point for each combination of parameters, in the order of their first appearance."""
    groups: dict[tuple[tuple[str, ParameterValue], ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    return [_point(group) for group in groups.values()]


def _point(runs: Sequence[Run]) -> Point:
    good = [run for run in runs if run.record.status is Status.COMPLETE]
    kinds = dict.fromkeys(kind for run in good for kind, row in run.record.latency.items() if row.get("count"))
    prices = {run.record.spec.get(PRICE) for run in good}
    several = PRICED if len(prices) > 1 else frozenset()
    return Point(
        sessions=load_kind(runs[0].record).sessions(runs[0].record),
        parameters=runs[0].parameters,
        record_ids=tuple(run.record.id for run in good),
        left_out={run.record.id: _reason(run.record) for run in runs if run not in good},
        metrics=_Figures(METRICS, lambda name: SEVERAL_PRICES if name in several else _metric(good, name)),
        latency={kind: _Figures(LATENCIES, partial(_latency, good, kind)) for kind in kinds},
        of_classes={
            name: _Figures(names, partial(_class_figure, good, name)) for name, names in _class_kinds(good).items()
        },
        failed=_find_failed(runs),
        limit=_limit([run.record for run in good]),
        held=_find_held([run.record for run in good]),
        reservations=all_reservations(run.record for run in runs),
        price=next(iter(prices)) if len(prices) == 1 else None,
        severities=_find_severities(runs),
    )


def _class_kinds(runs: Sequence[Run]) -> dict[str, Collection[str]]:
    """Return, by class and kind of operation, the names of the figures of the classes of sessions of these runs.

    A stage of a rate that changes is named as a class would be.
    """
    rows = [row for run in runs for row in run.record.classes]
    rates: dict[str, Collection[str]] = {name_kind(row.name, CLASS_RATE): ("per_s",) for row in rows}
    numbers = range(1, max((len(run.record.stages) for run in runs), default=0) + 1)
    stages = {name_kind(f"{STAGE}{number}", kind): names for number in numbers for kind, names in _OF_STAGE.items()}
    return {**rates, **stages, **{name_kind(row.name, kind): LATENCIES for row in rows for kind in row.latency}}


def _class_figure(runs: Sequence[Run], of: str, name: str) -> Estimate:
    """Return a figure of a class of sessions, or of a stage of a rate that changes."""
    of_class, kind = split_kind(of)
    found = _latency(runs, of, name)
    if kind != _RECOVERY:
        return found
    reasons = [stage.why for run in runs if (stage := stage_of(run.record, of_class)) and stage.why]
    # Before the first stage, and before a ramp, there is no change to recover from.
    return _explain_unrecovered(reasons, runs) or (Estimate(None) if found.mean is None else found)


def _explain_unrecovered(reasons: Sequence[str], runs: Sequence[Run]) -> Estimate | None:
    """Return why runs have no time to recover; None if there is no reason. Those that did not would make it longer."""
    which = "" if len(reasons) == len(runs) else f"in {len(reasons)} of {len(runs)} runs "
    return Estimate(None, why=f"{which}{reasons[0]}") if reasons else None


def _reason(record: RunRecord) -> str:
    return f"{record.status.value}: {record.errors[0]}" if record.errors else record.status.value


def _metric(runs: Sequence[Run], name: str) -> Estimate:
    figures = [run.record.summary.get(name) for run in runs]
    reasons = [figure.why for figure in figures if figure and figure.why]
    if name in CHANGING and (unknown := _explain_unrecovered(reasons, runs)):
        return unknown
    estimate = _of_runs(runs, [None if figure is None else figure.value for figure in figures])
    if estimate.mean is None:
        return Estimate(None, why=next(iter(reasons), estimate.why))
    # A cost is a price divided by a rate, and as steady.
    return _within(estimate, runs[0].timeline.get(RATE_OF.get(name, name), ()))


def _latency(runs: Sequence[Run], kind: str, name: str) -> Estimate:
    series = runs[0].timeline.get(f"{kind}_{name}", ())
    return _within(_of_runs(runs, [figure_of(run.record, f"{kind}_{name}") for run in runs]), series)


def _of_runs(runs: Sequence[Run], values: Sequence[float | None]) -> Estimate:
    """Return the mean of the runs whose value is known."""
    known = [(value, start_of(run.record)) for run, value in zip(runs, values, strict=True) if value is not None]
    return of_repeats([value for value, _ in known], [start for _, start in known])


def start_of(record: RunRecord) -> str:
    """Return what tells the start of the server in which a run was made from all others; empty if it is not known."""
    started_at = record.engine.get("server_started_at")
    return f"{record.engine.get('target')} {started_at}" if started_at else ""


def _within(estimate: Estimate, series: Sequence[float]) -> Estimate:
    """Return the estimate; that of a single run with an interval from its time line, if that is long enough."""
    if estimate.n != 1 or estimate.mean is None or not series:
        return estimate
    share = relative_half_width(series)
    if share is None:
        return replace(
            estimate, why=f"{estimate.why}, and it is too short or too unsteady to give an interval by itself"
        )
    return replace(estimate, half_width=share * abs(estimate.mean), basis=Basis.WITHIN_RUN, why="")


def _find_failed(runs: Sequence[Run]) -> dict[str, str]:
    failed: dict[str, str] = {}
    for run in runs:
        for verdict in run.record.verdicts:
            if verdict.verdict is Holds.FAILS:
                failed.setdefault(verdict.name, verdict.why)
    return failed


def _find_severities(runs: Sequence[Run]) -> dict[str, Severity]:
    failing = [each for run in runs for each in run.record.verdicts if each.verdict is Holds.FAILS]
    names = dict.fromkeys(each.name for each in failing)
    return {name: gravest(severity_of(name, each.figures) for each in failing if each.name == name) for name in names}


def _find_held(records: Sequence[RunRecord]) -> frozenset[str]:
    held = [{verdict.name for verdict in record.verdicts if verdict.verdict is Holds.HOLDS} for record in records]
    return frozenset(set.intersection(*held)) if held else frozenset()


def _limit(records: Sequence[RunRecord]) -> LimitingResource | None:
    """Return the limiting resource that most repeats name; None when no verdict names one."""
    verdicts = [each for record in records for each in record.verdicts if each.name == LIMIT]
    named = Counter(str(verdict.figures["limit"]) for verdict in verdicts if verdict.figures.get("limit"))
    if not named:
        return None
    resource = named.most_common(1)[0][0]
    same = [verdict for verdict in verdicts if verdict.figures.get("limit") == resource]
    names = dict.fromkeys(name for verdict in same for name in verdict.figures)
    values = {name: [v for verdict in same if isinstance(v := verdict.figures.get(name), float)] for name in names}
    return LimitingResource(
        resource, same[0].why, {name: sum(each) / len(each) for name, each in values.items() if each}
    )
