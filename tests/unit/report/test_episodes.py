"""The slow stretches of a run in the text, on the page and in the pictures."""

from __future__ import annotations

import json

from factories.paths import FIXTURES
from factories.slow_loads import FAULTS, course
from factories.tables import table
from factories.traces import read_trace
from openslob.analyze.build_record import episode_rows
from openslob.record import store
from openslob.record.model import EpisodeRow
from openslob.report.charts.picture import page_specs
from openslob.report.html.page import page_of
from openslob.report.pictures import pictures_of_run
from openslob.report.slowest import SHOWN, slow_stretches
from openslob.report.terminal import block_lines
from openslob.report.text import run_document

FOLDER = FIXTURES / "records/v4/measured"
LOCKED = store.load(FOLDER)


def row(begin_s: float, lost: float, cause: str = "lock", rate: float = 20.0) -> EpisodeRow:
    return EpisodeRow(
        begin_s=begin_s, end_s=begin_s + 2, cause=cause, evidence="why", lost_ops=lost, ops_per_s=rate,
        usual_ops_per_s=100.0,
    )  # fmt: skip


def test_a_record_has_the_stretches_that_its_raw_files_show():
    assert LOCKED.episodes is not None
    assert [(each.begin_s, each.end_s, each.cause) for each in LOCKED.episodes] == [(18.0, 20.0, "lock")]
    (found,) = episode_rows(read_trace(FOLDER, LOCKED))
    # The program of then did not say how much of the loss a cause explains.
    assert found.evidence == f"{LOCKED.episodes[0].evidence} (100 % of the time lost)"
    assert found.model_copy(update={"evidence": LOCKED.episodes[0].evidence}) == LOCKED.episodes[0]


def test_a_stretch_that_may_have_two_causes_is_recorded_with_both():
    slow = next(fault for fault in FAULTS if fault.name.startswith("reads +1"))
    (found,) = episode_rows(course(slow, 0.5, 12, 1))
    assert found.cause == "either I/O cap or slow reads"
    assert EpisodeRow.model_validate_json(found.model_dump_json()) == found


def test_the_report_names_span_cause_loss_and_evidence():
    text = " ".join(" ".join(block_lines(slow_stretches(LOCKED))).split())
    assert "1 stretch, 2 s of 30.0 s; 254 operations less than usual were done." in text
    assert "18 to 20 s lock 85 % slower; 100 % of the sessions waited for locks, usually 0 %" in text


def test_two_causes_that_it_may_be_are_before_the_evidence():
    lines = block_lines(slow_stretches(LOCKED.model_copy(update={"episodes": (row(1.0, 9.0, "either A or B"),)})))
    assert " ".join(lines[-1].split()) == "1 to 3 s either A or B; 80 % slower; why"


@table("found", [None, ()])
def test_without_stretches_there_is_no_section(found):
    assert block_lines(slow_stretches(LOCKED.model_copy(update={"episodes": found}))) == []


def test_of_many_stretches_the_worst_are_shown_and_all_are_summed_by_cause():
    rows = [row(10.0 * n, lost=float(n), cause="lock" if n % 2 else "checkpoint") for n in range(SHOWN + 5)]
    lines = block_lines(slow_stretches(LOCKED.model_copy(update={"episodes": tuple(rows)})))
    text = " ".join(" ".join(lines).split())
    assert "50 to 52 s" in text
    assert "40 to 42 s" not in text
    assert "These are the 10 worst. All, by cause: checkpoint 8 (16 s, 56 lost); lock 7 (14 s, 49 lost)." in text


def test_a_stretch_without_a_loss_of_throughput_had_a_higher_latency():
    shown = block_lines(slow_stretches(LOCKED.model_copy(update={"episodes": (row(1.0, 0.0, rate=100.0),)})))
    assert "higher latency; why" in shown[-1]


def test_pictures_shade_the_stretches_and_the_page_lists_them():
    pictures, problem = pictures_of_run(LOCKED, FOLDER)
    assert problem == ""
    assert "Shaded" in " ".join(pictures[0].notes)
    drawn = [json.dumps(spec) for spec in page_specs(pictures[0])]
    assert all("100 % of the sessions waited for locks" in panel for panel in drawn)
    assert any("SLOW STRETCHES" in str(section).upper() for section in page_of(run_document(LOCKED, FOLDER)).sections)
