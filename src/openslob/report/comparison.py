"""Comparison of two sides as a document, as text and JSON: summary, differing conditions, then the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from openslob.analyze.ci_gate import ENOUGH_RUNS, SMALL_CHANGE, Condition, GateCheck, GateResult, verdict_of
from openslob.analyze.compare import Breakdown, Comparison, Mismatch, Pair
from openslob.analyze.curves.points import STAGE_FIGURES, Point
from openslob.analyze.curves.series import axes_for
from openslob.analyze.differences import WIDEST_PCT, Difference, Outcome, Shows
from openslob.analyze.intervals import MOST_RUNS, spread, starts_needed
from openslob.analyze.outcome import count_noun
from openslob.analyze.statistics import Basis
from openslob.core.session_classes import split_kind
from openslob.metrics import METRICS, Timed
from openslob.metrics.run_metrics import RATE_OF
from openslob.metrics.timed import OPERATION, SINGLE
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    Paragraph,
    Part,
    Section,
    TextTable,
    TitleOfSeveral,
    plain_paragraphs,
)
from openslob.report.format import MISSING, number, per_second, quantity, shorten
from openslob.report.record_view import REACHED_DEVICE

_MOST_POINTS_NAMED = 8
_WIDEST_VALUE = 60
# Larger changes are given as a multiple: often A is practically nothing, and a percentage of it is useless.
MOST_PCT = 1000.0
_CHANGE_HEAD = ("B against A", "difference", "runs*")
_IN_TABLE = {Outcome.NOT_SHOWN: "not shown", Outcome.NOT_ENOUGH: "no data"}
_RESULTS = {GateResult.VIOLATED: ("✗", "met"), GateResult.UNDECIDED: ("?", ""), GateResult.OK: ("✓", "not met")}
_MAY_EXPLAIN = "Conditions that are not the same on both sides, and may explain differences:"
_SHOWN = (Outcome.BETTER, Outcome.WORSE, Outcome.DIFFERENT)
# Parts of the time per operation that make less of the difference, in percentage points, are one row.
_LEAST_POINTS = 0.5
# Main figures, always in the text. Other figures are in the text if they differ, and always in JSON.
_MAIN = (
    "transactions_per_s", "ops_per_s", "lio_per_s", "pio_read_per_s", "pio_read_mb_per_s", "engine_read_latency_us",
    "pio_write_per_s",
    "redo_mb_per_s", "commits_per_s", "db_cpu_per_s", "iops_per_db_cpu", "iops_per_foreground_cpu", "lio_per_db_cpu",
    "host_cpu_left_pct", *RATE_OF,
    "select_mean_us", "select_p50_us", "select_p99_us", "update_mean_us", "update_p50_us", "update_p99_us",
)  # fmt: skip
# Figures of the side-by-side tables.
_SIDE_BY_SIDE = (
    "pio_read_per_s", "lio_per_s", "block_visits_per_s", "db_cpu_per_s", "iops_per_db_cpu", "lio_per_db_cpu",
    "host_cpu_left_pct", *RATE_OF, "engine_read_latency_us", "select_mean_us", "select_p99_us", "update_mean_us",
)  # fmt: skip
# Smaller changes are those of rounding.
_NOTHING = 1e-9
_THROUGHPUT = "ops_per_s"
_LEFT_OPEN = {
    Shows.ONE_RUN: (
        "There is one run per side: how much runs differ from each other is not known, nor how much starts of the "
        "server do."
    ),
    Shows.FEW_RUNS: (
        "There are two runs against one: how much runs differ is hardly known, as two may be alike by chance."
    ),
    Shows.ONE_START: (
        "The runs of a side are all of one start of the server: how much starts differ is not known. ± is that within "
        "these starts."
    ),
}
_WAYS_OUT = (
    f"Make {ENOUGH_RUNS} runs per side, each after a restart of the server, or name equal runs of several starts that "
    "show it, such as a baseline (--spread)."
)


def runs_needed(comparison: Comparison) -> list[str]:
    """Return how many runs on each side show a small change, or why that is not known."""
    borrowed = f"How much starts of the server differ is that of {comparison.name_like}."
    if shows := _find_left_open(comparison):
        return [_LEFT_OPEN[shows], _WAYS_OUT]
    every = [difference for pair in comparison.pairs if (difference := pair.differences.get(_THROUGHPUT))]
    most = max(every, key=lambda each: each.repeats_needed or 0, default=None)
    lines = [borrowed] if comparison.name_like else []
    if most is not None and most.repeats_needed:
        at = " at every point" if len(comparison.pairs) > 1 else ""
        see = f"a change of {comparison.see_pct:g} % in operations/s{at}"
        lines.append(f"To see {see} takes {_runs(most.repeats_needed)} per side{_describe_runs(most)}.")
    return lines


def footnote(comparison: Comparison) -> str:
    """Return what the column of runs means."""
    return f"* Runs per side that would show a change of {comparison.see_pct:g} % in nine of ten cases."


def way_out(comparison: Comparison) -> str:
    """Return in short what to do about a comparison that shows nothing."""
    if _find_left_open(comparison) is Shows.ONE_START:
        return "each side is of one start of the server; restart it between the runs of a side"
    return "repeat the runs at least three times on each side"


def plan(point: Point, see_pct: float) -> str:
    """Return how many runs show a change from the runs of a point, or why that is not known."""
    throughput = point.figure(_THROUGHPUT)
    known = spread(throughput.runs)
    if known is None:
        why = "one run" if throughput.n == 1 else "all runs are of one start of the server"
        return (
            f"{point.at}: how many runs show a change of {see_pct:g} % is not known ({why}): make {ENOUGH_RUNS}, each "
            "after a restart of the server"
        )
    needed = starts_needed(known, see_pct)
    restart = "" if needed == MOST_RUNS else ", each after a restart of the server"
    return (
        f"{point.at}: equal runs differ by {known.pct:.1f} % in operations/s; to see a change of {see_pct:g} % takes "
        f"{_runs(needed)} per side{restart}"
    )


def _find_left_open(comparison: Comparison) -> Shows | None:
    """Return what the sides do not show of how equal runs differ; None if they show it."""
    several = len(comparison.pairs) > 1
    differences = comparison.overall if several else comparison.pairs[0].differences
    found = differences.get(_THROUGHPUT) or next(iter(differences.values()), None)
    return found.shows if found is not None and found.shows in _LEFT_OPEN else None


def _runs(count: int | None) -> str:
    return f"more than {MOST_RUNS} runs" if count == MOST_RUNS else f"{count} runs"


def _describe_runs(difference: Difference) -> str:
    """Return how the runs of a plan are made: as those were that it relies on."""
    if difference.shows is Shows.SAME_START:
        return ", in the same start of the server"
    if not difference.a.starts:
        return ""
    per_start = difference.runs_per_start
    return f", {'each' if per_start == 1 else f'{per_start} at a time'} after a restart of the server"


def gate_sentence(check: GateCheck) -> str:
    """Return the change that was checked and its limit, with what the data leave open, or why it is undecided."""
    measured = _describe_condition(check.condition, check.difference) if check.difference else ""
    if check.result is GateResult.UNDECIDED:
        return f"{check.why.rstrip('.')}. Measured: {measured}" if measured else check.why.rstrip(".")
    return f"{measured}; {check.why}" if check.why else measured


def _digits(value: float, condition: Condition, sign: str = "") -> str:
    """Return a change with the decimals of a condition, or with three digits where it is small, such as a cost."""
    if abs(value) < _NOTHING:
        value = 0.0
    if condition.percent or abs(value) >= SMALL_CHANGE or not value:
        return f"{round(value, condition.decimals) or 0.0:{sign},.{condition.decimals}f}"
    return f"{'-' if value < 0 else sign}{number(abs(value))}"


def condition_change(condition: Condition, difference: Difference) -> str:
    """Return the change that a condition judges with its interval, such as ``-51.6 ± 8.0 %``."""
    change, low, high = difference.pct, difference.pct_low, difference.pct_high
    if not condition.percent:
        change, low, high = difference.change, difference.change_low, difference.change_high
    half = None if low is None or high is None else (high - low) / 2
    far = half is not None and condition.percent and half > WIDEST_PCT
    about = "" if half is None else f" ± >{WIDEST_PCT:g}" if far else f" ± {_digits(half, condition)}"
    changed = f"{_digits(change or 0.0, condition, '+')}{about} {_unit(condition, difference)}".rstrip()
    return unclear(difference) or (multiple(difference) if condition.percent else "") or changed


def _unit(condition: Condition, difference: Difference) -> str:
    return "%" if condition.percent else "pt" if difference.unit == "%" else difference.unit


def _describe_condition(condition: Condition, difference: Difference) -> str:
    """Return such as ``ops_per_s -51.6 ± 8.0 % (942 → 456), limit -10 %``."""
    means = difference.a.mean, difference.b.mean
    values = "" if None in means else f" ({number(means[0])} → {number(means[1])})"
    bound = f"{condition.bound:+g}" if condition.bound else "0"
    change = condition_change(condition, difference)
    return f"{condition.figure} {change}{values}, limit {bound} {_unit(condition, difference)}".rstrip()


def comparison_document(comparison: Comparison, checks: Sequence[GateCheck] = ()) -> Document:
    """Return the report on a comparison: its result, the differing conditions, then the figures."""
    differences = main_differences(comparison)
    # Those of stages have tables of their own.
    staged = comparison.pairs[0].of_stages if len(comparison.pairs) == 1 else frozenset[str]()
    differences = {name: change for name, change in differences.items() if name not in staged}
    rows = {name: change for name, change in differences.items() if is_listed(name, change)}
    if len(comparison.pairs) > 1:
        tables = [_mean_table(comparison.pairs, rows), *_point_tables(comparison)]
    else:
        (pair,) = comparison.pairs
        tables = [_value_table(pair, rows), *stage_tables(pair), *_time_tables(pair.time)]
    doubts = reservations(comparison)
    *first, last = [(each,) for each in tables]
    return Document(
        TitleOfSeveral(f"{comparison.name_b} against {comparison.name_a}", summary(comparison)),
        (
            Section("", (LabelledTexts(_sides(comparison)), *(Paragraph(each, "! ") for each in doubts))),
            Section("", tuple(map(_show_check, checks))),
            Answer((summary(comparison),)),
            Section("", _show_mismatches(comparison.mismatches, _MAY_EXPLAIN)),
            *(Section("", parts) for parts in first),
            Section("", (*last, *_refer_to_unlisted(differences))),
            Section("", plain_paragraphs([*unrecovered(comparison, ("A", "B")), *_remarks(comparison)])),
        ),
        titled=False,
    )


def comparison_json(comparison: Comparison, checks: Sequence[GateCheck] = ()) -> dict[str, Any]:
    """Return the comparison as plain values: differences by figure at each point, and of the mean over the points."""
    return {
        "a": comparison.name_a,
        "b": comparison.name_b,
        "verdict": verdict_of(checks).value,
        "reservations": reservations(comparison),
        "runs_needed": runs_needed(comparison),
        "loads": list(comparison.loads) if comparison.loads else None,
        "mismatches": [asdict(each) for each in comparison.mismatches],
        "conditions": [_check_json(each) for each in checks],
        "overall": {name: asdict(each) for name, each in comparison.overall.items()},
        "points": [_pair_json(pair) for pair in comparison.pairs],
        "only_a": list(comparison.only_a),
        "only_b": list(comparison.only_b),
    }


def _check_json(check: GateCheck) -> dict[str, str]:
    result = {"condition": check.condition.text, "judged": check.result.value, "why": check.why}
    return {**result, "text": gate_sentence(check)}


def main_differences(comparison: Comparison) -> Mapping[str, Difference]:
    """Return the difference in each figure: at the only point, or in the mean over the points."""
    return comparison.overall if len(comparison.pairs) > 1 else comparison.pairs[0].differences


def summary(comparison: Comparison) -> str:
    """Return the result in one or two sentences, and that the loads differ where one side is of observations."""
    return " ".join(filter(None, (_result(comparison), _loads(comparison))))


def _result(comparison: Comparison) -> str:
    counts = Counter(change.outcome for name, change in main_differences(comparison).items() if not is_empty(change))
    judged = sum(counts[outcome] for outcome in (*_SHOWN, Outcome.NOT_SHOWN))
    if not judged:
        return f"Not enough data to compare B with A: {way_out(comparison)}."
    parts = [f"{outcome.value} in {counts[outcome]}" for outcome in _SHOWN if counts[outcome]]
    words = f"{', '.join(parts)} of {judged} figures" if parts else f"no difference is shown in any of {judged} figures"
    text = f"B against A: {words}"
    if counts[Outcome.NOT_ENOUGH]:
        text += f"; not enough data for {counts[Outcome.NOT_ENOUGH]} more"
    chance = judged * 0.05
    by_chance = f"about {chance:.0f}" if chance >= 1 else "less than one"
    return f"{text}. At 95 % confidence, {by_chance} would differ by chance." if parts else f"{text}."


def _refer_to_unlisted(differences: Mapping[str, Difference]) -> tuple[Paragraph, ...]:
    """Return where the figures are that the summary counts and the tables leave out."""
    left_out = sum(not is_empty(change) and not is_listed(name, change) for name, change in differences.items())
    texts = [f"{left_out} more figures, of which none is shown to differ: --json"] if left_out else []
    return plain_paragraphs(texts)


def reads_reached_device(pairs: Sequence[Pair]) -> bool:
    """Return whether all reads are proved to be physical ones, at these points of both sides."""
    return all(REACHED_DEVICE in point.held for pair in pairs for point in (pair.a, pair.b))


def list_mismatches(mismatches: Sequence[Mismatch]) -> LabelledTexts:
    """Return a line for each parameter or fact that differs between the sides."""
    return LabelledTexts([(each.name, f"{value_text(each.a)}  against  {value_text(each.b)}") for each in mismatches])


def labels_for(pairs: Sequence[Pair]) -> Callable[[str], str]:
    """Return what names a figure that both sides of these points have."""
    timed = Timed.together(point.parameters for pair in pairs for point in (pair.a, pair.b))
    return partial(figure_label, physical=reads_reached_device(pairs), timed=timed)


def figure_label(name: str, physical: bool, timed: Timed = SINGLE) -> str:
    """Return a figure's label; it says "physical" only if ``physical``, and "engine" otherwise."""
    of_class, base = split_kind(name)
    if of_class:
        label = figure_label(base, physical, timed)
        return f"{of_class}: {label[:1].lower()}{label[1:]}"
    if name in METRICS:
        return METRICS[name].label_of(physical)
    kind, *since, at, _ = name.split("_")
    called = timed.one(OPERATION if kind == "op" else kind) if timed.is_batch else kind
    label = " ".join((called, *since, "p99.9" if at == "p999" else at))
    return f"{label[:1].upper()}{label[1:]}"


