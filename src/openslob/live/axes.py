"""The axes of a sweep's petals, which the screen and the page draw."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.curves.series import CACHED, MIN_READ_SHARE, PHYSICAL, Axes
from openslob.kinds.view import PetalPoint

DONE = "done"


def axes_for(points: Sequence[PetalPoint]) -> Axes:
    """Return the axes of the report: those of physical reads, unless most blocks come from the cache."""
    reads, visits = (
        sum(figure.value or 0.0 for each in points if each.state == DONE and (figure := each.figures.get(name)))
        for name in (PHYSICAL.throughput, CACHED.throughput)
    )
    return CACHED if reads < MIN_READ_SHARE * visits else PHYSICAL
