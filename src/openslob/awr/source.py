"""Reading of a file: decoding, recognition of the kind of report, and rejection of other files."""

from __future__ import annotations

import html
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from json import JSONDecoder
from pathlib import Path

from openslob.awr.html import unwrap
from openslob.awr.inputs import STDIN, TooLargeError, UnreadableError, content
from openslob.awr.model import ReportKind
from openslob.awr.tables import squeeze
from openslob.core.errors import SlobError


class ReportError(SlobError):
    """A file is not a readable report. The message is one line that begins with the file's name."""


class ForeignFileError(ReportError):
    """A file is no report at all, such as the output of another program."""


_COMPARED_CLUSTER = "a compare-period report of a cluster (awrgdrpt.sql)"
# Titles of reports; the first one found in the file decides. A string is the description of an unsupported kind.
_KINDS: tuple[tuple[str, ReportKind | str], ...] = (
    (
        r"WORKLOAD REPOSITORY RAC COMPARE PERIOD REPORT|AWR Compare Period RAC Report|AWR RAC Compare Period Report",
        _COMPARED_CLUSTER,
    ),
    (r"WORKLOAD REPOSITORY COMPARE PERIOD REPORT|AWR Compare Period Report", ReportKind.AWR_COMPARE),
    (r"WORKLOAD REPOSITORY SQL REPORT", "an AWR report of a single SQL statement"),
    (r"WORKLOAD REPOSITORY REPORT \(RAC\)|AWR RAC Report for DB:", ReportKind.AWR_GLOBAL),
    (r"WORKLOAD REPOSITORY PDB REPORT", ReportKind.AWR_PDB),
    (r"WORKLOAD REPOSITORY REPORT FOR|AWR (?:PDB )?Report for (?:DB|PDB):", ReportKind.AWR),
    (r"STATSPACK (?:STATISTICS )?REPORT FOR", ReportKind.STATSPACK),
    (r"STATSPACK SQL REPORT", "a Statspack report of a single SQL statement"),
    (r"ASH Report For", "an ASH report"),
    (r"ADDM Report for|DETAILED ADDM REPORT", "an ADDM report"),
)
# The bars that are not in brackets stand between titles.
_TITLES = [title for words, _ in _KINDS for title in re.split(r"\|(?![^(]*\))", words)]


def _letters(at: int) -> str:
    return "".join(sorted({letter for title in _TITLES for letter in (title[at].lower(), title[at].upper())}))


