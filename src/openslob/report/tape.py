"""The tale of the tape: two sides beside each other in the few figures that tell platforms apart."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.compare import Comparison, Pair
from openslob.analyze.difference import Difference
from openslob.report.comparison import change_cells, figure_label, value_cells
from openslob.report.format import table, wrapped
from openslob.report.reading import REACHED_DEVICE

_FIGURES = (
    "pio_read_per_s", "lio_per_s", "block_visits_per_s", "db_cpu_per_s", "iops_per_db_cpu", "lio_per_db_cpu", "host_cpu_left_pct",
    "engine_read_latency_us", "select_mean_us", "select_p99_us", "update_mean_us",
)  # fmt: skip


def tape_lines(comparison: Comparison, more_figures: Sequence[str] = ()) -> list[str]:
    """A table for each point that both sides have; ``more_figures`` stand before those that are always shown."""
    head = f"{comparison.name_b} against {comparison.name_a}; differences are of means, with their 95 % intervals."
    lines = wrapped(head[0].upper() + head[1:])
    figures = dict.fromkeys((*more_figures, *_FIGURES))
    for pair in comparison.pairs:
        rows = [(name, one) for name in figures if (one := pair.differences.get(name)) and not _absent(one)]
        lines += ["", *_table(comparison, pair, rows)]
    return lines


def _table(comparison: Comparison, pair: Pair, rows: Sequence[tuple[str, Difference]]) -> list[str]:
    physical = all(REACHED_DEVICE in point.held for point in (pair.a, pair.b))
    head = (pair.label, comparison.name_a, comparison.name_b, "difference", "")
    cells = [(figure_label(name, physical), *value_cells(one), *change_cells(one)[:2]) for name, one in rows]
    return table(head, cells, ends_in_text=True)


def _absent(one: Difference) -> bool:
    """Neither side has any of it."""
    return not one.a.mean and not one.b.mean
