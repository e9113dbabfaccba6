"""What each of many drivers did in a run, as plain data for the record and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DriverUse:
    """One driver of several: a process that ran some of the sessions. What is None is unknown, for ``why_unknown``.

    ``number`` counts from 1. ``machine`` tells hosts apart, whatever their names. ``here`` means that it ran on the
    host of the process that led the run. ``seconds`` is the time of the window in which ``cpu_s`` (of the process) and
    ``host_busy_s`` (of all ``host_cpus`` together) were counted. ``clock_offset_s`` is the server's clock minus the
    driver's. ``lost`` says what became of a driver that did not end in order; ``files`` where its own raw files are,
    below the record's folder, or on its host if they could not be fetched (``left``).
    """

    number: int
    address: str
    host: str
    pid: int
    machine: str
    here: bool
    sessions: Sequence[int]
    python: str = ""
    seconds: float | None = None
    cpu_s: float | None = None
    peak_rss_bytes: float | None = None
    host_busy_s: float | None = None
    host_cpus: int | None = None
    clock_offset_s: float | None = None
    round_trip_ms: float | None = None
    ops: int | None = None
    ops_written: int | None = None
    files: str = ""
    left: bool = False
    lost: str = ""
    why_unknown: str = ""

    @property
    def name(self) -> str:
        """The driver as messages name it."""
        return f"driver {self.number} ({self.host}, pid {self.pid})"

    @property
    def cpu_pct(self) -> float | None:
        """CPU of the process in % of one CPU: its threads share one, since Python runs one of them at a time."""
        return None if self.cpu_s is None or not self.seconds else 100 * self.cpu_s / self.seconds

    @property
    def host_busy_pct(self) -> float | None:
        """How busy the CPUs of its host were, in %."""
        if self.host_busy_s is None or not self.seconds or not self.host_cpus:
            return None
        return 100 * self.host_busy_s / self.seconds / self.host_cpus
