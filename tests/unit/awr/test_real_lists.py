"""Lists of real reports, where they are at hand, against a second reader that shares nothing with the first.

It takes pages apart with a few regular expressions and texts with `split`, knows the headings of the releases by heart,
and compares each printed figure in order.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from factories.awr_mutations import whole
from factories.awr_reports import SAMPLES
from openslob.awr import ListedRow, Number

# Title -> set, and heading of the report -> heading of the set.
_SQL = {"SQL Id": "SQL Id", "Old Hash Value": "SQL Id", "Executions": "Executions", "Elapsed Time (s)": "Elapsed(s)",
        "CPU Time (s)": "CPU(s)", "Buffer Gets": "Gets", "Physical Reads": "Reads", "%CPU": "% CPU", "%IO": "% IO",
        "SQL Module": "Module", "PDB Name": "PDB"}  # fmt: skip
_SEGMENT = {"Owner": "Owner", "Tablespace Name": "Tablespace", "Object Name": "Object", "Subobject Name": "Subobject",
            "Obj. Type": "Type", "%Total": "% total", "% of Capture": "% captured", "PDB Name": "PDB"}  # fmt: skip
_STATISTICS = ("Logical Reads", "Physical Reads", "Physical Writes", "Buffer Busy Waits", "ITL Waits", "Row Lock Waits")
SECTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "SQL ordered by Elapsed Time": ("sql_elapsed", _SQL | {"Elapsed Time per Exec (s)": "Elapsed/exec(s)",
                                                           "%Total": "% of DB time"}),
    "SQL ordered by CPU Time": ("sql_cpu", _SQL | {"CPU per Exec (s)": "CPU/exec(s)", "%Total": "% of DB CPU"}),
    "SQL ordered by Gets": ("sql_gets", _SQL | {"Gets per Exec": "Gets/exec", "%Total": "% of gets"}),
    "SQL ordered by Reads": ("sql_reads", _SQL | {"Reads per Exec": "Reads/exec", "%Total": "% of reads"}),
    "SQL ordered by Executions": ("sql_executions", _SQL | {"Rows Processed": "Rows", "Rows per Exec": "Rows/exec"}),
    "Enqueue Activity": ("enqueues", {"Enqueue Type (Request Reason)": "Enqueue", "Requests": "Requests",
                                      "Succ Gets": "Succeeded", "Failed Gets": "Failed", "Waits": "Waits",
                                      "Wt Time (s)": "Time(s)"}),
    "Undo Segment Stats": ("undo", {"End Time": "End time", "Num Undo Blocks": "Blocks", "Max Qry Len (s)":
                                    "Longest query(s)", "Number of Transactions": "Transactions"}),
    **{f"Segments by {name}": ("segments", _SEGMENT | {name: "Value"}) for name in _STATISTICS},
    "Exadata Cell Server IOPS Statistics - Top Cells": (
        "cells", {"Cell Name": "Cell", "Average": "IOPS", "Small Reads": "Small reads/s", "Large Writes":
                  "Large writes/s"}),
    "Flash Cache User Writes": ("flash_cache", {"Cell Name": "Cell", "First Writes": "First writes"}),
}  # fmt: skip
PAGES = sorted(SAMPLES.glob("awr_html_*.html")) + sorted(SAMPLES.glob("awrg_html_*.html"))
WRAPPED = 132  # characters of a line that goes on in the next, unless it ends in a blank
TEXTS = sorted(SAMPLES.glob("awr_text_*.txt"))
if not PAGES:
    pytest.skip(f"no sample reports in {SAMPLES} (set OPENSLOB_AWR_SAMPLES)", allow_module_level=True)


def _text(cell: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split())


@cache
def unwrapped(path: Path) -> str:
    page = path.read_bytes().decode("utf-8", errors="replace")
    if sum(len(line) == WRAPPED for line in page.split("\n")) > page.count("\n") / 2:
        page = re.sub(rf"(?m)^(.{{{WRAPPED - 1}}}[^ ])\n", r"\1", page)
    return page


def tables(path: Path, title: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield headings and rows of each table of a page directly below ``title``."""
    page = unwrapped(path)
    for found in re.finditer(rf">\s*{re.escape(title)}\s*<(?!/a>)", page):
        table = re.compile(r"<table.*?</table>", re.DOTALL).search(page, found.end())
        assert table is not None
        if re.search(r"<h[1-6]", page[found.end() : table.start()]):
            continue  # an empty section
        lines = [re.findall(r"<(t[dh])[^>]*?(?:/>|>(.*?)</\1>)", row, re.DOTALL)
                 for row in re.findall(r"<tr.*?</tr>", table[0], re.DOTALL)]  # fmt: skip
        heads = [line for line in lines if any(tag == "th" for tag, _ in line)]
        yield ([_text(cell) for _, cell in heads[-1]],
               [[_text(cell) for _, cell in line] for line in lines if line not in heads])  # fmt: skip


def agrees(printed: str, found: Number | str | None) -> bool:
    """Whether a cell is what is printed, or the exact figure that rounds to it."""
    if isinstance(found, str) or not re.fullmatch(r"-?[\d,]*\.?\d+", printed):
        return found == printed or (found is None and printed in ("", "N/A"))
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return found is not None and abs(found.value - float(printed.replace(",", ""))) <= half * (1 + 1e-6)


