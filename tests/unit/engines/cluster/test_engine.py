"""Several instances as one: sums, reasons, clocks, shares, refusals; the instances are made up."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from factories.measurements import engine as counted
from factories.measurements import measurement
from factories.tables import table
from openslob.analyze.build_record import instance_row
from openslob.core.counts import SliceCounts
from openslob.core.errors import SlobError, UsageError
from openslob.core.measurement import Behind, EngineDelta, Instance
from openslob.core.process_selector import ProcessTree
from openslob.core.secrets import Address
from openslob.core.units import NANOS
from openslob.core.workload import DataSpec, StatisticsType, Workload
from openslob.engines import registry
from openslob.engines.base import Activity, CounterReading, Hold, SamplingScope, SliceRequest, SliceResult
from openslob.engines.capabilities import Capability
from openslob.engines.cluster import engine as cluster_engine
from openslob.engines.cluster.engine import ClusterEngine
from openslob.engines.cluster.instances import InstanceThreads
from openslob.engines.copies import CopyReading, LogPosition
from openslob.engines.facts import READ_ONLY_FINDING, DataState, Finding, LoadResult, ServerFacts, ServerLocation
from openslob.kinds.run.plan import session_plans

SPEC = DataSpec(schemas=2, scale_blocks=100, scan_blocks=5, obfuscate=False)
HOUR = 3600 * NANOS
DONE = SliceCounts(ops=1, selects=1, rows_read=1)
FACTS = ServerFacts("Product", "1.0", 8192, 1000, 50, {"a": "1"}, True, cluster_id="c")


class Made:
    """An instance that notes what is asked of it; ``ahead_ns`` is by how much its clock is fast."""

    name = "made"

    def __init__(self, target, log=None, ahead_ns=0, delta=None, place=None, behind=0, **facts):
        self.target, self.log, self.ahead_ns = target, log if log is not None else [], ahead_ns
        self.delta, self.place, self.behind = delta or EngineDelta(), place, behind
        self.others = {"app": 1} if target == "a" else {"app": 1, "b's": 1}
        self._facts = replace(FACTS, **facts)
        self.loaded = DataState(SPEC, True, "now", {1: 100})
        self.data = self.replication = self
        self.address = Address.parse(f"postgresql://{target}/made")
        self.orders, self.numbers, self.places, self.closed = [], [], [], 0

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: self.log.append((self.target, name))

    def facts(self):
        return self._facts

    def location(self):
        return self.place or ServerLocation.unknown("the server is not on this host")

    def findings(self, workload):
        yield Finding("sessions", f"{workload.total_sessions} sessions", "", False)
        if self._facts.read_only:
            yield Finding(READ_ONLY_FINDING, "takes no writes", "", True)

    def state(self):
        return self.loaded

    def load(self, *_):
        self.log.append((self.target, "load"))
        return LoadResult(SPEC, 1, 100, 100, {}, False)

    def quiesce(self, *_):
        self.log.append((self.target, "settle"))
        return ["rest"]

    def log_position(self):
        self.behind = max(0, self.behind - 1)
        return 1000 - self.behind

    def open_reader(self):
        return Place(self)

    @contextmanager
    def exclusive(self, _):
        self.log.append((self.target, "locked"))
        yield Hold(["put right"] if self.target == "main" else ())

    def sessions_left(self):
        return 2

    def open_counters(self, scope):
        self.scope = scope
        return self

    open_waits = open_counters

    def open_session(self, plan):
        self.numbers.append(plan.number)
        return self

    def read(self):
        return CounterReading(time.time_ns() + self.ahead_ns, {"x": 1.0}, f"epoch of {self.target}")

    def sample(self):
        return Activity({"CPU": 1, f"IO:{self.target}": 2}, self.others)

    def backend_ids(self):
        return [len(self.target)]

    def difference(self, *_):
        return self.delta

    def run_slice(self, order):
        self.orders.append(order)
        return SliceResult(order.not_before_ns, order.until_ns, order.not_before_ns, DONE, {}, {}, order.due_ns)

    def capabilities(self):
        return [Capability("timing", not self._facts.read_only, f"off on {self.target}", "", "")]

    def open_snapshots(self, _, consented):
        return self if self.target in consented else None

    def end(self):
        return {"report.txt": f"of {self.target}"}

    def close(self):
        self.closed += 1


class Place:
    """Reads an instance's place in the log."""

    def __init__(self, made):
        self.made, self.is_open = made, True
        made.places.append(self)

    def read(self):
        if self.made.behind is None:
            raise SlobError("not allowed")
        return CopyReading(LogPosition(1000 - self.made.behind))

    def close(self):
        self.is_open = False


