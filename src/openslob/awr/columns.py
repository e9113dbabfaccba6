"""Columns of a report: name, unit, section, meaning, and the path by which a reader finds the figure.

`COLUMNS` has those with names of their own; ``PREFIX:NAME`` or ``PREFIX:NAME:FIGURE``, as in
``event:log file sync:waits``, stands for any figure that a report lists by name. ``docs/awr.md`` contains both as
tables, and a test compares them. If a report has no value for a column, the cell says why; a column with several
sources says which one was used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from openslob.awr import awr_info, cells, wait_cells
from openslob.awr.cells import ColumnReader, ColumnValue, Subject
from openslob.awr.model import Report
from openslob.awr.wait_cells import BACKGROUND, CLASS, EITHER, FOREGROUND
from openslob.core.cpu_figures import BACKGROUND_CPU, FOREGROUND_CPU, IOPS_PER_FOREGROUND_CPU
from openslob.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``unit`` is empty for text and counts; ``section`` is the part of the report it is read from.

    ``path`` is what the reader needs to know beside the report, such as the name of a statistic.
    """

    name: str
    unit: str
    section: str
    meaning: str
    reader: ColumnReader
    path: tuple[object, ...] = ()

    def read(self, subject: Subject) -> ColumnValue:
        """Return the column's value in a report, or why it has none."""
        return self.reader(subject, *self.path)


_HEAD, _LOAD, _TIME, _ACTIVITY = "Header", "Load Profile", "Time Model Statistics", "Instance Activity Stats"
_FOREGROUND, _BACKGROUND, _FILE = "Foreground Wait Events", "Background Wait Events", "file name"
_TOP, _EFFICIENCY = "Top Timed Events", "Instance Efficiency Percentages"
_THREAD, _OS = "Instance Activity Stats - Thread Activity", "Operating System Statistics"
_CLASS, _CPU, _HISTOGRAM = "Foreground Wait Class", "Host CPU", "Wait Event Histogram"
_CACHE, _GC = "Global Cache Load Profile", "Global Cache and Enqueue Services"
_BY_FUNCTION, _BY_FILETYPE = "IOStat by Function", "IOStat by Filetype"
MB_PER_S = "MB/s (2^20 bytes)"

# Events with columns of their own: beginning of the columns' names -> event, and whose waits they are.
_EVENTS: dict[str, tuple[str, str]] = {
    "dfsr": ("db file sequential read", FOREGROUND),
    "dpr": ("direct path read", FOREGROUND),
    "dfpr": ("db file parallel read", FOREGROUND),
    "dfscr": ("db file scattered read", FOREGROUND),
    "dpw": ("direct path write", FOREGROUND),
    "dprt": ("direct path read temp", FOREGROUND),
    "dpwt": ("direct path write temp", FOREGROUND),
    "lfs": ("log file sync", FOREGROUND),
    "dfpw": ("db file parallel write", BACKGROUND),
    "lfpw": ("log file parallel write", BACKGROUND),
    "lfsr": ("log file sequential read", BACKGROUND),
}
_CLASSES = ("Administrative", "Application", "Cluster", "Commit", "Concurrency", "Configuration", "Network", "Other",
            "Scheduler", "System I/O", "User I/O")  # fmt: skip
_EDGES = ("512us", "1ms", "2ms", "4ms", "8ms", "16ms", "32ms", "1s")
_RANKS = range(1, 6)  # of the longest waits
# NamedFigure of a wait -> unit and meaning.
_WAIT_FIGURES = {"waits": ("", "waits"), "s": ("s", "time"), "us": ("us", "mean latency"),
                 "pct": ("%", "share of DB time")}  # fmt: skip


class NamedFigure(NamedTuple):
    """A figure of what is found by name: its unit, and the reader whose path begins with the name."""

    unit: str
    reader: ColumnReader
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prefix:
    """A kind of figures. ``figures`` has them by the last part of a column's name; the first is the default.

    ``names`` returns the names that a report lists. ``example`` is what may follow the prefix.
    """

    section: str
    meaning: str
    figures: Mapping[str, NamedFigure]
    names: Callable[[Report], Iterable[str]]
    example: str

    @property
    def unit(self) -> str:
        """Unit of the default figure. A prefix without figures is that of histograms, which have shares."""
        return next((figure.unit for figure in self.figures.values()), "%")


