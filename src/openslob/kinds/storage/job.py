"""A fio job: one load, and its section of a fio job file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

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
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_flight(self) -> int:
        """Highest number of requests in flight."""
        return self.depth * self.copies

    def section(self) -> str:
        """Return the section of a job file. fio reports each section separately, its copies together."""
        lines = {**self._load(), **_ALWAYS, **(_VERIFY if self.verify else {}), **self.options}
        return "\n".join([f"[{self.name}]", *(f"{name}={value}" for name, value in lines.items())]) + "\n"

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