# The first three letters of a title. Without regard to case, each letter of a report would be tried with each title.
_BEGINNING = f"(?=[{_letters(0)}][{_letters(1)}][{_letters(2)}])"
_MARKS = re.compile(_BEGINNING + "(?i:" + "|".join(f"({words})" for words, _ in _KINDS).replace(" ", r"\s+") + ")")
# Letters in lower case, and as blanks all white space and the signs that are not of ASCII, which are replaced by "?".
_LOWER = bytes(0x20 if chr(code).isspace() or chr(code) == "?" else code for code in bytes(range(256)).lower())
_FIRST_WORDS = ("workload", "awr", "statspack", "ash", "addm", "detailed")  # of the titles
_FOLLOWS = {
    ReportKind.AWR: "an AWR report",
    ReportKind.AWR_PDB: "an AWR report of a pluggable database",
    ReportKind.AWR_GLOBAL: "a global AWR report",
    ReportKind.STATSPACK: "a Statspack report",
    ReportKind.AWR_COMPARE: "a compare-period report",
}
# First bytes of other file formats, and what to do about each.
_FORMATS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "compressed (gzip): unpack it first"),
    (b"\x1f\x9d", "compressed (compress): unpack it first"),
    (b"BZh", "compressed (bzip2): unpack it first"),
    (b"\xfd7zXZ", "compressed (xz): unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed (zstd): unpack it first"),
    (b"PK\x03\x04", "a zip archive or an Office document: unpack it, or save the report as text or HTML"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"Rar!", "a rar archive: unpack it first"),
    (b"%PDF", "a PDF: create the report as text or HTML"),
    (b"\xd0\xcf\x11\xe0", "an Office document: save the report as text or HTML"),
    (b"{\\rtf", "a rich text document: save the report as text or HTML"),
    (b"\x89PNG", "a picture: create the report as text or HTML"),
    (b"\xff\xd8\xff", "a picture: create the report as text or HTML"),
)
_MAIL_HEAD = 20_000  # bytes in which the headers of a mail or MHTML file state the encoding
_QUOTED_PRINTABLE = re.compile(rb"^content-transfer-encoding:[ \t]*quoted-printable", re.IGNORECASE | re.MULTILINE)
_BASE64 = re.compile(r"^content-transfer-encoding:[ \t]*base64", re.IGNORECASE | re.MULTILINE)
_ACTIVE = re.compile(r"\b(?:emviewers|fxtmodel|perfhub)\b", re.IGNORECASE)
_ORACLE_ERROR = re.compile(r"\b(?:ORA|SP2|TNS)-\d{4,5}:[^\r\n]{0,120}")
_REMEDY = "give AWR reports (awrrpt.sql, awrgrpt.sql) or Statspack reports (spreport.sql), as text or HTML"
_REMEDIES = {
    _COMPARED_CLUSTER: "create one report of each period (awrgrpt.sql), and compare these: slob awr --compare A B"
}
_PDB = re.compile(r"WORKLOAD\s+REPOSITORY\s+PDB\s+REPORT", re.IGNORECASE)
_PAGE = re.compile(r"</?(?:html|head|title|body|pre|div|span|font|p|br)\b[^>]*>", re.IGNORECASE)
_PAGE_HEADING = re.compile(r"\n(?:[ \t]*\n)?OUTPUT[ \t]*\n(?:-{10,}[ \t]*\n)?")  # of "select output from table(...)"
_RULER = re.compile(r"[ ~]*-{2,}(?: +-{2,})+ *")
_QUOTED = re.compile(r"[ \t>|]+")  # quotation marks of mail, or indentation
_INDENTED = re.compile(r"(?m)^[ \t]+\S")
_NO_SIGN = re.compile(r"&#[xX]?[0-9a-fA-F]{10,}")  # HTML's number of a sign, but longer than any has
_HTML_ROW = re.compile(r"</?tr\b", re.IGNORECASE)
_END = re.compile(r"End\s+of\s+Report")
_COMPARED = re.compile(r"(?:WORKLOAD\s+REPOSITORY|AWR)\s+COMPARE\s+PERIOD", re.IGNORECASE)
_END_OF_COMPARED = re.compile(r"(?:</html>|\n *-{40,})\s*(?:SQL>.*\s*)*\Z", re.IGNORECASE)
_LAST_OF_COMPARED = re.compile(r"init\.ora Multi-Valued Parameters|\(PDB snapshots\)|</html>", re.IGNORECASE)
_PAGE_TITLE = re.compile(
    r"AWR (?:RAC |PDB |Compare Period )?Report for (?:DB|PDB|\(1\))".replace(" ", r"\s+"), re.IGNORECASE
)
_HEADING = re.compile(r"\bDB\s+(?:Name|Id)\b|\bSnap\s+Id\b|\bBegin\s+Snap\b", re.IGNORECASE)  # of a report's header
_HEADING_REACH = 100  # characters that a heading has at most
_TITLE_REACH = 20_000  # characters between the page title and the report title, style sheet included
# Text as editors and pagers list it: with a number before each line.
_NUMBER = re.compile(r"[ \t]*(?P<number>\d{1,7})(?P<sign>[:.|)\]] ?|\t| {1,2}|$)")
_NUMBERED = 0.9  # of the lines that are not blank have numbers, and so many of these increase
_FEWEST = 20  # lines; a report has more
_LARGEST = 256 * 1024 * 1024  # bytes; the report of a month of a large cluster has 3 MB


@dataclass(frozen=True, slots=True)
class ReportText:
    """Text of a report from its title to its last complete row. ``follows`` names a second report in the file.

    ``is_flush``: no line begins with a blank, because a mail program or a wiki removed what was there.
    """

    kind: ReportKind
    is_html: bool
    text: str
    follows: str = ""
    is_flush: bool = False


def load(path: Path) -> ReportText:
    """Read the file at ``path``; ReportError if it cannot be read or is not a report of a single period."""
    name = "standard input" if str(path) == STDIN else str(path)
    try:
        data = content(path, _LARGEST)
    except TooLargeError:
        raise ReportError(f"{name}: too large for a report (more than {_LARGEST >> 20} MB)", _REMEDY) from None
    except UnreadableError as error:
        raise ReportError(f"{name}: can't be read: {error}") from None
    except OSError as error:
        raise ReportError(f"{name}: can't be read: {error.strerror or error}") from None
    return recognise(data, name)


