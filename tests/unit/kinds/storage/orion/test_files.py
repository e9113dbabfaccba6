"""The files of a test, read back as Orion's are: shape of the matrices, histograms, summary, verdicts, steps."""

from __future__ import annotations

import csv
import re
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from factories.orion import large, measured, result, simple, small, transfers
from openslob.core.units import MIB
from openslob.kinds.storage.fio import Coverage, IoEngine, Job
from openslob.kinds.storage.orion.execute import file_prefix
from openslob.kinds.storage.orion.files import (
    buckets,
    files_of,
    histogram,
    matrix_csv,
    plan_text,
    small_iops,
    summary_text,
)
from openslob.kinds.storage.orion.jobs import volume
from openslob.kinds.storage.orion.options import LoadPoint, Options, OrionRun, load_matrix
from openslob.kinds.storage.orion.points import (
    CoverageCheck,
    DeviceBytes,
    OrionResult,
    PointResult,
    coverage_check,
    summary_of,
    verdicts,
)
from openslob.kinds.storage.target import TestFile
from openslob.record.model import Holds

# Orion 11.1's own files of `-run simple -num_disks 1`, as published, with the figures that `outcome` has.
ORIONS_IOPS = """\
Large/Small,      1,      2,      3,      4,      5
          0,   2302,   4398,   5450,   6006,   6210
          1
          2
"""
ORIONS_MBPS = """\
Large/Small,      0,      1,      2,      3,      4,      5
          1, 271.58
          2, 374.26
"""


