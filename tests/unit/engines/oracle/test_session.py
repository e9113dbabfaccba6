"""A session of Oracle's work loop over a connection without a network: what it sends, and what it makes of answers."""

from decimal import Decimal

import oracledb
import pytest

from factories.oracle.double import Answers, Raw, connected, rows, statements_of
from factories.oracle.wire_executor import OracleError
from openslob.core.errors import SlobError, UsageError
from openslob.core.method import OpKind
from openslob.core.workload import CommitMode, Workload
from openslob.engines.base import SliceRequest
from openslob.engines.oracle.connection import Connection
from openslob.engines.oracle.known_settings import list_settings
from openslob.engines.oracle.session import OracleSession, measure_clock
from openslob.engines.oracle.slice_procedure import KEPT, NO_LOCAL_PATH, RESULTS, TEXTS
from openslob.kinds.run.plan import session_plans

NOTHING = {name: None if name in TEXTS else 0 for name in RESULTS}


class Loop:
    """Answers calls of the procedure; ``calls`` are their binds."""

    def __init__(self):
        self.calls = []
        self.returned = {}

    def __call__(self, binds):
        self.calls.append(dict(binds))
        return {**NOTHING, "random_state": binds["random_state"] + 1, "due_us": binds["due_us"], **self.returned}


def session_of(loop, clustered=0, **parameters):
    return session_over(connection_to(loop, clustered), **parameters)


def connection_to(loop, clustered=0):
    return connected(Answers().say("IS_CLUSTER", {"clustered": clustered}).say("SLOB_SLICE_1", loop))


def session_over(connection, **parameters):
    load = Workload(**{"scale": "512", "scan_table_sz": "10", "warmup": 0, **parameters})
    return OracleSession(connection, session_plans(load, 8192, "t")[0])


def order(first_op=0, max_ops=10, due_ns=None):
    return SliceRequest(first_op, 5_000_000_123_000, 9_000_000_000_999, max_ops, due_ns)


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ((11, 2, 0, 4), set()),
        ((12, 1, 0, 2), set()),
        ((12, 2, 0, 1), {"adaptive_plans"}),
        ((18, 3), {"adaptive_plans", "hints"}),
        ((23, 4), {"adaptive_plans", "hints"}),
    ],
)
def test_settings_are_those_that_the_version_knows(version, newer):
    always = {"clock", "numbers", "plan", "dynamic_sampling"}
    assert set(list_settings(version, CommitMode.ENGINE)) == always | newer


@pytest.mark.parametrize(
    "begin",
    [
        "SET OPTIMIZER_DYNAMIC_SAMPLING", "SET OPTIMIZER_ADAPTIVE_PLANS", "SET OPTIMIZER_IGNORE_HINTS",
        "SET COMMIT_WAIT", "DISABLE PARALLEL QUERY",
    ],
)  # fmt: skip
@pytest.mark.parametrize("refusal", [OracleError(1031, "insufficient privileges"), OracleError(2248, "invalid option")])
def test_a_session_goes_on_without_a_setting_that_the_service_refuses(begin, refusal):
    loop = Loop()
    answers = Answers().say("IS_CLUSTER", {"clustered": 0}).say("SLOB_SLICE_1", loop).say(begin, refusal)
    connection = connected(answers)
    session_over(connection, update_pct=0).prepare()
    assert sum(text.startswith("ALTER SESSION") for text in statements_of(connection)) == 7
    assert loop.calls


@pytest.mark.parametrize(
    ("begin", "error"),
    [
        ("SET TIME_ZONE", OracleError(1031, "insufficient privileges")),
        ("SET OPTIMIZER_ADAPTIVE_PLANS", OracleError(600, "internal error code")),
        ("SET COMMIT_WAIT", OracleError(28, "your session has been killed")),
    ],
)
def test_it_does_not_go_on_after_another_error_or_without_its_clock(begin, error):
    answers = Answers().say("IS_CLUSTER", {"clustered": 0}).say("SLOB_SLICE_1", Loop()).say(begin, error)
    with pytest.raises(SlobError, match=r"session 0 was lost: ORA-\d+"):
        session_over(connected(answers)).prepare()


class ThickRaw(Raw):
    """The library's connection in thick mode, which does not tell the session's numbers."""

    @property
    def session_id(self):
        raise oracledb.NotSupportedError("DPY-3001: getting the session id is only supported in thin mode")

    @session_id.setter
    def session_id(self, value):
        pass


