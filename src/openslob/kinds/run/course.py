"""What happens in a run, written to `events.csv` as it comes: those who watch the record learn it before the end."""

from __future__ import annotations

import time
from collections.abc import Iterable

from openslob.kinds.run.progress import Progress, ProgressSink
from openslob.record.raw_csv import Event, RawCsv

WINDOW = "window"


class Course:
    """Shows progress, and writes each new phase, note and error of a run. Only the runner's thread calls it.

    Before `begin` there is no record: what happened until then is written with the time at which it happened.
    """

    def __init__(self, show: ProgressSink, notes: Iterable[str]) -> None:
        self._show = show
        self._written: set[tuple[Event, str]] = set()
        self._lists: list[tuple[Event, Iterable[str]]] = [(Event.NOTE, notes)]
        self._begun: list[tuple[int, str]] = []
        self._phase = ""
        self._raw: RawCsv | None = None

    def __call__(self, progress: Progress) -> None:
        """Show the progress, and write what is new."""
        # Readings of the window are shown after its end as well: `window` alone says when it begins.
        if progress.phase not in (self._phase, WINDOW):
            self._phase = progress.phase
            self._begun.append((time.time_ns(), progress.phase))
        self.write()
        self._show(progress)

    def begin(self, raw: RawCsv) -> None:
        """Write to these files from now on."""
        self._raw = raw
        self.write()

    def include(self, errors: Iterable[str]) -> None:
        """Write the errors of a list that others add to."""
        self._lists.append((Event.ERROR, errors))

    def window(self, begin_ns: int, planned_s: float, clock_offset_ns: int) -> None:
        """Write when the window begins, by the server's clock, its planned length, and what that clock is ahead."""
        if self._raw is None:
            return
        self._raw.event(Event.CLOCK_OFFSET_NS, str(clock_offset_ns))
        self._raw.event(Event.PLANNED_S, f"{planned_s:g}")
        self._raw.event(Event.BEGIN_NS, str(begin_ns))
        self._phase = WINDOW
        self._raw.event(Event.PHASE, self._phase, begin_ns - clock_offset_ns)

    def write(self) -> None:
        """Write the phases, notes and errors that were not written yet."""
        if self._raw is None:
            return
        for wall_ns, phase in self._begun:
            self._raw.event(Event.PHASE, phase, wall_ns)
        self._begun.clear()
        for kind, texts in self._lists:
            for text in texts:
                if (kind, text) not in self._written:
                    self._written.add((kind, text))
                    self._raw.event(kind, text)
