"""What a run did, counted by the injecting side itself: nothing of it comes from `slob` or from the engine."""

from __future__ import annotations

import csv
import mmap
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("slow_io.c")
# The numbers of slow_io.c, in its order: what is asked for, and what was counted.
ASKED = ("read_delay_ns", "sync_delay_ns", "spread")
COUNTED = (
    "reads", "read_bytes", "read_ns", "read_delayed_ns", "writes", "write_bytes", "syncs", "sync_ns", "sync_delayed_ns"
)  # fmt: skip
_OF_DEVICE = {"dev_reads": 3, "dev_read_sectors": 5, "dev_read_ms": 6, "dev_writes": 7, "dev_write_sectors": 9}
_FLUSHES = 18
_OF_HOST = ("server_cpu_s", "beside_cpu_s", "host_cpu_s")
COLUMNS = ("at", *COUNTED, *_OF_DEVICE, *_OF_HOST, "dev_flushes")
SECTOR = 512
EVERY_S = 0.25


def compile_library(folder: Path) -> Path:
    """Compile slow_io.c with the host's compiler, and return the library."""
    library = folder / "slow_io.so"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl", "-lm"]
    subprocess.run(command, check=True)
    library.chmod(0o755)
    return library


class Numbers:
    """The numbers that the preloaded library shares with us: a file that the server's account may write."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(8 * len((*ASKED, *COUNTED))))
            path.chmod(0o666)
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._numbers = memoryview(self._map).cast("Q")

    def ask(self, name: str, value: int) -> None:
        self._numbers[ASKED.index(name)] = value

    def counted(self) -> list[int]:
        return list(self._numbers[len(ASKED) :])


class Sampler:
    """Reads all counts four times a second in a thread of its own, until it is left."""

    def __init__(self, numbers: Numbers, device: str, groups: tuple[str, str]) -> None:
        self._numbers, self._device = numbers, device
        self._groups = [Path(folder, "cpuacct.usage") for folder in groups]
        self._rows: list[list[float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def course(self) -> Course:
        """Return what was counted so far."""
        return Course(np.array(self._rows))

    def _work(self) -> None:
        while not self._over.wait(EVERY_S):
            self._rows.append(self._row())

    def _row(self) -> list[float]:
        of_device = Path(f"/sys/dev/block/{self._device}/stat").read_text().split()
        cpu_s = [int(file.read_text()) / 1e9 for file in self._groups]
        with Path("/proc/stat").open() as file:
            user, nice, system, _idle, _wait, irq, soft, *_ = map(int, file.readline().split()[1:])
        host_s = (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
        # The numbers of a device's file are those of /proc/diskstats without the three words before them.
        of_column = [float(of_device[at - 3]) for at in _OF_DEVICE.values()]
        flushes = float(of_device[_FLUSHES - 3])
        return [time.time(), *map(float, self._numbers.counted()), *of_column, *cpu_s, host_s, flushes]


@dataclass(frozen=True)
class Course:
    """The counts of a run, a row for each quarter of a second, by the columns of `COLUMNS`."""

    rows: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Course:
        """Read a course; counts that are not in the file are NaN."""
        with path.open() as file:
            counts = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
        return cls(np.array([[row.get(name, np.nan) for name in COLUMNS] for row in counts]))

    def write(self, path: Path) -> None:
        with path.open("w") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(self.rows.tolist())

    def __getitem__(self, name: str) -> np.ndarray:
        return self.rows[:, COLUMNS.index(name)]

    def rate(self, name: str, begin: float, end: float) -> float:
        """Return how many a second there were of a count between two moments; NaN if that is not known."""
        at = self["at"]
        if len(at) < 2 or end <= begin or begin < at[0] or end > at[-1]:
            return float("nan")
        first, last = np.interp([begin, end], at, self[name])
        return float(last - first) / (end - begin)

    def mean(self, amount: str, count: str, begin: float, end: float) -> float:
        """Return how much of one count there was for each of another; NaN if that is not known."""
        counted = self.rate(count, begin, end)
        return self.rate(amount, begin, end) / counted if counted > 0 else float("nan")


def limited(course: Course, way: str, unit: str, on_device: bool, begin: float, end: float) -> float:
    """Return how many requests, or bytes, a second a cap on ``way`` limits.

    The kernel counts a flush as a write without a sector. A limit on the device holds it back as one; below a loop
    device it is no request.
    """
    if unit == "bytes":
        return SECTOR * course.rate(f"dev_{way}_sectors", begin, end)
    no_requests = 0.0 if way == "read" or on_device else course.rate("dev_flushes", begin, end)
    return course.rate(f"dev_{way}s", begin, end) - no_requests
