"""fio's results: counts, rates, latencies and CPU from its JSON, and the coverage of random reads.

Coverage compares the number of distinct blocks read with the number that uniformly distributed reads would visit: reads
of a small set of blocks would measure the cache of a storage array.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.units import MICROS

_NANOS_PER_MICRO = 1000


@dataclass(frozen=True)
class Transfers:
    """The reads or the writes of one job, all its copies together.

    ``latency`` is the time from submission to completion of a request. fio's buckets are up to 1.6 % wide and those of
    `Histogram` 1.4 %, so that percentiles are within 2 %; mean and maximum are exact.
    """

    ios: int
    bytes: int
    seconds: float
    latency: Histogram

    @property
    def iops(self) -> float:
        """Requests per second."""
        return self.ios / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds


@dataclass(frozen=True)
class JobResult:
    """Reads, writes and CPU seconds of one job; ``read`` or ``write`` is None if there were none.

    The CPU time is that of fio's processes in the measured time. The kernel's time in interrupts is not included.
    """

    name: str
    read: Transfers | None
    write: Transfers | None
    cpu_user_s: float
    cpu_system_s: float
    context_switches: int

    @property
    def ios(self) -> int:
        """Number of reads and writes."""
        return sum(each.ios for each in self.transfers)

    @property
    def iops(self) -> float:
        """Reads and writes per second."""
        return sum(each.iops for each in self.transfers)

    @property
    def bytes_per_s(self) -> float:
        """Bytes read and written per second."""
        return sum(each.bytes_per_s for each in self.transfers)

    @property
    def seconds(self) -> float:
        """Measured time in seconds."""
        return max(each.seconds for each in self.transfers)

    @property
    def transfers(self) -> tuple[Transfers, ...]:
        """The reads and writes that are not None."""
        return tuple(each for each in (self.read, self.write) if each)

    @property
    def latency(self) -> Histogram:
        """Latencies of reads and writes together."""
        both = Histogram()
        for each in self.transfers:
            both.merge(each.latency)
        return both

    @property
    def cpu_us_per_io(self) -> float:
        """CPU time of fio's processes per request, in µs."""
        return (self.cpu_user_s + self.cpu_system_s) * MICROS / self.ios


def parse(text: str) -> tuple[JobResult, ...]:
    """Return the results in fio's JSON, in the order of the job file.

    Raises SlobError if the text is not fio's JSON or a job moved no data.
    """
    try:
        # fio may print messages before its JSON.
        document = json.loads(text[text.index("{") :])
        return tuple(_job(job) for job in document["jobs"])
    except (ValueError, KeyError, TypeError) as error:
        raise SlobError(f"fio's output can't be read ({error!r})", "check that this is fio 3.20 or newer") from error


def _job(job: Mapping[str, Any]) -> JobResult:
    read, write = _transfers(job["read"]), _transfers(job["write"])
    if read is None and write is None:
        raise SlobError(f"fio's job {job['jobname']} moved no data in the measured time", "measure for longer")
    run_s = job["job_runtime"] / 1000  # of all copies together, as the shares of CPU are
    return JobResult(
        name=job["jobname"],
        read=read,
        write=write,
        cpu_user_s=job["usr_cpu"] / 100 * run_s,
        cpu_system_s=job["sys_cpu"] / 100 * run_s,
        context_switches=job["ctx"],
    )


def _transfers(direction: Mapping[str, Any]) -> Transfers | None:
    if not direction["total_ios"]:
        return None
    # fio reports whole milliseconds, which may be 0.
    seconds = max(direction["runtime"], 1) / 1000
    return Transfers(direction["total_ios"], direction["io_bytes"], seconds, _latency(direction["lat_ns"]))


def _latency(figures: Mapping[str, Any]) -> Histogram:
    histogram = Histogram(sum_us=figures["mean"] * figures["N"] / _NANOS_PER_MICRO, max_us=_micros(figures["max"]))
    histogram.add([(bucket_of(int(ns) // _NANOS_PER_MICRO), count) for ns, count in figures["bins"].items()], 0.0, 0.0)
    return histogram


def _micros(ns: float) -> float:
    return ns / _NANOS_PER_MICRO


# With several copies, the number of distinct blocks is random, with a standard deviation below 0.5 / sqrt(blocks) of
# all blocks: 0.5 % of 10,000. A generator that returns to the same blocks misses the expectation by far more.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Coverage:
    """Distinct blocks visited by ``requests``, of ``blocks`` in the file.

    ``expected`` is the number of distinct blocks that uniformly distributed requests would visit.
    """

    requests: int
    distinct: int
    blocks: int
    expected: float

    @property
    def share(self) -> float:
        """Share of the file's blocks that were visited, 0 to 1."""
        return self.distinct / self.blocks

    @property
    def holds(self) -> bool:
        """Whether as many distinct blocks were visited as expected, within `TOLERANCE`."""
        return self.distinct >= self.expected * (1 - TOLERANCE)


def coverage(offsets: Iterable[int], block_size: int, size: int, copies: int = 1) -> Coverage:
    """Return the coverage of a file of ``size`` bytes by requests at byte ``offsets``, made by ``copies`` processes.

    Each process visits every block once before it visits any block again, in a random order: after n requests by each
    of c processes, a block is unvisited by all of them with probability (1 - n / blocks) ** c.
    """
    visited = [offset // block_size for offset in offsets]
    blocks, requests = size // block_size, len(visited)
    each = min(requests / copies / blocks, 1.0)
    return Coverage(requests, len(set(visited)), blocks, blocks * (1 - (1 - each) ** copies))