def _wait_figures(whose: str) -> dict[str, NamedFigure]:
    units = {"us": "us", "waits": "", "s": "s", "pct": "%", "from": ""}
    return {figure: NamedFigure(unit, wait_cells.read_wait, (whose, figure)) for figure, unit in units.items()}


def _io_figures(section: str, others: Mapping[str, tuple[str, str]]) -> dict[str, NamedFigure]:
    figures = {
        "reads": ("requests/s", "read_requests_per_s"),
        "writes": ("requests/s", "write_requests_per_s"),
        "read_mb": (MB_PER_S, "read_mb_per_s"),
        "write_mb": (MB_PER_S, "write_mb_per_s"),
        **others,
    }
    return {key: NamedFigure(unit, cells.read_iostat, (section, field)) for key, (unit, field) in figures.items()}


# NamedFigure of a tablespace or file -> unit.
_PLACE = {"read_us": "us", "reads": "", "reads_per_s": "1/s", "blocks_per_read": "blocks/read", "writes": "",
          "writes_per_s": "1/s", "buffer_waits": "", "buffer_wait_us": "us"}  # fmt: skip


def _place_figures(reader: ColumnReader) -> dict[str, NamedFigure]:
    return {figure: NamedFigure(unit, reader, (figure,)) for figure, unit in _PLACE.items()}


PREFIXES: dict[str, Prefix] = {
    "stat": Prefix(
        _ACTIVITY,
        "a statistic",
        {
            "per_s": NamedFigure("1/s", cells.read_activity),
            "total": NamedFigure("", cells.read_activity, ("total",)),
            "per_trans": NamedFigure("1/transaction", cells.read_activity, ("per_transaction",)),
        },
        lambda report: report.activity,
        "physical reads cache",
    ),
    "total": Prefix(
        _ACTIVITY, "a statistic, in all", {"total": NamedFigure("", cells.read_activity, ("total",))},
        lambda report: report.activity,
        "user commits",
    ),
    "event": Prefix(
        f"{_FOREGROUND}, else {_BACKGROUND}", "a wait event", _wait_figures(EITHER),
        lambda report: dict.fromkeys(event.name for event in report.events),
        "log file sync:waits",
    ),
    "background": Prefix(
        _BACKGROUND, "a wait event of background processes", _wait_figures(BACKGROUND),
        lambda report: dict.fromkeys(event.name for event in report.events),
        "log file parallel write:us",
    ),
    "waits": Prefix(
        _FOREGROUND, "waits for a wait event", {"waits": NamedFigure("", wait_cells.read_wait, (FOREGROUND, "waits"))},
        lambda report: dict.fromkeys(event.name for event in report.events),
        "log file sync",
    ),
    "histogram": Prefix(
        _HISTOGRAM,
        "share of an event's waits that were shorter than a time, such as 1ms, at the end of the name",
        {},
        lambda report: (histogram.name for histogram in report.histograms),
        "db file sequential read:1ms",
    ),
    "class": Prefix(
        _CLASS,
        "a wait class",
        {
            "s": NamedFigure("s", wait_cells.read_wait, (CLASS, "s")),
            "waits": NamedFigure("", wait_cells.read_wait, (CLASS, "waits")),
            "us": NamedFigure("us", wait_cells.read_wait, (CLASS, "us")),
            "pct": NamedFigure("%", wait_cells.read_class_share),
        },
        lambda report: dict.fromkeys(found.name for found in report.wait_classes),
        "User I/O:s",
    ),
    "time": Prefix(
        _TIME, "a statistic of the time model", {"s": NamedFigure("s", cells.read_seconds)},
        lambda report: report.time_model_s,
        "sql execute elapsed time",
    ),
    "function": Prefix(
        _BY_FUNCTION, "I/O of a function",
        _io_figures("iostat_functions", {"waits": ("", "waits"), "us": ("us", "avg_us")}),
        lambda report: (one.name for one in report.iostat_functions),
        "LGWR:write_mb",
    ),
    "filetype": Prefix(
        _BY_FILETYPE, "I/O to files of a type",
        _io_figures("iostat_filetypes", {name: ("us", name) for name in ("small_read_us", "large_read_us")}),
        lambda report: (one.name for one in report.iostat_filetypes),
        "Data File:small_read_us",
    ),
    "tablespace": Prefix(
        "Tablespace IO Stats", "I/O of a tablespace, by its name or PDB:NAME", _place_figures(cells.read_tablespace),
        cells.name_tablespaces,
        "USERS:read_us",
    ),
    "datafile": Prefix(
        "File IO Stats", "I/O of a file, by its path or the last part of it", _place_figures(cells.read_data_file),
        lambda report: (place.file or "" for place in report.files),
        "users01.dbf:read_us",
    ),
    "os": Prefix(
        _OS,
        "a statistic of the operating system; *_TIME are 1/100 s",
        {name: NamedFigure("", cells.read_os_statistic, (name,)) for name in ("value", "end")},
        lambda report: report.os_stats,
        "BUSY_TIME",
    ),
    "efficiency": Prefix(
        _EFFICIENCY, "an efficiency", {"pct": NamedFigure("%", cells.read_listed, ("efficiency_pct",))},
        lambda report: report.efficiency_pct,
        "latch hit %",
    ),
    "thread": Prefix(
        _THREAD,
        "a statistic of thread activity",
        {
            "total": NamedFigure("", cells.read_hourly, ("total",)),
            "per_hour": NamedFigure("1/h", cells.read_hourly, ("per_hour",)),
        },
        lambda report: report.thread_activity,
        "log switches:per_hour",
    ),
    "gc": Prefix(
        _GC,
        "a time or, with % in its name, a share of the global cache",
        {"us": NamedFigure("us", cells.read_listed, ("global_cache",))},
        lambda report: report.global_cache,
        "cr block receive time",
    ),
    "parameter": Prefix(
        "init.ora Parameters", "a parameter at the first snapshot", {"value": NamedFigure("", cells.read_parameter)},
        lambda report: report.parameters,
        "cpu_count",
    ),
    "awr_info": Prefix(
        "as awr_info.sh", "what SLOB's script prints under a heading, in its digits",
        {"figure": NamedFigure("", awr_info.read)},
        lambda _report: awr_info.HEADINGS,
        "PREADS",
    ),
}  # fmt: skip


