"""Classes of sessions in a measurement: whose operations, mix, rate and times are whose, and what the record says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from factories import measurements as made
from factories.records import physical
from factories.slices import COLUMNS_OF_SLICES, lines, tables_of_slices
from factories.tables import table
from openslob.analyze.compare import compare, is_figure
from openslob.analyze.curves.points import Run, mismatches, step_word
from openslob.analyze.curves.series import point_set
from openslob.analyze.load_kinds import is_paced, load_kind, mix_in_words
from openslob.analyze.measure import measure
from openslob.analyze.operation_order import OperationOrder
from openslob.analyze.run_tables import RunTables
from openslob.analyze.verdicts import judge
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.measurement import ClassTimes, Measurement
from openslob.core.method import OpKind, kind_of, phases_of
from openslob.core.workload import Workload, updates_asked
from openslob.export.tidy import class_rows
from openslob.kinds.runs import run_of
from openslob.metrics.run_metrics import figure_of
from openslob.record.cells import Cells
from openslob.record.model import Holds, RunRecord, Verdict
from openslob.record.raw_csv import COLUMNS
from openslob.record.varied import in_words
from openslob.report.charts.over_sessions import class_rates, session_rows
from openslob.report.charts.petals import petals
from openslob.report.comparison import comparison_document, figure_label
from openslob.report.headline import headline
from openslob.report.record_view import FigureNames
from openslob.report.set_summary import axis_text
from openslob.report.terminal import render_text
from openslob.report.text import render

OPS = made.OPS_PER_SESSION
UPDATES = made.UPDATES_PER_SESSION
ROWS = made.WORK_UNIT
READER = {"selects": OPS, "updates": 0, "rows_read": OPS * ROWS, "rows_updated": 0}
TEXT = f"readers:sessions=4,update_pct=0,work_unit={ROWS};writers:sessions=4,update_pct=10,target_ops=1000"
STALL_US = 30e6


def measured(**overrides: Any) -> Measurement:
    """Four sessions that read as fast as they can, and four with 10 % updates and a rate of 1,000 operations/s."""
    sessions = [made.session(number, **(READER if number < 4 else {})) for number in range(8)]
    selects, updates = made.histogram(4 * (OPS - UPDATES), 3000.0), made.histogram(4 * UPDATES, 9000.0)
    plain: Mapping[str, Any] = {
        "workload": made.workload(classes=TEXT),
        "sessions": sessions,
        "classes": {
            "readers": ClassTimes({OpKind.SELECT: made.histogram(4 * OPS, 2000.0)}),
            "writers": ClassTimes(
                {OpKind.SELECT: selects, OpKind.UPDATE: updates},
                {OpKind.SELECT: made.histogram(4 * (OPS - UPDATES), 3500.0)},
            ),
        },
        "schedule": made.schedule(wanted_per_s=1000.0),
    }
    return made.measurement(**{**plain, **overrides})


def verdict(name: str, measurement: Measurement) -> Verdict:
    return next(each for each in judge(measurement) if each.name == name)


def test_a_row_of_the_record_has_what_the_sessions_of_a_class_did():
    record = made.record(measured())
    readers, writers = record.classes
    assert (readers.name, readers.sessions, readers.ops, readers.rows_read) == ("readers", 4, 4 * OPS, 4 * OPS * ROWS)
    assert (writers.updates, writers.rows_updated) == (4 * UPDATES, 4 * UPDATES * ROWS)
    assert (readers.ops_per_s, readers.target_ops_per_s) == (4 * OPS / made.SECONDS, None)
    assert (writers.ops_per_s, writers.target_ops_per_s) == (4 * OPS / made.SECONDS, 1000)
    assert readers.ops_per_s + writers.ops_per_s == record.value("ops_per_s")
    assert (readers.latency["select"]["mean_us"], readers.response) == (2000, {})
    assert writers.response["select"]["mean_us"] == 3500
    assert list(record.find_lacks()) == []


def test_a_record_without_the_figures_of_its_classes_is_not_whole():
    record = made.record(measured())
    assert any("classes" in lack for lack in record.model_copy(update={"classes": ()}).find_lacks())
    plain = made.record(made.measurement())
    assert plain.classes == ()
    assert any("classes" in lack for lack in plain.model_copy(update={"classes": record.classes}).find_lacks())


def test_a_figure_of_a_class_is_one_of_its_run():
    record = made.record(measured())
    row = record.classes[0]
    assert figure_of(record, "readers/ops_per_s") == row.ops_per_s
    assert figure_of(record, "readers/select_p99_us") == row.latency["select"]["p99_us"]
    assert figure_of(record, "nobody/ops_per_s") is figure_of(record, "nobody/select_p99_us") is None


def test_where_no_rate_is_published_a_class_has_none():
    apart = made.record(measured(window=made.window(counter_seconds=40.0)))
    assert apart.value("ops_per_s") is None
    assert [each.ops_per_s for each in apart.classes] == [None, None]


def test_the_mix_of_each_session_is_that_of_its_class():
    found = verdict("exact_mix", measured())
    assert found.verdict is Holds.HOLDS
    assert "readers: 0 of 60,000 operations updated, 0.00 % where 0 % was requested; writers: 6,000 of" in found.why
    assert (found.figures["readers_worst_session_ops"], found.figures["writers_worst_session_ops"]) == (0, 0)
    # A reader that updates as a writer does is off its own share, not theirs.
    sessions = [made.session(number) if number == 2 else each for number, each in enumerate(measured().sessions)]
    found = verdict("exact_mix", measured(sessions=sessions))
    assert (found.verdict, found.figures["readers_worst_session_ops"]) == (Holds.FAILS, UPDATES)
    assert made.record(measured(sessions=sessions)).classes[0].off_ops == UPDATES


@table(("not_begun", "expected"), [(600, Holds.HOLDS), (700, Holds.FAILS)])
def test_a_rate_is_reached_by_the_sessions_that_have_it(not_begun, expected):
    """60,000 operations of writers began: with those of readers, twice as many could be left."""
    schedule = made.schedule(wanted_per_s=1000.0, not_begun=float(not_begun), oldest_s=1.0)
    found = verdict("rate_reached", measured(schedule=schedule))
    assert (found.verdict, found.figures["achieved_ops_per_s"]) == (expected, 1000)


def test_no_rate_limits_a_run_with_a_class_that_has_none():
    assert verdict("limit_found", measured()).figures["limit"] != "given rate"
    both = made.workload(classes=TEXT.replace("update_pct=0", "target_ops=1000"))
    assert verdict("limit_found", measured(workload=both)).figures["limit"] == "given rate"


def test_a_stall_of_a_class_without_a_rate_is_in_its_service_times():
    stalled = made.histogram(4 * OPS, 2000.0)
    stalled.merge(Histogram({bucket_of(STALL_US): 3}, 3 * STALL_US, STALL_US))
    times = {**measured().classes, "readers": ClassTimes({OpKind.SELECT: stalled})}
    assert verdict("no_stalls", measured()).verdict is Holds.HOLDS
    assert verdict("no_stalls", measured(classes=times)).figures["stalled_ops"] == 3


def test_the_rows_that_data_must_have_are_those_of_each_class():
    found = verdict("data_in_place", measured())
    other = made.workload(classes=TEXT.replace(f"work_unit={ROWS}", f"work_unit={2 * ROWS}"))
    wanted = float(found.figures["rows_wanted"] or 0)
    assert wanted == 8 * OPS * ROWS
    assert verdict("data_in_place", measured(workload=other)).figures["rows_wanted"] == wanted + 4 * OPS * ROWS


def test_only_sessions_that_update_can_share_a_sync_of_the_log():
    """6,000 commits in 1,000 syncs are six a sync: eight sessions could wait for one, the four that update can't."""
    engine = made.engine(log_syncs=1000.0)
    found = verdict("commits_waited", measured(engine=engine))
    assert (found.verdict, found.figures["sessions"]) == (Holds.FAILS, 4)
    every = made.workload(classes=TEXT.replace("update_pct=0", "update_pct=10"))
    assert verdict("commits_waited", measured(engine=engine, workload=every)).verdict is Holds.HOLDS


