"""Readers of the columns: each returns a value with its source, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from openslob.awr.filenames import FileName
from openslob.awr.latency import latency_of
from openslob.awr.model import Report, ReportKind, Scope, WaitEvent
from openslob.awr.numbers import Number
from openslob.awr.verdicts import single_block_read, verdicts
from openslob.awr.waits import is_cpu, is_idle

Value = str | int | float | bool | None
MB = 1024.0**2


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """Value of a column, or None and the reason ``why``. ``source`` is given where a column has several sources."""

    value: Value
    why: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The input of a column reader: the report and its file name."""

    report: Report
    name: FileName = field(default_factory=FileName)


ColumnReader = Callable[[Subject], ColumnValue]


def absent(why: str) -> ColumnValue:
    """Return a missing value with its reason."""
    return ColumnValue(None, why)


def file(subject: Subject) -> ColumnValue:
    """Return the path of the report."""
    return ColumnValue(subject.report.path)


def named(attribute: str) -> ColumnReader:
    """Return a reader of a field of the file name."""

    def read(subject: Subject) -> ColumnValue:
        value = getattr(subject.name, attribute)
        return ColumnValue(value) if value not in (None, "") else absent("not in the file name")

    return read


def kind(subject: Subject) -> ColumnValue:
    """Return the kind of report."""
    return ColumnValue(subject.report.kind.value)


def header(attribute: str, heading: str) -> ColumnReader:
    """Return a reader of a header field; ``heading`` names it in reasons."""

    def read(subject: Subject) -> ColumnValue:
        value = getattr(subject.report.header, attribute)
        if value is None:
            return absent(f"{heading} is blank or not in the report")
        return ColumnValue(value.value if isinstance(value, Number) else value)

    return read


def instance(subject: Subject) -> ColumnValue:
    """Return the names of the instances, separated by spaces."""
    names = [entry.name for entry in subject.report.header.instances if entry.name]
    return ColumnValue(" ".join(names)) if names else absent("Instance is blank in the report")


def host(subject: Subject) -> ColumnValue:
    """Return the names of the hosts: of every instance in a global report."""
    names = [entry.host for entry in subject.report.header.instances if entry.host]
    if subject.report.kind is ReportKind.AWR_GLOBAL and names:
        return ColumnValue(" ".join(names))
    return header("host", "Host Name")(subject)


def block_size(subject: Subject) -> ColumnValue:
    """Return the block size in bytes, from the cache sizes or else from the parameters."""
    if (size := subject.report.header.block_size) is not None:
        return ColumnValue(size)
    parameter = subject.report.parameters.get("db_block_size")
    if parameter and parameter.begin.isdigit():
        return ColumnValue(int(parameter.begin), source="init.ora Parameters")
    return absent("neither Cache Sizes nor db_block_size is in the report")


def elapsed_s(subject: Subject) -> ColumnValue:
    """Return the seconds between the two snapshots."""
    elapsed = subject.report.elapsed_s
    return ColumnValue(elapsed.value) if elapsed else absent("Elapsed is not in the report")


def db_time_s(subject: Subject) -> ColumnValue:
    """Return DB time in seconds, from the time model or else from the header's minutes."""
    report = subject.report
    if (seconds := report.time_model_s.get("DB time")) is not None:
        return ColumnValue(seconds.value, source="time model")
    minutes = report.header.db_time_min
    return ColumnValue(minutes.value * 60, source="header") if minutes else absent("DB time is not in the report")


def load(name: str) -> ColumnReader:
    """Return a reader of a row of the load profile, per second."""

    def read(subject: Subject) -> ColumnValue:
        rate = subject.report.load_profile.get(name)
        if rate is not None and rate.per_second is not None:
            return ColumnValue(rate.per_second.value, source=rate.origin)
        return absent(_why(subject.report, "Load Profile", bool(subject.report.load_profile), name))

    return read


def _over_elapsed(subject: Subject, name: str, statistic: str) -> ColumnValue:
    """Return a rate of the load profile, or else of the time model: global reports and 10g have it only there."""
    printed = load(name)(subject)
    seconds, elapsed = subject.report.time_model_s.get(statistic), subject.report.elapsed_s
    if printed.value is not None or seconds is None or elapsed is None:
        return printed
    return ColumnValue(seconds.value / elapsed.value, source="time model / elapsed")


def db_time(subject: Subject) -> ColumnValue:
    """Return DB time per elapsed second, from the load profile, the time model or the header."""
    rate = _over_elapsed(subject, "db_time", "DB time")
    minutes, elapsed = subject.report.header.db_time_min, subject.report.elapsed_s
    if rate.value is not None or minutes is None or elapsed is None:
        return rate
    return ColumnValue(minutes.value * 60 / elapsed.value, source="header: DB Time / Elapsed")


def db_cpu(subject: Subject) -> ColumnValue:
    """Return DB CPU per elapsed second, from the load profile or the time model."""
    return _over_elapsed(subject, "db_cpu", "DB CPU")


def redo_mb(subject: Subject) -> ColumnValue:
    """Return redo in MB (2^20 bytes) per second."""
    rate = load("redo_size")(subject)
    return ColumnValue(rate.value / MB, source=rate.source) if isinstance(rate.value, float) else rate


def activity(name: str) -> ColumnReader:
    """Return a reader of an instance activity statistic per second.

    A rate too wide for its column is computed from the total and the elapsed time.
    """

    def read(subject: Subject) -> ColumnValue:
        stat, elapsed = subject.report.activity.get(name), subject.report.elapsed_s
        if stat is not None and stat.per_second is not None:
            return ColumnValue(stat.per_second.value, source="per second")
        if stat is not None and stat.total is not None and elapsed is not None:
            return ColumnValue(stat.total.value / elapsed.value, source="total / elapsed")
        return absent(_why(subject.report, "Instance Activity Stats", bool(subject.report.activity), name))

    return read


