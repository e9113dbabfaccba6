"""Counters of several instances as one: sums, and why a sum is unknown."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from factories import measurements
from openslob.core.measurement import ONLY_SOME_HAVE, EngineDelta, ObjectIo
from openslob.engines.base import CounterReading
from openslob.engines.cluster.instances import Clocks, ClusterCounters, add_deltas


def test_sums_and_reasons():
    counted = partial(measurements.engine, shared_visits=9.0, private_visits=0.0, db_cpu_us=3.0, db_time_us=4.0)
    known = counted(read_requests=100.0, log_bytes=5.0, by_object={"table": ObjectIo(1, 2, 3, None, 5)})
    partly = counted(read_requests=None, log_bytes=7.0, by_object={}, unknown={"read_requests": "it is off"})
    total = add_deltas([known, partly], ["a", "b"])
    assert total.log_bytes == 12
    assert total.read_requests is None
    assert total.unknown == {"read_requests": "b: it is off"}
    assert total.by_object == {"table": ObjectIo(None, None, None, None, None)}
    assert total.by_instance == (known, partly)
    both = add_deltas([known, known], ["a", "b"])
    assert both.by_object == {"table": ObjectIo(2, 4, 6, None, 10)}
    assert both.wait_means_us == known.wait_means_us
    assert [wait.count for wait in both.timed_waits] == [2 * wait.count for wait in known.timed_waits]
    nothing = add_deltas([known, EngineDelta(unknown={"*": "reset"})], ["a", "b"])
    assert set(nothing.unknown.values()) == {"b: reset"}
    assert set(nothing.unknown) == set(nothing.amounts()) - ONLY_SOME_HAVE


def test_what_rows_leave_behind_that_come_and_go_is_counted_where_writes_go():
    """The work loop is created there, and the tables of the others are copies."""
    copy = EngineDelta(log_bytes=1.0)
    primary = EngineDelta(log_bytes=2.0, dead_rows=7.0, unknown={"purge_lag": "vacuum"})
    for deltas in ([copy, primary], [primary, copy]):
        total = add_deltas(deltas, ["a", "b"])
        assert (total.log_bytes, total.dead_rows, total.table_bytes) == (3, 7, None)
        assert total.unknown["purge_lag"].endswith(": vacuum")


class Instance:
    """Counts how often it was read; what is late comes with the next reading, if it settles."""

    def __init__(self, late):
        self.value = 0.0
        if late:
            self.settle = lambda before, after: replace(after, values={"n": after.values["n"] + 100})

    def read(self):
        self.value += 1
        return CounterReading(0, {"n": self.value}, "")

    def close(self):
        pass


def test_each_instance_of_a_cluster_settles_by_itself():
    counters = ClusterCounters([Instance(late=True), Instance(late=False)], ["a", "b"], Clocks(2))
    before, after = counters.read(), counters.read()
    found = counters.settle(before, after)
    assert [part.values["n"] for part in found.parts] == [after.parts[0].values["n"] + 100, after.parts[1].values["n"]]
    assert {name: value for name, value in found.values.items() if name.endswith(".n")} == {
        "0.n": found.parts[0].values["n"],
        "1.n": found.parts[1].values["n"],
    }
    assert found.server_ns == after.server_ns
    counters.close()


def test_other_sessions_on_all_instances():
    told = EngineDelta(server_wide=frozenset({"log_syncs"}), others={"log_syncs": 3.0, "commits": 2.0})
    total = add_deltas([told, EngineDelta(server_wide=frozenset({"log"}), others={"log_syncs": 4.0})], ["a", "b"])
    assert total.server_wide == {"log_syncs", "log"}
    assert total.others == {"log_syncs": 7.0}