def figure_text(value: float | None, unit: str) -> str:
    """Format a value with its unit."""
    return per_second(value, unit) if unit.endswith("/s") else quantity(value, unit)


def _sides(comparison: Comparison) -> list[tuple[str, str]]:
    a, b = comparison.sides
    return [("A", _side(comparison.name_a, a)), ("B", _side(comparison.name_b, b))]


def reservations(comparison: Comparison) -> list[str]:
    """Return what must be known of the servers before any figure; of one side alone with its name before it."""
    a, b = (dict.fromkeys(each for point in points for each in point.reservations) for points in comparison.sides)
    both = [each for each in a if each in b]
    return both + [f"{side}: {each}" for side, found in (("A", a), ("B", b)) for each in found if each not in both]


def _side(name: str, points: Sequence[Point]) -> str:
    runs = sum(len(point.record_ids) for point in points)
    what = f"{runs} run{'' if runs == 1 else 's'}" + (f" at {len(points)} points" if len(points) > 1 else "")
    prices = dict.fromkeys(point.price for point in points if point.price)
    return f"{name} ({', '.join([what, *(f'at {price}' for price in prices)])})"


def _show_check(check: GateCheck) -> Paragraph:
    sign, result = _RESULTS[check.result]
    asked = f"{check.condition.text}: {result}: " if result else ""
    return Paragraph(f"{asked}{gate_sentence(check)}", f"{sign} ", plain=True)


