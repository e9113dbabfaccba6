"""Conditions on a comparison, for continuous integration: ``iops_per_db_cpu < -5%`` describes what must not be."""

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
    """Whether what must not be is so. UNTOLD: it looks so, but the data are not enough to show it."""

    VIOLATED = "so"
    OK = "not so"
    UNDECIDED = "can't be told"


@dataclass(frozen=True)
class Condition:
    """The difference of B to A in ``figure``, in % of A or in the figure's unit, is beyond ``bound``."""

    text: str
    figure: str
    operator: str
    bound: float
    percent: bool

    def met_by(self, change: float) -> bool:
        """A difference of so much meets it."""
        if self.operator.startswith("<"):
            return change < self.bound or (change == self.bound and "=" in self.operator)
        return change > self.bound or (change == self.bound and "=" in self.operator)


@dataclass(frozen=True)
class GateCheck:
    """A condition, what became of it, and why."""

    condition: Condition
    result: GateResult
    why: str


def parse_condition(text: str) -> Condition:
    """``FIGURE < BOUND`` with <, <=, > or >=; the bound in % of A, or in the figure's unit. UsageError otherwise."""
    match = _CONDITION.fullmatch(text)
    if not match:
        raise UsageError(f"{text!r} is not a condition", "such as 'iops_per_db_cpu < -5%' or 'select_p99_us > 200'")
    figure, operator, bound, percent = match.groups()
    if not is_figure(figure):
        near = difflib.get_close_matches(figure, FIGURES, 3)
        raise UsageError(
            f"{figure!r} is no figure of a comparison",
            f"did you mean {', '.join(near)}?" if near else "docs/figures.md has their names",
        )
    return Condition(text.strip(), figure, operator, float(bound), bool(percent))


def check(condition: Condition, comparison: Comparison) -> GateCheck:
    """TRIPPED when the difference meets the condition and is shown at 95 %; UNTOLD when a figure is missing too.

    A sweep is judged by its mean difference over all points; that is in %, so that a bound in the figure's unit is a
    UsageError there.
    """
    if len(comparison.pairs) > 1 and not condition.percent:
        raise UsageError(f"{condition.text!r} has no %", "the mean difference over several points is in %")
    found = comparison.answer(condition.figure)
    change = None if found is None else found.pct if condition.percent else found.change
    if found is None or change is None:
        return GateCheck(condition, GateResult.UNDECIDED, _missing(found, comparison.name_a))
    if not condition.met_by(change):
        return GateCheck(condition, GateResult.OK, "")
    return _judged(condition, found)


def _missing(found: Difference | None, name_a: str) -> str:
    if found is None:
        return "neither side has this figure"
    return found.why if found.change is None else f"it is 0 in {name_a}, and nothing is a percentage of 0"


def _judged(condition: Condition, found: Difference) -> GateCheck:
    if found.outcome is Outcome.NOT_ENOUGH:
        return GateCheck(condition, GateResult.UNDECIDED, found.why)
    if found.outcome is Outcome.NOT_SHOWN:
        return GateCheck(condition, GateResult.OK, "it looks so, but no difference is shown at 95 %")
    return GateCheck(condition, GateResult.VIOLATED, "")
