"""From a file to the text of a report: encoding, what kind of report it is, and the files that are none."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from openslob.awr.html import unwrap
from openslob.awr.model import Kind
from openslob.errors import SlobError


class ReportError(SlobError):
    """A file that is no report that can be read: one line, with the file's name."""


# The words that begin a report. Of all that occur the first in the file tells what it is.
_KINDS: tuple[tuple[str, Kind | str], ...] = (
    (r"WORKLOAD REPOSITORY COMPARE PERIOD REPORT|AWR Compare Period Report", "a compare-periods report"),
    (r"WORKLOAD REPOSITORY SQL REPORT", "an AWR report of a single SQL statement"),
    (r"WORKLOAD REPOSITORY REPORT \(RAC\)|AWR RAC Report for DB:", Kind.AWR_GLOBAL),
    (r"WORKLOAD REPOSITORY PDB REPORT", Kind.AWR_PDB),
    (r"WORKLOAD REPOSITORY REPORT FOR|AWR (?:PDB )?Report for (?:DB|PDB):", Kind.AWR),
    (r"STATSPACK (?:STATISTICS )?REPORT FOR", Kind.STATSPACK),
    (r"STATSPACK SQL REPORT", "a Statspack report of a single SQL statement"),
    (r"ASH Report For", "an ASH report"),
    (r"ADDM Report for|DETAILED ADDM REPORT", "an ADDM report"),
)
_MARKS = re.compile("|".join(f"({words})" for words, _ in _KINDS), re.IGNORECASE)
_ORACLE_ERROR = re.compile(r"\b(?:ORA|SP2|TNS)-\d{4,5}:[^\r\n]{0,120}")
_REMEDY = "give AWR reports (awrrpt.sql, awrgrpt.sql) or Statspack reports (spreport.sql), as text or HTML"
_PDB = re.compile(r"WORKLOAD REPOSITORY PDB REPORT", re.IGNORECASE)
_PAGE = re.compile(r"</?(?:html|head|title|body|pre|div|span|font|p|br)\b[^>]*>", re.IGNORECASE)
_PAGE_HEADING = re.compile(r"\n\n?OUTPUT[ \t]*\n(?:-{10,}[ \t]*\n)?")  # of "select output from table(...)"
_RULERS = re.compile(r"(?m)^[ ~]*-{2,}(?: +-{2,})+ *$")
_LAST_WORDS = "End of Report"
_TITLE_REACH = 20_000  # characters from the page's title to the report's, over the style sheet
_LARGEST = 256 * 1024 * 1024  # bytes; a report of a month of a large cluster has 3 MB


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a report, from its first words to its last whole row; others may follow it in its file."""

    kind: Kind
    is_html: bool
    text: str
    is_alone: bool = True


def load(path: Path) -> Source:
    """Read the file at ``path``; ReportError when it cannot be read or is not a report of one period."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ReportError(f"{path}: too large to be a report ({path.stat().st_size} bytes)", _REMEDY)
        data = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from None
    return recognise(data, str(path))


def recognise(data: bytes, name: str) -> Source:
    """Decode ``data`` and find the report in it."""
    text = re.sub(r"\r+\n|\r", "\n", decode(data)).replace("\0", " ")
    mark = _MARKS.search(text)
    if mark is None:
        raise ReportError(f"{name}: no AWR or Statspack report: {_what(text)}", _REMEDY)
    kind = _KINDS[(mark.lastindex or 1) - 1][1]
    if not isinstance(kind, Kind):
        raise ReportError(f"{name}: this is {kind}, not a report of one period", _REMEDY)
    is_html = _is_html(text)
    text = unwrap(text) if is_html else _plain_text(text, mark.start())
    mark = _MARKS.search(text) or mark
    if kind is Kind.AWR and _PDB.search(text, mark.end(), mark.end() + _TITLE_REACH):
        kind = Kind.AWR_PDB  # the HTML title does not tell
    return _first_report(kind, is_html, text[mark.start() :])


def _is_html(text: str) -> bool:
    """More rows of HTML than rulers; either may stand in the SQL text of the other."""
    return text.lower().count("<tr") > sum(1 for _ in _RULERS.finditer(text))


def _plain_text(text: str, start: int) -> str:
    """A text report without what was put around it: a page's ``<pre>``, SQL*Plus' page headings, an indentation."""
    if _PAGE.search(text, 0, start):
        return html.unescape(_PAGE.sub("", text))
    text = _PAGE_HEADING.sub("\n", text)
    mark = _MARKS.search(text)
    start = mark.start() if mark else 0
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    return re.sub(rf"(?m)^{indent}", "", text) if indent.isspace() else text


def _first_report(kind: Kind, is_html: bool, text: str) -> Source:
    """The report that ``text`` begins with; a spool file may hold several, one after the other."""
    end = text.find(_LAST_WORDS)
    another = _MARKS.search(text, end) if end >= 0 else None
    if another is not None:
        return Source(kind, is_html, text[: another.start()], is_alone=False)
    return Source(kind, is_html, _whole_rows(text, is_html))


def decode(data: bytes) -> str:
    """Text of the bytes: UTF-16 by its mark, else UTF-8, else Windows' Latin; bytes that are none are replaced."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    text = data.decode("utf-8-sig", errors="replace")
    wrong = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    if wrong > beyond_ascii - wrong:  # more bytes that are not UTF-8 than characters that are
        return data.decode("cp1252", errors="replace")
    return text


def _whole_rows(text: str, is_html: bool) -> str:
    """Without the row in which a report is cut off: half a figure looks like a whole one."""
    if is_complete(text):
        return text
    end = text.lower().rfind("</tr") if is_html else text.rfind("\n")
    return text[: max(end, 0)]


def is_complete(text: str) -> bool:
    """Whether the report's last words are there."""
    return _LAST_WORDS in text


def _what(text: str) -> str:
    """What the file is instead."""
    if not text.strip():
        return "the file is empty"
    error = _ORACLE_ERROR.search(text)
    return f"the file holds an error: {error[0].strip()}" if error else "its title is not there"