# --- raw files


def latencies(tables: RunTables, file: str, *rows: str) -> None:
    tables.take(file, COLUMNS[file], Cells("".join(f"{row}\n" for row in rows).encode(), 4))


def test_latencies_of_classes_are_read_apart_and_together():
    tables = RunTables(0)
    latencies(tables, "latency.csv", "0,readers/select,100,5", "0,writers/select,100,2", "1,writers/update,64,3")
    latencies(tables, "response.csv", "0,writers/select,128,2")
    assert {kind: each.totals().sum() for kind, each in tables.latency.items()} == {"select": 7, "update": 3}
    assert {kind: each.totals().sum() for kind, each in tables.class_latency.items()} == {
        "readers/select": 5, "writers/select": 2, "writers/update": 3,
    }  # fmt: skip
    assert {kind: each.totals().sum() for kind, each in tables.class_response.items()} == {"writers/select": 2}
    with pytest.raises(ValueError, match="readers/nap"):
        latencies(tables, "latency.csv", "0,readers/nap,100,5")


def test_the_times_of_a_class_have_totals_of_their_own():
    classes = "readers:sessions=1;writers:sessions=1,update_pct=100,target_ops=5"
    spec = Workload(scale="100", classes=classes).to_record()
    record = physical().model_copy(update={"spec": spec, "window": None, "waits": (), "latency": {}})
    begun, late = {"session": 0, "start_ns": 1_000, "end_ns": 9_000, "first_op_ns": 2_000, "ops": 5}, 3_000
    tables = tables_of_slices(0, [begun, {**begun, "session": 1, "start_ns": late, "first_op_ns": 8_000}])
    latencies(tables, "latency.csv", "0,readers/select,100,5", "0,writers/update,64,5")
    totals = {"latency.readers/select.sum_us": 505.0, "latency.readers/select.max_us": 100.5}
    found = measure(record, tables, totals)
    assert isinstance(found, Measurement)
    of_readers = found.classes["readers"].latency[OpKind.SELECT]
    assert (of_readers.count, of_readers.sum_us, of_readers.max_us) == (5, 505.0, 100.5)
    assert found.classes["writers"].latency[OpKind.UPDATE].count == 5
    # A session with a rate may wait for its first operation; the begin of the other's is that of its first.
    assert (found.window.load_start_ns, found.window.start_skew_ms) == (2_000, 1e-3)


