"""The order of a sweep: every point once, few restarts and loads, and no drift that looks like an effect."""

from __future__ import annotations

from itertools import groupby
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslob.config.grid import Grid
from openslob.config.server_parameters import MADE_WITH
from openslob.core.errors import UsageError
from openslob.core.workload import Workload
from openslob.kinds.sweep import plan
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.record import PointState, SweepRecord

VALUES = {
    "sessions": [1, 2, 4, 8],
    "update_pct": [0, 10, 20],
    "work_unit": [32, 64],
    "schemas": [1, 2, 4],
    "scale": ["64M", "128M", "1G"],
}
SERVERS = {
    "cache_bytes": [16 << 20, 64 << 20],
    "io": ["direct", "buffered"],
    "version": ["16", "18"],
    "cpus": ["0", "0-1", "all"],
}


def some_of(values):
    """Draw a grid with some of the names and some of their values."""
    return st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(st.sampled_from(of), min_size=1, max_size=2, unique=True) for name, of in values.items()
        },
    )


def record(grid, servers=None, repeats=1, seed=1, workload=None):
    base = SweepRecord(
        id="x", name="x", started_at="2026-11-21T04:00:00Z", openslob_version="0", target="embedded",
        workload=(workload or Workload(run_time=5)).to_record(), grid=grid, server_grid=servers or {},
        repeats=repeats, seed=seed, points=plan.points(grid, servers or {}, repeats, seed),
    )  # fmt: skip
    return plan.with_estimates(base)


def changes(keys):
    return len(list(groupby(keys))) - 1


GRIDS = {"grid": some_of(VALUES), "servers": some_of(SERVERS), "repeats": st.integers(1, 3), "seed": st.integers(0, 99)}


@given(**GRIDS)
def test_every_combination_comes_as_often_as_asked_and_is_numbered_in_order(grid, servers, repeats, seed):
    points = plan.points(grid, servers, repeats, seed)
    seen = {(tuple(p.server.items()), tuple(p.values.items()), p.repeat) for p in points}
    assert len(points) == len(seen) == repeats * prod(map(len, [*grid.values(), *servers.values()]))
    assert [p.number for p in points] == list(range(1, len(points) + 1))
    assert all(list(p.values) == list(grid) for p in points)
    assert points == plan.points(grid, servers, repeats, seed)


@given(**GRIDS)
def test_each_round_has_a_start_of_its_own_and_no_order_has_fewer_loads(grid, servers, repeats, seed):
    steps = plan.steps(record(grid, servers, repeats, seed))
    settings = prod(map(len, servers.values()))
    made = prod(len(of) for name, of in servers.items() if name in MADE_WITH)
    data = prod(len(of) for name, of in grid.items() if name in plan.DATA_PARAMETERS)
    # Runs of one start of a server do not show how much starts differ: each round has its own.
    assert sum(step.restarted for step in steps) == settings * (data * repeats if servers and repeats > 1 else 1)
    assert changes(tuple(plan.keep_made_with(step.point.server).items()) for step in steps) == made - 1
    # The first load of each server, then every setting has to see all data, and begins with those that are there.
    assert sum(step.loaded for step in steps) == made + settings * (data - 1)


@given(**GRIDS)
def test_repeats_are_whole_rounds_within_a_block(grid, servers, repeats, seed):
    steps = plan.steps(record(grid, servers, repeats, seed))
    for _, block in groupby(steps, key=lambda step: (tuple(step.point.server.items()), plan.data_of(step.workload))):
        rounds = [step.point.repeat for step in block]
        assert rounds == sorted(rounds)


def test_rounds_have_orders_of_their_own_so_that_drift_falls_on_all_points():
    """A drift that grows with time affects all session counts equally when averaged over repeats."""
    grid, repeats = {"sessions": list(range(1, 9))}, 40
    points = plan.points(grid, {}, repeats, 7)
    drift = {n: sum(p.number for p in points if p.values["sessions"] == n) / repeats for n in grid["sessions"]}
    middle = (len(points) + 1) / 2
    assert max(abs(mean - middle) for mean in drift.values()) < 0.01 * len(points)
    orders = {tuple(p.values["sessions"] for p in points if p.repeat == r) for r in range(1, repeats + 1)}
    assert len(orders) == repeats


