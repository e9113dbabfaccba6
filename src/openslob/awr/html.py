"""Lexer for HTML reports: returns the same tables as the lexer for text.

The standard library's parser reads the tags. Reports have been mailed, saved from browsers, wrapped by SQL*Plus and
edited, so closing tags may be missing, tables may stand in the cells of a page's layout, and tags may be damaged.

Most tables are regular, and a regular expression reads such a table at once, to the same cells in a tenth of the time.
``bench/awr.py`` shows this, and what parsers in C make of the same pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser

from openslob.awr.tables import ReportTable, flatten, squeeze

_DOUBLED = re.compile(r'summary\s*=\s*""([^"]*)', re.IGNORECASE)
_NO_TITLE = frozenset({"li", "a", "title"})  # a note, a link, the title of the page
_NO_TITLE_ENDS = frozenset({"ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6"})
_UNSEEN = frozenset({"style", "script"})
_LINE_TAGS = (
    "address article blockquote body br caption center dd div dl dt footer form h1 h2 h3 h4 h5 h6 head header hr html"
    " li main nav ol p pre section tbody tfoot thead title ul"
)
_OTHER_TAGS = (
    "a abbr acronym area b base basefont bdo big button cite code col colgroup dfn em fieldset font frame frameset i"
    " iframe img input ins kbd label legend link map mark meta noframes noscript object option param picture s samp"
    " script select small source span strike strong style sub summary sup svg table td template textarea th time tr tt"
    " u var wbr"
)
_LINES = frozenset(_LINE_TAGS.split())
_TAGS = _LINES.union(_OTHER_TAGS.split())
_NAME = re.compile(r"<([a-z][a-z0-9]*|[a-z]+:[\w-]+)(?=[\s/>])", re.IGNORECASE)  # <o:p> is a word processor's
_WHOLE = re.compile(  # the limits keep damage from being read as a long tag
    r"""<[\w:-]+(?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]{0,5000}"|'[^']{0,5000}'|[^\s"'>]+))?|\s*/){0,100}+\s*>"""
)
_SPANNING = ((b"<!--", b"-->"), (b"<style", b"</style"), (b"<script", b"</script"), (b"<title", b"</title"))
_ROW = re.compile(r"<tr\b", re.IGNORECASE)
# Most tags of a report: rows and cells, with attributes in the same quotes throughout.
_CELL_START = re.compile(
    r"""<(t[dhr])(?:\s[^'"<>]*(?:(?:"[^'"<>]*"[^'"<>]*)*|(?:'[^'"<>]*'[^'"<>]*)*))?>""", re.IGNORECASE
)
_CELL_END = re.compile("</(t[dhr])>", re.IGNORECASE)
# A regular table, from behind its first tag to its end: nothing in it depends on how the parser treats damage.
_QUOTED = r"""(?:"[^'"<>]*"|'[^'"<>]*')"""
_ATTRIBUTES = rf"(?:[ \t\n]+[a-z-]+(?:={_QUOTED}|=[\w#.]+)?)*[ \t\n]*>"
_PLAIN_START = re.compile(rf"<(a|b|br|div|font|h[1-6]|i|li|p|tbody|thead|ul){_ATTRIBUTES}", re.IGNORECASE)
_PLAIN_END = re.compile(r"</(?!(?i:table|script|style)\b)([a-zA-Z][a-zA-Z0-9_]*)>")
_REGULAR = re.compile(
    "((?:[^<]++"
    rf"|(?i:</t[dhr]>|<t[dhr](?:[\s/][^'\"<>]*+(?:{_QUOTED}[^'\"<>]*+)*+)?>)"
    rf"|(?i:<a{_ATTRIBUTES}[^<]*+</a>|<a(?:[ \t\n]+[a-z-]+={_QUOTED})+/>)"
    rf"|(?i:<(?:b|br|div|font|i|p|tbody|thead){_ATTRIBUTES})"
    rf"|(?!</[tT][dhrDHR]\b){_PLAIN_END.pattern}"
    rf"|<(?![/!?]|(?i:tr\b|[a-z]+:|(?:{'|'.join(sorted(_TAGS))})[\s/>]))"  # a < b
    ")*+)(?i:</table>)"
)
_REGULAR_CELL = re.compile(r"<(t[dhr]|/tr)(?:[\s/][^<>]*)?>([^<]*+(?:<(?!/?t[dhr][\s/>])[^<]*+)*+)", re.IGNORECASE)
_INNER_TAG = re.compile(
    r"<(?:(a|b|br|div|font|i|p|tbody|thead)(?:\s[^<>]*)?/?|/([a-zA-Z][a-zA-Z0-9_]*))>", re.IGNORECASE
)
_DEEPEST = 20  # tables in tables: a page's layout has a few, and the text of a frame is copied once for each around it
_LONGEST = 500  # characters of a title; damage is looked at once for each table that follows
_WRAPPED_LINES = 5  # if so many lines have exactly the maximum length, a program wrapped them there

