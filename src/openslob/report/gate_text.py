"""Results of conditions in a sentence, the same in every format: the change with its interval, and the limit."""

from __future__ import annotations

from openslob.analyze.ci_gate import Condition, GateCheck, GateResult
from openslob.analyze.statistics import Difference
from openslob.report.format import number


def gate_sentence(check: GateCheck) -> str:
    """Return the change that was checked and its limit, with what the data leave open, or why it is undecided."""
    measured = _measured(check.condition, check.difference) if check.difference else ""
    if check.result is GateResult.UNDECIDED:
        return f"{check.why.rstrip('.')}. Measured: {measured}" if measured else check.why.rstrip(".")
    return f"{measured}; {check.why}" if check.why else measured


def _measured(condition: Condition, difference: Difference) -> str:
    """Return such as ``ops_per_s -51.6 ± 8.0 % (942 → 456), limit -10 %``."""
    change, low, high = difference.pct, difference.pct_low, difference.pct_high
    unit = "%"
    if not condition.percent:
        change, low, high = difference.change, difference.change_low, difference.change_high
        unit = "pt" if difference.unit == "%" else difference.unit
    spread = "" if low is None or high is None else f" ± {(high - low) / 2:,.1f}"
    means = difference.a.mean, difference.b.mean
    values = "" if None in means else f" ({number(means[0])} → {number(means[1])})"
    bound = f"{condition.bound:+g}" if condition.bound else "0"
    return f"{condition.figure} {change:+,.1f}{spread} {unit}{values}, limit {bound} {unit}".rstrip()
