"""The configuration of a managed PostgreSQL server, as pure functions of its specification.

The configuration file also has everything else that decides how the server runs (programs, CPUs), so that a comparison
with the file on disk shows whether a running server has the requested configuration.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

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
from openslob.engines.postgresql.binaries import major

ROLE = "slob"
DATABASE = "slob"
PORT = 5432  # part of the socket's file name only: the server listens on no network
SOCKET = f".s.PGSQL.{PORT}"
# Connections beyond the sessions: samplers, loaders, the superuser's reserve (3) and a person with psql.
_MORE_CONNECTIONS = 32
# min_wal_size must be at least two segments of 16 MB, and a WAL that small checkpoints all the time.
_LOG_MIN = 64 * MIB
_CACHE_MIN = 1 * MIB
_DIRECT_IO_SINCE = 16
_HUGE_PAGE_COUNT_SINCE = 15
_LOG_TIMING_SINCE = 14
_WAL_SUMMARY_SINCE = 17
# A load writes its tables without WAL where it can; the rest of the WAL should not force checkpoints.
_BULK_LOG_FACTOR = 4
# Marks of errors in the output of the server and its programs, and marks of lines that only report the end after it, or
# refuse a client: "the database system is starting up", "is shut down" and others.
COMPLAINTS = Complaints(
    ("FATAL:", "PANIC:", "ERROR:", "error:", "could not "),
    ("database system is ", "could not start server", "contains errors", "HINT:", "DETAIL:"),
    r"^[\d-]+ [\d:.]+ \w+ \[\d+\] ",
)

HBA_TEXT = f"""# Written by slob: local processes of the users in pg_ident.conf, nobody else; no trust, no passwords.
local all {ROLE} peer map={ROLE}
local replication {ROLE} peer map={ROLE}
"""
_INCLUDE = "include = "
# initdb puts the names of programs into shell commands, in double quotes.
UNSAFE_IN_PROGRAMS = '"$\\`!'


def hba(layout: ServerFiles) -> Path:
    """Return the file that says who may connect."""
    return layout.base / "pg_hba.conf"


def ident(layout: ServerFiles) -> Path:
    """Return the file that maps users of the operating system to roles."""
    return layout.base / "pg_ident.conf"


def url(layout: ServerFiles) -> str:
    """Return the target URL of the database."""
    return f"postgresql:///{DATABASE}?host={quote(str(layout.run), safe='/')}&port={PORT}&user={ROLE}"


def check_spec(spec: ServerSpec) -> None:
    """Raise UsageError for the first value that PostgreSQL can't be run with on this host."""
    check_layout(spec)
    if spec.io == "direct" and major(spec.version) < _DIRECT_IO_SINCE:
        raise UsageError(
            f"PostgreSQL {spec.version} has no direct I/O ({_DIRECT_IO_SINCE} and later have)", "use --io buffered"
        )
    if spec.cache_bytes < _CACHE_MIN:
        raise UsageError(f"--cache {format_bytes(spec.cache_bytes)} is too small", "give at least 1M")
    if spec.log_bytes < _LOG_MIN:
        raise UsageError(f"--log-size {format_bytes(spec.log_bytes)} is too small", "give at least 64M")
    if spec.huge_pages and major(spec.version) < _HUGE_PAGE_COUNT_SINCE:
        raise UsageError(f"PostgreSQL {spec.version} can't tell how many huge pages it needs", "leave out --huge-pages")
    check_path(spec.bin_dir, UNSAFE_IN_PROGRAMS)
    check_path(home())


def settings(spec: ServerSpec, layout: ServerFiles, bulk: bool) -> list[ConfigLine]:
    """Return all settings that we make; others keep their defaults. ``bulk``: during a load."""
    ours = [*_access(spec, layout), *_storage(spec, bulk), *_behaviour(spec), *more_settings(spec.settings)]
    return [*ours, *(_without_log(spec) if bulk else [])]


# How slob reaches the server: a setting of the user's among these would cut it off.
ACCESS = frozenset(
    {"listen_addresses", "unix_socket_directories", "unix_socket_permissions", "port", "hba_file", "ident_file"}
    | {"data_directory", "config_file", "external_pid_file"}
)


# A name with a dot is no setting of the server's: it keeps the text, and shows it.
PROGRAMS = "slob.programs"


def _access(spec: ServerSpec, layout: ServerFiles) -> list[ConfigLine]:
    return [
        ConfigLine("listen_addresses", "", "the socket only, nothing on the network"),
        ConfigLine("unix_socket_directories", _list_item(layout.run), "a list, so a path with commas is quoted"),
        ConfigLine("port", str(PORT)),
        ConfigLine("hba_file", str(hba(layout))),
        ConfigLine("ident_file", str(ident(layout))),
        ConfigLine("max_connections", str(spec.max_sessions + _MORE_CONNECTIONS), "sessions, samplers and loaders"),
    ]


