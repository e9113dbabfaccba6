"""The screen of an endurance run: whether its level lasts, and what made it fall, as far as that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories.endured import endured
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.record import EnduranceRecord
from openslob.kinds.endurance.report import endurance_document
from openslob.kinds.endurance.screen import endurance_screen
from openslob.kinds.endurance.segments import with_figures
from openslob.record import store
from openslob.record.model import Holds, Verdict
from openslob.report.terminal import render_screen

BURST = {
    "burst_ops_per_s": 674.0, "sustained_ops_per_s": 49.0, "dry_at_s": 19.0, "lifted_at_s": None, "held_times": 1,
    "cap": 3000.0, "cap_unit": "IOPS", "cap_direction": "read", "cap_known": "limit read",
    "each_ms_before": None, "each_ms_under": None,
}  # fmt: skip
CAP = "a cap of 3,000 IOPS or 23.4 MB/s on reads"
WHY = f"Burst: 674 ops/s for the first 19.0 s, then 49.0 ops/s under {CAP}. By then it had used 40,000 requests."


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> EnduranceRecord:
    folder = endured(tmp_path_factory.mktemp("results"))
    return with_figures(folder, endurance.load(folder))


def judged(record: EnduranceRecord, *verdicts: Verdict) -> EnduranceRecord:
    return record.model_copy(update={"verdicts": verdicts})


def fails(name: str, why: str, **figures: float | str | None) -> Verdict:
    return Verdict(name=name, verdict=Holds.FAILS, why=why, figures=figures)


def answer(record: EnduranceRecord) -> str:
    return endurance_screen(record, None).answer[0]


def test_a_burst_is_said_with_its_cap_and_how_that_is_known(record: EnduranceRecord) -> None:
    assert answer(judged(record, fails("level_sustained", WHY, **BURST))) == (
        "It does not last: 674 operations/s for 19 s, then 49/s until the end, a cap of 3,000 IOPS or 23.4 MB/s on "
        "reads (a limit that was read). By then it had used 40,000 requests."
    )


@pytest.mark.parametrize(("probe", "tells"), [(False, "slob endure --probe on tells"), (True, "nothing that was")])
def test_what_may_be_a_cap_or_latency_is_said_to_be_either(record: EnduranceRecord, probe: bool, tells: str) -> None:
    figures = {**BURST, "cap_known": "either", "each_ms_before": 0.2, "each_ms_under": 0.6, "lifted_at_s": 40.0}
    either = "A cap of 3,000 IOPS on reads, or reads that took longer (0.6 ms each instead of 0.2 ms)"
    why = f"Not one level: 674 ops/s for the first 19.0 s, then 49.0 ops/s, until 40.0 s. {either}: nothing that was "
    why += "measured tells which. The rate is even"
    said = answer(judged(record, fails("level_sustained", why, **figures)).model_copy(update={"probe": probe}))
    assert f"49/s until 40 s: a{either[1:]}; {tells}" in said
    assert "The rate" not in said


def test_slow_stretches_are_told_by_what_they_cost_unless_that_is_next_to_nothing(record: EnduranceRecord) -> None:
    done = (record.value("ops_per_s") or 0.0) * record.measured_s
    shares = [("lock", 0.01), ("lock", 0.02), ("checkpoint", 0.05), ("vacuum", 0.0005), ("vacuum", 0.0002)]
    rows = [{"cause": cause, "lost_ops": share * done} for cause, share in shares]
    with_rows = record.model_copy(update={"tables": {**record.tables, "episodes": rows}})
    said = endurance_screen(with_rows, None).answer[1]
    assert said.startswith("Slow stretches: checkpoint (1, ")
    assert "; lock (2, " in said
    assert "vacuum" not in said
    with_few = record.model_copy(update={"tables": {**record.tables, "episodes": rows[3:]}})
    assert len(endurance_screen(with_few, None).answer) == 1


def test_a_cap_is_named_without_how_often_it_held(record: EnduranceRecord) -> None:
    why = (
        f"Burst: 674 ops/s for the first 19.0 s, then 49.0 ops/s under {CAP}, 3 times, for 20.0 s in all, until 40.0 s"
    )
    said = answer(judged(record, fails("level_sustained", why, **{**BURST, "held_times": 3, "lifted_at_s": 40.0})))
    assert said == (
        f"It does not last: 674 operations/s for 19 s, then 49/s until 40 s, 3 times, {CAP} (a limit that was read)."
    )


def test_a_level_that_fell_otherwise_is_said_as_the_verdict_has_it(record: EnduranceRecord) -> None:
    slow = fails("level_sustained", "The throughput fell slowly, by 30 % from 10 s to 50 s.")
    assert answer(judged(record, slow)).startswith("It does not last: the throughput fell slowly, by 30 %")
    cliff = fails(
        "level_lasted", "Write cliff at 3 min: from 900 to 300 operations/s (-67 %), and it did not come back."
    )
    assert answer(judged(record, cliff)).startswith("It does not last: write cliff at 3 min: from 900 to 300")


def test_a_level_that_lasted_and_one_that_was_too_short_to_tell(record: EnduranceRecord) -> None:
    kept = Verdict(name="level_lasted", verdict=Holds.HOLDS, why="It did.")
    assert answer(judged(record, kept)).startswith("It lasts: 400 operations/s, p99 15.4 ms (400/s at first")
    assert "too short to tell" in answer(record)
    assert "It lasts" not in answer(record)


def test_the_course_is_drawn_in_a_line_with_the_gap_and_iops_beside_operations(tmp_path: Path) -> None:
    folder = endured(tmp_path)
    lines = render_screen(endurance_document(with_figures(folder, endurance.load(folder)), folder), 80).splitlines()
    (operations,) = (line for line in lines if line.startswith("  operations/s  █"))
    (reads,) = (line for line in lines if line.startswith("  reads/s       █"))
    assert operations.strip("█ ").endswith("400")
    # The gap is 60 of 130 s.
    assert "█" + 15 * " " in operations
    assert reads.endswith("4,800")


def test_what_fails_in_a_segment_is_one_of_the_checks(record: EnduranceRecord) -> None:
    rows = [{"segment": number, "name": "counts_agree", "why": "Counts differ."} for number in (1, 2)]
    made = record.model_copy(update={"tables": {**record.tables, "segment_verdicts": rows}})
    text = render_screen(endurance_document(made), 80)
    assert text.count("INVALID  Segment 1: Counts differ.") == 1


def test_tables_that_updates_made_grow_make_no_endurance_run_invalid(record: EnduranceRecord) -> None:
    rows = [{"segment": 1, "name": "data_in_place", "why": "The test tables grew by 3.7 %."}]
    grown = record.model_copy(update={"tables": {**record.tables, "segment_verdicts": rows}})
    assert "grew" not in render_screen(endurance_document(grown), 80)
    reading = grown.model_copy(update={"workload": {**grown.workload, "update_pct": 0}})
    assert "INVALID  Segment 1: The test tables grew" in render_screen(endurance_document(reading), 80)


def test_how_grave_a_segment_s_check_is_follows_from_the_figures_of_its_run(tmp_path: Path) -> None:
    folder = endured(tmp_path)
    made = with_figures(folder, endurance.load(folder))
    run = folder / (made.segments[0].run or "")
    kept = store.load(run)
    slight = fails("driver_quiet", "The driver used 2.80 %.", driver_cpu_pct_of_db=2.8, server_cpu_per_s=1.0)
    (run / "run.json").write_text(kept.model_copy(update={"verdicts": (slight,)}).model_dump_json())
    rows = [{"segment": 1, "name": "driver_quiet", "why": slight.why}]
    made = made.model_copy(update={"tables": {**made.tables, "segment_verdicts": rows}, "verdicts": ()})
    with_run, without = (render_screen(endurance_document(made, each), 80) for each in (folder, None))
    assert "caution  Segment 1: The driver used 2.80 %" in without
    assert "caution  Segment 1: The driver" not in with_run
