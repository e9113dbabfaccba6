"""The answer of a comparison on one screen: how much B does against A, whether that is proved, and five figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from openslob.analyze.ci_gate import ENOUGH_RUNS, GateCheck, GateResult
from openslob.analyze.compare import RECOVERY, Comparison, Mismatch, Pair
from openslob.analyze.curves.points import Point
from openslob.analyze.curves.series import axes_for
from openslob.analyze.differences import Difference, Outcome, Shows
from openslob.analyze.intervals import MOST_RUNS
from openslob.analyze.outcome import count_noun
from openslob.analyze.verdict_registry import Severity, invalidates, row_of
from openslob.core.session_classes import split_kind
from openslob.report.comparison import (
    at_point,
    change_cells,
    condition_change,
    is_empty,
    labels_for,
    main_differences,
    n_text,
    reads_reached_device,
    reservations,
    unrecovered,
    value_text,
)
from openslob.report.document import LabelledTexts, Paragraph, Part, Screen, TextTable, in_words
from openslob.report.format import MISSING, NO_BREAK, number, quantity, shorten

# A change of more is given as a multiple, or as a share.
_TWICE = 2.0
# Longer names are A and B in tables and sentences; the subject has them.
_LONGEST_NAME = 24
_LONGEST_VALUE = 16
_MOST_CHECKS, _MOST_POINTS, _MOST_CONDITIONS = 3, 8, 2
# A run whose blocks come from the device in a smaller share is about cached reads.
_READS_MATTER = 0.1
# The first of these that both sides have is the answer.
_RATES = {
    "ops_per_s": "operations/s",
    "transactions_per_s": "transactions/s",
    "pio_read_per_s": "reads/s",
    "lio_per_s": "block visits/s",
}
_LABELS = {
    **_RATES,
    "lio_per_s": "cached reads/s",
    "engine_read_latency_us": "read latency",
    "iops_per_db_cpu": "reads per CPU second",
    "iops_per_foreground_cpu": "reads per foreground CPU second",
    "lio_per_db_cpu": "cached reads per CPU second",
    "cost_per_million_reads": "cost of 1M reads",
    "cost_per_million_logical_reads": "cost of 1M cached reads",
}
# What of a class of sessions is compared on the screen.
_CLASS_FIGURE = re.compile(r".+/(ops_per_s|(select|update|scan)_p99_us)")
# Of a stage of a rate that changes, with what a column of it is called.
_STAGE_FIGURES = {"response_p99_us": "response p99 {}", RECOVERY: "recovered in {}"}
_RESULTS = {
    GateResult.VIOLATED: "✗ {}: met",
    GateResult.UNDECIDED: "? {}: can't tell",
    GateResult.OK: "✓ {}: not met",
}
_JUDGED = {Outcome.BETTER: "better", Outcome.WORSE: "worse", Outcome.DIFFERENT: "different"}
_NOT_PROVED = {
    Shows.ONE_RUN: "one run each",
    Shows.ONE_START: "each side is of one start of the server",
    Shows.FEW_RUNS: "two runs against one",
}


def comparison_screen(comparison: Comparison, checks: Sequence[GateCheck] = (), again: str = "") -> Screen:
    """Return the screen of a comparison; ``again`` is the command that makes it."""
    named = _Named.of(comparison)
    return Screen(
        subject=_subject(comparison, named),
        answer=(*_invalid(comparison, named), _answer(comparison, named), *_gate(checks)),
        parts=(
            _points_table(comparison, named) if len(comparison.pairs) > 1 else _table(comparison, named),
            *_stages(comparison, named),
            *_remarks(comparison, named),
        ),
        next=_next(comparison, again) if again else (),
    )


def _next(comparison: Comparison, again: str) -> tuple[tuple[str, str], ...]:
    """Return the commands that show more; one that measures more, where that is needed to tell."""
    rate = _rate(main_differences(comparison))
    is_open = rate is None or (rate.outcome not in _JUDGED and _widest(rate) > comparison.see_pct)
    pairs = (("slob ab --help", "pairs of runs, until it is decided"),) if is_open else ()
    return ((f"{again} --all", "every figure"), *pairs)


@dataclass(frozen=True)
class _Named:
    """What the sides are called in a sentence and at the head of a column."""

    a: str
    b: str
    verb: str = " does"

    @classmethod
    def of(cls, comparison: Comparison) -> _Named:
        """Return the names of both sides, or A and B where one is long or both are the same."""
        a, b = (Path(name).name or name for name in (comparison.name_a, comparison.name_b))
        return cls(a, b) if max(len(a), len(b)) <= _LONGEST_NAME and a != b else cls("A", "B")


def _subject(comparison: Comparison, named: _Named) -> str:
    """Return which sides of what server, host and load are compared."""
    called = ((comparison.name_a, named.a), (comparison.name_b, named.b))
    runs = [_runs_at(each, points) for each, points in zip(called, comparison.sides, strict=True)]
    every = [point for side in comparison.sides for point in side]
    product, version, host = (_common(every, name) for name in ("product", "version", "host"))
    server = f"{product} {version}".strip() or "several servers"
    place = f" on {host}" if host else ""
    label = comparison.pairs[0].label if len(comparison.pairs) == 1 else f"{len(comparison.pairs)} points"
    return f"{runs[1]} against {runs[0]}: {server}{place}, {label}"


def _runs_at(called: tuple[str, str], points: Sequence[Point]) -> str:
    """Return a side's name, before it the letter that stands for it, if one does, and what it is of."""
    name = Path(called[0]).name or called[0]
    letter = f"{called[1]}, " if called[1] != name else ""
    runs = count_noun(sum(len(point.record_ids) for point in points), "run")
    prices = dict.fromkeys(point.price for point in points if point.price)
    return f"{letter}{name} ({', '.join([runs, *(f'at {price}' for price in prices)])})"


