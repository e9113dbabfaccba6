"""Reports as they suffer on their way: no crash, and no figure that the report did not have.

The real reports, where they are at hand, take a few changes here. OPENSLOB_AWR_MUTATIONS=4000 makes so many.
"""

from __future__ import annotations

import os
import random
from functools import cache
from html import escape
from pathlib import Path

import pytest

from factories.awr_mutations import HARMFUL, HARMLESS, differing, mutate
from factories.awr_reports import FIXTURES, READABLE, SAMPLES, needs_samples
from openslob.awr import Report, ReportError, read, read_bytes, text
from openslob.awr.parse import is_title
from openslob.awr.source import decode, load
from openslob.awr.verdicts import verdicts

HOW = (*HARMLESS, *HARMFUL)
SAMPLE_MUTATIONS = int(os.environ.get("OPENSLOB_AWR_MUTATIONS") or 8)


@cache
def whole(path: Path) -> Report:
    return read(path)


@cache
def text_of(path: Path) -> str:
    return decode(path.read_bytes()).replace("\r\n", "\n")


def check(path: Path, how: str, chance: random.Random) -> None:
    if "<table" in text_of(path)[:20_000] and how in ("quoted", "lines twice spaced"):
        return
    try:
        report = read_bytes(mutate(text_of(path), how, chance), path.name)
    except ReportError as error:
        assert "\n" not in str(error)
        return
    verdicts(report, 8)
    if how in HARMLESS:
        assert differing(whole(path), report)[:3] == []


@pytest.mark.parametrize("how", HOW)
def test_hand_made_reports(how):
    chance = random.Random(how)
    for path in READABLE:
        check(path, how, chance)


@needs_samples
def test_real_reports():
    chance = random.Random(11)
    paths = [path for path in sorted(SAMPLES.iterdir()) if path.name.startswith(("awr", "sp_"))]
    hows = chance.sample(HOW, len(HOW))
    for number in range(SAMPLE_MUTATIONS):
        path, how = chance.choice(paths), hows[number % len(hows)]
        check(path, how, random.Random(number))


def as_page(path: Path) -> str:
    """The page that Oracle would have made of a text report: the same tables with the same headings and figures."""
    source = load(path)
    title = source.text.split("\n")[0]
    parts = [f"<html><body><h1>{title}</h1>"]
    for one in text.tables(source.text, lambda _: True, is_title):
        rows = [("th", one.columns)] * bool(one.columns) + [("td", row) for row in one.rows]
        lines = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in rows)
        parts += [f"<h3>{escape(one.section)}</h3>"] * (one.section != title)
        parts.append(f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
        title = one.section
    return "\n".join((*parts, "<p>End of Report</p></body></html>"))


@pytest.mark.parametrize("name", ["awr_11.2.txt", "awr_12.1.txt", "awr_19c.txt", "awrg_11.2.txt"])
def test_text_and_page_of_a_report_agree(name):
    path = FIXTURES / name
    page = read_bytes(as_page(path).encode(), name)
    assert page.format == "html"
    assert differing(whole(path), page) == []
    assert differing(page, whole(path)) == []
