"""One table in two forms: columns of characters above which a line of dashes stands, and rows of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Row = Sequence[str]
PAGE = 12  # rows after which a text report begins a page and repeats the title and the headings


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading in a page, that in text with a bar between lines, its width there, and blanks before it."""

    heading: str
    text: str = ""
    width: int = 0
    left: bool = False
    gap: int = 1

    def cell(self, text: str) -> str:
        assert self.left or len(text) <= self.width, f"{text!r} is too wide for {self.heading!r}"
        text = text[: self.width]
        return text.ljust(self.width) if self.left else text.rjust(self.width)

    def lines(self) -> list[str]:
        return (self.text or self.heading).split("|")


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its title. ``groups`` are headings over several columns: text and number of columns each.

    ``form`` is how text shows the title: ``paged`` with the database's name, ``underlined``, ``bare``, or ``none``.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    summary: str = ""
    form: str = "paged"
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()


def text_of(table: Table, database: str) -> str:
    """The table as text; ``database`` is the mark with its name at the end of a title."""
    if table.form != "paged":
        head = {"underlined": f"{table.title}\n{'~' * len(table.title)}\n", "bare": f"{table.title}\n", "none": ""}
        notes = "".join(f"-> {note}\n" for note in table.notes)
        gap = "\n" if table.form == "bare" else ""
        return head[table.form] + notes + gap + _headings(table) + _rows(table, table.rows) + "\n"
    head = "\f" + table.title.ljust(80 - len(database)) + database + "\n"
    head += "".join(f"-> {note}\n" for note in table.notes) + "\n" + _headings(table)
    pages = [table.rows[at : at + PAGE] for at in range(0, len(table.rows), PAGE)] or [()]
    printed = "\n".join(head + _rows(table, page) for page in pages)
    return f"{printed}{' ' * 26}{'-' * 54}\n\n"


def _headings(table: Table) -> str:
    lines = max(len(column.lines()) for column in table.columns)
    padded = [[""] * (lines - len(column.lines())) + column.lines() for column in table.columns]
    printed = [_line(table, [words[at] for words in padded], cut=False) for at in range(lines)]
    return _groups(table) + "".join(f"{line}\n" for line in printed) + ruler(table.columns) + "\n"


def _groups(table: Table) -> str:
    """Headings over several columns, and a line of dashes under each."""
    if not table.groups:
        return ""
    words, rulers, at = "", "", 0
    for title, count in table.groups:
        widths = [column.width + column.gap for column in table.columns[at : at + count]]
        gap, width = table.columns[at].gap if at else 0, sum(widths) - table.columns[at].gap
        words += " " * gap + title.center(width)[:width]
        rulers += " " * gap + ("-" if title else " ") * width
        at += count
    return f"{words.rstrip()}\n{rulers.rstrip()}\n"


def ruler(columns: Sequence[Column]) -> str:
    return "".join(" " * (column.gap if at else 0) + "-" * column.width for at, column in enumerate(columns))


def _line(table: Table, cells: Row, cut: bool = True) -> str:
    line = ""
    for at, (column, text) in enumerate(zip(table.columns, cells, strict=True)):
        wide = text.ljust(column.width) if column.left else text.rjust(column.width)
        line += " " * (column.gap if at else 0) + (column.cell(text) if cut else wide)
    return line.rstrip()


def _rows(table: Table, rows: Sequence[Row]) -> str:
    """Rows as lines; a sum stands below a line of tildes."""
    dashes = ruler(table.columns)
    sign = {True: dashes.replace("-", "~").replace("~", " ", 1) + "\n", False: ""}
    return "".join(f"{sign[row[0] == 'Sum']}{_line(table, row)}\n" for row in rows)


def page_of(table: Table, has_summaries: bool = True) -> str:
    """The table as part of a page; its title is a heading where text has a mark, and a line of its own elsewhere."""
    title = escape(table.title, quote=False)
    head = f'<h3 class="awr">{title}</h3>\n' if table.form in ("paged", "bare") else f"<p />{title}<p />\n"
    head = head if table.title else "<p />\n"
    notes = "".join(f'<li class="awr"> {escape(note, quote=False)} </li>\n' for note in table.notes)
    attributes = f'border="0" class="tdiff" summary="{escape(table.summary)}"' if has_summaries else 'border="1"'
    groups = "".join(
        f'<th class="awrbg" colspan=" {count}">{name}</th>' if name else "<td>&#160;</td>" * count
        for name, count in table.groups
    )
    groups = f"<tr>\n{groups}\n</tr>" if groups else ""
    headings = "".join(
        f'<th class="{"awrbg" if column.heading else "awrnobg"}" scope="col">{escape(column.heading)}</th>'
        for column in table.columns
    )
    headings = f"<tr>{headings}</tr>\n" if table.columns else "\n"
    rows = "".join(_page_row(table.columns, row, number) for number, row in enumerate(table.rows))
    return f"{head}{f'<ul>{notes}</ul>' if notes else ''}\n<table {attributes}>{groups}{headings}{rows}</table><p />\n"


def _page_row(columns: tuple[Column, ...], row: Row, number: int) -> str:
    shade = "awrnc" if number % 2 else "awrc"
    cells = ""
    for at, text in enumerate(row):
        is_left = bool(columns) and columns[at].left
        align = "" if is_left else 'align="right" '
        scope = 'scope="row" ' if at == 0 else ""
        padded = text if is_left else text.rjust(columns[at].width if columns else 16)
        cells += f"<td {align}{scope}class='{shade}'>{escape(padded, quote=False) if text else '&#160;'}</td>"
    return f"<tr>{cells}</tr>\n"
