"""What a difference in the time per operation consists of: parts that add up, or nothing where it is not known."""

from __future__ import annotations

import pytest

from factories.tables import table
from openslob.analyze.compare import BESIDE_SERVER, OUTSIDE, breakdown, time_by_kind
from openslob.metrics.waits import CPU_ROW
from openslob.record.model import Figure, RunRecord, Status, WaitRow, WindowRecord


def record(mean_us: float, ops: int = 40_000, **waits: int) -> RunRecord:
    """Return a run of 8 sessions in 10 s, with the samples of what they waited for."""
    events = {"cpu": CPU_ROW, "log": "IO:WalSync", "data": "IO:DataFileRead", "lock": "Lock:relation"}
    return RunRecord(
        id="r", name="r", status=Status.COMPLETE, started_at="2026-01-01T00:00:00Z", openslob_version="1",
        spec={"sessions": 8}, environment={}, engine={},
        window=WindowRecord(load_start_ns=0, load_end_ns=10**10, load_seconds=10.0, counter_seconds=10.0,
                            difference_pct=0.0, warmup_s=0.0),
        latency={"select": {"count": ops, "mean_us": mean_us, "max_us": mean_us}},
        waits=tuple(WaitRow(event=events[name], samples=count, share_pct=0.0, db_time_s=0.0)
                    for name, count in waits.items()),
    )  # fmt: skip


A = record(1900.0, cpu=100, data=900)


def test_the_parts_of_a_difference_add_up_to_it():
    found = breakdown([A], [record(2300.0, ops=33_333, cpu=100, data=700, log=200)])
    assert found is not None
    assert sum(part.a_us for part in found.parts) == pytest.approx(found.a_us) == pytest.approx(2000.0)
    assert found.change_pct == pytest.approx(20.0, abs=0.01)
    assert sum(found.points_of(part) for part in found.parts) == pytest.approx(found.change_pct)
    assert found.parts[0].name == "log writes"
    assert found.points_of(found.parts[0]) == pytest.approx(23.0)


def test_the_time_of_sessions_that_passes_outside_of_operations_is_a_part():
    assert time_by_kind(A) == {"CPU": 190.0, "data I/O": 1710.0, OUTSIDE: 100.0}


def test_the_time_of_a_client_loop_that_passes_outside_of_the_server_is_a_part():
    """Of 1,900 µs of an operation the server had 400, by samples."""
    figures = {"ops_per_s": Figure(value=4000.0, unit="1/s"), "db_time_per_s": Figure(value=1.6, unit="s/s")}
    client = A.model_copy(update={"spec": {"sessions": 8, "loop": "client"}, "summary": figures})
    found = time_by_kind(client)
    assert found == pytest.approx({BESIDE_SERVER: 1500.0, "CPU": 40.0, "data I/O": 360.0, OUTSIDE: 100.0})
    assert time_by_kind(client.model_copy(update={"summary": {}})) is None


def test_several_runs_of_a_side_are_their_mean():
    found = breakdown([A, record(1900.0, cpu=500, data=500)], [A])
    assert found is not None
    assert {part.name: part.a_us for part in found.parts}["CPU"] == pytest.approx((190 + 950) / 2)


@table("side", [[], [record(1900.0, cpu=99)], [A, record(1900.0)], [A.model_copy(update={"window": None})]])
def test_what_is_not_known_of_each_run_is_not_known(side):
    assert breakdown([A], side) is None
