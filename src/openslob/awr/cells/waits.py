"""Readers of columns with wait events."""

from __future__ import annotations

from openslob.awr.cells.base import ColumnReader, ColumnValue, Subject, absent
from openslob.awr.latency import latency_of
from openslob.awr.model import Report, Scope, WaitEvent
from openslob.awr.verdicts import single_block_read
from openslob.awr.waits import is_cpu, is_idle


def waits(name: str) -> ColumnReader:
    """Return a reader of the number of foreground waits for an event."""

    def read(subject: Subject) -> ColumnValue:
        event = subject.report.foreground(name)
        if event is None or event.waits is None:
            return absent(why_no_event(subject.report, name))
        return ColumnValue(event.waits.value, source=event.scope)

    return read


def read_event(subject: Subject) -> ColumnValue:
    """Return the name of the single-block read event."""
    event = single_block_read(subject.report)
    return ColumnValue(event.name, source=event.scope) if event else absent("no single-block read event is listed")


def read_latency(subject: Subject) -> ColumnValue:
    """Return the mean latency of the single-block read event in µs."""
    event = single_block_read(subject.report)
    return latency_value(subject.report, event) if event else absent("no single-block read event is listed")


def read_latency_source(subject: Subject) -> ColumnValue:
    """Return what the latency of the single-block read event was computed from."""
    mean = read_latency(subject)
    return ColumnValue(mean.source) if mean.value is not None else absent(mean.why)


def latency(name: str, background: bool = False) -> ColumnReader:
    """Return a reader of the mean latency of a wait event in µs."""

    def read(subject: Subject) -> ColumnValue:
        report = subject.report
        event = report.background(name) if background else report.foreground(name)
        return latency_value(report, event) if event else absent(why_no_event(report, name))

    return read


def latency_value(report: Report, event: WaitEvent) -> ColumnValue:
    """Return the latency of ``event`` with its source."""
    mean = latency_of(report, event)
    if mean is None:
        return absent(f"{event.name}: neither time nor average is printed")
    if mean.us is None:
        return absent(f"{event.name}: below {mean.high_us:.3g} us, which the report prints as 0")
    return ColumnValue(mean.us, source=mean.source)


def why_no_event(report: Report, name: str) -> str:
    """Return why the report has no row for the event ``name`` in the expected table."""
    elsewhere = next((scope for scope in Scope if report.event(name, scope)), None)
    if elsewhere is not None:
        return f"{name}: listed under {elsewhere} only"
    cut = [event.name for event in report.events if event.cut and name.startswith(event.name)]
    if cut:
        return f"{name}: several names are cut to {cut[0]!r}"
    return f"{name}: not listed" if report.events else "the report has no wait events"


def top_wait(subject: Subject) -> ColumnValue:
    """Return the first event that is neither CPU nor idle, with its waits, seconds, mean latency and share."""
    for scope in (Scope.TOP, Scope.TOP_ALL, Scope.FOREGROUND, Scope.ALL):
        for event in subject.report.listed(scope):
            if not is_cpu(event.name) and not is_idle(event.name):
                return ColumnValue(_event_text(subject.report, event), source=scope)
    return absent("no waits are listed")


def _event_text(report: Report, event: WaitEvent) -> str:
    parts = [event.name]
    if event.waits:
        parts.append(f"{event.waits.value:,.0f} waits")
    if event.time_s:
        parts.append(f"{event.time_s.value:,.10g} s")
    mean = latency_value(report, event).value
    if isinstance(mean, float):
        parts.append(f"{mean:,.0f} us")
    if event.share_pct:
        parts.append(f"{event.share_pct.value:g} %")
    return ", ".join(parts)
