"""What a repeated run comes to: the spread between its runs, and the moments from which its figures were others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from openslob.analyze.change_points import LEAST_PART, change_points
from openslob.analyze.outcome import count_noun, fails, holds, holds_or_fails, unknown
from openslob.kinds.repeated.record import RepeatedRecord, RepeatedTime, TimeState
from openslob.metrics.run_metrics import figure_of
from openslob.record.model import Figure, RunRecord, Verdict

# The figures in which changes are looked for, with their units.
WATCHED = {"ops_per_s": "1/s", "p99_us": "µs"}
_FIGURES = ("ops_per_s", "pio_read_per_s", "commits_per_s")
NAMES = ("every_time", "predictable")
# With fewer runs, a change and chance look the same.
LEAST_RUNS = 2 * LEAST_PART


def figures_of(record: RunRecord) -> dict[str, float | None]:
    """Return the figures that runs are compared by; the p99 is that of the most frequent kind of operation."""
    return {**{name: figure_of(record, name) for name in _FIGURES}, "p99_us": figure_of(record, "op_p99_us")}


def with_findings(record: RepeatedRecord) -> RepeatedRecord:
    """Return the record with the spread between its runs, its change points and its verdicts."""
    changes = tuple(change for name in WATCHED for change in _changes(record.done, name))
    summary = {
        name: figure
        for watched, unit in WATCHED.items()
        for name, figure in _spread(record.done, watched, unit).items()
    }
    verdicts = (_every_time(record.times), _predictable(len(_values(record.done, "ops_per_s")), changes))
    return record.model_copy(update={"summary": summary, "changes": changes, "verdicts": verdicts})


def _values(done: Sequence[RepeatedTime], name: str) -> list[tuple[RepeatedTime, float]]:
    return [(each, value) for each in done if (value := each.figures.get(name)) is not None]


def _changes(done: Sequence[RepeatedTime], name: str) -> list[Mapping[str, Any]]:
    known = _values(done, name)
    return [
        {
            "figure": name,
            "number": known[change.at][0].number,
            "due_s": known[change.at][0].due_s,
            "before": change.before,
            "after": change.after,
            "change_pct": change.change_pct,
            "p": change.p,
        }
        for change in change_points([value for _, value in known])
    ]


def _spread(done: Sequence[RepeatedTime], name: str, unit: str) -> dict[str, Figure]:
    values = np.array([value for _, value in _values(done, name)])
    if not len(values):
        return {name: Figure(value=None, unit=unit, why="no run has one" if done else "no run was made")}
    low, median, high = (float(value) for value in np.percentile(values, [5, 50, 95]))
    of_two = len(values) > 1 and float(values.mean())
    spread = 100 * float(values.std(ddof=1)) / float(values.mean()) if of_two else None
    return {
        name: Figure(value=median, unit=unit),
        f"{name}_low": Figure(value=low, unit=unit),
        f"{name}_high": Figure(value=high, unit=unit),
        f"{name}_spread_pct": Figure.of(spread, "%", "it takes two runs"),
    }


def _every_time(times: Sequence[RepeatedTime]) -> Verdict:
    if not times:
        return unknown("every_time", "No run was due yet.")
    bad = [each for each in times if each.state is not TimeState.DONE]
    made = f"{count_noun(len(times) - len(bad), 'run')} of {len(times)} were made"
    if not bad:
        return holds("every_time", f"{made}.")
    first = bad[0]
    return fails(
        "every_time", f"{made}; the first that was not, number {first.number}: {first.why}.", not_made=len(bad)
    )


def _predictable(runs: int, changes: Sequence[Mapping[str, Any]]) -> Verdict:
    if runs < LEAST_RUNS:
        why = f"Not enough data: it needs {LEAST_RUNS} runs whose rate is known, there are {runs}."
        return unknown("predictable", why)
    where = "; ".join(f"{each['figure']} {each['change_pct']:+.1f} % from run {each['number']} on" for each in changes)
    why = f"Change points: {where}." if changes else f"No change point among {runs} runs."
    return holds_or_fails("predictable", not changes, why, changes=len(changes))
