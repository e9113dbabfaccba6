"""Drivers that stood still for a while: for how long, when, and what that shows of the reason."""

from __future__ import annotations

from openslob.core.measurement import DriverUse

# From this share of the time on, it explains that a process did nothing else; below the other one, it does not.
_MOST, _HARDLY = 0.5, 0.1


def say_stillness(driver: DriverUse) -> str:
    """Return that a driver stood still, without its name, and why as far as that is known; empty if it did not."""
    if not driver.still_s:
        return ""
    at = "" if driver.still_at_s is None else f", {max(0.0, driver.still_at_s):.1f} s after the start"
    return f"stood still for {driver.still_s:.1f} s{at}: {_explain(driver)}"


def _explain(driver: DriverUse) -> str:
    """Return what kept a process from going on.

    One that is stopped is not ready to run and uses no CPU. So is one whose host stands still.
    """
    cpu_s, waited_s = driver.still_cpu_s or 0.0, driver.still_waited_s
    if waited_s is not None and waited_s >= _MOST * driver.still_s:
        return f"it waited for a CPU for {waited_s:.1f} s"
    if cpu_s >= _MOST * driver.still_s:
        return f"its own work took {cpu_s:.1f} s of CPU"
    if waited_s is not None and max(cpu_s, waited_s) <= _HARDLY * driver.still_s:
        return f"its process or its host was stopped (it waited for a CPU for {waited_s:.1f} s, and used {cpu_s:.1f} s)"
    waited = "an unknown time" if waited_s is None else f"{waited_s:.1f} s"
    return f"it was stopped, or short of CPU (it waited for a CPU for {waited}, and used {cpu_s:.1f} s)"
