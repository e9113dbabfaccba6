"""`--columns top` against the list that reports print, which is read here by other code, and text against page."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from factories.awr.described import Database, Wait
from factories.awr.making import example
from factories.awr.report import LAYOUTS, write
from factories.awr.sheet import VERSIONS, Layout
from factories.awr_mutations import whole
from factories.awr_reports import SAMPLES, needs_samples, read_fixture
from factories.tables import table
from openslob.awr import Report, Scope, WaitEvent, read_bytes
from openslob.awr.cells import Subject
from openslob.awr.columns import column_of
from openslob.awr.rows import ROW_SETS
from openslob.awr.wait_cells import find_top_events, list_top

NAMES = [f"{layout.version}-{'html' if layout.is_html else 'text'}" for layout in LAYOUTS]
of_every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
_TITLE = re.compile(r"Top (\d+ )?(Timed )?(Foreground )?Events( by Total Wait Time)?")
_TWINS = ("awr_text_11.2.0.2_orals1_aix.txt", "awr_html_11.2.0.2_orals1_aix.html")


def rows_of(report: Report):
    """Names, classes, waits, seconds and shares of `--columns top`."""
    for row in ROW_SETS["top"].rows_of(Subject(report), ()):
        _, _, name, wait_class, waits, seconds, _, share = (reading.value for reading in row)
        yield name, wait_class, waits, seconds, share


def printed_in(path: Path) -> list[str]:
    """The names of a report's top list as they stand there, found without the reader that is tested."""
    text = path.read_bytes().decode("latin-1").replace("\r\n", "\n")
    return _in_page(text) if "</table>" in text.lower() else _in_text(text.split("\n"))


def _in_text(lines: list[str]) -> list[str]:
    at = next(at for at, line in enumerate(lines) if _TITLE.match(line))
    at = next(at for at in range(at, len(lines)) if re.match(r"-{20,} -", lines[at]))
    width, names = lines[at].index(" "), []
    for line in lines[at + 1 :]:
        if not line.strip() or line.lstrip("\f").startswith("Host CPU") or set(line.strip()) == {"-"}:
            return names
        names.append(line[:width].strip())
    return names


def _in_page(text: str) -> list[str]:
    """A page may be wrapped after 132 characters, wherever that is. Of a cluster's lists, the foreground's is meant."""
    text = re.sub(r"\s+", " ", re.sub(r"(?m)^(.{131}\S)\n", r"\1", text))
    found: dict[str, list[str]] = {}
    for part in re.finditer(r"<table.*?</table>", text, re.IGNORECASE):
        before = re.findall(r">([^<>]*?)<", text[max(0, part.start() - 2500) : part.start()])
        titles = [match for words in before if (match := _TITLE.fullmatch(unescape(words).strip()))]
        cells = [
            [unescape(re.sub("<[^>]*>", "", cell)).strip() for cell in re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row)]
            for row in re.split("(?i)<tr", part[0])
        ]
        heads = next((row for row in cells if {"Event", "Waits"} <= set(row)), [])
        if titles and heads:
            name = heads.index("Event")
            rows = [row for row in cells if len(row) == len(max(cells, key=len)) and row[name] != "Event"]
            found.setdefault(titles[-1][0], [row[name] for row in rows if heads[0] != "I#" or row[0] == "*"])
    foreground = [names for title, names in found.items() if "Foreground" in title]
    return (foreground or list(found.values()))[0]


_NAMES = re.compile(r"(odd_awr_html|awrg?|sp)_.*\.(txt|html)")


@needs_samples
@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*") if _NAMES.fullmatch(path.name)))
def test_the_top_list_is_the_printed_one(name):
    report, printed = whole(SAMPLES / name), printed_in(SAMPLES / name)
    found = [row[0] for row in rows_of(report)]
    assert len(printed) >= 5
    # A name may be cut in the list and whole in another table.
    assert [one[: len(other)] for one, other in zip(found, printed, strict=False)] == printed
    assert len(found) == len(set(found))
    first = report.list_events(Scope.TOP) or report.list_events(Scope.TOP_ALL)
    for event, (_, _, waits, seconds, share) in zip(first, rows_of(report), strict=False):
        for number, value in ((event.waits, waits), (event.time_s, seconds), (event.share_pct, share)):
            assert number is None or value == pytest.approx(number.value, abs=number.step)


