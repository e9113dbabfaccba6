"""What was done in each stage of a rate that changes, and how long a load took to recover."""

import numpy as np
import pytest

from factories import measurements as made
from factories.tables import table
from openslob.analyze.build_record import build_record
from openslob.analyze.rate_stages import find_recovery, stages_of
from openslob.analyze.run_tables import RunTables
from openslob.analyze.trace import Trace
from openslob.core.counts import COUNTERS
from openslob.core.errors import UsageError
from openslob.core.histogram import bucket_of, lower_edge_us
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.kinds.endurance.execute import new_record
from openslob.record.cells import Cells
from openslob.record.model import Status
from openslob.record.raw_csv import COLUMNS

MS = 1000.0
SERVICE = [1 * MS] * 20


def recovery(response_ms, service=SERVICE, step_s=1):
    return find_recovery(np.array(response_ms) * MS, np.array(service[: len(response_ms)]), step_s)


@table(
    ("response_ms", "expected"),
    [
        ([1] * 20, 0),
        ([900, 500, 100, *[1] * 17], 3),
        # Up to 2 ms above the level, or twice as much, are the level.
        ([900, 3, 3, 3, *[1] * 16], 1),
        ([900, 3.1, *[1] * 18], 2),
        ([90, 19, 19, 19, *[9.6] * 16], 1),
        # Two seconds in a row are none of three; what comes after three is another matter.
        ([90, 1, 1, 90, *[1] * 16], 4),
        ([90, 1, 1, 1, 90, 90, *[1] * 14], 1),
        ([np.nan, *[1] * 19], 1),
    ],
)
def test_a_load_has_recovered_when_its_response_time_stays_at_the_level(response_ms, expected):
    assert recovery(response_ms) == (expected, "")


@table(
    ("response_ms", "why"),
    [
        ([1] * 5, "less than 6 steps"),
        ([1] * 19 + [np.nan], "no operation ended"),
        # More is asked than can be done: each second's operations wait for longer.
        ([100 * (1 + second) for second in range(20)], "half of the operations were 1.8 s late"),
        # The backlog goes down until the end of the stage.
        ([2000 - 90 * second for second in range(20)], "were 0.469 s late"),
    ],
)
def test_a_load_that_did_not_recover_has_no_time(response_ms, why):
    found, said = recovery(response_ms)
    assert found is None
    assert why in said


def test_times_are_in_steps():
    assert recovery([900, 500, 100, *[1] * 17], step_s=5) == (15, "")


def tables_of(seconds):
    """The tables of a load of a session: operations, service and response time in ms of each second."""
    tables = RunTables(0)
    columns = COLUMNS["slices.csv"]
    for second, (ops, service_ms, response_ms) in enumerate(seconds):
        row = dict.fromkeys(columns, 0) | {"slice": second, "start_ns": second * NANOS, "end_ns": (second + 1) * NANOS}
        row |= {COUNTERS[0]: ops, "due_ns": ""}
        for file, cells in (
            ("slices.csv", row.values()),
            ("latency.csv", (second, "select", lower_edge_us(bucket_of(service_ms * MS)), ops)),
            ("response.csv", (second, "select", lower_edge_us(bucket_of(response_ms * MS)), ops)),
        ):
            line = ",".join(map(str, cells)).encode() + b"\n"
            tables.take(file, COLUMNS[file], Cells(line, len(COLUMNS[file])))
    return tables


def test_each_stage_has_what_was_done_in_its_seconds():
    """100 a second, then 300 of which 200 can be done, then 100 again while 1,000 are left, which takes 10 s."""
    quiet, late, draining = (
        [(100, 1, 1)] * 10,
        [(200, 1, 100 * n) for n in range(10)],
        [(200, 1, 1000 - 99 * n) for n in range(10)],
    )
    load = Workload(rate_schedule="0s:100,10s:300,20s:100", run_time=60)
    first, second, third = stages_of(load, tables_of([*quiet, *late, *draining, *quiet, *quiet]), 50.0)
    assert (first.begin_s, first.end_s, first.first_per_s, first.last_per_s) == (0, 10, 100, 100)
    assert [first.ops_per_s, second.ops_per_s, third.ops_per_s] == pytest.approx([100, 200, 4000 / 30])
    assert (first.recovery_s, first.why) == (None, "")
    assert second.recovery_s is None
    assert "it did not recover" in second.why
    assert (third.end_s, third.recovery_s, third.why) == (50, 10, "")
    assert first.response_p50_us == pytest.approx(1000, rel=0.01)
    assert second.response_p99_us == pytest.approx(900_000, rel=0.01)


def test_a_ramp_has_no_change_at_once_and_ends_where_the_load_does():
    load = Workload(rate_schedule="0s:100,10s:100-300,30s:300", run_time=60)
    ramp = stages_of(load, tables_of([(100, 1, 1)] * 20), 20.0)[-1]
    assert (ramp.begin_s, ramp.end_s, ramp.first_per_s, ramp.last_per_s) == (10, 20, 100, 200)
    assert (ramp.recovery_s, ramp.why) == (None, "")
    assert len(stages_of(load, tables_of([(100, 1, 1)] * 8), 8.0)) == 1
    assert stages_of(Workload(target_ops=100), tables_of([(100, 1, 1)] * 8), 8.0) == ()


def test_a_stage_in_which_nothing_ended_has_no_response_time():
    load = Workload(rate_schedule="0s:100,10s:300", run_time=60)
    stage = stages_of(load, tables_of([(100, 1, 1)] * 10), 20.0)[-1]
    assert (stage.ops_per_s, stage.response_p50_us, stage.recovery_s) == (0, None, None)
    assert "no operation ended" in stage.why


def test_slower_stages_are_no_slow_stretches_and_no_level():
    ops = np.array([1000.0] * 60 + [100.0] * 60 + [1000.0] * 60)
    trace = Trace(0, 1.0, {"ops": ops, "sessions.busy": np.ones(180)})
    found = {}
    for name, load in (("steady", made.workload()), ("changing", made.workload(rate_schedule="0s:5,9s:6"))):
        found[name] = build_record(
            made.measurement(workload=load), trace, id="a", name="a", status=Status.COMPLETE, started_at="",
            openslob_version="0", spec=load.to_record(), environment={}, engine={},
        )  # fmt: skip
    assert found["steady"].episodes
    assert found["changing"].episodes is None
    verdicts = {name: {each.name for each in record.verdicts} for name, record in found.items()}
    assert verdicts["steady"] - verdicts["changing"] == {"level_sustained"}


def test_an_endurance_run_has_one_level():
    with pytest.raises(UsageError, match="RATE_SCHEDULE changes the load"):
        new_record("long", "t", Workload(rate_schedule="0s:5,9s:6"), 3600, {})
