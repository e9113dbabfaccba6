"""The lexers: whatever is printed in columns or cells comes back as printed."""

from __future__ import annotations

import html as entities
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import effort
from factories.awr_reports import FIXTURES
from openslob.awr import html, text
from openslob.awr.numbers import NumberFormat
from openslob.awr.parse import is_title
from openslob.awr.source import load
from openslob.awr.tables import ReportTable

WORDS = st.text(alphabet="abcdefghijk XYZ:/*-$", max_size=12).map(str.strip)
FIGURES = st.integers(0, 999_999_999).map("{:,}".format) | st.sampled_from(["", "0.5", "1,234,567.8", "99,999.9"])
ROWS = st.lists(
    st.tuples(WORDS.filter(lambda word: len(word) > 1 and word[0] not in "-~="), FIGURES, FIGURES),
    min_size=1,
    max_size=8,
)
TITLE = "Foreground Wait Events                   DB/Inst: FIX/fix1  Snaps: 41-42"


def lexed(source: str) -> list[ReportTable]:
    return list(text.tables(source, lambda _: True, is_title))


def printed(rows: list[tuple[str, str, str]]) -> str:
    ruler = "------------ ------------ ------------"
    lines = [f"{name:<12} {one:>12} {other:>12}".rstrip() for name, one, other in rows]
    return "\n".join(
        [TITLE, "-> a note", "", "Name                  One        Other", ruler, *lines, "    " + "-" * 30]
    )


@given(ROWS)
def test_text_comes_back_from_its_columns(rows):
    full = [row for row in rows if any(row[1:])] or [("name", "1", "2")]
    (table,) = lexed(printed(full))
    assert table.section == "Foreground Wait Events"
    assert table.columns == ("Name", "One", "Other")
    assert table.rows == tuple(full)


@given(ROWS.filter(lambda rows: all(row[1] for row in rows)), st.integers(1, 12))
def test_a_row_that_is_shifted_is_never_cut_wrong(rows, by):
    """A digit between two columns makes the row a misfit; in a row that still fits no figure is a part of one."""
    shifted = printed(rows).replace("\n" + rows[0][0].ljust(12), "\n" + rows[0][0].ljust(12 + by), 1)
    figures = {figure for row in rows for figure in row[1:]}
    for table in lexed(shifted):
        assert all(cell in figures or NumberFormat().read(cell) is None for row in table.rows for cell in row[1:])


def test_a_name_wrapped_at_its_column_is_joined():
    rows = [("Streams AQ: ", "1", "2"), ("waiting", "", "")]
    (table,) = lexed(printed(rows))
    assert table.rows == (("Streams AQ:waiting", "1", "2"),)


def test_title_headings_and_ruler_may_share_lines():
    source = (
        "Load Profile              Per Second    Per Transaction\n~~~~~~~~~~~~"
        "         ---------------    ---------------\n"
    )
    source += "      DB Time(s):               95.9            5,511.9\n    Transactions:                1.0\n"
    (table,) = lexed(source)
    assert table.section == "Load Profile"
    assert table.columns == ("", "Per Second", "Per Transaction")
    assert table.rows == (("DB Time(s):", "95.9", "5,511.9"), ("Transactions:", "1.0", ""))


def test_a_title_that_follows_a_table_without_a_blank_line_ends_it():
    source = (
        printed([("a b", "1", "2")]).rsplit("\n", 1)[0]
        + "\nHost CPU (CPUs: 2)\n~~~~~~~~  Load Average\n           Begin       End\n"
    )
    source += "           --------- ---------\n                0.98      0.62\n"
    first, second = lexed(source)
    assert first.rows == (("a b", "1", "2"),)
    assert (second.section, second.rows) == ("Host CPU (CPUs: 2)", (("0.98", "0.62"),))


def test_an_underline_after_a_blank_line_ends_a_table_that_goes_over_pages():
    (table,) = lexed(printed([("a b", "1", "2")]).rsplit("\n", 1)[0] + "\n\n~~~~~~~~\n")
    assert table.rows == (("a b", "1", "2"),)


