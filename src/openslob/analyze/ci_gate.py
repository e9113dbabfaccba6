"""Conditions on a comparison for continuous integration: ``ops_per_s < -10%`` describes a violation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from openslob.analyze.compare import FIGURES, Comparison, is_figure
from openslob.analyze.differences import Difference, Outcome, Shows
from openslob.analyze.intervals import MOST_RUNS
from openslob.core.errors import UsageError
from openslob.core.toml import parse_toml

_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([+-]?\d+(?:\.\d+)?)\s*(%?)\s*")


# Runs of a side that the advice asks for: with fewer, only large changes are significant.
ENOUGH_RUNS = 5
# Of smaller changes, such as that of a cost, three digits are shown: one decimal would be none.
SMALL_CHANGE = 0.05
# What these figures are called elsewhere.
USUAL_FIGURES = {
    "iops": ("pio_read_per_s", "iops_per_db_cpu"),
    "reads": ("pio_read_per_s", "lio_per_s"),
    "reads_per_s": ("pio_read_per_s", "lio_per_s"),
    "writes": ("pio_write_per_s",),
    "throughput": ("ops_per_s", "pio_read_mb_per_s"),
    "mb_per_s": ("pio_read_mb_per_s", "redo_mb_per_s"),
    "tps": ("commits_per_s", "ops_per_s"),
    "qps": ("ops_per_s",),
    "latency": ("op_mean_us", "op_p99_us", "engine_read_latency_us"),
    "latency_us": ("op_mean_us", "op_p99_us", "engine_read_latency_us"),
    "read_latency": ("engine_read_latency_us", "select_mean_us"),
    "p50": ("op_p50_us", "select_p50_us"),
    "p99": ("op_p99_us", "select_p99_us", "update_p99_us"),
    "p999": ("op_p999_us", "select_p999_us"),
    "cpu": ("db_cpu_per_s", "host_cpu_left_pct"),
}


class GateResult(StrEnum):
    """The result of a condition. UNDECIDED: the means meet it, but no difference is shown, or a figure is missing."""

    VIOLATED = "so"
    OK = "not so"
    UNDECIDED = "can't be told"


class GateVerdict(StrEnum):
    """The verdict on a comparison, for programs. COMPARED: it has no conditions; REFUSED: nothing was compared."""

    REFUSED = "refused"
    FAILED = "failed"
    UNDECIDED = "undecided"
    PASSED = "passed"
    COMPARED = "compared"


@dataclass(frozen=True)
class Condition:
    """A bound on the difference B − A in ``figure``, in % of A if ``percent``, else in the figure's unit."""

    text: str
    figure: str
    operator: str
    bound: float
    percent: bool

    @property
    def decimals(self) -> int:
        """With how many decimals a change is shown beside the bound: as many as it has, and one at least."""
        return max(1, len(self.text.rstrip(" %").partition(".")[2]))

    def as_shown(self, change: float) -> float:
        """Return a change with the decimals that are shown of it: what a reader sees is what is compared."""
        return round(change, self.decimals) if self.percent or abs(change) >= SMALL_CHANGE else change

    def is_met_by(self, change: float) -> bool:
        """Return whether a difference of ``change`` meets the condition."""
        change = self.as_shown(change)
        if self.operator.startswith("<"):
            return change < self.bound or (change == self.bound and "=" in self.operator)
        return change > self.bound or (change == self.bound and "=" in self.operator)


@dataclass(frozen=True)
class GateCheck:
    """A condition with its result, the reason or a remark, and the difference that was checked, if there is one."""

    condition: Condition
    result: GateResult
    why: str
    difference: Difference | None = None


def parse_condition(text: str) -> Condition:
    """Parse ``FIGURE < BOUND`` with <, <=, > or >=, bound in % of A or in the figure's unit. UsageError otherwise."""
    match = _CONDITION.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not a condition", "such as 'ops_per_s < -10%' or 'select_p99_us > 200'")
    figure, operator, bound, percent = match.groups()
    if not is_figure(figure):
        near = _likely(figure)
        raise UsageError(
            f"{figure!r} is not a figure of a comparison",
            f"did you mean {', '.join(near)}?" if near else "docs/figures.md has their names",
        )
    return Condition(text.strip(), figure, operator, float(bound), bool(percent))


def _likely(name: str) -> list[str]:
    """Return the names of the figures that ``name`` may stand for."""
    word = name.lower()
    near = [each for each in FIGURES if each.startswith(f"{word}_")] or difflib.get_close_matches(word, FIGURES, 3)
    return list(dict.fromkeys([*USUAL_FIGURES.get(word, ()), *near]))[:3]


@dataclass(frozen=True)
class Thresholds:
    """What a file of thresholds holds: conditions, and what may differ between the sides."""

    conditions: tuple[Condition, ...]
    may_differ: tuple[str, ...] = ()


