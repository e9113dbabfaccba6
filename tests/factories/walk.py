"""A reader who types every command of a page as it is printed, in order, from nothing (see `printed_commands`).

The commands run in one shell of bash, as a rehearsal (`SLOB_REHEARSE`): with little data and time. What
a reader has is there: Oracle's reports in ``reports``, and an activated environment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from factories.paths import FIXTURES, ROOT
from factories.printed_commands import blocks
from factories.programs import why_no_mariadb
from openslob.analyze.verdict_registry import Severity, severity_of
from openslob.core.workload import Mode
from openslob.kinds import runs
from openslob.record.finding import Found, at
from openslob.record.kinds import of_runs
from openslob.record.model import Holds, Verdict
from openslob.report.record_view import REACHED_DEVICE

# Commands that install, or start what other tests do, are passed over; make demo is slob demo.
_PRELUDE = f"""
slob() {{ {sys.executable} -m openslob "$@"; }}
make() {{ if [ "$1" = demo ]; then slob demo; fi; }}
pip() {{ :; }}
python() {{ {sys.executable} "$@"; }}
"""
_MARK = "@walk@"
# Data are so many times smaller and runs shorter than printed; some engines need larger caches for large blocks.
_DIVISOR = "10"
# What asks for a judgement: on a busy machine it may fail, or can't be told.
_JUDGES = re.compile(r"--fail-if|--thresholds|--require|--mode|--block-path|--find-max-iops-under|\bslob ab\b")
_JUDGED = frozenset({3, 4})
# In a rehearsal, sessions update the same few rows at the same time.
_OF_SMALL = frozenset({"data_in_place"})
# A screen names its record so.
_NAMED = re.compile(r"slob show (\S+) --checks")
_CALLED_PHYSICAL = re.compile(r"\d physical .*reads/s")


@dataclass(frozen=True)
class Step:
    """A command as it was typed, where it is printed, its exit code, what it wrote, and when it ended."""

    place: str
    command: str
    code: int
    output: str
    at_s: int

    @property
    def failed(self) -> bool:
        """Whether it did something else than the page says; "# exit code N" behind a command is what it says."""
        said = re.search(r"#.*exit code (\d)", self.command)
        judged = _JUDGED if _JUDGES.search(self.command) else frozenset[int]()
        return self.code not in {0, *judged, *([int(said[1])] if said else [])}

    def __str__(self) -> str:
        """Return what a reader sees."""
        return f"{self.place}\n$ {self.command}\n{self.output}\nexit code {self.code}"


def steps(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page that can run anywhere, with their places."""
    return [(block.place, line) for block in blocks(page) if not block.needs for line in block.typed]


def untrue(step: Step, results: Path) -> list[str]:
    """Return what is wrong with the runs whose answer a command printed, however busy the host is.

    Their figures are what they claim to be, and reads are not called physical that did not reach a device. Only a run
    that states no mode may read through the page cache, and then says so. Of a run whose counters could not be read in
    time, only what its server does is known.
    """
    return [text for screen, name in _screens(step.output) for text in _untrue(screen, at(results / name))]


def _screens(output: str) -> Iterator[tuple[str, str]]:
    """Yield each screen up to its line with the name of the record, and that name."""
    begin = 0
    for named in _NAMED.finditer(output):
        yield output[begin : named.start()], named[1]
        begin = named.end()


def _untrue(screen: str, found: Found | None) -> Iterator[str]:
    if found is None or found.kind not in of_runs():
        return
    for record in runs.load(found.path).records:
        if record.spec.get("mode") == Mode.PIO and record.engine.get("direct_io") is False:
            yield f"{record.id} is to measure physical reads, of a server that reads through the page cache"
        if record.outcome("window") is Holds.FAILS:
            continue
        invalid = {each.name: each.why for each in record.verdicts if _is_invalid(each) and each.name not in _OF_SMALL}
        if why := invalid.get(REACHED_DEVICE):
            if _CALLED_PHYSICAL.search(screen):
                yield f"{record.id} is called physical: {why}"
            if not record.spec.get("mode") and record.engine.get("direct_io") is False and "INVALID" in screen:
                del invalid[REACHED_DEVICE]
        yield from (f"{record.id}: {name}: {why}" for name, why in invalid.items())


def _is_invalid(verdict: Verdict) -> bool:
    return verdict.verdict is Holds.FAILS and severity_of(verdict.name, verdict.figures) is Severity.INVALID


def lacking(line: str) -> str:
    """Return what a command needs that this machine lacks; empty when nothing is missing."""
    if re.search(r"\bslob raw (?!dd\b)", line) and shutil.which("fio") is None:
        return "fio is not installed"
    return why_no_mariadb() if "mariadb" in line else ""


def typed(commands: Sequence[tuple[str, str]], home: Path) -> list[Step]:
    """Type the commands into one shell whose servers, records and files are below ``home``."""
    lines = [_PRELUDE]
    for number, (_, line) in enumerate(commands):
        lines += [
            line,
            f'printf "\\n{_MARK} {number} %d %d\\n" $? $SECONDS',
        ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLOB_", "OPENSLOB_"))}
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=_folder(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, text=True, check=False, timeout=1800,
        env={**environment, "OPENSLOB_HOME": str(home / "h"), "HOME": str(home), "SLOB_REHEARSE": _DIVISOR,
             "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "100"},
    )  # fmt: skip
    found = []
    rest = done.stdout
    for place, line in commands:
        output, _, rest = rest.partition(f"\n{_MARK} {len(found)} ")
        ended, _, rest = rest.partition("\n")
        code, at_s = map(int, ended.split()) if ended else (-1, 0)
        found.append(Step(place, line, code, output, at_s))
    return found


def _folder(home: Path) -> Path:
    """Return a working directory with what a reader has: Oracle's reports, and an environment to activate."""
    work = home / "work"
    for name in ("reports", "8k", "16k"):
        (work / name).mkdir(parents=True)
        for report in ("awr_19c.txt", "awr_23ai.html"):
            shutil.copy(FIXTURES / "awr" / report, work / name)
    (work / ".venv" / "bin").mkdir(parents=True)
    (work / ".venv" / "bin" / "activate").touch()
    # Benches have tests of their own.
    python = work / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    python.chmod(0o755)
    return work


@contextmanager
def home() -> Iterator[Path]:
    """Yield a new place for all of a reader's files; its servers are destroyed at the end."""
    place = Path(tempfile.mkdtemp(prefix="slob-w-", dir="/tmp"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        destroy_servers(place / "h")
        shutil.rmtree(place, ignore_errors=True)


def destroy_servers(home: Path) -> None:
    """Destroy all servers of an OPENSLOB_HOME, standbys first."""
    command = [sys.executable, "-m", "openslob", "server"]
    there = {**os.environ, "OPENSLOB_HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
    listed = subprocess.run([*command, "list", "--json"], check=False, capture_output=True, text=True, env=there)
    for server in sorted(json.loads(listed.stdout or "[]"), key=lambda one: not one.get("standby_of")):
        subprocess.run([*command, "destroy", server["name"]], check=False, capture_output=True, env=there)
