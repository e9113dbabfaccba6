"""Mutants are the same each time, differ from the source in one place, and are put where their code is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from factories.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import mutant_runs

SOURCE = '''"""A module."""
from dataclasses import dataclass

LIMIT = 5


@dataclass(frozen=True)
class Value:
    of: int = 1

    @property
    def is_much(self) -> bool:
        """Whether it is."""
        return self.of > LIMIT


def doubled(value: int) -> int:
    if value < 0:
        raise ValueError(f"{value + 1} of {LIMIT}")
    return value * 2
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return path


def draw(file: Path, wanted: int, seed: str) -> list[Any]:
    pytest.importorskip("mutmut", reason="mutmut is not installed: make unit")
    import mutant_code  # noqa: PLC0415 - a second of CPU, which each worker would spend

    return list(mutant_code.draw([file], wanted, seed)[1])


def changes(file: Path, wanted: int = 100, seed: str = "1") -> list[str]:
    return [mutant.show().removeprefix(str(file)) for mutant in draw(file, wanted, seed)]


def test_limits_defaults_properties_and_functions_are_changed_but_no_annotation_decorator_or_refusal(file: Path):
    assert sorted(changes(file)) == [
        ":14\n    - return self.of > LIMIT\n    + return self.of >= LIMIT",
        ":18\n    - if value < 0:\n    + if value < 1:",
        ":18\n    - if value < 0:\n    + if value <= 0:",
        ":20\n    - return value * 2\n    + return value * 3",
        ":20\n    - return value * 2\n    + return value / 2",
        ":4\n    - LIMIT = 5\n    + LIMIT = 6",
        ":9\n    - of: int = 1\n    + of: int = 2",
    ]


def test_a_sample_is_the_same_each_time_and_changes_at_changed_code_alone(file: Path):
    drawn = changes(file, 4)
    assert changes(file, 4) == drawn != changes(file, 4, "2")
    every = {mutant.key for mutant in draw(file, 100, "1")}
    file.write_text(SOURCE.replace("value * 2", "value * 4"))
    assert len(every & {mutant.key for mutant in draw(file, 100, "1")}) == 5


def test_a_mutant_within_functions_is_put_in_their_place_and_any_other_is_loaded_anew():
    def changed(old: str, new: str) -> list[str] | None:
        before, after = (compile(each, "module.py", "exec") for each in (SOURCE, SOURCE.replace(old, new)))
        pairs = mutant_runs.changed_functions(before, after)
        return pairs if pairs is None else [old.co_qualname for old, _ in pairs]

    assert changed("value * 2", "value * 3") == ["doubled"]
    assert changed("of > LIMIT", "of >= LIMIT") == ["Value.is_much"]
    assert changed("LIMIT = 5", "LIMIT = 6") is None
    assert changed("of: int = 1", "of: int = 2") is None


TRIED = """
import sys
from pathlib import Path

import mutant_runs

test, file = "tests/unit/core/test_permutation.py", mutant_runs.PACKAGE / "core" / "permutation.py"
source = file.read_text()
runner, outcomes = mutant_runs.Runner([test], Path(sys.argv[1]), 1), []
for changed in (source, source.replace("astype(np.int64) + 1", "astype(np.int64) + 2")):
    runner.try_mutant(file, changed, [test], False, outcomes.append)
runner.finish()
print("caught:", [outcome.caught for outcome in outcomes])
"""


@pytest.mark.nightly
def test_what_is_put_in_the_place_of_a_function_is_what_the_tests_run(tmp_path: Path):
    path = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    tried = subprocess.run(
        [sys.executable, "-c", TRIED, tmp_path], cwd=ROOT, env=path, capture_output=True, text=True, check=False
    )
    assert tried.stdout.endswith("caught: [False, True]\n"), tried.stderr
