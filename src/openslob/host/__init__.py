"""Samplers beside a run: engine counters, waits, the operating system, the driver's own cost."""
