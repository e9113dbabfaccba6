"""Some dozen cases of `make fuzz` of each kind, always the same ones: no traceback, no hang, nothing written beside."""

import sys

import pytest

from factories import effort
from factories.paths import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import fuzz

CASES = effort.number(10, 20)


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_no_case_is_a_fault(kind, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    assert [(seed, *found) for seed in range(CASES) if (found := fuzz.fault_of(seed, kind))[0]] == []


def test_a_fault_is_found(monkeypatch):
    def fails(_place, _chance):
        raise KeyError("a defect")

    def hangs(_place, _chance):
        return ["show"]

    def never(*_words, **_how):
        while True:
            pass

    monkeypatch.setattr(fuzz, "LONGEST_S", 0.05)
    monkeypatch.setattr(fuzz, "slob", never)
    monkeypatch.setitem(fuzz.KINDS, "fails", fails)
    monkeypatch.setitem(fuzz.KINDS, "hangs", hangs)
    assert "a defect" in fuzz.fault_of(1, "fails")[0]
    assert "took more than" in fuzz.fault_of(1, "hangs")[0]
