"""Conditions on a comparison for continuous integration: ``iops_per_db_cpu < -5%`` describes a violation."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum

from openslob.analyze.compare import FIGURES, Comparison, is_figure
from openslob.analyze.statistics import Difference, Outcome
from openslob.errors import UsageError

_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([+-]?\d+(?:\.\d+)?)\s*(%?)\s*")


class GateResult(StrEnum):
    """The result of a condition. UNDECIDED: the means meet it, but the data are not enough to show the difference."""

    VIOLATED = "so"
    OK = "not so"
    UNDECIDED = "can't be told"


@dataclass(frozen=True)
class Condition:
    """A bound on the difference B − A in ``figure``, in % of A if ``percent``, else in the figure's unit."""

    text: str
    figure: str
    operator: str
    bound: float
    percent: bool

    def met_by(self, change: float) -> bool:
        """Return whether a difference of ``change`` meets the condition."""
        if self.operator.startswith("<"):
            return change < self.bound or (change == self.bound and "=" in self.operator)
        return change > self.bound or (change == self.bound and "=" in self.operator)


@dataclass(frozen=True)
class GateCheck:
    """A condition with its result and the reason."""

    condition: Condition
    result: GateResult
    why: str


def parse_condition(text: str) -> Condition:
    """Parse ``FIGURE < BOUND`` with <, <=, > or >=, bound in % of A or in the figure's unit. UsageError otherwise."""
    match = _CONDITION.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not a condition", "such as 'iops_per_db_cpu < -5%' or 'select_p99_us > 200'")
    figure, operator, bound, percent = match.groups()
    if not is_figure(figure):
        near = difflib.get_close_matches(figure, FIGURES, 3)
        raise UsageError(
            f"{figure!r} is not a figure of a comparison",
            f"did you mean {', '.join(near)}?" if near else "docs/figures.md has their names",
        )
    return Condition(text.strip(), figure, operator, float(bound), bool(percent))


def check(condition: Condition, comparison: Comparison) -> GateCheck:
    """Check a condition: it is VIOLATED when the difference meets it and is significant at 95 %.

    It is UNDECIDED when the difference meets it but there are not enough data, or when the figure is missing. A sweep
    is checked by the mean difference over its points, which is in %. UsageError for a bound in the figure's unit there.
    """
    if len(comparison.pairs) > 1 and not condition.percent:
        raise UsageError(f"{condition.text!r} has no %", "the mean difference over several points is in %")
    difference = comparison.answer(condition.figure)
    change = None if difference is None else difference.pct if condition.percent else difference.change
    if difference is None or change is None:
        return GateCheck(condition, GateResult.UNDECIDED, _why_missing(difference, comparison.name_a))
    if not condition.met_by(change):
        return GateCheck(condition, GateResult.OK, "")
    return _check_significance(condition, difference)


def _why_missing(difference: Difference | None, name_a: str) -> str:
    if difference is None:
        return "neither side has this figure"
    return difference.why if difference.change is None else f"it is 0 in {name_a}, so the change has no percentage"


def _check_significance(condition: Condition, difference: Difference) -> GateCheck:
    if difference.outcome is Outcome.NOT_ENOUGH:
        return GateCheck(condition, GateResult.UNDECIDED, difference.why)
    if difference.outcome is Outcome.NOT_SHOWN:
        return GateCheck(condition, GateResult.OK, "the means meet it, but no difference is shown at 95 %")
    return GateCheck(condition, GateResult.VIOLATED, "")
