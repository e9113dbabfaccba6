"""The definition of a host's busy CPU time, for runs, measurements of storage, and pictures.

Kinds of CPU time are named as in ``/proc/stat``: user, nice, system, idle, iowait, irq, softirq, steal, guest.
"""

from __future__ import annotations

from collections.abc import Mapping

# Stolen time is busy time: this machine had work to do, but the hypervisor gave the CPU to others.
AT_REST = ("idle", "iowait")
# The kernel counts guests' time within user and nice time as well: adding it would count it twice.
COUNTED_WITHIN_OTHERS = frozenset({"guest", "guest_nice"})


def of_processes(cpu: Mapping[str, float]) -> tuple[str, ...]:
    """Return the kinds of time that processes used, niced ones too; not every system counts those on their own."""
    return ("user", "nice", "system") if "nice" in cpu else ("user", "system")


def is_busy(kind: str) -> bool:
    """Return whether time of this kind is busy time, and not counted within another kind."""
    return kind not in AT_REST and kind not in COUNTED_WITHIN_OTHERS


def total_s(cpu: Mapping[str, float]) -> float:
    """Return all seconds of ``cpu``, busy or not."""
    return sum(seconds for kind, seconds in cpu.items() if kind not in COUNTED_WITHIN_OTHERS)