def total(name: str) -> ColumnReader:
    """Return a reader of an instance activity statistic's total."""

    def read(subject: Subject) -> ColumnValue:
        stat = subject.report.activity.get(name)
        if stat is not None and stat.total is not None:
            return ColumnValue(stat.total.value)
        return absent(_why(subject.report, "Instance Activity Stats", bool(subject.report.activity), name))

    return read


def waits(name: str) -> ColumnReader:
    """Return a reader of the number of foreground waits for an event."""

    def read(subject: Subject) -> ColumnValue:
        event = subject.report.foreground(name)
        if event is None or event.waits is None:
            return absent(why_no_event(subject.report, name))
        return ColumnValue(event.waits.value, source=event.scope)

    return read


def seconds(name: str) -> ColumnReader:
    """Return a reader of a statistic of the time model, in seconds."""

    def read(subject: Subject) -> ColumnValue:
        statistic = subject.report.time_model_s.get(name)
        return ColumnValue(statistic.value) if statistic else absent(f"{name}: not listed in the time model")

    return read


def parameter(name: str) -> ColumnReader:
    """Return a reader of an initialization parameter's value at the first snapshot."""

    def read(subject: Subject) -> ColumnValue:
        setting = subject.report.parameters.get(name)
        return ColumnValue(setting.begin) if setting else absent(f"{name}: not listed in init.ora Parameters")

    return read


def requests(direction: str) -> ColumnReader:
    """Return a reader of I/O requests per second, from instance activity or else from the I/O profile."""

    def read(subject: Subject) -> ColumnValue:
        counted = activity(f"physical {direction} total IO requests")(subject)
        return counted if counted.value is not None else _profile(subject, "total requests", direction, counted)

    return read


def megabytes(direction: str) -> ColumnReader:
    """Return a reader of MB (2^20 bytes) per second, from instance activity or else from the I/O profile."""

    def read(subject: Subject) -> ColumnValue:
        counted = activity(f"physical {direction} total bytes")(subject)
        if isinstance(counted.value, float):
            return ColumnValue(counted.value / MB, source=counted.source)
        return _profile(subject, "total (mb)", direction, counted)

    return read


def _profile(subject: Subject, row: str, direction: str, otherwise: ColumnValue) -> ColumnValue:
    rates = subject.report.io_profile.get(row)
    number: Number | None = getattr(rates, direction) if rates else None
    return ColumnValue(number.value, source="IO Profile") if number else otherwise


def _added(one: ColumnValue, other: ColumnValue) -> ColumnValue:
    if isinstance(one.value, float) and isinstance(other.value, float):
        return ColumnValue(one.value + other.value, source=one.source)
    return absent(one.why or other.why)


def iops(subject: Subject) -> ColumnValue:
    """Return read and write requests per second."""
    return _added(requests("read")(subject), requests("write")(subject))


def mb_per_s(subject: Subject) -> ColumnValue:
    """Return MB (2^20 bytes) read and written per second."""
    return _added(megabytes("read")(subject), megabytes("write")(subject))


def blocks_per_read(subject: Subject) -> ColumnValue:
    """Return the mean number of blocks in a read request."""
    blocks, reads = activity("physical reads")(subject), activity("physical read IO requests")(subject)
    if not isinstance(blocks.value, float) or not isinstance(reads.value, float):
        return absent(blocks.why or reads.why)
    return ColumnValue(blocks.value / reads.value) if reads.value else absent("there were no read requests")


def per_db_cpu(read_rate: ColumnReader) -> ColumnReader:
    """Return a reader of a rate per second of DB CPU.

    DB CPU is that of the time model, because the load profile prints only one decimal.
    """

    def read(subject: Subject) -> ColumnValue:
        rate, elapsed = read_rate(subject), subject.report.elapsed_s
        seconds = subject.report.time_model_s.get("DB CPU")
        if not isinstance(rate.value, float):
            return rate
        if seconds is None or elapsed is None or seconds.value <= 0:
            return absent("DB CPU is not in the time model")
        return ColumnValue(rate.value / (seconds.value / elapsed.value), source=rate.source)

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


def host_idle(subject: Subject) -> ColumnValue:
    """Return the share of host CPU that was idle, in percent."""
    cpu = subject.report.host_cpu
    return ColumnValue(cpu.idle_pct.value) if cpu and cpu.idle_pct else absent("Host CPU is blank or not in the report")


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


def failed_verdicts(subject: Subject) -> ColumnValue:
    """Return the names of the verdicts that fail, separated by spaces."""
    found = verdicts(subject.report, subject.name.sessions)
    return ColumnValue(" ".join(verdict.name for verdict in found if verdict.verdict == "fails"))


def warnings(subject: Subject) -> ColumnValue:
    """Return the number of warnings of the parser."""
    return ColumnValue(len(subject.report.warnings))


def complete(subject: Subject) -> ColumnValue:
    """Return whether the report is complete, not cut off."""
    return ColumnValue(subject.report.complete)


def _why(report: Report, section: str, present: bool, name: str) -> str:
    unreadable = next((why for cell, why in report.missing.items() if f": {name}" in cell), "")
    if unreadable:
        return f"{name}: {unreadable}"
    if not present:
        return f"the report has no {section}" + ("" if report.complete else " (it is cut off)")
    return f"{name}: not listed in {section}"
