"""The program fio: finding it, running jobs, and logging the offsets of requests."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError
from openslob.kinds.storage import process
from openslob.kinds.storage.job import Job, job_file
from openslob.kinds.storage.process import do_nothing
from openslob.kinds.storage.results import JobResult, parse

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
            return parse(self._output(jobs, folder, sample))

    def measure(self, job: Job) -> JobResult:
        """Run a single job and return its result."""
        return self.run([job])[0]

    def offsets(self, job: Job, ios: int) -> Mapping[str, list[int]]:
        """Run the first ``ios`` requests of each copy and return their logged byte offsets by file name.

        Each copy runs as a separate job, because copies of one job would write to the same log.
        """
        with scratch_folder("fio") as folder:
            self._output([_logged(job, ios, number) for number in range(job.copies)], folder)
            texts = [path.read_text(encoding="utf-8") for path in folder.glob(f"{_IOLOG}-*")]
        offsets: dict[str, list[int]] = defaultdict(list)
        for line in "".join(texts).splitlines():
            name, offset = _request(line)
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
    """Return file and offset of a line of an iolog, or an empty file name if it is not a request.

    Logs of version 3 (from fio 3.31) begin each line with a time; version 2 does not.
    """
    fields = line.split()
    words = fields[1:] if fields and fields[0].isdecimal() else fields
    if len(words) == 4 and words[1] in ("read", "write"):
        return words[0], int(words[2])
    return "", 0