def recognise(data: bytes, name: str) -> ReportText:
    """Decode ``data`` and find the report in it; ReportError if there is none."""
    for signature, description in _FORMATS:
        if data.startswith(signature):
            raise ForeignFileError(f"{name}: not an AWR or Statspack report: the file is {description}", _REMEDY)
    if b"quoted-printable" in data[:_MAIL_HEAD].lower() and _QUOTED_PRINTABLE.search(data, 0, _MAIL_HEAD):
        data = quopri.decodestring(data)
    text = decode(data).replace("\0", " ")
    if "\r" in text:
        text = re.sub(r"\r+\n|\r", "\n", text.replace("\r\n", "\n"))
    if "&#" in text:
        text = _NO_SIGN.sub(" ", text)
    text = _strip_line_numbers(text, _MARKS)
    mark = None if _is_json(text) else _MARKS.search(text)
    if mark is None:
        raise ForeignFileError(f"{name}: not an AWR or Statspack report: {_describe(text)}", _REMEDY)
    kind = _kind(mark)
    if not isinstance(kind, ReportKind):
        raise ForeignFileError(f"{name}: this is {kind}, which is not read", _REMEDIES.get(kind, _REMEDY))
    following = _next_report(text, mark)
    text = text[: following[0]]
    is_html = _is_html(text)
    text = unwrap(_drop_page_headings(text)) if is_html else _plain_text(text, mark.start())
    mark = _MARKS.search(text) or mark
    if kind is ReportKind.AWR and _PDB.search(text, mark.end(), mark.end() + _TITLE_REACH):
        kind = ReportKind.AWR_PDB  # the title of the HTML page is the same
    text = _whole_rows(text[mark.start() :], is_html)
    return ReportText(kind, is_html, text, following[1], is_flush=not is_html and _INDENTED.search(text) is None)


def _is_json(text: str) -> bool:
    """Return whether a text begins with an object or a list of JSON: the titles of reports in it are values."""
    try:
        found, _ = JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict | list)


def _strip_line_numbers(text: str, title: re.Pattern[str]) -> str:
    """Remove the line numbers if the lines of ``text`` have them, as the line of the ``title`` does.

    The title begins its line in every report, or follows tags, so the sign between its number and its text is the sign
    on every line. A blank line may have lost the blanks at its end.
    """
    found = title.search(text)
    if found is None:
        return text
    start = text.rfind("\n", 0, found.start()) + 1
    first = _NUMBER.match(text, start, found.start())
    if first is None or not first["sign"] or text[first.end() : found.start()][:1] not in ("", "<"):
        return text
    lines = [line for line in text[start:].split("\n") if line.strip()]
    numbers = [int(match["number"]) for line in lines if (match := _NUMBER.match(line))]
    rising = sum(low < high for low, high in pairwise(numbers))
    if len(lines) < _FEWEST or len(numbers) < _NUMBERED * len(lines) or rising < _NUMBERED * (len(numbers) - 1):
        return text
    sign, bare = (re.escape(form) for form in (first["sign"], first["sign"].rstrip()))
    return re.sub(rf"(?m)^[ \t]*\d{{1,7}}(?:{sign}|{bare}$)", "", text)


def _kind(mark: re.Match[str]) -> ReportKind | str:
    return _KINDS[(mark.lastindex or 1) - 1][1]


def _is_html(text: str) -> bool:
    """Return whether there are more HTML rows than rulers; SQL text in a report may contain either."""
    rows = sum(map(text.count, ("<tr", "<TR", "<Tr", "<tR")))
    rulers = (line for line in text.split("\n") if "--" in line and _RULER.fullmatch(line)) if rows else ()
    return rows > sum(1 for _ in rulers)


def _plain_text(text: str, start: int) -> str:
    """Strip what surrounds a text report: HTML such as ``<pre>``, SQL*Plus page headings, quotation marks of mail."""
    if _PAGE.search(text, 0, start):
        return html.unescape(_PAGE.sub("", text))
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if _QUOTED.fullmatch(before):
        text = re.sub(rf"(?m)^(?:{re.escape(before)}|{re.escape(before.rstrip())}$)", "", text)
    return _drop_page_headings(_drop_blank_lines(text))


def _drop_page_headings(text: str) -> str:
    return _PAGE_HEADING.sub("\n", text) if "OUTPUT" in text else text


def _drop_blank_lines(text: str) -> str:
    """Remove blank lines if every other line is blank, which happens when line ends are converted twice."""
    mark = _MARKS.search(text)
    start = mark.start() if mark else 0
    first = text[start : start + _TITLE_REACH].split("\n")[1:-1:2]  # the last one may be cut
    lines = [] if any(map(str.strip, first)) else text[start:].split("\n")
    return "\n".join(lines[::2]) if lines and not any(map(str.strip, lines[1::2])) else text


