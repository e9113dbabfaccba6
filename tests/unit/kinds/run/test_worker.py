"""A session's slices follow each other: operation numbers and due times go on from slice to slice."""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from resource import RLIM_INFINITY

import pytest

from factories.tables import table
from openslob.core.counts import SliceCounts
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import SliceRequest, SliceResult
from openslob.kinds.run import worker as worker_module
from openslob.kinds.run.crew import LocalCrew
from openslob.kinds.run.plan import Phase, session_plans
from openslob.kinds.run.probing import PART_S, PARTS, ProbePhase
from openslob.kinds.run.worker import Lost, SliceDone, Worker, allow_files

BEGIN = 1_000 * NANOS
OPS_A_SLICE = 7
BETWEEN_DUE_NS = 100_000_000


@dataclass
class Session:
    """Does a few operations in each slice, whatever its end; also the engine that opens it."""

    requests: list[SliceRequest] = field(default_factory=list)

    def open_session(self, _plan):
        return self

    def prepare(self):
        pass

    def plans(self):
        return {}

    def backend_id(self):
        return 1

    def instance(self):
        return None

    def close(self):
        pass

    def run_slice(self, request):
        self.requests.append(request)
        ops = min(OPS_A_SLICE, request.max_ops or OPS_A_SLICE)
        due_ns = None if request.due_ns is None else request.due_ns + ops * BETWEEN_DUE_NS
        return SliceResult(BEGIN, request.until_ns, BEGIN, SliceCounts(ops), {}, due_ns=due_ns)


def worked(phases, number=0, **parameters):
    """The requests of the slices of these phases, and what the worker reported of each."""
    session, reports = Session(), []
    plan = session_plans(Workload(**{"sessions": 1, **parameters}), 8192, "test")[number]
    worker = Worker(session, plan, reports.append, lambda: False)
    for phase in (*phases, None):
        worker.give(phase)
    worker.run()
    assert not [report for report in reports if isinstance(report, Lost)]
    return session.requests, [report for report in reports if isinstance(report, SliceDone)]


WARM_UP = Phase("warm-up", BEGIN, BEGIN + 2 * NANOS)
WINDOW = Phase("window", BEGIN + 2 * NANOS, BEGIN + 6 * NANOS)


def test_operations_are_numbered_through_slices_and_phases():
    requests, reports = worked([WARM_UP, WINDOW])
    assert [request.first_op for request in requests] == [OPS_A_SLICE * number for number in range(6)]
    assert [report.first_op for report in reports] == [request.first_op for request in requests]
    assert [report.number for report in reports] == [0, 1, 0, 1, 2, 3]
    assert {request.due_ns for request in requests} == {None}


def test_due_times_go_on_from_slice_to_slice_and_begin_anew_with_a_phase():
    requests, _ = worked([WARM_UP, WINDOW], target_ops=10)
    due = [request.due_ns for request in requests]
    assert (due[0], due[2]) == (WARM_UP.begin_ns, WINDOW.begin_ns)
    assert {after - before for before, after in (*pairwise(due[:2]), *pairwise(due[2:]))} == {
        OPS_A_SLICE * BETWEEN_DUE_NS
    }


def test_a_limit_of_operations_is_that_of_the_phase():
    limited = Phase("window", BEGIN, BEGIN + 60 * NANOS, max_ops=17)
    requests, reports = worked([WARM_UP, limited])
    assert [request.max_ops for request in requests] == [0, 0, 17, 10, 3]
    assert sum(report.result.counts.ops for report in reports[2:]) == 17


def test_a_session_that_rests_waits_in_the_server_for_its_next_part():
    probe = ProbePhase.beginning_at(BEGIN, PART_S)
    parts = [BEGIN + part * probe.part_ns for part in range(PARTS)]
    for number, begins in ((0, parts), (3, parts[::2])):
        requests, _ = worked([probe], number, schemas=1, sessions=4)
        assert sorted({request.not_before_ns for request in requests}) == begins
        assert max(request.until_ns for request in requests) == probe.end_ns


@table(
    ("soft", "most", "becomes"),
    [
        (1024, 4096, 4096),  # what 1,000 sessions need is more than it may have
        (1024, 524288, 4256),
        (1024, RLIM_INFINITY, 4256),
        (20000, 20000, None),
        (RLIM_INFINITY, RLIM_INFINITY, None),
    ],
)
def test_a_thousand_sessions_may_open_their_files_though_the_shell_allows_1024(monkeypatch, soft, most, becomes):
    given = []
    monkeypatch.setattr(worker_module.resource, "getrlimit", lambda _: (soft, most))
    monkeypatch.setattr(worker_module.resource, "setrlimit", lambda _, limits: given.append(limits))
    allow_files(1000)
    assert given == ([] if becomes is None else [(becomes, most)])


