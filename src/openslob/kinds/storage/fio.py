"""The program fio: the jobs that it runs, running them, and their results.

A job is one load. Results are counts, rates, latencies and CPU from fio's JSON, and the coverage of random reads:
it compares the number of distinct blocks read with the number that uniformly distributed reads would visit, since reads
of a small set of blocks would measure the cache of a storage array.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import Any

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.units import MICROS
from openslob.kinds.storage import process
from openslob.kinds.storage.process import do_nothing

# fio separates file names by colons.
_SEPARATOR = ":"


class IoEngine(StrEnum):
    """How requests reach the kernel: by one of two asynchronous interfaces, or synchronously."""

    IO_URING = "io_uring"
    LIBAIO = "libaio"
    PSYNC = "psync"


class Pattern(StrEnum):
    """Access pattern. In mixed patterns, ``Job.read_pct`` percent of the requests are reads."""

    RANDOM_READ = "randread"
    RANDOM_WRITE = "randwrite"
    RANDOM_MIXED = "randrw"
    SEQUENTIAL_READ = "read"
    SEQUENTIAL_WRITE = "write"
    SEQUENTIAL_MIXED = "rw"


@dataclass(frozen=True)
class Job:
    """``copies`` processes that each keep ``depth`` requests of ``block_size`` bytes in flight for ``seconds``.

    The first ``size`` bytes of each file are used. Random requests visit every block once before they visit any block
    again. Equal seeds give equal sequences of offsets. ``ramp_s`` is a ramp time in seconds that is not measured.
    ``synced``: fdatasync follows each write, and is what is counted and timed. Each copy then has a part of the file.
    ``cpus`` is a list such as ``0-1,4``. ``verify`` checks the checksums of files made by `TestFile`; an asynchronous
    job that verifies ends after one pass. ``options`` are fio options that override all others.
    """

    files: tuple[Path, ...]
    size: int
    block_size: int
    engine: IoEngine
    seconds: float
    name: str = "job"
    pattern: Pattern = Pattern.RANDOM_READ
    depth: int = 1
    copies: int = 1
    read_pct: int = 100
    ramp_s: float = 0.0
    direct: bool = True
    seed: int = 1
    cpus: str | None = None
    verify: bool = False
    synced: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_flight(self) -> int:
        """Highest number of requests in flight."""
        return self.depth * self.copies

    def section(self) -> str:
        """Return the section of a job file. fio reports each section separately, its copies together."""
        own = {**(_VERIFY if self.verify else {}), **(self._synced() if self.synced else {})}
        lines = {**self._load(), **_ALWAYS, **own, **self.options}
        return "\n".join([f"[{self.name}]", *(f"{name}={value}" for name, value in lines.items())]) + "\n"

    def _synced(self) -> dict[str, str]:
        part = self.size // self.copies // self.block_size * self.block_size
        return {"fdatasync": "1", "size": str(part), "offset_increment": str(part)}

    def _load(self) -> dict[str, str]:
        return {
            "filename": _SEPARATOR.join(str(file).replace(_SEPARATOR, rf"\{_SEPARATOR}") for file in self.files),
            "size": str(self.size * len(self.files)),
            "bs": str(self.block_size),
            "rw": self.pattern.value,
            **({"rwmixread": str(self.read_pct)} if self.pattern in _MIXED else {}),
            "ioengine": self.engine.value,
            "iodepth": str(self.depth),
            "numjobs": str(self.copies),
            "direct": str(int(self.direct)),
            "time_based": "1",
            "runtime": f"{round(self.seconds * 1000)}ms",
            "ramp_time": f"{round(self.ramp_s * 1000)}ms",
            "randseed": str(self.seed),
            **({"cpus_allowed": self.cpus} if self.cpus else {}),
        }


_MIXED = (Pattern.RANDOM_MIXED, Pattern.SEQUENTIAL_MIXED)
_ALWAYS = {
    # A missing or too short file is an error: fio must not create or extend it.
    "allow_file_create": "0",
    "fallocate": "none",
    "group_reporting": "1",
    "new_group": "1",
    # Percentiles of the total latency; fio's default leaves out the submission.
    "lat_percentiles": "1",
    "clat_percentiles": "0",
    # Written data must not be compressible, or storage that compresses or deduplicates would look faster.
    "refill_buffers": "1",
    "verify_state_save": "0",
}
# Checksums are stored in the data, in a header at every 4 KiB, so that reads of any block size can be verified.
VERIFY_INTERVAL = 4096
_VERIFY = {"verify": "crc32c", "verify_interval": str(VERIFY_INTERVAL), "verify_fatal": "1"}


def job_file(jobs: Sequence[Job]) -> str:
    """Return the text of a job file that runs ``jobs`` at the same time."""
    return "\n".join(job.section() for job in jobs)


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

    ``synced``: what is counted as writes, and timed, are the syncs that followed them.
    The CPU time is that of fio's processes in the measured time. The kernel's time in interrupts is not included.
    """

    name: str
    read: Transfers | None
    write: Transfers | None
    cpu_user_s: float
    cpu_system_s: float
    context_switches: int
    synced: bool = False

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
    latency = (job.get("sync") or {}).get("lat_ns", {})
    synced = bool(write and latency.get("N"))
    if write and synced:
        # Of writes that are synced, what is waited for is the sync: the write only reaches the page cache.
        write = Transfers(latency["N"], write.bytes, write.seconds, _latency(latency))
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
        synced=synced,
    )


