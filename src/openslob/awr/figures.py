"""Readers of figures over the interval: load profile, activity, time model, I/O, OS statistics, parameters.

Also of wait classes, efficiency, log switches, tablespaces and files, and of a cluster's global cache.
"""

from __future__ import annotations

import re
from functools import lru_cache

from openslob.awr import header
from openslob.awr.builder import ReportBuilder
from openslob.awr.model import (
    FileIo,
    HostCpu,
    HourlyStat,
    InitParameter,
    IoRates,
    IoStat,
    OsStat,
    Rate,
    Scope,
    Statistic,
    WaitEvent,
)
from openslob.awr.numbers import US_PER, Number
from openslob.awr.rates import IO_SECONDS
from openslob.awr.sections import PDB
from openslob.awr.tables import ReportTable, cell, plain

# Label in the load profile of any version -> name. Blocks, requests and bytes per second; MB are 2^20 bytes.
LOAD_PROFILE: tuple[tuple[str, str], ...] = (
    (r"db time( ?\(s\))?", "db_time"),
    (r"db cpu ?\(s\)|cpu time", "db_cpu"),
    (r"background cpu( ?\(s\)| time)", "background_cpu"),
    (r"redo size( \(bytes\))?", "redo_size"),
    (r"logical reads?( \(blocks\))?", "logical_reads"),
    (r"block changes", "block_changes"),
    (r"physical reads?( \(blocks\))?", "physical_reads"),
    (r"physical writes?( \(blocks\))?", "physical_writes"),
    (r"read io requests", "read_io_requests"),
    (r"write io requests", "write_io_requests"),
    (r"read io \(mb\)", "read_io_mb"),
    (r"write io \(mb\)", "write_io_mb"),
    (r"im scan rows", "im_scan_rows"),
    (r"session logical read im", "session_logical_read_im"),
    (r"(rac gc|global cache) blocks received", "gc_blocks_received"),
    (r"(rac gc|global cache) blocks served", "gc_blocks_served"),
    (r"user calls", "user_calls"),
    (r"parses( \(sql\))?", "parses"),
    (r"hard parses( \(sql\))?", "hard_parses"),
    (r"sorts", "sorts"),
    (r"w/a mb processed|sql work area \(mb\)", "work_area_mb"),
    (r"logons", "logons"),
    (r"user logons", "user_logons"),
    (r"executes( \(sql\))?", "executes"),
    (r"rollbacks", "rollbacks"),
    (r"transactions", "transactions"),
)
# Column of the global "System Statistics - Per Second" -> name in the load profile, factor.
GLOBAL_RATES: tuple[tuple[str, str, float], ...] = (
    (r"logical reads ?/s", "logical_reads", 1.0),
    (r"physical reads ?/s", "physical_reads", 1.0),
    (r"physical writes ?/s", "physical_writes", 1.0),
    (r"redo size ?\(k\) ?/s", "redo_size", 1024.0),
    (r"block changes ?/s", "block_changes", 1.0),
    (r"user calls ?/s", "user_calls", 1.0),
    (r"execs ?/s", "executes", 1.0),
    (r"parses ?/s", "parses", 1.0),
    (r"logons ?/s", "logons", 1.0),
    (r"txns ?/s", "transactions", 1.0),
)
# Column of the global "Time Model" -> name of the statistic.
GLOBAL_TIMES: tuple[tuple[str, str], ...] = (
    (r"db time ?\(s\)", "DB time"),
    (r"db cpu ?\(s\)", "DB CPU"),
    (r"sql exec ela ?\(s\)", "sql execute elapsed time"),
    (r"parse ela ?\(s\)", "parse time elapsed"),
    (r"hard parse ela ?\(s\)", "hard parse elapsed time"),
    (r"bg time ?\(s\)", "background elapsed time"),
    (r"bg cpu ?\(s\)", "background cpu time"),
)
# Figures of an instance's I/O, in the order of the columns of a global report up to 12.1.
_TOTALS = ("read_mb_per_s", "write_mb_per_s", "read_requests_per_s", "write_requests_per_s")
_CONTAINER = re.compile(r"PDB: .*")  # a line below a parameter: the container that set it
_FOOTNOTE = re.compile(r"\s*\[\d+\]$")
# Column of the global "Foreground Wait Classes" -> name of the class.
GLOBAL_CLASSES: tuple[tuple[str, str], ...] = (
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
MB = 1024.0**2


def read_load_profile(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the load profile, per second and per transaction."""
    second, transaction = table.index("per second"), table.index("per transaction")
    if second is None:
        if table.columns:  # efficiency percentages below it are labels without columns
            builder.cannot_read(table)
        return
    for row in table.rows:
        name = _rate_name(plain(row[0]))
        if name is not None:
            rate = Rate(builder.number(table, row, second), builder.number(table, row, transaction))
            builder.load_profile.setdefault(name, rate)


@lru_cache(maxsize=512)
def _rate_name(label: str) -> str | None:
    return next((name for pattern, name in LOAD_PROFILE if re.fullmatch(pattern, label)), None)


def read_activity(table: ReportTable, builder: ReportBuilder) -> None:
    """Read instance activity. Absolute values and thread activity have the same title but other headings."""
    name, total = table.index("statistic"), table.index("total")
    second, transaction = table.index("per second"), table.index("per trans")
    if table.index("per hour") is not None:  # Statspack prints thread activity under the same title
        read_thread_activity(table, builder)
    if name is None or total is None or second is None:
        return
    for row in table.rows:
        statistic = Statistic(*(builder.number(table, row, at) for at in (total, second, transaction)))
        label = cell(row, name)
        if not label or not (statistic.total or statistic.per_second) or label in builder.ambiguous:
            continue
        if builder.activity.setdefault(label, statistic) == statistic:
            continue
        del builder.activity[label]  # two statistics with the same cut name, or a damaged repetition
        builder.ambiguous.add(label)
        builder.missing[f"{table.section}: {label}"] = "listed more than once, with different figures"


def read_time_model(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the time model in seconds. From 19c on, names may have a footnote mark."""
    name, time = table.index("statistic name", "statistic"), table.index(r"time ?\(s\)")
    if name is None or time is None:
        builder.cannot_read(table)
        return
    for row in table.rows:
        seconds = builder.number(table, row, time)
        if seconds is not None:
            builder.time_model_s.setdefault(_FOOTNOTE.sub("", cell(row, name)), seconds)


def read_global_times(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the time model of a global report, which has a row per instance and a sum."""
    row = table.of_cluster()
    for pattern, name in GLOBAL_TIMES:
        column = table.index(pattern)
        for instance in table.rows:
            builder.of_instance(table, instance, name, column)
        seconds = builder.number(table, row, column) if row else None
        if seconds is not None:
            builder.time_model_s.setdefault(name, seconds)


def read_global_rates(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the rates that replace the load profile in a global report. Redo is in units of 1024 bytes."""
    row = table.of_cluster()
    for pattern, name, size in GLOBAL_RATES:
        column = table.index(pattern)
        for instance in table.rows:
            builder.of_instance(table, instance, name, column, size)
        number = builder.number(table, row, column) if row else None
        if number is not None:
            rate = Rate(number.scaled(size), origin="System Statistics - Per Second")
            builder.load_profile.setdefault(name, rate)


def read_io_profile(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the I/O profile: requests, MB and blocks per second, by purpose."""
    columns = (r"read ?\+ ?write.*", r"reads?( ?per |/)s.*", r"writes?( ?per |/)s.*")
    total, read, write = (table.index(pattern) for pattern in columns)
    if total is None:
        builder.cannot_read(table)
        return
    for row in table.rows:
        rates = IoRates(*(builder.number(table, row, at) for at in (total, read, write)))
        builder.io_profile.setdefault(plain(row[0]), rates)


def read_iostat(target: str, table: ReportTable, builder: ReportBuilder) -> None:
    """Read ``IOStat by Function`` or ``by Filetype``, whose columns are reads first, then writes."""
    requests = _indices(table, r".*re(q|que)sts?( ?per ?| ?/)s(ec)?|.*reqs? per sec|(read|write)s/s")
    data = _indices(table, r".*data( vol| per)?( ?per ?| ?/| )sec|(read|write) mb/s")
    waits, average = table.index(r".*count"), table.index(r".*avg ?(time|tm).*")
    small, large = table.index(r".*small ?read.*"), table.index(r".*large ?read.*")
    name = table.index(r"(function|filetype).*")
    if name is None and _by_instance(table, builder, target):
        return
    if name is None or len(requests) != 2 or len(data) != 2:
        builder.cannot_read(table)
        return
    unit, count, both = _heading_unit(table, average), table.index("total"), table.index(r"ios ?/ ?s")
    listed = builder.iostat_functions if target == "functions" else builder.iostat_filetypes
    for instance, row in table.by_instance():
        if target == "filetypes" and cell(row, name).rstrip(":").lower() == "total":
            for figure, at in zip(_TOTALS, (data[0], data[1], requests[0], requests[1]), strict=True):
                builder.of_instance(table, row, figure, at)
            in_all, per_s = (builder.numbers.read(cell(row, at)) for at in (count, both))
            if in_all and per_s and per_s.value > 0 and row[0].isdecimal() and int(row[0]) in builder.per_instance:
                seconds = in_all.value / per_s.value
                divisor = Number(seconds, (in_all.step + seconds * per_s.step) / per_s.value)
                builder.per_instance[int(row[0])].setdefault(IO_SECONDS, divisor)
        if instance in ("", "*") and cell(row, name):
            stat = IoStat(
                name=cell(row, name).rstrip(":"),
                read_requests_per_s=builder.number(table, row, requests[0]),
                write_requests_per_s=builder.number(table, row, requests[1]),
                read_mb_per_s=_megabytes(builder, table, row, data[0]),
                write_mb_per_s=_megabytes(builder, table, row, data[1]),
                waits=builder.number(table, row, waits),
                avg_us=builder.duration_us(table, row, average, unit),
                small_read_us=builder.duration_us(table, row, small, unit or "ms"),
                large_read_us=builder.duration_us(table, row, large, unit or "ms"),
            )
            listed.append(stat)


def _by_instance(table: ReportTable, builder: ReportBuilder, target: str) -> bool:
    """Read the I/O of a global report up to 12.1: a row for each instance, and columns in four groups.

    The groups are MB read, MB written, reads and writes, per second; each begins with ``Total``. Return whether the
    table has this form.
    """
    starts = [at for at, column in enumerate(table.columns) if plain(column) == "total"]
    if table.index("i#") != 0 or len(starts) != len(_TOTALS):
        return False
    row = table.of_cluster()
    found: dict[str, dict[str, Number | None]] = {}
    for figure, start, end in zip(_TOTALS, starts, [*starts[1:], len(table.columns)], strict=True):
        if target == "filetypes":
            for instance in table.rows:
                builder.of_instance(table, instance, figure, start)
        for at in range(start, end):
            found.setdefault(table.columns[at], {})[figure] = builder.number(table, row, at) if row else None
    listed = builder.iostat_functions if target == "functions" else builder.iostat_filetypes
    listed.extend(IoStat(name, **figures) for name, figures in found.items())
    return True


def _indices(table: ReportTable, pattern: str) -> list[int]:
    return [at for at, column in enumerate(table.columns) if re.fullmatch(pattern, plain(column))]


def _heading_unit(table: ReportTable, at: int | None) -> str | None:
    return "ms" if at is not None and "(ms)" in plain(table.columns[at]) else None


def _megabytes(builder: ReportBuilder, table: ReportTable, row: tuple[str, ...], at: int) -> Number | None:
    """Return MB: both ``.801M`` and ``.801`` are 0.801 MB, as 11.2 and global reports print no letter."""
    text = cell(row, at)
    number = builder.numbers.read(text, thousand=1024.0)
    if number is None and text:
        builder.note(table, row, at, text)
    return number.scaled(1 / MB) if number is not None and text[-1:].isalpha() else number


def read_os_stats(table: ReportTable, builder: ReportBuilder) -> None:
    """Read operating system statistics. ``*_TIME`` are hundredths of a second over the interval."""
    name, value, end = table.index("statistic"), table.index("value", "total"), table.index("end value")
    if name is None or value is None:
        builder.cannot_read(table)
        return
    for row in table.rows:
        stat = OsStat(builder.number(table, row, value), builder.number(table, row, end))
        if cell(row, value) or cell(row, end):
            builder.os_stats.setdefault(cell(row, name), stat)


def read_limits(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the number of CPUs from the resource limits of a pluggable database."""
    for label, values in table.read_labels():
        if label == "cpus" and values:
            builder.set("cpus", builder.whole(values[0]))


def read_host_cpu(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the host's CPU in percent."""
    if not table.rows or builder.host_cpu is not None:
        return
    headings = (r".*begin", r".*end", r"%?user", r"%?system", r"%?wio", r"%?idle")
    builder.host_cpu = HostCpu(*(builder.number(table, table.rows[0], table.index(h)) for h in headings))
    builder.set("cpus", builder.whole(cell(table.rows[0], table.index("cpus"))))


def read_parameters(table: ReportTable, builder: ReportBuilder) -> None:
    """Read init.ora parameters. A long value continues on the next line."""
    name, begin = table.index("parameter name"), table.index("begin value")
    end, instance = table.index("end value.*"), table.index("i#")
    if name is None or begin is None:
        builder.cannot_read(table)
        return
    last = ""
    for row in table.rows:
        if _CONTAINER.fullmatch(cell(row, name)):
            continue
        if cell(row, name):
            last = cell(row, name) if cell(row, name) not in builder.parameters else ""  # the first value is kept
            parameter = InitParameter(cell(row, begin), cell(row, end), cell(row, instance) or "*")
            builder.parameters.setdefault(cell(row, name), parameter)
        elif cell(row, instance):
            last = ""  # the value of another instance, which may go on in the next line, too
        elif last and cell(row, begin):
            known = builder.parameters[last]
            builder.parameters[last] = InitParameter(known.begin + cell(row, begin), known.end, known.instance)


def read_wait_classes(scope: Scope, table: ReportTable, builder: ReportBuilder) -> None:
    """Read wait classes, of the foreground or of all processes."""
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


def read_global_wait_classes(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the wait classes of a global report: a row for each instance, a column for each class, times in seconds."""
    row = table.of_cluster()
    for pattern, name in GLOBAL_CLASSES:
        seconds = builder.number(table, row, table.index(pattern)) if row else None
        if seconds is not None:
            builder.wait_classes.append(WaitEvent(name, Scope.FOREGROUND, time_s=seconds))


def read_instance_hosts(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the hosts of a global report: CPUs of all of them, and the use of each."""
    header.read_hosts(table, builder)
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


def read_efficiency(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the efficiency of the instance, such as ``Buffer Hit %``. The shared pool's table below has columns."""
    if table.columns:
        return
    for label, values in table.read_labels():
        share = builder.numbers.read(values[0]) if values else None
        if share is not None and "%" in (label[0], label[-1]):
            builder.efficiency_pct.setdefault(label, share)


def read_thread_activity(table: ReportTable, builder: ReportBuilder) -> None:
    """Read statistics that are printed per hour, such as ``log switches (derived)``."""
    name, total, hourly = table.index("statistic"), table.index("total"), table.index("per hour")
    if name is None or hourly is None:
        builder.cannot_read(table)
        return
    for row in table.rows:
        stat = HourlyStat(builder.number(table, row, total), builder.number(table, row, hourly))
        if stat.total or stat.per_hour:
            builder.thread_activity.setdefault(cell(row, name), stat)


def read_tablespaces(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the I/O of tablespaces.

    Tables with single-block reads have their figures in another order than their headings: writes, single-block reads
    per second and their time stand under "1-bk Rds/s", "Av 1-bk Rd" and "Writes". Writes per second are in place.
    """
    _places(table, builder, builder.tablespaces, misprinted=table.index("1-bk rds/s") is not None)


def read_files(table: ReportTable, builder: ReportBuilder) -> None:
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
    waits, pdb = table.index("buffer waits"), table.index(PDB)
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
            pdb=cell(row, pdb) or None,
        )
        listed.append(place)


def _time(table: ReportTable, builder: ReportBuilder, row: tuple[str, ...], at: int | None) -> Number | None:
    unit = _UNIT.search(plain(table.columns[at])) if at is not None else None
    return None if cell(row, at) == "N/A" else builder.duration_us(table, row, at, unit[1] if unit else None)


def read_global_cache(table: ReportTable, builder: ReportBuilder) -> None:
    """Read labelled times and shares of the global cache, such as ``Avg global cache cr block receive time (ms)``."""
    for label, values in table.read_labels():
        number = builder.numbers.read(values[0]) if values else None
        if number is None:
            continue
        unit = _UNIT.search(label)
        name = _GAIN.sub("", _UNIT.sub("", label))
        builder.global_cache.setdefault(name, number.scaled(US_PER[unit[1]]) if unit else number)


def read_global_latencies(table: ReportTable, builder: ReportBuilder) -> None:
    """Read times of the global cache from a global report: of each instance, for consistent-read and current blocks."""
    receive = [at for at, column in enumerate(table.columns) if plain(column).startswith("receive time")]
    for row in table.rows:
        for name, at in zip(("gc_cr_us", "gc_current_us"), receive, strict=False):
            unit = _UNIT.search(plain(table.columns[at]))
            builder.of_instance(table, row, name, at, US_PER[unit[1]] if unit else 1.0)
