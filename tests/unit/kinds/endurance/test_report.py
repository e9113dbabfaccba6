"""The report of an endurance run: figures, text and page of two segments with a gap between them."""

from __future__ import annotations

import numpy as np
import pytest

from factories.endured import FIRST_S, GAP_S, SECOND_S, endured
from factories.live import OPS
from factories.running import slob
from factories.vega_lite import validate
from openslob.analyze.causes import SLOW
from openslob.analyze.trace import Trace
from openslob.core.units import MIB
from openslob.kinds.contract import follow
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance import segments as report_endurance
from openslob.kinds.endurance.pictures import endurance_pictures
from openslob.kinds.endurance.report import endurance_document, mark_text, moment
from openslob.kinds.endurance.segments import course_of, read_course, with_figures
from openslob.kinds.run.live.follow import FollowedRuns
from openslob.metrics import Timed
from openslob.record import store
from openslob.record.model import Holds, Verdict
from openslob.report.charts.picture import chart
from openslob.report.terminal import render_screen, render_text

SESSIONS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return endured(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def course(folder):
    return read_course(folder, endurance.load(folder))


@pytest.fixture(scope="module")
def record(folder):
    return with_figures(folder, endurance.load(folder))


def test_the_course_knows_both_segments_and_nothing_of_the_gap(course):
    ops = course.trace.get("ops")
    assert len(ops) == FIRST_S + GAP_S + SECOND_S
    known = np.isfinite(ops)
    assert not known[FIRST_S : FIRST_S + GAP_S].any()
    assert known.sum() >= FIRST_S + SECOND_S - 2
    assert ops[known] == pytest.approx(SESSIONS * OPS)
    (gap,) = [mark for mark in course.trace.marks if mark.kind == "gap"]
    assert (gap.at_s, gap.until_s) == pytest.approx((FIRST_S, FIRST_S + GAP_S))
    assert gap.text == "it was stopped"


def test_latencies_are_those_of_their_time(course):
    counts = course.counts([0, FIRST_S, FIRST_S + GAP_S, FIRST_S + GAP_S + SECOND_S])
    first, gap, second = (int(of_time.sum()) for of_time in counts)
    assert gap == 0
    assert first * SECOND_S == second * FIRST_S > 0


def test_the_figures_include_all_that_was_measured(record):
    assert record.value("ops_per_s") == pytest.approx(SESSIONS * OPS)
    assert record.value("p99_us") is not None
    levels = record.tables["levels"]
    assert [(row["begin_s"], row["known_s"] > 0) for row in levels][:4] == [
        (0, True), (10, True), (20, True), (30, True),
    ]  # fmt: skip
    assert [row["begin_s"] for row in levels][4:] == [100, 110, 120]
    assert not record.has_news
    verdicts = {each.name: each.verdict for each in record.verdicts}
    assert verdicts == {
        "time_covered": Holds.FAILS, "steady_by_snia": Holds.UNKNOWN, "steady_course": Holds.HOLDS,
        "level_lasted": Holds.UNKNOWN, "level_sustained": Holds.HOLDS,
    }  # fmt: skip
    # The gap is no part of the time in which no cap came into force.
    assert "within 70 s" in record.verdicts[-1].why


def test_a_cap_over_the_whole_run_is_in_the_time_line_and_no_write_cliff(record, folder, monkeypatch):
    random, seconds = np.random.default_rng(5), 600
    reads = np.where(np.arange(seconds) < 200, 8000, 3000) * (1 + 0.05 * random.standard_normal(seconds))
    reads[200:] = 3000 * (1 + 0.002 * random.standard_normal(400))
    series = {
        "ops": reads / 8, "device.reads": reads, "server.read_bytes": 8192 * reads, "waits.data_io": np.full(600, 7.5),
        "waits.log": np.zeros(600), "device.writes": np.full(600, 50.0),
        "device.write_ms": np.where(np.arange(600) < 200, 10.0, 90.0),
    }  # fmt: skip
    course = course_of((), Trace(0, 1.0, series))
    unknown = {name: np.full(600, np.nan) for name in ("device.reads", "server.read_bytes")}
    assert course_of((), Trace(0, 1.0, series | unknown)).drop.is_write_cliff
    assert course.drop.at_s == pytest.approx(200, abs=8)
    assert not course.drop.is_write_cliff
    monkeypatch.setattr(report_endurance, "read_course", lambda *_: course)
    capped = with_figures(folder, record)
    marks = {row["kind"]: row for row in capped.tables["marks"]}
    assert (marks["burst"]["at_s"], marks["burst"]["until_s"]) == (0, pytest.approx(200, abs=1))
    assert "operations/s, until a cap of 23.4 MB/s on reads came into force" in marks["burst"]["text"]
    assert (marks["cap"]["until_s"], marks["cap"]["text"]) == (600, "23.4 MB/s on reads, 375 operations/s")
    assert "lasting drop" in marks
    assert capped.verdicts[-1].figures["cap"] == pytest.approx(3000 * 8192 / MIB, rel=0.01)
    assert capped.verdicts[-1].verdict is Holds.FAILS
    assert "burst of 3 min" in render_text(endurance_document(capped))


def test_the_text_says_what_is_left_and_where_the_gap_is(record, folder):
    text = " ".join(render_text(endurance_document(record, folder)).split())
    assert "the driver was killed; 30 s are left: slob endure --resume 20260301-120000-endure" in text
    assert "70 s of" not in text
    plot = render_text(endurance_document(record, folder)).partition("operations/s\n")[2].splitlines()[0]
    assert ".x" in plot, "a line between levels"
    assert " " * 20 in plot.strip(" │"), "and none across the gap"
    assert text.count("0.5 1 1.5 2") == 1
    assert "1 min 10 s of 1 min 40 s were measured, with 1 gap of 1 min" in text
    assert "0:00:40 gap of 1 min: it was stopped" in text
    for width in (80, 120, 200):
        tables = render_text(endurance_document(record, folder), width).splitlines()
        assert max(len(line) for line in tables if not line.startswith("record:")) <= width


def test_commits_are_those_of_the_load(record):
    """Not the transactions of the whole server, of which each operation that reads is one, too."""
    assert [row["commits_per_s"] for row in record.tables["levels"]] == pytest.approx([SESSIONS * OPS / 5] * 7)


def test_verdicts_on_segments_that_fail_are_told(tmp_path):
    folder = endured(tmp_path)
    (path,) = folder.glob("*segment-1/run.json")
    noisy = Verdict(name="quiet_machine", verdict=Holds.FAILS, why="The machine is noisy.")
    path.write_text(store.load(path).model_copy(update={"verdicts": (noisy,)}).model_dump_json())
    text = render_text(endurance_document(with_figures(folder, endurance.load(folder))))
    assert "VERDICTS ON SEGMENTS THAT FAIL\n  quiet machine  segment 1: The machine is noisy." in text


def test_evidence_of_slow_stretches_is_told_once():
    row = {"kind": SLOW, "text": "lock: sessions waited for locks", "at_s": 1.0, "until_s": 5.0}
    assert mark_text(row) == "slow stretch of 4 s: lock"


def test_every_picture_is_valid(course, record):
    pictures = endurance_pictures(course, record.tables["marks"])
    assert [picture.name for picture in pictures] == ["endurance", "endurance-latency"]
    for picture in pictures:
        validate(chart(picture).to_dict(validate=False))


def test_commands_know_the_record(folder, tmp_path):
    on = ["--results", str(folder.parent)]
    listed = slob("list", *on).stdout
    assert "1 min 10 s of 1 min 40 s, 1 gap" in " ".join(listed.split())
    assert slob("list", *on, "--points").stdout.count("segment") >= 2
    page = tmp_path / "page.html"
    assert slob("report", "latest", *on, "-o", str(page)).returncode == 0
    assert "The run over time" in page.read_text()
    assert "the driver was killed; 30 s are left" in page.read_text().partition("<h2>Report</h2>")[0]


def test_the_live_view_is_that_of_the_last_segment(folder):
    followed = follow(folder)
    assert isinstance(followed, FollowedRuns)
    followed.poll()
    assert followed.run is not None
    assert followed.run.folder.name.endswith("segment-2")


@pytest.mark.parametrize(("at_s", "text"), [(0, "0:00:00"), (3661, "1:01:01"), (2 * 86_400 + 60, "2 d 0:01:00")])
def test_moments_are_hours_and_days(at_s, text):
    assert moment(at_s) == text


def test_slow_stretches_are_shown_by_cause_with_the_evidence_of_the_worst(record):
    slow = {"cause": "lock", "also": [], "rate": 10.0, "usual_rate": 100.0}
    rows = [
        slow | {"begin_s": 3600.0, "end_s": 3602.0, "lost_ops": 180.0, "evidence": "8 sessions waited"},
        slow | {"begin_s": 10.0, "end_s": 20.0, "lost_ops": 900.0, "evidence": "16 sessions waited"},
    ]
    shown = render_text(endurance_document(record.model_copy(update={"tables": {**record.tables, "episodes": rows}})))
    text = " ".join(shown.split())
    assert "lock 2 12 s 1,080 0:00:10 10 s" in text
    assert "lock: at 0:00:10, 16 sessions waited" in text
    assert "8 sessions waited" not in text.replace("16 sessions waited", "")


def test_latencies_of_batches_are_called_so(course, record, folder):
    batches = record.model_copy(update={"workload": {**record.workload, "loop": "client", "pipeline": 16}})
    drawn, whole, screen = (
        str([chart(picture).to_dict(validate=False) for picture in endurance_pictures(course, (), Timed(16))]),
        render_text(endurance_document(batches, folder)),
        render_screen(endurance_document(batches, folder), 120),
    )
    assert "batch of 16 operations latency (µs)" in drawn
    assert "'operation latency (µs)'" not in drawn
    assert "batch p99" in whole
    assert "client loop in batches of 16" in screen
    assert "batch" not in render_text(endurance_document(record, folder))