def compare(rows: Sequence[ListedRow], heads: Sequence[str], names: dict[str, str], lines: list[list[str]]) -> int:
    """Return how many cells agree; an AssertionError names the first that does not."""
    assert len(rows) == len(lines)
    count = 0
    for row, line in zip(rows, lines, strict=True):
        cells = line if len(line) == len(heads) else [cell for cell in line if cell != "*"]
        for head, printed in zip(heads, cells, strict=True):
            heading = names.get(head)
            if heading is not None and heads.count(head) == 1:
                assert agrees(printed, row.cells.get(heading)), (line, head, row)
                count += 1
    return count


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages(path):
    found, count, seen = whole(path).listed, 0, dict.fromkeys((name for name, _ in SECTIONS.values()), 0)
    for title, (name, names) in SECTIONS.items():
        for heads, lines in tables(path, title):
            rows = found[name]
            if name == "segments":
                rows = [row for row in rows if row.cells["Statistic"] == title.removeprefix("Segments by ").lower()]
            elif name == "undo":
                rows = [row for row in rows if "End time" in row.cells]
            elif name == "cells":
                rows = [row for row in rows if "IOPS" in row.cells]
            elif name == "flash_cache":  # one row from two tables, each in its own order
                rows = sorted(rows, key=lambda row: str(row.cells["Cell"]))
                lines.sort()
            count += compare(rows, heads, names, lines)
            seen[name] += len(lines)
    assert count > 0 or path.name.startswith("awrg"), path
    assert {name: len(rows) for name, rows in found.items() if name.startswith("sql") and seen[name]} == {
        name: lines for name, lines in seen.items() if name.startswith("sql") and lines
    }


@pytest.mark.parametrize("path", [path for path in PAGES if "awrg" in path.name and "exadata" not in path.name],
                         ids=lambda path: path.name)  # fmt: skip
def test_pages_of_clusters(path):
    """Groups of equal headings: totals, figures for each execution, percentages."""
    for title, name, first, each in (
        ("Elapsed Time", "sql_elapsed", "Elapsed(s)", "Elapsed/exec(s)"), ("Gets", "sql_gets", "Gets", "Gets/exec"),
        ("CPU Time", "sql_cpu", "CPU(s)", "CPU/exec(s)"), ("Reads", "sql_reads", "Reads", "Reads/exec"),
    ):  # fmt: skip
        ((heads, lines),) = tables(path, f"SQL ordered by {title} (Global)")
        second = heads.index(heads[1], 2)
        for line, row in zip(lines, whole(path).listed[name], strict=True):
            assert agrees(line[0], row.cells["SQL Id"])
            assert agrees(line[1], row.cells.get(first)), (line, row)
            assert agrees(line[second], row.cells.get(each)), (line, row)
            assert agrees(line[heads.index("Execs")], row.cells.get("Executions"))
    ((heads, lines),) = tables(path, "Segment Statistics (Global)")
    names = {"Statistic": "Statistic", "Value": "Value", "%Total": "% total", "%Capture": "% captured"} | _SEGMENT
    assert compare(whole(path).listed["segments"], heads, names, lines) > len(lines)


_FIGURE = r"(?: +(?:[\d,.]+(?:E\+\d+)?|N/A))"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_texts(path):
    """Each line of figures that ends in an SQL id is a statement, and its figures are the words of the line."""
    lines, title = [], ""
    for line in path.read_text(errors="replace").split("\n"):
        if found := re.match(r"\f?SQL ordered by (.*?) +DB/Inst", line):
            title = found[1]
        elif "DB/Inst" in line:
            title = ""
        elif title in ("Elapsed Time", "CPU Time", "Gets", "Reads", "Executions") and re.fullmatch(
            rf" *[\d,.]+{_FIGURE}{_FIGURE}{{2,6}} [0-9a-z]{{11,13}}", line
        ):
            lines.append((title, line.split()))
    of_title = {"Elapsed Time": ("sql_elapsed", "Elapsed(s)", "Executions"), "CPU Time": ("sql_cpu", "CPU(s)",
                "Executions"), "Gets": ("sql_gets", "Gets", "Executions"), "Reads": ("sql_reads", "Reads",
                "Executions"), "Executions": ("sql_executions", "Executions", "Rows")}  # fmt: skip
    found = whole(path).listed
    assert len([row for name, rows in found.items() if name.startswith("sql") for row in rows]) == len(lines)
    places = {name: iter(found[name]) for name, _, _ in of_title.values()}
    for title, words in lines:
        name, *figures = of_title[title]
        row = next(places[name])
        assert agrees(words[-1], row.cells["SQL Id"])
        assert all(agrees(word, row.cells.get(figure)) for word, figure in zip(words, figures, strict=False)), row


def test_twins_of_one_snapshot():
    """Text and page of one snapshot: each figure within what both round, and names as far as text has room for them."""
    one, other = (whole(SAMPLES / f"awr_{form}_11.2.0.2_orals1_aix.{end}").listed for form, end in
                  (("text", "txt"), ("html", "html")))  # fmt: skip
    assert {name: len(rows) for name, rows in one.items()} == {name: len(rows) for name, rows in other.items()}
    for name, rows in one.items():
        for text, page in zip(rows, other[name], strict=True):
            assert text.cells.keys() == page.cells.keys()
            for heading, cell in text.cells.items():
                if isinstance(cell, Number):
                    slack = (cell.step + page.cells[heading].step) / 2 * (1 + 1e-9)
                    assert abs(cell.value - page.cells[heading].value) <= slack, (name, heading, text, page)
                elif heading in ("SQL Id", "Owner", "Object", "Enqueue", "Statistic"):
                    assert page.cells[heading].startswith(cell)
