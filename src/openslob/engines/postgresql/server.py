"""A managed PostgreSQL server: what is specific to the product. `engines.managed.server` has the life cycle."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.engines.managed import state as server_state
from openslob.engines.managed.account import ServerAccount, current_user, server_account
from openslob.engines.managed.base import Control, ReadySetting, ServerSpec, ServerStatus, small_server
from openslob.engines.managed.layout import check_path, more_settings
from openslob.engines.managed.processes import ServerProcesses, why_not_ready
from openslob.engines.managed.server import LocalServer
from openslob.engines.postgresql import known_settings
from openslob.engines.postgresql import server_config as config
from openslob.engines.postgresql.binaries import PostgresPrograms, major, make_readable
from openslob.engines.postgresql.providers import find_installation
from openslob.engines.settings import KnownSettings

READY_SETTINGS = (
    # Since version 18. A backend that needs one block and waits for it reads it itself, whatever the method.
    ReadySetting(
        "io-method", "io_method", "how blocks are read ahead", ("scan",), controls=("physical",),
        values=("sync", "worker", "io_uring"),
    ),
    ReadySetting("checksums", "data_checksums", "checksums of blocks", ("physical", "update")),
    ReadySetting(
        "full-page-writes", "full_page_writes", "whole blocks in the log after a checkpoint", ("commit", "update")
    ),
    ReadySetting("commit-wait", "synchronous_commit", "commits that wait for storage", ("commit",), values=("off",)),
    ReadySetting(
        "wal-compression", "wal_compression", "compressed blocks in the log", ("update",),
        values=("pglz", "lz4", "zstd"),
    ),
    ReadySetting("sync-method", "wal_sync_method", "how the log is forced to storage", ("commit",)),
    ReadySetting("huge-pages", "huge_pages", "huge pages for the cache", ("cached",), values=("on",)),
    ReadySetting(
        "block-size", "block_size", "size of blocks", ("physical",),
        why_not="the size of blocks is that of its programs; `slob sweep --bin-dir` compares several builds",
    ),
)  # fmt: skip


ENGINE = "postgresql"
# Recovery after a crash may have to replay all of the WAL with direct I/O.
_START_TIMEOUT_S = 300.0
_PAGE_CACHE = "the operating system keeps what the server has written when its processes die"
CONTROLS = (
    Control("fsync-off", "fsync=off", kill=_PAGE_CACHE),
    Control(
        "synchronous-commit-off",
        "synchronous_commit=off",
        kill="only what the server has not written yet is lost, which may be nothing",
    ),
    Control("full-page-writes-off", "full_page_writes=off", torn=True),
    Control("data-sync-retry", "data_sync_retry=on", fault="fsync-once"),
)
# A fresh cluster of version 18 takes 39 MB and its first WAL files 16 MB each.
_EMPTY_BYTES = 100 * MIB
_CHECK_TIMEOUT_S = 30.0
_STATUS_LINE = 7  # of postmaster.pid, from 0


def default_spec(name: str) -> ServerSpec:
    """Return the default server."""
    return small_server(ENGINE, name, version="18")


def managed(spec: ServerSpec) -> PostgresServer:
    """Return the server of this name, to be run as specified. Nothing is changed yet."""
    if spec.standby_of:
        primary = server_state.primary_of(spec)
        spec = replace(spec, version=primary.version, bin_dir=primary.bin_dir)
    if spec.bin_dir:
        spec = replace(spec, version=str(major(find_installation(spec).version())))
    return PostgresServer(spec)


def _primary(spec: ServerSpec) -> PostgresServer:
    return PostgresServer(server_state.primary_of(spec))


class PostgresServer(LocalServer[PostgresPrograms]):
    """One managed PostgreSQL server."""

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__(spec, config.SOCKET, config.COMPLAINTS)

    @property
    def url(self) -> str:
        return config.url(self.layout)

    @property
    def processes(self) -> ServerProcesses:
        """Its processes. The main process itself uses SIGQUIT to end its children after a crash."""
        return ServerProcesses(
            self.layout.data, frozenset({"postgres"}), "postmaster.pid", signal.SIGINT, signal.SIGQUIT
        )

    @property
    def remains(self) -> Collection[Path]:
        return [self.layout.socket, self.layout.socket.with_name(f"{config.SOCKET}.lock")]

    def start(self, *, for_now: bool = False) -> ServerStatus:
        """Start the server; start the primary of a new standby first, to copy it."""
        if self.spec.standby_of and not self.layout.data.exists():
            self.check_spec()
            _primary(self.spec).start()
        return super().start(for_now=for_now)

    def destroy(self) -> None:
        """Remove the server; let the primary of a standby keep no log for it, and wait for none that is not there."""
        super().destroy()
        if any(spec.name == self.spec.standby_of for spec in server_state.specifications()):
            primary = _primary(self.spec)
            primary.forget(self.name)
            if primary.status().pid and not server_state.is_followed(primary.name):
                primary.await_copies(False)

    def forget(self, name: str) -> None:
        """Keep no log for a standby any more, if this server runs."""
        if self.status().pid:
            from openslob.engines.postgresql import replication  # noqa: PLC0415 - servers start and stop without a driver

            replication.forget(self.url, name, config.slot_of(name))

    def end_replication(self) -> None:
        from openslob.engines.postgresql import replication  # noqa: PLC0415 - as above

        replication.promote(self.url, self.name)

    def await_copies(self, on: bool) -> None:
        """Switch synchronous replication, of all standbys, on or off."""
        from openslob.engines.postgresql import replication  # noqa: PLC0415 - as above

        replication.await_copies(self.url, self.name, on)

    def release_memory(self) -> None:
        """Let the server's program remove what a killed server left in /dev/shm and of System V's shared memory.

        The program does so whenever it starts. It alone can tell which segments are those of these data; --check starts
        it without touching them. Versions without that option, and programs that are gone, leave the segments.
        """
        small: list[str | Path] = ["-c", "huge_pages=off", "-c", "shared_buffers=1MB"]
        if self.layout.data.exists():
            with suppress(SlobError):
                account = server_account()
                programs = self._found or make_readable(find_installation(self.spec, fetch=False), account)
                postgres = programs.program("postgres")
                account.run([postgres, "--check", "-D", self.layout.data, *small], timeout=_CHECK_TIMEOUT_S)

    def check_spec(self) -> None:
        """Raise UsageError for the first value that PostgreSQL can't be run with on this host, or beside its copies.

        A standby with fewer connections than its primary does not start, and one that runs stands still.
        """
        config.check_spec(self.spec)
        mine, sessions = self.spec, self.spec.max_sessions
        for other in server_state.specifications():
            if other.name == mine.standby_of and other.max_sessions > sessions:
                raise UsageError(
                    f"{mine.name} needs at least the --max-sessions of its primary {other.name}: {other.max_sessions}",
                    "give as many",
                )
            if other.standby_of == mine.name and other.max_sessions < sessions:
                raise UsageError(
                    f"the standby {other.name} of {mine.name} has --max-sessions {other.max_sessions}, "
                    f"and can't follow a primary with {sessions}",
                    f"raise that first: slob server start {other.name} --max-sessions {sessions}",
                )

    def list_settings(self, programs: PostgresPrograms, account: ServerAccount, place: Path) -> KnownSettings:
        ours = config.settings(self.spec, self.layout, bulk=False)
        return known_settings.ManagedPostgresSettings(
            programs, account, place, {line.name: line.value for line in ours}
        )

    def has_pages(self, path: Path) -> bool:
        """Return whether it is a file of a table or index: their names are numbers, with parts behind them."""
        return path.parts[0] in ("base", "global") and path.name[0].isdigit()

    def is_ready(self) -> bool:
        """Return whether it runs and accepts connections, as it says in postmaster.pid."""
        lines = self.processes.pid_lines()
        said = len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"
        return said and self.processes.main_pid() is not None

    def find_programs(self, account: ServerAccount) -> PostgresPrograms:
        """Return the programs of the first source, or of the bin directory, where the account can run them."""
        programs = make_readable(find_installation(self.spec), account)
        check_path(programs.bin, config.UNSAFE_IN_PROGRAMS)
        return programs

    def bytes_at_first(self) -> int:
        return _EMPTY_BYTES + self.spec.log_bytes

    def initialise(self, data: Path, programs: PostgresPrograms, account: ServerAccount) -> None:
        """Create a cluster with our database, or a copy of a primary that follows it."""
        if self.spec.standby_of:
            self._copy_primary(data, programs, account)
        else:
            self._make_cluster(data, programs, account)
        self._check_block_size(data, programs, account)
        config.include(data / "postgresql.conf", self.layout.config)

    def _make_cluster(self, data: Path, programs: PostgresPrograms, account: ServerAccount) -> None:
        options = ["--username", config.ROLE, "--auth", "peer", "--encoding", "UTF8", "--locale", "C.UTF-8"]
        wanted = {setting.name: setting.value for setting in more_settings(self.spec.made_settings)}
        made = known_settings.initdb_options(programs, account, wanted)
        self.check_done(account.run([programs.program("initdb"), "--pgdata", data, *options, *made]), "initdb")
        single: list[str | Path] = [programs.program("postgres"), "--single", "-D", data]
        make = account.run([*single, "-c", "exit_on_error=on", "postgres"], text=f"CREATE DATABASE {config.DATABASE}\n")
        self.check_done(make, "making the database")

    def _copy_primary(self, data: Path, programs: PostgresPrograms, account: ServerAccount) -> None:
        primary = _primary(self.spec)
        primary.forget(self.name)
        copies = programs.program("pg_basebackup")
        if not copies.is_file():
            raise SlobError(f"{programs.source} has no {copies.name}, which makes a standby", "name another --bin-dir")
        command = config.copy_command(copies, primary.layout, data, self.name)
        self.check_done(account.run(command), f"copying {primary.name}")

    def _check_block_size(self, data: Path, programs: PostgresPrograms, account: ServerAccount) -> None:
        block_size = int(self._setting("block_size", data, programs, account))
        if self.spec.block_size not in (None, block_size):
            raise UsageError(
                f"{programs.bin} was built for blocks of {block_size} bytes, not {self.spec.block_size}",
                "name the --bin-dir of a PostgreSQL built for that size",
            )

    def config_text(self, programs: PostgresPrograms, bulk: bool) -> str:
        return config.config_text(self.spec, self.layout, programs.bin, bulk, programs.source)

    def other_files(self, account: ServerAccount) -> Mapping[Path, str]:
        """Return the files that say who may connect, and as which role."""
        return {
            config.hba(self.layout): config.HBA_TEXT,
            config.ident(self.layout): config.ident_text({current_user(), account.name}),
        }

    def launch(self, programs: PostgresPrograms, account: ServerAccount) -> str | None:
        """Start its program as an independent process and wait until it is ready.

        pg_ctl would put the directory's name into a shell command.
        """
        pid = account.launch([programs.program("postgres"), "-D", self.layout.data], self.layout.log)
        return why_not_ready(self.is_ready, pid, _START_TIMEOUT_S)

    def huge_pages_needed(self, programs: PostgresPrograms, account: ServerAccount) -> int:
        """Return the number that the server program itself computes."""
        return int(self._setting("shared_memory_size_in_huge_pages", self.layout.data, programs, account))

    def _setting(self, setting: str, data: Path, programs: PostgresPrograms, account: ServerAccount) -> str:
        """Return the value that a setting would have, from the server program of a stopped server."""
        done = account.run([programs.program("postgres"), "-D", data, "-C", setting])
        self.check_done(done, f"asking for {setting}")
        return done.stdout.strip()


# The server that was created by a specification, even if its programs are gone.
remembered = PostgresServer
