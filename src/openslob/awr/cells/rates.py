"""Readers of columns with rates: load profile, time model, instance activity and I/O profile."""

from __future__ import annotations

from openslob.awr.cells.base import MB, ColumnReader, ColumnValue, Subject, absent, near, why_not
from openslob.awr.numbers import Number

COARSE = 0.01  # a rate whose last digit is more than 1 % of it is coarse


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
        return absent(why_not(subject.report, "Load Profile", bool(subject.report.load_profile), name))

    return read


def _over_elapsed(subject: Subject, name: str, statistic: str) -> ColumnValue:
    """Return a rate of the load profile, or else of the time model: global reports and 10g have it only there.

    The time model is also used where the load profile is coarse, such as DB CPU with one decimal, and both agree.
    """
    report, rate = subject.report, subject.report.load_profile.get(name)
    seconds, elapsed = report.time_model_s.get(statistic), report.elapsed_s
    if seconds is None or elapsed is None:
        return load(name)(subject)
    computed = seconds.scaled(1 / elapsed.value)
    if rate is not None and (printed := rate.per_second) is not None:
        is_finer = computed.step < printed.step and printed.step > COARSE * printed.value
        if not is_finer or abs(computed.value - printed.value) > printed.step:
            return load(name)(subject)
    return ColumnValue(computed.value, source="time model / elapsed")


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
        known = subject.report.activity
        return absent(why_not(subject.report, "Instance Activity Stats", bool(known), name, known))

    return read


def total(name: str) -> ColumnReader:
    """Return a reader of an instance activity statistic's total."""

    def read(subject: Subject) -> ColumnValue:
        stat = subject.report.activity.get(name)
        if stat is not None and stat.total is not None:
            return ColumnValue(stat.total.value)
        known = subject.report.activity
        return absent(why_not(subject.report, "Instance Activity Stats", bool(known), name, known))

    return read


def per_transaction(name: str) -> ColumnReader:
    """Return a reader of an instance activity statistic per transaction."""

    def read(subject: Subject) -> ColumnValue:
        stat, known = subject.report.activity.get(name), subject.report.activity
        if stat is not None and stat.per_transaction is not None:
            return ColumnValue(stat.per_transaction.value)
        return absent(why_not(subject.report, "Instance Activity Stats", bool(known), name, known))

    return read


def seconds(name: str) -> ColumnReader:
    """Return a reader of a statistic of the time model, in seconds."""

    def read(subject: Subject) -> ColumnValue:
        statistic = subject.report.time_model_s.get(name)
        if statistic is not None:
            return ColumnValue(statistic.value)
        return absent(f"{name}: not listed in the time model{near(name, subject.report.time_model_s)}")

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


def db_cpu_pct(subject: Subject) -> ColumnValue:
    """Return DB CPU as a share of DB time, in percent."""
    used, in_all = seconds("DB CPU")(subject), db_time_s(subject)
    if used.number is None or not in_all.number:
        return absent(used.why or in_all.why or "DB time is 0")
    return ColumnValue(100.0 * used.number / in_all.number, source=in_all.source)


def redo_requests(subject: Subject) -> ColumnValue:
    """Return writes to the redo log per second, from the I/O profile or else from the statistic ``redo writes``."""
    counted = activity("redo writes")(subject)
    return _profile(subject, "redo requests", "write", counted)


def blocks_received(subject: Subject) -> ColumnValue:
    """Return blocks received from other instances per second."""
    return _of_cluster(subject, "gc_blocks_received", "received")


def blocks_served(subject: Subject) -> ColumnValue:
    """Return blocks sent to other instances per second."""
    return _of_cluster(subject, "gc_blocks_served", "served")


def _of_cluster(subject: Subject, name: str, direction: str) -> ColumnValue:
    printed = load(name)(subject)
    if printed.value is not None:
        return printed
    counted = _added(*(activity(f"gc {kind} blocks {direction}")(subject) for kind in ("cr", "current")))
    return counted if counted.value is not None else absent("the report has no figures of the global cache")
