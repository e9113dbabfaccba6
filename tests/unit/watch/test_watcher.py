"""How often waits are sampled: as often as what watching costs allows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from factories.tables import table
from openslob.engines.base import Activity
from openslob.host.model import OsReading, Sample
from openslob.watch.watcher import SAMPLE_AT_LEAST_S, SAMPLE_EVERY_S, WaitSampling, add_up, measure_own_pct


@table(
    ("costs_pct", "pause_s"),
    [
        ([0.2, 0.2], SAMPLE_EVERY_S),
        ([1.05], 0.15),
        ([9.0], 0.2),
        ([9.0, 9.0, 9.0, 9.0], SAMPLE_AT_LEAST_S),
        ([9.0, 0.1], SAMPLE_EVERY_S),
        ([None], SAMPLE_EVERY_S),
    ],
)
def test_samples_become_fewer_where_watching_costs_more(costs_pct, pause_s):
    sampling = WaitSampling(SimpleNamespace())
    for cost in costs_pct:
        sampling.adapt(cost)
    assert sampling.pause_s == pytest.approx(pause_s)


def test_without_the_cost_the_time_of_a_sample_counts():
    sampling = WaitSampling(SimpleNamespace())
    sampling.took_s = 0.0006
    sampling.adapt(None)
    assert sampling.pause_s == pytest.approx(0.3)


def test_the_cost_is_that_of_this_process_and_its_sessions():
    def reading(at_ns, own, sessions):
        sampler = Sample({} if sessions is None else {"sampler_cpu_s": sessions})
        return OsReading(at_ns, {"driver": Sample({"driver_cpu_s": own}), "sampler": sampler})

    assert measure_own_pct(reading(0, 1.0, 2.0), reading(2_000_000_000, 1.01, 2.005)) == pytest.approx(0.75)
    assert measure_own_pct(reading(0, 1.0, 2.0), reading(2_000_000_000, 1.01, None)) is None


def test_samples_add_up_for_the_cluster_and_for_each_instance():
    first = Activity({"CPU": 2}, {}, (Activity({"CPU": 2}, {}), Activity({}, {})))
    second = Activity({"CPU": 1, "IO:x": 1}, None, (Activity({"CPU": 1}, {}), Activity({"IO:x": 1}, None)))
    found = add_up([first, second], ["a", "b"])
    assert (found.taken, dict(found.events), found.hidden) == (2, {"CPU": 3, "IO:x": 1}, True)
    assert {name: (each.taken, dict(each.events), each.hidden) for name, each in found.by_instance.items()} == {
        "a": (2, {"CPU": 3}, False),
        "b": (2, {"IO:x": 1}, True),
    }
