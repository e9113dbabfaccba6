"""Lexer for text reports: lines in, tables out.

The only trustworthy thing in a text report is the ruler, the line of dashes under the headings: it says where
columns begin and end. White space does not: cells may be blank, and names hold blanks. So a row is cut at the
ruler's places, and a row with a character between two columns is not guessed at but handed on as a misfit.

Titles come in three forms: ``Title   DB/Inst: X/x  Snaps: 1-2``; a line underlined with ``~~~``; and, in global
reports, a bare line that is a known title. Title and headings of the second form share lines with each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise

from openslob.awr.tables import ReportTable, squeeze

_TITLE = re.compile(
    r"(?P<title>\S.*?)(?:\s+(?:for )?DB:\s*\S+\s.*?Snaps?:\s*\d+\s*-\s*\d+"
    r"|\s*DB/Inst:\s*\S+/\S.*"  # a long title touches it, and the line is cut at its width
    r"|\s{2,}Snaps?:\s*\d+\s*-\s*\d+$)"  # its owner took the names out
)
_RULER = re.compile(r"[\s~=-]*")
_GROUP = re.compile(r"-+|=+")
_TILDES = re.compile(r"~{3,}")
_GAP = re.compile(r"\s{2,}")
_FIGURES = re.compile(r"\S\s{2,}\d[\d,.]*(?:\s{2,}|$)")  # a row of a table whose ruler is lost
_LABEL = r"[A-Za-z%](?:[^:\s]|\s(?!\s))*:(?=\s|$)"
_PAIR = re.compile(rf"\s*(?P<label>{_LABEL})(?P<rest>[^:]*?)(?=\s{{2,}}{_LABEL}|$)")
_LONGEST = 500  # characters; titles and lines of labelled values have 80
_SPANNER = re.compile(r"-{3,} ?[^-]* ?-{3,}")  # "---- % of Waits ----" over several columns
_SECOND_HALF = "\u2060"  # of a character as wide as two, which Oracle counts as two when it aligns columns
_FIGURE = re.compile(r"[\d,.]+")
_PROSE = re.compile(r" {0,4}\S+(?: \S+)*")  # a note goes on; headings have gaps
_MORE_HEADINGS = 4  # a ruler this soon under another one rules headings of two levels, not data

Span = tuple[int, int]


def tables(text: str, wanted: Callable[[str], bool], titles: Callable[[str], bool]) -> Iterator[ReportTable]:
    """The tables of ``text`` in order, of the sections that are ``wanted``; ``titles`` knows a bare title."""
    lexer = _Lexer(wanted, titles)
    for line in text.split("\n"):
        yield from lexer.line(line.replace("\f", "").rstrip().expandtabs())
    yield from lexer.end()


class _Lexer:
    """A line at a time; what has been read of the present table waits here until the table ends."""

    def __init__(self, wanted: Callable[[str], bool], titles: Callable[[str], bool]) -> None:
        self.wanted = wanted
        self.titles = titles
        self.section = ""
        self.in_note = False
        self.after_note: list[str] = []  # headings that touch a note
        self.pending: list[str] = []  # lines that may turn out to be a title, headings or labelled values
        self.ruled: list[Span] | None = None  # columns of the table being read
        self.headings: list[str] = []
        self.body: list[str] = []
        self.is_paged = False  # its title is on every page, and a line of dashes ends it: blank lines do not
        self.resumed = 0  # rows of the body before its last blank line

    def line(self, line: str) -> Iterator[ReportTable]:
        if not line:
            yield from self.blank()
        elif line[0] == "~" and _TILDES.match(line):
            yield from self.underline(line)
        elif line.lstrip()[0] in "-~=" and _RULER.fullmatch(line):
            yield from self.ruler(line)
        elif ("DB/Inst:" in line or "Snap" in line) and len(line) < _LONGEST and (title := _TITLE.match(line)):
            yield from self.end()
            self.section, self.is_paged = squeeze(title["title"]), True
        else:
            yield from self.words(line)

    def words(self, line: str) -> Iterator[ReportTable]:
        if line.startswith("->"):
            self.in_note, self.after_note = True, []
        elif self.ruled is not None and not self.is_bare_title(line):
            self.body.append(line)
        elif self.in_note:
            if _PROSE.fullmatch(line) is None:
                self.after_note.append(line)
        elif self.is_bare_title(line):
            yield from self.end()
            self.section, self.is_paged = squeeze(line), False
        else:
            self.pending.append(line)

    def is_bare_title(self, line: str) -> bool:
        return line[0] != " " and "  " not in line and self.titles(line)

    def blank(self) -> Iterator[ReportTable]:
        """A blank line ends what was going on, but for a table that goes over pages."""
        if self.ruled is not None and self.is_paged:
            self.in_note = False
            self.body.append("")
            self.resumed = len(self.body)
        else:
            yield from self.end()

    def end(self) -> Iterator[ReportTable]:
        """Something new begins, or nothing more comes."""
        self.in_note = False
        if self.ruled is not None:
            yield from self.close()
        elif self.pending:
            yield from self.values()

    def underline(self, line: str) -> Iterator[ReportTable]:
        """``~~~`` under a title; the rest of both lines may be headings, and the rest of this one a ruler."""
        if self.body and not self.body[-1]:
            yield from self.close()
        above = self.body if self.ruled is not None else self.pending
        title_line = above.pop() if above else self.section  # a bare title is known before its line
        start = above[0] if above and above[0].startswith("Host") else title_line  # a wrapped headings line
        waiting, self.pending = self.pending, []
        if self.ruled is not None:
            yield from self.close()
        elif start is title_line and waiting:
            self.pending = waiting
            yield from self.values()
        self.section, self.is_paged = squeeze(start[: _title_end(start)]), False
        self.in_note = False
        self.keep_headings(title_line, _title_end(title_line))
        tildes = _TILDES.match(line)
        under = tildes.end() if tildes else 0
        rest = " " * under + line[under:]
        if rest.strip() and _RULER.fullmatch(rest):
            yield from self.ruler(rest)
        else:
            self.keep_headings(line, under)

    def keep_headings(self, line: str, start: int) -> None:
        """Put what stands to the right of a title by for the ruler to come."""
        if line[start:].strip():
            self.pending.append(" " * start + line[start:])

    def ruler(self, line: str) -> Iterator[ReportTable]:
        spans = [match.span() for match in _GROUP.finditer(line)]
        if self.ruled is None:
            if len(spans) > 1:
                self.open(spans, self.pending or (self.after_note if self.in_note else []))
            return  # a lone group is a line under a group of headings, or the end of an empty section
        if len(spans) == 1:
            yield from self.close()
        elif spans == [] or not self.body:
            return  # ~~~~ between instances and their sum
        elif (rows := self.resumed or _rows_above(self.body)) or len(self.body) > _MORE_HEADINGS:
            headings, self.body = self.body[rows:] if rows else [], self.body[: rows or None]
            yield from self.close()
            self.open(spans, headings)
        else:
            self.open(spans, self.body)

    def open(self, spans: list[Span], headings: list[str]) -> None:
        self.ruled, self.headings, self.body, self.pending, self.resumed = spans, headings, [], [], 0

    def close(self) -> Iterator[ReportTable]:
        spans, headings, body = self.ruled or [], self.headings, self.body
        self.ruled, self.headings, self.body, self.resumed = None, [], [], 0
        if body and self.wanted(self.section):
            yield _cut(self.section, spans, headings, body)

    def values(self) -> Iterator[ReportTable]:
        """Labelled values without a ruler: ``Redo NoWait %: 100.00``."""
        lines, self.pending = self.pending, []
        if not self.wanted(self.section):
            return
        rows: list[tuple[str, ...]] = []
        misfits: list[str] = []
        for line in lines:
            pairs = list(_pairs(line))
            rows.extend(pairs)
            if not pairs and len(line) < _LONGEST and _FIGURES.search(line):
                misfits.append(line)
        if rows or misfits:
            yield ReportTable(self.section, (), tuple(rows), misfits=tuple(misfits))


def _rows_above(body: list[str]) -> int:
    """How many lines hold figures before the headings of the next table, which touches this one."""
    if len(body) > _MORE_HEADINGS:
        return 0
    has_figure = [any(_FIGURE.fullmatch(word) for word in line.split()) for line in body]
    return has_figure.index(False) if False in has_figure else len(body)


def _title_end(line: str) -> int:
    """Where a title ends and headings on its line may begin; ``Host CPU (CPUs:   16)`` is all title."""
    gap = _GAP.search(line, len(line) - len(line.lstrip()))
    if gap is None or line.find("(") in range(gap.end() + 1):
        return len(line)
    return gap.start()


def _pairs(line: str) -> Iterator[tuple[str, ...]]:
    """Every ``label: value value`` of a line."""
    if ":" not in line or len(line) > _LONGEST:
        return
    for match in _PAIR.finditer(line.replace("(mins)", "(mins)  ")):  # one blank before the next label
        yield (squeeze(match["label"]), *(part for part in _GAP.split(match["rest"].strip()) if part))


def _cut(section: str, spans: list[Span], headings: list[str], body: list[str]) -> ReportTable:
    """Cut ``body`` at ``spans``; text left of the first span is a column of labels."""
    first = spans[0][0]
    body = [line if line.isascii() else _widened(line) for line in body]
    labelled = first > 0 and any(line[:first].strip() for line in body)
    if labelled:
        spans = [(0, first), *spans]
    rows: list[tuple[str, ...]] = []
    misfits: list[str] = []
    is_new_page = False
    for line in body:
        if not line:
            is_new_page = True
            continue
        pairs = list(_pairs(line)) if labelled else []
        if len(pairs) > 1:
            rows.extend(pairs)
        elif _fits(line, spans):
            row = tuple(line[start:end].replace(_SECOND_HALF, "").strip() for start, end in _open_ended(spans))
            is_rest = rows and not is_new_page and row[0] and not any(row[1:])
            if is_rest and len(rows[-1][0]) >= spans[0][1] - spans[0][0] - 1:
                rows[-1] = (rows[-1][0] + row[0], *rows[-1][1:])  # a name wrapped at its column's width
            else:
                rows.append(row)
        elif pairs:
            rows.extend(pairs)
        else:
            misfits.append(line)
        is_new_page = False
    columns = tuple(_heading(headings, spans, at) for at in range(len(spans)))
    widths = tuple(end - start for start, end in spans)
    return ReportTable(section, columns, tuple(rows), widths=widths, misfits=tuple(misfits))


def _widened(line: str) -> str:
    return "".join(char + _SECOND_HALF if unicodedata.east_asian_width(char) in "WF" else char for char in line)


def _open_ended(spans: list[Span]) -> list[tuple[int, int | None]]:
    return [*spans[:-1], (spans[-1][0], None)]


def _fits(line: str, spans: list[Span]) -> bool:
    """Whether the places between the columns are blank."""
    if spans[0][0] and line[: spans[0][0]].strip():
        return False
    return not any(line[end:start].strip() for (_, end), (start, _) in pairwise(spans))


def _heading(lines: list[str], spans: list[Span], at: int) -> str:
    """The words above column ``at``, top to bottom; a heading may be wider than its column, to the left."""
    start = spans[at - 1][1] if at else 0
    end = spans[at][1] if at + 1 < len(spans) else None
    words = (_SPANNER.sub(lambda spanner: " " * len(spanner[0]), line)[start:end] for line in lines)
    return squeeze(" ".join(words))
