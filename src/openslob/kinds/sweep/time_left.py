"""How long a sweep still takes: from its plan at first, then from what its points really took.

The load of a point (warm-up and window) is known beforehand. Learned are what comes before it (a server that starts,
data that are loaded) and what comes with every run (checks, connections, a checkpoint, the record).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class PlannedPoint:
    """A point as it was planned, in seconds: its preparation, and its run, of which warm-up and window are a part.

    ``loaded``: data are loaded in the preparation.
    """

    preparation_s: float
    run_s: float
    load_s: float
    loaded: bool = False


class TimeLeft:
    """Measures the points as they are executed, each from its begin to the end of its preparation and of its run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = 0.0
        # What planned preparations took, and what they should have.
        self._preparation_s = self._planned_preparation_s = 0.0
        # What it took to find that nothing is to be prepared, and what runs took beside their load.
        self._looks: list[float] = []
        self._beside_load: list[float] = []

    def begin(self) -> None:
        """Note that a point begins with its preparation."""
        self._begun = self._clock()

    def note_prepared(self, planned: PlannedPoint, reused: bool) -> None:
        """Note that the preparation is done; ``reused``: the data were there already."""
        now = self._clock()
        if not planned.preparation_s or (reused and planned.loaded):
            self._looks.append(now - self._begun)
        else:
            self._preparation_s += now - self._begun
            self._planned_preparation_s += planned.preparation_s
        self._begun = now

    def note_done(self, planned: PlannedPoint) -> None:
        """Note that the run is done. It is not called for a run that failed: nothing can be learned from it."""
        self._beside_load.append(self._clock() - self._begun - planned.load_s)

    def of(self, planned: Iterable[PlannedPoint]) -> float:
        """Return how many seconds these points will take."""
        return sum(self.of_preparation(point) + self._of_run(point) for point in planned)

    def of_preparation(self, point: PlannedPoint) -> float:
        """Return how many seconds the preparation of this point takes."""
        if not point.preparation_s:
            return fmean(self._looks) if self._looks else 0.0
        slower = self._preparation_s / self._planned_preparation_s if self._planned_preparation_s else 1.0
        return point.preparation_s * slower

    def _of_run(self, point: PlannedPoint) -> float:
        return max(0.0, point.load_s + fmean(self._beside_load)) if self._beside_load else point.run_s
