"""Lexer for text reports: turns lines into tables.

Only the ruler, the line of dashes under the headings, says reliably where columns begin and end. White space does
not, because cells may be blank and names contain blanks. So each row is cut at the positions of the ruler, and a row
with a character between two columns becomes a misfit.

Titles have three forms: ``Title   DB/Inst: X/x  Snaps: 1-2``; a line underlined with ``~~~``, which may share its lines
with the column headings; and, in global reports, a bare line that is a known title.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter

from openslob.awr.tables import ReportTable, squeeze

_TITLE = re.compile(
    r"(?P<title>\S.*?)(?:\s+(?:for )?DB:\s*\S+\s.*?Snaps?:\s*\d+\s*-\s*\d+"
    r"|\s*DB/Inst:\s*\S+/\S.*"  # a long title touches this mark, and the line is cut at its width
    r"|\s{2,}Snaps?:\s*\d+\s*-\s*\d+$)"  # anonymized: the names are removed
)
_INSTANCE = re.compile(r"DB/Inst:\s*\S+/\S")
_RULER = re.compile(r"[\s~=-]*")
_GROUP = re.compile(r"-+|=+")
_TILDES = re.compile(r"~{3,}")
_GAP = re.compile(r"\s{2,}")
_FIGURES = re.compile(r"\S\s{2,}\d[\d,.]*(?:\s{2,}|$)")  # a row of a table whose ruler is missing
_LABEL = r"[A-Za-z%](?:[^:\s]|\s(?!\s))*:(?=\s|$)"
_PAIR = re.compile(rf"\s*(?P<label>{_LABEL})(?P<rest>[^:]*?)(?=\s{{2,}}{_LABEL}|$)")
_LONGEST = 500  # characters; titles and lines of labelled values have 80
_SPANNER = re.compile(r"-{3,} ?[^-]* ?-{3,}")  # "---- % of Waits ----" over several columns
_SECOND_HALF = "\u2060"  # placeholder after a double-width character, which Oracle counts as two columns
_FIGURE = re.compile(r"[\d,.]+")
_PROSE = re.compile(r" {0,4}\S+(?: \S+)*")  # continuation of a note; headings have gaps
_NAMES_ABOVE = re.compile(
    r"Tablespace(?:\s+Filename)?|Owner\s+Name|Enqueue Type.*"
)  # headings of names in lines of their own, above the figures
_STATEMENTS = re.compile(r"(?:sql ordered|top sql comparison) by .*", re.IGNORECASE)
_STATEMENT_ID = re.compile(r"[0-9a-z]{11,13}|\d{5,10}")  # since 10g, in some lists of 11.2 cut; Statspack's hash value
_STATEMENT_CELL = re.compile(r"-?[\d.,]*[KMGT]?|N/A|#+|-?[\d.,]+E[+-]\d+|[\d /]+/[\d /]+")
_ABOUT = re.compile(r"(Module|PDB): *(.*)")  # what is printed below the figures of a statement, before its text
_FIGURE_CELL = re.compile(r"[\d.,]+(?:[EKMGT][+\d]*)?|#+|N/A|")
_WIDE_LABEL = re.compile(r"(?<=[A-Za-z])\s{2,}(?=Hit\b|%:)")  # "Buffer  Hit   %:"
_BLANKS_BESIDE = 2  # on both sides of a column
_MORE_HEADINGS = 4  # a second ruler within so many lines belongs to two-level headings, not to data

Span = tuple[int, int]


def tables(text: str, is_parsed: Callable[[str], bool], is_title: Callable[[str], bool]) -> list[ReportTable]:
    """Return the tables of ``text`` in order.

    ``is_parsed`` selects sections by title; ``is_title`` recognizes a bare title line.
    """
    lexer = _Lexer(is_parsed, is_title)
    flat = "".join(text.split("\f"))  # in a tenth of the time of a replacement
    for line in map(str.rstrip, (flat.expandtabs() if "\t" in flat else flat).split("\n")):
        lexer.line(line)
    lexer.end()
    return lexer.found


class _Columns:
    """The columns under a ruler. Each line is cut at all of them in one step."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = tuple(spans)
        starts, ends = zip(*spans, strict=True)
        self.cut = _slicer(zip(starts, (*ends[:-1], None), strict=True))
        self.cut_gaps = _slicer(zip((0, *ends[:-1]), starts, strict=True))

    def cells(self, line: str) -> tuple[str, ...]:
        """Return the cells of a line; the last column has the rest of it."""
        cells = tuple(map(str.strip, self.cut(line)))
        return cells if line.isascii() else tuple(cell.replace(_SECOND_HALF, "").strip() for cell in cells)

    def fit(self, line: str) -> bool:
        """Return whether the gaps between the columns are blank."""
        return not "".join(self.cut_gaps(line)).strip()

    def headings(self, lines: Iterable[str]) -> tuple[str, ...]:
        """Return the headings, lines joined. One may extend to the left of its column."""
        return _headings(tuple(lines), self.spans)


