"""PostgreSQL's programs on this host: their version, the libraries that they load, and whether an account can run them.

Where they come from, `providers.py` decides.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from openslob.core.errors import SlobError, UsageError
from openslob.core.places import home
from openslob.engines.managed.account import SYSTEM_USER, ServerAccount

_NEEDED = ("initdb", "postgres")
# Where packages of Debian, PGDG (apt, yum) and builds from source have a server's programs.
INSTALLED = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")


@dataclass(frozen=True)
class PostgresPrograms:
    """PostgreSQL on disk, by the folder of its programs. ``source`` is the package or folder that they come from."""

    bin: Path
    source: str = ""

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

    def find_lacking(self) -> str:
        """Return the name of a program that a server needs and that is not there; empty if all are."""
        return next((name for name in _NEEDED if not self.program(name).is_file()), "")


def major(version: str) -> int:
    """Return the major version number of ``18.4``, ``18beta1`` or ``18``."""
    match = re.match(r"\d+", version)
    if not match:
        raise UsageError(f"{version!r} is not a version of PostgreSQL", "give a major version such as 18")
    return int(match[0])


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
    moved = replace(installation, bin=copy / own)
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
    found = [
        (version, installation.bin)
        for version, installation in find_installed(places)
        if version >= least and is_linked_with(installation, library)
    ]
    return max(found, default=(0, None))[1]


def find_installed(places: Sequence[str] = INSTALLED) -> Iterator[tuple[int, PostgresPrograms]]:
    """Yield the major versions and the programs in ``places``; those that do not run are left out."""
    for folder in (folder for place in places for folder in sorted(Path("/").glob(place.lstrip("/")))):
        installation = PostgresPrograms(folder, str(folder))
        with suppress(SlobError):
            yield major(installation.version()), installation


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
