"""A slice of the work loop by the method's arithmetic: what `slice.sql` would do, in time that really passes.

Which operation does what comes from `openslob.core.method`, not from the SQL, so a run against the stand-in compares
two independent readings of the method. Operations follow one another by the slice's own clock, which never runs ahead
of the real one by more than a few ms; the counters move with it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from factories.oracle.standin_sql import now_us
from factories.oracle.standin_world import (
    BYTES_OF_REDO_PER_OPERATION,
    BYTES_OF_REDO_PER_ROW,
    INDEX_VISITS,
    SessionRow,
    World,
)
from factories.oracle.wire import OracleError
from openslob.core.histogram import bucket_of
from openslob.core.method import OpKind, Phases, is_due, kind_of

AHEAD_US = 5_000
LOOK_EVERY_S = 0.02
SHORTEST_NAP_US = 10_000
READ = ("db file sequential read", "User I/O")
COMMIT = ("log file sync", "Commit")
CPU = ("CPU", "")
SLEEP = ("PL/SQL lock timer", "Idle")
CANCELLED = 1013


@dataclass
class Tally:
    """Latencies of one kind by whole µs."""

    counts: Counter[int] = field(default_factory=Counter)

    def text(self) -> str | None:
        """Return them as the procedure does: `sum max bucket count bucket count …`."""
        if not self.counts:
            return None
        buckets: Counter[int] = Counter()
        for us, count in sorted(self.counts.items()):
            buckets[bucket_of(us)] += count
        total = sum(us * count for us, count in self.counts.items())
        return " ".join(map(str, (total, max(self.counts), *(each for pair in buckets.items() for each in pair))))


class Slice:
    """One call of the procedure, whose text says whether commits wait, and how many columns an update writes."""

    def __init__(
        self,
        world: World,
        session: SessionRow,
        binds: Mapping[str, Any],
        schema: int,
        waits: bool,
        columns: int,
    ) -> None:
        self._world, self._session, self._binds, self._schema = world, session, binds, schema
        self._waits, self._columns = waits, columns
        self._chance = world.chance
        self._phases = Phases(
            int(binds["update_phase"]),
            int(binds["scan_phase"]),
            int(binds["hotspot_phase"]),
            int(binds["hot_schema_phase"]),
            int(binds["think_phase"]),
        )
        self._service = {kind: Tally() for kind in OpKind}
        self._response = {kind: Tally() for kind in OpKind}
        self._late = Tally()
        self._rows: Counter[OpKind] = Counter()
        self._moved: Counter[str] = Counter()
        self._done, self._due_us, self._resume_us = 0, float(binds["due_us"] or 0), int(binds["resume_us"] or 0)
        self._paced = bool(binds["interval_us"])
        with world.lock:
            session.schema, session.scale = schema, int(binds["scale"])
            self._there, self._scanned = world.rows(f"CF1_{schema}"), world.rows(f"CF2_{schema}")
            self._miss = world.miss_share()
        self._at = self._look_at = float(now_us())
        self.cancelled = False

    def run(self) -> dict[str, Any]:
        """Run it; return its OUT binds. OracleError when it is cancelled."""
        self._session.busy, self._session.doing = True, Counter()
        self._moved["user calls"] += 1
        try:
            began = self._begin()
            if began is None:
                began = self._at
            else:
                self._loop()
            self._keep_time(ahead_us=0)
            return self._outputs(began)
        finally:
            self._session.busy = False

    def _begin(self) -> float | None:
        """Wait for the common start; return when it was, None if the slice was told to stop before."""
        start = max(int(self._binds["not_before_us"]), self._resume_us)
        if self._at < start and not self._sleep(start):
            return None
        began = self._at
        if self._paced and self._at < self._due_us and not self._sleep(self._due_us, notes=True):
            return None
        self._look_at = self._at
        return began

    def _loop(self) -> None:
        until, self._most = int(self._binds["until_us"]), int(self._binds["max_ops"])
        while self._done < self._most and self._at < until:
            number = int(self._binds["first_op"]) + self._done
            wake = self._operation(number)
            if not self._keep_time():
                return
            if wake > self._at and self._done < self._most and not self._sleep(min(wake, until), wake == self._due_us):
                return

    def _operation(self, number: int) -> float:
        """Run one; return when the next may begin."""
        binds = self._binds
        kind = kind_of(number, int(binds["update_pct"]), int(binds["scan_pct"]), self._phases)
        begun = self._at
        with self._world.lock:
            self._at += self._work(kind, number)
        us = round(self._at - begun)
        self._service[kind].counts[us] += 1
        self._done += 1
        wake = 0.0
        if self._paced:
            self._response[kind].counts[max(round(self._at - self._due_us), us)] += 1
            mean = float(binds["interval_us"])
            self._due_us += self._chance.expovariate(1 / mean) if int(binds["poisson"]) else mean
            wake = self._due_us
            if self._due_us >= float(binds["due_before_us"]):
                self._most = self._done
        if is_due(number, int(binds["think_every"]), self._phases.think):
            self._resume_us = round(
                self._at + 1e6 * self._chance.uniform(float(binds["think_min"]), float(binds["think_max"]))
            )
            wake = max(wake, self._resume_us)
        return wake

    def _work(self, kind: OpKind, number: int) -> float:
        """Do one operation's work; return how long it took, in µs."""
        binds = self._binds
        hot = is_due(number, int(binds["hot_schema_every"]), self._phases.hot_schema)
        schema = 1 if hot else self._schema
        rows = self._found(kind, number)
        visits = rows if kind is OpKind.SCAN else rows + INDEX_VISITS
        reads = self._misses(rows)
        self._rows[kind] += rows
        self._count(kind, rows, visits, reads, f"CF{2 if kind is OpKind.SCAN else 1}_{schema}")
        cpu = self._world.pace.visit_us * visits + self._chance.expovariate(1 / self._world.pace.op_us)
        waited = self._world.wait(*READ, (self._world.read_us() for _ in range(reads)), self._session)
        if kind is OpKind.UPDATE and self._waits:
            log = self._world.pace.log_us * self._chance.uniform(0.5, 1.5)
            waited += self._world.wait(*COMMIT, [log], self._session)
            self._moved["redo synch writes"] += 1
            self._moved["redo synch time (usec)"] += log
        self._session.doing[CPU] += cpu
        self._moved["cpu"] += cpu
        self._moved["elapsed"] += cpu + waited
        return cpu + waited

    def _found(self, kind: OpKind, number: int) -> int:
        """Return how many rows the statement finds: of those that the tables really have."""
        binds = self._binds
        if kind is OpKind.SCAN:
            return self._scanned
        unit = int(binds["update_work_unit"] if kind is OpKind.UPDATE else binds["work_unit"])
        base, span = 1, int(binds["scale"])
        if is_due(number, int(binds["hotspot_every"]), self._phases.hotspot):
            base, span = int(binds["hotspot_key"]), int(binds["hotspot_keys"])
        first = base + self._chance.randrange(span - unit + 1) if float(binds["zipf_power"]) == 1 else self._skewed()
        return max(0, min(first + unit - 1, self._there) - first + 1)

    def _skewed(self) -> int:
        """Draw a key by a Zipf law, whose constants are the procedure's arguments."""
        low, width, power = (float(self._binds[f"zipf_{name}"]) for name in ("low", "width", "power"))
        at, keys = low + self._chance.random() * width, int(self._binds["zipf_keys"])
        place = math.exp(at) if power == 0 else at**power
        return 1 + min(int(place - 0.5), keys - 1) * int(self._binds["zipf_step"]) % keys

    def _misses(self, visits: int) -> int:
        if not self._miss:
            return 0
        return sum(self._chance.random() < self._miss for _ in range(visits))

    def _count(self, kind: OpKind, rows: int, visits: int, reads: int, table: str) -> None:
        moved, block = self._moved, self._world.block_size
        update = kind is OpKind.UPDATE
        moved["consistent gets"] += visits
        moved["db block gets"] += rows if update else 0
        moved["session logical reads"] += visits + (rows if update else 0)
        for name in ("physical read total IO requests", "physical read IO requests", "physical reads"):
            moved[name] += reads
        for name in ("physical read total bytes", "physical read bytes"):
            moved[name] += reads * block
        moved["physical reads cache"] += reads
        moved["free buffer requested"] += reads
        moved["execute count"] += 1
        self._segment(table, "physical reads", reads)
        self._segment(table, "physical read requests", reads)
        for name, amount in (("executions", 1), ("rows", rows if update else 1), ("gets", visits), ("reads", reads)):
            self._world.sql[self._schema, kind, name] += amount
        if kind is OpKind.SCAN and self._session.direct:
            moved["table scans (direct read)"] += 1
        if kind is OpKind.SELECT:
            moved["table fetch by rowid"] += rows
        elif update:
            self._count_update(rows, reads, table)

    def _count_update(self, rows: int, reads: int, table: str) -> None:
        moved = self._moved
        moved["user commits"] += 1
        moved["db block changes"] += 2 * rows
        moved["redo size"] += BYTES_OF_REDO_PER_OPERATION + rows * self._columns * BYTES_OF_REDO_PER_ROW / 2
        moved["redo entries"] += rows + 1
        moved["redo writes"] += 1
        # A block that had to be read pushes another one out, which an update had made dirty.
        for name in ("physical write total IO requests", "physical write IO requests", "physical writes from cache"):
            moved[name] += reads
        for name in ("physical write total bytes", "physical write bytes"):
            moved[name] += reads * self._world.block_size
        self._segment(table, "physical write requests", reads)

    def _segment(self, table: str, statistic: str, amount: float) -> None:
        if amount:
            self._world.segments[table, statistic] += amount

    def _flush(self) -> None:
        moved, self._moved = self._moved, Counter()
        cpu, elapsed = moved.pop("cpu", 0), moved.pop("elapsed", 0)
        with self._world.lock:
            self._world.count(moved, self._session)
            self._world.stats["cpu us"] += cpu
            self._world.stats["db us"] += elapsed
            self._session.counts["cpu us"] += cpu

    def _keep_time(self, ahead_us: float = AHEAD_US) -> bool:
        """Let real time catch up with the slice's; return whether to go on."""
        while (ahead := self._at - now_us()) > ahead_us:
            self._flush()
            time.sleep(min(ahead / 1e6, LOOK_EVERY_S))
            if self._told_to_stop():
                return False
        if self._at > self._look_at:
            self._look_at = self._at + LOOK_EVERY_S * 1e6
            self._flush()
            return not self._told_to_stop()
        return True

    def _told_to_stop(self) -> bool:
        if self.cancelled:
            raise OracleError(CANCELLED, "user requested cancel of current operation")
        with self._world.lock:
            found = self._world.db.execute("SELECT stop FROM slob_run WHERE id = 'stop'").fetchone()
        return bool(found and found[0])

    def _sleep(self, wake_us: float, notes: bool = False) -> bool:
        """Sleep as the procedure does; return whether to go on. ``notes``: count how late it woke up."""
        self._flush()
        self._session.asleep = True
        try:
            while (left := wake_us - now_us()) > 0:
                if self._told_to_stop():
                    self._at = float(now_us())
                    return False
                time.sleep(min(left / 1e6, LOOK_EVERY_S))
        finally:
            self._session.asleep = False
        self._at = max(wake_us, float(now_us()))
        if notes and self._due_us <= self._at < int(self._binds["until_us"]):
            self._late.counts[max(0, round(self._at - self._due_us))] += 1
        return True

    def _outputs(self, began: float) -> dict[str, Any]:
        self._flush()
        kinds = (OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN)
        found: dict[str, Any] = {
            "random_state": self._binds["random_state"],
            "resume_us": self._resume_us,
            "due_us": round(self._due_us, 3),
            "began_us": round(began),
            "ended_us": round(self._at),
            "ops": self._done,
            "rows_read": self._rows[OpKind.SELECT],
            "rows_updated": self._rows[OpKind.UPDATE],
            "rows_scanned": self._rows[OpKind.SCAN],
            "conflicts": 0,
            "wake_hist": self._late.text(),
        }
        for kind in kinds:
            found[f"{kind}_hist"] = self._service[kind].text()
            found[f"{kind}_response"] = self._response[kind].text()
        return found
