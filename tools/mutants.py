#!/usr/bin/env python3
"""Change what the modules that compute decide, one place at a time, and count how many changes the unit tests catch.

Usage: tools/mutants.py [--seed SEED] [--most N] [--workers N] [--again] [MODULE]...

A sample of each module's mutants is drawn by the seed, so that it is the same the next time. A mutant is tried with
unit tests that run its line, or its module where the line is run only once, and with those named for it. Prints the
shares and the survivors, each with its place and change: it changes nothing that can be seen, or lacks a test.
`tools/mutation_check.py` has chosen faults, some of which only a server shows.

`.mutants/` keeps which test runs which line, until the source or a test changes, and what survived. ``--again`` tries
these alone, with the files of tests that were changed since.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from coverage import CoverageData

from mutant_code import Mutant, draw
from mutant_runs import PACKAGE, ROOT, Outcome, Runner

TESTS = ROOT / "tests" / "unit"
KEPT = ROOT / ".mutants"
LINES, NAMES, RESULT = KEPT / "lines", KEPT / "tests.txt", KEPT / "result.json"
MOST_TESTS = 120  # for a mutant, the nearest first: a fault that only the farthest tests find is found by accident
_AWR = "batch cells columns consistency figures latency model numbers rows tables verdicts wait_cells waits"


@dataclass(frozen=True)
class Part:
    """Modules that are counted together, and how many of their mutants are tried."""

    name: str
    patterns: tuple[str, ...]
    tried: int

    def files(self) -> list[Path]:
        """Return the modules' files, in order."""
        return sorted(file for pattern in self.patterns for file in PACKAGE.glob(pattern))


PARTS = (
    Part("metrics", ("metrics/*.py",), 90),
    Part("analyze", ("analyze/*.py",), 220),
    Part("analyze/curves", ("analyze/curves/*.py",), 60),
    Part("analyze/verdicts", ("analyze/verdicts/*.py",), 90),
    Part("awr", tuple(f"awr/{name}.py" for name in _AWR.split()), 110),
    Part("crash accounting", ("durability/accounting.py",), 35),
    Part("order and mix", ("core/permutation.py", "core/method.py"), 35),
    Part("histogram", ("core/histogram.py",), 30),
)


@dataclass
class Tally:
    """What became of a part's mutants; ``every`` is how many it has."""

    every: int
    tried: int = 0
    survivors: list[str] = field(default_factory=list)

    @property
    def caught(self) -> float:
        """The share of the tried mutants that tests caught."""
        return 1 - len(self.survivors) / self.tried if self.tried else 1.0


class Selection:
    """Which tests a mutant is tried with, by the lines that each test runs."""

    def __init__(self) -> None:
        self._data = CoverageData(str(LINES))
        self._data.read()
        # The lines that a test runs: few for a test of one thing, none for a test of a table.
        self._width = Counter(dict.fromkeys(NAMES.read_text(encoding="utf-8").splitlines(), 0))
        for file in self._data.measured_files():
            for contexts in self._data.contexts_by_lineno(file).values():
                self._width.update({_test(each) for each in contexts})
        del self._width[""]

    def tests_of(self, mutant: Mutant) -> tuple[list[str], bool]:
        """Return the tests, the nearest first, and whether the line is run when the package is loaded, too."""
        by_line = self._data.contexts_by_lineno(str(mutant.file))
        # An expression over several lines may be noted at its first one alone.
        first = max((line for line in by_line if line <= mutant.line), default=0)
        lines = [first, *range(mutant.line, mutant.last_line + 1)]
        found = {_test(each) for line in lines for each in by_line.get(line, ())}
        # What is computed once may be used by any test that runs the module, or reads a table of it.
        if "" in found:
            found |= {_test(each) for contexts in by_line.values() for each in contexts}
            found |= {each for each, width in self._width.items() if not width and _distance(each, mutant.file) < 2}
        tests = (found | {each for each in self._width if _distance(each, mutant.file) == 0}) - {""}
        nearest = sorted(tests, key=lambda each: (_distance(each, mutant.file), self._width[each], each))
        return nearest[:MOST_TESTS], "" in found