_OUTLIERS = frozenset({"*", "v", "^"})  # marks in cells of their own, under a heading that spans mark and figure

_Cell = tuple[str, list[str]]  # "th" or "td", and the pieces of its text


@dataclass(slots=True, eq=False)
class _Table:
    """A table of the page; ``title`` are the lines before it, in pieces, in the cell around it if it stands in one."""

    title: list[list[str]]
    summary: str
    rows: list[list[_Cell]] = field(default_factory=list)
    is_row_open: bool = False
    cell: list[str] | None = None
    is_frame: bool = False  # around the text of a cell
    source: str = ""  # of a regular table, whose rows nobody has asked for yet


def tables(text: str, is_parsed: Callable[[str, str], bool], is_quick: bool = True) -> Iterator[ReportTable]:
    """Yield the tables of ``text`` in order for which ``is_parsed(title, summary)`` is true.

    They are the same without ``is_quick``, by the parser alone.
    """
    text = _drop_unclosed(text)
    page = _QuickPage() if is_quick else _Page()
    page.feed(text)
    page.close()
    title = ""
    for table in page.found:
        if table.is_frame:
            continue
        title = next((line for pieces in reversed(table.title) if (line := squeeze("".join(pieces)))), title)[:_LONGEST]
        if is_parsed(title, table.summary):
            yield _report_table(title, table)
    lost = len(_ROW.findall(text)) - page.rows
    if lost > 0:
        yield ReportTable("HTML page", (), (), misfits=("a row inside a damaged tag",) * lost)


def unwrap(text: str) -> str:
    """Undo hard wrapping: join each line of exactly the maximum length, unless it ends in a blank, with the next."""
    lines = text.split("\n")
    widths = list(map(len, lines))
    width = max(widths)
    if widths.count(width) < _WRAPPED_LINES:
        return text
    return "".join(line if len(line) == width and line[-1:] != " " else line + "\n" for line in lines)


def _drop_unclosed(text: str) -> str:
    """Take the meaning from tags that would hide the rest of the page because their end is missing."""
    text = text[: text.rfind(">") + 1]
    flat = flatten(text)
    for opening, closing in _SPANNING:
        end = flat.rfind(closing) + len(closing) if closing in flat else 0
        if flat.find(opening, end) >= 0:
            text = text[:end] + re.sub(opening.decode(), " ", text[end:], flags=re.IGNORECASE)
            flat = flatten(text)
    return text


