"""What a run's record says besides figures: it is there from the first moment and grows with the run."""

from types import SimpleNamespace

from factories.measurements import measurement
from openslob.analyze.measure import totals_in
from openslob.core.counts import SliceCounts
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.facts import ServerFacts
from openslob.kinds.run.record_builder import RecordBuilder
from openslob.record.model import Status
from openslob.record.raw_csv import Event, event_rows

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
        with run.begin(tmp_path):
            run.measure()
            record = run.with_figures(made)
        assert (record.status, record.sources) == (status, {"seed": "flag"})
        assert record.summary


def write_halves(raw, made):
    """Write the counters of a measurement as two intervals."""
    begin, counted = made.window.load_start_ns, made.engine.amounts()
    raw.event(Event.BEGIN_NS, str(begin))
    halves = {name: value / 2 for name, value in counted.items() if value is not None}
    # The time of reads is that of the test's sessions, until one of them is gone.
    for number, factor in enumerate((1.0, 0.9)):
        values = {**halves, "read_time_us": halves["read_time_us"] * factor}
        raw.engine(begin + number * 10**9, begin + (number + 1) * 10**9, values)


def test_counters_that_intervals_do_not_add_up_to_are_in_the_raw_files_too(tmp_path):
    run, made = builder(), measurement(latency={}, waits={}, wait_samples=0)
    with run.begin(tmp_path) as folder:
        write_halves(folder.raw, made)
        run.measure({"latency.select.max_us": 7.5})
        run.with_figures(made)
    assert totals_in(event_rows(folder.path)) == {
        "engine.read_time_us": made.engine.read_time_us,
        # No reading of the host is in them.
        "host.driver_cpu_s": made.host.driver_cpu_s,
        "latency.select.max_us": 7.5,
    }


def test_what_was_written_is_measured_also_when_it_could_not_be_written(tmp_path):
    run, made = builder(), measurement()
    with run.begin(tmp_path) as folder:
        folder.raw.error = SlobError("the disk is full")
        write_halves(folder.raw, made)
        measured = run.measure()
        record = run.with_figures(made)
    assert measured.engine.read_requests == made.engine.read_requests
    assert measured.window.counter_seconds == 2
    assert (folder.path / "engine.csv").read_text().count("\n") == 1
    assert record.notes == ()


def test_rows_whose_times_can_not_be_are_left_out_and_noted(tmp_path):
    """A server's clock may be set while a run goes on. What its sessions did is known all the same."""
    run, made = builder(), measurement()
    with run.begin(tmp_path) as folder:
        folder.raw.event(Event.BEGIN_NS, "0")
        far = made.window.load_start_ns
        counts = SliceCounts(ops=3, selects=3)
        folder.raw.slice(0, 0, start_ns=far, end_ns=far + 9, first_op_ns=far, counts=counts, latency={})
        folder.raw.finish()
        measured = run.measure()
        record = run.with_figures(made)
    assert measured.counts == counts
    assert record.notes[0].startswith("the course of the load is unknown: slices.csv can't be read: a time is")
    assert record.episodes is None