def test_in_thick_mode_the_server_is_asked_for_the_session_s_number():
    asked = Answers().say(r"SYS_CONTEXT\('USERENV', 'SID'\)", rows({"sid": "1234"}))
    plan = session_plans(Workload(scale="512", scan_table_sz="10", warmup=0), 8192, "t")[0]
    assert OracleSession(Connection(ThickRaw(asked, "11.2.0.4.0", thin=False)), plan).backend_id() == 1234
    assert OracleSession(Connection(Raw(Answers())), plan).backend_id() == 42


@pytest.mark.parametrize(
    ("mode", "setting"),
    [("wait", "FORCE_WAIT"), ("nowait", "NOWAIT"), ("engine", None)],
)
def test_a_session_sets_how_commits_wait(mode, setting):
    connection = connection_to(Loop())
    session_over(connection, commit_mode=mode).prepare()
    sent = [text for text in statements_of(connection) if "COMMIT_WAIT" in text]
    assert sent == ([f"ALTER SESSION SET COMMIT_WAIT = '{setting}'"] if setting else [])


def test_one_operation_of_each_kind_is_run_first_and_then_the_seed_is_set():
    loop = Loop()
    session = session_of(loop, update_pct=50, scan_pct=10, think_tm_frequency=3, target_ops=10, sessions=1)
    session.prepare()
    shares = [(call["update_pct"], call["scan_pct"]) for call in loop.calls]
    assert shares == [(0, 0), (0, 100), (100, 0)]
    for call in loop.calls:
        assert (call["first_op"], call["max_ops"], call["think_every"], call["interval_us"]) == (-1, 1, 0, 0)
    session.run_slice(order(due_ns=5))
    assert loop.calls[-1]["random_state"] == loop.calls[0]["random_state"]
    assert (loop.calls[-1]["update_pct"], loop.calls[-1]["think_every"]) == (50, 3)


def test_a_slice_goes_on_where_the_one_before_it_ended():
    loop = Loop()
    loop.returned = {"random_state": -7, "resume_us": 123, "due_us": Decimal("17.125"), "ops": 4, "ended_us": 8}
    session = session_of(loop, target_ops=10, sessions=1)
    result = session.run_slice(order(due_ns=2_000_000_000_000_001_500))
    assert loop.calls[0]["due_us"] == Decimal("2000000000000001.5")
    assert (loop.calls[0]["not_before_us"], loop.calls[0]["until_us"]) == (5_000_000_123, 9_000_000_000)
    assert result.due_ns == 17_125
    session.run_slice(order(4, due_ns=result.due_ns))
    assert {name: loop.calls[1][name] for name in KEPT} == {
        "random_state": -7, "resume_us": 123, "due_us": Decimal("17.125"),
    }  # fmt: skip


def test_what_a_slice_returns():
    loop = Loop()
    loop.returned = {
        "began_us": 100, "ended_us": 300, "ops": 3, "rows_read": 128, "rows_updated": 64, "conflicts": 2,
        "select_hist": "50 30 14 1 27 1", "update_hist": "99 99 98 1",
    }  # fmt: skip
    result = session_of(loop).run_slice(order())
    assert (result.start_ns, result.end_ns, result.first_op_ns) == (100_000, 300_000, 100_000)
    counts = result.counts
    assert (counts.ops, counts.selects, counts.updates, counts.scans, counts.conflicts) == (3, 2, 1, 0, 2)
    assert result.latency[OpKind.SELECT].sum_us == 50
    assert (result.response, result.due_ns, result.wake_ups.count) == ({}, None, 0)
    assert result.busy_us == 149


@pytest.mark.parametrize(("clustered", "instance"), [(0, None), (1, "slob")])
def test_a_session_of_a_cluster_says_where_it_landed(clustered, instance):
    session = session_of(Loop(), clustered)
    session.prepare()
    assert session.instance() == instance
    assert session.backend_id() == 42


def test_an_error_is_one_line():
    def lost(_):
        raise OracleError(28, "your session has been killed\nORA-06512: at line 1")

    with pytest.raises(SlobError, match=r"session 0 .* ORA-00028: ") as raised:
        session_of(lost).run_slice(order())
    assert "\n" not in str(raised.value)


def test_tables_of_a_sessions_own_are_refused_with_the_reason():
    session = session_of(Loop(), block_path="local")
    with pytest.raises(UsageError) as raised:
        session.load_private_tables(lambda _: None)
    assert (raised.value.what, raised.value.remedy) == (NO_LOCAL_PATH.why, NO_LOCAL_PATH.remedy)


def test_the_clock_is_described_in_text():
    answers = Answers().say("clock_step_us", {"clock_step_us": 1.0}).say("clock_cost_us", {"clock_cost_us": 0.87654})
    assert measure_clock(connected(answers)) == {"clock_step_us": 1.0, "clock_cost_us": 0.87654}
