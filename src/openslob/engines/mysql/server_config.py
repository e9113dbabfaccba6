"""The configuration of a managed MariaDB server, as pure functions of its specification.

The configuration file also has everything else that decides how the server runs (programs, CPUs), so that a comparison
with the file on disk shows whether a running server has the requested configuration.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote
from zlib import crc32

from openslob.core.errors import UsageError
from openslob.core.places import home
from openslob.core.units import KIB, MIB, format_bytes
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import (
    Complaints,
    ConfigLine,
    ServerFiles,
    check_layout,
    check_path,
    header,
    more_settings,
)
from openslob.engines.mysql.rocksdb import ROCKSDB
from openslob.engines.mysql.table_engine import INNODB, TableEngine

DATABASE = "slob"
SOCKET = "slob.sock"
PID_FILE = "slob.pid"
# What it can be made with (innodb_page_size).
BLOCK_SIZES = (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB)
DEFAULT_BLOCK_SIZE = 16 * KIB
# The server does not start with less than some hundred pages: 6 MB with blocks of 16 KB.
_CACHE_MIN = 8 * MIB
_CACHE_MIN_LARGE_BLOCKS = 24 * MIB
_LARGE_BLOCKS = 32 * KIB
# A smaller log makes the server write pages all the time.
_LOG_MIN = 64 * MIB
# Connections beyond the sessions: samplers, loaders and a person with a client.
_MORE_CONNECTIONS = 32
# mariadb-install-db splits the names of programs at blanks, takes the parts for patterns, and expands backslashes.
_UNSAFE_IN_PROGRAMS = " *?[\\"
_UNSAFE_IN_DATA = "\\"
# tmpdir is a list of directories.
_LIST_SEPARATOR = ":"
_SYSTEM_TABLES_CACHE = 8 * MIB
_TABLE_ENGINES = {each.name: each for each in (INNODB, ROCKSDB)}
# The binary log of a server with standbys: a file of it, and for how long one is kept that no standby reads.
_BINARY_LOG_FILE, _BINARY_LOG_S = 128 * MIB, 600
# Pages written per second in the background: usually, and at most. The default, 200, is meant for one rotating disk;
# with it, sessions must write pages themselves before they can read.
_IO_CAPACITY = (2000, 20000)
# Marks of errors in the output of the server and its programs, and marks of lines that only report the end after it.
COMPLAINTS = Complaints(
    ("[ERROR]", "FATAL", "ERROR:", "error:", "rror while", "annot ", "an't "),
    ("Aborting", "Plugin 'InnoDB'", "Unknown/unsupported storage engine", "Plugin initialization aborted"),
    r"^[\d-]+ +[\d:]+ \d+ \[\w+\] ",
)


def url(layout: ServerFiles, user: str) -> str:
    """Return the target URL of the database, through the socket, as a user of the operating system."""
    return f"mariadb://{quote(user, safe='')}@localhost/{DATABASE}?unix_socket={quote(str(layout.socket), safe='/')}"


def init_file(layout: ServerFiles) -> Path:
    """Return the file of statements that the server executes before it accepts connections."""
    return layout.base / "init.sql"


def init_text(users: set[str], standby: bool) -> str:
    """Return statements that create our database and let only these users of the operating system in, by socket.

    A standby takes no writes from then on. That is no line of the configuration, so that a promotion needs no restart.
    """
    lines = ["SET SESSION sql_log_bin = OFF;"]  # each server has its own users
    lines += [f"CREATE DATABASE IF NOT EXISTS `{DATABASE}`;"]
    for user in sorted(users):
        name = "`" + user.replace("`", "``") + "`@localhost"
        lines += [
            f"CREATE USER IF NOT EXISTS {name} IDENTIFIED VIA unix_socket;",
            f"GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION;",
        ]
    lines += ["SET GLOBAL read_only = ON;"] if standby else []
    return "\n".join(lines) + "\n"


def table_engine(spec: ServerSpec) -> TableEngine:
    """Return the storage engine of the test tables."""
    return _TABLE_ENGINES[spec.table_engine or INNODB.name]


def log_bytes(spec: ServerSpec) -> int:
    """Return the size of InnoDB's log."""
    return table_engine(spec).log_bytes(spec, _LOG_MIN)


def _least_cache(spec: ServerSpec) -> int:
    return _CACHE_MIN_LARGE_BLOCKS if (spec.block_size or DEFAULT_BLOCK_SIZE) >= _LARGE_BLOCKS else _CACHE_MIN


