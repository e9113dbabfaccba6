"""Registry of the columns that can be extracted from a report: name, unit, section, meaning and reader.

``docs/awr.md`` contains the registry as a table, and a test compares the two. If a report has no value for a column,
the cell says why; a column with several sources says which one was used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from openslob.awr.cells import ColumnReader, header, host, places, rates, waits
from openslob.awr.named import PREFIXES


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``unit`` is empty for text and counts; ``section`` is the part of the report it is read from."""

    name: str
    unit: str
    section: str
    meaning: str
    read: ColumnReader


_HEAD, _LOAD, _TIME, _ACTIVITY = "Header", "Load Profile", "Time Model Statistics", "Instance Activity Stats"
_FOREGROUND, _BACKGROUND, _FILE = "Foreground Wait Events", "Background Wait Events", "file name"
_TOP, _EFFICIENCY = "Top Timed Events", "Instance Efficiency Percentages"
_THREAD, _OS = "Instance Activity Stats - Thread Activity", "Operating System Statistics"
_CLASS = "Foreground Wait Class"
_CACHE, _GC = "Global Cache Load Profile", "Global Cache and Enqueue Services"
MB_PER_S = "MB/s (2^20 bytes)"


def _efficiency(name: str) -> ColumnReader:
    return places.listed(places.efficiency, _EFFICIENCY, name)