@given(done=st.sets(st.integers(1, 12)), **GRIDS)
def test_what_is_left_keeps_its_order_whatever_is_done(done, grid, servers, repeats, seed):
    asked = record(grid, servers, repeats, seed)
    finished = [p.model_copy(update={"state": PointState.DONE}) for p in asked.points if p.number in done]
    left = asked.with_points(finished)
    assert left.with_points(finished) == left
    assert [p.number for p in left.pending] == [p.number for p in asked.points if p.number not in done]
    assert [step.point for step in plan.steps(left)] == list(left.pending)


def test_repeats_visit_other_blocks_but_a_seed_in_the_grid_is_kept():
    asked = record({"sessions": [1, 2]}, repeats=2, workload=Workload(seed=5))
    assert {(p.repeat, plan.workload_of(asked, p).seed) for p in asked.points} == {(1, 5), (2, 6)}
    fixed = record({"seed": [3, 4]}, repeats=2)
    assert {plan.workload_of(fixed, p).seed for p in fixed.points} == {3, 4}


def test_a_combination_that_cannot_be_run_is_named():
    with pytest.raises(UsageError, match=r"think tm min 2, think tm max 1.0: .*leave this combination out"):
        record({"think_tm_min": [0.5, 2], "think_tm_max": [1.0, 3.0]})


def test_time_and_disk_are_those_of_the_runs_and_of_what_goes_before_them():
    asked = record({"sessions": [1, 2], "scale": ["64M", "128M"]}, {"cache_bytes": [1, 2]}, 1, 1, Workload(schemas=2))
    assert asked.estimated_s == pytest.approx(sum(p.estimated_s for p in asked.points))
    run_s = plan.run_seconds(asked, plan.workload_of(asked, asked.points[0]))
    assert run_s == 2 + 60 + plan.POINT_OVERHEAD_S
    assert asked.points[1].estimated_s == run_s
    load_s = 2 * plan.RESTART_S + 2 * 65 * 2**20 / plan.LOAD_BYTES_PER_S
    assert asked.points[0].estimated_s == pytest.approx(run_s + plan.RESTART_S + load_s)
    assert asked.estimated_bytes > 2 * 2 * 129 * 2**20
    longer = asked.model_copy(update={"steady_limit_s": 30.0})
    assert plan.run_seconds(longer, Workload()) == 30 + 60 + plan.POINT_OVERHEAD_S


def test_few_sessions_on_many_schemas_are_told():
    grid = Grid(Workload(schemas=4, sessions=1), {"sessions": (1, 8)}, ())
    assert "the least: 1 of 4 schemas" in new_sweep("n", "embedded", grid, {}).notes[0]
    single = Grid(Workload(schemas=1, sessions=1), {"sessions": (1, 8)}, ())
    assert new_sweep("n", "embedded", single, {}).notes == ()


def test_data_and_a_server_that_are_there_take_no_time():
    planned = record({"sessions": (1, 2)})
    loaded = {name: str(getattr(Workload(), name)) for name in ("schemas", "scale", "scan_table_sz")}
    assert plan.has_data_of_first_point(planned, loaded)
    assert not plan.has_data_of_first_point(planned, {})
    assert not plan.has_data_of_first_point(planned, {**loaded, "scale": "1M"})
    assert not plan.has_data_of_first_point(record({}, {"version": ("15",)}), loaded)
    ready, (first, second) = plan.with_estimates(planned, is_ready=True), plan.steps(planned)
    assert ready.estimated_s == pytest.approx(planned.estimated_s - first.preparation_s)
    runs_s = [plan.run_seconds(planned, step.workload) for step in (first, second)]
    assert ready.estimated_s == pytest.approx(sum(runs_s))
