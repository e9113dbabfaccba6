"""A managed MariaDB server: what is specific to the product. `engines.managed.server` has the life cycle."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pymysql
from pymysql.constants import ER

from openslob.engines.managed.account import Account, current_user
from openslob.engines.managed.base import Control, ServerSpec
from openslob.engines.managed.processes import ServerProcesses, became_ready
from openslob.engines.managed.resources import page_bytes
from openslob.engines.managed.server import LocalServer
from openslob.engines.mysql import server_config as config
from openslob.engines.mysql.binaries import Installation, find_installation, usable_installation
from openslob.engines.mysql.connection import DirectConnection
from openslob.errors import UsageError
from openslob.units import MIB

ENGINE = "mariadb"
# Recovery after a crash may have to apply all of the log.
_START_TIMEOUT_S = 300.0
# A server that does not greet within this time hangs.
_ANSWER_TIMEOUT_S = 10
# An empty server takes 80 MB with blocks of 64 KB, less with smaller ones.
_EMPTY_BYTES = 100 * MIB
# Log buffers (2 × 16 MB), the system tables' cache, and the cache's last extent of 8 MB take huge pages as well.
_MORE_HUGE_BYTES = 48 * MIB
_NO_COPIES = f"slob makes no standbys of {ENGINE} servers"
_INSTEAD = "replicate servers of your own, and name them by URL"


# The log would be flushed once a second, and a crash just after that loses nothing.
_RARELY = "innodb_flush_log_at_timeout=60"
CONTROLS = (
    Control(
        "flush-log-2",
        f"innodb_flush_log_at_trx_commit=2\n{_RARELY}",
        kill="the operating system keeps what the server has written when its processes die",
    ),
    # A log buffer that is half full is flushed: one of 16 MB twice a second by 2,000 commits/s.
    Control("flush-log-0", f"innodb_flush_log_at_trx_commit=0\n{_RARELY}\ninnodb_log_buffer_size={256 * MIB}"),
)


def default_spec(name: str) -> ServerSpec:
    """Return the default server: its cache is so small that physical I/O is easy to reach."""
    return ServerSpec(
        engine=ENGINE,
        name=name,
        version="",
        bin_dir=None,
        data_dir=None,
        cache_bytes=128 * MIB,
        log_bytes=4096 * MIB,
        io="direct",
        cpus=None,
        max_sessions=320,
        block_size=config.DEFAULT_BLOCK_SIZE,
    )


def controls() -> Sequence[Control]:
    """Return the settings that make it acknowledge commits that are not on disk."""
    return CONTROLS


def managed(spec: ServerSpec) -> MariaServer:
    """Return the server of this name, to be run as specified. Nothing is changed yet."""
    if spec.bin_dir or not spec.version:
        spec = replace(spec, version=find_installation(spec.bin_dir).version())
    return MariaServer(spec)


def remembered(spec: ServerSpec) -> MariaServer:
    """Return the server that was created by this specification, even if its programs are gone."""
    return MariaServer(spec)


class MariaServer(LocalServer[Installation]):
    """One managed MariaDB server."""

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__(spec, config.SOCKET)

    @property
    def url(self) -> str:
        """Target URL of its database, through the socket."""
        return config.url(self.layout, current_user())

    @property
    def processes(self) -> ServerProcesses:
        """Its one process, which ends at once only when it is killed."""
        programs = frozenset({"mariadbd", "mysqld"})
        return ServerProcesses(self.layout.data, programs, config.PID_FILE, signal.SIGTERM, signal.SIGKILL)

    def check_spec(self) -> None:
        """Raise UsageError for the first value that MariaDB can't be run with on this host."""
        if self.spec.standby_of:
            raise UsageError(_NO_COPIES, _INSTEAD)
        config.check_spec(self.spec)

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

    def find_programs(self, account: Account) -> Installation:
        """Return the programs of the host, or those of the bin directory."""
        return usable_installation(self.spec, account)

    def bytes_at_first(self) -> int:
        """Return the size of an empty server with its log, which has its full size from the beginning."""
        return _EMPTY_BYTES + self.spec.log_bytes

    def initialise(self, data: Path, programs: Installation, account: Account) -> None:
        """Create the system tables; this fixes the block size."""
        owner = f"--auth-root-socket-user={current_user()}"
        options = ["--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=socket", owner]
        storage = [f"--innodb-page-size={self.spec.block_size}", f"--innodb-log-file-size={self.spec.log_bytes}"]
        command: list[str | Path] = [
            programs.installer,
            "--no-defaults",
            f"--basedir={programs.root}",
            f"--datadir={data}",
            # In /tmp a server that starts removes what it takes for its own leftovers, others' files among them. The
            # server's working directory is its data directory; the installer would split a name with blanks.
            "--tmpdir=.",
        ]
        self.check_done(account.run([*command, *options, *storage]), "mariadb-install-db")

    def config_text(self, programs: Installation, bulk: bool) -> str:
        """Return the only option file that the server reads."""
        return config.config_text(self.spec, self.layout, programs.bin, bulk)

    def other_files(self, account: Account) -> Mapping[Path, str]:
        """Return the files that say who may connect."""
        return {config.init_file(self.layout): config.init_text({current_user(), account.name})}

    def launch(self, programs: Installation, account: Account) -> str | None:
        """Start its program as an independent process and wait until it accepts connections."""
        pid = account.launch([programs.server, f"--defaults-file={self.layout.config}"], self.layout.log)
        return None if became_ready(self.is_ready, pid, _START_TIMEOUT_S) else ""

    def end_replication(self) -> None:
        """Not reached: no server is a standby."""
        raise UsageError(_NO_COPIES, _INSTEAD)

    def await_copies(self, on: bool) -> None:
        """Raise UsageError: there are no standbys to wait for."""
        if on:
            raise UsageError(_NO_COPIES, _INSTEAD)

    def huge_pages_needed(self, _programs: Installation, _account: Account) -> int:
        """Return the number for the cache and what is allocated with it, which the server can't compute beforehand."""
        return -(-(self.spec.cache_bytes + _MORE_HUGE_BYTES) // page_bytes())

    def last_complaint(self, said: str) -> str:
        """Return the last line that reports a cause."""
        return config.last_complaint(said)
