"""Finds MariaDB's programs: those installed on the host, or those in a directory that the user names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from openslob.core.errors import SlobError, UsageError
from openslob.engines.managed.account import ServerAccount
from openslob.engines.managed.base import ServerSpec

_SERVERS = ("mariadbd", "mysqld")
# Directories of server programs of packages and builds, which may be missing from a user's PATH.
PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
# Beside the server program's directory: packages have it in bin, archives of binaries in scripts.
_INSTALLERS = ("bin/mariadb-install-db", "scripts/mariadb-install-db")
# The oldest release that is still maintained; older ones have other log files and settings.
_OLDEST = (10, 6)


@dataclass(frozen=True)
class MariaPrograms:
    """MariaDB on disk: ``root`` is what it calls its base directory."""

    root: Path
    server: Path
    installer: Path

    @property
    def bin(self) -> Path:
        return self.server.parent

    def version(self) -> str:
        """Return the release series, such as ``10.11``, from the server program. UsageError when it is no MariaDB."""
        return series(self._ask("--version"), self.server)

    def find_plugins(self) -> Path:
        """Return the directory of the server's plugins, which the program knows."""
        said = re.search(r"^plugin-dir +(\S.*)$", self._ask("--verbose", "--help"), re.MULTILINE)
        return Path(said[1].strip()) if said else self.root / "lib" / "plugin"

    def _ask(self, *options: str) -> str:
        try:
            command = [str(self.server), "--no-defaults", *options]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise SlobError(f"{self.server} can't be run ({error})", "give another --bin-dir") from error


def series(said: str, server: Path) -> str:
    """Return the release series in the version text of a server program. UsageError when it is not supported."""
    match = re.search(r"Ver (\d+)\.(\d+)\.\S*MariaDB", said)
    if not match:
        raise UsageError(f"{server} is not a MariaDB server ({said.strip()})", "name the --bin-dir of one")
    if (int(match[1]), int(match[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise UsageError(f"{server} is MariaDB {match[1]}.{match[2]}", f"{oldest} is the oldest that can be managed")
    return f"{match[1]}.{match[2]}"


def find_installation(bin_dir: Path | None) -> MariaPrograms:
    """Return the programs in this directory, or those of the host. UsageError or SlobError when there are none."""
    server = _server_in(bin_dir) if bin_dir else _find_installed_server()
    root = server.parent.parent
    installer = next((path for name in _INSTALLERS if (path := root / name).is_file()), None)
    if installer is None:
        raise SlobError(
            f"there is no mariadb-install-db in {root}", "name the --bin-dir of a whole MariaDB; MySQL is used by URL"
        )
    return MariaPrograms(root, server, installer)


def _server_in(directory: Path) -> Path:
    found = _find_server_among([directory.absolute()])
    if found is None:
        raise UsageError(f"there is no mariadbd in {directory}", "name the directory of a MariaDB server's programs")
    return found


def _find_installed_server() -> Path:
    path = [Path(directory) for directory in os.environ.get("PATH", "").split(os.pathsep) if directory]
    found = _find_server_among([*path, *map(Path, PLACES)])
    if found is None:
        raise SlobError("MariaDB is not installed on this host", "apt-get install mariadb-server, or name a --bin-dir")
    return found


def _find_server_among(directories: list[Path]) -> Path | None:
    candidates = (shutil.which(name, path=str(directory)) for directory in directories for name in _SERVERS)
    return next((Path(found).resolve() for found in candidates if found), None)


def find_usable_programs(spec: ServerSpec, account: ServerAccount) -> MariaPrograms:
    """Return the programs for a server. SlobError unless they have its version and the account can run them."""
    found = find_installation(spec.bin_dir)
    version = found.version()
    if version != spec.version:
        raise UsageError(
            f"{found.server} is version {version}, not {spec.version}", "name the --bin-dir of the other version"
        )
    for program in (found.server, found.installer):
        if not account.can("x", program):
            raise SlobError(
                f"the user {account.name}, who runs the server, can't run {program}",
                "open its directories to others (chmod o+x)",
            )
    return found