def test_labelled_values_need_no_ruler():
    source = (
        "Instance Efficiency Percentages\n~~~~~~~~~~~\n           "
        " Buffer Nowait %:   99.97       Redo NoWait %:  100.00\n\n"
    )
    (table,) = lexed(source)
    assert list(table.read_labels()) == [("buffer nowait %", ("99.97",)), ("redo nowait %", ("100.00",))]


CELLS = st.lists(
    st.lists(st.text(alphabet="ab 1,.<>&\"'µ", max_size=8), min_size=3, max_size=3), min_size=1, max_size=6
)


@given(CELLS, st.sampled_from(['"', '""', "'"]), st.booleans())
def test_html_cells_come_back(cells, quote, closed):
    end = "</td>" if closed else ""
    rows = "".join(
        "<tr>" + "".join(f"<td class={quote}x{quote}>{entities.escape(cell)}{end}" for cell in row) + "</tr>"
        for row in cells
    )
    source = (
        f"<h3>A Title</h3><ul><li>a note</li></ul><a href=#x>link</a><table"
        f" summary={quote}what{quote}><tr><th>A<th>B<th>C</tr>{rows}</table>"
    )
    (table,) = html.tables(source, lambda *_: True)
    assert table.section == "A Title"
    assert table.columns == ("A", "B", "C")
    assert table.rows == tuple(tuple(" ".join(cell.split()) for cell in row) for row in cells)


def test_of_two_rows_of_headings_the_last_names_the_columns():
    source = (
        "<table><tr><td></td><th colspan=2>Wait</th></tr><tr><th>Event</th><th>Waits"
        "</th><th>Total(s)</th></tr><tr><td>e</td><td>1</td><td>2</td></tr></table>"
    )
    (table,) = html.tables(source, lambda *_: True)
    assert table.columns == ("Event", "Waits", "Total(s)")


def test_a_row_with_a_cell_too_few_is_a_misfit():
    source = "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td></tr><tr><td>1</td><td>2</td></tr></table>"
    (table,) = html.tables(source, lambda *_: True)
    assert (table.rows, table.misfits) == ((("1", "2"),), ("1",))


@given(st.lists(st.text(alphabet="abc<> ", min_size=20, max_size=400), min_size=8, max_size=12))
def test_a_hard_wrap_is_undone(lines):
    long = [line.replace(" ", "x") + "y" * 40 for line in lines]
    wrapped = "\n".join(line[at : at + 20] for line in long for at in range(0, len(line), 20))
    assert html.unwrap(wrapped).replace("\n", "") == "".join(long)


def test_a_line_that_is_long_by_nature_is_left_alone():
    source = "\n".join(["x" * 50, "short", "y" * 49])
    assert html.unwrap(source) == source


# What makes the standard library's parser, or a browser, read on in another way.
SCRAPS = (
    *"<>\"'&\x0c\xa0\u017f",
    "<!--", "<![x", "<?", "</", "</>", "<b.c", "<a>", "</a>", "<a b='>'>", "<a name='x'/>", '<b x=y"z w=">',
    "<p\xa0x>", "<br/>",
    "<div>", "<li>", "<h7>", "<o:p>", "<script>", "</script>", "<style>", "<title>", "<table>", "<table/>", "</table>",
    '<table summary=""x"">', "<tr>", "</tr>", "<tr-x>", "<td>", "<td/>", "<td\xa0x>", "<td a='1\">", "</td x>", "<tdx>",
    "&lt", "&am", "< 3", "a<b",
)  # fmt: skip


def damage(page: str, chance: random.Random) -> str:
    """Return the page with some scraps in it, some pieces missing, and perhaps without its end."""
    for _ in range(chance.choice((1, 3, 10, 30))):
        at = chance.randrange(len(page))
        cut = at + chance.choice((0, 0, 0, 1, 5, 40))
        page = page[:at] + chance.choice(SCRAPS) + page[cut:]
    return page[: chance.choice((None, chance.randrange(len(page))))]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.html")), ids=lambda path: path.stem)
def test_the_quick_way_finds_the_tables_that_the_parser_finds_also_of_damaged_pages(path):
    page, chance = load(path).text, random.Random(path.stem)
    for turn in range(effort.number(20, 400)):
        damaged = damage(page, chance) if turn else page
        quick, slow = (list(html.tables(damaged, lambda *_: True, is_quick)) for is_quick in (True, False))
        assert quick == slow