_COLUMNS: tuple[Column, ...] = (
    Column("file", "", _FILE, "the report's file, as it was given", header.file),
    Column("sessions", "", _FILE, "sessions that made the load: writers and readers", header.named("sessions")),
    Column("writers", "", _FILE, "sessions that update", header.named("writers")),
    Column("readers", "", _FILE, "sessions that only read", header.named("readers")),
    Column("group", "", _FILE, "the name without its session count", header.named("group")),
    Column("kind", "", _HEAD, "awr, awr_pdb, awr_rac_global or statspack", header.kind),
    Column("db_name", "", _HEAD, "database name", header.header("db_name", "DB Name")),
    Column("pdb_name", "", _HEAD, "the container that the report covers: a pluggable database or CDB$ROOT",
           header.header("pdb_name", "Container Name")),
    Column("instance", "", _HEAD, "instance name, of a global report all of them", header.instance),
    Column("host", "", _HEAD, "host name, of a global report all of them", header.host),
    Column("platform", "", _HEAD, "operating system", header.header("platform", "Platform")),
    Column("release", "", _HEAD, "release of the database", header.header("release", "Release")),
    Column("rac", "", _HEAD, "whether the database is a cluster", header.header("rac", "RAC")),
    Column("cpus", "", _HEAD, "logical CPUs, of a global report of all hosts", header.header("cpus", "CPUs")),
    Column("cores", "", _HEAD, "CPU cores, of a global report of all hosts", header.header("cores", "Cores")),
    Column("memory_gb", "GB (2^30 bytes)", _HEAD, "memory of the host", header.header("memory_gb", "Memory")),
    Column("block_size", "bytes", "Cache Sizes", "standard block size", header.block_size),
    Column("begin_snap", "", _HEAD, "first snapshot", header.header("begin_snap", "Begin Snap")),
    Column("end_snap", "", _HEAD, "last snapshot", header.header("end_snap", "End Snap")),
    Column("begin_time", "", _HEAD, "time of the first snapshot", header.header("begin_time", "Begin Snap")),
    Column("end_time", "", _HEAD, "time of the last snapshot", header.header("end_time", "End Snap")),
    Column("elapsed_s", "s", _HEAD, "time between the snapshots", header.elapsed_s),
    Column("db_time_s", "s", _TIME, "DB time in all", rates.db_time_s),
    Column("db_time", "s/s", _LOAD, "DB time per second: sessions active on average", rates.db_time),
    Column("db_cpu", "s/s", _LOAD, "DB CPU per second: CPUs used by sessions", rates.db_cpu),
    Column("background_cpu", "s/s", _LOAD, "CPUs used by background processes", rates.load("background_cpu")),
    Column("executes", "1/s", _LOAD, "SQL executions", rates.load("executes")),
    Column("user_calls", "1/s", _LOAD, "calls of clients", rates.load("user_calls")),
    Column("transactions", "1/s", _LOAD, "commits and rollbacks", rates.load("transactions")),
    Column("parses", "1/s", _LOAD, "parses", rates.load("parses")),
    Column("hard_parses", "1/s", _LOAD, "hard parses", rates.load("hard_parses")),
    Column("logons", "1/s", _LOAD, "logons", rates.load("logons")),
    Column("lio", "blocks/s", _LOAD, "logical reads", rates.load("logical_reads")),
    Column("block_changes", "blocks/s", _LOAD, "block changes", rates.load("block_changes")),
    Column("physical_reads", "blocks/s", _LOAD, "physical reads (not requests)", rates.load("physical_reads")),
    Column("physical_writes", "blocks/s", _LOAD, "physical writes (not requests)", rates.load("physical_writes")),
    Column("redo_mb_per_s", MB_PER_S, _LOAD, "redo generated", rates.redo_mb),
    Column("preads", "requests/s", _ACTIVITY, "physical read total IO requests", rates.requests("read")),
    Column("pwrites", "requests/s", _ACTIVITY, "physical write total IO requests", rates.requests("write")),
    Column("iops", "requests/s", _ACTIVITY, "preads + pwrites", rates.iops),
    Column("read_mb_per_s", MB_PER_S, _ACTIVITY, "physical read total bytes", rates.megabytes("read")),
    Column("write_mb_per_s", MB_PER_S, _ACTIVITY, "physical write total bytes", rates.megabytes("write")),
    Column("mb_per_s", MB_PER_S, _ACTIVITY, "read_mb_per_s + write_mb_per_s", rates.mb_per_s),
    Column("db_preads", "requests/s", _ACTIVITY, "physical read IO requests, without those of Oracle's own files",
           rates.activity("physical read IO requests")),
    Column("blocks_per_read", "blocks/request", _ACTIVITY, "physical reads / physical read IO requests",
           rates.blocks_per_read),
    Column("commits", "1/s", _ACTIVITY, "user commits", rates.activity("user commits")),
    Column("redo_syncs", "1/s", _ACTIVITY, "redo synch writes: commits that waited for the log",
           rates.activity("redo synch writes")),
    Column("iops_per_db_cpu", "requests/s", _ACTIVITY, "iops / DB CPU per second, from the time model's seconds",
           rates.per_db_cpu(rates.iops)),
    Column("lio_per_db_cpu", "blocks/s", _LOAD, "logical reads / DB CPU per second",
           rates.per_db_cpu(rates.load("logical_reads"))),
    Column("read_event", "", _FOREGROUND, "the single-block read event: db file sequential read, on Exadata "
           "cell single block physical read", waits.read_event),
    Column("latency_us", "us", _FOREGROUND, "mean latency of read_event", waits.read_latency),
    Column("latency_from", "", _FOREGROUND, "where latency_us comes from: time/waits, printed average, histogram",
           waits.read_latency_source),
    Column("dfsr_us", "us", _FOREGROUND, "db file sequential read", waits.latency("db file sequential read")),
    Column("dpr_us", "us", _FOREGROUND, "direct path read", waits.latency("direct path read")),
    Column("dfpr_us", "us", _FOREGROUND, "db file parallel read", waits.latency("db file parallel read")),
    Column("dfscr_us", "us", _FOREGROUND, "db file scattered read", waits.latency("db file scattered read")),
    Column("lfs_us", "us", _FOREGROUND, "log file sync", waits.latency("log file sync")),
    Column("dfpw_us", "us", _BACKGROUND, "db file parallel write",
           waits.latency("db file parallel write", waits.background)),
    Column("lfpw_us", "us", _BACKGROUND, "log file parallel write",
           waits.latency("log file parallel write", waits.background)),
    Column("host_idle_pct", "%", "Host CPU", "idle CPU of the host", host.cpu("idle_pct")),
    Column("top_wait", "", _TOP, "the longest wait (no CPU, no idle event): name, waits, s, us, % of DB time",
           waits.top_wait),
    Column("verdicts_failed", "", "all", "verdicts that do not hold", header.failed_verdicts),
    Column("warnings", "", "all", "how many figures of the report do not agree with each other", header.warnings),
    Column("complete", "", "End of Report", "whether the report's end is there", header.complete),
    Column("instance_number", "", _HEAD, "number of the instance, of a global report those of all",
           header.instance_number),
    Column("unique_name", "", _HEAD, "unique name of the database", header.header("unique_name", "Unique Name")),
    Column("cdb", "", _HEAD, "whether it is a container database", header.header("cdb", "CDB")),
    Column("sockets", "", _HEAD, "CPU sockets", header.header("sockets", "Sockets")),
    Column("sessions_begin", "", _HEAD, "sessions of the instance at the first snapshot",
           header.header("sessions_begin", "Sessions")),
    Column("sessions_end", "", _HEAD, "sessions of the instance at the last snapshot",
           header.header("sessions_end", "Sessions")),
    Column("db_cpu_s", "s", _TIME, "DB CPU in all", rates.seconds("DB CPU")),
    Column("db_cpu_pct", "%", _TIME, "DB CPU / DB time", rates.db_cpu_pct),
    Column("redo_writes", "requests/s", "IO Profile", "writes to the redo log", rates.redo_requests),
    Column("buffer_hit_pct", "%", _EFFICIENCY, "Buffer Hit %", _efficiency("buffer hit %")),
    Column("memory_sort_pct", "%", _EFFICIENCY, "In-memory Sort %", _efficiency("in-memory sort %")),
    Column("library_hit_pct", "%", _EFFICIENCY, "Library Hit %", _efficiency("library hit %")),
    Column("soft_parse_pct", "%", _EFFICIENCY, "Soft Parse %", _efficiency("soft parse %")),
    Column("log_switches", "", _THREAD, "log switches in all", places.hourly("total", "log switches")),
    Column("log_switches_per_h", "1/h", _THREAD, "log switches", places.hourly("per_hour", "log switches")),
    Column("gc_received", "blocks/s", _CACHE, "blocks received from other instances", rates.blocks_received),
    Column("gc_served", "blocks/s", _CACHE, "blocks sent to other instances", rates.blocks_served),
    Column("gc_cr_us", "us", _GC, "mean time to receive a consistent-read block", places.received_us("cr")),
    Column("gc_current_us", "us", _GC, "mean time to receive a current block", places.received_us("current")),
    Column("host_busy_pct", "%", "Host CPU", "CPU time that was neither idle nor waiting for I/O", host.busy_pct),
    Column("host_user_pct", "%", "Host CPU", "CPU time of programs", host.cpu("user_pct")),
    Column("host_system_pct", "%", "Host CPU", "CPU time of the kernel", host.cpu("system_pct")),
    Column("host_iowait_pct", "%", "Host CPU", "CPU time waiting for I/O", host.cpu("wio_pct")),
    Column("load_begin", "", "Host CPU", "load average at the first snapshot", host.cpu("load_begin")),
    Column("load_end", "", "Host CPU", "load average at the last snapshot", host.cpu("load_end")),
    *(
        Column(f"os_{name.lower().removesuffix('_time')}_s", "s", _OS, f"{name}, in seconds", host.os_seconds(name))
        for name in ("BUSY_TIME", "IDLE_TIME", "IOWAIT_TIME", "USER_TIME", "SYS_TIME", "NICE_TIME",
                     "OS_CPU_WAIT_TIME", "RSRC_MGR_CPU_WAIT_TIME")
    ),
    Column("datafile_read_us", "us", "IOStat by Filetype", "mean of small reads of data files",
           places.iostat(places.filetypes, "small_read_us", "IOStat by Filetype", "Data File")),
)  # fmt: skip

