"""Records for tests of store and reports: made up, but every figure follows from a few, so that they agree."""

from __future__ import annotations

import math
import operator
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

from openslob.core.histogram import Histogram, bucket_of
from openslob.core.workload import Workload
from openslob.metrics import METRICS
from openslob.record.model import Figure, Holds, RunRecord, Status, Verdict, WaitRow, WindowRecord

START_NS = 1_772_366_400_000_000_000
NOT_LOCAL = "the server is not known to be on this host"
PLAN = """Aggregate
  ->  Index Scan using cf1_custid on cf1
        Index Cond: ((custid >= $1) AND (custid < $2))
"""
UPDATE_PLAN = """Update on cf1
  ->  Nested Loop
        ->  HashAggregate
              Group Key: keys.custid
              ->  Function Scan on keys
        ->  Index Scan using cf1_custid on cf1
              Index Cond: (custid = keys.custid)
"""


@dataclass(frozen=True)
class Made:
    """What a made-up run is like; times in µs, rates per second."""

    sessions: int = 8
    seconds: float = 15.0
    reads_per_visit: float = 0.937
    read_us: float = 131.0
    visits: float = 57_960.0
    update_pct: int = 0
    cpu: float = 1.02
    busy_pct: float = 51.3
    device_share: float | None = 1.002

    @property
    def ops(self) -> float:
        return self.visits / 64

    @property
    def op_us(self) -> float:
        """Mean of a select; an update takes 1.45 times as long."""
        return self.sessions * 0.997e6 / self.ops / (1 + 0.0045 * self.update_pct)

    def selects(self) -> dict[str, object]:
        count = round(self.ops * self.seconds * (1 - self.update_pct / 100))
        return copy(_latency(count, self.op_us * 0.987, 0.16))

    def updates(self) -> dict[str, object]:
        return copy(_latency(round(self.ops * self.seconds * self.update_pct / 100), self.op_us * 1.42, 0.22))

    def cpu_s(self) -> dict[str, float]:
        """Host CPU of two cores by kind."""
        total, busy = 2 * self.seconds, self.busy_pct / 100
        shares = {"user": busy * 0.62, "system": busy * 0.355, "softirq": busy * 0.0242, "steal": busy * 0.0008}
        idle = {"iowait": (1 - busy) * 0.55, "idle": (1 - busy) * 0.45}
        return {kind: total * share for kind, share in {**shares, **idle}.items()}


_bucket_of = cache(bucket_of)


@cache
def _times_median(points: int, sigma: float) -> tuple[float, ...]:
    """Return so many quantiles of a lognormal distribution of median 1."""
    normal = NormalDist()
    return tuple(math.exp(sigma * normal.inv_cdf((rank + 0.5) / points)) for rank in range(points))


