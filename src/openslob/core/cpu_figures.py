"""CPU of a server's sessions apart from that of its background processes, for runs and for the server's own reports."""

from __future__ import annotations

from typing import NamedTuple


class CpuFigure(NamedTuple):
    """A figure's name in a run, its label and unit, and what it means there and in a report of the server's own."""

    name: str
    label: str
    unit: str
    meaning: str


FOREGROUND_CPU = CpuFigure(
    "foreground_cpu_per_s",
    "Foreground CPU",
    "s/s",
    "CPU seconds per second of the processes that serve sessions, background processes left out; AWR calls it DB CPU",
)
BACKGROUND_CPU = CpuFigure(
    "background_cpu_per_s",
    "Background CPU",
    "s/s",
    "CPU seconds per second of the server's background processes, such as those that write blocks and the log",
)
IOPS_PER_FOREGROUND_CPU = CpuFigure(
    "iops_per_foreground_cpu",
    "IOPS per foreground CPU",
    "1/s",
    "Physical read requests per CPU second of the processes that serve sessions",
)