@table(("sessions", "asks_after_s"), [(1000, 0.1), (8, 0.005)])
def test_threads_of_many_sessions_ask_for_python_less_often_until_the_run_ends(sessions, asks_after_s):
    before = sys.getswitchinterval()
    plans = session_plans(Workload(schemas=1, sessions=sessions), 8192, "t")
    crew = LocalCrew(Session(), plans, lambda _report: None, lambda: True, Path())
    try:
        sys.setswitchinterval(0.005)
        crew.start()
        assert round(sys.getswitchinterval(), 6) == asks_after_s
        crew.close()
        assert round(sys.getswitchinterval(), 6) == 0.005
    finally:
        sys.setswitchinterval(before)


@dataclass
class Paced(Session):
    """Does what is due, each operation in ``service_ns``, on a clock of its own."""

    service_ns: int = 1_000_000
    now_ns: int = 0
    dues: list[int] = field(default_factory=list)

    def run_slice(self, request):
        self.requests.append(request)
        begun, due, limit = len(self.dues), request.due_ns, request.due_ns + request.due_for_us * 1000
        self.now_ns = max(self.now_ns, request.not_before_ns)
        while due < limit and max(self.now_ns, due) < request.until_ns:
            self.dues.append(due)
            self.now_ns = max(self.now_ns, due) + self.service_ns
            due += round((request.interval_us or 0) * 1000)
        if due < limit:
            self.now_ns = max(self.now_ns, request.until_ns)
        ops = len(self.dues) - begun
        return SliceResult(request.not_before_ns, self.now_ns, None, SliceCounts(ops), {}, due_ns=due)


def due_times(session, schedule, sessions=1, number=0, seconds=40):
    """When the operations of a session are due, in s of the window; also what the worker reported."""
    load = Workload(sessions=sessions, rate_schedule=schedule, run_time=seconds)
    plan, reports = session_plans(load, 8192, "test")[number], []
    worker = Worker(session, plan, reports.append, lambda: False)
    worker.give(Phase("window", BEGIN, BEGIN + seconds * NANOS))
    worker.give(None)
    worker.run()
    assert not [report for report in reports if isinstance(report, Lost)]
    return [(due - BEGIN) / NANOS for due in session.dues], reports


@table("service_ms", [1, 30])
def test_operations_are_due_at_the_rate_of_their_stage_also_while_the_session_is_behind(service_ms):
    """20 a second can take 30 ms each, 100 a second can't: a backlog of 20 s is left."""
    dues, _ = due_times(Paced(service_ns=service_ms * 1_000_000), "0s:20,10s:100,20s:20", seconds=80)
    of_stages = [bisect_left(dues, at) for at in (10, 20, 80)]
    assert of_stages == [200, 1200, 2400]
    gaps = [round(after - before, 6) for before, after in pairwise(dues)]
    assert [set(gaps[low : high - 1]) for low, high in pairwise([0, *of_stages])] == [{0.05}, {0.01}, {0.05}]


def test_what_is_left_of_an_interval_takes_its_time_at_the_next_rate():
    """One in 10 s is due at 0 s and at 10 s: half of it has passed at 5 s, and the rest takes half of 1 s."""
    dues, _ = due_times(Paced(), "0s:0.1,5s:1", seconds=8)
    assert dues == [0, 5.5, 6.5, 7.5]


def test_sessions_share_a_rate_that_changes_evenly():
    together = sorted(
        due for number in range(3) for due in due_times(Paced(), "0s:30,4s:90", sessions=3, number=number, seconds=8)[0]
    )
    gaps = [after - before for before, after in pairwise(together)]
    assert gaps[:119] == pytest.approx([1 / 30] * 119, abs=1e-6)
    assert gaps[120:479] == pytest.approx([1 / 90] * 359, abs=1e-6)


def test_a_ramp_has_as_many_operations_as_its_line():
    dues, _ = due_times(Paced(), "0s:10,10s:10-50,30s:50")
    assert [bisect_left(dues, at) for at in (10, 20, 30, 40)] == [100, 300, 700, 1200]


def test_slices_of_a_rate_that_changes_go_on_until_the_window_ends():
    session = Paced(service_ns=30_000_000)
    _, reports = due_times(session, "0s:20,10s:100,20s:20", seconds=60)
    done = [report for report in reports if isinstance(report, SliceDone)]
    assert [report.number for report in done] == list(range(len(done)))
    assert [report.first_op for report in done[1:]] == [
        report.first_op + report.result.counts.ops for report in done[:-1]
    ]
    assert session.requests[-1].until_ns == BEGIN + 60 * NANOS
    assert [report.result.due_ns for report in done[:-1]] == [request.due_ns for request in session.requests[1:]]


def test_the_warm_up_has_the_first_rate():
    requests, _ = worked([WARM_UP], sessions=1, rate_schedule="0s:20,1s:100", run_time=10)
    assert {request.interval_us for request in requests} == {None}
    (plan,) = session_plans(Workload(sessions=1, rate_schedule="0s:20,1s:100", run_time=10), 8192, "test")
    assert plan.interval_us == 50_000