def cluster(**more):
    """A primary and two copies that take reads only."""
    return [Made("one", **more), Made("two", read_only=True, **more), Made("three", read_only=True, **more)]


def test_facts_are_what_all_have_in_common():
    made = [
        Made("a", settings={"a": "1", "b": "2"}, free_connections=9, programs="p 1"),
        Made("b", settings={"a": "1", "b": "3"}, programs="p 2", cache_bytes=10, direct_io=False, read_only=True),
    ]
    facts = ClusterEngine(made).facts()
    assert facts.settings == {"a": "1", "b": "2 | 3"}
    assert facts.programs == "p 1 | p 2"
    assert (facts.cache_bytes, facts.free_connections, facts.direct_io) == (10, 18, False)
    assert [(each.target, each.read_only) for each in facts.instances] == [("a", False), ("b", True)]
    assert not facts.read_only
    unknown = {"direct_io": None, "cache_bytes": None, "free_connections": None}
    facts = ClusterEngine([Made("a"), Made("b", **unknown)]).facts()
    assert (facts.direct_io, facts.cache_bytes, facts.free_connections) == (None, None, None)


@table(
    ("different", "said"),
    [
        ({"version": "1.1"}, "differ in version: 1.0 on a, 1.1 on b"),
        ({"block_size": 4096}, "differ in block size: 8192 on a, 4096 on b"),
        ({"product": "Other"}, "differ in product"),
        ({"cluster_id": "d"}, "b has no copy of the data of a"),
    ],
)
def test_instances_that_are_not_alike_are_refused(different, said):
    with pytest.raises(SlobError, match=said):
        ClusterEngine([Made("a"), Made("b", **different)]).facts()


def test_two_services_of_one_instance_are_refused():
    made = [Made("s1", instance="i1"), Made("s2", instance="i2"), Made("s3", instance="i1")]
    with pytest.raises(SlobError, match=r"s1 and s3 .* i1"):
        ClusterEngine(made).facts()
    assert ClusterEngine(made[:2]).facts().instance == ""


def test_one_database_takes_snapshots_once_for_all_its_instances():
    made = [Made("one"), Made("two")]
    for each in made:
        vars(each)["replication"] = None
    snapshots = ClusterEngine(made).open_snapshots(StatisticsType.AWR, frozenset({"one", "two"}))
    assert snapshots is made[0]
    of_each = ClusterEngine(made).open_snapshots(StatisticsType.STATSPACK, frozenset({"one", "two"}))
    assert list(of_each.end()) == ["1-report.txt", "2-report.txt"]


def test_one_instance_twice_or_several_engines_are_wrong_usage():
    other = Made("b")
    other.name = "other"
    with pytest.raises(UsageError, match="several engines: made, other"):
        ClusterEngine([Made("a"), other])
    with pytest.raises(UsageError, match="a is given twice"):
        ClusterEngine([Made("a"), Made("b"), Made("a")])


def test_counters_of_all_instances_in_one_reading():
    made = [Made("a", delta=counted()), Made("bb", ahead_ns=HOUR, delta=counted())]
    engine = ClusterEngine(made)
    counters = engine.open_counters()
    before, begun_ns, after, ended_ns = counters.read(), time.time_ns(), counters.read(), time.time_ns()
    took_ns = ended_ns - begun_ns
    assert counters.backend_ids() == [1, 2]
    assert (after.values["0.x"], after.values["1.x"], after.values["0.ahead_ns"]) == (1, 1, 0)
    assert after.values["1.ahead_ns"] == pytest.approx(HOUR, abs=took_ns)
    assert after.values["spread_ns"] <= took_ns
    assert begun_ns - took_ns <= after.server_ns <= ended_ns + took_ns
    assert after.epoch == "0:epoch of a 1:epoch of bb"
    assert counters.difference(before, after).read_requests == 2 * counted().read_requests
    counters.close()
    assert [each.closed for each in made] == [1, 1]