def _show_mismatches(mismatches: Sequence[Mismatch], heading: str) -> tuple[Part, ...]:
    return (Paragraph(heading, plain=True), list_mismatches(mismatches)) if mismatches else ()


def _loads(comparison: Comparison) -> str:
    """Return that a run is compared with an observation, and which figures only one of them has; else nothing."""
    if comparison.loads is None:
        return ""
    a, b = comparison.loads
    return (
        f"The loads differ: A is of {a}, B of {b}. Figures of slob's own operations, such as their latency and "
        "commits/s, are not those of an observation; transactions/s and the client's CPU are not those of a run."
    )


def _value_table(pair: Pair, rows: Mapping[str, Difference]) -> TextTable:
    labels = list(map(labels_for([pair]), rows))
    return _table("figure", labels, list(rows.values()), _counted([pair]), any(map(_format_needed, rows.values())))


def _mean_table(pairs: Sequence[Pair], rows: Mapping[str, Difference]) -> TextTable:
    head, label = ("mean over the points", *_CHANGE_HEAD[:-1]), labels_for(pairs)
    cells = [(label(name), *change_cells(change)[:-1]) for name, change in rows.items()]
    return TextTable(head, cells)


def _point_tables(comparison: Comparison) -> Iterator[TextTable]:
    """Yield tables of throughput and latency at each point."""
    axes = axes_for([pair.a for pair in comparison.pairs])
    for figure in (axes.throughput, axes.latency):
        rows = [(pair.label, change) for pair in comparison.pairs if (change := at_point(pair, figure))]
        changes = [change for _, change in rows]
        first = labels_for(comparison.pairs)(changes[0].figure) if changes else figure
        yield _table(first, [label for label, _ in rows], changes, _counted(comparison.pairs))


