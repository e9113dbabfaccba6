"""HTML as browsers, wikis and mail programs leave it: attributes, nesting, missing and damaged tags."""

from __future__ import annotations

import re

import pytest

from factories.awr_reports import FIXTURES, read_fixture
from factories.tables import table
from openslob.awr import html, read_bytes

PAGES = ("awr_23ai.html", "awrg_19c.html")


def figures(report):
    """All that a report says."""
    return (report.header, report.load_profile, report.events, report.histograms, report.time_model_s, report.activity,
            report.os_stats, report.host_cpu, report.parameters, report.warnings)  # fmt: skip


def signs_in_attributes(text):
    text = re.sub(r"<(t[dh])\b", r"""<\1 data-sort="a > b" title='<x> it"s > 5' """, text)
    return re.sub(r"<(table|tr)\b", r"""<\1 onclick="if (x > 1 && y < 2) { go('>') }" """, text)


def upper_case(text):
    return re.sub(r"<(/?)(\w+)", lambda tag: f"<{tag[1]}{tag[2].upper()}", text)


def entities_and_breaks(text):
    text = re.sub(r">(\w+) (\w[\w ]*)</th>", r">\1<br/>&#160;\2&nbsp;</th>", text)
    return re.sub(r"<td([^>]*)>([\d,.]+)</td>", r"<td\1>&nbsp;<font size=1>\2</font><br>\n</td>", text)


def comments(text):
    return text.replace("<tr", "<!-- <tr><td>1</td></tr> --><tr").replace("</td>", "<!-- > --></td>")


def without_ends(text):
    return re.sub(r"</(td|th|tr|p|li|h\d|body|html)>", "", text)


def without_ends_of_tables(text):
    return text.replace("</table>", "")


def in_a_layout(text):
    """As mail programs and wikis do: the report is the cell of a table."""
    text = text.replace("<body", "<table width=100%><tr><td>menu</td><td><table><tr><td><body")
    return text.replace("</body>", "</td></tr></table></td></tr></table></body>")


def cells_in_tables(text):
    return re.sub(r"(<td[^>]*>)([\d,.]+)</td>", r"\1<table><tr><td>\2</td></tr></table></td>", text)


def word_sections(text):
    return text.replace("<tr", "<![if !vml]><tr").replace("</tr>", "</tr><![endif]><!x>")


CHANGES = (signs_in_attributes, upper_case, entities_and_breaks, comments, without_ends, without_ends_of_tables,
           in_a_layout, cells_in_tables, word_sections)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_whatever_wrote_its_tags(name, change):
    text = (FIXTURES / name).read_text()
    changed = change(text)
    assert changed != text
    assert figures(read_bytes(changed.encode(), name)) == figures(read_fixture(name))


def lexed(page):
    return [(one.section, one.columns, one.rows, one.misfits) for one in html.tables(page, lambda *_: True)]


ROW = "<table><tr><th>Name</th><th>Waits</th></tr><tr><td>a</td><td>1</td></tr>{}</table>"
HEAD = ("Name", "Waits")


@table(
    ("row", "rows", "misfits"),
    [
        ("<tr><td class='x>b</td><td class='y'>2</td></tr>", (("a", "1"), ("b", "2")), ()),
        ('<tr><td class="x>b</td><td class="y">2</td></tr>', (("a", "1"), ("b", "2")), ()),
        ("<tr><td>select a from b where a <b.c and x</td><td>2</td></tr>",
         (("a", "1"), ("select a from b where a <b.c and x", "2")), ()),
        ("<tr><td>b<td>2<tr><td>c<td>3", (("a", "1"), ("b", "2"), ("c", "3")), ()),
        ("<td>b</td><td>2</td>", (("a", "1"),), ("a | 1 | b | 2",)),
        ("<tr><td>b</td></tr>", (("a", "1"),), ("b",)),
        ("<tr><td>b</td><td>2&lt;3 &amp; 4</td></tr>", (("a", "1"), ("b", "2<3 & 4")), ()),
    ],
)  # fmt: skip
def test_damaged_rows(row, rows, misfits):
    found = lexed("<h3>Title</h3>" + ROW.format(row))
    if row.startswith("<td>"):
        rows = (("a", "1"), ("b", "2"))  # cells without a row begin one
        misfits = ()
    assert found == [("Title", HEAD, rows, misfits)]


def test_a_row_inside_a_tag_is_told():
    assert lexed(ROW.format("<tr title='<tr <tr'x><td>b</td><td>2</td></tr>"))[0][2] == (("a", "1"), ("b", "2"))
    found = lexed(ROW.format("<b <tr><td>b</td><td>2</td></tr>"))
    assert found[-1][3] == ("a row inside a damaged tag",)
    data = (FIXTURES / "awr_23ai.html").read_text().replace("<tr>", "<b <tr>", 3)
    warnings = read_bytes(data.encode()).warnings
    assert any(warning.startswith("HTML page: ") for warning in warnings), warnings


@table(
    ("page", "title"),
    [
        ("<h3>Wait <b>Events</b></h3>", "Wait Events"),
        ("<h3>Wait\nEvents</h3><ul><li>a note</li></ul><a href='#top'>Back</a>", "Wait Events"),
        ("<h3>Wait Events</h3><style>td {x}</style><script>if (a<b) '<tr>'</script>", "Wait Events"),
        ("<h3>Wait Events</h3><script>write('</td>')</script>", "Wait Events"),
        ("<h3>Wait Events</h3><!-- a comment that nobody ends", "a comment that nobody ends"),
        ("<style>never ended<h3>Wait Events</h3>", "Wait Events"),
    ],
)
def test_the_title_of_a_table(page, title):
    assert [section for section, *_ in lexed(page + ROW.format(""))] == [title]


@table("filling", ['<a b="c>"d\'e ', "<td", "<table>", "<!--", "<![", '<a b="', "<a '\"", "&#"])
def test_tags_without_an_end_do_not_hang(filling):
    page = (FIXTURES / "awr_23ai.html").read_text()
    report = read_bytes((page + filling * (8_000 // len(filling)) + "<p>x</p>").encode())
    assert report.activity == read_fixture("awr_23ai.html").activity