def _common(points: Sequence[Point], name: str) -> str:
    """Return the value that all points have; empty if they differ, or it is not known."""
    values = {str(point.parameters.get(name) or "") for point in points}
    return values.pop() if len(values) == 1 else ""


def rate_sentence(comparison: Comparison, rate: str) -> str:
    """Return the answer of a comparison for a screen that does not say what A and B are; by this rate, if known."""
    if _rate(main_differences(comparison), rate) is None:
        return "The two values are not compared: no rate is known of both."
    text = _answer(comparison, _Named(comparison.name_a, comparison.name_b, ":"), rate)
    return text[:1].upper() + text[1:]


def _answer(comparison: Comparison, named: _Named, first: str = "") -> str:
    """Return how much B does against A, and what shows that it does; by the rate ``first``, if it is known."""
    found = _rate(main_differences(comparison), first)
    if found is None:
        return "No rate is known of both sides, so which of them does more is unknown."
    means = found.a.mean, found.b.mean
    values = "" if None in means else f": {number(means[1])} against {number(means[0])}"
    mean = f" in the mean of {len(comparison.pairs)} points" if len(comparison.pairs) > 1 else ""
    return f"{_size(found.pct or 0.0, _RATES[found.figure], named)}{mean}{values}. {_proof(found, comparison)}"


def _rate(differences: Mapping[str, Difference], first: str = "") -> Difference | None:
    """Return the difference in the rate that is the answer; None if no rate is known of both sides."""
    names = sorted(_RATES, key=lambda name: name != first)
    return next((found for name in names if (found := differences.get(name)) and found.pct is not None), None)


def _size(pct: float, noun: str, named: _Named) -> str:
    ratio = 1 + pct / 100
    if _is_multiple(pct):
        return f"{named.b}{named.verb} {_times(ratio)} × the {noun} of {named.a}"
    if not round(pct, 1):
        return f"{named.b}{named.verb} as many {noun} as {named.a}"
    return f"{named.b}{named.verb} {_fewer_or_more(pct)} {noun} than {named.a}"


def _is_multiple(pct: float) -> bool:
    return not 1 / _TWICE < 1 + pct / 100 < _TWICE


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 1 else f"{ratio:.1f}" if ratio < 100 else number(ratio)


