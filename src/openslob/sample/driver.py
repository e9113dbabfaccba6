"""What the load driver, this process, costs itself."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from openslob.sample.reading import Sample, text_of


def peak_rss_bytes(proc: Path = Path("/proc")) -> float:
    """The most memory this process ever had resident, in bytes.

    ``VmHWM`` where it exists, because ``ru_maxrss`` survives exec on Linux: there it may be the parent's peak. It is
    in KiB on Linux and in bytes on macOS.
    """
    for line in (text_of(proc / "self/status") or "").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def read_driver(peak: bool = True) -> Sample:
    """CPU seconds of all threads of this process (children left out: a server it started is not its cost), peak RSS.

    The peak is left out on demand: it costs more to read than all the rest.
    """
    values, unknown = {"driver_cpu_s": time.process_time_ns() / 1e9}, {}
    if peak:
        values["driver_peak_rss_bytes"] = peak_rss_bytes()
    else:
        unknown["driver_peak_rss_bytes"] = "it is read at the end of the window only"
    return Sample(values, f"process {os.getpid()}", unknown)
