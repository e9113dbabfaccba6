"""Reports as they reach us: mailed, quoted, paged, pasted, saved from programs, packed, several in a file."""

from __future__ import annotations

import gzip
import io
import quopri
import re
import zipfile

import pytest

from factories.awr_reports import FIXTURES, read_fixture
from factories.tables import table
from openslob.awr import ReportError, read_bytes

TEXTS = ("awr_11.2.txt", "awr_19c.txt", "awr_pdb_19c_paged.txt", "awrg_11.2.txt", "sp_10.2.txt", "sp_19c.txt")
PAGES = ("awr_23ai.html", "awrg_19c.html")


def figures(report):
    """All that a report says."""
    return (
        report.header,
        report.load_profile,
        report.events,
        report.histograms,
        report.time_model_s,
        report.activity,
        report.os_stats,
        report.host_cpu,
        report.parameters,
    )


def quoted(text):
    return "From: dba\nSubject: it is slow\n\nSee below.\n\n" + "".join(f"> {line}\n" for line in text.split("\n"))


def quoted_without_trailing_blanks(text):
    return "".join(f"> {line}".rstrip() + "\n" for line in text.split("\n"))


def doubled(text):
    return text.replace("\n", "\n\n")


def paged_without_headings(text):
    """Pages that only a blank line parts, wherever in a table it falls."""
    head, line, tail = text.partition("Foreground Wait Events")
    return head + line + re.sub(r"((?:\n[a-z][^\n]*){2})(?=\n[a-z])", r"\1\n", tail)


def without_blank_lines(text):
    return re.sub(r"\n\s*\n+", "\n", text)


def padded(text):
    return "".join(f"{line:<1000}\n" for line in text.split("\n"))


@pytest.mark.parametrize("change", [quoted, quoted_without_trailing_blanks, doubled, paged_without_headings, padded])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_report_says_the_same_however_it_was_passed_on(name, change):
    report = read_bytes(change((FIXTURES / name).read_text()).encode(), name)
    assert figures(report) == figures(read_fixture(name))
    assert report.warnings == ()


@table("name", [name for name in TEXTS if not name.startswith("awrg")])
def test_a_text_report_of_one_instance_needs_no_blank_lines(name):
    report = read_bytes(without_blank_lines((FIXTURES / name).read_text()).encode(), name)
    assert figures(report) == figures(read_fixture(name))
    assert report.warnings == ()


def word_processor(text):
    """Every cell a paragraph with a style, every long line broken between words."""
    text = re.sub(
        r"(<t[dh]\b[^>]*>)([^<]*)", r"\1<p class=MsoNormal><span\n style='font-size:8.0pt'>\2<o:p></o:p></span>", text
    )
    return re.sub(r"(\w) (\w+ \w+)", r"\1\n  \2", text)


def one_file(text):
    """As the program SingleFile stores a page: no quotes and no closing tags where they can be spared."""
    text = re.sub(r"""=(["'])([\w#.%-]+)\1""", r"=\2", text)
    return re.sub(r"</(?:td|th|p|li)>", "", text)


def capitals(text):
    """As the first browsers did: tags in capitals, cells on lines of their own, a body in each table."""
    text = re.sub(r"</?[a-z]\w*", lambda tag: tag[0].upper(), text)
    return text.replace("<TD", "\n<TD").replace("<TR", "\n  <TR").replace("</TABLE>", "</TBODY></TABLE>")


def web_archive(text):
    body = quopri.encodestring(text.encode()).decode()
    return f"Subject: a page\nMIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\n{body}"


@pytest.mark.parametrize("change", [word_processor, one_file, capitals, web_archive])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_however_it_was_saved(name, change):
    report = read_bytes(change((FIXTURES / name).read_text()).encode(), name)
    assert figures(report) == figures(read_fixture(name))
    assert report.warnings == ()


