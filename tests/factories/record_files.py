"""The raw files of a made-up run of six seconds, in which second 3 is a stall."""

from __future__ import annotations

from pathlib import Path

from factories.records import START_NS, Made, physical
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.measurement import EngineDelta
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.record.model import RunRecord
from openslob.record.raw_csv import RawCsv

SECONDS = 6
STALL = 3
OFFSET_S = 0.25  # the server's clock is so much ahead of the driver's
CORES = 2


def record() -> RunRecord:
    """The run that the files belong to."""
    made = physical(Made(seconds=float(SECONDS), update_pct=20))
    return made.model_copy(update={"environment": {**made.environment, "server_clock_offset_s": OFFSET_S}})


def ops_in(second: int) -> int:
    """Selects that ended in a second."""
    return 12 if second == STALL else 1200


def write(folder: Path) -> None:
    """Write them as a run does."""
    with RawCsv(folder) as raw:
        for second in range(SECONDS):
            begin, end = START_NS + second * NANOS, START_NS + (second + 1) * NANOS
            raw.engine(begin, end, _engine(second).amounts())
            for kind, us in ((OpKind.SELECT, 8_000), (OpKind.UPDATE, 11_000)):
                raw.latency(second, kind, _latencies(ops_in(second) // (1 if kind is OpKind.SELECT else 5), us))
        # The closing reading came at once: it replaces the last interval.
        raw.engine(begin, end + NANOS // 20, _engine(SECONDS - 1).amounts())
        for look in range(SECONDS * 10):
            wall = START_NS - round(OFFSET_S * NANOS) + look * NANOS // 10
            stalled = look // 10 == STALL
            raw.waits(wall, {"Lock:tuple": 8} if stalled else {"IO:DataFileRead": 6, "CPU": 2})
        for second in range(SECONDS + 1):
            raw.os(START_NS - round(OFFSET_S * NANOS) + second * NANOS, _host(second))


def _engine(second: int) -> EngineDelta:
    reads = ops_in(second) * 60.0
    return EngineDelta(logical_reads=reads + 900, read_requests=reads, read_bytes=reads * 8192, log_bytes=3.0 * 2**20)


def _latencies(count: int, us: int) -> Histogram:
    made = Histogram()
    for number in range(count):
        value = us + 37 * (number % 100)
        made.add({bucket_of(value): 1}, value, value)
    return made


def _host(second: int) -> dict[str, float]:
    # The device's counters were reset before second 5.
    reads = 70_000.0 * second if second < 5 else 100.0
    return {
        "host.cpu_user_s": 0.5 * second, "host.cpu_nice_s": 0.0, "host.cpu_system_s": 0.3 * second,
        "host.cpu_irq_s": 0.0, "host.cpu_softirq_s": 0.1 * second, "host.cpu_steal_s": 0.0,
        "host.cpu_idle_s": 0.9 * second, "host.cpu_iowait_s": 0.2 * second, "host.cores": CORES,
        "server.server_cpu_s": 0.7 * second, "device.dev_reads": reads, "device.dev_writes": 10.0 * second,
    }  # fmt: skip
