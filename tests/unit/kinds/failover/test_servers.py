"""Who makes an outage and takes over, without any server: what is asked of managed ones."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest

from factories.running import eventually
from factories.two_servers import Session, World
from openslob.core.errors import SlobError, UsageError
from openslob.kinds.failover.execute import OpenSessions
from openslob.kinds.failover.servers import ManagedNodes, ManagedPair
from openslob.kinds.failover.sessions import FailoverSession, Plan


def test_commits_wait_for_no_standby_after_a_test_that_let_them_wait():
    said = []
    primary = SimpleNamespace(name="main", await_copies=said.append)
    pair = ManagedPair(primary, primary)
    pair.release()
    assert said == []  # whatever its owner has set
    pair.synchronous(True)
    pair.release()
    assert said == [True, False]


def test_a_primary_that_is_down_is_no_further_error():
    def refuse(on):
        if not on:
            raise SlobError("it is down")

    pair = ManagedPair(SimpleNamespace(name="main", await_copies=refuse), SimpleNamespace(name="copy"))
    pair.synchronous(True)
    pair.release()


class Cluster:
    """A cluster of which it is written down what is asked of it."""

    def __init__(self):
        self.said = []
        self.nodes = [
            SimpleNamespace(name=name, kill=lambda name=name: self.said.append(f"kill {name}")) for name in "abc"
        ]

    def await_others(self, name):
        self.said.append(f"without {name}")
        return 7

    def mend(self):
        self.said.append("mend")


def test_each_node_of_a_cluster_is_killed_in_turn():
    cluster = Cluster()
    nodes = ManagedNodes(cluster)
    for _ in range(2):
        nodes.cause()
        assert nodes.take_over() == 7
        nodes.mend()
    assert cluster.said == ["kill a", "without a", "mend", "kill b", "without b", "mend"]
    assert nodes.names == ["c", "a", "b"]
    with pytest.raises(UsageError, match="leave out --synchronous"):
        nodes.synchronous(True)


def test_an_old_primary_that_comes_back_and_takes_writes_is_a_problem_and_not_the_one_that_counts():
    world = World()
    plan = Plan(dict(enumerate(world.servers)), rows=4, sessions=2)
    clients = [FailoverSession(number, plan) for number in range(2)]
    for client in clients:
        client.journal.add(1, 1, target=1, done_ns=1)
    team = OpenSessions([], world.servers, plan, clients, names=("old", "new"))
    assert (team.writers(), team.find_divided(team.writers())) == ([0], [])
    world.writes_go_to = {0, 1}
    assert team.writers() == [1, 0]
    assert team.find_divided([1, 0]) == [
        "new and old take writes, each for itself (split brain): what one has the other lacks"
    ]
    plan.spread = True
    assert team.find_divided([1, 0]) == []
    world.writes_go_to = set()
    with pytest.raises(SlobError, match="a copy"):
        team.writers()


class Hung(Session):
    """A connection to a server that stands still: it answers nothing until it is cut off."""

    def __init__(self, server, session):
        super().__init__(server, session)
        self.cut_off = Event()

    def last(self):
        assert self.cut_off.wait(60)
        raise SlobError("the connection was lost")

    def cut(self):
        self.cut_off.set()


@pytest.mark.parametrize("late", [True, False], ids=["when its answer is late", "at the end"])
def test_a_session_that_asks_a_server_which_hangs_is_cut_off(late):
    world = World()
    plan = Plan(dict(enumerate(world.servers)), rows=4, answer_s=0.01 if late else 600)
    client = FailoverSession(0, plan)
    client.connect()
    hung = []
    world.servers[1].open_session = lambda number: hung.append(Hung(world.servers[1], number)) or hung[-1]
    client.start()
    world.alive.discard(0)
    assert eventually(lambda: hung)
    if late:
        assert eventually(lambda: client.cut_if_late() or len(hung) > 1)
    plan.stop.set()
    assert eventually(lambda: client.cut() or client.join(0.05))
