"""Readers of columns of the host."""

from __future__ import annotations

from openslob.awr.cells.base import ColumnValue, Subject, absent


def host_idle(subject: Subject) -> ColumnValue:
    """Return the share of host CPU that was idle, in percent."""
    cpu = subject.report.host_cpu
    return ColumnValue(cpu.idle_pct.value) if cpu and cpu.idle_pct else absent("Host CPU is blank or not in the report")


def busy_pct(subject: Subject) -> ColumnValue:
    """Return the share of host CPU time that was neither idle nor spent waiting for I/O, in percent."""
    cpu = subject.report.host_cpu
    if cpu is None or cpu.user_pct is None or cpu.system_pct is None:
        return absent("Host CPU is blank or not in the report")
    return ColumnValue(cpu.user_pct.value + cpu.system_pct.value)