def _column(name: str, unit: str, section: str, meaning: str, reader: ColumnReader, *path: object) -> Column:
    return Column(name, unit, section, meaning, reader, path)


def _event_column(short: str, figure: str) -> Column:
    (event, whose), (unit, what) = _EVENTS[short], _WAIT_FIGURES[figure]
    section, meaning = (
        _BACKGROUND if whose == BACKGROUND else _FOREGROUND,
        event if figure == "us" else f"{event}: {what}",
    )
    return _column(f"{short}_{figure}", unit, section, meaning, wait_cells.read_wait, event, whose, figure)


_COLUMNS: tuple[Column, ...] = (
    _column("file", "", _FILE, "the report's file, as it was given", cells.read_path),
    _column("sessions", "", _FILE, "sessions that made the load: writers and readers",
            cells.read_file_name, "sessions"),
    _column("writers", "", _FILE, "sessions that update", cells.read_file_name, "writers"),
    _column("readers", "", _FILE, "sessions that only read", cells.read_file_name, "readers"),
    _column("group", "", _FILE, "the name without its session count", cells.read_file_name, "group"),
    _column("kind", "", _HEAD, "awr, awr_pdb, awr_rac_global, statspack or awr_compare_period", cells.read_kind),
    _column("db_name", "", _HEAD, "database name", cells.read_header, "db_name", "DB Name"),
    _column("pdb_name", "", _HEAD, "the container that the report covers: a pluggable database or CDB$ROOT",
            cells.read_header, "pdb_name", "Container Name"),
    _column("instance", "", _HEAD, "instance name, of a global report all of them",
            cells.read_instances, "name", "Instance"),
    _column("host", "", _HEAD, "host name, of a global report all of them", cells.read_host),
    _column("platform", "", _HEAD, "operating system", cells.read_header, "platform", "Platform"),
    _column("release", "", _HEAD, "release of the database", cells.read_header, "release", "Release"),
    _column("rac", "", _HEAD, "whether the database is a cluster", cells.read_header, "rac", "RAC"),
    _column("cpus", "", _HEAD, "logical CPUs, of a global report of all hosts", cells.read_header, "cpus", "CPUs"),
    _column("cores", "", _HEAD, "CPU cores, of a global report of all hosts", cells.read_header, "cores", "Cores"),
    _column("memory_gb", "GB (2^30 bytes)", _HEAD, "memory of the host", cells.read_header, "memory_gb", "Memory"),
    _column("block_size", "bytes", "Cache Sizes", "standard block size", cells.read_block_size),
    _column("begin_snap", "", _HEAD, "first snapshot", cells.read_header, "begin_snap", "Begin Snap"),
    _column("end_snap", "", _HEAD, "last snapshot", cells.read_header, "end_snap", "End Snap"),
    _column("begin_time", "", _HEAD, "time of the first snapshot", cells.read_header, "begin_time", "Begin Snap"),
    _column("end_time", "", _HEAD, "time of the last snapshot", cells.read_header, "end_time", "End Snap"),
    _column("elapsed_s", "s", _HEAD, "time between the snapshots", cells.read_elapsed),
    _column("db_time_s", "s", _TIME, "DB time in all", cells.read_db_time_s),
    _column("db_time", "s/s", _LOAD, "DB time per second: sessions active on average", cells.read_db_time),
    _column("db_cpu", "s/s", _LOAD, FOREGROUND_CPU.meaning,
            cells.read_over_elapsed, "db_cpu", "DB CPU"),
    _column("background_cpu", "s/s", _LOAD, BACKGROUND_CPU.meaning, cells.read_load, "background_cpu"),
    _column("executes", "1/s", _LOAD, "SQL executions", cells.read_load, "executes"),
    _column("user_calls", "1/s", _LOAD, "calls of clients", cells.read_load, "user_calls"),
    _column("transactions", "1/s", _LOAD, "commits and rollbacks", cells.read_load, "transactions"),
    _column("parses", "1/s", _LOAD, "parses", cells.read_load, "parses"),
    _column("hard_parses", "1/s", _LOAD, "hard parses", cells.read_load, "hard_parses"),
    _column("logons", "1/s", _LOAD, "logons", cells.read_load, "logons"),
    _column("lio", "blocks/s", _LOAD, "logical reads", cells.read_load, "logical_reads"),
    _column("block_changes", "blocks/s", _LOAD, "block changes", cells.read_load, "block_changes"),
    _column("physical_reads", "blocks/s", _LOAD, "physical reads (not requests)", cells.read_load, "physical_reads"),
    _column("physical_writes", "blocks/s", _LOAD, "physical writes (not requests)", cells.read_load, "physical_writes"),
    _column("redo_mb_per_s", MB_PER_S, _LOAD, "redo generated", cells.read_redo_mb),
    _column("preads", "requests/s", _ACTIVITY, "physical read total IO requests", cells.read_requests, "read"),
    _column("pwrites", "requests/s", _ACTIVITY, "physical write total IO requests", cells.read_requests, "write"),
    _column("iops", "requests/s", _ACTIVITY, "preads + pwrites", cells.read_iops),
    _column("read_mb_per_s", MB_PER_S, _ACTIVITY, "physical read total bytes", cells.read_megabytes, "read"),
    _column("write_mb_per_s", MB_PER_S, _ACTIVITY, "physical write total bytes", cells.read_megabytes, "write"),
    _column("mb_per_s", MB_PER_S, _ACTIVITY, "read_mb_per_s + write_mb_per_s", cells.read_mb_per_s),
    _column("db_preads", "requests/s", _ACTIVITY, "physical read IO requests, without those of Oracle's own files",
            cells.read_activity, "physical read IO requests"),
    _column("db_pwrites", "requests/s", _ACTIVITY, "physical write IO requests, without those of Oracle's own files",
            cells.read_activity, "physical write IO requests"),
    _column("blocks_per_read", "blocks/request", _ACTIVITY, "physical reads / physical read IO requests",
            cells.read_blocks_per_request),
    _column("commits", "1/s", _ACTIVITY, "user commits", cells.read_activity, "user commits"),
    _column("redo_syncs", "1/s", _ACTIVITY, "redo synch writes: commits that waited for the log",
            cells.read_activity, "redo synch writes"),
    _column("iops_per_db_cpu", "requests/s", _ACTIVITY, "iops / DB CPU per second, from the time model's seconds",
            cells.read_per_db_cpu, cells.read_iops),
    _column("lio_per_db_cpu", "blocks/s", _LOAD, "logical reads / DB CPU per second",
            cells.read_per_db_cpu, cells.read_load, "logical_reads"),
    _column(IOPS_PER_FOREGROUND_CPU.name, IOPS_PER_FOREGROUND_CPU.unit, _ACTIVITY,
            f"db_preads / db_cpu: {IOPS_PER_FOREGROUND_CPU.meaning}",
            cells.read_per_db_cpu, cells.read_activity, "physical read IO requests"),
    _column("read_event", "", _FOREGROUND, "the single-block read event: db file sequential read, on Exadata "
            "cell single block physical read", wait_cells.read_single_block_read, "name"),
    _column("latency_us", "us", _FOREGROUND, "mean latency of read_event", wait_cells.read_single_block_read, "us"),
    _column("latency_from", "", _FOREGROUND, "where latency_us comes from: time/waits, printed average, histogram",
            wait_cells.read_single_block_read, "from"),
    *(_event_column(short, "us") for short in ("dfsr", "dpr", "dfpr", "dfscr", "lfs", "dfpw", "lfpw")),
    _column("host_idle_pct", "%", _CPU, "idle CPU of the host", cells.read_host_cpu, "idle_pct"),
    _column("top_wait", "", _TOP, "the longest wait (no CPU, no idle event): name, waits, s, us, % of DB time",
            wait_cells.read_top_wait),
    _column("verdicts_failed", "", "all", "verdicts that do not hold", cells.read_failed_verdicts),
    _column("warnings", "", "all", "how many figures of the report do not agree with each other", cells.read_warnings),
    _column("complete", "", "End of Report", "whether the report's end is there", cells.read_completeness),
    _column("instance_number", "", _HEAD, "number of the instance, of a global report those of all",
            cells.read_instances, "number", "Inst Num"),
    _column("unique_name", "", _HEAD, "unique name of the database", cells.read_header, "unique_name", "Unique Name"),
    _column("cdb", "", _HEAD, "whether it is a container database", cells.read_header, "cdb", "CDB"),
    _column("sockets", "", _HEAD, "CPU sockets", cells.read_header, "sockets", "Sockets"),
    _column("sessions_begin", "", _HEAD, "sessions of the instance at the first snapshot",
            cells.read_header, "sessions_begin", "Sessions"),
    _column("sessions_end", "", _HEAD, "sessions of the instance at the last snapshot",
            cells.read_header, "sessions_end", "Sessions"),
    _column("db_cpu_s", "s", _TIME, "DB CPU in all", cells.read_seconds, "DB CPU"),
    _column("db_cpu_pct", "%", _TIME, "DB CPU / DB time", cells.read_db_cpu_pct),
    _column("redo_writes", "requests/s", "IO Profile", "writes to the redo log", cells.read_redo_requests),
    *(
        _column(name, "%", _EFFICIENCY, label, cells.read_listed, label.lower(), "efficiency_pct")
        for name, label in (("buffer_hit_pct", "Buffer Hit %"), ("memory_sort_pct", "In-memory Sort %"),
                            ("library_hit_pct", "Library Hit %"), ("soft_parse_pct", "Soft Parse %"))
    ),
    _column("log_switches", "", _THREAD, "log switches in all", cells.read_hourly, "log switches", "total"),
    _column("log_switches_per_h", "1/h", _THREAD, "log switches", cells.read_hourly, "log switches", "per_hour"),
    _column("gc_received", "blocks/s", _CACHE, "blocks received from other instances",
            cells.read_cluster_blocks, "received"),
    _column("gc_served", "blocks/s", _CACHE, "blocks sent to other instances", cells.read_cluster_blocks, "served"),
    _column("gc_cr_us", "us", _GC, "mean time to receive a consistent-read block", cells.read_received_us, "cr"),
    _column("gc_current_us", "us", _GC, "mean time to receive a current block", cells.read_received_us, "current"),
    _column("host_busy_pct", "%", _CPU, "CPU time that was neither idle nor waiting for I/O", cells.read_host_busy),
    _column("host_user_pct", "%", _CPU, "CPU time of programs", cells.read_host_cpu, "user_pct"),
    _column("host_system_pct", "%", _CPU, "CPU time of the kernel", cells.read_host_cpu, "system_pct"),
    _column("host_iowait_pct", "%", _CPU, "CPU time waiting for I/O", cells.read_host_cpu, "wio_pct"),
    _column("load_begin", "", _CPU, "load average at the first snapshot", cells.read_host_cpu, "load_begin"),
    _column("load_end", "", _CPU, "load average at the last snapshot", cells.read_host_cpu, "load_end"),
    *(
        _column(f"os_{name.lower().removesuffix('_time')}_s", "s", _OS, f"{name}, in seconds",
                cells.read_os_seconds, name)
        for name in ("BUSY_TIME", "IDLE_TIME", "IOWAIT_TIME", "USER_TIME", "SYS_TIME", "NICE_TIME",
                     "OS_CPU_WAIT_TIME", "RSRC_MGR_CPU_WAIT_TIME")
    ),
    _column("datafile_read_us", "us", _BY_FILETYPE, "mean of small reads of data files",
            cells.read_iostat, "Data File", "iostat_filetypes", "small_read_us"),
)  # fmt: skip


