"""The tale of the tape: two sides beside each other in the few figures that tell platforms apart."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.compare import Comparison, Pair
from openslob.report.comparison import change_cells, figure_label, mismatch_lines, value_cells
from openslob.report.format import table, wrapped
from openslob.report.record_view import REACHED_DEVICE

_FIGURES = (
    "pio_read_per_s", "lio_per_s", "block_visits_per_s", "db_cpu_per_s", "iops_per_db_cpu", "lio_per_db_cpu",
    "host_cpu_left_pct", "engine_read_latency_us", "select_mean_us", "select_p99_us", "update_mean_us",
)  # fmt: skip


def side_by_side_lines(comparison: Comparison, more_figures: Sequence[str] = ()) -> list[str]:
    """A table for each point that both sides have; ``more_figures`` stand before those that are always shown."""
    head = f"{comparison.name_b} against {comparison.name_a}; differences are of means, with their 95 % intervals."
    lines = wrapped(head[0].upper() + head[1:])
    if comparison.mismatches:
        lines += ["Not the same in both, too:", *mismatch_lines(comparison.mismatches)]
    for pair in comparison.pairs:
        columns = (pair.label, comparison.name_a, comparison.name_b, "difference", "")
        lines += ["", *table(columns, side_by_side_rows(pair, more_figures), ends_in_text=True)]
    return lines


def side_by_side_rows(pair: Pair, more_figures: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The figure, both means, the difference with its interval and what it shows, for every figure that is there."""
    physical = all(REACHED_DEVICE in point.held for point in (pair.a, pair.b))
    known = {name: pair.differences[name] for name in (*more_figures, *_FIGURES) if name in pair.differences}
    return [
        (figure_label(name, physical), *value_cells(one), *change_cells(one)[:2])
        for name, one in known.items()
        if one.a.mean or one.b.mean
    ]
