"""A real compare-period report, where it is at hand: our ratios against the differences in percent that it prints.

The lines are taken apart with `split` alone: a second reader, which shares nothing with the first.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from factories.awr_reports import SAMPLES
from openslob.awr import read_all
from openslob.awr.comparison import Difference, Pair, compare

PATH = SAMPLES / "odd_awrdiff_text_11.2.0.3.txt"
if not PATH.exists():
    pytest.skip(f"no sample reports in {SAMPLES} (set OPENSLOB_AWR_SAMPLES)", allow_module_level=True)


@cache
def differences() -> dict[tuple[str, str], Difference]:
    return {(one.kind, f"{one.name}: {one.figure}"): one for one in compare(*read_all(PATH))}


def lines(title: str) -> list[list[str]]:
    """The rows of a section on all its pages: the name, and the figures behind it."""
    found, section = [], ""
    for line in PATH.read_text().replace("\f", "").split("\n"):
        section = line if "First DB/Inst" in line or line.startswith("Workload") else section
        row = re.split(r"\s{2,}", line.strip())
        if section.startswith(title) and len(row) > 4 and sum(map(is_figure, row)) > 2:
            found.append(row)
    assert found, title
    return found


def is_figure(text: str) -> bool:
    return re.fullmatch(r"-?[\d,]+(\.\d+)?", text) is not None


def number(text: str) -> float:
    return float(text.replace(",", ""))


def check(pair: Pair, printed: str, half: float = 0.005) -> bool:
    """Whether a ratio was made, which then must be the printed difference, as far as figures have digits.

    Oracle computes it from figures that it has rounded to two decimals: 0.014 and 0.030 differ by 200 %.
    """
    if pair.ratio is None or pair.a.value < 20 * half:
        return False
    ours = (pair.a.step / pair.a.value + (pair.b.step / pair.b.value if pair.b.value else 0)) / 2
    slack = 100 * pair.ratio * (ours + half / pair.a.value + half / max(pair.b.value, half))
    assert 100 * (pair.ratio - 1) == pytest.approx(number(printed), abs=0.06 + slack), (pair, printed)
    return True


@pytest.mark.parametrize("title", ["Key Instance Activity Stats", "Other Instance Activity Stats"])
def test_statistics_per_second_and_per_transaction(title):
    made = 0
    for name, *figures in lines(title):
        found = differences().get(("statistic", f"{name}: rate"))
        if found is not None and len(figures) == 12:  # a name that is cut may be that of two
            made += check(found.each, figures[8]) + check(found.per_txn, figures[11])
    assert made > 15


def test_the_load_profile():
    made = 0
    for name, *figures in lines("Workload"):
        label = name.rstrip(":").lower().replace("cpu time", "db cpu").replace("w/a mb processed", "work area mb")
        found = differences()["load", f"{label}: rate"]
        made += check(found.each, figures[2])
        if len(figures) == 6 and not name.startswith("W/A"):  # of which it prints the difference per second twice
            made += check(found.per_txn, figures[5])
    assert made >= 15


def test_events_and_their_latencies():
    made = 0
    for name, *figures in lines("Wait Events"):
        found = differences().get(("event", f"{name}: waits"))
        if found is not None and len(figures) == 13:
            made += check(found.each, figures[6])
            mean = differences()["event", f"{name}: latency"].each
            if mean.a is not None and mean.b is not None and number(figures[10]) > 1:
                made += check(mean, figures[12], half=5.0)
    assert made > 25


def test_statements():
    """The milliseconds of an execution, as printed side by side."""
    made = 0
    for statement, *figures in lines("Top SQL Comparison by Elapsed Time"):
        found = differences().get(("SQL", f"{statement}: elapsed/exec"))
        if found is not None and all(map(is_figure, figures[5:7])) and number(figures[5]):
            both = [one.value for one in found.each if one is not None]
            assert both == [pytest.approx(number(text) / 1e3) for text in figures[5:7]]
            made += 1
    assert made > 5


def test_twins_of_one_snapshot_do_not_differ():
    """Text and page of one snapshot: names that the text cuts are found, and each ratio is 1 as far as digits go."""
    one, other = (read_all(SAMPLES / f"awr_{form}_11.2.0.2_orals1_aix.{end}")[0] for form, end in
                  (("text", "txt"), ("html", "html")))  # fmt: skip
    found = [one for one in compare(one, other) if one.texts is None]
    assert all(one.each.ratio is None or one.each.ratio == pytest.approx(1, abs=0.03) for one in found)
    alone = [one.name for one in found if None in one.each and one.each != (None, None)]
    assert len(alone) <= 5, alone  # names that are cut alike
    assert len(found) > 450