def _fewer_or_more(pct: float) -> str:
    return f"{abs(pct):.1f} % {'more' if pct > 0 else 'fewer'}"


def _proof(found: Difference, comparison: Comparison) -> str:
    """Return what the runs show of a difference, and how many would show more."""
    runs = _runs_behind(found, comparison)
    if found.shows in _NOT_PROVED or found.outcome is Outcome.NOT_ENOUGH:
        why = _NOT_PROVED.get(found.shows, found.why) if found.shows else found.why
        return f"Not proved: {why}. {ENOUGH_RUNS} runs each, each after a restart of the server, would tell."
    low, high = found.pct_low, found.pct_high
    if low is None or high is None or found.is_vague:
        return f"Unknown: equal runs differ too much, {runs}.{_needed(found, comparison)}"
    if found.outcome is not Outcome.NOT_SHOWN:
        return f"Shown at 95 %: {_span(low, high, found.pct or 0.0)}, {runs}."
    if _widest(found) <= comparison.see_pct:
        return f"The same within {max(_widest(found), 0.1):.1f} %, {runs}."
    between = f"between {_fewer_or_more(low)} and {_fewer_or_more(high)}"
    return f"Can't tell: {between}, {runs}.{_needed(found, comparison)}"


def _runs_behind(found: Difference, comparison: Comparison) -> str:
    if len(comparison.pairs) > 1:
        a, b = (sum(len(point.record_ids) for point in points) for points in comparison.sides)
    else:
        a, b = found.a.n, found.b.n
    return f"{count_noun(a, 'run')} each" if a == b else f"{count_noun(b, 'run')} against {a}"


def _span(low: float, high: float, pct: float) -> str:
    """Return the ends of an interval of a change that does not contain 0, in the same terms as the change."""
    if _is_multiple(pct):
        ratios = 1 + low / 100, 1 + high / 100
        ends = [_times(each) for each in ratios]
        return f"{' to '.join(ends if ends[0] != ends[1] else map(number, ratios))}{NO_BREAK}×"
    near, far = sorted((abs(low), abs(high)))
    span = f"{near:.1f}" if round(near, 1) == round(far, 1) else f"{near:.1f} to {far:.1f}"
    return f"{span} % {'more' if low > 0 else 'fewer'}"


def _needed(found: Difference, comparison: Comparison) -> str:
    """Return how many runs show a change that matters; nothing where that is not known."""
    count = found.repeats_needed
    if count is None:
        return ""
    if count == MOST_RUNS:
        return f" {MOST_RUNS} runs each would not show {comparison.see_pct:g} %: measure on a quieter machine."
    return f" {count} runs each would show {comparison.see_pct:g} %."


def _invalid(comparison: Comparison, named: _Named) -> Iterator[str]:
    """Yield for each side that figures of it, or of a run of it, must not be used, and why."""
    runs = [sum(len(point.record_ids) for point in points) for points in comparison.sides]
    for (name, failed), count in zip(_failed(comparison, named), runs, strict=True):
        side = name if count == 1 else f"a run of {name}"
        reasons = [why for name, why in failed.items() if invalidates(name)]
        if reasons:
            first = reasons[0].partition(". ")[0].rstrip(".")
            more = f" ({len(reasons) - 1} more)" if reasons[1:] else ""
            yield f"INVALID  {side}: {first}{more}."


def _failed(comparison: Comparison, named: _Named) -> list[tuple[str, dict[str, str]]]:
    return [
        (name, {failed: why for point in points for failed, why in point.failed.items()})
        for name, points in zip((named.a, named.b), comparison.sides, strict=True)
    ]


def _gate(checks: Sequence[GateCheck]) -> Iterator[str]:
    """Yield a line for each condition, those that are met first."""
    ordered = sorted(checks, key=lambda check: list(_RESULTS).index(check.result))
    for check in ordered[:_MOST_CHECKS]:
        change = condition_change(check.condition, check.difference) if check.difference else ""
        yield f"{_RESULTS[check.result].format(check.condition.text)}{change and f', {change}'}"
    if left := ordered[_MOST_CHECKS:]:
        yield f"{count_noun(len(left), 'more condition')}: --all"


