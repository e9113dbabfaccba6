"""The state of one run or observation: what the files of its folder hold so far, as tables over time."""

from __future__ import annotations

import time
from pathlib import Path

from openslob.analyze.run_tables import FILES, RunTables, steps_of, unit_for
from openslob.core.units import NANOS
from openslob.record.arrays import GrowingFile
from openslob.record.model import RunRecord
from openslob.record.raw_csv import Event, Happening


class RunState:
    """What is known of a run from its folder. ``zero_ns`` is the begin of the load by the server's clock."""

    def __init__(self, folder: Path) -> None:
        self._files = {name: GrowingFile(folder / name) for name in FILES}
        self._events = GrowingFile(folder / "events.csv")
        self.events: list[Happening] = []
        self.zero_ns: int | None = None
        self.offset_ns = 0
        # It changes when something was read, or read again, that lies before what was known.
        self.version = 0
        # How often anything was read.
        self.reads = 0
        self._unit_s = 1
        self._clear()

    def _clear(self) -> None:
        self.version += 1
        self.tables = RunTables(self.zero_ns or 0, self.offset_ns, self._unit_s)

    def fact(self, kind: Event) -> str | None:
        """Return the last text of this kind of event."""
        return next((each.text for each in reversed(self.events) if each.kind == kind), None)

    @property
    def read_share(self) -> float:
        """The share of the files that was read: the begin of a long record is read last."""
        left = sum(file.left_bytes for file in self._files.values())
        return 1.0 if not left else 1 - left / (left + sum(file.read_bytes for file in self._files.values()))

    def poll(self, record: RunRecord | None, budget_s: float) -> bool:
        """Read what was appended, then older parts until the time is used up; return whether there was anything."""
        until = time.monotonic() + budget_s
        waiting = [name for name, file in self._files.items() if file.look()]
        changed = self._read_events()
        void = any(file.restarted for file in self._files.values()) or self._find_begin(record)
        if self._too_long(record) and not self.reads:
            self._clear()
        elif void or self.tables.unit_s != self._unit_s:
            self._begin_again()
            return True
        if self.zero_ns is None:
            return changed
        for name in waiting:
            # One part of each file in any case: what is shown together must not lack a file on a busy machine.
            while lines := self._files[name].newer():
                self._take(name, lines, older=False)
                changed = True
                if time.monotonic() >= until:
                    break
        while time.monotonic() < until:
            name, file = max(self._files.items(), key=lambda each: each[1].left_bytes)
            lines = file.older()
            if not lines:
                break
            self._take(name, lines, older=True)
            self.version += 1
            changed = True
        return changed

    def _begin_again(self) -> None:
        self._files = {name: GrowingFile(file.path) for name, file in self._files.items()}
        for file in self._files.values():
            # So that the share that was read is known: none.
            file.look()
        self._clear()

    def _read_events(self) -> bool:
        self._events.look()
        if self._events.restarted:
            self.events.clear()
        changed = self._events.restarted
        while lines := self._events.newer() or self._events.older():
            cells = self._events.cells(lines)
            try:
                at, (kinds, kind), (texts, text) = cells.integers(0), cells.names(1), cells.names(2)
            except ValueError as error:
                raise self._events.damaged(error) from error
            rows = zip(at.tolist(), kind.tolist(), text.tolist(), strict=True)
            found = [Happening(wall_ns, kinds[first], texts[second]) for wall_ns, first, second in rows]
            self.events = sorted([*self.events, *found], key=lambda each: each.wall_ns)
            changed = True
        return changed

    def _find_begin(self, record: RunRecord | None) -> bool:
        """Find out when the load began; return whether that differs from what was taken for it before."""
        zero_ns, offset_ns = self._zero(record)
        known = self.zero_ns is not None
        moved = (zero_ns, offset_ns) != (self.zero_ns, self.offset_ns)
        self.zero_ns, self.offset_ns = zero_ns, offset_ns
        if moved and not known:
            self._clear()
        return moved and known

    def _too_long(self, record: RunRecord | None) -> bool:
        """Find out how long the load is; return whether that takes longer units than what was read so far has."""
        seconds = self.tables.end_s
        if record is not None and record.window is not None:
            seconds = max(seconds, record.window.load_seconds)
        try:
            unit_s = unit_for(seconds, steps_of(self.events))
        except ValueError as error:
            raise self._events.damaged(error) from error
        longer = unit_s > self._unit_s
        self._unit_s = max(unit_s, self._unit_s)
        return longer

    def _zero(self, record: RunRecord | None) -> tuple[int | None, int]:
        try:
            begin, offset = self.fact(Event.BEGIN_NS), self.fact(Event.CLOCK_OFFSET_NS)
            if begin is not None:
                return int(begin), int(offset or 0)
        except ValueError as error:
            raise self._events.damaged(error) from error
        if record is not None and record.window is not None:
            seconds = float(record.environment.get("server_clock_offset_s") or 0)
            return record.window.load_start_ns, round(seconds * NANOS)
        # A record of an older version whose driver was killed: its first reading was just before the begin.
        first = self._files["engine.csv"].first()
        try:
            return (int(first.split(b",")[0]) if first else None), 0
        except ValueError as error:
            raise self._files["engine.csv"].damaged(error) from error

    def _take(self, name: str, lines: bytes, older: bool) -> None:
        file = self._files[name]
        self.reads += 1
        try:
            self.tables.take(name, file.columns, file.cells(lines), older)
        except (ValueError, OverflowError, KeyError) as error:
            raise file.damaged(error) from error
