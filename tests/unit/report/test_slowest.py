"""The slowest operations: in the record, the text, the page and a picture, each with the time when it came."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from factories import measurements
from factories.records import START_NS, physical
from openslob.analyze.curves.points import Run
from openslob.api.run_result import RunResult
from openslob.core.histogram import Slow
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.record.model import RunRecord
from openslob.report.charts.picture import page_specs
from openslob.report.charts.slowest import read_rows, slowest_reads
from openslob.report.html.page import page_of
from openslob.report.several_runs import set_document
from openslob.report.slowest import slowest_of, slowest_section
from openslob.report.terminal import block_lines
from openslob.report.text import render, run_document

AT = datetime.fromtimestamp(START_NS / NANOS, UTC)


def read_run(number: int = 0, **spec: object) -> RunRecord:
    """A run of single reads, of which two stand out; it began ``number`` minutes after the first one."""
    record = physical()
    slowest = [
        {"us": 90_000.0 + number, "session": 3, "from_s": 4.2, "to_s": 5.2},
        {"us": 20_500.0, "session": 0, "from_s": 0.0, "to_s": 1.1},
    ]
    window = record.window.model_copy(update={"load_start_ns": START_NS + number * 60 * NANOS})
    return record.model_copy(
        update={
            "id": f"{record.id}{number}",
            "window": window,
            "spec": {**record.spec, "work_unit": 1, **spec},
            "latency": {"select": {**record.latency["select"], "slowest": slowest}},
        }
    )


def test_the_record_says_when_in_the_load_each_came() -> None:
    made = measurements.measurement()
    begin = made.window.load_start_ns
    slow = [Slow(7e6, 1, begin + NANOS, begin + 2 * NANOS), Slow(5e3, 0, begin - 5, begin + NANOS // 2)]
    record = measurements.record(measurements.measurement(slowest={OpKind.SELECT: slow}))
    assert record.latency["select"]["slowest"] == [
        {"us": 7e6, "session": 1, "from_s": 1.0, "to_s": 2.0},
        {"us": 5e3, "session": 0, "from_s": 0.0, "to_s": 0.5},
    ]
    assert record.latency["update"]["slowest"] == []


def test_the_text_names_them_with_their_time() -> None:
    lines = block_lines(slowest_section([read_run()]))
    assert lines[0] == "SLOWEST OPERATIONS, of one block each"
    assert lines[2].split() == ["90", "ms", "select", "3", f"{AT:%Y-%m-%d}", "12:00:04.2", "4.2", "to", "5.2"]
    assert "\n".join(lines) in render(read_run())
    assert max(map(len, lines)) <= 80
    assert block_lines(slowest_section([read_run(work_unit=64)]))[0] == "SLOWEST OPERATIONS"
    table = RunResult(Run.of(read_run()), Path()).slowest()
    assert table.columns == ("kind", "us", "session", "from_s", "to_s")
    assert list(table[0].values()) == ["select", 90_000.0, 3, 4.2, 5.2]
    assert len(table) == 2
    assert block_lines(slowest_section([physical()])) == [], "older records did not keep them"


def test_a_batch_of_single_reads_is_no_single_read() -> None:
    batches = read_run(loop="client", pipeline=16)
    lines = block_lines(slowest_section([batches]))
    assert lines[0] == "SLOWEST OPERATIONS"
    assert "batch of 16 with select" in lines[2]
    assert slowest_reads([batches]) is None


def test_those_of_several_runs_are_in_one_table() -> None:
    runs = [read_run(number, sessions=2**number) for number in range(3)]
    assert [(slow.us, slow.record.id) for slow in slowest_of(runs, 3)] == [
        (90_002, runs[2].id), (90_001, runs[1].id), (90_000, runs[0].id),
    ]  # fmt: skip
    section = block_lines(slowest_section(runs))
    assert section[2].split()[-2:] == ["4", runs[2].id]
    page = page_of(set_document("reads", [Run.of(run) for run in runs], ()))
    (shown,) = (each for each in page.sections if each.title + each.rest == "Slowest operations, of one block each")
    assert len(shown.table.rows) == 6


def test_the_page_of_a_run_has_them(tmp_path: Path) -> None:
    page = page_of(run_document(read_run(), tmp_path))
    (shown,) = (each for each in page.sections if each.title.startswith("Slowest"))
    assert [row[0] for row in shown.table.rows] == ["90 ms", "20.5 ms"]
    assert "slowest-reads" in {picture.name for picture in page.pictures}
    other = page_of(run_document(physical(), tmp_path))
    assert not [each for each in other.sections if each.title.startswith("Slowest")]


def test_single_reads_are_drawn_where_they_came() -> None:
    runs = [read_run(number, sessions=2**number) for number in range(2)]
    rows = read_rows(runs)
    assert [(row["from_s"], row["to_s"]) for row in rows] == [
        (pytest.approx(begin), pytest.approx(end)) for begin, end in ((4.2, 5.2), (0, 1.1), (64.2, 65.2), (60, 61.1))
    ]
    drawn = slowest_reads(runs)
    assert drawn.description.endswith("up to 90.0 ms, 2026-03-01 12:01:04 UTC.")
    (spec,) = page_specs(drawn)
    assert {row["sessions"] for data in spec["datasets"].values() for row in data} == {"1 session", "2 sessions"}
    assert slowest_reads([*runs, read_run(2, update_pct=10)]) is None, "an update writes"
    assert slowest_reads([physical()]) is None