def _table(comparison: Comparison, named: _Named) -> TextTable:
    """Return five figures of both sides, with how many runs are behind each."""
    (pair,) = comparison.pairs
    shown = [pair.differences[name] for name in _figures(pair)]
    is_valid = not any(_invalid(comparison, named))
    rows = [
        (_label(each.figure, [pair]), *_values(each), *_change(each, comparison.see_pct, is_valid), n_text(each))
        for each in shown
    ]
    if len({row[-1] for row in rows}) > 1:
        return TextTable(("", named.a, named.b, "change", "", "runs"), rows, texts=frozenset({0, 4}))
    counts = [("runs", str(each.a.n), str(each.b.n), "", "") for each in shown[:1]]
    return TextTable(
        ("", named.a, named.b, "change", ""), [*(row[:-1] for row in rows), *counts], texts=frozenset({0, 4})
    )


def _figures(pair: Pair) -> list[str]:
    """Return the figures that say most of a load: its rate, its reads, their latency, the slowest, CPU and cost."""
    known = {name: each for name, each in pair.differences.items() if not is_empty(each)}
    kind = pair.a.main_kind
    reads, visits = (max(pair.a.mean(name) or 0, pair.b.mean(name) or 0) for name in ("pio_read_per_s", "lio_per_s"))
    per_cpu = "iops_per_db_cpu" if "iops_per_db_cpu" in known else "iops_per_foreground_cpu"
    by_reads = ("pio_read_per_s", "engine_read_latency_us", per_cpu)
    by_visits = ("lio_per_s", f"{kind}_mean_us", "lio_per_db_cpu")
    first, second = (by_reads, by_visits) if reads > _READS_MATTER * visits else (by_visits, by_reads)
    rate = [name for name in ("ops_per_s", "transactions_per_s") if name in known][:1]
    about = [next((name for name in names if name in known), None) for names in zip(first, second, strict=True)]
    cost = "cost_per_million_reads" if first is by_reads else "cost_per_million_logical_reads"
    shown = [name for name in (*rate, *about[:2], f"{kind}_p99_us", about[2], cost) if name in known]
    apart = pair.of_stages
    return [*shown, *(name for name in known if _CLASS_FIGURE.fullmatch(name) and name not in apart)]


def _stages(comparison: Comparison, named: _Named) -> Iterator[Part]:
    """Yield a row for each stage of a rate that changes, and why some have no time to recover."""
    (pair, *others) = comparison.pairs
    if others or not pair.stages:
        return
    head = ("stage", *(cell for text in _STAGE_FIGURES.values() for cell in (text.format(named.a), named.b, "change")))
    is_valid = not any(_invalid(comparison, named))
    rows = []
    for stage in pair.stages:
        found = [stage.differences.get(figure) for figure in _STAGE_FIGURES]
        cells = [
            (*_values(each), _change(each, comparison.see_pct, is_valid)[0]) if each else (MISSING, MISSING, "")
            for each in found
        ]
        rows.append((stage.label, *(cell for each in cells for cell in each)))
    yield TextTable(head, rows)
    yield from (Paragraph(text) for text in unrecovered(comparison, (named.a, named.b)))


def _label(figure: str, pairs: Sequence[Pair]) -> str:
    of_class, base = split_kind(figure)
    if of_class:
        return f"{of_class}: {_label(base, pairs)}"
    if figure == "pio_read_per_s":
        return "physical reads/s" if reads_reached_device(pairs) else "engine reads/s"
    if figure in _LABELS:
        return _LABELS[figure]
    label = labels_for(pairs)(figure)
    return label[:1].lower() + label[1:]


def _values(found: Difference) -> tuple[str, str]:
    in_label = split_kind(found.figure)[1] in _LABELS and found.unit.endswith("/s")
    a, b = ((number(each.mean) if in_label else quantity(each.mean, found.unit)) for each in (found.a, found.b))
    return a, b