def _transfers(direction: Mapping[str, Any]) -> Transfers | None:
    if not direction["total_ios"]:
        return None
    # fio reports whole milliseconds, which may be 0.
    seconds = max(direction["runtime"], 1) / 1000
    return Transfers(direction["total_ios"], direction["io_bytes"], seconds, _latency(direction["lat_ns"]))


def _latency(figures: Mapping[str, Any]) -> Histogram:
    histogram = Histogram(
        sum_us=figures["mean"] * figures["N"] / _NANOS_PER_MICRO, max_us=figures["max"] / _NANOS_PER_MICRO
    )
    histogram.add([(bucket_of(int(ns) // _NANOS_PER_MICRO), count) for ns, count in figures["bins"].items()], 0.0, 0.0)
    return histogram


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


# The oldest fio whose JSON has the histograms of all three latencies, and whose io_uring engine is mature.
OLDEST = (3, 20)
_IOLOG = "iolog"


@dataclass(frozen=True)
class Fio:
    """An installed fio. Setting ``stop`` ends a running job; `run` then raises MeasurementStoppedError."""

    program: Path
    version: tuple[int, ...]
    stop: Event

    @classmethod
    def find(cls, stop: Event) -> Fio:
        """Find fio on PATH. Raises SlobError when it is absent or too old."""
        found = shutil.which("fio")
        if found is None:
            raise SlobError("fio is not installed", "install the package fio (Debian: apt-get install fio)")
        version_text = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        match = re.match(r"fio-(\d+)\.(\d+)", version_text)
        remedy = f"install fio {'.'.join(map(str, OLDEST))} or newer"
        if match is None:
            raise SlobError(f"{found} does not report its version ({version_text!r})", remedy)
        version = int(match[1]), int(match[2])
        if version < OLDEST:
            raise SlobError(f"{found} is {version_text}, which is too old", remedy)
        return cls(Path(found), version, stop)

    def engines(self) -> frozenset[str]:
        """Return the names of the I/O engines that this fio was built with."""
        output = subprocess.run([self.program, "--enghelp"], capture_output=True, text=True, check=False).stdout
        return frozenset(line.strip() for line in output.splitlines()[1:])

    def run(self, jobs: Sequence[Job], sample: Callable[[], None] = do_nothing) -> tuple[JobResult, ...]:
        """Run ``jobs`` at the same time; return their results in the same order.

        ``sample`` is called at short intervals meanwhile. Raises MeasurementStoppedError when stopped, and SlobError
        with fio's message if fio fails.
        """
        with scratch_folder("fio") as folder:
            results = parse(self._output(jobs, folder, sample))
        if any(job.synced and not result.synced for job, result in zip(jobs, results, strict=True)):
            raise SlobError(
                f"fio {'.'.join(map(str, self.version))} does not time syncs", "leave them out: --reads-only"
            )
        return results

    def measure(self, job: Job) -> JobResult:
        """Run a single job and return its result."""
        return self.run([job])[0]

    def offsets(self, job: Job, ios: int) -> Mapping[str, list[int]]:
        """Run the first ``ios`` requests of each copy and return their logged byte offsets by file name.

        Each copy runs as a separate job, because copies of one job would write to the same log.
        """
        with scratch_folder("fio") as folder:
            self._output([_log_only(job, ios, number) for number in range(job.copies)], folder)
            texts = [path.read_text(encoding="utf-8") for path in folder.glob(f"{_IOLOG}-*")]
        offsets: dict[str, list[int]] = defaultdict(list)
        for line in "".join(texts).splitlines():
            name, offset = parse_request(line)
            if name:
                offsets[name].append(offset)
        return offsets

    def _output(self, jobs: Sequence[Job], folder: Path, sample: Callable[[], None] = do_nothing) -> str:
        argv = [str(self.program), "--output-format=json+", "-"]
        done = process.run(argv, self.stop, text=job_file(jobs), folder=folder, sample=sample)
        if done.code == 0:
            return done.output
        raise SlobError(f"fio failed: {reason_in(done.errors + done.output) or done.how_it_ended}")


def reason_in(text: str) -> str:
    """Return the line of fio's messages that gives the error; empty if there is none."""
    for line in text.splitlines():
        if "verify failed" in line or "bad magic header" in line:
            return f"the data read are not the data written: {line.strip()}"
        if match := re.search(r"func=(.+?), error=(.+)", line):
            return f"{match[1]}: {match[2].strip()}"
    lines = [line.strip() for line in text.partition("{")[0].splitlines() if line.strip()]
    return lines[0].removeprefix("fio: ") if lines else ""


def _log_only(job: Job, ios: int, number: int) -> Job:
    limits = {
        "time_based": "0",
        "runtime": "0",
        "ramp_time": "0",
        "number_ios": str(ios),
        "write_iolog": f"{_IOLOG}-{number}",
    }
    return replace(job, copies=1, name=f"{job.name}-{number}", options={**job.options, **limits})


def parse_request(line: str) -> tuple[str, int]:
    """Return file and offset of a line of an iolog, or an empty file name if it is not a request.

    Logs of version 3 (from fio 3.31) begin each line with a time; version 2 does not.
    """
    fields = line.split()
    words = fields[1:] if fields and fields[0].isdecimal() else fields
    if len(words) == 4 and words[1] in ("read", "write"):
        return words[0], int(words[2])
    return "", 0
