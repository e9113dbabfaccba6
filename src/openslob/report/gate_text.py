"""Results of conditions in a sentence, the same in every format: the change with its interval, and the limit."""

from __future__ import annotations

from openslob.analyze.ci_gate import Condition, GateCheck, GateResult
from openslob.analyze.differences import Difference
from openslob.report.format import number

# Smaller changes have no digit left with one decimal; changes that are smaller still are those of rounding.
_SMALL, _NOTHING = 0.05, 1e-9


def gate_sentence(check: GateCheck) -> str:
    """Return the change that was checked and its limit, with what the data leave open, or why it is undecided."""
    measured = _measured(check.condition, check.difference) if check.difference else ""
    if check.result is GateResult.UNDECIDED:
        return f"{check.why.rstrip('.')}. Measured: {measured}" if measured else check.why.rstrip(".")
    return f"{measured}; {check.why}" if check.why else measured


def _digits(value: float, sign: str = "") -> str:
    """Return a change with one decimal, or with more where it is small, such as a cost."""
    if abs(value) < _NOTHING:
        value = 0.0
    if abs(value) >= _SMALL or not value:
        return f"{value:{sign},.1f}"
    return f"{'-' if value < 0 else sign}{number(abs(value))}"


def _measured(condition: Condition, difference: Difference) -> str:
    """Return such as ``ops_per_s -51.6 ± 8.0 % (942 → 456), limit -10 %``."""
    change, low, high = difference.pct, difference.pct_low, difference.pct_high
    unit = "%"
    if not condition.percent:
        change, low, high = difference.change, difference.change_low, difference.change_high
        unit = "pt" if difference.unit == "%" else difference.unit
    spread = "" if low is None or high is None else f" ± {_digits((high - low) / 2)}"
    means = difference.a.mean, difference.b.mean
    values = "" if None in means else f" ({number(means[0])} → {number(means[1])})"
    bound = f"{condition.bound:+g}" if condition.bound else "0"
    return f"{condition.figure} {_digits(change or 0.0, '+')}{spread} {unit}{values}, limit {bound} {unit}".rstrip()