@table("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark(encoding):
    data = (FIXTURES / "awr_11.2.txt").read_text().encode(encoding)
    assert figures(read_bytes(data)) == figures(read_fixture("awr_11.2.txt"))


def test_characters_as_wide_as_two_keep_their_columns():
    """Oracle pads a name of a month in Japanese, or of a service in Chinese, by the width on the screen."""
    text = (FIXTURES / "awr_11.2.txt").read_text()
    english, japanese = "02-Mar-15 10:00:00        37", "02-3月 -15 10:00:00       37"
    assert english in text
    header = read_bytes(
        text.replace(english, japanese).replace("\ndbhost          ", "\n数据库服务器    ").encode()
    ).header
    assert (header.begin_time, header.sessions_begin.value) == ("02-3月 -15 10:00:00", 37)
    assert (header.host, header.cpus) == ("数据库服务器", 16)


def test_a_title_that_touches_the_names_of_the_database_is_a_title():
    report = read_fixture("awr_pdb_19c_paged.txt")
    assert "Multi-Valued Parameters modified by other containers" in report.unparsed
    assert report.parameters["control_files"].begin == "+DATA/FIX/CONTROLFILE/current.1"
    assert not [name for name in report.parameters if "PDB" in name]


def test_a_title_whose_names_were_taken_out_is_a_title():
    text = (FIXTURES / "awr_11.2.txt").read_text()
    redacted = re.sub(r"DB/Inst: FIX/fix1( *)(Snaps: 41)", r"                  \1\2", text)
    assert redacted != text
    assert figures(read_bytes(redacted.encode()))[2:] == figures(read_fixture("awr_11.2.txt"))[2:]


def test_rows_without_a_ruler_are_told():
    text = (FIXTURES / "awr_11.2.txt").read_text()
    at = text.index("Instance Activity Stats ")
    ruler = re.compile(r"-{10,} [- ]+\n").search(text, at)
    report = read_bytes((text[: ruler.start()] + text[ruler.end() :]).encode())
    assert any(warning.startswith("Instance Activity Stats: ") for warning in report.warnings)


def test_12_1_tells_in_its_snapshots_whether_the_database_is_a_container():
    page = (FIXTURES / "awr_11.2_no_summaries.html").read_text()
    with_column = re.sub(r"(Cursors/Session</th>)", r"\1<th>CDB</th>", page)
    with_column = re.sub(r"((?:Begin|End) Snap:.*?)</tr>", r"\1<td>YES</td></tr>", with_column)
    assert read_bytes(page.encode()).header.cdb is None
    assert read_bytes(with_column.encode()).header.cdb is True


def test_a_new_column_among_those_of_the_host_shifts_nothing():
    page = (FIXTURES / "awr_23ai.html").read_text()
    whole = read_fixture("awr_23ai.html").header
    cores = re.compile(r"(<th[^>]*>Cores</th>)")
    assert cores.search(page)
    row = re.compile(rf"({whole.platform}</td>\s*<td[^>]*>\s*{whole.cpus}\s*</td>)")
    changed = row.sub(r"\1<td>7</td>", cores.sub(r"<th>Threads</th>\1", page, count=1), count=1)
    assert changed.count("<td>7</td>") == 1
    assert read_bytes(changed.encode()).header == whole


@table(
    ("addition", "told"),
    [
        ("WORKLOAD REPOSITORY report for\n", "an AWR report follows"),
        ("          ADDM Report for Task 'TASK_1'\n", "an ADDM report follows"),
        ("STATSPACK report for\n", "a Statspack report follows"),
    ],
)
def test_what_follows_a_report_in_its_file_is_told(addition, told):
    data = (FIXTURES / "awr_11.2.txt").read_bytes()
    report = read_bytes(data + b"\n" + addition.encode())
    assert (report.complete, figures(report)) == (True, figures(read_fixture("awr_11.2.txt")))
    assert len(report.warnings) == 1
    assert told in report.warnings[0]


def test_a_report_that_is_cut_off_is_not_completed_from_the_next_one():
    text = (FIXTURES / "awr_11.2.txt").read_text()
    report = read_bytes((text[: text.index("Background Wait Events")] + text).encode())
    assert not report.complete
    assert (report.activity, len(report.warnings)) == ({}, 2)


def zipped():
    with io.BytesIO() as data:
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("awr.txt", "WORKLOAD REPOSITORY report for")
        return data.getvalue()


@table(
    ("data", "words"),
    [
        (gzip.compress(b"WORKLOAD REPOSITORY report for", mtime=0), "compressed (gzip): unpack it first"),
        (zipped(), "a zip archive"),
        (b"%PDF-1.7", "a PDF"),
        (b"Content-Transfer-Encoding: base64\n\nV09SS0xPQUQ=\n", "a mail with base64-encoded content"),
        (b"<html><script id='fxtmodel' type='text/xml'>AAAA</script></html>", "an active report"),
        (b"<title>ASH Report - From 1</title><h1>\nASH Report For FIX/fix1\n</h1>", "an ASH report"),
        (b"\n          ADDM Report for Task 'TASK_1'\n", "an ADDM report"),
        (b"<h1>WORKLOAD REPOSITORY SQL Report</h1>", "a single SQL statement, which is not read"),
        (
            b"\nWORKLOAD REPOSITORY RAC COMPARE PERIOD REPORT\n",
            "x.txt: this is a compare-period report of a cluster (awrgdrpt.sql), which is not read; create one report"
            " of each period (awrgrpt.sql), and compare these: slob awr --compare A B",
        ),
        (b"# WORKLOAD REPOSITORY report for\n\nDB Name| DB Id\n---|---\nFIX| 1\n", "without readable figures"),
    ],
)
def test_what_is_no_report_is_told_in_a_line(data, words):
    with pytest.raises(ReportError) as error:
        read_bytes(data, "x.txt")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
