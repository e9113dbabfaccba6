"""Made-up records that grow second by second, as long as a day, in the files that a run writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from factories.records import START_NS, Made, physical
from openslob.core.histogram import bucket_of, lower_edge_us
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.kinds.sweep.record import SWEEP_FILE, PointState, SweepPoint, SweepRecord
from openslob.record.model import Figure, RunRecord, Status, WindowRecord
from openslob.record.raw_csv import COLUMNS
from openslob.record.store import RECORD_FILE, UNFINISHED
from openslob.record.thinning import STEPS

OFFSET_NS = 250_000_000  # the server's clock is so much ahead of the driver's
OPS = 50  # operations of a session in a second
READS = 12  # physical reads of an operation
CPU_S = 0.004  # server's CPU of a session in a second
WAITS = ("IO:DataFileRead", "CPU", "LWLock:WALWrite", "IO:WalSync")
DAY_S = 86_400
_VARIANTS = 32
_ENGINE = (
    *("logical_reads", "read_requests", "read_bytes", "read_time_us", "write_requests", "write_bytes", "log_bytes"),
    *("log_syncs", "log_sync_time_us", "log_write_requests", "full_page_images", "commits", "rows_read"),
    *("rows_updated", "rows_updated_in_place", "checkpoints", "maintenance", "shared_visits"),
)
_OS = {
    "host.cpu_user_s": 0.8, "host.cpu_nice_s": 0.0, "host.cpu_system_s": 0.4, "host.cpu_idle_s": 2.0,
    "host.cpu_iowait_s": 0.7, "host.cpu_irq_s": 0.0, "host.cpu_softirq_s": 0.1, "host.cpu_steal_s": 0.0,
    "host.cpu0_busy_s": 0.3, "host.cpu1_busy_s": 0.3, "host.cpu2_busy_s": 0.3, "host.cpu3_busy_s": 0.3,
    "device.dev_reads": 4800.0, "device.dev_read_bytes": 39321600.0, "device.dev_read_ms": 900.0,
    "device.dev_writes": 200.0, "device.dev_write_bytes": 1638400.0, "device.dev_write_ms": 50.0,
    "device.dev_busy_ms": 700.0, "server.server_cpu_s": 1.0, "server.server_read_bytes": 39321600.0,
    "server.server_write_bytes": 1638400.0, "sampler.sampler_cpu_s": 0.01, "driver.driver_cpu_s": 0.005,
}  # fmt: skip
_LEVELS = {"host.cores": 4, "memory.page_cache_bytes": 2**30, "memory.memory_available_bytes": 2**31}


def slice_s(sessions: int) -> int:
    """The length of a slice of so many sessions, in whole seconds, and of the interval between readings."""
    return max(1, sessions // 8)


class MadeRun:
    """A run in progress: `grow` adds seconds, `finish` its result. ``at_s`` is how far it is.

    ``length_s`` is the length of a slice, if it is not the usual one. ``connects``: when its load begins is not known
    before it grows.
    """

    def __init__(
        self,
        folder: Path,
        sessions: int = 8,
        planned_s: int = 60,
        name: str = "made",
        length_s: int | None = None,
        connects: bool = False,
    ) -> None:
        self.folder, self.sessions, self.at_s = folder, sessions, 0
        self._length_s = length_s or slice_s(sessions)
        folder.mkdir(parents=True, exist_ok=True)
        made = physical(Made(sessions=sessions, seconds=float(planned_s), update_pct=20))
        self.record = made.model_copy(update={"id": folder.name, "name": name})
        self._save(unfinished(self.record))
        for file, columns in COLUMNS.items():
            (folder / file).write_text(",".join(columns) + "\n")
        wall = START_NS - OFFSET_NS
        happened = [(wall - NANOS, "clock_offset_ns", str(OFFSET_NS)), (wall, "planned_s", str(planned_s))]
        happened += [(wall, "begin_ns", str(START_NS)), (wall, "phase", "window")]
        self._begin = "".join(f"{at},{kind},{text}\n" for at, kind, text in happened)
        self._append("events.csv", f"{wall - 2 * NANOS},phase,connect\n")
        if not connects:
            self._begin_load()

    def _begin_load(self) -> None:
        begin, self._begin = self._begin, ""
        if begin:
            self._append("events.csv", begin)
            self._append("os.csv", self._host(0))

    def grow(self, seconds: int) -> None:
        """Add seconds to all files."""
        self._begin_load()
        span = range(self.at_s, self.at_s + seconds)
        step = max(1, self.sessions // 100)
        self._append("engine.csv", "".join(self._engine(at, step) for at in span if (at + 1) % step == 0))
        self._append("os.csv", "".join(self._host(at + 1) for at in span if (at + 1) % step == 0))
        self._append("waits.csv", "".join(self._waits(at) for at in span))
        self._append("slices.csv", "".join(self._slices(at) for at in span))
        self._append("latency.csv", "".join(_latencies(at % _VARIANTS).replace("@", str(at)) for at in span))
        self.at_s += seconds

    def grow_in_steps(self, seconds: int, step: int) -> None:
        """Add seconds as `ThinnedCsv` writes them: each row is about so many."""
        self.say("step_s", str(step))
        begins = range(self.at_s, self.at_s + seconds, step)
        self._append("engine.csv", "".join(self._engine(at + step - 1, step) for at in begins))
        self._append("os.csv", "".join(self._host(at + step) for at in begins))
        self._append("waits.csv", "".join(self._mean_waits(at, step) for at in begins))
        self._append("slices.csv", "".join(self._joined_slices(at, step) for at in begins))
        self._append(
            "latency.csv", "".join(_many_latencies(at // step % _VARIANTS).replace("@", str(at)) for at in begins)
        )
        self.at_s += seconds

    def _mean_waits(self, at: int, step: int) -> str:
        wall = START_NS - OFFSET_NS + at * NANOS + step * NANOS // 2
        return "".join(f"{wall},{event},{self.sessions / len(WAITS) + at % 3 / 8}\n" for event in WAITS)

    def _joined_slices(self, at: int, step: int) -> str:
        begin, end, ops = START_NS + at * NANOS, START_NS + (at + step) * NANOS, OPS * step
        rest = f"{ops},{ops * 4 // 5},{ops // 5},0,{ops * 51},{ops // 5 * 64},0,{step * 990_000},20000,,0,0,0,0\n"
        return "".join(f"{number},{at},{begin},{end},{begin},{rest}" for number in range(self.sessions))

    def say(self, kind: str, text: str) -> None:
        """Add an event at the present moment."""
        self._append("events.csv", f"{START_NS - OFFSET_NS + self.at_s * NANOS},{kind},{text}\n")

    def finish(self, status: Status = Status.COMPLETE) -> RunRecord:
        """Replace the record by that of a run that ended here."""
        window = WindowRecord(
            load_start_ns=START_NS,
            load_end_ns=START_NS + self.at_s * NANOS,
            load_seconds=self.at_s,
            counter_seconds=self.at_s,
            difference_pct=0.0,
            warmup_s=0.0,
        )
        offset = {"server_clock_offset_s": OFFSET_NS / NANOS}
        self.record = self.record.model_copy(
            update={"window": window, "status": status, "environment": {**self.record.environment, **offset}}
        )
        self._save(self.record)
        return self.record

    def _append(self, name: str, text: str) -> None:
        with (self.folder / name).open("a", encoding="utf-8", newline="") as file:
            file.write(text)

    def _save(self, record: RunRecord) -> None:
        new = self.folder / "new"
        new.write_text(record.model_dump_json())
        new.replace(self.folder / RECORD_FILE)

    def _engine(self, at: int, step: int) -> str:
        begin, end = START_NS + (at + 1 - step) * NANOS, START_NS + (at + 1) * NANOS
        ops = self.sessions * OPS * step
        amounts = dict.fromkeys(_ENGINE, ops) | {
            "read_requests": ops * READS,
            "read_bytes": ops * READS * 8192,
            "read_time_us": ops * READS * (100 + at % 7),
        }
        return "".join(f"{begin},{end},{name},{value}\n" for name, value in amounts.items())

    def _host(self, at: int) -> str:
        wall = START_NS - OFFSET_NS + at * NANOS
        counters = [f"{wall},{name},{100 + rate * at:g}\n" if rate < 1 else f"{wall},{name},{int(rate * at)}\n"
                    for name, rate in _OS.items()]  # fmt: skip
        return "".join([*counters, *(f"{wall},{name},{value}\n" for name, value in _LEVELS.items())])

    def _waits(self, at: int) -> str:
        wall = START_NS - OFFSET_NS + at * NANOS
        parts = []
        for look in range(10):
            events = WAITS[: 1 + (at + look) % len(WAITS)]
            parts += [f"{wall + look * NANOS // 10},{event},{self.sessions // len(events)}\n" for event in events]
        return "".join(parts)

    def _slices(self, at: int) -> str:
        """Return the slices that end in a second: of each session one, or of every few sessions in turn."""
        length = self._length_s
        ended = [number for number in range(self.sessions) if (at + 1) % length == number % length and at + 1 >= length]
        end = START_NS + (at + 1) * NANOS
        ops = OPS * length
        rest = f"{ops},{ops * 4 // 5},{ops // 5},0,{ops * 51},{ops // 5 * 64},0,{length * 990_000},20000,,0,0,0,0\n"
        return "".join(f"{number},{at // length},{end - length * NANOS},{end},{end},{rest}" for number in ended)


@cache
def _latencies(variant: int) -> str:
    random = np.random.default_rng(variant)
    rows = []
    for kind, middle, count in (("select", 8_000, 320), ("update", 11_000, 80)):
        buckets = [bucket_of(int(us)) for us in random.lognormal(np.log(middle), 0.2, count)]
        rows += [f"@,{kind},{lower_edge_us(bucket)},{buckets.count(bucket)}\n" for bucket in sorted(set(buckets))]
    return "".join(rows)


@cache
def _many_latencies(variant: int) -> str:
    """Return those of a step with thousands of operations: some hundred rows of each kind."""
    random = np.random.default_rng(variant)
    rows = []
    for kind, middle in (("select", 800), ("update", 1_400)):
        counts = Counter(bucket_of(int(us)) for us in random.lognormal(np.log(middle), 0.8, 4_000))
        rows += [f"@,{kind},{lower_edge_us(bucket)},{counts[bucket]}\n" for bucket in sorted(counts)]
    return "".join(rows)


def long_run(path: Path, seconds: int, sessions: int = 32) -> MadeRun:
    """Write the record of a run of hours or days, in the steps in which it would be recorded."""
    made = MadeRun(path, sessions, seconds)
    ends = [*(since for since, _ in STEPS[1:]), seconds]
    for (since, step), end in zip(STEPS, ends, strict=True):
        rest = min(end, seconds) - since
        if rest > 0 and step == 1:
            made.grow(rest)
        elif rest > 0:
            made.grow_in_steps(rest, step)
    made.finish()
    return made


def unfinished(record: RunRecord) -> RunRecord:
    """The record as it is while the run goes on."""
    return record.model_copy(
        update={
            "status": Status.FAILED, "errors": (UNFINISHED,), "summary": {}, "latency": {}, "verdicts": (), "waits": (),
            "io_by_object": {}, "window": None, "environment": {}, "notes": (),
        }
    )  # fmt: skip


def run_folder(
    path: Path, seconds: int, sessions: int = 8, finished: bool = True, length_s: int | None = None
) -> MadeRun:
    """Write the record of a run that went on for so many seconds."""
    made = MadeRun(path, sessions, seconds, length_s=length_s)
    for part in _parts(seconds):
        made.grow(part)
    if finished:
        made.finish()
    return made


def run_of_classes(path: Path, seconds: int, timed: int) -> MadeRun:
    """Write a run in progress of readers and writers, of whose latencies the first ``timed`` seconds are there."""
    made = MadeRun(path)
    made.grow(seconds)
    file = path / "latency.csv"
    head, *rows = file.read_text(encoding="utf-8").splitlines()
    known = [row for row in rows if int(row.partition(",")[0]) < timed]
    text = "\n".join([head, *known, ""])
    text = text.replace(",select,", ",readers/select,").replace(",update,", ",writers/update,")
    file.write_text(text, encoding="utf-8")
    return made


def _parts(seconds: int) -> Sequence[int]:
    return [min(3600, seconds - begin) for begin in range(0, seconds, 3600)]


class MadeSweep:
    """A sweep in progress: `begin` begins its next run, which grows, and `end` ends it. Without a lock of its own.

    A run of n sessions makes n times `OPS` times `READS` reads per second. While it goes on, each takes 100 to 106 µs;
    the result says 90 µs and 5 µs more for each session, so that a run in progress lies between the others.
    """

    def __init__(self, folder: Path, points: Sequence[tuple[int, int]], planned_s: int = 10) -> None:
        self.folder, self._planned_s = folder, planned_s
        folder.mkdir(parents=True)
        made = tuple(
            SweepPoint(number=number, values={"sessions": sessions, "update_pct": update_pct})
            for number, (sessions, update_pct) in enumerate(points, 1)
        )
        grid = {"sessions": tuple(dict.fromkeys(each[0] for each in points))}
        grid["update_pct"] = tuple(dict.fromkeys(each[1] for each in points))
        self.record = SweepRecord(
            id=folder.name, name="petals", started_at="2026-03-01T10:11:12Z", openslob_version="1",
            target="embedded", workload=Workload().to_record(), grid=grid, seed=1, points=made,
        )  # fmt: skip
        self._save()

    def begin(self, connects: bool = True) -> MadeRun:
        """Begin the run of the next point. ``connects``: not even when its load begins is known yet."""
        point = self.record.pending[0]
        sessions = int(point.values["sessions"])
        folder = self.folder / f"20260301-1012{point.number:02}-{point.run_name}"
        run = MadeRun(folder, sessions, self._planned_s, point.run_name, connects=connects)
        per_s = sessions * OPS * READS
        summary = {
            **run.record.summary,
            "pio_read_per_s": Figure(value=per_s, unit="1/s"),
            "lio_per_s": Figure(value=per_s / READS, unit="blocks/s"),
            "engine_read_latency_us": Figure(value=90.0 + 5 * sessions, unit="µs"),
        }
        run.record = run.record.model_copy(update={"summary": summary})
        return run

    def end(self, run: MadeRun) -> None:
        """End a run, and with it its point."""
        run.finish()
        point = self.record.pending[0].model_copy(update={"state": PointState.DONE, "run": run.folder.name})
        self.record = self.record.with_point(point)
        self._save()

    def _save(self) -> None:
        new = self.folder / "new"
        new.write_text(self.record.model_dump_json())
        new.replace(self.folder / SWEEP_FILE)
