"""Reports as they suffer on their way: no crash, and no figure that the report did not have."""

from __future__ import annotations

import random
from html import escape
from pathlib import Path

import pytest

from factories import effort
from factories.awr_mutations import HARMFUL, HARMLESS, check, differing, whole
from factories.awr_reports import FIXTURES, READABLE
from openslob.awr import read_bytes, text
from openslob.awr.parse import is_title
from openslob.awr.source import load

HOW = (*HARMLESS, *HARMFUL)


@pytest.mark.parametrize("how", HOW)
def test_hand_made_reports(how):
    chance = random.Random(how)
    # What may only not crash is tried on a third of the reports, other ones for each change.
    step = 1 if how in HARMLESS else effort.number(3, 1)
    for path in READABLE[HOW.index(how) % step :: step]:
        check(path, how, chance)


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