def _counted(pairs: Sequence[Pair]) -> set[tuple[int, int]]:
    """Return how many runs the heading counts on each side, of a point."""
    return {(len(pair.a.record_ids), len(pair.b.record_ids)) for pair in pairs}


def _table(
    first: str, labels: Sequence[str], changes: Sequence[Difference], counted: set[tuple[int, int]], needed: bool = True
) -> TextTable:
    """Return a row for each change. Runs behind the means have a column if some figure is not of all that count."""
    as_counted = len(counted) == 1 and all({(each.a.n, each.b.n)} == counted for each in changes)
    columns = [*(() if as_counted else (("n of A, B", n_text),)), *((("runs*", _format_needed),) if needed else ())]
    rows = [
        (label, *value_cells(each), *change_cells(each)[:2], *(of(each) for _, of in columns))
        for label, each in zip(labels, changes, strict=True)
    ]
    return TextTable((first, "A", "B", *_CHANGE_HEAD[:-1], *(name for name, _ in columns)), rows)


def stage_tables(pair: Pair) -> Iterator[TextTable]:
    """Yield a table for each figure of the stages of a rate that changes, with a row for each stage."""
    for figure in STAGE_FIGURES:
        found = {stage.label: change for stage in pair.stages if (change := stage.differences.get(figure))}
        if found:
            heading, changes = labels_for([pair])(figure), list(found.values())
            needed = any(map(_format_needed, changes))
            yield _table(f"{heading}, by stage", list(found), changes, _counted([pair]), needed)