def parse_thresholds(text: str, source: str) -> Thresholds:
    """Parse a TOML file of conditions: ``figure = "< -5%"`` or a list of such, at the top or in ``[thresholds]``.

    ``may_differ = ["cache_bytes"]`` at either place is a list of what may differ between the sides.
    UsageError, which names ``source``, for anything else.
    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise UsageError(f"{source} is not TOML: {error}") from error
    may_differ = _may_differ(document, source)
    rows = document.get("thresholds", document)
    if not isinstance(rows, dict) or (rows is not document and len(document) > 1) or not (rows or may_differ):
        raise UsageError(f"{source} has no thresholds", 'one a line, such as ops_per_s = "< -10%"')
    conditions = []
    for figure, bounds in rows.items():
        for bound in bounds if isinstance(bounds, list) else [bounds]:
            try:
                conditions.append(parse_condition(f"{figure} {bound}"))
            except UsageError as error:
                raise UsageError(f"{source}: {error.what}", error.remedy) from None
    return Thresholds(tuple(conditions), may_differ)


def _may_differ(document: dict[str, Any], source: str) -> tuple[str, ...]:
    """Take the list of what may differ out of a document."""
    places = [place for place in (document, document.get("thresholds")) if isinstance(place, dict)]
    values = [place.pop("may_differ") for place in places if "may_differ" in place]
    for value in values:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise UsageError(f"{source}: may_differ is not a list of names", 'such as may_differ = ["cache_bytes"]')
    return tuple(name for value in values for name in value)


def check(condition: Condition, comparison: Comparison) -> GateCheck:
    """Check a condition: it is VIOLATED when the means meet it and the difference is significant at 95 %.

    It is UNDECIDED when the means meet it but no difference is shown, or when the figure is missing. It is OK when the
    means do not meet it; the remark then says whether the interval does. It is UNDECIDED, too, if the interval meets it
    and is so wide that the change is unknown. A sweep is checked by the mean difference over its points, which is in %.
    UsageError for a bound in the figure's unit there.
    """
    if len(comparison.pairs) > 1 and not condition.percent:
        raise UsageError(f"{condition.text!r} has no %", "the mean difference over several points is in %")
    difference = comparison.answer(condition.figure)
    change = None if difference is None else difference.pct if condition.percent else difference.change
    if difference is None or change is None:
        why = _why_missing(difference, comparison.name_a)
        return GateCheck(condition, GateResult.UNDECIDED, f"Can't tell whether {condition.text}: {why}.")
    is_vague = difference.is_vague and any(map(condition.is_met_by, _interval(condition, difference)))
    if not condition.is_met_by(change) and not is_vague:
        return GateCheck(condition, GateResult.OK, _remark(condition, difference), difference)
    if _is_shown(condition, difference):
        return GateCheck(condition, GateResult.VIOLATED, "", difference)
    why = f"Can't tell whether {condition.text}: {_why_not_shown(condition, difference)}."
    return GateCheck(condition, GateResult.UNDECIDED, why, difference)


def verdict_of(checks: Sequence[GateCheck]) -> GateVerdict:
    """Return the verdict on a comparison: that of the worst of its conditions."""
    results = {check.result for check in checks}
    if GateResult.VIOLATED in results:
        return GateVerdict.FAILED
    if GateResult.UNDECIDED in results:
        return GateVerdict.UNDECIDED
    return GateVerdict.PASSED if results else GateVerdict.COMPARED


def _why_missing(difference: Difference | None, name_a: str) -> str:
    if difference is None:
        return "neither side has this figure"
    return difference.why if difference.change is None else f"it is 0 in {name_a}, so the change has no percentage"


def _is_shown(condition: Condition, difference: Difference) -> bool:
    """Return whether the data show a change that meets the condition, given that the means meet it.

    A condition such as "< 5%", which no change meets as well, needs no significant change: all of the interval does.
    """
    if difference.outcome is Outcome.NOT_ENOUGH or difference.leaves_open:
        return False
    return difference.outcome is not Outcome.NOT_SHOWN or all(
        map(condition.is_met_by, _interval(condition, difference))
    )


def _interval(condition: Condition, difference: Difference) -> tuple[float, float]:
    """Return the ends of the interval in the unit of the bound; the change itself where there is no interval."""
    low, high = difference.pct_low, difference.pct_high
    change = difference.pct
    if not condition.percent:
        low, high, change = difference.change_low, difference.change_high, difference.change
    known = [0.0 if change is None else change] * 2 if low is None or high is None else [low, high]
    return known[0], known[1]


# What the runs of both sides do not show, in a sentence of the gate.
_LEFT_OPEN = {
    Shows.ONE_RUN: "each side has one run, which does not show how much runs differ",
    Shows.ONE_START: "each side is of one start of the server, which does not show how much starts differ",
    Shows.FEW_RUNS: "one side has two runs and the other one, which hardly show how much runs differ",
}


def _remark(condition: Condition, difference: Difference) -> str:
    """Return what the data leave open about a condition that the means do not meet."""
    if difference.shows in _LEFT_OPEN:
        return _LEFT_OPEN[difference.shows]
    if any(map(condition.is_met_by, _interval(condition, difference))):
        return f"the 95 % interval reaches the limit; {_runs_needed(condition, difference)}"
    return ""


def _why_not_shown(condition: Condition, difference: Difference) -> str:
    if difference.shows in _LEFT_OPEN:
        what = _LEFT_OPEN[difference.shows].partition(",")[0]
        return f"{what}; make {ENOUGH_RUNS} runs of each side, each after a restart of the server"
    if difference.is_vague:
        return f"equal runs differ so much that the change is unknown; {_runs_needed(condition, difference)}"
    return f"the 95 % interval contains 0; {_runs_needed(condition, difference)}"


def _runs_needed(condition: Condition, difference: Difference) -> str:
    """Return the number of runs of each side that would show a change as large as the bound, or what to do else."""
    a = difference.a.mean
    pct = abs(condition.bound) if condition.percent else abs(100 * condition.bound / a) if a else 0.0
    needed = difference.runs_needed(pct)
    if needed is None:
        return "make more runs of each side, each after a restart of the server"
    unit = "%" if condition.percent else "pt" if difference.unit == "%" else difference.unit
    size = f"{abs(condition.bound):g} {unit}".rstrip()
    if needed == MOST_RUNS:
        return f"{MOST_RUNS} runs of each side would not show a change of {size}: measure on a quieter machine"
    count = max(needed, min(difference.a.n, difference.b.n) + 1)
    return f"{count} runs of each side would show a change of {size}"