def _slicer(spans: Iterable[tuple[int, int | None]]) -> Callable[[str], tuple[str, ...]]:
    slices = [slice(*span) for span in spans]
    return itemgetter(*slices) if len(slices) > 1 else lambda line: (line[slices[0]],)


@lru_cache(maxsize=1024)  # a table goes over many pages, and reports of a version have the same headings
def _headings(lines: tuple[str, ...], spans: tuple[Span, ...]) -> tuple[str, ...]:
    ends = [end for _, end in spans[:-1]]
    cut = _slicer(zip((0, *ends), (*ends, None), strict=True))
    cuts = [cut(_without_spanners(line)) for line in lines]
    return tuple(squeeze(" ".join(parts[at] for parts in cuts)) for at in range(len(spans)))


class _Lexer:
    """State of the lexer, fed line by line; holds the lines of the current table until the table ends."""

    def __init__(self, is_parsed: Callable[[str], bool], is_title: Callable[[str], bool]) -> None:
        self.is_parsed = is_parsed
        self.is_title = is_title
        self.found: list[ReportTable] = []
        self.section = ""
        self.in_note = False
        self.after_note: list[str] = []  # headings that touch a note
        self.pending: list[str] = []  # lines that may turn out to be a title, headings or labelled values
        self.ruled: _Columns | None = None  # of the table being read
        self.is_statements = False  # whether it is a list of statements
        self.headings: list[str] = []
        self.body: list[str] = []
        self.names: _Columns | None = None  # columns of the lines with names above those with figures
        self.headings_of_names: list[str] = []
        self.is_paged = False  # the title repeats on every page; a line of dashes ends the table, blank lines do not
        self.resumed = 0  # number of body lines up to the last blank line

    def line(self, line: str) -> None:
        if not line:
            self.blank()
        elif line[0] == "~" and _TILDES.match(line):
            self.underline(line)
        elif line[-1] in "-~=" and _RULER.fullmatch(line):
            self.ruler(line)
        elif ("DB/Inst:" in line or "Snap" in line) and len(line) < _LONGEST and (title := _find_title(line)):
            self.end()
            self.section, self.is_paged = squeeze(title), True
        elif self.ruled is not None and "  " in line and line[0] != "-":  # neither a title nor a note
            self.body.append(line)
        else:
            self.words(line)

    def words(self, line: str) -> None:
        if line.startswith("->"):
            self.in_note, self.after_note = True, []
        elif self.ruled is not None and (self.is_statements or not self.is_bare_title(line)):
            self.body.append(line)
        elif self.in_note:
            if _PROSE.fullmatch(line) is None:
                self.after_note.append(line)
        elif self.is_bare_title(line):
            self.end()
            self.section, self.is_paged = squeeze(line), False
        else:
            self.pending.append(line)

    def is_bare_title(self, line: str) -> bool:
        return "  " not in line and line[0] != " " and self.is_title(line)

    def blank(self) -> None:
        """End the current table, unless it continues over pages."""
        if self.ruled is not None and self.is_paged:
            self.in_note = False
            self.body.append("")
            self.resumed = len(self.body)
        else:
            self.end()

    def end(self) -> None:
        """End the current table at the start of something new or at the end of the report."""
        self.in_note = False
        if self.ruled is not None:
            self.close()
        elif self.pending:
            self.values()

    def underline(self, line: str) -> None:
        """Handle ``~~~`` under a title. The rest of both lines may be headings, and the rest of this line a ruler."""
        if self.body and not self.body[-1]:
            self.close()
        above = self.body if self.ruled is not None else self.pending
        title_line = above.pop() if above else self.section  # a bare title was recognized before its underline
        start = above[0] if above and above[0].startswith("Host") else title_line  # a wrapped headings line
        waiting, self.pending = self.pending, []
        if self.ruled is not None:
            self.close()
        elif start is title_line and waiting:
            self.pending = waiting
            self.values()
        self.section, self.is_paged = squeeze(start[: _title_end(start)]), False
        self.in_note = False
        self.keep_headings(title_line, _title_end(title_line))
        tildes = _TILDES.match(line)
        under = tildes.end() if tildes else 0
        rest = " " * under + line[under:]
        if rest.strip() and _RULER.fullmatch(rest):
            self.ruler(rest)
        else:
            self.keep_headings(line, under)

    def keep_headings(self, line: str, start: int) -> None:
        """Keep the text to the right of a title as headings for the ruler that follows."""
        if line[start:].strip():
            self.pending.append(" " * start + line[start:])

    def ruler(self, line: str) -> None:
        spans = [match.span() for match in _GROUP.finditer(line)]
        if self.is_statement_text(line):
            self.body.append(line)
        elif self.ruled is None and self.pending and _NAMES_ABOVE.fullmatch(self.pending[-1]):
            self.names, self.headings_of_names, self.pending = _Columns(spans), self.pending, []
        elif self.ruled is None:
            if len(spans) > 1:
                self.open(spans, self.pending or (self.after_note if self.in_note else []))
            return  # a single dash group underlines a group of headings, or ends an empty section
        elif len(spans) == 1:
            self.close()
        elif spans == [] or not self.body:
            return  # ~~~~ separates instances from their sum
        elif (rows := self.resumed or _rows_above(self.body)) or len(self.body) > _MORE_HEADINGS:
            headings, self.body = self.body[rows:] if rows else [], self.body[: rows or None]
            self.close()
            self.open(spans, headings)
        else:
            self.open(spans, self.body)

    def is_statement_text(self, line: str) -> bool:
        """Return whether a line of dashes is part of a statement's text, such as a comment. The end is indented."""
        if self.ruled is None or line[0] == " " or not self.is_statements:
            return False
        return any(_is_statement(self.ruled.cells(row)) for row in self.body if row)

    def open(self, spans: list[Span], headings: list[str]) -> None:
        self.ruled, self.headings, self.body, self.pending, self.resumed = _Columns(spans), headings, [], [], 0
        self.is_statements = _STATEMENTS.fullmatch(self.section) is not None

    def close(self) -> None:
        columns, headings, body = self.ruled, self.headings, self.body
        names, self.names = self.names, None
        self.ruled, self.headings, self.body, self.resumed = None, [], [], 0
        if columns is None or not body or not self.is_parsed(self.section):
            return
        if names:
            self.found.append(_under_names(self.section, names, self.headings_of_names, columns, headings, body))
        else:
            cut = _cut_statements if self.is_statements else _cut
            self.found.append(cut(self.section, columns, headings, body))

    def values(self) -> None:
        """Find a table of labelled values without a ruler, such as ``Redo NoWait %: 100.00``."""
        lines, self.pending = self.pending, []
        if not self.is_parsed(self.section):
            return
        rows: list[tuple[str, ...]] = []
        misfits: list[str] = []
        for line in lines:
            pairs = list(_pairs(line))
            rows.extend(pairs)
            if not pairs and len(line) < _LONGEST and _FIGURES.search(line):
                misfits.append(line)
        if rows or misfits:
            self.found.append(ReportTable(self.section, (), tuple(rows), misfits=tuple(misfits)))