def agree(one: WaitEvent, other: WaitEvent) -> bool:
    pairs = (one.waits, other.waits), (one.time_s, other.time_s), (one.share_pct, other.share_pct)
    is_close = all(a is None or b is None or abs(a.value - b.value) <= (a.step + b.step) * (1 + 1e-9) for a, b in pairs)
    return is_close and one.wait_class == other.wait_class and other.name.startswith(one.name)


@needs_samples
def test_text_and_page_of_a_real_report_have_the_same_top_list():
    text, page = (list_top(whole(SAMPLES / name)) for name in _TWINS)
    assert len(text) == len(page) > 30
    assert [(one, other) for one, other in zip(text, page, strict=True) if not agree(one, other)] == []


def busy(version: str) -> Database:
    """A database that waited for what is idle and for what only looks like it, in names that a text cuts."""
    described = example(7)
    waits = (
        Wait("SQL*Net message from client", "Idle", {30: 900}),
        Wait("PX Deq: Parse Reply", "Idle", {24: 900}),
        Wait("jobq slave wait", "Idle", {22: 3}),
        Wait("SQL*Net message from dblink", "Network", {19: 5000}),
        Wait("KSV master wait", "Other", {17: 5000}),
        Wait("PX Deq: Join ACK", "Other", {16: 5000}),
        Wait("SQL*Net break/reset to client", "Application", {15: 5000}),
        *(Wait(f"cell single block physical read: {kind}", "User I/O", {14: count})
          for kind, count in (("flash cache", 9000), ("RDMA", 7000), ("xrmem cache", 6000))),
        *(Wait(f"library cache: the mutex with number {at}", "Concurrency", {13: 90 + at * 700}) for at in range(9)),
    )  # fmt: skip
    one = described.instances[0]
    return replace(described, instances=(replace(one, foreground=waits, times={**one.times, "DB CPU": 300.0}),))


@of_every_layout
def test_each_wait_is_listed_once_and_what_the_report_calls_idle_is_not(layout):
    described = busy(layout.version)
    report = read_bytes(write(described, layout).data)
    listed = list_top(report)
    active = [wait for wait in described.instances[0].foreground if wait.wait_class != "Idle"]
    expected = sorted([(wait.seconds, wait.name) for wait in active] + [(300.0, "DB CPU")], reverse=True)
    assert len(listed) == len(expected)
    assert all(whole.startswith(event.name) for event, (_, whole) in zip(listed, expected, strict=True))
    longest = column_of("top1_event").read(Subject(report)).value
    assert longest == "SQL*Net message from dblink"
    assert [event.name for event in find_top_events(report)] == [one.name for one in listed if one.name != "DB CPU"]
    assert report.warnings == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_text_and_page_have_the_same_top_list(version):
    text, page = (list_top(read_bytes(write(busy(version), Layout(version, way)).data)) for way in (False, True))
    top = 5 if version < "11.2.0.4" else 10
    assert [one.wait_class for one in text[:top]] == [one.wait_class for one in page[:top]]
    for one, other in zip(text, page, strict=True):
        assert agree(replace(one, wait_class=other.wait_class), other)


@table(
    ("scope", "name", "idle"),
    [
        (Scope.FOREGROUND, "SQL*Net message from client", True),
        (Scope.FOREGROUND, "db file sequential read", False),
        (Scope.BACKGROUND, "log file parallel write", False),
    ],
)
def test_an_event_without_a_share_of_the_time_is_idle(scope, name, idle):
    report = read_fixture("awr_11.2.txt")
    (event,) = [one for one in report.list_events(scope) if name.startswith(one.name)]
    assert event.idle is idle