@table("slow", [0, 1])
def test_a_reading_is_as_late_as_its_latest_instance(slow):
    made = [Made("a"), Made("b")]
    counters = ClusterEngine(made).open_counters()
    late = time.time_ns() + 2 * HOUR
    made[slow].read = lambda: CounterReading(late, {"x": 1.0}, "")
    # A begin of the load between the two is not before it: one instance had read already.
    assert counters.read().server_ns == late


def test_clocks_that_agree_within_the_error_are_one():
    counters = ClusterEngine([Made("a"), Made("b")]).open_counters()
    assert counters.read().values["1.ahead_ns"] == 0
    counters.close()


def test_sessions_go_round_robin_by_their_own_clocks():
    made = [Made("a"), Made("b", ahead_ns=HOUR)]
    engine = ClusterEngine(made)
    engine.open_counters().close()
    plans = session_plans(Workload(schemas=1, sessions=3, scale="100", work_unit=4), 8192, "tag")
    order = SliceRequest(first_op=0, not_before_ns=5 * NANOS, until_ns=6 * NANOS, max_ops=0, due_ns=7 * NANOS)
    for plan in plans:
        result = engine.open_session(plan).run_slice(order)
        assert (result.start_ns, result.end_ns) == (5 * NANOS, 6 * NANOS)
        assert (result.first_op_ns, result.due_ns) == (5 * NANOS, 7 * NANOS)
    assert [len(each.orders) for each in made] == [2, 1]
    (ahead,) = made[1].orders
    for moved, meant in ((ahead.not_before_ns, 5), (ahead.until_ns, 6), (ahead.due_ns, 7)):
        assert moved == pytest.approx(HOUR + meant * NANOS, abs=NANOS)
    engine.open_session(plans[1]).run_slice(replace(order, not_before_ns=0, due_ns=None))
    assert (made[1].orders[-1].not_before_ns, made[1].orders[-1].due_ns) == (0, None)


def test_an_error_names_its_instance():
    made = Made("a")
    made.run_slice = lambda _: (_ for _ in ()).throw(SlobError("session 0 was lost", "see its log"))
    (plan,) = session_plans(Workload(schemas=1, sessions=1, scale="100", work_unit=4), 8192, "tag")
    with pytest.raises(SlobError, match=r"^a: session 0 was lost; see its log$"):
        ClusterEngine([made, Made("b")]).open_session(plan).run_slice(SliceRequest(0, 0, 1, 0))


def test_waits_of_all_instances_together():
    instances = [Made("a"), Made("b")]
    waits = ClusterEngine(instances).open_waits()
    first, second = Activity({"CPU": 1, "IO:a": 2}, {"app": 1}), Activity({"CPU": 1, "IO:b": 2}, {"app": 1, "b's": 1})
    both = waits.sample()
    assert (both.events, both.others) == ({"CPU": 2, "IO:a": 2, "IO:b": 2}, {"app": 2, "b's": 1})
    assert list(both.by_instance) == [first, second]
    instances[1].others = None
    assert waits.sample().others is None
    waits.close()


@pytest.mark.parametrize("opened", ["open_counters", "open_waits"])
def test_every_instance_is_sampled_in_the_same_scope(opened):
    instances = [Made("a"), Made("b")]
    getattr(ClusterEngine(instances), opened)(SamplingScope.SERVER).close()
    assert [each.scope for each in instances] == [SamplingScope.SERVER] * 2


def test_updates_need_every_instance_to_take_writes():
    load = Workload(schemas=1, sessions=4, update_pct=10)
    blocking = [finding for finding in ClusterEngine(cluster()).findings(load) if finding.blocking]
    assert [re.findall(r"\d+|one|two|three", finding.why) for finding in blocking] == [["10", "two", "three"]]
    readers = [Made("two", read_only=True), Made("three", read_only=True)]
    (finding,) = ClusterEngine(readers).findings(load)
    assert finding.blocking
    assert "no instance" in finding.why


