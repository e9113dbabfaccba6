"""Lexer for HTML reports: returns the same tables as the lexer for text.

Oracle's HTML is flat (no nested tables), but reports have been mailed, saved from browsers, wrapped by SQL*Plus and
edited. So this is not an HTML parser: it finds tables, rows and cells by their opening tags, and does not rely on
closing tags or attributes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from openslob.awr.tables import ReportTable, squeeze

_SUMMARY = re.compile(r'summary\s*=\s*"{1,2}([^"]*)', re.IGNORECASE)
_NO_TITLE = re.compile(
    r"<(li|a|style|script|title)\b[^>]*>.*?(?=</\1\b|<\1\b|</ul\b|<h\d|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[^>]*>")
_ROW = re.compile(r"<tr\b[^>]*>", re.IGNORECASE)
_CELL = re.compile(r"<(t[hd])\b[^>]*>", re.IGNORECASE)
_WRAPPED_LINES = 5  # if so many lines have exactly the maximum length, a program wrapped them there


def tables(text: str, is_parsed: Callable[[str, str], bool]) -> Iterator[ReportTable]:
    """Yield the tables of ``text`` in order for which ``is_parsed(title, summary)`` is true."""
    lower = text.lower()
    title, end = "", 0
    start = lower.find("<table")
    while start >= 0:
        title = _title(text[end:start]) or title
        inside = text.find(">", start)
        following = lower.find("<table", start + 6)
        closing = lower.find("</table", start + 6)
        end = min(position for position in (following, closing, len(text)) if position >= 0)
        if 0 <= inside < end:
            attribute = _SUMMARY.search(text, start, inside)
            summary = squeeze(html.unescape(attribute[1])) if attribute else ""
            if is_parsed(title, summary):
                yield _table(title, summary, text[inside + 1 : end])
        start = following


def unwrap(text: str) -> str:
    """Undo hard wrapping: join each line of exactly the maximum length, unless it ends in a blank, with the next."""
    lines = text.split("\n")
    width = max(map(len, lines))
    if sum(len(line) == width for line in lines) < _WRAPPED_LINES:
        return text
    return "".join(line if len(line) == width and line[-1:] != " " else line + "\n" for line in lines)


def _title(between: str) -> str:
    """Return the last text between two tables that is not a note, a link or a style."""
    text = _TAG.sub("\n", _NO_TITLE.sub("", between).replace("\n", " "))  # a title may be wrapped
    lines = [squeeze(html.unescape(line)) for line in text.split("\n")]
    return next((line for line in reversed(lines) if line), "")


def _table(title: str, summary: str, inside: str) -> ReportTable:
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    misfits: list[str] = []
    for part in _ROW.split(inside)[1:]:
        pieces = _CELL.split(part)
        tags, cells = pieces[1::2], tuple(_cell_text(piece) for piece in pieces[2::2])
        if not cells:
            continue
        if not rows and _is_headings(tags, cells):
            columns = cells  # the last of several heading rows names the columns
        elif columns and len(cells) != len(columns) and not cells[0].endswith(":"):
            misfits.append(" | ".join(cells))
        else:
            rows.append(cells)
    return ReportTable(title, columns, tuple(rows), summary, misfits=tuple(misfits))


def _is_headings(tags: list[str], cells: tuple[str, ...]) -> bool:
    """Return whether a row holds headings: ``th`` cells, possibly with blank ``td`` cells in between."""
    kinds = [tag.lower() for tag in tags]
    return "th" in kinds and not any(kind == "td" and cell for kind, cell in zip(kinds, cells, strict=True))


def _cell_text(piece: str) -> str:
    text = piece.split("</t", 1)[0]
    text = _TAG.sub("", text) if "<" in text else text
    return squeeze(html.unescape(text) if "&" in text else text)