def unrecovered(comparison: Comparison, names: tuple[str, str]) -> list[str]:
    """Return for each stage and side why no time to recover is known; ``names`` are those of the sides."""
    return [
        f"{name}, {stage.label}: {why}"
        for pair in comparison.pairs[:1]
        for stage in pair.stages
        for name, why in zip(names, stage.why_unrecovered, strict=True)
        if why
    ]


def _time_tables(time: Breakdown | None) -> list[TextTable]:
    """Return what the difference in the time per operation consists of; nothing if that is not known."""
    if time is None:
        return []
    rows = [
        (part.name, quantity(part.a_us, "µs"), quantity(part.b_us, "µs"), f"{time.points_of(part):+.1f} pt")
        for part in time.parts
        if abs(time.points_of(part)) >= _LEAST_POINTS
    ]
    rest = time.change_pct - sum(
        time.points_of(part) for part in time.parts if abs(time.points_of(part)) >= _LEAST_POINTS
    )
    rows += [("the rest", "", "", f"{rest:+.1f} pt")] if len(rows) < len(time.parts) else []
    whole = ("time per operation", quantity(time.a_us, "µs"), quantity(time.b_us, "µs"), f"{time.change_pct:+.1f} %")
    return [TextTable(("what sessions waited for, by samples", "A", "B", "B against A"), [whole, *rows])]