def check_spec(spec: ServerSpec) -> None:
    """Raise UsageError for the first value that MariaDB can't be run with on this host."""
    check_layout(spec, _TABLE_ENGINES)
    table_engine(spec).check_spec(spec)
    block_size = spec.block_size or DEFAULT_BLOCK_SIZE
    if block_size not in BLOCK_SIZES:
        known = ", ".join(map(format_bytes, BLOCK_SIZES))
        raise UsageError(f"--block-size {block_size} is not known", f"MariaDB has {known}")
    least = _least_cache(spec)
    if spec.cache_bytes < least:
        raise UsageError(
            f"--cache {format_bytes(spec.cache_bytes)} is too small with blocks of {format_bytes(block_size)}",
            f"give at least {format_bytes(least)}",
        )
    if spec.log_bytes < _LOG_MIN:
        raise UsageError(f"--log-size {format_bytes(spec.log_bytes)} is too small", "give at least 64M")
    check_path(spec.bin_dir, _UNSAFE_IN_PROGRAMS)
    check_path(spec.data_dir, _UNSAFE_IN_DATA)
    check_path(home(), _UNSAFE_IN_DATA + _LIST_SEPARATOR)


def settings(spec: ServerSpec, layout: ServerFiles, bulk: bool) -> list[ConfigLine]:
    """Return all settings that we make; others keep their defaults. ``bulk``: during a load."""
    ours = [
        *_access(spec, layout), *_storage(spec), *_durability(bulk), *_replication(spec), *_behaviour(),
        *_instruments(), *table_engine(spec).settings(spec, bulk),
    ]  # fmt: skip
    return [*ours, *more_settings(spec.made_settings), *more_settings(spec.settings)]


# How slob reaches the server: a setting of the user's among these would cut it off.
ACCESS = frozenset(
    {"datadir", "pid_file", "socket", "tmpdir", "skip_networking", "init_file", "port", "bind_address", "log_error"}
    | {"basedir", "user", "skip_log_bin"}
)


def _access(spec: ServerSpec, layout: ServerFiles) -> list[ConfigLine]:
    return [
        ConfigLine("datadir", str(layout.data)),
        ConfigLine("pid_file", str(layout.data / PID_FILE)),
        ConfigLine("socket", str(layout.socket)),
        ConfigLine(
            "tmpdir", str(layout.run), "a server that starts removes temporary tables of other servers from /tmp"
        ),
        ConfigLine("init_file", str(init_file(layout)), "who may connect"),
        ConfigLine("max_connections", str(spec.max_sessions + _MORE_CONNECTIONS), "sessions, samplers and loaders"),
        # Newer releases make themselves a certificate, and encrypt what goes through the socket.
        ConfigLine("ssl", "OFF", "nothing leaves this host, and TLS costs CPU"),
    ]


def _storage(spec: ServerSpec) -> list[ConfigLine]:
    method, why = ("O_DIRECT", "reads reach the device") if spec.io == "direct" else ("fsync", "through the page cache")
    capacity, hurried = _IO_CAPACITY
    cache = str(table_engine(spec).pool_bytes(spec, _least_cache(spec)))
    return [
        ConfigLine("innodb_page_size", str(spec.block_size or DEFAULT_BLOCK_SIZE)),
        ConfigLine("innodb_buffer_pool_size", cache),
        # Releases since 2025 reserve 8 TB of addresses by default, and then use no huge pages.
        ConfigLine("loose_innodb_buffer_pool_size_max", cache, "it does not grow in a run"),
        ConfigLine("large_pages", "ON" if spec.huge_pages else "OFF"),
        ConfigLine("innodb_buffer_pool_dump_at_shutdown", "OFF"),
        ConfigLine("innodb_buffer_pool_load_at_startup", "OFF", "the cache holds only what slob reads"),
        ConfigLine("innodb_flush_method", method, why),
        ConfigLine("innodb_use_native_aio", "ON", "as in real life"),
        ConfigLine("innodb_read_ahead_threshold", "0", "no block is read ahead"),
        ConfigLine("innodb_random_read_ahead", "OFF"),
        ConfigLine("innodb_flush_neighbors", "0", "changed blocks are written one by one"),
        ConfigLine("innodb_io_capacity", str(capacity), "the default is meant for a single rotating disk"),
        ConfigLine("innodb_io_capacity_max", str(hurried)),
        ConfigLine("innodb_log_file_size", str(log_bytes(spec)), "no early flushing of pages in a usual run"),
    ]