def _top_columns() -> Iterable[Column]:
    figures = (
        ("event", "", "name", "name"),
        ("class", "", "wait class", "wait_class"),
        ("waits", "", "waits", "waits"),
        ("s", "s", "time", "time_s"),
        ("us", "us", "mean latency", "us"),
        ("pct", "%", "share of DB time", "share_pct"),
    )
    for rank in _RANKS:
        for figure, unit, what, path in figures:
            meaning = f"{what} of the wait number {rank} by time"
            yield _column(f"top{rank}_{figure}", unit, _TOP, meaning, wait_cells.read_top, rank, path)


def _class_columns() -> Iterable[Column]:
    for name in _CLASSES:
        short = name.lower().replace("/", "").replace(" ", "_")
        for key, figure in PREFIXES["class"].figures.items():
            meaning = f"wait class {name}: {_WAIT_FIGURES[key][1]}"
            yield Column(f"{short}_{key}", figure.unit, _CLASS, meaning, figure.reader, (name, *figure.path))


def _event_columns() -> Iterable[Column]:
    for short in _EVENTS:
        yield from (_event_column(short, figure) for figure in _WAIT_FIGURES)
    for short in ("dfsr", "lfpw"):
        event, _ = _EVENTS[short]
        for edge in _EDGES:
            meaning = f"{event}: share of waits shorter than {edge}"
            yield _column(f"{short}_below_{edge}", "%", _HISTOGRAM, meaning, wait_cells.read_share_below, event, edge)


