"""Host CPU and device reads while fio runs, over the middle of the measured time.

Starting and ending fio uses CPU too. Only the inner part of the time, when the load is on, is counted.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from openslob.analyze.statistics import relative_half_width
from openslob.core.units import NANOS
from openslob.host.counters import CPU_KINDS, CPU_NAMES, open_host
from openslob.host.device import BlockDevice, device_folder, device_under
from openslob.host.model import FigureUnknownError, Sample
from openslob.metrics.cpu import is_busy

# The kernel counts CPU in clock ticks of 10 ms: at shorter intervals, CPU rates would be off by more than 10 %.
_EVERY_S = 0.1
# Time that fio needs to end after its last request, with a margin for busy hosts.
_END_S = 0.2
# Share of the measured time that is left out at both ends, where the load is not steady.
_EDGE = 0.05
_BUSY = tuple(name for kind, name in zip(CPU_KINDS, CPU_NAMES, strict=True) if is_busy(kind))
_TOO_SHORT = "the step was too short to sample the host"


@dataclass(frozen=True)
class HostUsage:
    """CPU and device reads of a step, per second; None with the reason in ``why``.

    ``host_cpu_s`` is the busy CPU seconds of the whole host (`openslob.metrics.cpu`), ``device_bytes`` the bytes that
    the device read, both per second. ``half_width_pct`` is half the 95 % interval of the rate of reads, in % of it.
    """

    host_cpu_s: float | None
    device_bytes: float | None
    half_width_pct: float | None
    why: str = ""


@dataclass(frozen=True)
class _Reading:
    time_ns: int
    cpu: Sample
    device: Sample


class HostUsageMonitor:
    """Samples the counters of the host and of the device under ``path`` while a step runs."""

    def __init__(self, path: Path, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._host = open_host()
        self._now = now
        self._samples: list[_Reading] = []
        self.why_no_device = ""
        self._device: BlockDevice | None = None
        try:
            self._device = BlockDevice(_device_of(path))
        except FigureUnknownError as error:
            self.why_no_device = str(error)

    def reset(self) -> None:
        """Drop all samples before the next step."""
        self._samples.clear()

    def sample(self) -> None:
        """Read the counters, unless they were read less than 0.1 s ago."""
        now = self._now()
        if self._samples and now - self._samples[-1].time_ns < _EVERY_S * NANOS:
            return
        device = self._device.read() if self._device else Sample.missing(("dev_read_bytes",), self.why_no_device)
        self._samples.append(_Reading(now, self._host.cpu(), device))

    def usage(self, seconds: float) -> HostUsage:
        """Return the usage over the last ``seconds``, the time that fio measured."""
        end = self._now() - _END_S * NANOS
        begin = end - seconds * (1 - _EDGE) * NANOS
        inner = [sample for sample in self._samples if begin <= sample.time_ns <= end - seconds * _EDGE * NANOS]
        return usage_of(inner, self.why_no_device)

    def close(self) -> None:
        """Close the counters' files."""
        self._host.close()
        if self._device:
            self._device.close()


def usage_of(samples: Sequence[_Reading], why_no_device: str = "") -> HostUsage:
    """Return rates between the first and the last sample, and the interval from the rates between neighbours."""
    if len(samples) < 2:
        return HostUsage(None, None, None, why_no_device or _TOO_SHORT)
    cpu = [sum(sample.cpu.values.get(name, 0.0) for name in _BUSY) for sample in samples]
    span = (samples[-1].time_ns - samples[0].time_ns) / NANOS
    if any("dev_read_bytes" not in sample.device.values for sample in samples):
        return HostUsage((cpu[-1] - cpu[0]) / span, None, None, why_no_device or _TOO_SHORT)
    rates = [
        (after.device.values["dev_read_bytes"] - before.device.values["dev_read_bytes"])
        / (after.time_ns - before.time_ns)
        * NANOS
        for before, after in pairwise(samples)
    ]
    share = relative_half_width(rates)
    reads = (samples[-1].device.values["dev_read_bytes"] - samples[0].device.values["dev_read_bytes"]) / span
    return HostUsage((cpu[-1] - cpu[0]) / span, reads, None if share is None else 100 * share)


def _device_of(path: Path) -> Path:
    facts = path.stat()
    if stat.S_ISBLK(facts.st_mode):
        return device_folder(facts.st_rdev, None)
    return device_under(path if path.is_dir() else Path(os.path.realpath(path)).parent)
