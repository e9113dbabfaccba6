"""The report of an endurance run: figures, text and page of two segments with a gap between them."""

from __future__ import annotations

import altair as alt
import numpy as np
import pytest

from factories.endured import FIRST_S, GAP_S, SECOND_S, endured
from factories.live import OPS
from factories.running import slob
from openslob.live.follow import FollowedRun, follow
from openslob.record import endurance
from openslob.record.model import Holds
from openslob.report.charts.endurance import endurance_pictures
from openslob.report.charts.picture import chart
from openslob.report.endurance import read_course, with_figures
from openslob.report.endurance_text import moment, render_endurance

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
        "time_covered": Holds.FAILS, "steady_by_snia": Holds.HOLDS, "steady_course": Holds.HOLDS,
        "level_lasted": Holds.UNKNOWN,
    }  # fmt: skip


def test_the_text_says_what_is_left_and_where_the_gap_is(record, folder):
    text = " ".join(render_endurance(record, folder).split())
    assert "the driver was killed; 30 s are left: slob endure --resume 20260301-120000-endure" in text
    assert "70 s of" not in text
    assert "1 min 10 s of 1 min 40 s were measured, with 1 gap of 1 min 0 s" in text
    assert "0:00:40 gap of 1 min 0 s: it was stopped" in text
    for width in (80, 120, 200):
        tables = render_endurance(record, folder, width).splitlines()
        assert max(len(line) for line in tables if not line.startswith("record:")) <= width


def test_every_picture_is_valid(course, record):
    pictures = endurance_pictures(course, record.tables["marks"])
    assert [picture.name for picture in pictures] == ["endurance", "endurance-latency"]
    for picture in pictures:
        alt.TopLevelSpec.validate(chart(picture).to_dict(validate=False))


def test_commands_know_the_record(folder, tmp_path):
    on = ["--results", str(folder.parent)]
    listed = slob("list", *on).stdout
    assert "1 min 10 s of 1 min 40 s, 1 gap" in " ".join(listed.split())
    assert slob("list", *on, "--points").stdout.count("segment") >= 2
    page = tmp_path / "page.html"
    assert slob("report", "latest", *on, "-o", str(page)).returncode == 0
    assert "The run over time" in page.read_text()


def test_the_live_view_is_that_of_the_last_segment(folder):
    followed = follow(folder)
    assert isinstance(followed, FollowedRun)
    assert followed.folder.name.endswith("segment-2")


@pytest.mark.parametrize(("at_s", "text"), [(0, "0:00:00"), (3661, "1:01:01"), (2 * 86_400 + 60, "2 d 0:01:00")])
def test_moments_are_hours_and_days(at_s, text):
    assert moment(at_s) == text


def test_slow_stretches_are_shown_by_cause_with_the_evidence_of_the_worst(record):
    slow = {"cause": "lock", "also": [], "rate": 10.0, "usual_rate": 100.0}
    rows = [
        slow | {"begin_s": 3600.0, "end_s": 3602.0, "lost_ops": 180.0, "evidence": "8 sessions waited"},
        slow | {"begin_s": 10.0, "end_s": 20.0, "lost_ops": 900.0, "evidence": "16 sessions waited"},
    ]
    shown = render_endurance(record.model_copy(update={"tables": {**record.tables, "episodes": rows}}))
    text = " ".join(shown.split())
    assert "lock 2 12 s 1,080 0:00:10 10 s" in text
    assert "lock: at 0:00:10, 16 sessions waited" in text
    assert "8 sessions waited" not in text.replace("16 sessions waited", "")
