"""A report on one page: what is on it, and that it is one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from factories.paths import FIXTURES
from factories.reports import made_up, of_a_sweep
from factories.running import slob
from openslob.core.errors import UsageError
from openslob.report.document import Document
from openslob.report.html.one_page import HEIGHT, MARGIN, one_page_of, render_html, render_pdf, render_svg
from openslob.report.several_runs import runs_document, set_document

SVG = "{http://www.w3.org/2000/svg}"
NAMES = (
    "run-physical",
    "run-buffered",
    "lab-whole",
    "endurance-killed",
    "storage-calibrate",
    "crash-lost",
    "failover-lost",
)
MADE = made_up()


def document(name: str, tmp_path: Path) -> Document:
    if name == "sweep":
        return set_document("petals", of_a_sweep(), ())
    made = MADE[name](tmp_path)
    return made.kind.document(made.record, made.folder)


@pytest.mark.parametrize("name", [*NAMES, "sweep"])
def test_the_sheet_has_the_answer_the_figures_the_conditions_and_a_caveat(name: str, tmp_path: Path) -> None:
    made = document(name, tmp_path)
    page = one_page_of(made)
    root = ElementTree.fromstring(render_svg(page))
    said = " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text")).replace("\u00a0", " ")
    assert 2 <= len(page.figures) <= 4
    for text in (
        page.title,
        page.answer,
        page.caveat,
        *page.conditions,
        *(text for pair in page.figures for text in pair),
    ):
        assert " ".join(text.split()) in said
    # Every block of the sheet is on it, and none is above another.
    blocks = [each for each in root.findall(f"{SVG}g")]
    tops = [float(re.findall(r"[\d.]+", each.attrib["transform"])[1]) for each in blocks]
    assert tops == sorted(set(tops))
    assert tops[-1] < HEIGHT - MARGIN
    assert len(root.findall(f".//{SVG}g/{SVG}svg")) == (0 if page.picture is None else 1)


def test_figures_that_must_not_be_used_are_said_not_to_be_in_red(tmp_path: Path) -> None:
    page = one_page_of(document("run-buffered", tmp_path))
    assert page.is_invalid
    assert page.caveat.startswith("Do not use these figures: ")
    assert 'fill="#b42318" font-weight="bold"' in render_svg(page)
    assert "#b42318" not in render_svg(replace(page, is_invalid=False, picture=None))
    lost = one_page_of(document("crash-lost", tmp_path))
    assert "acknowledged commits are not there" in lost.caveat
    assert "Do not use" not in lost.caveat


def test_names_can_not_leave_their_place(tmp_path: Path) -> None:
    page = replace(one_page_of(document("run-physical", tmp_path)), title="</text><script>alert(1)</script>")
    html = render_html(page)
    assert "<script" not in html
    assert "https://" not in html.replace("http://www.w3.org", "")


def test_the_command_writes_html_or_pdf_by_the_name(tmp_path: Path) -> None:
    folder = FIXTURES / "records" / "lab-v1" / "measured"
    for name, begin in (("page.html", b"<!DOCTYPE html>"), ("page.pdf", b"%PDF-")):
        done = slob("report", folder, "--one-page", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).read_bytes().startswith(begin)
    refused = slob("report", folder, "-o", tmp_path / "other.pdf")
    assert (refused.returncode, "--one-page writes a PDF" in refused.stderr) == (2, True)


def test_a_pdf_is_one_sheet_of_a4(tmp_path: Path) -> None:
    pdf = render_pdf(one_page_of(document("run-physical", tmp_path)))
    (box,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    # 210 x 297 mm in points of 1/72 inch.
    assert [float(side) for side in box] == pytest.approx([595.3, 841.9], abs=1)


def test_a_report_without_figures_of_its_own_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no figures for one page"):
        one_page_of(replace(document("run-physical", tmp_path), key_figures=()))


def test_the_page_of_a_comparison_has_both_sides() -> None:
    runs = of_a_sweep()
    sides = [("before", runs[:1]), ("after", runs[1:2])]
    made = runs_document(sides, runs[:2], [Path(), Path()], ())
    labels = [label for label, _ in one_page_of(made).figures]
    assert labels == ["physical reads/s, before", "physical reads/s, after", "latency, before", "latency, after"]
