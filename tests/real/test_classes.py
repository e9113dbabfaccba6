"""Classes of sessions: each does its own work, and the server counted exactly the rows that each says."""

import pytest

from factories.running import FULL_SPEED, judged, load, measured, rows_of, slob, total, verdicts_of
from openslob.metrics.quantity import WINDOW_TOLERANCE_PCT
from openslob.record import store
from openslob.record.model import Holds

pytestmark = pytest.mark.server

PER_S = 100
CLASSES = {
    "readers": {"sessions": 4, "update_pct": 0, "work_unit": 8},
    "writers": {"sessions": 2, "update_pct": 100, "work_unit": 4, "redo_stress": "HEAVY", "target_ops": PER_S},
}
# The columns of slices.csv that a row of a class has sums of.
COUNTED = ("ops", "selects", "updates", "scans", "rows_read", "rows_updated", "rows_scanned", "conflicts")


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def run(request, make_server, tmp_path_factory):
    """Four sessions that read beside two that update, on the same schemas, after a run of other work on them."""
    engine = load(make_server(name=f"classes-{request.param}", engine=request.param))
    measured(engine, tmp_path_factory.mktemp("before"), sessions=2, update_pct=50, run_time=1)
    return measured(engine, tmp_path_factory.mktemp("results"), classes=CLASSES, **FULL_SPEED)


def test_each_class_did_its_own_work_and_together_they_did_all(run):
    readers, writers = run.record.classes
    assert [(each.name, each.sessions) for each in (readers, writers)] == [("readers", 4), ("writers", 2)]
    assert readers.ops == readers.selects > 0
    assert writers.ops == writers.updates > 0
    assert (readers.rows_read, writers.rows_updated) == (8 * readers.ops, 4 * writers.ops)
    for name in ("ops", "selects", "updates", "scans"):
        assert run.record.value(f"{name}_total") == getattr(readers, name) + getattr(writers, name)
    assert readers.ops_per_s is None or readers.ops_per_s == pytest.approx(
        readers.ops / run.record.window.load_seconds, rel=WINDOW_TOLERANCE_PCT / 100
    )


def test_sums_are_those_of_the_slices_of_its_sessions(run):
    slices = rows_of(run.folder, "slices.csv")
    readers, writers = run.record.classes
    for row, numbers in ((readers, range(4)), (writers, range(4, 6))):
        own = [each for each in slices if int(each["session"]) in numbers]
        assert {name: total(own, name) for name in COUNTED} == {name: getattr(row, name) for name in COUNTED}


def test_the_server_counted_the_rows_that_each_class_says(run):
    """Only readers read without updating, and only writers update, so the server's two counts are those of classes."""
    readers, writers = run.record.classes
    if judged(run.record, "counts_agree"):
        counted = verdicts_of(run.record)["counts_agree"].figures
        assert counted["engine_rows_updated"] == writers.rows_updated
        assert counted["engine_rows_read"] - counted["engine_rows_updated"] == readers.rows_read


def test_latencies_are_of_the_operations_of_a_class_and_only_a_rate_has_response_times(run):
    readers, writers = run.record.classes
    assert {kind: each["count"] for kind, each in readers.latency.items()} == {"select": readers.ops}
    assert {kind: each["count"] for kind, each in writers.latency.items()} == {"update": writers.ops}
    assert (readers.response, writers.response["update"]["count"]) == ({}, writers.ops)
    names = {row["kind"] for row in rows_of(run.folder, "latency.csv")}
    assert names == {"readers/select", "writers/update"}
    # Those of all are the sum: of each kind only one class has any here.
    for kind, row in (("select", readers), ("update", writers)):
        whole = {name: value for name, value in run.record.latency[kind].items() if name != "slowest"}
        assert whole == row.latency[kind]


def test_the_mix_is_exact_in_each_class_and_the_rate_is_that_of_the_class_that_has_one(run):
    found = verdicts_of(run.record)
    assert found["exact_mix"].verdict is Holds.HOLDS
    assert (found["exact_mix"].figures["readers_worst_session_ops"], run.record.classes[1].off_ops) == (0, 0)
    assert "readers: 0 of " in found["exact_mix"].why
    assert "100.00 % where 100 % was requested" in found["exact_mix"].why
    rate, writers = found["rate_reached"].figures, run.record.classes[1]
    assert (rate["target_ops_per_s"], writers.target_ops_per_s) == (PER_S, PER_S)
    assert rate["achieved_ops_per_s"] == pytest.approx(writers.ops / run.record.window.load_seconds)
    # Readers work as fast as they can: no rate limits the run.
    assert found["limit_found"].figures.get("limit") != "given rate"


def test_a_record_with_classes_can_be_verified_shown_and_exported(run):
    done = slob("verify", run.folder, "--json")
    assert done.returncode == 0, done.stdout
    shown = slob("show", run.folder, "--all")
    assert "CLASSES OF SESSIONS" in shown.stdout
    rows = slob("export", run.folder, "--per", "class").stdout.splitlines()
    assert [row.split(",")[2:4] for row in rows] == [["name", "sessions"], ["readers", "4"], ["writers", "2"]]


def test_a_record_whose_classes_are_forged_is_not_what_its_files_say(run, tmp_path_factory):
    forged = run.record.model_copy(
        update={"classes": (run.record.classes[0].model_copy(update={"ops": 1}), run.record.classes[1])}
    )
    folder = tmp_path_factory.mktemp("forged") / run.folder.name
    folder.mkdir()
    for path in run.folder.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / "run.json").write_text(forged.model_dump_json())
    done = slob("verify", folder)
    assert done.returncode != 0
    assert "classes.readers.ops" in done.stdout


def test_the_record_on_disk_has_the_classes(run):
    assert store.load(run.folder).classes == run.record.classes