def _durability(bulk: bool) -> list[ConfigLine]:
    why = "if the host crashes during a load, it is loaded again" if bulk else ""
    return [
        ConfigLine("innodb_flush_log_at_trx_commit", "0" if bulk else "1", why or "a commit is on disk"),
        ConfigLine("innodb_doublewrite", "OFF" if bulk else "ON", why or "as in real life"),
    ]


def _replication(spec: ServerSpec) -> list[ConfigLine]:
    """Return what a server and its standbys need, the same on both, so that they can change their roles."""
    if spec.port is None:
        return [
            ConfigLine("skip_networking", "ON", "the socket only, nothing on the network"),
            ConfigLine("skip_log_bin", "", "the engine's own log is what is measured"),
        ]
    return [
        ConfigLine("bind_address", "127.0.0.1", "replication can't use the socket"),
        ConfigLine("port", str(spec.port)),
        ConfigLine("server_id", str(crc32(spec.name.encode()) or 1)),
        ConfigLine("log_bin", "slob-bin"),
        ConfigLine("relay_log", "slob-relay"),
        ConfigLine("log_slave_updates", "ON", "a promoted standby has the whole log"),
        ConfigLine("binlog_format", "ROW"),
        ConfigLine("sync_binlog", "1", "a commit is on disk"),
        ConfigLine("max_binlog_size", str(_BINARY_LOG_FILE)),
        ConfigLine("binlog_expire_logs_seconds", str(_BINARY_LOG_S), "a standby that is down can't fill the disk"),
        ConfigLine("gtid_strict_mode", "ON", "a standby that has changes of its own stops"),
        ConfigLine("slave_parallel_threads", "4", "a standby commits as its primary does, several at once"),
        ConfigLine("rpl_semi_sync_slave_enabled", "ON", "it takes part if its primary asks for that"),
        ConfigLine("rpl_semi_sync_master_wait_point", "AFTER_SYNC", "nobody sees a commit that only the primary has"),
    ]


def _behaviour() -> list[ConfigLine]:
    return [
        ConfigLine(
            "innodb_adaptive_hash_index", "OFF", "every visit descends the index; OFF is the default since 10.5"
        ),
        ConfigLine("innodb_stats_auto_recalc", "OFF", "no statistics are gathered within a run"),
        ConfigLine("query_cache_type", "OFF"),
        ConfigLine("query_cache_size", "0"),
        ConfigLine("key_buffer_size", str(MIB), "only another storage engine uses this cache"),
        ConfigLine("aria_pagecache_buffer_size", str(_SYSTEM_TABLES_CACHE), "the same, except for the system tables"),
    ]


# Counters of innodb_metrics that are off by default.
_METRICS = "trx_rw_commits,trx_ro_commits,trx_nl_ro_commits,log_checkpoints"


def _instruments() -> list[ConfigLine]:
    """Return what the server instruments: waits for files, and nothing that costs time for each row."""
    return [
        ConfigLine("userstat", "ON", "rows by table and index"),
        ConfigLine("innodb_monitor_enable", _METRICS, "transactions and checkpoints"),
        ConfigLine("performance_schema", "ON", "can be set at the start only"),
        ConfigLine("performance_schema_consumer_events_waits_current", "ON", "what each session waits for"),
        ConfigLine("performance_schema_consumer_statements_digest", "OFF"),
        ConfigLine("performance_schema_instrument", "wait/io/table/%=OFF"),
        ConfigLine("performance_schema_instrument", "statement/%=OFF"),
    ]


def config_text(spec: ServerSpec, layout: ServerFiles, bin_dir: Path, bulk: bool) -> str:
    """Return the whole option file; two servers run in the same way exactly if their files are equal."""
    return "\n".join([*header(spec, bin_dir, bulk), "[mariadbd]", *map(_line, settings(spec, layout, bulk))]) + "\n"


def _line(setting: ConfigLine) -> str:
    if not setting.value:
        line = setting.name
    else:
        quoted = setting.value.replace("\\", "\\\\").replace("'", "\\'")
        line = f"{setting.name} = '{quoted}'"
    return line + (f"  # {setting.why}" if setting.why else "")
