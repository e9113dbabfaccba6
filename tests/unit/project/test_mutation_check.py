"""The table of faults fits the source: a fault that can't be put in would be one that is no longer looked for."""

from __future__ import annotations

import sys

from factories.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import mutation_check


def test_each_fault_has_its_place_in_the_source_and_its_tests_exist():
    assert [fault for fault in mutation_check.FAULTS if not mutation_check.fits(ROOT, fault)] == []
    for test in {test for fault in mutation_check.FAULTS for test in fault.tests}:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text() if name else (ROOT / file).exists(), test