# Longest waits, wait classes and events with all of their figures: column's name -> what it is about.
_RANKS = range(1, 6)
_CLASSES = ("Administrative", "Application", "Cluster", "Commit", "Concurrency", "Configuration", "Network", "Other",
            "Scheduler", "System I/O", "User I/O")  # fmt: skip
_EVENTS: dict[str, tuple[str, waits.Finder]] = {
    "dfsr": ("db file sequential read", waits.foreground),
    "dpr": ("direct path read", waits.foreground),
    "dfpr": ("db file parallel read", waits.foreground),
    "dfscr": ("db file scattered read", waits.foreground),
    "dpw": ("direct path write", waits.foreground),
    "dprt": ("direct path read temp", waits.foreground),
    "dpwt": ("direct path write temp", waits.foreground),
    "lfs": ("log file sync", waits.foreground),
    "dfpw": ("db file parallel write", waits.background),
    "lfpw": ("log file parallel write", waits.background),
    "lfsr": ("log file sequential read", waits.background),
}
_EDGES = ("512us", "1ms", "2ms", "4ms", "8ms", "16ms", "32ms", "1s")


def _ranked() -> Iterable[Column]:
    for rank in _RANKS:
        what = f"of the wait number {rank} by time"
        yield Column(f"top{rank}_event", "", _TOP, f"name {what}", waits.top(rank, "name"))
        yield Column(f"top{rank}_class", "", _TOP, f"wait class {what}", waits.top(rank, "wait_class"))
        yield Column(f"top{rank}_waits", "", _TOP, f"waits {what}", waits.top(rank, "waits"))
        yield Column(f"top{rank}_s", "s", _TOP, f"time {what}", waits.top(rank, "time_s"))
        yield Column(f"top{rank}_us", "us", _TOP, f"mean latency {what}", waits.top(rank, "us"))
        yield Column(f"top{rank}_pct", "%", _TOP, f"share of DB time {what}", waits.top(rank, "share_pct"))


def _of_classes() -> Iterable[Column]:
    for name in _CLASSES:
        short = name.lower().replace("/", "").replace(" ", "_")
        for figure, (unit, make) in PREFIXES["class"].figures.items():
            yield Column(f"{short}_{figure}", unit, _CLASS, f"wait class {name}: {_MEANINGS[figure]}", make(name))


def _of_events() -> Iterable[Column]:
    for short, (name, find) in _EVENTS.items():
        section = _BACKGROUND if find is waits.background else _FOREGROUND
        yield Column(f"{short}_waits", "", section, f"{name}: waits", waits.count(name, find))
        yield Column(f"{short}_s", "s", section, f"{name}: time", waits.seconds(name, find))
        yield Column(f"{short}_us", "us", section, f"{name}", waits.latency(name, find))
        yield Column(f"{short}_pct", "%", section, f"{name}: share of DB time", waits.share(name, find))
    for short in ("dfsr", "lfpw"):
        for edge in _EDGES:
            name = _EVENTS[short][0]
            meaning = f"{name}: share of waits shorter than {edge}"
            yield Column(f"{short}_below_{edge}", "%", "Wait Event Histogram", meaning, waits.below(edge, name))


_MEANINGS = {"s": "time", "waits": "waits", "us": "mean latency", "pct": "share of DB time"}
COLUMNS: dict[str, Column] = {}
for _column in (*_COLUMNS, *_ranked(), *_of_classes(), *_of_events()):
    COLUMNS.setdefault(_column.name, _column)
