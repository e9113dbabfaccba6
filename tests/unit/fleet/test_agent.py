"""A driver by itself: it does what it is told, once, and ends its sessions when nobody tells it anything."""

import time

import pytest

from factories.fleets import MadeUpServer, server_ns, use_made_up
from factories.running import eventually
from openslob.errors import SlobError
from openslob.fleet import agent as agent_module
from openslob.fleet.agent import DriverAgent
from openslob.fleet.messages import Order, Said
from openslob.run.plan import Phase, session_plans
from openslob.run.worker import Ready
from openslob.units import NANOS
from openslob.workload import Workload


@pytest.fixture
def order(monkeypatch, tmp_path):
    server = MadeUpServer()
    use_made_up(monkeypatch, server, tmp_path)
    plans = session_plans(Workload(schemas=1, sessions=2, run_time=60), 8192, "t")
    return Order(tmp_path.name, 1, server.address, plans, None)


@pytest.fixture
def agent(order):
    found = DriverAgent()
    found.begin(order)
    yield found
    found.end()


def ready(agent):
    heard = []

    def all_said():
        heard[:] = agent.exchange(Said()).reports
        return sum(isinstance(each, Ready) for each in heard) == 2

    eventually(all_said)
    return heard


def test_an_order_is_taken_once(agent, order):
    with pytest.raises(SlobError, match="nothing is run twice"):
        DriverAgent().begin(order)


def test_files_that_are_there_are_not_written_again(agent, order, monkeypatch):
    monkeypatch.setattr(agent_module, "_HAD", set())
    with pytest.raises(SlobError, match="was begun before"):
        DriverAgent().begin(order)


def test_a_process_that_was_restarted_has_no_order():
    with pytest.raises(SlobError, match="its process was restarted"):
        DriverAgent().exchange(Said())


def test_reports_are_kept_until_they_were_heard(agent):
    reports = ready(agent)
    assert agent.exchange(Said()).reports == reports
    assert agent.exchange(Said(heard=1)).reports == reports[1:]
    last = agent.exchange(Said(heard=2))
    assert (last.first, last.reports) == (2, [])
    assert agent.exchange(Said(heard=1)).first == 2, "an old message is not the newest one"


def test_a_phase_that_is_said_twice_is_run_once_and_its_end_can_be_moved(agent):
    ready(agent)
    begin_ns = server_ns()
    agent.exchange(Said(Phase("window", begin_ns, begin_ns + 3600 * NANOS), heard=2))
    eventually(lambda: agent.exchange(Said(heard=2)).begun == 2)
    assert agent.exchange(Said(Phase("window", begin_ns, begin_ns), heard=2)).alive == {0, 1}
    assert agent._job._phase.end_ns == begin_ns


def test_what_a_driver_uses_before_the_window_begins_is_not_of_the_window(agent):
    ready(agent)
    given_ns, begin_ns = time.monotonic_ns(), server_ns() + 2 * NANOS
    agent.exchange(Said(Phase("window", begin_ns, begin_ns + 3600 * NANOS), heard=2))
    eventually(lambda: agent._job._has_begun)
    # A busy host may let it wait, but not until the window has begun.
    assert NANOS < agent._job._before.time_ns - given_ns < 2.1 * NANOS


def test_sessions_end_when_nobody_says_anything(agent, monkeypatch):
    ready(agent)
    monkeypatch.setattr(agent_module, "ALONE_S", 0.1)
    time.sleep(0.2)
    eventually(lambda: not agent._job._alive())


def test_the_password_of_the_target_is_not_in_what_a_log_shows(order):
    from openslob.secrets import Target  # noqa: PLC0415

    secret = Order("r", 1, Target.parse("postgresql://u:hidden@h/d"), order.plans, None)
    assert "hidden" not in repr(secret)
    assert "hidden" not in str(secret)
