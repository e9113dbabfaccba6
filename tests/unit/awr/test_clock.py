"""Times of snapshots and the time between them."""

from __future__ import annotations

import re
from datetime import datetime

from factories.awr_reports import FIXTURES, read_fixture
from factories.tables import table
from openslob.awr import read_bytes
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS
from openslob.awr.model import snapshot_time


@table(
    ("text", "expected"),
    [
        ("02-Mar-15 10:00:00", datetime(2015, 3, 2, 10)),
        ("2-MAR-2015 10:07", datetime(2015, 3, 2, 10, 7)),
        ("02-3月 -15 10:00:09", datetime(2015, 3, 2, 10, 0, 9)),
        ("02-Mrz-15 10:00:00", None),
        ("31-Feb-15 10:00:00", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_is_read_whatever_the_locale(text, expected):
    assert snapshot_time(text) == expected


@table(
    ("printed", "end", "expected", "told"),
    [
        ("10.00", "10:10:00", 600, ""),
        ("10.2", "10:10:11", 611, ""),
        ("10", "10:10:11", 611, ""),
        ("", "10:10:11", 611, ""),
        ("10.00", "10:12:00", 600, "Elapsed: 600 s, but the snapshots are 720 s apart"),
        ("10.2", "", 612, ""),
    ],
)
def test_elapsed_is_as_fine_as_the_report_allows(printed, end, expected, told):
    text = (FIXTURES / "awr_11.2.txt").read_text()
    text = re.sub(r"(Elapsed: +)10\.00", lambda found: found[1] + printed, text)
    text = text.replace("10:10:00", end.ljust(8))
    report = read_bytes(text.encode())
    assert report.elapsed_s.value == expected
    assert [one for one in report.warnings if one.endswith("apart")] == [told] * bool(told)


@table(("name", "expected"), [("awr_pdb_19c_paged.txt", "PDB1"), ("awr_23ai.html", "PDB1"), ("awr_11.2.txt", None)])
def test_the_container_of_a_report_is_a_column(name, expected):
    reading = COLUMNS["pdb_name"].read(Subject(read_fixture(name)))
    assert reading.value == expected
    assert expected or reading.why == "Container Name is blank or not in the report"
