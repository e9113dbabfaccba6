"""Readers of wait classes, efficiency, log switches, tablespaces and files, and of a cluster's global cache."""

from __future__ import annotations

import re
from collections.abc import Callable

from openslob.awr import header
from openslob.awr.builder import ReportBuilder
from openslob.awr.model import FileIo, HourlyStat, Scope, WaitEvent
from openslob.awr.numbers import US_PER, Number
from openslob.awr.tables import ReportTable, cell, plain

# Column of the global "Foreground Wait Classes" -> name of the class.
_GLOBAL_CLASSES: tuple[tuple[str, str], ...] = (
    (r"user i/o ?\(s\)", "User I/O"),
    (r"sys i/o ?\(s\)", "System I/O"),
    (r"other ?\(s\)", "Other"),
    (r"applic ?\(s\)", "Application"),
    (r"commit ?\(s\)", "Commit"),
    (r"network ?\(s\)", "Network"),
    (r"concurcy ?\(s\)", "Concurrency"),
    (r"config ?\(s\)", "Configuration"),
    (r"cluster ?\(s\)", "Cluster"),
    (r"admin ?\(s\)", "Administrative"),
    (r"scheduler ?\(s\)", "Scheduler"),
    (r"db cpu ?\(s\)", "DB CPU"),
)
_UNIT = re.compile(r" ?\((us|ms|s)\)")
_GAIN = re.compile(r"^(avg )?(global cache )?")


def wait_classes(scope: Scope) -> Callable[[ReportTable, ReportBuilder], None]:
    """Return a reader of wait classes, of the foreground or of all processes."""

    def read(table: ReportTable, builder: ReportBuilder) -> None:
        name, waits = table.index("wait class"), table.index("waits")
        time, average = table.index(r"total wait time ?\((s|sec)\)"), table.index(r"avg wait( time)?( ?\(ms\))?")
        share = table.index(r"% ?db time", r"% ?total( call)? time")
        if name is None or time is None:
            builder.cannot_read(table)
            return
        unit = "ms" if average is not None and "(ms)" in plain(table.columns[average]) else None
        for row in table.rows:
            if not cell(row, name) or not (cell(row, waits) or cell(row, time)):
                continue
            listed = WaitEvent(
                name=cell(row, name),
                scope=scope,
                waits=builder.number(table, row, waits),
                time_s=builder.number(table, row, time),
                avg_us=builder.duration_us(table, row, average, unit),
                share_pct=builder.number(table, row, share),
            )
            builder.wait_classes.append(listed)

    return read


def global_wait_classes(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the wait classes of a global report: a row for each instance, a column for each class, times in seconds."""
    row = table.of_cluster()
    for pattern, name in _GLOBAL_CLASSES:
        seconds = builder.number(table, row, table.index(pattern)) if row else None
        if seconds is not None:
            builder.wait_classes.append(WaitEvent(name, Scope.FOREGROUND, time_s=seconds))


def instance_hosts(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the hosts of a global report: CPUs of all of them, and the use of each."""
    header.hosts(table, builder)
    columns = {
        "cpus": table.index(r"(cpu )?(num |#)cpus"),
        "host_busy_pct": table.index("% busy"),
        "host_user_pct": table.index("% usr"),
        "host_system_pct": table.index("% sys"),
        "host_iowait_pct": table.index("% wio"),
        "host_idle_pct": table.index("% idl"),
        "load_begin": table.index("(load )?begin"),
        "load_end": table.index("(load )?end"),
    }
    for row in table.rows:
        for name, at in columns.items():
            builder.of_instance(table, row, name, at)


def efficiency(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the efficiency of the instance, such as ``Buffer Hit %``. The shared pool's table below has columns."""
    if table.columns:
        return
    for label, values in table.labelled():
        share = builder.numbers.read(values[0]) if values else None
        if share is not None and "%" in (label[0], label[-1]):
            builder.efficiency_pct.setdefault(label, share)


def thread_activity(table: ReportTable, builder: ReportBuilder) -> None:
    """Read statistics that are printed per hour, such as ``log switches (derived)``."""
    name, total, hourly = table.index("statistic"), table.index("total"), table.index("per hour")
    if name is None or hourly is None:
        builder.cannot_read(table)
        return
    for row in table.rows:
        stat = HourlyStat(builder.number(table, row, total), builder.number(table, row, hourly))
        if stat.total or stat.per_hour:
            builder.thread_activity.setdefault(cell(row, name), stat)


def tablespaces(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the I/O of tablespaces.

    Tables with single-block reads have their figures in another order than their headings: writes, single-block reads
    per second and their time stand under "1-bk Rds/s", "Av 1-bk Rd" and "Writes". Writes per second are in place.
    """
    _places(table, builder, builder.tablespaces, misprinted=table.index("1-bk rds/s") is not None)


def files(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the I/O of data files."""
    _places(table, builder, builder.files)


def _places(table: ReportTable, builder: ReportBuilder, listed: list[FileIo], misprinted: bool = False) -> None:
    name, file, reads = table.index("tablespace"), table.index("filename"), table.index("reads")
    if name is None or reads is None:
        builder.cannot_read(table)
        return
    read_time, wait_time = table.index(r"av rd( ?\(\w+\))?"), table.index(r"av buf ?wt( ?\(\w+\))?")
    reads_per_s, blocks = table.index(r"av r(ea)?ds ?/s"), table.index("av blks/rd")
    writes, writes_per_s = table.index("writes"), table.index("av writes/s", "writes avg/s")
    waits = table.index("buffer waits")
    for row in table.rows:
        if not cell(row, name) or not cell(row, reads):
            continue
        place = FileIo(
            tablespace=cell(row, name),
            file=cell(row, file) or None,
            reads=builder.number(table, row, reads),
            reads_per_s=builder.number(table, row, reads_per_s),
            read_us=_time(table, builder, row, read_time),
            blocks_per_read=builder.number(table, row, blocks),
            writes=None if misprinted else builder.number(table, row, writes),
            writes_per_s=builder.number(table, row, writes_per_s),
            buffer_waits=builder.number(table, row, waits),
            buffer_wait_us=_time(table, builder, row, wait_time),
        )
        listed.append(place)


def _time(table: ReportTable, builder: ReportBuilder, row: tuple[str, ...], at: int | None) -> Number | None:
    unit = _UNIT.search(plain(table.columns[at])) if at is not None else None
    return None if cell(row, at) == "N/A" else builder.duration_us(table, row, at, unit[1] if unit else None)


def global_cache(table: ReportTable, builder: ReportBuilder) -> None:
    """Read labelled times and shares of the global cache, such as ``Avg global cache cr block receive time (ms)``."""
    for label, values in table.labelled():
        number = builder.numbers.read(values[0]) if values else None
        if number is None:
            continue
        unit = _UNIT.search(label)
        name = _GAIN.sub("", _UNIT.sub("", label))
        builder.global_cache.setdefault(name, number.scaled(US_PER[unit[1]]) if unit else number)


def global_latencies(table: ReportTable, builder: ReportBuilder) -> None:
    """Read times of the global cache from a global report: of each instance, for consistent-read and current blocks."""
    receive = [at for at, column in enumerate(table.columns) if plain(column).startswith("receive time")]
    for row in table.rows:
        for name, at in zip(("gc_cr_us", "gc_current_us"), receive, strict=False):
            unit = _UNIT.search(plain(table.columns[at]))
            builder.of_instance(table, row, name, at, US_PER[unit[1]] if unit else 1.0)
