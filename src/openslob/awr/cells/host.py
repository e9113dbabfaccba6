"""Readers of columns of the host: CPU, load and the operating system's statistics."""

from __future__ import annotations

from collections.abc import Callable

from openslob.awr.cells.base import ColumnReader, ColumnValue, Subject, absent, near
from openslob.awr.model import OsStat, Report
from openslob.awr.numbers import Number

_BLANK = "Host CPU is blank or not in the report"


def cpu(attribute: str) -> ColumnReader:
    """Return a reader of a figure of the host's CPU; of a global report with one instance that of its host."""

    def read(subject: Subject) -> ColumnValue:
        report = subject.report
        number: Number | None = getattr(report.host_cpu, attribute, None)
        if number is None and len(report.per_instance) == 1:
            (figures,) = report.per_instance.values()
            number = figures.get(attribute if attribute.startswith("load") else f"host_{attribute}")
        if number is None and len(report.per_instance) > 1:
            return absent("printed for each instance: see --columns instances")
        return ColumnValue(number.value) if number else absent(_BLANK)

    return read


def busy_pct(subject: Subject) -> ColumnValue:
    """Return the share of host CPU time that was neither idle nor spent waiting for I/O, in percent."""
    user, system = cpu("user_pct")(subject), cpu("system_pct")(subject)
    if user.number is None or system.number is None:
        return absent(user.why or system.why)
    return ColumnValue(user.number + system.number)


def os_value(name: str) -> ColumnReader:
    """Return a reader of a statistic of the operating system, as it is printed: ``*_TIME`` in 1/100 s."""
    return _os(name, lambda stat: stat.value)


def os_end(name: str) -> ColumnReader:
    """Return a reader of a statistic of the operating system at the last snapshot."""
    return _os(name, lambda stat: stat.end)


def os_seconds(name: str) -> ColumnReader:
    """Return a reader of a time of the operating system in seconds."""

    def read(subject: Subject) -> ColumnValue:
        found = os_value(name)(subject)
        return ColumnValue(found.number / 100.0) if found.number is not None else found

    return read


def _os(name: str, of: Callable[[OsStat], Number | None]) -> ColumnReader:
    def read(subject: Subject) -> ColumnValue:
        stat = subject.report.os_stats.get(name.upper()) or subject.report.os_stats.get(name)
        number = of(stat) if stat else None
        return ColumnValue(number.value) if number else absent(_why(subject.report, name, stat))

    return read


def _why(report: Report, name: str, stat: OsStat | None) -> str:
    if stat is not None:
        return f"{name}: blank in the report"
    if not report.os_stats:
        return "the report has no Operating System Statistics"
    return f"{name}: not listed in Operating System Statistics{near(name, report.os_stats)}"