class _Page(HTMLParser):
    """Collects the tables of a page. ``rows`` counts the rows that were seen, also in comments and attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[_Table] = []
        self.rows = 0
        self.nested: list[_Table] = []  # the tables that are open, the innermost last
        self.lines: list[list[str]] = [[]]  # of text since the last table or cell: the title of the next table
        self.skipping = ""  # the tag whose text is no title

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self.open_cell(tag)
        elif tag == "tr":
            self.rows += 1
            self.open_row()
        elif tag == "table":
            self.open_table(dict(attrs).get("summary") or "")
        else:
            self.new_line(tag)
            if tag in _NO_TITLE or tag in _UNSEEN:
                self.skipping = tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr"):
            self.lines = [[]]
            if self.nested:
                self.nested[-1].cell = None
                self.nested[-1].is_row_open &= tag != "tr"
        elif tag == "table":
            self.close_table()
        else:
            self.new_line(tag)
            if tag == self.skipping:
                self.skipping = ""

    def handle_data(self, data: str) -> None:
        if self.skipping in _UNSEEN:
            self.count_hidden(data)
            return
        if self.nested and (cell := self.nested[-1].cell) is not None:
            cell.append(data)
        if not self.skipping:
            self.lines[-1].append(data)

    def handle_comment(self, data: str) -> None:
        self.count_hidden(data)

    def new_line(self, tag: str) -> None:
        """Begin a line at the start or end of ``tag``; a word in bold, or a font, does not end a line."""
        if tag in _LINES:
            if self.nested and (cell := self.nested[-1].cell) is not None:
                cell.append(" ")
            self.lines.append([])
            if tag in _NO_TITLE_ENDS:
                self.skipping = ""

    def open_table(self, summary: str) -> None:
        if not summary and (doubled := _DOUBLED.search(self.get_starttag_text() or "")):
            summary = doubled[1]
        table = _Table(self.lines, squeeze(summary))
        self.lines, self.skipping = [[]], ""
        self.found.append(table)
        self.nested.append(table)

    def close_table(self) -> None:
        if not self.nested:
            return
        table = self.nested.pop()
        self.lines = [[]]  # text inside a table is no title of the next one
        is_shallow = 0 < len(self.nested) < _DEEPEST
        if is_shallow and (cell := self.nested[-1].cell) is not None and [len(row) for row in table.rows] == [1]:
            table.is_frame = True
            cell.extend(table.rows[0][0][1])

    def open_row(self) -> None:
        self.lines = [[]]
        if self.nested:
            table = self.nested[-1]
            table.rows.append([])
            table.is_row_open, table.cell, self.skipping = True, None, ""

    def open_cell(self, tag: str) -> None:
        if not self.nested:
            return
        table = self.nested[-1]
        if not table.is_row_open:
            self.open_row()
        table.cell, self.skipping, self.lines = [], "", [[]]
        table.rows[-1].append((tag, table.cell))

    def count_hidden(self, text: str) -> None:
        self.rows += len(_ROW.findall(text))

    def parse_starttag(self, i: int) -> int:
        """Read the tag at ``i``. What is no tag of HTML, such as ``a <b.c`` in SQL, is text, and an open quote ends.

        The attributes of cells and rows are not read, which takes a third of the time.
        """
        if cell := _CELL_START.match(self.rawdata, i):
            self.handle_starttag(cell[1].lower(), [])
            return cell.end()
        match = _NAME.match(self.rawdata, i)
        name = match[1].lower() if match else ""
        if name not in _TAGS and ":" not in name:
            self.handle_data("<")
            return i + 1
        end = self.rawdata.find(">", i) + 1
        tag = self.rawdata[i:end]
        if _quotes_are_odd(tag):
            whole = _WHOLE.match(self.rawdata, i)
            if whole is None:
                self.handle_starttag(name, [])
                return end
            self.count_hidden(whole[0][1:])
        elif name in ("td", "th", "tr"):
            self.handle_starttag(name, [])
            return end
        return super().parse_starttag(i)

    def parse_endtag(self, i: int) -> int:
        """Read the end tag at ``i``. The base class takes several times as long; in a script it asks for its end."""
        if cell := _CELL_END.match(self.rawdata, i):
            self.handle_endtag(cell[1].lower())
            return cell.end()
        return super().parse_endtag(i)

    def updatepos(self, i: int, j: int) -> int:  # noqa: ARG002 - the base class has it
        """Count no lines: nothing asks where a tag stands."""
        return j

    def parse_marked_section(self, i: int, report: int = 1) -> int:  # noqa: ARG002 - the base class has it
        """Skip ``<![if …]>`` of word processors; the base class knows only some."""
        return self.rawdata.find(">", i) + 1


class _QuickPage(_Page):
    """The same tables in a fraction of the time: regular tables and plain tags are not read by the parser."""

    def parse_starttag(self, i: int) -> int:
        if plain := _PLAIN_START.match(self.rawdata, i):
            self.handle_starttag(plain[1].lower(), [])
            return plain.end()
        end = super().parse_starttag(i)
        return self.read_regular(end) if self.rawdata[i + 1 : i + 6].lower() == "table" and end > 0 else end

    def parse_endtag(self, i: int) -> int:
        plain = None if self.cdata_elem else _PLAIN_END.match(self.rawdata, i)
        if plain is None:
            return super().parse_endtag(i)
        self.handle_endtag(plain[1].lower())
        return plain.end()

    def read_regular(self, i: int) -> int:
        """Read the rest of the table that was opened last, if it is regular; ``i`` is behind its first tag."""
        table = self.nested[-1] if self.nested else None
        regular = None if table is None or table.rows else _REGULAR.match(self.rawdata, i)
        if table is None or regular is None:
            return i
        if len(self.nested) == 1:
            table.source = regular[1]
        else:  # its text may belong to the cell around it
            table.rows = _regular_rows(regular[1])
        self.count_hidden(regular[1])
        self.close_table()
        return regular.end()


def _quotes_are_odd(tag: str) -> bool:
    return tag.count('"') % 2 == 1 or tag.count("'") % 2 == 1


def _regular_rows(source: str) -> list[list[_Cell]]:
    """Return the rows of a regular table, as the parser finds them."""
    rows: list[list[_Cell]] = []
    is_row_open = False
    for name, text in _REGULAR_CELL.findall(source):
        tag = name.lower()
        if tag == "tr" or (tag != "/tr" and not is_row_open):
            rows.append([])
        is_row_open = tag != "/tr"
        if tag in ("td", "th"):
            rows[-1].append((tag, _cell_text(text)))
    return rows


@lru_cache(maxsize=1024)  # most are blanks
def _unescape(text: str) -> str:
    return unescape(text)


def _cell_text(text: str) -> list[str]:
    if "<" not in text:
        return [_unescape(text) if "&" in text else text]
    first, *parts = _INNER_TAG.split(text)
    pieces = [unescape(first)]
    for start, end, piece in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        pieces += [" " * ((start or end).lower() in _LINES), unescape(piece)]
    return pieces


def _report_table(title: str, table: _Table) -> ReportTable:
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    misfits: list[str] = []
    for row in table.rows or _regular_rows(table.source):
        cells = tuple(squeeze("".join(pieces)) for _, pieces in row)
        if not cells:
            continue
        if columns and len(cells) > len(columns):
            cells = tuple(text for text in cells if text not in _OUTLIERS)
        if not rows and _is_headings([tag for tag, _ in row], cells):
            columns = cells  # the last of several heading rows names the columns
        elif columns and len(cells) != len(columns) and not cells[0].endswith(":"):
            misfits.append(" | ".join(cells))
        else:
            rows.append(cells)
    return ReportTable(title, columns, tuple(rows), table.summary, misfits=tuple(misfits))


def _is_headings(tags: list[str], cells: tuple[str, ...]) -> bool:
    """Return whether a row holds headings: ``th`` cells, possibly with blank ``td`` cells in between."""
    return "th" in tags and not any(tag == "td" and cell for tag, cell in zip(tags, cells, strict=True))