def main(arguments: Sequence[str]) -> int:
    """Try the mutants and print what became of them; 1 if a test fails without a mutant."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help=f"some of: {', '.join(part.name for part in PARTS)}"
    )
    parser.add_argument("--seed", default="1", help="another seed draws another sample")
    parser.add_argument(
        "--most", type=int, default=10**9, metavar="N", help="try at most so many of each module's sample"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes at a time")
    parser.add_argument(
        "--again", action="store_true", help="try what survived, with the tests that were changed since"
    )
    asked = parser.parse_args(arguments)
    parts = [part for part in PARTS if part.name in asked.modules or not asked.modules]
    os.chdir(ROOT)
    os.environ["CI"] = "true"  # hypothesis draws the same examples each time
    KEPT.mkdir(exist_ok=True)
    before = json.loads(RESULT.read_text(encoding="utf-8")) if asked.again else None
    if before is None and not _are_lines_new():
        _record_lines(asked.workers)
    if before is None:
        parts = [replace(part, tried=min(part.tried, asked.most)) for part in parts]
    else:
        parts = [replace(part, tried=before[part.name]["tried"]) for part in parts if part.name in before]
    with tempfile.TemporaryDirectory(prefix="slob-") as place:
        os.environ["TMPDIR"] = tempfile.tempdir = place
        tallies, wrong = _try(parts, asked.seed, asked.workers, Path(place), before)
    _show(tallies)
    if wrong:
        print("These tests fail without a mutant, too; what they caught counts for nothing:", *wrong, sep="\n  ")
    return 1 if wrong else 0


def _try(
    parts: Sequence[Part], seed: str, workers: int, place: Path, before: dict[str, Any] | None
) -> tuple[dict[str, Tally], list[str]]:
    """Return what became of each part's mutants, and the tests that fail without one.

    Of a sample that was tried ``before``, the survivors alone are tried.
    """
    tests_of = Selection().tests_of if before is None else _changed_tests
    tallies, plan = {}, []
    for part in parts:
        every, mutants = draw(part.files(), part.tried, seed)
        tallies[part.name] = Tally(every, len(mutants))
        left = [each for each in mutants if before is None or each.key in before[part.name]["survivors"]]
        plan += [(tallies[part.name], each, *tests_of(each)) for each in left]
    runner = Runner(sorted({_file(test) for _, _, tests, _ in plan for test in tests}), place, workers)
    failed: set[str] = set()

    def note(tally: Tally, mutant: Mutant, outcome: Outcome) -> None:
        failed.update(outcome.failed)
        if not outcome.caught:
            tally.survivors.append(mutant.key)
            print(mutant.show().removeprefix(f"{ROOT}/"), flush=True)

    for tally, mutant, tests, anew in plan:
        if tests:
            runner.try_mutant(mutant.file, mutant.source, tests, anew, partial(note, tally, mutant))
        else:
            note(tally, mutant, Outcome(False, ()))
    runner.finish()
    wrong: set[str] = set()
    for anew in (False, True):
        runner.try_unchanged(sorted(failed), anew, lambda outcome: wrong.update(outcome.failed))
    runner.finish()
    found = {name: {"tried": tally.tried, "survivors": tally.survivors} for name, tally in tallies.items()}
    RESULT.write_text(json.dumps(found), encoding="utf-8")
    return tallies, sorted(wrong)


def _changed_tests(mutant: Mutant) -> tuple[list[str], bool]:
    """Return the files of tests that were changed since the lines were recorded: the mutant's part's, if any are."""
    since = LINES.stat().st_mtime
    files = [str(file.relative_to(ROOT)) for file in TESTS.rglob("test_*.py") if file.stat().st_mtime > since]
    near = [file for file in files if _distance(file, mutant.file) < 2]
    return sorted(near or files, key=lambda each: (_distance(each, mutant.file), each)), True


def _show(tallies: dict[str, Tally]) -> None:
    print(f"\n{'module':18}{'mutants':>9}{'tried':>7}{'caught':>8}{'survived':>10}{'share':>8}")
    for name, tally in tallies.items():
        survived = len(tally.survivors)
        print(f"{name:18}{tally.every:9}{tally.tried:7}{tally.tried - survived:8}{survived:10}{tally.caught:8.1%}")
    every = sum(tally.every for tally in tallies.values())
    share = sum(tally.caught * tally.every for tally in tallies.values()) / every
    variance = sum(
        (tally.every / every) ** 2 * tally.caught * (1 - tally.caught) / tally.tried for tally in tallies.values()
    )
    print(f"of all {every} mutants, by their number in each module: {share:.1%} ± {1.96 * math.sqrt(variance):.1%}")


def _are_lines_new() -> bool:
    files = [*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]
    return LINES.exists() and LINES.stat().st_mtime > max(file.stat().st_mtime for file in files)


def _record_lines(workers: int) -> None:
    """Run the unit tests and keep which of them runs which line."""
    configuration = KEPT / "coverage.rc"
    configuration.write_text(f"[run]\nsource = openslob\ndata_file = {LINES}\n", encoding="utf-8")
    # Tests of the project examine the repository, and compute nothing.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/unit",
        "--ignore=tests/unit/project",
    ]
    listed = subprocess.run([*command, "--collect-only"], check=True, capture_output=True, text=True).stdout
    NAMES.write_text("\n".join(line for line in listed.splitlines() if "::" in line), encoding="utf-8")
    command += [f"-n{workers}", "--dist=worksteal"]
    command += ["--cov", f"--cov-config={configuration}", "--cov-context=test", "--cov-report="]
    subprocess.run(command, check=True)


def _test(context: str) -> str:
    """Return the test of a context, which names its phase, too; empty outside of tests."""
    return context.rpartition("|")[0]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _distance(test: str, source: Path) -> int:
    """Return 0 for a test of the source file's own, 1 for one of its part of the package, 2 for others."""
    file, place = (ROOT / _file(test)).relative_to(TESTS), source.relative_to(PACKAGE)
    if file.parts[0] == place.parts[0] or len(file.parts) == len(place.parts) == 1:
        return 0 if file.stem == f"test_{place.stem}" else 1
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
