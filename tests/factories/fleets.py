"""Drivers without Dask: agents in this process, and a server without a database whose sessions make operations up."""

import pickle
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram
from openslob.core.interrupt import Interrupt
from openslob.core.method import OpKind
from openslob.core.secrets import Address
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import CounterReading, SliceResult
from openslob.engines.patience import Patience
from openslob.fleet import agent as agent_module
from openslob.fleet.agent import DriverAgent
from openslob.fleet.channel import Driver
from openslob.fleet.crew import FleetCrew
from openslob.fleet.messages import Who
from openslob.kinds.run.plan import Phase, session_plans
from openslob.kinds.run.progress import Connecting
from openslob.kinds.run.recorder import WindowAccumulator
from openslob.kinds.run.session_pool import SessionPool
from openslob.kinds.run.worker import SliceDone

# The clock of the server, which is not that of any driver.
AHEAD_NS = 3600 * NANOS
HERE = Who("host", 1, "machine", "3", "1", "code")


def server_ns():
    return time.time_ns() + AHEAD_NS


class MadeUp:
    """A session that waits for the begin as in a server, then makes up a slice."""

    def __init__(self, server, plan):
        self._server = server
        self._plan = plan
        self._random = random.Random(f"{server.seed}/{plan.number}")
        self._cancelled = threading.Event()

    def prepare(self):
        if self._plan.number in self._server.refused:
            raise self._server.refused[self._plan.number]

    def plans(self):
        return {"select": "by the index"}

    def backend_id(self):
        return self._plan.number

    def instance(self):
        return None

    def run_slice(self, order):
        while server_ns() < min(order.not_before_ns, order.until_ns):
            time.sleep(0.005)
        begin_ns = max(order.not_before_ns, server_ns())
        self._server.begins(self._plan.number)
        while server_ns() < order.until_ns and not self._cancelled.wait(0.005) and not self._server.stopped.is_set():
            pass
        latency = {kind: self._histogram() for kind in OpKind}
        ops = sum(histogram.count for histogram in latency.values())
        return SliceResult(begin_ns, server_ns(), begin_ns, SliceCounts(ops=ops), latency)

    def _histogram(self):
        counts = {
            self._random.randrange(1800): self._random.randrange(1, 1000) for _ in range(self._random.randrange(40))
        }
        return Histogram(counts, sum_us=float(sum(counts)), max_us=float(max(counts, default=0)))

    def cancel(self):
        self._cancelled.set()
        return True

    def cut(self):
        self._cancelled.set()

    def close(self):
        pass


@dataclass
class MadeUpServer:
    """The engine of `MadeUp` sessions; ``refused`` has errors by session."""

    seed: int = 0
    refused: dict = field(default_factory=dict)
    stopped: threading.Event = field(default_factory=threading.Event)
    at_work: set = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)
    address: Address = field(default_factory=lambda: Address.parse("postgresql://u@made.up/d"))
    direct: Address | None = None
    agents: list = field(default_factory=list)

    def end_agents(self):
        """End what a test left of its drivers, as one to which its line was broken."""
        for each in self.agents:
            each.end()

    def begins(self, session):
        with self.changed:
            self.at_work.add(session)
            self.changed.notify_all()

    def wait_until_at_work(self, sessions):
        """Whether so many sessions have begun to work before long."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.at_work) >= sessions, 120)

    def follow(self, patience):
        pass

    def open_session(self, plan):
        return MadeUp(self, plan)

    def open_counters(self):
        return self

    def read(self):
        return CounterReading(server_ns(), {}, "")

    def open_stop(self):
        return self

    def request(self):
        self.stopped.set()

    def obstacle(self):
        return ""

    def close(self):
        pass


class Line:
    """The line to an agent: what goes over it is pickled. It breaks when ``broken`` is set, and may delay answers.

    ``broken`` may be the error that it then raises.
    """

    def __init__(self, agent):
        self.agent = agent
        self.broken = False
        self.delays = {}
        self.lose_answers = 0

    def __getattr__(self, name):
        def call(*arguments):
            if self.broken:
                raise self.broken if isinstance(self.broken, OSError) else OSError("connection refused")
            time.sleep(self.delays.get(name, 0))
            answer = pickle.dumps(getattr(self.agent, name)(*pickle.loads(pickle.dumps(arguments))))
            return pickle.loads(answer)

        return call


@dataclass
class Rig:
    """A crew of several drivers, and the pool and accumulator of a run that it belongs to; ``ops`` are by session."""

    server: MadeUpServer
    folder: object
    drivers: int = 2
    sessions: int = 6
    run_time: float = 0.1
    shared: bool = True
    # Whether the drivers are on this host, so that they have its clocks.
    here: bool = True
    # Whether a driver may be late: a busy host lets processes wait.
    lenient: bool = True
    lines: dict = field(default_factory=dict)
    # While it is not set, the lines of all drivers are sought in vain.
    reachable: threading.Event = field(default_factory=threading.Event)
    ops: Counter = field(default_factory=Counter)

    def __post_init__(self):
        self.workload = Workload(schemas=1, sessions=self.sessions, run_time=self.run_time, warmup=0)
        self.plans = session_plans(self.workload, 8192, "t")
        self.reachable.set()
        self.lines = {number: Line(DriverAgent()) for number in range(1, self.drivers + 1)}
        self.server.agents += [line.agent for line in self.lines.values()]
        self.interrupt = Interrupt()
        self.pool = SessionPool(self.server, self.plans, Patience(self.interrupt), self.hire, self.folder)
        self.pool.clock_offset_ns = AHEAD_NS
        if self.lenient:
            self.pool.crew.late = str

    def hire(self, engine, plans, report, _stopping, folder):
        named = [Driver(number, f"tcp://h:{number}", HERE, self.here, 0.001) for number in self.lines]
        self.crew = FleetCrew(named, self.reach, engine.address, plans, report, folder, self.shared)
        return self.crew

    def reach(self, driver, _run):
        """The line to a driver, once it is reachable."""
        self.reachable.wait(120)
        return self.lines[driver.number]

    def window(self, lead_s=0.05):
        """Run all of it; returns the drivers' accounts and the accumulator."""
        try:
            self.pool.connect_all(Connecting(lambda _: None))
            begin_ns = server_ns() + int(lead_s * NANOS)
            accumulator = WindowAccumulator(self.plans, begin_ns)

            def handle(message):
                if isinstance(message, SliceDone):
                    accumulator.add(message.session, message.result)
                    self.ops[message.session] += message.result.counts.ops

            phase = Phase("window", begin_ns, begin_ns + int(self.run_time * NANOS))
            self.pool.run_phase(phase, handle)
            return self.pool.crew.collect(), accumulator
        finally:
            self.pool.shutdown()


def use_made_up(monkeypatch, server, home):
    """Let agents in this process connect to the made-up server, and keep files below ``home``."""
    monkeypatch.setattr(agent_module, "resolve_as_is", lambda _target: server)
    monkeypatch.setenv("OPENSLOB_HOME", str(home))
