"""What is published: the source package is complete, and the wheel made from it works where nothing else of us is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from factories import record_files
from factories.paths import ROOT, SOURCE
from openslob import __version__
from openslob.core import archives
from openslob.record.store import RunFolder

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Files that Python does not import, and that nothing but a test would miss.
DATA = (".html", ".sql", ".toml", ".j2", ".css", ".js", ".typed")


def build(source: Path, kind: str, place: Path) -> Path:
    """Build a package of a source tree, without network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(place)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (package,) = place.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return package


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of the source package."""
    place = tmp_path_factory.mktemp("packages")
    with tarfile.open(build(ROOT, "sdist", place)) as packed:
        archives.unpack(packed, place)
    return build(place / f"openslob-{__version__}", "wheel", place)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The programs of a fresh environment with the wheel; other packages are those of this one."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-compile", "--no-deps", "--no-index", str(wheel)], check=True, env=clean()
    )
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def clean() -> dict[str, str]:
    """An environment without the source tree."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(program: Path, *arguments: object, cwd: Path) -> str:
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, check=False, cwd=cwd, env=clean(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_of_the_source_package_has_every_file(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if name.startswith("openslob/")}
    kept = [path for path in SOURCE.rglob("*") if path.suffix in (".py", *DATA)]
    # `slob help` shows chapters of the documentation.
    chapters = {f"openslob/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*") if path.is_file()}
    assert names == {f"openslob/{path.relative_to(SOURCE)}" for path in kept} | chapters
    assert {path.suffix for path in kept} == {".py", *DATA}


def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as packed:
        metadata = HeaderParser().parsestr(packed.read(f"openslob-{__version__}.dist-info/METADATA").decode())
    assert metadata["Author"] == "openslob contributors"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert {"Topic :: Database", "Typing :: Typed"} <= set(metadata.get_all("Classifier"))
    assert metadata.get_payload().startswith("# openslob")


def test_the_installed_wheel_runs_and_draws_a_record(installed, tmp_path):
    slob = installed / "slob"
    assert run(slob, "--version", cwd=tmp_path) == f"slob {__version__}\n"
    assert "--keep" in run(slob, "demo", "--help", cwd=tmp_path)
    record = record_files.record()
    with RunFolder.begin(tmp_path, record) as folder:
        folder.finish(record)
    record_files.write(tmp_path / record.id)
    run(slob, "report", tmp_path / record.id, "-o", tmp_path / "page.html", cwd=tmp_path)
    assert "vegaEmbed" in (tmp_path / "page.html").read_text()
    code = "import json, openslob, sys; run = openslob.read(sys.argv[1]).run; "
    code += "print(json.dumps([openslob.__file__, run.answer]))"
    file, answer = json.loads(run(installed / "python", "-c", code, tmp_path / record.id, cwd=tmp_path))
    assert Path(file).is_relative_to(installed.parent)
    assert answer


def test_every_pinned_package_runs_on_the_oldest_python():
    pinned = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    needs = {
        each.name: each.metadata["Requires-Python"]
        for each in metadata.distributions()
        if each.name.lower() in pinned and "Requires-Python" in each.metadata
    }
    assert needs
    assert {name: text for name, text in needs.items() if not SpecifierSet(text).contains("3.11.0")} == {}
