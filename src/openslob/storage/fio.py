"""fio as a program: found, started in a process group of its own, stopped on demand so that nothing of it stays."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from openslob.errors import SlobError
from openslob.storage import process
from openslob.storage.job import Job, job_file
from openslob.storage.process import do_nothing
from openslob.storage.results import JobResult, parse

# The first fio whose JSON has the buckets of all three latencies, and with which io_uring was well tried.
OLDEST = (3, 20)
_IOLOG = "iolog"


@dataclass(frozen=True)
class Fio:
    """The fio to be run. ``stop`` is set to end what it runs at once; then `run` raises StoppedError."""

    program: Path
    version: tuple[int, ...]
    stop: Event

    @classmethod
    def find(cls, stop: Event) -> Fio:
        """Find fio on PATH. Raises SlobError when it is absent or too old."""
        found = shutil.which("fio")
        if found is None:
            raise SlobError("fio is not installed", "install the package fio (Debian: apt-get install fio)")
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        match = re.match(r"fio-(\d+)\.(\d+)", told)
        wanted = ".".join(map(str, OLDEST))
        if match is None:
            raise SlobError(f"{found} does not say its version ({told!r})", f"install fio {wanted} or newer")
        version = int(match[1]), int(match[2])
        if version < OLDEST:
            raise SlobError(f"{found} is {told}, which is too old", f"install fio {wanted} or newer")
        return cls(Path(found), version, stop)

    def engines(self) -> frozenset[str]:
        """Names of the I/O engines that this fio was built with."""
        told = subprocess.run([self.program, "--enghelp"], capture_output=True, text=True, check=False).stdout
        return frozenset(line.strip() for line in told.splitlines()[1:])

    def run(self, jobs: Sequence[Job], sample: Callable[[], None] = do_nothing) -> tuple[JobResult, ...]:
        """Run ``jobs`` at the same time; their results in the same order. ``sample`` is called many times meanwhile.

        StoppedError when stopped, SlobError with fio's own reason when it fails.
        """
        with tempfile.TemporaryDirectory(prefix="slob-fio-") as folder:
            return parse(self._output(jobs, folder, sample))

    def measure(self, job: Job) -> JobResult:
        """Run one job alone."""
        return self.run([job])[0]

    def offsets(self, job: Job, ios: int) -> Mapping[str, list[int]]:
        """Byte offsets of the first ``ios`` requests of each copy, by file name: really made, and logged by fio.

        Its copies run as sections of their own, since copies would write into one log.
        """
        with tempfile.TemporaryDirectory(prefix="slob-fio-") as folder:
            self._output([_logged(job, ios, number) for number in range(job.copies)], folder)
            texts = [path.read_text(encoding="utf-8") for path in Path(folder).glob(f"{_IOLOG}-*")]
        found: dict[str, list[int]] = defaultdict(list)
        for line in "".join(texts).splitlines():
            name, offset = _request(line)
            if name:
                found[name].append(offset)
        return found

    def _output(self, jobs: Sequence[Job], folder: str, sample: Callable[[], None] = do_nothing) -> str:
        argv = [str(self.program), "--output-format=json+", "-"]
        done = process.run(argv, self.stop, text=job_file(jobs), folder=folder, sample=sample)
        if done.code == 0:
            return done.output
        raise SlobError(f"fio failed: {reason_in(done.errors + done.output) or f'exit code {done.code}'}")


def reason_in(text: str) -> str:
    """The one line of fio's messages that says what went wrong; empty when there is none."""
    for line in text.splitlines():
        if "verify failed" in line or "bad magic header" in line:
            return f"data read are not the data written: {line.strip()}"
        if match := re.search(r"func=(.+?), error=(.+)", line):
            return f"{match[1]}: {match[2].strip()}"
    said = [line.strip() for line in text.partition("{")[0].splitlines() if line.strip()]
    return said[0].removeprefix("fio: ") if said else ""


def _logged(job: Job, ios: int, number: int) -> Job:
    limits = {
        "time_based": "0",
        "runtime": "0",
        "ramp_time": "0",
        "number_ios": str(ios),
        "write_iolog": f"{_IOLOG}-{number}",
    }
    return replace(job, copies=1, name=f"{job.name}-{number}", options={**job.options, **limits})


def _request(line: str) -> tuple[str, int]:
    """File and offset in a line of an iolog; version 2 (before fio 3.31) has no time in front. No file: no request."""
    fields = line.split()
    words = fields[1:] if fields and fields[0].isdecimal() else fields
    if len(words) == 4 and words[1] in ("read", "write"):
        return words[0], int(words[2])
    return "", 0