COLUMNS: dict[str, Column] = {}
for _found in (*_COLUMNS, *_top_columns(), *_class_columns(), *_event_columns()):
    COLUMNS.setdefault(_found.name, _found)


def column_of(name: str) -> Column:
    """Return the column ``name``: one of the registry, or one for a figure, such as ``stat:physical reads cache``."""
    column = COLUMNS.get(name) or find_by_name(name)
    if column is None:
        raise UsageError(f"unknown column {name}")
    return column


def find_by_name(column: str) -> Column | None:
    """Return the column ``PREFIX:NAME`` or ``PREFIX:NAME:FIGURE``; None if the prefix is unknown or there is no name.

    The name may contain colons: only a known figure at the end is one.
    """
    key, _, rest = column.partition(":")
    prefix = PREFIXES.get(key)
    if prefix is None or not rest.strip():
        return None
    name, _, last = rest.rpartition(":")
    if key == "histogram":
        edge, meaning = last.strip(), f"share of waits shorter than {last.strip()}"
        if not name or not wait_cells.is_edge(edge):
            return None
        return _column(column, "%", prefix.section, meaning, wait_cells.read_share_below, name.strip(), edge)
    if not name or last not in prefix.figures:
        name, last = rest, next(iter(prefix.figures))
    figure = prefix.figures[last]
    unit = "%" if key == "gc" and "%" in name else figure.unit
    return _column(column, unit, prefix.section, prefix.meaning, figure.reader, name.strip(), *figure.path)
