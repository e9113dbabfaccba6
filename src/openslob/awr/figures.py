"""Readers of everything that is counted over the interval: load profile, activity, time model, I/O, OS, parameters."""

from __future__ import annotations

import re
from collections.abc import Callable

from openslob.awr.builder import ReportBuilder
from openslob.awr.model import HostCpu, IoRates, IoStat, OsStat, Parameter, Rate, Statistic
from openslob.awr.numbers import Number
from openslob.awr.tables import Table, cell, plain

# Label in the load profile, all versions -> name. Blocks, requests and bytes per second; MB are 2^20 bytes.
LOAD_PROFILE: tuple[tuple[str, str], ...] = (
    (r"db time ?\(s\)", "db_time"),
    (r"db cpu ?\(s\)", "db_cpu"),
    (r"background cpu ?\(s\)", "background_cpu"),
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
# Column of the global "System Statistics - Per Second" -> name in the load profile, and its unit's size.
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
_CONTAINER = re.compile(r"PDB: .*")  # a line below a parameter, of the container that set it
_FOOTNOTE = re.compile(r"\s*\[\d+\]$")
MB = 1024.0**2


def load_profile(table: Table, draft: ReportBuilder) -> None:
    """Per second and per transaction."""
    second, transaction = table.index("per second"), table.index("per transaction")
    if second is None:
        if table.columns:  # percentages stand below it, as labels without columns
            draft.cannot_read(table)
        return
    for row in table.rows:
        label = plain(row[0])
        for pattern, name in LOAD_PROFILE:
            if re.fullmatch(pattern, label):
                rate = Rate(draft.number(table, row, second), draft.number(table, row, transaction))
                draft.load_profile.setdefault(name, rate)


def activity(table: Table, draft: ReportBuilder) -> None:
    """Instance activity. Absolute values and thread activity come under the same title; their headings differ."""
    name, total = table.index("statistic"), table.index("total")
    second, transaction = table.index("per second"), table.index("per trans")
    if name is None or total is None or second is None:
        return
    for row in table.rows:
        statistic = Statistic(*(draft.number(table, row, at) for at in (total, second, transaction)))
        label = cell(row, name)
        if not label or not (statistic.total or statistic.per_second) or label in draft.ambiguous:
            continue
        if draft.activity.setdefault(label, statistic) == statistic:
            continue
        del draft.activity[label]  # two statistics whose names are cut alike, or a damaged repetition
        draft.ambiguous.add(label)
        draft.missing[f"{table.section}: {label}"] = "listed more than once, with different figures"


def time_model(table: Table, draft: ReportBuilder) -> None:
    """Seconds by statistic; from 19c names may carry a footnote."""
    name, time = table.index("statistic name", "statistic"), table.index(r"time ?\(s\)")
    if name is None or time is None:
        draft.cannot_read(table)
        return
    for row in table.rows:
        seconds = draft.number(table, row, time)
        if seconds is not None:
            draft.time_model_s.setdefault(_FOOTNOTE.sub("", cell(row, name)), seconds)


def global_times(table: Table, draft: ReportBuilder) -> None:
    """Global reports: the time model, a row per instance and their sum."""
    row = _sum(table)
    for pattern, name in GLOBAL_TIMES:
        seconds = draft.number(table, row, table.index(pattern)) if row else None
        if seconds is not None:
            draft.time_model_s.setdefault(name, seconds)


def global_rates(table: Table, draft: ReportBuilder) -> None:
    """Global reports: what stands for a load profile. Redo is in units of 1024 bytes."""
    row = _sum(table)
    for pattern, name, size in GLOBAL_RATES:
        number = draft.number(table, row, table.index(pattern)) if row else None
        if number is not None:
            rate = Rate(number.scaled(size), origin="System Statistics - Per Second")
            draft.load_profile.setdefault(name, rate)


def _sum(table: Table) -> tuple[str, ...] | None:
    """The row of the whole cluster: ``Sum``, or the only instance."""
    for row in table.rows:
        if row[0].lower() == "sum":
            return row
    listed = [row for row in table.rows if row[0].isdigit()]
    return listed[0] if len(listed) == 1 else None


def io_profile(table: Table, draft: ReportBuilder) -> None:
    """Requests, MB and blocks per second, by purpose."""
    columns = (r"read ?\+ ?write.*", r"reads?( ?per |/)s.*", r"writes?( ?per |/)s.*")
    total, read, write = (table.index(pattern) for pattern in columns)
    if total is None:
        draft.cannot_read(table)
        return
    for row in table.rows:
        rates = IoRates(*(draft.number(table, row, at) for at in (total, read, write)))
        draft.io_profile.setdefault(plain(row[0]), rates)


def iostat(target: str) -> Callable[[Table, ReportBuilder], None]:
    """A reader of ``IOStat by Function`` or ``by Filetype``; it comes with reads in three columns, then writes."""

    def read(table: Table, draft: ReportBuilder) -> None:
        requests = _indices(table, r".*re(q|que)sts?( ?per ?| ?/)s(ec)?|.*reqs? per sec|(read|write)s/s")
        data = _indices(table, r".*data( vol| per)?( ?per ?| ?/| )sec|(read|write) mb/s")
        waits, average = table.index(r".*count"), table.index(r".*avg ?(time|tm).*")
        small, large = table.index(r".*small ?read.*"), table.index(r".*large ?read.*")
        name, instance = table.index(r"(function|filetype).*"), table.index("i#")
        if name is None or len(requests) != 2 or len(data) != 2:
            draft.cannot_read(table)
            return
        unit = _heading_unit(table, average)
        listed = draft.iostat_functions if target == "functions" else draft.iostat_filetypes
        for row in table.rows:
            if cell(row, instance) in ("", "*") and cell(row, name):
                stat = IoStat(
                    name=cell(row, name).rstrip(":"),
                    read_requests_per_s=draft.number(table, row, requests[0]),
                    write_requests_per_s=draft.number(table, row, requests[1]),
                    read_mb_per_s=_megabytes(draft, table, row, data[0]),
                    write_mb_per_s=_megabytes(draft, table, row, data[1]),
                    waits=draft.number(table, row, waits),
                    avg_us=draft.duration_us(table, row, average, unit),
                    small_read_us=draft.duration_us(table, row, small, unit or "ms"),
                    large_read_us=draft.duration_us(table, row, large, unit or "ms"),
                )
                listed.append(stat)

    return read


def _indices(table: Table, pattern: str) -> list[int]:
    return [at for at, column in enumerate(table.columns) if re.fullmatch(pattern, plain(column))]


def _heading_unit(table: Table, at: int | None) -> str | None:
    return "ms" if at is not None and "(ms)" in plain(table.columns[at]) else None


def _megabytes(draft: ReportBuilder, table: Table, row: tuple[str, ...], at: int) -> Number | None:
    """``.801M`` and ``.801`` are 0.801 MB: 11.2 and global reports print no letter."""
    text = cell(row, at)
    number = draft.numbers.read(text, thousand=1024.0)
    if number is None and text:
        draft.note(table, row, at, text)
    return number.scaled(1 / MB) if number is not None and text[-1:].isalpha() else number


def os_stats(table: Table, draft: ReportBuilder) -> None:
    """Operating system statistics; ``*_TIME`` are hundredths of a second over the interval."""
    name, value, end = table.index("statistic"), table.index("value", "total"), table.index("end value")
    if name is None or value is None:
        draft.cannot_read(table)
        return
    for row in table.rows:
        stat = OsStat(draft.number(table, row, value), draft.number(table, row, end))
        if cell(row, value) or cell(row, end):
            draft.os_stats.setdefault(cell(row, name), stat)


def limits(table: Table, draft: ReportBuilder) -> None:
    """Reports of a pluggable database: of its resource limits the CPUs it may use."""
    for label, values in table.labelled():
        if label == "cpus" and values:
            draft.set("cpus", draft.whole(values[0]))


def host_cpu(table: Table, draft: ReportBuilder) -> None:
    """The host's CPU in per cent."""
    if not table.rows or draft.host_cpu is not None:
        return
    headings = (r".*begin", r".*end", r"%?user", r"%?system", r"%?wio", r"%?idle")
    draft.host_cpu = HostCpu(*(draft.number(table, table.rows[0], table.index(h)) for h in headings))
    draft.set("cpus", draft.whole(cell(table.rows[0], table.index("cpus"))))


def parameters(table: Table, draft: ReportBuilder) -> None:
    """init.ora parameters; a text value goes on in the next line."""
    name, begin = table.index("parameter name"), table.index("begin value")
    end, instance = table.index("end value.*"), table.index("i#")
    if name is None or begin is None:
        draft.cannot_read(table)
        return
    last = ""
    for row in table.rows:
        if _CONTAINER.fullmatch(cell(row, name)):
            continue
        if cell(row, name):
            last = cell(row, name)
            parameter = Parameter(cell(row, begin), cell(row, end), cell(row, instance) or "*")
            draft.parameters.setdefault(last, parameter)
        elif last and cell(row, begin):
            known = draft.parameters[last]
            draft.parameters[last] = Parameter(known.begin + cell(row, begin), known.end, known.instance)
