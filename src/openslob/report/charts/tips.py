"""Tooltips: what a mark says when it is pointed at. What is not known says so; an unknown interval is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import altair as alt

FORMAT = ",.4~r"
UNKNOWN = "not known"
Drawn = TypeVar("Drawn", alt.Chart, alt.LayerChart)


@dataclass(frozen=True)
class Tip:
    """A line of a tooltip: the text or the number in a field, with the ends of its interval."""

    field: str
    title: str
    low: str = ""
    high: str = ""
    form: str = FORMAT
    unknown: str = UNKNOWN

    @property
    def expression(self) -> str:
        """Vega's expression of the line's text."""
        interval = (
            f"(isValid(datum.{self.low}) ? ' (' + {self._end(self.low)} + ' to ' + {self._end(self.high)} + ')' : '')"
        )
        shown = f"isNumber(datum.{self.field}) ? {self._end(self.field)} : datum.{self.field}"
        known = f"({shown}) + {interval}" if self.low else shown
        return f"isValid(datum.{self.field}) ? ({known}) : '{self.unknown}'"

    def _end(self, field: str) -> str:
        return f"format(datum.{field}, '{self.form}')"


def with_tips(chart: Drawn, *tips: Tip) -> Drawn:
    """Return the chart with these lines as the tooltip of its marks."""
    for tip in tips:
        chart = chart.transform_calculate(**{f"tip_{tip.field}": tip.expression})
    return chart.encode(tooltip=[alt.Tooltip(f"tip_{tip.field}:N", title=tip.title) for tip in tips])
