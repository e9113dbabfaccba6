"""A managed MariaDB server: what is specific to the product. `engines.managed.server` has the life cycle."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pymysql
from pymysql.constants import ER

from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.engines.managed import state as server_state
from openslob.engines.managed.account import ServerAccount, current_user
from openslob.engines.managed.base import Control, ReadySetting, ServerSpec, small_server
from openslob.engines.managed.layout import more_settings
from openslob.engines.managed.processes import ServerProcesses, why_not_ready
from openslob.engines.managed.resources import page_bytes
from openslob.engines.managed.server import LocalServer
from openslob.engines.mysql import known_settings, replication
from openslob.engines.mysql import server_config as config
from openslob.engines.mysql.binaries import MariaPrograms, find_installation, find_usable_programs
from openslob.engines.mysql.connection import DirectConnection
from openslob.engines.mysql.rocksdb import ROCKSDB
from openslob.engines.mysql.table_engine import INNODB
from openslob.engines.settings import KnownSettings

READY_SETTINGS = (
    # A session that needs one block reads it itself, whatever the method.
    ReadySetting(
        "io-method", "innodb_use_native_aio", "asynchronous writes and reads ahead", ("update",), controls=("physical",)
    ),
    ReadySetting(
        "full-page-writes", "innodb_doublewrite", "blocks written twice, against torn ones", ("update",),
        controls=("cached",),
    ),
    ReadySetting(
        "commit-wait", "innodb_flush_log_at_trx_commit", "commits that wait for storage", ("commit",),
        values=("0", "2"),
    ),
    ReadySetting(
        "sync-method", "innodb_flush_method", "how files are forced to storage", ("commit", "update"),
        values=("fsync", "O_DSYNC", "O_DIRECT_NO_FSYNC"),
    ),
    ReadySetting("huge-pages", "huge_pages", "huge pages for the cache", ("cached",), values=("on",)),
    ReadySetting(
        "block-size", "block_size", "size of blocks", ("cached", "physical", "commit"), values=("4K", "8K", "32K")
    ),
    ReadySetting(
        "table-engine", "table_engine", "storage engines of the test tables", ("physical", "commit", "update"),
        values=(ROCKSDB.name,),
        figures=("ops_per_s", "read_amplification", "update_amplification", "space_amplification", "db_cpu_per_s"),
        on_request=True,
    ),
    ReadySetting(
        "checksums", "innodb_checksum_algorithm", "checksums of blocks", ("physical", "update"),
        why_not="no value of innodb_checksum_algorithm leaves checksums out",
    ),
)  # fmt: skip


ENGINE = "mariadb"
# Recovery after a crash may have to apply all of the log.
_START_TIMEOUT_S = 300.0
# A server that does not greet within this time hangs.
_ANSWER_TIMEOUT_S = 10
# An empty server takes 80 MB with blocks of 64 KB, less with smaller ones.
_EMPTY_BYTES = 100 * MIB
# Log buffers (2 × 16 MB), the system tables' cache, and the cache's last extent of 8 MB take huge pages as well.
_MORE_HUGE_BYTES = 48 * MIB

CONTROLS = (
    Control(
        "flush-log-2",
        "innodb_flush_log_at_trx_commit=2",
        kill="the operating system keeps what the server has written when its processes die",
    ),
    Control("flush-log-0", "innodb_flush_log_at_trx_commit=0"),
    Control("doublewrite-off", "innodb_doublewrite=OFF", torn=True),
)


def default_spec(name: str) -> ServerSpec:
    """Return the default server."""
    return small_server(ENGINE, name, block_size=config.DEFAULT_BLOCK_SIZE)


def managed(spec: ServerSpec) -> MariaServer:
    """Return the server of this name, to be run as specified. Nothing is changed yet."""
    if spec.standby_of:
        primary = server_state.primary_of(spec)
        spec = replace(spec, version=primary.version, bin_dir=primary.bin_dir, block_size=primary.block_size)
        spec = replace(spec, table_engine=primary.table_engine)
        spec = replace(spec, port=spec.port or server_state.free_port())
    elif spec.bin_dir or not spec.version:
        spec = replace(spec, version=find_installation(spec.bin_dir).version())
    return MariaServer(spec)


def _primary(spec: ServerSpec) -> MariaServer:
    return MariaServer(server_state.primary_of(spec))


class MariaServer(LocalServer[MariaPrograms]):
    """One managed MariaDB server."""

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__(spec, config.SOCKET, config.COMPLAINTS)

    def complete(self, spec: ServerSpec) -> ServerSpec:
        return replace(spec, table_engine=spec.table_engine or INNODB.name)

    @property
    def url(self) -> str:
        return config.url(self.layout, current_user())

    @property
    def processes(self) -> ServerProcesses:
        """Its one process, which ends at once only when it is killed."""
        programs = frozenset({"mariadbd", "mysqld"})
        return ServerProcesses(self.layout.data, programs, config.PID_FILE, signal.SIGTERM, signal.SIGKILL)

    def check_spec(self) -> None:
        config.check_spec(self.spec)

    def list_settings(self, programs: MariaPrograms, account: ServerAccount, place: Path) -> KnownSettings:
        ours = config.settings(self.spec, self.layout, bulk=False)
        return known_settings.ManagedMariaSettings(programs, account, place, {line.name: line.value for line in ours})

    def has_pages(self, path: Path) -> bool:
        """Return whether it is a tablespace of a table; the system's has the doublewrite buffer, too."""
        return path.suffix == ".ibd"

    def is_ready(self) -> bool:
        """Return whether it runs and accepts our connection, or would if it had a free one."""
        if self.processes.main_pid() is None:
            return False
        socket, patience = str(self.layout.socket), _ANSWER_TIMEOUT_S
        try:
            DirectConnection(
                unix_socket=socket, user=current_user(), connect_timeout=patience, read_timeout=patience
            ).close()
        except pymysql.Error as error:
            return bool(error.args[0] == ER.CON_COUNT_ERROR)
        return True

    def find_programs(self, account: ServerAccount) -> MariaPrograms:
        """Return the programs of the host, or those of the bin directory."""
        programs = find_usable_programs(self.spec, account)
        config.table_engine(self.spec).check_programs(programs)
        return programs

    def bytes_at_first(self) -> int:
        """Return the size of an empty server with its log, which has its full size from the beginning, or of a copy."""
        if self.spec.standby_of:
            return _primary(self.spec).status().bytes_on_disk
        return _EMPTY_BYTES + config.log_bytes(self.spec)

    def initialise(self, data: Path, programs: MariaPrograms, account: ServerAccount) -> None:
        """Create the system tables, which fixes the block size; or copy the files of a primary."""
        if self.spec.standby_of:
            self._copy_primary(data, account)
        else:
            self._make_system_tables(data, programs, account)

    def _copy_primary(self, data: Path, account: ServerAccount) -> None:
        """Copy the files of the primary, which is stopped meanwhile; afterwards it runs with a log for standbys."""
        primary = _primary(self.spec)
        primary.stop()
        try:
            self.check_done(account.run(["cp", "-a", f"{primary.layout.data}/.", data]), f"copying {primary.name}")
        finally:
            port = primary.spec.port or server_state.free_port()
            MariaServer(replace(primary.spec, port=port)).start()

    def _make_system_tables(self, data: Path, programs: MariaPrograms, account: ServerAccount) -> None:
        owner = f"--auth-root-socket-user={current_user()}"
        options = ["--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=socket", owner]
        storage = [
            f"--innodb-page-size={self.spec.block_size}",
            f"--innodb-log-file-size={config.log_bytes(self.spec)}",
        ]
        command: list[str | Path] = [
            programs.installer,
            "--no-defaults",
            f"--basedir={programs.root}",
            f"--datadir={data}",
            # In /tmp a server that starts removes what it takes for its own leftovers, others' files among them. The
            # server's working directory is its data directory; the installer would split a name with blanks.
            "--tmpdir=.",
        ]
        made = [f"--{setting.name}={setting.value}" for setting in more_settings(self.spec.made_settings)]
        self.check_done(account.run([*command, *options, *storage, *made]), "mariadb-install-db")

    def config_text(self, programs: MariaPrograms, bulk: bool) -> str:
        return config.config_text(self.spec, self.layout, programs.bin, bulk)

    def other_files(self, account: ServerAccount) -> Mapping[Path, str]:
        """Return the files that say who may connect."""
        users, standby = {current_user(), account.name}, self.spec.standby_of is not None
        return {config.init_file(self.layout): config.init_text(users, standby)}

    def launch(self, programs: MariaPrograms, account: ServerAccount) -> str | None:
        pid = account.launch([programs.server, f"--defaults-file={self.layout.config}"], self.layout.log)
        if complaint := why_not_ready(self.is_ready, pid, _START_TIMEOUT_S):
            return complaint
        if self.spec.standby_of and not replication.follows(self.url):
            try:
                primary = _primary(self.spec)
                replication.follow(self.url, self.spec, primary.url, primary.spec)
            except SlobError:
                self.processes.stop(at_once=True)  # the next start tries again
                raise
        return None

    def destroy(self) -> None:
        """Remove the server; let the primary of a standby go, so that it keeps no log for it."""
        super().destroy()
        primary = next((spec for spec in server_state.specifications() if spec.name == self.spec.standby_of), None)
        if primary:
            MariaServer(primary).lose_standby(self.name)

    def lose_standby(self, name: str) -> None:
        """Forget a standby that is gone; after the last one the server's next start is one without a log for them."""
        last = not server_state.is_followed(self.name)
        if self.is_ready():
            replication.let_go(self.url, name, last)
        if last:
            with self._home.lock("changing"):
                self._home.write(replace(self.spec, port=None))

    def end_replication(self) -> None:
        replication.promote(self.url, self.name)

    def await_copies(self, on: bool) -> None:
        """Switch semi-synchronous replication, of all standbys, on or off."""
        copies = [MariaServer(spec) for spec in server_state.specifications() if spec.standby_of == self.name]
        replication.await_copies(self.url, self.name, on, {copy.name: copy.url for copy in copies if copy.is_ready()})

    def huge_pages_needed(self, _programs: MariaPrograms, _account: ServerAccount) -> int:
        """Return the number for the cache and what is allocated with it, which the server can't compute beforehand."""
        return -(-(self.spec.cache_bytes + _MORE_HUGE_BYTES) // page_bytes())


# The server that was created by a specification, even if its programs are gone.
remembered = MariaServer
