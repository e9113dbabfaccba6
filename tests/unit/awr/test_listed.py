"""Reports with line numbers, without their margin, and several cut-off reports in one file."""

from __future__ import annotations

import re
from functools import cache

import pytest

from factories.awr_reports import FIXTURES, read_fixture
from factories.tables import table
from openslob.awr import ReportError, ReportKind, read_bytes

TEXTS = ("awr_11.2.txt", "awr_19c.txt", "awrg_11.2.txt", "sp_10.2.txt", "sp_19c.txt")
FIGURES = ("header", "load_profile", "events", "histograms", "time_model_s", "activity", "os_stats", "host_cpu",
           "parameters", "io_profile", "iostat_functions", "warnings")  # fmt: skip


def figures(report):
    """All that a report says."""
    return {name: getattr(report, name) for name in FIGURES}


def text_of(name):
    return (FIXTURES / name).read_text()


def numbered(text, form):
    return "".join(form.format(at, line) for at, line in enumerate(text.split("\n"), 1))


def nl(text):
    """As the program nl lists it: blank lines have no number."""
    at, listed = 0, []
    for line in text.split("\n"):
        at += bool(line.strip())
        listed.append(f"{at:>6}\t{line}\n" if line.strip() else "\n")
    return "".join(listed)


@pytest.mark.parametrize("form", ["{:>5}: {}\n", "{}:{}\n", "{:>7} {}\n", "{:>6}\t{}\n", "{} {}\n", "{:>4}| {}\n"])
@pytest.mark.parametrize("name", [*TEXTS, "awr_23ai.html"])
def test_line_numbers_change_nothing(name, form):
    listed = numbered(text_of(name), form)
    assert figures(read_bytes(listed.encode())) == figures(read_fixture(name))
    without_blanks = re.sub(r"(?m)[ \t]+$", "", listed)
    assert figures(read_bytes(without_blanks.encode())) == figures(read_fixture(name))


def test_lines_that_are_blank_may_have_no_number():
    assert figures(read_bytes(nl(text_of("awr_11.2.txt")).encode())) == figures(read_fixture("awr_11.2.txt"))


def test_numbers_that_are_no_line_numbers_stay():
    text = "1: WORKLOAD REPOSITORY report for" + text_of("awr_11.2.txt").partition("report for")[2]
    assert read_bytes(text.encode()).activity == read_fixture("awr_11.2.txt").activity


@pytest.mark.parametrize("name", [*TEXTS, "awr_pdb_19c_paged.txt", "sp_9.2.txt"])
def test_a_lost_margin_is_told_and_no_figure_is_wrong(name):
    before = read_fixture(name)
    flush = re.sub(r"(?m)^[ \t]+", "", text_of(name))
    try:
        report = read_bytes(flush.encode())
    except ReportError as error:
        assert before.kind is ReportKind.AWR_GLOBAL
        assert "without readable figures" in str(error)
        return
    (told,) = [one for one in report.warnings if one.startswith("the blanks at the beginning of the lines are lost")]
    assert report.load_profile.items() <= before.load_profile.items()
    assert report.activity == before.activity
    assert report.time_model_s == before.time_model_s
    for table_read in ("events", "histograms", "parameters", "iostat_functions"):
        assert set(getattr(report, table_read)) <= set(getattr(before, table_read))
    if before.histograms:
        assert "istogram" in told
    if before.events and not report.events:
        assert "Events" in told


ALL = ("awr_11.2.txt", "awr_23ai.html", "sp_19c.txt", "awrg_19c.html", "awrg_11.2.txt")


@cache
def begin_of(name, share):
    """A share of a fixture's text, and what is read of it: nothing, where its figures come later."""
    text = text_of(name)
    cut = text[: int(len(text) * share)]
    try:
        return cut, read_bytes(cut.encode())
    except ReportError:
        return cut, None


@pytest.mark.parametrize("second", ALL)
@pytest.mark.parametrize("first", ALL)
def test_two_reports_that_are_cut_off_do_not_become_one(first, second):
    two = text_of(second)
    for share in (0.5, 0.75):
        cut, alone = begin_of(first, share)
        if alone is None:
            continue
        for joint in ("", "\n", "\f\n"):
            both = read_bytes((cut + joint + two[: int(len(two) * 0.6)]).encode())
            assert both.kind is alone.kind
            assert {**figures(both), "warnings": ()} == {**figures(alone), "warnings": ()}
            assert not both.complete
            assert any("which is not read" in warning for warning in both.warnings)


@table("cut", [60, 300, 500])
def test_a_report_cut_off_before_its_figures_leaves_the_file_to_none(cut):
    """The header of the first must not stand over the figures of the second."""
    text = text_of("awr_11.2.txt")
    with pytest.raises(ReportError, match="without readable figures"):
        read_bytes((text[:cut] + "\n" + text_of("sp_19c.txt").replace("FIX", "XYZ")).encode())
