"""What the trial of minimal systems reads from the output of their tests."""

from __future__ import annotations

import sys

from factories.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import try_systems

LOG = """
=========================== short test summary info ============================
SKIPPED [3] tests/real/test_a.py:12: fio is not installed
SKIPPED [2] tests/real/test_b.py:7: fio is not installed
SKIPPED [1] ../place/conftest.py:7: needs root to be other users
FAILED tests/real/test_c.py::test_one - AssertionError: 3 failed in vain
ERROR tests/real/test_d.py::test_two
= 1 failed, 90 passed, 6 skipped, 1 error in 31.25s =

once more, one by one:
SKIPPED [9] tests/real/test_c.py:12: of the second attempt
================= 2 passed in 3.00s =================
"""


def test_counts_and_reasons_are_those_of_the_first_run():
    outcome = try_systems.Outcome("trixie guest test", 0, 1.0)
    outcome.read(LOG.splitlines())
    assert outcome.counts == {"failed": 1, "passed": 90, "skipped": 6, "error": 1}
    assert outcome.skipped == {"fio is not installed": 5, "needs root to be other users": 1}
    assert [test.split()[0] for test in outcome.failed] == [
        "tests/real/test_c.py::test_one",
        "tests/real/test_d.py::test_two",
    ]


def test_a_command_without_tests_has_no_counts():
    outcome = try_systems.Outcome("trixie guest demo", 0, 1.0)
    outcome.read(["= 8 runs in 3 minutes", "8 of 8"])
    assert not outcome.counts
