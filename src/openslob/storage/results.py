"""What fio measured, read from its JSON: counts, rates, latencies and CPU, each with its unit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from openslob.errors import SlobError
from openslob.histogram import Histogram, bucket_of
from openslob.units import MICROS

_NANOS_PER_MICRO = 1000


@dataclass(frozen=True)
class Transfers:
    """The reads, or the writes, of one job: all its copies together.

    ``latency`` is from handing a request over until it is back. fio's buckets are up to 1.6 % wide and ours 1.4 %, so
    a percentile is within 2 %; mean and maximum are exact.
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
    """One job's reads and writes, None for the kind that it had none of, and its CPU seconds.

    CPU is that of fio's own processes in the measured time; what the kernel does for them in interrupts is not in it.
    """

    name: str
    read: Transfers | None
    write: Transfers | None
    cpu_user_s: float
    cpu_system_s: float
    context_switches: int

    @property
    def ios(self) -> int:
        """Requests of both kinds."""
        return sum(each.ios for each in self.transfers)

    @property
    def iops(self) -> float:
        """Requests of both kinds per second."""
        return sum(each.iops for each in self.transfers)

    @property
    def bytes_per_s(self) -> float:
        """Bytes of both kinds per second."""
        return sum(each.bytes_per_s for each in self.transfers)

    @property
    def seconds(self) -> float:
        """The measured time."""
        return max(each.seconds for each in self.transfers)

    @property
    def transfers(self) -> tuple[Transfers, ...]:
        """Reads and writes, as far as there were any."""
        return tuple(each for each in (self.read, self.write) if each)

    @property
    def latency(self) -> Histogram:
        """Latencies of both kinds."""
        both = Histogram()
        for each in self.transfers:
            both.merge(each.latency)
        return both

    @property
    def cpu_us_per_io(self) -> float:
        """Microseconds of CPU that fio's processes used for one request."""
        return (self.cpu_user_s + self.cpu_system_s) * MICROS / self.ios


def parse(text: str) -> tuple[JobResult, ...]:
    """The jobs in fio's JSON, in the order of the job file. SlobError when it is none or a job moved nothing."""
    try:
        # fio may say something before its JSON.
        document = json.loads(text[text.index("{") :])
        return tuple(_job(job) for job in document["jobs"])
    except (ValueError, KeyError, TypeError) as error:
        raise SlobError(f"fio's answer can't be read ({error!r})", "is this fio 3.20 or newer?") from error


def _job(job: Mapping[str, Any]) -> JobResult:
    read, write = _transfers(job["read"]), _transfers(job["write"])
    if read is None and write is None:
        raise SlobError(f"fio's job {job['jobname']} moved no data in its time", "measure for longer")
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
    # fio counts the time in whole milliseconds, which may round to none.
    seconds = max(direction["runtime"], 1) / 1000
    return Transfers(direction["total_ios"], direction["io_bytes"], seconds, _latency(direction["lat_ns"]))


def _latency(figures: Mapping[str, Any]) -> Histogram:
    histogram = Histogram(sum_us=figures["mean"] * figures["N"] / _NANOS_PER_MICRO, max_us=_micros(figures["max"]))
    histogram.add([(bucket_of(int(ns) // _NANOS_PER_MICRO), count) for ns, count in figures["bins"].items()], 0.0, 0.0)
    return histogram


def _micros(ns: float) -> float:
    return ns / _NANOS_PER_MICRO


# With several copies chance has a part; its standard deviation is below 0.5 / sqrt(blocks) of all blocks: 0.5 % of
# 10,000. A generator that comes back to the same blocks misses by far more.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Coverage:
    """``distinct`` of ``blocks`` were visited by ``requests``; ``expected`` is what evenly spread ones would reach."""

    requests: int
    distinct: int
    blocks: int
    expected: float

    @property
    def share(self) -> float:
        """Share of the file's blocks visited, 0 to 1."""
        return self.distinct / self.blocks

    @property
    def holds(self) -> bool:
        """Whether as many distinct blocks were visited as the expectation says, within the tolerance."""
        return self.distinct >= self.expected * (1 - TOLERANCE)


def coverage(offsets: Iterable[int], block_size: int, size: int, copies: int = 1) -> Coverage:
    """Coverage of a file of ``size`` bytes by the requests of ``copies`` processes together at byte ``offsets``."""
    visited = [offset // block_size for offset in offsets]
    blocks, requests = size // block_size, len(visited)
    each = min(requests / copies / blocks, 1.0)
    return Coverage(requests, len(set(visited)), blocks, blocks * (1 - (1 - each) ** copies))