def histogram(count: int, median_us: float, sigma: float) -> Histogram:
    """``count`` latencies of a lognormal distribution, the same ones each time."""
    points = min(count, 2000)
    latencies = [round(median_us * factor) for factor in _times_median(points, sigma)]
    weights = [count // points + (rank < count % points) for rank in range(points)]
    made = Histogram()
    made.add(
        zip(map(_bucket_of, latencies), weights, strict=True),
        sum(map(operator.mul, latencies, weights)),
        max(latencies, default=0),
    )
    return made


@cache
def _latency(count: int, median_us: float, sigma: float) -> dict[str, object]:
    return histogram(count, median_us, sigma).summary()


def without_whole_cpu(record: RunRecord) -> RunRecord:
    """A record of a pluggable database: the CPU of its sessions is known, and that of the whole server is not."""
    names = ("db_cpu_per_s", "background_cpu_per_s", "iops_per_db_cpu", "lio_per_db_cpu")
    gone = {name: Figure(value=None, unit=record.summary[name].unit, why="connect to the root") for name in names}
    return record.model_copy(update={"summary": {**record.summary, **gone}})


def summary(made: Made) -> dict[str, Figure]:
    ops, updates = made.ops, made.ops * made.update_pct / 100
    lio, reads = made.visits * 1.021, made.visits * made.reads_per_visit
    writes, total = updates * 61, ops * made.seconds
    device = None if made.device_share is None else reads * made.device_share
    values = {
        "ops_per_s": ops, "sql_per_s": ops, "lio_per_s": lio, "block_visits_per_s": made.visits,
        "pio_read_per_s": reads, "pio_read_mb_per_s": reads / 128,
        "pio_write_per_s": writes, "pio_write_mb_per_s": writes / 128,
        "redo_mb_per_s": updates * 0.052, "commits_per_s": updates, "log_syncs_per_s": updates * 0.71,
        "block_changes_per_s": updates * 3.4,
        "log_write_per_s": updates * 0.74, "log_sync_latency_us": 963.0,
        "log_wait_pct": 5.8 if updates else 0.0, "full_page_images_per_s": 0.0, "full_page_image_mb_per_s": 0.0,
        "db_time_per_s": made.sessions * 0.997, "db_cpu_per_s": made.cpu,
        "iops_per_db_cpu": reads / made.cpu, "lio_per_db_cpu": lio / made.cpu,
        "foreground_cpu_per_s": made.cpu * 0.8, "background_cpu_per_s": made.cpu * 0.2,
        "iops_per_foreground_cpu": reads / made.cpu / 0.8,
        "dev_read_per_s": device, "dev_read_mb_per_s": device and device / 128,
        "dev_write_per_s": writes + 3.2, "dev_write_mb_per_s": (writes + 3.2) / 128,
        "host_cpu_busy_pct": made.busy_pct, "host_cpu_left_pct": 100 - made.busy_pct,
        "engine_read_latency_us": made.read_us, "start_skew_ms": 1.84, "driver_cpu_pct_of_db": 0.43,
        "elapsed_s": made.seconds, "sessions": made.sessions, "ops_total": round(total),
        "updates_total": round(total * made.update_pct / 100),
        "selects_total": round(total * (1 - made.update_pct / 100)), "scans_total": 0, "conflicts_total": 0,
        "package_power_w": 62.0, "joules_per_million_reads": 62e6 / reads if reads else None,
        "joules_per_million_commits": 62e6 / updates if updates else None,
    }  # fmt: skip
    why = "the device under the data is not known"
    return {
        name: Figure.of(value, METRICS[name].unit, "there was none" if name.startswith("joules") else why)
        for name, value in values.items()
    }


def waits(made: Made, shares: dict[str, tuple[float, float | None]]) -> tuple[WaitRow, ...]:
    db_time_s = made.sessions * 0.997 * made.seconds
    return tuple(
        WaitRow(
            event=event, samples=round(24 * share), share_pct=share, db_time_s=db_time_s * share / 100, mean_us=mean
        )
        for event, (share, mean) in shares.items()
    )


def verdict(name: str, outcome: Holds, why: str) -> Verdict:
    return Verdict(name=name, verdict=outcome, why=why)


def _io(made: Made) -> dict[str, dict[str, float | None]]:
    count = made.visits * made.seconds
    reads = count * made.reads_per_visit
    table = {"hits": count - reads, "read_requests": reads, "read_bytes": reads * 8192}
    return {
        "table": {**table, "write_requests": made.ops * made.update_pct * 0.6, "read_time_us": reads * made.read_us},
        "index": {
            "hits": count * 0.0209, "read_requests": 12.0, "read_bytes": 12 * 8192.0, "write_requests": 0.0,
            "read_time_us": None,
        },
    }  # fmt: skip


@cache
def physical(made: Made | None = None, *, name: str = "pio", record_id: str = "20260301-120000-pio") -> RunRecord:
    """A clean run of physical reads on a managed server with direct I/O."""
    made = made or Made()
    workload = Workload(
        schemas=4, sessions=made.sessions, run_time=15, update_pct=made.update_pct, mode="pio"
    )  # fmt: skip
    latency = {"select": made.selects()} | ({"update": made.updates()} if made.update_pct else {})
    latency["scan"] = Histogram().summary()
    enough = made.ops * made.seconds
    return RunRecord(
        id=record_id,
        name=name,
        status=Status.COMPLETE,
        started_at=f"2026-03-01T{record_id[9:11]}:{record_id[11:13]}:00Z",
        openslob_version="0.1.0",
        spec=workload.to_record(),
        environment={
            "local": True,
            "host": "db1",
            "os": "Debian GNU/Linux 12",
            "kernel": "6.1.0-18-amd64",
            "cpu": {"model": "Example CPU @ 2.80GHz", "online": 2, "governor": None},
            "memory": {"total_bytes": 8_339_111_936, "swap_bytes": 0},
            "virtualization": {"guest": True, "platform": "kvm", "container": None},
            "data": {
                "directory": "/srv/slob/servers/embedded/data",
                "file_system": "ext4",
                "device": {"name": "vda", "bytes": 274_877_906_944, "rotational": False, "scheduler": "none"},
            },
            "host_cpu_s": made.cpu_s(),
        },
        engine={
            "product": "PostgreSQL",
            "version": "18.4",
            "target": "embedded",
            "block_size": 8192,
            "cache_bytes": 64 * 1024**2,
            "data_bytes": 1024**3,
            "direct_io": True,
            "settings": {
                "shared_buffers": "64MB",
                "debug_io_direct": "data",
                "max_wal_size": "1GB",
                "wal_level": "minimal",
                "fsync": "on",
                "synchronous_commit": "on",
                "full_page_writes": "on",
                "track_io_timing": "on",
                "io_method": "sync",
                "jit": "off",
            },
            "plans": {"select": PLAN, "update": UPDATE_PLAN} if made.update_pct else {"select": PLAN},
        },
        window=WindowRecord(
            load_start_ns=START_NS,
            load_end_ns=START_NS + round(made.seconds * 1e9),
            load_seconds=made.seconds,
            counter_seconds=made.seconds * 1.0008,
            difference_pct=0.08,
            warmup_s=2.0,
        ),
        summary=summary(made),
        latency=latency,
        waits=waits(made, {"IO:DataFileRead": (88.4, 131.2), "CPU + run queue": (11.57, None), "Lock:x": (0.03, None)}),
        io_by_object=_io(made),
        verdicts=(
            verdict("mode", Holds.HOLDS, "PIO: 93.7 % of block visits were engine reads, 90 % are enough"),
            verdict("reads_reached_device", Holds.HOLDS, "the device completed 1.002 reads for each engine read"),
            verdict(
                "storage_was_the_limit", Holds.HOLDS,
                "storage was the limit: sessions spent 88 % of DB time waiting for reads and 49 % of the CPU was left",
            ),
            verdict("driver_quiet", Holds.HOLDS, "the driver used 0.43 % of the server's CPU, 2 % are allowed"),
            verdict("steady", Holds.HOLDS, "steady from the first second on"),
            verdict("quiet_machine", Holds.HOLDS, "1.4 % spread between windows, 0.1 % steal time"),
            verdict("percentiles_supported", Holds.HOLDS, f"p99.9 rests on {enough / 1000:.0f} of {enough:,.0f}"),
        ),
        notes=("before the clock: a checkpoint",),
    )  # fmt: skip


def _with_verdicts(record: RunRecord, *changed: Verdict) -> RunRecord:
    by_name = {each.name: each for each in record.verdicts} | {each.name: each for each in changed}
    return record.model_copy(update={"verdicts": tuple(by_name.values())})


def cached() -> RunRecord:
    """A run that finds every block in the buffer cache."""
    made = Made(sessions=2, reads_per_visit=0.0000012, visits=2_650_000, cpu=1.96, busy_pct=99.1, read_us=88)
    record = physical(made, name="lio", record_id="20260301-121000-lio")
    record = record.model_copy(
        update={
            "spec": Workload(schemas=4, sessions=2, run_time=15, mode="lio").to_record(),
            "engine": {**record.engine, "cache_bytes": 2 * 1024**3},
            "latency": {"select": made.selects()},
            "waits": waits(made, {"CPU + run queue": (100, None)}),
        }
    )
    return _with_verdicts(
        record,
        verdict("mode", Holds.HOLDS, "LIO: 99.9999 % of block visits were found in the buffer cache"),
        verdict("reads_reached_device", Holds.UNKNOWN, "the engine read 48 blocks: too few to judge"),
        verdict(
            "storage_was_the_limit", Holds.HOLDS, "CPU was the limit: the server used 98 % of the CPUs it may run on"
        ),
    )


def buffered() -> RunRecord:
    """Updates on a buffered server whose reads the operating system's page cache serves."""
    made = Made(visits=151_000, read_us=9.4, update_pct=10, cpu=1.71, busy_pct=94.2, device_share=0.0003)
    record = physical(made, name="buffered", record_id="20260301-122000-buffered")
    record = record.model_copy(
        update={
            "engine": {
                **record.engine,
                "direct_io": False,
                "settings": {"debug_io_direct": "", "shared_buffers": "64MB"},
            },
            "waits": waits(
                made,
                {"CPU + run queue": (61.2, None), "IO:DataFileRead": (22.1, 9.4), "IO:WalSync": (12.9, 1_412.0)}
                | {f"LWLock:Example{number}": (0.6 - number / 20, None) for number in range(9)},
            ),
        }
    )
    return _with_verdicts(
        record,
        verdict(
            "reads_reached_device", Holds.FAILS,
            "the device completed 0.0003 reads for each engine read: the operating system's page cache served the rest",
        ),
        verdict("storage_was_the_limit", Holds.UNKNOWN, "neither CPU (86 %) nor storage was at its limit"),
        verdict("steady", Holds.FAILS, "operations/s rose by 12 % from the first third of the window to the last"),
    )  # fmt: skip


def interrupted() -> RunRecord:
    """A run that Ctrl-C ended early."""
    record = physical(replace(Made(), seconds=4.31), name="pio", record_id="20260301-123000-pio")
    return _with_verdicts(
        record.model_copy(update={"status": Status.INTERRUPTED, "errors": ("stopped by Ctrl-C after 4.3 of 15 s",)}),
        verdict("steady", Holds.UNKNOWN, "4 s are too short to tell"),
    )


def unpublished() -> RunRecord:
    """A run whose counters span another window than its load."""
    why = "the engine counters span +3.1 % more than the load, and 1 % is allowed: no rate can be told"
    record = physical(name="pio", record_id="20260301-124000-pio")
    figures = {
        name: Figure(value=None, unit=figure.unit, why=why)
        if name.endswith(("_per_s", "_per_db_cpu")) or name.startswith("host_cpu")
        else figure
        for name, figure in record.summary.items()
    }
    assert record.window
    window = record.window.model_copy(update={"counter_seconds": 15.465, "difference_pct": 3.1})
    return _with_verdicts(
        record.model_copy(update={"summary": figures, "window": window}),
        verdict("window", Holds.FAILS, why),
        verdict("mode", Holds.UNKNOWN, why),
        verdict("reads_reached_device", Holds.UNKNOWN, why),
    )


def remote() -> RunRecord:
    """A run against a server on another host, without the rights to see everything."""
    record = physical(name="remote", record_id="20260301-125000-remote")
    hidden = ("dev_", "host_cpu", "db_cpu", "iops_per", "lio_per_db", "driver_cpu")
    figures = {
        name: Figure(value=None, unit=figure.unit, why=NOT_LOCAL) if name.startswith(hidden) else figure
        for name, figure in record.summary.items()
    }
    untimed = "track_io_timing is off"
    figures["engine_read_latency_us"] = Figure(value=None, unit="µs", why=untimed)
    return _with_verdicts(
        record.model_copy(
            update={
                "summary": figures,
                "environment": {
                    "local": False,
                    "host": "driver7",
                    "cpu": {"online": 16},
                    "unknown": {"data.device": NOT_LOCAL},
                },
                "engine": {
                    **record.engine,
                    "target": "postgresql://slob@db9.example.com/bench",
                    "direct_io": None,
                    "unknown": {"direct_io": "the role may not read this setting"},
                },
                "waits": (WaitRow(event="IO:DataFileRead", samples=2400, share_pct=100, db_time_s=119.6),),
                "io_by_object": {},
            }
        ),
        verdict("reads_reached_device", Holds.UNKNOWN, NOT_LOCAL),
        verdict("storage_was_the_limit", Holds.UNKNOWN, NOT_LOCAL),
        verdict("driver_quiet", Holds.UNKNOWN, NOT_LOCAL),
    )


def failed() -> RunRecord:
    """A run that ended before anything was measured."""
    record = physical(name="pio", record_id="20260301-130000-pio")
    return record.model_copy(
        update={
            "status": Status.FAILED, "errors": ("the server ended session 3: terminating connection",), "window": None,
            "summary": {}, "latency": {}, "waits": (), "io_by_object": {}, "verdicts": (), "notes": (),
        }
    )  # fmt: skip
