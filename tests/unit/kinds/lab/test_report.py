"""The report of a lab: sentences, table, picture and page say the same, and claim no more than the intervals do."""

from __future__ import annotations

import altair as alt
import pytest

from factories.labs import METHOD, PAGES_OFF, SUMS_OFF, foreground_only, lab_record
from openslob.kinds.lab.pictures import lab_pictures
from openslob.kinds.lab.plan import needed_s, round_s, with_nothing_changed
from openslob.kinds.lab.report import lab_document, lab_plan, ratio_number, ratio_text
from openslob.record.model import Status
from openslob.report.charts.picture import chart
from openslob.report.html.page import page_of, render_page
from openslob.report.terminal import render_answer, render_blocks, render_text

NOTHING = with_nothing_changed([SUMS_OFF])[-1]


def record(**options):
    return lab_record((PAGES_OFF, 1.12), (METHOD, 0.3), (SUMS_OFF, 1.0), (NOTHING, 1.0), **options)


def words(text):
    return " ".join(text.split())


def test_each_setting_has_its_sentence():
    text = words(render_text(lab_document(record())))
    rate = record().result(PAGES_OFF, "update").rate
    assert f"full_page_writes=off (here: on) - update: {100 * (rate.ratio - 1):+.1f} % commits/s" in text
    assert "times the MB/s" in text
    assert "io_method=sync (here: worker) - scan: " in text
    assert "physical, which must show nothing: no difference seen in reads/s (any is smaller than" in text
    assert "data_checksums=off (here: on) - physical: no difference seen in reads/s (any is smaller than" in text
    assert "huge_pages: no huge pages are free" in text
    assert "At 95 % each, about 0.2 would differ by chance alone" in text


def test_a_rate_per_cpu_second_of_the_sessions_alone_is_named():
    known, sessions = (lab_document(each) for each in (record(), foreground_only(record())))
    for document, cpu in ((known, "CPU s"), (sessions, "foreground CPU s")):
        text = words(render_text(document, 200))
        assert f"setting load rate per {cpu} p99 pairs" in text
        assert f" commits per {cpu}econd (" in text
    assert "per foreground CPU s" in lab_pictures(foreground_only(record()))[0].table.head


def test_the_headline_names_each_value_once_with_its_loads():
    both = PAGES_OFF.model_copy(update={"loads": ("commit", "update")})
    said = words(lab_document(lab_record((both, 1.3), (METHOD, 0.3), (SUMS_OFF, 1.0))).headline)
    assert said.startswith("What changes a rate beyond doubt: full_page_writes=off (commit +")
    assert said.count("full_page_writes=off (commit") == 1
    assert "; io_method=sync (scan × 0.3" in said


def test_what_must_show_nothing_has_a_table_of_its_own():
    text = render_text(lab_document(record()), 200)
    _, _, below = text.partition("CONTROLS, WHICH MUST SHOW NOTHING, WITH 95 % INTERVAL")
    rows = [line.split()[:3] for line in below.splitlines()[2:4]]
    assert [row[0] for row in rows] == ["io_method=sync", "nothing"]


def test_what_is_not_settled_says_how_well_it_is_known():
    text = words(render_text(lab_document(record(noise=0.1))))
    assert "%, from 8 pairs" in text
    assert "known only" not in words(render_text(lab_document(record(noise=0.001))))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_text_fits_the_screen(width):
    every = record()
    for text in (
        render_text(lab_document(every), width),
        render_blocks(lab_plan(every, round_s(every), 6, needed_s(every, 6)), width),
    ):
        assert max(map(len, text.splitlines())) <= width


def test_before_the_first_pair_there_is_nothing_to_say():
    none = record(rounds=0).model_copy(update={"status": Status.INTERRUPTED})
    assert "no pair of runs" in render_text(lab_document(none))
    assert "slob lab --resume 20260301-120000-lab goes on" in words(render_text(lab_document(none)))
    assert lab_pictures(none) == ()
    assert "No pair of runs was made yet" in render_answer(lab_document(none))


def test_a_star_marks_what_all_comparisons_together_show():
    every = record()
    assert ratio_text(every.result(PAGES_OFF, "update").rate).endswith(")*")
    assert ratio_text(every.result(SUMS_OFF, "physical").rate).endswith(") ")
    assert ratio_text(None) == "–"
    assert "(" not in ratio_text(record(rounds=1).result(PAGES_OFF, "update").rate)


def test_the_picture_has_a_row_for_each_comparison_and_tells_controls_apart():
    (picture,) = lab_pictures(record())
    drawn = chart(picture)
    alt.Chart.from_dict if drawn is None else drawn.to_dict()
    rows = [row for each in drawn["datasets"].values() for row in each if "outcome" in row]
    assert {row["what"]: row["outcome"] for row in rows} == {
        "full_page_writes|off, update": "differs",
        "io_method|sync, scan": "differs",
        "io_method|sync, physical": "control: no difference",
        "data_checksums|off, physical": "no difference seen",
        "nothing changed|physical": "control: no difference",
    }
    beyond = {row["figure"]: (row["beyond"], row["value"]) for row in rows if row.get("beyond")}
    assert beyond and all(value in (1.5, 1 / 1.5) and (value > 1) == (end > 0) for end, value in beyond.values())
    assert len(picture.panels) == 3
    assert len(picture.table.rows) == 5


def test_the_page_shows_answers_verdicts_picture_and_text():
    page = page_of(lab_document(record()))
    assert [row.name for row in page.verdicts] == ["control shows nothing", "settled", "runs valid"]
    html = render_page(page)
    assert "What each setting does" in html
    assert "full_page_writes=off" in html


def test_values_that_share_runs_are_said_to_and_have_the_intervals_for_that():
    two = [(METHOD.model_copy(update={"value": value}), 1.1) for value in ("sync", "io_uring")]
    shared = lab_record(*two, (PAGES_OFF, 1.12))
    text = words(render_text(lab_document(shared)))
    assert "The values of io_method are compared with the same runs of the value here" in text
    assert "Their intervals hold at 95 % for all values of a setting together." in text
    rate = shared.results[0].rate
    assert f"({ratio_number(rate.joint_low)}–{ratio_number(rate.joint_high)})" in ratio_text(rate)
    assert "compared with the same runs" not in words(render_text(lab_document(lab_record((PAGES_OFF, 1.12)))))
    rates = {
        name: ratio.model_copy(update={"joint_low": None, "joint_high": None})
        for name, ratio in shared.results[0].figures.items()
    }
    earlier = [each.model_copy(update={"figures": rates}) for each in shared.results]
    said = words(render_text(lab_document(shared.model_copy(update={"results": tuple(earlier)}))))
    assert "Their intervals are those of each value alone." in said