def read_matrix(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """Heads and rows, as programs that read Orion's files find them."""
    head, *rows = [[cell.strip() for cell in row] for row in csv.reader(StringIO(text))]
    assert head[0] == "Large/Small"
    return head[1:], {row[0]: row[1:] for row in rows}


def test_the_matrices_are_byte_for_byte_those_of_orion():
    files = files_of(simple())
    assert files["iops.csv"] == ORIONS_IOPS
    assert files["mbps.csv"] == ORIONS_MBPS


def test_the_latencies_have_the_shape_of_the_iops():
    files = files_of(simple())
    heads, rows = read_matrix(files["lat.csv"])
    assert heads == ["1", "2", "3", "4", "5"]
    assert [float(cell) for cell in rows["0"]] == [100, 110, 120, 130, 140]
    assert rows["1"] == rows["2"] == []
    for name in ("lat_p50", "lat_p99", "lat_p999", "lat_max"):
        assert read_matrix(files[f"{name}.csv"])[0] == heads


def test_a_whole_matrix_has_small_loads_as_columns_and_large_ones_as_rows():
    cells = load_matrix(Options(OrionRun.NORMAL), 1)
    points = [
        measured(
            point,
            *([small(1000 * point.small + point.large)] if point.small else []),
            *([large(100 * point.large + point.small)] if point.large else []),
        )
        for point in cells.points
    ]
    files = files_of(OrionResult(cells, tuple(points)))
    heads, rows = read_matrix(files["iops.csv"])
    assert {(int(s), int(n)): float(cell) for n, row in rows.items() for s, cell in zip(heads, row, strict=True)} == {
        (s, n): 1000 * s + n for s in range(1, 6) for n in range(3)
    }
    heads, rows = read_matrix(files["mbps.csv"])
    assert {(int(s), int(n)): float(cell) for n, row in rows.items() for s, cell in zip(heads, row, strict=True)} == {
        (s, n): 100 * n + s for s in range(6) for n in (1, 2)
    }


def test_points_that_a_stopped_test_did_not_reach_are_empty():
    whole = simple()
    heads, rows = read_matrix(matrix_csv(OrionResult(whole.matrix, whole.points[:2]), small_iops, ".0f", of_small=True))
    assert len(heads) == 5
    assert rows == {"0": ["2302", "4398"], "1": [], "2": []}


def test_a_histogram_has_every_request_in_a_bucket_of_a_microsecond_or_some_per_cent():
    latencies = transfers(1000, 8192, (7, 8, 49, 1000, 5000)).latency
    found = buckets(latencies)
    assert sum(count for _, _, count in found) == 1000
    for us in (7, 8, 49):
        assert (us, us + 1, 200) in found
    for us in (1000, 5000):
        (low, high, _) = next(row for row in found if row[0] <= us < row[1])
        assert high / low < 1.08
    assert all(before[1] <= after[0] for before, after in pairwise(found))


def test_the_histogram_s_lines_end_at_all_requests():
    lines = histogram(transfers(1000, 8192, (100, 400))).splitlines()
    assert re.fullmatch(r" +\d+ - \d+ +us: +500 \( 50\.00%\)", lines[0])
    assert lines[-1].endswith("(100.00%)")


def test_the_histograms_tell_reads_from_writes():
    mixed = result("small", transfers(70, 8192), transfers(30, 8192))
    text = files_of(OrionResult(load_matrix(Options(OrionRun.SIMPLE), 1), (measured(LoadPoint(0, 1), mixed),)))[
        "hist.txt"
    ]
    assert "Small Read Latency Histogram @ Small=1 and Large=0" in text
    assert "Small Write Latency Histogram @ Small=1 and Large=0" in text
    assert "Large" not in text.replace("Large=0", "")


def test_the_summary_has_orions_answers_and_what_they_leave_out():
    outcome = simple()
    options = Options(OrionRun.SIMPLE, testname="mytest")
    luns = [TestFile(Path("/dev/sdb"), "/dev/sdb", 64 * MIB, ours=False)]
    plan = plan_text(options, volume(luns, options), outcome.matrix)
    text = summary_text(plan, outcome, verdicts(outcome, direct=True), ["a word"], "")
    for line in (
        "Test: mytest",
        "Small IO size: 8 KB",
        "Large IO size: 1024 KB",
        "IO Types: Small Random IOs, Large Random IOs",
        "Simulated Array Type: CONCAT",
        "Write: 0%",
        "Cache Size: Not Entered",
        "Duration for each Data Point: 10 seconds (Orion's own default: 60)",
        "Total Data Points: 7",
        "Name: /dev/sdb  Size: 67108864",
        "Maximum Large MBPS=374.26 @ Small=0 and Large=2",
        "Maximum Small IOPS=6210 @ Small=5 and Large=0",
        "Minimum Small Latency=100.00 usecs @ Small=1 and Large=0",
        "Note: a word.",
    ):
        assert line in text.splitlines()
    assert "p99=" in text and "max=140.0 us" in text
    stopped = summary_text(plan, OrionResult(outcome.matrix, outcome.points[:2]), (), (), "Stopped")
    assert "Stopped: 2 of 7 points were measured." in stopped


def test_the_record_s_answers_are_those_of_the_summary_and_missing_is_not_zero():
    found = summary_of(simple())
    assert (found["max_iops"].value, found["max_mb_per_s"].value) == (6210, pytest.approx(374.26))
    assert (found["min_latency_us"].value, found["max_iops_p99_us"].value) == (100, pytest.approx(140, rel=0.02))
    nothing = summary_of(OrionResult(simple().matrix, ()))
    assert all(figure.value is None and figure.why for figure in nothing.values())


def test_streams_count_as_one_load():
    streams = [result(f"large-{number}", transfers(50, MIB, (200 * number,))) for number in (1, 2)]
    one = measured(LoadPoint(2, 0), *streams).large
    assert one is not None
    assert (one.ios, one.bytes_per_s) == (100, 100 * MIB)
    assert (one.latency.mean_us(), one.latency.max_us) == (300, 400)
    assert one.cpu_user_s == pytest.approx(0.2)


def verdict_of(name: str, outcome: OrionResult) -> tuple[Holds, str]:
    found = {verdict.name: verdict for verdict in verdicts(outcome, direct=True)}[name]
    return found.verdict, found.why


def test_reads_that_no_device_saw_fail_the_verdict():
    cells = load_matrix(Options(OrionRun.SIMPLE), 1)
    good, bad = measured(LoadPoint(0, 1), small(100)), measured(LoadPoint(0, 2), small(100), share=0.5)
    assert verdict_of("reached_device", OrionResult(cells, (good,)))[0] is Holds.HOLDS
    outcome, why = verdict_of("reached_device", OrionResult(cells, (good, bad)))
    assert outcome is Holds.FAILS
    assert "50.0 %" in why
    unseen = PointResult(good.point, good.started_at, good.small, None, DeviceBytes(None, None, "no block device"))
    assert verdict_of("reached_device", OrionResult(cells, (good, unseen))) == (
        Holds.UNKNOWN,
        "Can't be determined: no block device.",
    )


JOB = Job(files=(Path("/a"), Path("/b")), size=5000 * 8192, block_size=8192, engine=IoEngine.LIBAIO, seconds=1)


def covered(offsets: dict[str, list[int]]) -> tuple[Holds, CoverageCheck]:
    check = coverage_check(
        "small", LoadPoint(0, 1), JOB, {name: [block * 8192 for block in of] for name, of in offsets.items()}
    )
    return verdict_of("small_coverage", OrionResult(load_matrix(Options(OrionRun.SIMPLE), 1), (), (check,)))[0], check


def test_requests_that_go_everywhere_are_proven_so():
    outcome, check = covered({"/a": list(range(0, 5000, 2)), "/b": list(range(1, 5000, 2))})
    assert outcome is Holds.HOLDS
    assert check.coverage == Coverage(requests=5000, distinct=5000, blocks=10_000, expected=5000.0)
    assert check.zones == (500,) * 10


def test_re_reading_a_few_blocks_is_found_out():
    """Orion's own fault: a small set again and again."""
    assert covered({"/a": list(range(10)) * 10, "/b": list(range(10)) * 10})[0] is Holds.FAILS


def test_reading_one_part_only_is_found_out():
    """No block twice, and yet one file of two is never read."""
    outcome, check = covered({"/a": list(range(5000))})
    assert check.coverage.holds
    assert outcome is Holds.FAILS


def test_files_are_called_as_orion_calls_them():
    assert file_prefix("mytest", "2026-01-02T03:04:05Z") == "mytest_20260102_0304"