def _change(found: Difference, see_pct: float, is_valid: bool = True) -> tuple[str, str]:
    """Return the change and the word for it; of single runs without the spread inside them, which proves nothing.

    Figures of which one is not ``is_valid`` are neither better nor worse.
    """
    change = change_cells(found)[0]
    if not is_valid:
        return change, ""
    if found.outcome in _JUDGED:
        return change, _JUDGED[found.outcome]
    if found.outcome is Outcome.NOT_SHOWN and found.shows not in _NOT_PROVED:
        return change, "" if found.is_vague else "same" if _widest(found) <= see_pct else "can't tell"
    return change.partition(" ±")[0] + (" %" if "±" in change else ""), "not proved"


def _widest(found: Difference) -> float:
    """Return the largest change that the interval holds, in %; infinite if there is none."""
    return inf if found.pct_low is None or found.pct_high is None else max(abs(found.pct_low), abs(found.pct_high))


def _points_table(comparison: Comparison, named: _Named) -> TextTable:
    """Return rate and latency of both sides at each point."""
    axes = axes_for([pair.a for pair in comparison.pairs])
    # Headings are wrapped: what is measured stands above the name of A.
    names = [_label(figure, comparison.pairs) for figure in (axes.throughput, axes.latency)]
    head = ("", *(cell for name in names for cell in (f"{name} {named.a}", named.b, "change")))
    rows = []
    for pair in comparison.pairs[:_MOST_POINTS]:
        cells = [at_point(pair, figure) for figure in (axes.throughput, axes.latency)]
        rows.append(
            (
                pair.label,
                *(
                    cell
                    for each in cells
                    for cell in ((*_values(each), _change(each, comparison.see_pct)[0]) if each else ("",) * 3)
                ),
            )
        )
    left = len(comparison.pairs) - _MOST_POINTS
    rows += [(f"{left} more: --all", *("",) * 6)] if left > 0 else []
    return TextTable(head, rows)


def _remarks(comparison: Comparison, named: _Named) -> Iterator[Part]:
    """Yield what else a reader must know: reservations, what differs, which checks fail, how many figures differ."""
    yield from (Paragraph(each, "! ") for each in reservations(comparison))
    rows = [("loads", "differ: only figures of the server and its host are compared")] if comparison.loads else []
    rows += [("spread", f"how much starts differ is that of {comparison.name_like}")] if comparison.name_like else []
    if comparison.mismatches:
        rows.append(("different", _differing(comparison.mismatches)))
    for side, failed in _failed(comparison, named):
        names = [in_words(name) for name in failed if row_of(name).severity is Severity.CAUTION]
        rows += [(f"fails in {side}", ", ".join(names))] if names else []
    counts = "" if comparison.loads or any(_invalid(comparison, named)) else _counts(comparison)
    rows += [("figures", counts)] if counts else []
    rows += [(f"only in {name}", "; ".join(only)) for name, only in _unmatched(comparison, named) if only]
    if rows:
        yield LabelledTexts(rows)


def _differing(mismatches: Sequence[Mismatch]) -> str:
    named = [f"{each.name} ({_cut(each.a)} → {_cut(each.b)})" for each in mismatches[:_MOST_CONDITIONS]]
    left = len(mismatches) - len(named)
    return ", ".join(named) + (f", and {left} more: --all" if left else "")


def _cut(values: Sequence[object]) -> str:
    return shorten(value_text(values), _LONGEST_VALUE)


def _counts(comparison: Comparison) -> str:
    """Return how many figures differ, and how many would by chance; nothing where none could be judged."""
    counts = Counter(each.outcome for each in main_differences(comparison).values() if not is_empty(each))
    judged = sum(counts[outcome] for outcome in (*_JUDGED, Outcome.NOT_SHOWN))
    shown = [f"{counts[outcome]} {word}" for outcome, word in _JUDGED.items() if counts[outcome]]
    if not shown:
        return ""
    return f"of {judged} are {', '.join(shown)}; chance makes about {judged * 0.05:.0f} of these"


def _unmatched(comparison: Comparison, named: _Named) -> list[tuple[str, tuple[str, ...]]]:
    return [(named.a, comparison.only_a[:_MOST_CONDITIONS]), (named.b, comparison.only_b[:_MOST_CONDITIONS])]