def test_classes_work_on_the_instances_of_their_role():
    text = "readers:sessions=5,instance_role=read-only;writers:sessions=2,update_pct=100,instance_role=read-write"
    load = Workload(schemas=1, classes=text)
    made = cluster()
    engine = ClusterEngine(made)
    found = list(engine.findings(load))
    assert not any(finding.blocking for finding in found)
    shares = [finding.why for finding in found if finding.name == "sessions"]
    assert shares == ["one: 2 sessions", "two: 3 sessions", "three: 2 sessions"]
    for plan in session_plans(load, 8192, "tag", instances=engine.facts().instances):
        engine.open_session(plan)
    assert [each.numbers for each in made] == [[5, 6], [0, 2, 4], [1, 3]]
    # Those who update anywhere come to a copy, too.
    (refused,) = (
        each for each in engine.findings(Workload(classes=text.replace("read-write", "any"))) if each.blocking
    )
    assert refused.why == "UPDATE_PCT is above 0 in a class and two, three takes reads only"


def test_an_instance_that_no_class_works_on_is_checked_for_a_session_that_reads():
    load = Workload(schemas=1, classes="writers:sessions=2,update_pct=100,instance_role=read-write")
    found = [finding.why for finding in ClusterEngine(cluster()).findings(load) if finding.name == "sessions"]
    assert found == ["one: 2 sessions", "two: 1 sessions", "three: 1 sessions"]


def test_the_places_of_copies_in_the_log_are_among_the_counters():
    made = cluster()
    made[2].behind = 60
    counters = ClusterEngine(made).open_counters()
    values = counters.read().values
    assert [values[f"{number}.log_place"] for number in range(3)] == [1000, 1000, 940]
    counters.close()
    assert [[place.is_open for place in each.places] for each in made] == [[False]] * 3


def test_places_that_are_not_told_are_not_read():
    hidden = cluster()
    hidden[1].behind = None
    writers = [Made("one"), Made("two")]
    for instances in (hidden, writers):
        counters = ClusterEngine(instances).open_counters()
        assert not [name for name in counters.read().values if "log_place" in name]
        assert not any(place.is_open for each in instances for place in each.places)
    # Of the whole server, what reads them would be counted as work of others.
    watched = cluster()
    ClusterEngine(watched).open_counters(SamplingScope.SERVER).close()
    assert [each.places for each in watched] == [[], [], []]


def test_findings_are_each_instance_s_with_its_share_of_the_sessions():
    found = list(ClusterEngine(cluster()).findings(Workload(schemas=1, sessions=4)))
    assert not any(finding.blocking for finding in found)
    shares = [finding.why for finding in found if finding.name == "sessions"]
    assert shares == ["one: 2 sessions", "two: 1 sessions", "three: 1 sessions"]
    (place,) = (finding for finding in found if finding.name == "place")
    assert "(one: " in place.why


def test_what_changes_data_goes_to_the_first_that_takes_writes():
    log = []
    engine = ClusterEngine([Made("copy", log, read_only=True), Made("main", log), Made("other", log)])
    engine.data.load(SPEC, 1, print, lambda: False)
    engine.install(Workload(schemas=1))
    engine.data.drop()
    assert log == [("main", "load"), ("main", "install"), ("main", "drop")]
    log.clear()
    assert engine.quiesce(Workload(schemas=1), False) == ["main: rest", "copy: rest", "other: rest"]
    assert [target for target, _ in log] == ["main", "copy", "other"]
    log.clear()
    with engine.exclusive("test") as held:
        assert [target for target, _ in log] == ["copy", "main", "other"]
        assert held.restored == ["main: put right"]
    assert engine.sessions_left() == 6


def test_copies_are_waited_for_as_long_as_they_come_closer(monkeypatch):
    monkeypatch.setattr(cluster_engine, "POLL_S", 0)
    made = cluster()
    made[1].behind = 50
    ClusterEngine(made).install(Workload(schemas=1))
    assert made[1].behind == 0
    monkeypatch.setattr(cluster_engine, "STALLED_S", 0.01)
    made[2].log_position = lambda: 900
    with pytest.raises(SlobError, match=r"^three: .* one"):
        ClusterEngine(made).install(Workload(schemas=1))


def test_instances_without_copies_of_their_own_are_not_waited_for():
    made = [Made("one"), Made("two", behind=10**9)]
    for each in made:
        vars(each)["replication"] = None
    ClusterEngine(made).install(Workload(schemas=1))
    assert ClusterEngine(made).replication is None


