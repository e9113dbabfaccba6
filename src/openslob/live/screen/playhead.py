"""Which moment of a record is shown: its end as it grows, or an earlier one that stands still or is played."""

from __future__ import annotations

from dataclasses import dataclass, replace

from openslob.live.screen.plots import Span

SPEEDS = (1, 2, 5, 10, 30, 60, 300)
# The lengths of time that can be shown, in seconds; None: all of it.
ZOOMS = (None, 3600.0, 900.0, 300.0, 60.0)
# One step forwards or backwards is this part of the time that is shown.
_STEP = 1 / 20


@dataclass(frozen=True)
class Playhead:
    """``at_s`` is the moment that is shown, None: the end of what there is. ``playing``: it moves with the clock."""

    at_s: float | None = None
    playing: bool = False
    speed: int = 1
    zoom: int = 0

    def move(self, passed_s: float, end_s: float) -> Playhead:
        """Return the state after so many seconds of the user's time; at the end, playing ends."""
        if self.at_s is None or not self.playing:
            return self
        at_s = self.at_s + passed_s * self.speed
        return replace(self, at_s=None, playing=False) if at_s >= end_s else replace(self, at_s=at_s)

    def toggle(self, end_s: float, live: bool) -> Playhead:
        """Hold the moment, or go on from it; a finished record whose end is shown plays from its begin."""
        if self.at_s is None:
            return replace(self, at_s=end_s, playing=False) if live else replace(self, at_s=0.0, playing=True)
        return replace(self, playing=not self.playing)

    def step(self, direction: int, end_s: float) -> Playhead:
        """Go a step back or forth; beyond the end, the end is shown as it grows."""
        at_s = (end_s if self.at_s is None else self.at_s) + direction * max(1.0, self.length_s(end_s) * _STEP)
        if at_s >= end_s:
            return replace(self, at_s=None, playing=False)
        return replace(self, at_s=max(0.0, at_s))

    def faster(self, direction: int) -> Playhead:
        """Take the next speed."""
        return replace(self, speed=SPEEDS[min(max(SPEEDS.index(self.speed) + direction, 0), len(SPEEDS) - 1)])

    def zoom_in(self, end_s: float) -> Playhead:
        """Take the next shorter time to be shown, or all again after the shortest."""
        shorter = [at for at in range(self.zoom + 1, len(ZOOMS)) if (ZOOMS[at] or end_s) < end_s]
        return replace(self, zoom=shorter[0] if shorter else 0)

    def length_s(self, end_s: float) -> float:
        """Return how much time is shown."""
        return min(ZOOMS[self.zoom] or end_s, end_s)

    def span(self, elapsed_s: float, planned_s: float | None) -> Span:
        """Return the time that plots of a run show: all that is planned, or the last while of what there is."""
        shown = ZOOMS[self.zoom]
        if shown is not None and shown < elapsed_s:
            return Span(elapsed_s - shown, elapsed_s)
        return Span(0.0, max(elapsed_s, planned_s or _room_for(elapsed_s)))


def _room_for(elapsed_s: float) -> float:
    """Return the length of the axis of a run without a planned end: it doubles, so that it is seldom drawn again."""
    room = 60.0
    while room < elapsed_s:
        room *= 2
    return room