def of_method(shares: Mapping[int, int]) -> list[dict[str, Any]]:
    """Slices of sessions whose operations are those of the method for these shares of updates."""
    rows = []
    for session, percent in shares.items():
        phases = phases_of(1, session, 0, 0, 0)
        kinds = [kind_of(number, percent, 0, phases) for number in range(130)]
        counts = {"updates": kinds.count(OpKind.UPDATE), "selects": kinds.count(OpKind.SELECT)}
        rows.append({"session": session, "ops": len(kinds), **counts})
    return rows


def test_the_order_of_a_session_is_that_of_its_class():
    spec = Workload(seed=1, scale="100", classes="a:sessions=2,update_pct=30;b:sessions=1,update_pct=70").to_record()
    window = physical().window
    assert window is not None
    cold = window.model_copy(update={"warmup_s": 0.0})
    record = physical().model_copy(update={"spec": spec, "window": cold})

    def faults(shares: Mapping[int, int]) -> list[str]:
        order = OperationOrder(record)
        order.take(COLUMNS_OF_SLICES, lines(of_method(shares)))
        return order.faults()

    assert faults({0: 30, 1: 30, 2: 70}) == []
    assert faults({0: 30, 1: 70, 2: 70}) == ["session 1 did not update when its seed says"]


# --- words


def test_words_name_the_classes_and_their_shares():
    record = made.record(measured())
    text = "8 sessions: 4 readers with 0 % updates, 4 writers with 10 % updates"
    assert load_kind(record).in_words(record) == text
    assert (is_paced(record), updates_asked(record.spec)) == (True, [0, 10])
    shown = render(record)
    assert text in shown
    assert "CLASSES OF SESSIONS, over the window" in shown
    plain = made.record(made.measurement())
    assert mix_in_words(plain.spec) == ", 10 % updates"
    assert (is_paced(plain), updates_asked(plain.spec)) == (False, 10)
    assert "CLASSES OF SESSIONS" not in render(plain)


def test_words_have_scans_and_the_law_of_keys_of_each_class():
    classes = "a:sessions=1,update_pct=0,scan_pct=5;b:sessions=2,update_pct=7,access=uniform"
    spec = Workload(scale="100", access="zipf:0.5", classes=classes).to_record()
    assert mix_in_words(spec) == ": 1 a with 0 % updates and 5 % scans and zipf:0.5, 2 b with 7 % updates"
    plain = {**spec, "classes": None, "update_pct": 3, "scan_pct": 2}
    assert mix_in_words(plain) == ", 3 % updates, 2 % scans, zipf:0.5"


def test_the_rate_that_is_said_is_that_of_the_classes_that_have_one():
    schedule = made.schedule(wanted_per_s=1000.0, not_begun=30_000.0, oldest_s=1.0)
    assert "1,000 ops/s of writers requested, only 1,000 reached" in headline(made.record(measured(schedule=schedule)))


def test_a_table_has_a_row_for_each_class(tmp_path):
    record = made.record(measured()).model_copy(update={"window": None})
    readers, writers = class_rows([run_of(tmp_path, record)])
    assert (readers["run"], readers["name"], readers["ops"], readers["select_mean_us"]) == (
        "made-up", "readers", 4 * OPS, 2000,
    )  # fmt: skip
    assert (writers["update_mean_us"], writers["select_response_mean_us"]) == (9000, 3500)
    assert readers["update_mean_us"] is None
    assert readers.keys() == writers.keys()


def test_a_run_without_classes_has_no_row_of_one(tmp_path):
    plain = made.record(made.measurement()).model_copy(update={"window": None})
    assert class_rows([run_of(tmp_path, plain)]) == []