def test_a_load_that_did_not_arrive_is_told():
    made = cluster()
    made[2].loaded = replace(made[2].loaded, verified=False)
    with pytest.raises(SlobError, match="three "):
        ClusterEngine(made).data.load(SPEC, 1, print, lambda: False)


def test_the_location_is_known_only_if_all_are_here(tmp_path):
    here = [ServerLocation(ProcessTree(pid), (tmp_path,)) for pid in (10, 20)]
    both = ClusterEngine([Made("a", place=here[0]), Made("b", place=here[1])]).location()
    assert both == ServerLocation(ProcessTree(10), (tmp_path,), others=(here[1],))
    partly = ClusterEngine([Made("a", place=here[0]), Made("b")]).location()
    assert (partly.main_pid, partly.why_unknown.partition(":")[0]) == (None, "b")


def test_when_one_refuses_nothing_stays_open():
    made = [Made("a"), Made("b")]

    def refuse(_scope):
        raise SlobError("no")

    made[1].open_counters = refuse
    with pytest.raises(SlobError, match=r"^b: no$"):
        ClusterEngine(made).open_counters()
    assert made[0].closed == 1


def test_all_are_asked_at_the_same_moment():
    meeting = threading.Barrier(3, timeout=120)
    team = InstanceThreads(3)
    assert sorted(team.ask(lambda _: meeting.wait(), "abc")) == [0, 1, 2]
    team.close()


def test_instance_rows_are_made_of_its_own_sessions():
    made = measurement()
    numbers = (1, 3, 5, 7)
    row = instance_row(made, Instance("b", True, numbers, 1, counted(read_requests=None, log_bytes=9.0)))
    own = [session for session in made.sessions if session.number in numbers]
    assert (row.role, row.sessions, row.errors, row.read_requests, row.log_bytes) == ("read-only", 4, 1, None, 9)
    assert (row.ops, row.rows_read) == (sum(s.counts.ops for s in own), sum(s.counts.rows_read for s in own))
    other = instance_row(made, Instance("a", False, (0,), 0, counted(read_requests=7.0, log_bytes=None)))
    assert (other.role, other.sessions, other.read_requests, other.log_bytes) == ("read-write", 1, 7, None)
    assert (other.behind_bytes, other.most_behind_bytes, other.behind_s) == (None, None, None)
    late = instance_row(made, Instance("b", True, numbers, 0, counted(), Behind(5.0, 20.0, 2.0)))
    assert (late.behind_bytes, late.most_behind_bytes, late.behind_s) == (5, 20, 2)


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("a,b,c", ["a", "b", "c"]),
        ("x://h/d,x://i/d", ["x://h/d", "x://i/d"]),
        ("x://h,i/d", ["x://h,i/d"]),
        ("x:///d?host=/a,/b&port=1,2,x://c/d", ["x:///d?host=/a,/b&port=1,2", "x://c/d"]),
        ("known,x://h/d,known", ["known", "x://h/d", "known"]),
        ("embedded", ["embedded"]),
    ],
)
def test_a_list_of_targets_is_taken_apart(target, parts, monkeypatch):
    monkeypatch.setattr(registry, "list_known", lambda: ["known"])
    assert registry.instances(target) == parts


def test_capabilities_are_those_of_all_instances():
    (timing,) = ClusterEngine(cluster()).capabilities()
    assert (timing.present, timing.lack) == (False, "off on two")


def test_snapshots_are_those_of_the_instances_that_take_them():
    made = cluster()
    engine = ClusterEngine(made)
    assert engine.open_snapshots(StatisticsType.AWR, frozenset()) is None
    snapshots = engine.open_snapshots(StatisticsType.AWR, frozenset({"one", "three"}))
    snapshots.begin()
    assert snapshots.end() == {"1-report.txt": "of one", "3-report.txt": "of three"}
    snapshots.close()
    assert [each.closed for each in made] == [1, 0, 1]


def test_a_session_says_on_which_instance_it_is():
    plans = session_plans(Workload(schemas=1, sessions=3, scale="100", work_unit=4), 8192, "tag")
    engine = ClusterEngine([Made("a"), Made("b")])
    assert [engine.open_session(plan).instance() for plan in plans] == ["a", "b", "a"]
