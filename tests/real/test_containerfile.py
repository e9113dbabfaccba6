"""The Containerfile without a container engine: its build stage is run by hand, from just the files that it copies."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import hatchling
import pytest

from factories.paths import ROOT, SOURCE
from openslob import __version__

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
# What the hand of this test can do: packages of Debian are left to an engine, and to the tests' own environment.
KNOWN = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "ENTRYPOINT", "CMD"}
PACKAGES = "apt-get "

Instruction = tuple[str, str]


def stages() -> list[list[Instruction]]:
    """The instructions with their arguments, stage by stage; each stage begins with its FROM."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found: list[list[Instruction]] = []
    for word, _, rest in (line.partition(" ") for line in lines):
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


def copy(arguments: str, root: Path) -> None:
    """COPY from the project: files into a folder, and of a folder all that is in it."""
    *sources, destination = shlex.split(arguments)
    place = root / destination.lstrip("/")
    for source in (ROOT / each for each in sources):
        if source.is_dir():
            shutil.copytree(source, place, dirs_exist_ok=True)
        else:
            assert destination.endswith("/") or len(sources) == 1
            target = place / source.name if destination.endswith("/") else place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def inside(text: str, root: Path) -> str:
    """A command whose absolute places are below ``root``."""
    for place in ("/source", "/opt/openslob"):
        text = text.replace(place, f"{root}{place}")
    return text


def offline() -> dict[str, str]:
    """An environment in which pip builds with the hatchling of the tests, and fetches nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    return {
        **kept,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(Path(hatchling.__file__).parents[1]),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads "no" of a "no"
        "PIP_NO_COMPILE": "0",  # and here: what is not run is not compiled
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }


def run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, check=False, cwd=cwd, env=offline(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copied(root: Path) -> None:
    """All that the build stage copies from the project, at its places below ``root``."""
    for word, rest in stages()[0]:
        if word == "COPY":
            copy(rest, root)


def test_the_files_that_are_copied_make_the_whole_package(tmp_path):
    copied(tmp_path)
    source = tmp_path / "source"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert names >= {f"openslob/{path.relative_to(SOURCE)}" for path in SOURCE.rglob("*.py")}
    assert names >= {f"openslob/{path.relative_to(ROOT)}" for path in (ROOT / "docs").glob("*.md")}


# Two environments are made, each with pip in it.
@pytest.mark.nightly
def test_the_build_stage_installs_a_program_that_runs(tmp_path):
    pytest.importorskip("ensurepip", reason="Python makes no environments with pip here: apt-get install python3-venv")
    build, last = stages()
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    elsewhere.mkdir()
    copied(root)
    done = [
        run(["bash", "-ec", inside(rest, root)], elsewhere)
        for word, rest in build
        if word == "RUN" and not rest.startswith(PACKAGES)
    ]
    assert "Successfully installed" in done[-1]
    (taken,) = [rest.split()[1:] for word, rest in last if word == "COPY" and rest.startswith("--from=build ")]
    assert taken[0] == taken[1], "a virtual environment does not work elsewhere"
    (entry,) = json.loads(dict(last)["ENTRYPOINT"])
    program = root / taken[0].lstrip("/") / "bin" / entry
    assert run([str(program), "--version"], elsewhere) == f"slob {__version__}\n"
    assert "Continuous integration" in run([str(program), "help", "ci"], elsewhere)
    where = "import openslob; print(openslob.__file__)"
    assert run([str(program.with_name("python")), "-c", where], elsewhere).startswith(str(root))


def test_the_container_runs_slob_as_an_ordinary_user_with_its_data_in_a_volume():
    assert {word for stage in stages() for word, _ in stage} <= KNOWN
    last = stages()[-1]
    by_word = dict(last)
    (entry,) = json.loads(by_word["ENTRYPOINT"])
    assert entry in SCRIPTS
    assert by_word["USER"] not in ("root", "0")
    environment = dict(part.partition("=")[::2] for part in shlex.split(by_word["ENV"]))
    assert environment["OPENSLOB_HOME"] == by_word["VOLUME"] == by_word["WORKDIR"]
    (made,) = [rest for word, rest in last if word == "RUN" and "useradd" in rest]
    assert by_word["USER"] in made.partition("useradd")[2]