def _next_report(text: str, first: re.Match[str]) -> tuple[int, str]:
    """Return where the next report of the file begins, and its description; the text's end and "" if there is none.

    After the end of the first report any title counts. Before it, which means that the first one is cut off, only the
    title of a report with a header: reports have sections named after ADDM and ASH, and SQL text may hold any title.
    """
    end = _END.search(text, first.end())
    after = end.start() if end else len(text)
    titled, heading, seen = True, -1, 0
    for mark in _find_marks(text, first.end()):
        kind = _kind(mark)
        if mark.start() < after:
            if not isinstance(kind, ReportKind):
                continue
            reach = mark.end() + _TITLE_REACH
            # What was searched for a title before is not searched again, or a file of titles would take minutes.
            if heading < mark.end():
                found = _HEADING.search(text, max(mark.end(), seen - _HEADING_REACH), reach)
                heading, seen = (found.start(), found.end()) if found else (-1, reach)
            if heading < 0:
                continue
            if titled and _is_titled_twice(text, first, mark):
                titled = False
                continue
        page = max(text.rfind("<html", after if end and mark.start() > after else first.end(), mark.start()), -1)
        start = page if mark.start() - page < _TITLE_REACH and page >= 0 else mark.start()
        return start, _FOLLOWS[kind] if isinstance(kind, ReportKind) else kind
    return len(text), ""


def _find_marks(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield what ``_MARKS.finditer`` does, in a tenth of its time.

    A pattern without regard to case looks at each character, and the search for the first word of a title does not.
    """
    flat, end = text.encode("ascii", errors="replace").translate(_LOWER), start
    for at in sorted(at for word in _FIRST_WORDS for at in _find_all(word.encode() + b" ", flat, start)):
        if at >= end and (match := _MARKS.match(text, at)):
            yield match
            end = match.end()


def _find_all(word: bytes, flat: bytes, start: int) -> Iterator[int]:
    at = flat.find(word, start)
    while at >= 0:
        yield at
        at = flat.find(word, at + 1)


def _is_titled_twice(text: str, first: re.Match[str], mark: re.Match[str]) -> bool:
    """Return whether ``first`` is the title of a page, and ``mark`` that of the report on it, above any heading."""
    titles = [_PAGE_TITLE.match(text, title.start()) is not None for title in (first, mark)]
    is_page = titles == [True, False] and _kind(mark) is not ReportKind.STATSPACK
    return is_page and not _HEADING.search(text, first.end(), mark.start())


def decode(data: bytes) -> str:
    """Decode as UTF-16 (byte order mark, or many zero bytes), UTF-8 or cp1252; invalid bytes are replaced."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    for zeros, encoding in ((data[1:200:2], "utf-16-le"), (data[:200:2], "utf-16-be")):
        if zeros.count(0) > len(zeros) / 2:
            return data.decode(encoding, errors="replace")
    text = data.decode("utf-8-sig", errors="replace")
    if text.isascii():
        return text
    wrong = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    if wrong > beyond_ascii - wrong:  # more bytes that are not UTF-8 than characters that are
        return data.decode("cp1252", errors="replace")
    return text


def _whole_rows(text: str, is_html: bool) -> str:
    """Drop the row in which a report is cut off: half a figure looks like a complete one."""
    if is_complete(text):
        return text
    if not is_html:
        return text[: text.rstrip().rfind("\n") + 1]  # an editor may have ended the last line
    return text[: max((row.start() for row in _HTML_ROW.finditer(text)), default=0)]


def is_complete(text: str) -> bool:
    """Return whether the report ends with its closing line. One that compares periods has none, but a last section."""
    if _END.search(text) is not None:
        return True
    is_last_there = _COMPARED.match(text) is not None and _LAST_OF_COMPARED.search(text) is not None
    return is_last_there and _END_OF_COMPARED.search(text[-500:]) is not None


def _describe(text: str) -> str:
    """Describe a file that is not a report."""
    if not text.strip():
        return "the file is empty"
    if _is_json(text):
        return "the file is JSON"
    if _BASE64.search(text, 0, _MAIL_HEAD):
        return "the file is a mail with base64-encoded content: save the attached report as a file"
    if _ACTIVE.search(text):
        return "this is an active report: create one of type html or text"
    error = _ORACLE_ERROR.search(text)
    return f"the file holds an error: {squeeze(error[0])}" if error else "the title of such a report is missing"