def at_point(pair: Pair, figure: str) -> Difference | None:
    """Return the difference in a figure at a point; ``op_…`` is that of the most frequent operation."""
    kind, _, at = figure.partition("_")
    return pair.differences.get(f"{pair.a.main_kind}_{at}" if kind == "op" else figure)


def unclear(difference: Difference) -> str:
    """Return that a change is unknown, and of how many runs, where its interval is that wide; else nothing."""
    return f"unknown ({runs_of(difference)})" if difference.is_vague else ""


def runs_of(difference: Difference) -> str:
    """Return of how many runs each side's mean is."""
    a, b = difference.a.n, difference.b.n
    return count_noun(a, "run") if a == b else f"{a} and {count_noun(b, 'run')}"


def change_cells(difference: Difference) -> tuple[str, str, str]:
    """Return the change with its interval, the outcome, and the runs per side needed to show a small difference."""
    in_points = difference.unit == "%" and difference.change is not None
    unit = "pt" if in_points else "%"
    percent, plain = (
        (difference.pct, difference.pct_low, difference.pct_high),
        (difference.change, difference.change_low, difference.change_high),
    )
    change = None if in_points else multiple(difference)
    if difference.unit_b is not None:
        return MISSING, "other currency", ""
    return (
        unclear(difference) or change or _interval(*(plain if in_points else percent), unit),
        _IN_TABLE.get(difference.outcome, difference.outcome.value),
        _format_needed(difference),
    )


def n_text(difference: Difference) -> str:
    """Return how many runs are behind the mean of A and of B."""
    return f"{difference.a.n}, {difference.b.n}"


def multiple(difference: Difference) -> str:
    """Return a change of more than `MOST_PCT` as a multiple of A, such as ``× 203,379``; empty for smaller ones."""
    pct = difference.pct
    return "" if pct is None or pct <= MOST_PCT else f"× {number(1 + pct / 100)}"