def _find_title(line: str) -> str:
    """Return the title in a line with the names of database and instance behind it; empty if there is none."""
    at = line.find("DB/Inst:")
    if at > 0 and not line[0].isspace() and "DB:" not in line and _INSTANCE.match(line, at):
        return line[:at]  # as the expression finds it, in a tenth of its time
    found = _TITLE.match(line)
    return found["title"] if found else ""


def _rows_above(body: list[str]) -> int:
    """Return the number of lines with figures before the headings of an adjoining table."""
    if len(body) > _MORE_HEADINGS:
        return 0
    has_figure = [any(_FIGURE.fullmatch(word) for word in line.split()) for line in body]
    return has_figure.index(False) if False in has_figure else len(body)


def _title_end(line: str) -> int:
    """Return where a title ends and headings may begin; ``Host CPU (CPUs:   16)`` is a title as a whole."""
    gap = _GAP.search(line, len(line) - len(line.lstrip()))
    if gap is None or line.find("(") in range(gap.end() + 1):
        return len(line)
    return gap.start()


def _pairs(line: str) -> Iterator[tuple[str, ...]]:
    """Yield each ``label: value value`` group of a line."""
    if ":" not in line or len(line) > _LONGEST:
        return
    line = _WIDE_LABEL.sub(" ", line.replace("(mins)", "(mins)  "))  # one blank before the next label
    for match in _PAIR.finditer(line):
        yield (squeeze(match["label"]), *(part for part in _GAP.split(match["rest"].strip()) if part))