def _list_item(item: object) -> str:
    doubled = str(item).replace('"', '""')
    return f'"{doubled}"'


def _storage(spec: ServerSpec, bulk: bool) -> list[ConfigLine]:
    direct = spec.io == "direct" and not bulk
    log_mib = spec.log_bytes // MIB
    lines = [
        ConfigLine("shared_buffers", f"{spec.cache_bytes // KIB}kB"),
        ConfigLine(
            "huge_pages", "on" if spec.huge_pages else "off", "it takes no pages that were reserved for another server"
        ),
        ConfigLine("max_wal_size", f"{log_mib * (_BULK_LOG_FACTOR if bulk else 1)}MB"),
        ConfigLine("min_wal_size", f"{log_mib}MB", "files are recycled, as on a server that has run for a long time"),
        ConfigLine(
            "max_slot_wal_keep_size", f"{log_mib}MB", "a standby that is down for a long time can't fill the disk"
        ),
        ConfigLine("checkpoint_timeout", "30min", "no checkpoint by time within a usual run; those by WAL stay"),
        ConfigLine("wal_level", "replica"),
        ConfigLine("fsync", "on"),
        ConfigLine("full_page_writes", "on"),
        ConfigLine("synchronous_commit", "on"),
    ]
    if major(spec.version) >= _DIRECT_IO_SINCE:
        why = "8 KB direct writes one by one make a load several times slower" if bulk else "reads reach the device"
        lines.append(ConfigLine("debug_io_direct", "data" if direct else "", why))
    return lines


def _without_log(spec: ServerSpec) -> list[ConfigLine]:
    """Return what lets a new table be loaded without WAL, whatever else the server runs with."""
    why = "wal_level=minimal demands it"
    summary = [ConfigLine("summarize_wal", "off", why)] if major(spec.version) >= _WAL_SUMMARY_SINCE else []
    return [
        ConfigLine("wal_level", "minimal", "a new table is loaded without WAL"),
        ConfigLine("max_wal_senders", "0", why),
        ConfigLine("archive_mode", "off", why),
        *summary,
    ]


def _behaviour(spec: ServerSpec) -> list[ConfigLine]:
    log_timing = [ConfigLine("track_wal_io_timing", "on")] if major(spec.version) >= _LOG_TIMING_SINCE else []
    return [
        ConfigLine("track_io_timing", "on", "latencies of reads and writes"),
        *log_timing,
        ConfigLine("jit", "off", "compiling takes longer than these statements"),
        ConfigLine("autovacuum", "on", "as in real life; the test's own tables set theirs"),
        ConfigLine("update_process_title", "off", "a system call at every statement"),
        ConfigLine("logging_collector", "off", "the server writes to the log file itself, without another process"),
        ConfigLine("log_checkpoints", "on", "a checkpoint explains a dip"),
        ConfigLine("log_line_prefix", "%m [%p] "),
        ConfigLine("log_timezone", "UTC"),
    ]


def config_text(spec: ServerSpec, layout: ServerFiles, bin_dir: Path, bulk: bool, source: str = "") -> str:
    """Return the whole configuration file; two servers run in the same way exactly if their files are equal.

    ``source`` is where the programs come from, which the server is asked for (facts.sql).
    """
    lines = [*settings(spec, layout, bulk), *([ConfigLine(PROGRAMS, source)] if source else [])]
    return "\n".join([*header(spec, bin_dir, bulk), *map(_line, lines)]) + "\n"


def _line(setting: ConfigLine) -> str:
    return f"{setting.name} = {_quote(setting.value)}" + (f"  # {setting.why}" if setting.why else "")


def _quote(value: str) -> str:
    """Return a value as postgresql.conf and connection strings quote it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def ident_text(users: set[str]) -> str:
    """Return the map that lets these users of the operating system be the superuser."""
    return "".join(f"{ROLE} {_list_item(user)} {ROLE}\n" for user in sorted(users))


def slot_of(name: str) -> str:
    """Return the name of a standby's replication slot, which may not contain hyphens."""
    return name.replace("-", "_")


def copy_command(program: Path, primary: ServerFiles, data: Path, name: str) -> list[str | Path]:
    """Return the command that copies a running primary into ``data`` as a standby, and creates its slot."""
    connection = f"host={_quote(str(primary.run))} port={PORT} user={ROLE}"
    options: list[str | Path] = ["--write-recovery-conf", "--create-slot", "--slot", slot_of(name)]
    return [program, "--pgdata", data, "--dbname", connection, "--checkpoint", "fast", *options, "--no-password"]


def include(configuration: Path, ours: Path) -> None:
    """End a new server's postgresql.conf with our settings; replace those of the server it was copied from."""
    lines = configuration.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(_INCLUDE)]
    with configuration.open("w", encoding="utf-8") as file:
        file.write("\n".join([*kept, f"{_INCLUDE}{_quote(str(ours))}", ""]))
