"""Registry of the columns that can be extracted from a report: name, unit, section, meaning and reader.

``docs/awr.md`` contains the registry as a table, and a test compares the two. If a report has no value for a column,
the cell says why; a column with several sources says which one was used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from openslob.awr.cells import ColumnReader, header, host, rates, waits
from openslob.errors import UsageError


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
_TOP = "Top Timed Events"
MB_PER_S = "MB/s (2^20 bytes)"

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
           waits.latency("db file parallel write", background=True)),
    Column("lfpw_us", "us", _BACKGROUND, "log file parallel write",
           waits.latency("log file parallel write", background=True)),
    Column("host_idle_pct", "%", "Host CPU", "idle CPU of the host", host.host_idle),
    Column("top_wait", "", _TOP, "the longest wait (no CPU, no idle event): name, waits, s, us, % of DB time",
           waits.top_wait),
    Column("verdicts_failed", "", "all", "verdicts that do not hold", header.failed_verdicts),
    Column("warnings", "", "all", "how many figures of the report do not agree with each other", header.warnings),
    Column("complete", "", "End of Report", "whether the report's end is there", header.complete),
)  # fmt: skip
COLUMNS: dict[str, Column] = {column.name: column for column in _COLUMNS}

# Columns by the name of a figure, such as ``stat:redo size``: prefix -> unit, section, meaning, reader.
PREFIXES: dict[str, tuple[str, str, str, Callable[[str], ColumnReader]]] = {
    "stat": ("1/s", _ACTIVITY, "a statistic, per second", rates.activity),
    "total": ("", _ACTIVITY, "a statistic, in all", rates.total),
    "event": ("us", _FOREGROUND, "mean latency of a wait event", waits.latency),
    "waits": ("", _FOREGROUND, "waits for a wait event", waits.waits),
    "time": ("s", _TIME, "a statistic of the time model", rates.seconds),
    "parameter": ("", "init.ora Parameters", "a parameter at the first snapshot", header.parameter),
}

# Predefined sets: heading -> column. The first has the headings of SLOB's awr_info, so that existing scripts work.
SLOB: dict[str, str] = {
    "FILE": "file",
    "SESSIONS": "sessions",
    "ELAPSED": "elapsed_s",
    "DB CPU": "db_cpu",
    "DB Tm": "db_time",
    "EXECUTES": "executes",
    "LIO": "lio",
    "PREADS": "preads",
    "READ_MBS": "read_mb_per_s",
    "PWRITES": "pwrites",
    "WRITE_MBS": "write_mb_per_s",
    "REDO_MBS": "redo_mb_per_s",
    "DFSR_LAT": "dfsr_us",
    "DPR_LAT": "dpr_us",
    "DFPR_LAT": "dfpr_us",
    "DFPW_LAT": "dfpw_us",
    "LFPW_LAT": "lfpw_us",
    "TOP WAIT": "top_wait",
}
TAPE: dict[str, str] = {
    "file": "file",
    "IOPS": "iops",
    "DB CPU": "db_cpu",
    "IOPS per DB CPU": "iops_per_db_cpu",
    "latency (us)": "latency_us",
    "latency from": "latency_from",
}
SETS: dict[str, dict[str, str]] = {"slob": SLOB, "tape": TAPE, "wide": {name: name for name in COLUMNS}}
# Sets with a row for each event or verdict of a report: heading -> unit, section, meaning.
EVENT_COLUMNS: dict[str, tuple[str, str, str]] = {
    "Filename": ("", _FILE, "the report's file, as it was given"),
    "Event": ("", _FOREGROUND, "the wait event"),
    "Waits": ("", _FOREGROUND, "how often it was waited for"),
    "Time(s)": ("s", _FOREGROUND, "how long in all"),
    "Latency(us)": ("us", _FOREGROUND, "mean of a wait"),
    "IOPS": ("1/s", _FOREGROUND, "waits per second between the snapshots: of an I/O event its requests"),
    "Latency from": ("", _FOREGROUND, "time/waits, printed average or histogram"),
    "Section": ("", _FOREGROUND, "the table that lists the event"),
}
VERDICT_COLUMNS: dict[str, tuple[str, str, str]] = {
    "Filename": ("", _FILE, "the report's file, as it was given"),
    "Check": ("", "all", "what should hold"),
    "Verdict": ("", "all", "holds, fails or unknown"),
    "Why": ("", "all", "the figures it rests on"),
}
ROW_SETS: dict[str, dict[str, tuple[str, str, str]]] = {"events": EVENT_COLUMNS, "verdicts": VERDICT_COLUMNS}


def chosen(choice: str) -> dict[str, str]:
    """Return heading -> column for the name of a set or a list of columns; UsageError names unknown columns."""
    if choice in SETS:
        return SETS[choice]
    names = [name.strip() for name in choice.split(",") if name.strip()]
    unknown = [name for name in names if name not in COLUMNS and _by_prefix(name) is None]
    if unknown or not names:
        raise UsageError(
            f"unknown column {', '.join(unknown) or '(none given)'}",
            f"a set is one of {', '.join((*SETS, *ROW_SETS))}; columns are {', '.join(COLUMNS)}",
        )
    return {name: name for name in names}


def column_of(name: str) -> Column:
    """Return the column ``name``: one of the registry, or one for a figure, such as ``stat:physical reads cache``."""
    column = COLUMNS.get(name) or _by_prefix(name)
    if column is None:
        raise UsageError(f"unknown column {name}")
    return column


def _by_prefix(name: str) -> Column | None:
    prefix, _, figure = name.partition(":")
    if not figure or prefix not in PREFIXES:
        return None
    unit, section, meaning, reader = PREFIXES[prefix]
    return Column(name, unit, section, meaning, reader(figure))


def markdown() -> Iterable[str]:
    """Yield the registry as lines of a Markdown table for the documentation."""
    yield "| column | unit | section | meaning |"
    yield "|---|---|---|---|"
    for column in COLUMNS.values():
        yield f"| `{column.name}` | {column.unit} | {column.section} | {column.meaning} |"