def test_two_runs_are_compared_by_class():
    """Of B, readers do a tenth more, and what writers do takes twice as long."""
    selects, updates = made.histogram(4 * (OPS - UPDATES), 6000.0), made.histogram(4 * UPDATES, 18_000.0)
    slow = {OpKind.SELECT: selects, OpKind.UPDATE: updates}
    more = [made.session(n, **{**READER, "ops": OPS + OPS // 10, "selects": OPS + OPS // 10}) for n in range(4)]
    other = measured(
        sessions=[*more, *measured().sessions[4:]], classes={**measured().classes, "writers": ClassTimes(slow)}
    )
    sides = (("a", measured()), ("b", other))
    a, b = (Run.of(made.record(each).model_copy(update={"id": name})) for name, each in sides)
    found = compare([a], [b])
    rate, p99 = (found.answer(name) for name in ("readers/ops_per_s", "writers/update_p99_us"))
    assert rate is not None
    assert p99 is not None
    assert (rate.unit, round(rate.pct or 0, 6)) == ("1/s", 10)
    assert (p99.unit, p99.pct) == ("µs", pytest.approx(100, abs=4))
    assert found.answer("others/ops_per_s") is None
    labels = [figure_label(name, physical=False) for name in ("readers/ops_per_s", "writers/update_p99_us")]
    assert labels == ["readers: operations", "writers: update p99"]
    shown = render_text(comparison_document(found), None)
    assert all(text in shown for text in labels)


@table(
    ("name", "is_one"),
    [
        ("readers/ops_per_s", True), ("readers/select_p99_us", True), ("readers/select_response_p50_us", True),
        ("readers/lio_per_s", False), ("readers/p99", False), ("ops_per_s", True), ("ops", False),
    ],
)  # fmt: skip
def test_a_class_has_a_rate_and_latencies_to_compare(name, is_one):
    assert is_figure(name) is is_one


def test_a_series_runs_along_the_first_class_whose_number_varies_with_a_line_for_each_number_of_another():
    def run(readers: int, writers: int) -> Run:
        text = f"readers:sessions={readers};writers:sessions={writers},update_pct=100"
        record = made.record(made.measurement())
        spec = Workload(**{**record.spec, "sessions": None, "classes": text}).to_record()
        name = f"{readers}-{writers}"
        return Run.of(record.model_copy(update={"id": name, "spec": spec}), {"classes": text})

    points = point_set([run(readers, writers) for readers in (0, 4, 8) for writers in (0, 2) if readers + writers])
    assert points.along == "readers.sessions"
    found = {line.label: [(point.step, point.at) for point in line.points] for line in points.series}
    assert found == {
        "0 writers": [(4, "4 readers"), (8, "8 readers")],
        "2 writers": [(0, "0 readers"), (4, "4 readers"), (8, "8 readers")],
    }
    assert (step_word(points.along), axis_text(points)) == ("readers", "sessions of readers")
    assert in_words("classes", "readers:sessions=4;writers:sessions=2,update_pct=100") == "4 readers, 2 writers"


def test_a_run_without_a_kind_of_operation_has_other_plans_under_the_same_conditions():
    def run(name: str, **plans: str) -> Run:
        record = made.record(made.measurement())
        return Run.of(record.model_copy(update={"id": name, "engine": {**record.engine, "plans": plans}}))

    both = run("a", select="by index", update="by index")
    assert mismatches([both, run("b", update="by index")]) == ()
    assert [each.name for each in mismatches([both, run("b", update="by scan")])] == ["engine.plans.update"]


def test_a_picture_has_the_rate_of_each_class_over_the_number_of_sessions_of_the_first():
    def run(readers: int) -> Run:
        record = made.record(measured())
        text = f"readers:sessions={readers};writers:sessions=4,update_pct=10"
        spec = Workload(**{**record.spec, "sessions": None, "classes": text}).to_record()
        rows = record.classes if readers else record.classes[1:]
        return Run.of(record.model_copy(update={"id": f"{readers}", "spec": spec, "classes": rows}), {"classes": text})

    points = point_set([run(readers) for readers in (0, 4, 8)])
    assert [row["sessions"] for row in session_rows(points, "writers/ops_per_s")] == [0, 4, 8]
    assert [row["sessions"] for row in session_rows(points, "readers/ops_per_s")] == [4, 8]
    picture = class_rates(points)
    assert (len(picture.panels), "sessions of readers" in picture.title) == (2, True)
    # No readers are as well known a number as any other.
    assert "observations" not in str(petals(points, "ops_per_s", FigureNames()).notes)
    assert picture.table.rows[0][1:] == ("0", "–", f"{4 * OPS / made.SECONDS:,.0f}")


def test_a_set_without_classes_has_no_picture_of_them():
    plain = made.record(made.measurement())
    assert class_rates(point_set([Run.of(plain)])).panels == ()


def test_a_record_is_read_as_it_was_written():
    record = made.record(measured())
    assert RunRecord.model_validate_json(record.model_dump_json()) == record