def _cut(section: str, columns: _Columns, headings: list[str], body: list[str]) -> ReportTable:
    """Cut ``body`` into ``columns``. Text to the left of the first one forms a column of labels."""
    first = columns.spans[0][0]
    body = [line if line.isascii() else _widen(line) for line in body]
    labelled = first > 0 and any(line[:first].strip() for line in body)
    if labelled:
        columns = _Columns([(0, first), *columns.spans])
    widths = tuple(end - start for start, end in columns.spans)
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
        elif columns.fit(line):
            row = columns.cells(line)
            is_rest = rows and not is_new_page and row[0] and not any(row[1:])
            if is_rest and len(rows[-1][0]) >= widths[0] - 1:
                rows[-1] = (rows[-1][0] + row[0], *rows[-1][1:])  # a name wrapped at its column's width
            else:
                rows.append(row)
        elif pairs:
            rows.extend(pairs)
        elif (whole := _with_blank(line, columns)) is not None:
            rows.append(columns.cells(whole))
        else:
            misfits.append(line)
        is_new_page = False
    return ReportTable(section, columns.headings(headings), tuple(rows), widths=widths, misfits=tuple(misfits))


def _cut_statements(section: str, columns: _Columns, headings: list[str], body: list[str]) -> ReportTable:
    """Cut a list of statements: a line of figures, then module, container and text, wrapped at any character.

    What is above the first figures belongs to the last statement of the page before.
    """
    rows: list[list[str]] = []
    for line in filter(None, body):
        cells = columns.cells(line) if columns.fit(line) else ()
        if _is_statement(cells):
            rows.append([*cells, "", "", ""])
            continue
        if not rows:
            rows.append([""] * (len(columns.spans) + 3))
        about = _ABOUT.fullmatch(line)
        if about and not rows[-1][-1]:
            rows[-1][-3 if about[1] == "Module" else -2] = about[2]
        else:
            rows[-1][-1] += line
    all_headings = (*columns.headings(headings), "SQL Module", "PDB Name", "SQL Text")
    return ReportTable(section, all_headings, tuple(map(tuple, rows)))


def _is_statement(cells: tuple[str, ...]) -> bool:
    """Return whether a line is the figures of a statement, with its id first or last."""
    ids = [bool(_STATEMENT_ID.fullmatch(cell)) for cell in (*cells[:1], *cells[-1:])]
    figures = cells[:-1] if any(ids[1:]) else cells[1:]
    return any(ids) and any(figures) and all(map(_STATEMENT_CELL.fullmatch, figures))


def _under_names(
    section: str,
    names: _Columns,
    headings_of_names: list[str],
    figures: _Columns,
    headings: list[str],
    body: list[str],
) -> ReportTable:
    """Cut a table whose rows have two lines: the names of tablespace and file, and the figures below them.

    Long names go on in the next line; a blank tablespace is that of the row before.
    """
    rows: list[tuple[str, ...]] = []
    misfits: list[str] = []
    above: tuple[str, ...] = ()
    for line in filter(None, body):
        cells = figures.cells(line) if figures.fit(line) else ()
        is_figures = all(map(_FIGURE_CELL.fullmatch, cells)) or (all(cells[-2:]) and _FIGURE.fullmatch(cells[-1]))
        if not (cells and is_figures):
            part = names.cells(line)
            above = tuple(map("".join, zip(above, part, strict=True))) if above else part
        elif above:
            first = above[0] or (rows[-1][0] if rows else "")
            rows.append((first, *above[1:], *cells))
            above = ()
        else:
            misfits.append(line)
    columns = (*names.headings(headings_of_names), *figures.headings(headings))
    return ReportTable(section, columns, tuple(rows), misfits=tuple(misfits))


def _widen(line: str) -> str:
    return "".join(char + _SECOND_HALF if unicodedata.east_asian_width(char) in "WF" else char for char in line)


def _with_blank(line: str, columns: _Columns) -> str | None:
    """Return a row of figures with room for the column that it left out together with its width; None if unclear.

    A host whose sockets are unknown has its load average under ``Sockets``, and all that follows shifted, by the width
    of the column with or without the blanks beside it.
    """
    if not all(_FIGURE.fullmatch(word) for word in line.split()):
        return None
    end_of_row = columns.spans[-1][1]
    missing = end_of_row - len(line)
    for beside in range(_BLANKS_BESIDE + 1):
        starts = [start for start, end in columns.spans if end - start + beside == missing]
        whole = [line[:start] + " " * missing + line[start:] for start in starts]
        fitting = [one for one in whole if columns.fit(one) and one[end_of_row - 1 : end_of_row] != " "]
        if fitting:
            return fitting[0] if len(fitting) == 1 else None
    return None


def _without_spanners(line: str) -> str:
    return _SPANNER.sub(lambda spanner: " " * len(spanner[0]), line) if "---" in line else line
