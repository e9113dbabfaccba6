"""What a run's record says besides figures: it is there from the first moment and grows with the run."""

from types import SimpleNamespace

from factories.measurements import measurement
from openslob.analyze.measure import totals_in
from openslob.core.workload import Workload
from openslob.engines.facts import ServerFacts
from openslob.kinds.run.record_builder import RecordBuilder
from openslob.record.model import Status
from openslob.record.raw_csv import event_rows
from openslob.record.store import RunFolder

FACTS = ServerFacts("Any", "1.2", 8192, 2**20, 100, {"a setting": "on"}, direct_io=True)
ENGINE = SimpleNamespace(name="any", target="any://host/data")


def builder(**given):
    workload = Workload(schemas=2, scale="64", seed=7)
    return RecordBuilder(ENGINE, FACTS, workload.to_record(), **{"name": "run", "data_bytes": 2**20, **given})


def test_values_are_told_with_where_they_came_from():
    record = builder(sources={"seed": "flag", "scale": "slob.conf:3"}).without_figures(Status.FAILED)
    assert (record.spec["seed"], record.spec["scale"]) == (7, "64")
    assert record.sources == {"seed": "flag", "scale": "slob.conf:3"}


def test_every_record_is_of_the_same_run_and_has_what_was_noted_until_then():
    run = builder(name="a run", notes=["from the start"])
    first = run.without_figures(Status.FAILED)
    run.notes.append("later")
    run.engine["settled"] = ["a checkpoint"]
    run.environment["local"] = True
    last = run.without_figures(Status.INTERRUPTED, ("stopped",))
    assert (first.id, first.started_at) == (last.id, last.started_at)
    assert first.id.endswith("-a-run")
    assert (first.notes, last.notes) == (("from the start",), ("from the start", "later"))
    assert (last.status, last.errors) == (Status.INTERRUPTED, ("stopped",))
    assert last.engine["data_bytes"] == 2**20
    assert (last.engine["settled"], last.environment) == (["a checkpoint"], {"local": True})


def test_what_was_measured_ends_complete_stopped_or_failed_with_the_same_words(tmp_path):
    run = builder(sources={"seed": "flag"})
    for made, status in (
        (measurement(), Status.COMPLETE),
        (measurement(interrupted=True), Status.INTERRUPTED),
        (measurement(interrupted=True, errors=["a session was lost"]), Status.FAILED),
    ):
        with RunFolder.begin(tmp_path, run.without_figures(Status.FAILED)) as folder:
            record = run.with_figures(made, folder)
        assert (record.status, record.sources) == (status, {"seed": "flag"})
        assert record.summary


def test_counters_that_intervals_do_not_add_up_to_are_in_the_raw_files_too(tmp_path):
    run, made = builder(), measurement()
    begin, counted = made.window.load_start_ns, made.engine.amounts()
    assert counted["read_requests"]
    assert counted["read_time_us"]
    with RunFolder.begin(tmp_path, run.without_figures(Status.FAILED)) as folder:
        # The time of reads is that of the test's sessions, until one of them is gone.
        halves = {name: value / 2 for name, value in counted.items() if value is not None}
        for number, factor in enumerate((1.0, 0.9)):
            values = {**halves, "read_time_us": halves["read_time_us"] * factor}
            folder.raw.engine(begin + number * 10**9, begin + (number + 1) * 10**9, values)
        run.with_figures(made, folder)
    assert totals_in(event_rows(folder.path)) == {
        "engine.read_time_us": counted["read_time_us"],
        # No reading of the host is in them.
        "host.driver_cpu_s": made.host.driver_cpu_s,
    }
