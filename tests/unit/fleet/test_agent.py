"""A driver by itself: it does what it is told, once, and ends its sessions when nobody tells it anything."""

import sys
import threading
import time

import pytest

from factories.fleets import MadeUpServer, server_ns, use_made_up
from factories.running import eventually
from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.fleet import agent as agent_module
from openslob.fleet.agent import DriverAgent
from openslob.fleet.messages import Order, Said
from openslob.host.sampler import OsReader
from openslob.kinds.run import worker
from openslob.kinds.run.plan import Phase, session_plans
from openslob.kinds.run.worker import PhaseDone, Ready

# Longer than any host takes.
PATIENCE_S = 120


@pytest.fixture
def server():
    return MadeUpServer()


@pytest.fixture
def order(server, monkeypatch, tmp_path):
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

    assert eventually(all_said)
    return heard


def test_an_order_is_taken_once(agent, order):
    with pytest.raises(SlobError, match="nothing is run twice"):
        DriverAgent().begin(order)


def test_files_that_are_there_are_not_written_again(agent, order, monkeypatch):
    monkeypatch.setattr(agent_module, "BEGUN_HERE", set())
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
    assert eventually(lambda: agent.exchange(Said(heard=2)).begun == 2)
    assert agent.exchange(Said(Phase("window", begin_ns, begin_ns), heard=2)).alive == {0, 1}
    assert agent.job.phase.end_ns == begin_ns


class Clock:
    """In place of the agent's `time`: the time of day stands still until the test moves it."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self):
        self.now_ns = time.time_ns()

    def time_ns(self):
        return self.now_ns


def test_what_a_driver_uses_before_the_window_begins_is_not_of_the_window(agent, monkeypatch):
    ready(agent)
    job, clock, read_at_ns = agent.job, Clock(), []
    read = OsReader.read
    monkeypatch.setattr(agent_module, "time", clock)
    monkeypatch.setattr(agent_module, "KEEP_S", 0.01)
    monkeypatch.setattr(OsReader, "read", lambda reader: (read_at_ns.append(clock.now_ns), read(reader))[1])
    driver_begin_ns = clock.now_ns + 2 * NANOS
    begin_ns = driver_begin_ns + round(job.use.clock_offset_s * NANOS)
    agent.exchange(Said(Phase("window", begin_ns, begin_ns + 3600 * NANOS), heard=2))
    for now_ns in (driver_begin_ns - NANOS, driver_begin_ns - NANOS // 100):
        with job.files_lock:  # not in the middle of a look at the clock
            clock.now_ns = now_ns
        assert eventually(lambda: read_at_ns[-1] == clock.now_ns)
    with job.files_lock:
        clock.now_ns = driver_begin_ns + NANOS
    assert eventually(lambda: job.has_begun)
    assert read_at_ns[-1] == driver_begin_ns - NANOS // 100, "the last reading is from before the begin"


def at_work(agent, server):
    """The agent with both sessions in a slice that lasts for an hour."""
    ready(agent)
    begin_ns = server_ns()
    agent.exchange(Said(Phase("window", begin_ns, begin_ns + 3600 * NANOS), heard=2))
    assert server.wait_until_at_work(2)


def test_sessions_end_when_nobody_says_anything_and_what_they_did_is_kept(agent, server, monkeypatch):
    at_work(agent, server)
    monkeypatch.setattr(agent_module, "LEAVE_S", 2.0 * PATIENCE_S)
    monkeypatch.setattr(agent_module, "ALONE_S", 0.0)
    assert agent.job.over.wait(PATIENCE_S)
    # Returns when all is written that the sessions reported last.
    agent.end()
    assert agent.job.alive() == frozenset()
    rows = (agent.job.folder / "slices.csv").read_text().splitlines()[1:]
    assert {row.split(",")[0] for row in rows} == {"0", "1"}
    assert agent.exchange(Said(heard=2)).error.startswith("it heard nothing for 0 s")


def test_sessions_stay_until_nothing_was_said_for_long(agent, server):
    job, rounds, ended = agent.job, threading.Semaphore(0), threading.Event()
    at_work(agent, server)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agent_module, "ALONE_S", 3600.0)
        patch.setattr(job, "end", ended.set)
        take = job.take_reports
        patch.setattr(job, "take_reports", lambda timeout_s: (rounds.release(), take(timeout_s))[1])
        job.said_at -= 3000
        # A round ends when the next one begins.
        assert all(rounds.acquire(timeout=PATIENCE_S) for _ in range(3))
        assert not ended.is_set()
        job.said_at -= 1000
        assert ended.wait(PATIENCE_S)


def done(heard):
    """The sessions that said that they had ended the phase."""
    return sorted(each.session for each in heard.reports if isinstance(each, PhaseDone))


def test_a_session_has_not_ended_before_all_that_it_reported_is_heard_however_slow_the_files_are(
    agent, server, monkeypatch
):
    slow = threading.Event()
    write = agent.job.write_rows
    monkeypatch.setattr(agent.job, "write_rows", lambda batch: (slow.wait(PATIENCE_S), write(batch)))
    monkeypatch.setattr(agent_module, "MOST_WAIT_S", 0.01)
    slow.set()
    at_work(agent, server)
    slow.clear()
    agent.exchange(Said(stop=True, ended=True, cancel=(0, 1), heard=2))
    assert eventually(lambda: not agent.job.alive())
    heard = agent.exchange(Said(heard=2))
    assert (done(heard), heard.alive) == ([], {0, 1})
    slow.set()
    assert eventually(lambda: not agent.exchange(Said(heard=2)).alive)
    assert done(agent.exchange(Said(heard=2))) == [0, 1]


# The traceback is to be shown.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_in_writing_the_files_is_said_and_not_waited_for(order, monkeypatch):
    others, agent = set(threading.enumerate()), DriverAgent()
    agent.begin(order)
    ready(agent)
    defects = iter([ZeroDivisionError("a defect")])

    def fail(_batch):
        for each in defects:
            raise each

    monkeypatch.setattr(agent.job, "write_rows", fail)
    assert eventually(lambda: agent.exchange(Said(heard=2)).error == "ZeroDivisionError('a defect')")
    # The traceback is this test's, and not the next one's.
    ours = [thread for thread in set(threading.enumerate()) - others if thread.name == "files"]
    assert eventually(lambda: not any(thread.is_alive() for thread in ours))
    agent.end()


def test_a_process_is_left_with_the_interval_of_threads_that_it_had(order, monkeypatch):
    monkeypatch.setattr(worker, "ASK_AFTER_S_A_SESSION", 0.1)
    before, agent = sys.getswitchinterval(), DriverAgent()
    agent.begin(order)
    ready(agent)
    assert sys.getswitchinterval() == pytest.approx(0.2)
    agent.end()
    assert sys.getswitchinterval() == pytest.approx(before)


def test_the_password_of_the_target_is_not_in_what_a_log_shows(order):
    from openslob.core.secrets import Address  # noqa: PLC0415

    secret = Order("r", 1, Address.parse("postgresql://u:hidden@h/d"), order.plans, None)
    assert "hidden" not in repr(secret)
    assert "hidden" not in str(secret)