def _interval(change: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Format a change with half of its interval, such as ``+5.1 ± 1.2 %``; percentage points have the unit ``pt``."""
    if change is None:
        return MISSING
    # Without this, a small loss is minus nothing.
    change = round(change, 1) or 0.0
    if low is None or high is None:
        return f"{change:+,.1f} {unit}"
    half = (high - low) / 2
    return f"{change:+,.1f} ± {f'{half:.1f}' if half <= WIDEST_PCT else f'>{WIDEST_PCT:g}'} {unit}"


def _format_needed(difference: Difference) -> str:
    if difference.repeats_needed is None or difference.outcome is not Outcome.NOT_SHOWN:
        return ""
    return f"{MOST_RUNS}+" if difference.repeats_needed == MOST_RUNS else str(difference.repeats_needed)


def value_cells(difference: Difference) -> tuple[str, str]:
    """Return both means with their unit."""
    unit_b = difference.unit if difference.unit_b is None else difference.unit_b
    return figure_text(difference.a.mean, difference.unit), figure_text(difference.b.mean, unit_b)


def is_listed(name: str, difference: Difference) -> bool:
    """Return whether a comparison shows the figure: a main one, or one that differs."""
    return not is_empty(difference) and (split_kind(name)[1] in _MAIN or difference.outcome in _SHOWN)


def is_empty(difference: Difference) -> bool:
    """Return whether the figure is unknown, or 0 on both sides."""
    is_unknown = difference.outcome is Outcome.UNKNOWN and difference.unit_b is None
    return is_unknown or (difference.a.mean == 0 and difference.b.mean == 0)


def _every_difference(comparison: Comparison) -> list[Difference]:
    return [each for pair in comparison.pairs for each in pair.differences.values()]


def _remarks(comparison: Comparison) -> list[str]:
    points = [point for pair in comparison.pairs for point in (pair.a, pair.b)]
    within = any(point.metrics["ops_per_s"].basis is Basis.WITHIN_RUN for point in points)
    return [
        *([footnote(comparison)] if any(_format_needed(each) for each in _every_difference(comparison)) else []),
        *runs_needed(comparison),
        *_fails(comparison),
        *([f"Only in A: {_name_points(comparison.only_a)}."] if comparison.only_a else []),
        *([f"Only in B: {_name_points(comparison.only_b)}."] if comparison.only_b else []),
        *(["± of a single run comes from the spread within it."] if within else []),
    ]


def _fails(comparison: Comparison) -> list[str]:
    names = (dict.fromkeys(name for point in points for name in point.failed) for points in comparison.sides)
    return [
        f"! Verdicts that fail in {side}: {', '.join(name.replace('_', ' ') for name in failed)}."
        for side, failed in zip("AB", names, strict=True)
        if failed
    ]


def _name_points(labels: Sequence[str]) -> str:
    more = len(labels) - _MOST_POINTS_NAMED
    return "; ".join(labels[:_MOST_POINTS_NAMED]) + (f"; and {more} more" if more > 0 else "")


def value_text(values: Sequence[object]) -> str:
    """Return the values of a condition on one side in a line."""
    return shorten(", ".join(map(_value_text, values)), _WIDEST_VALUE)


def _value_text(value: object) -> str:
    if value is None:
        return "unknown"
    return " ".join(str(value).split()) or "empty"


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "point": pair.label,
        "sessions": pair.sessions,
        "runs_a": list(pair.a.record_ids),
        "runs_b": list(pair.b.record_ids),
        "figures": {name: asdict(each) for name, each in pair.differences.items()},
        "time_per_op": _time_json(pair.time),
    }


def _time_json(time: Breakdown | None) -> dict[str, Any] | None:
    if time is None:
        return None
    parts = [{**asdict(part), "points": time.points_of(part)} for part in time.parts]
    return {"a_us": time.a_us, "b_us": time.b_us, "change_pct": time.change_pct, "parts": parts}


def show_side_by_side(comparison: Comparison, more_figures: Sequence[str] = ()) -> tuple[Section, ...]:
    """Return a table for each point that both sides have; ``more_figures`` come before those that are always shown."""
    head = f"{comparison.name_b} against {comparison.name_a}: differences of means, ± half of the 95 % interval."
    # The name of a setting stays as the server writes it.
    lead = head if "=" in head.split(maxsplit=1)[0] else head[0].upper() + head[1:]
    mismatches = _show_mismatches(comparison.mismatches, "Conditions that are not the same on both sides, too:")
    tables = [
        TextTable.ending_in_text(
            (pair.label, comparison.name_a, comparison.name_b, "difference", ""), side_by_side_rows(pair, more_figures)
        )
        for pair in comparison.pairs
    ]
    return (Section("", (Paragraph(lead, plain=True), *mismatches)), *(Section("", (table,)) for table in tables))


def side_by_side_rows(pair: Pair, more_figures: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Return label, both means, difference with interval, and outcome of each figure that is not 0 on both sides."""
    label = labels_for([pair])
    known = {name: pair.differences[name] for name in (*more_figures, *_SIDE_BY_SIDE) if name in pair.differences}
    return [
        (label(name), *value_cells(change), *change_cells(change)[:2])
        for name, change in known.items()
        if change.a.mean or change.b.mean
    ]
