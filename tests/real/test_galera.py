"""A Galera cluster: a load on its copies, a run whose updates meet on the same rows, and the death of a node."""

from __future__ import annotations

import time

import pytest

from factories import galera
from factories.running import FULL_SPEED, ignore, judged, measured, verdicts_of
from openslob.core.interrupt import Interrupt
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.cluster.engine import ClusterEngine
from openslob.kinds.failover.execute import Conduct, FailoverRequest
from openslob.kinds.failover.servers import ManagedNodes
from openslob.kinds.run import loading
from openslob.record.model import Holds, Status

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(galera.why_not()), reason=galera.why_not() or "it is there")]

# Enough batches that two nodes' appliers put some of them in out of order.
DATA = {"schemas": 1, "scale": "1500", "scan_table_sz": "20"}
# So few rows that sessions of different nodes meet on them.
ROWS = "20"


@pytest.fixture(scope="module")
def cluster(slob_home):
    with galera.galera(3) as running:
        yield running


@pytest.fixture(scope="module")
def nodes(cluster):
    return [galera.Node(server) for server in cluster.nodes]


@pytest.fixture(scope="module")
def engine(nodes):
    """The three nodes as one target, loaded."""
    engine, server = registry.resolve(",".join(node.url for node in nodes))
    assert isinstance(engine, ClusterEngine)
    loading.load(engine, server, Workload(**DATA), ignore, lambda: False, ignore)
    return engine


def states(nodes):
    return [registry.resolve(node.url)[0].data.state() for node in nodes]


def test_three_nodes_join_and_what_one_commits_the_others_have(nodes):
    for node in nodes:
        node.wait_until("wsrep_cluster_size", "3")
    assert len({node.status("wsrep_cluster_state_uuid") for node in nodes}) == 1
    nodes[0].ask("CREATE TABLE slob.t (id int PRIMARY KEY) ENGINE=InnoDB")
    for number, node in enumerate(nodes):
        node.ask(f"INSERT INTO slob.t VALUES ({number})")
    deadline = time.monotonic() + galera.PATIENCE_S
    while {node.ask("SELECT count(*) FROM slob.t") for node in nodes} != {"3"}:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    nodes[0].ask("DROP TABLE slob.t")


def test_every_node_has_what_was_loaded_though_its_pages_may_be_others(nodes, engine):
    assert all(state.verified for state in states(nodes))
    nodes[0].ask("TRUNCATE slob.cf1_1", "ANALYZE TABLE slob.cf1_1")
    assert not any(state.verified for state in states(nodes))
    loading.load(engine, None, Workload(**DATA), ignore, lambda: False, ignore)
    assert all(state.verified for state in states(nodes))


def test_refused_updates_are_run_again_and_counted(engine, nodes, tmp_path):
    load = {**DATA, "scale": ROWS, "update_pct": 50, "work_unit": 1, "sessions": 3, "commit_mode": "nowait"}
    record = measured(engine, tmp_path, **load, **FULL_SPEED).record
    assert record.status == Status.COMPLETE
    assert record.errors == ()
    # On every node: of nodes that differ all values would be there.
    assert record.engine["settings"]["innodb_flush_log_at_trx_commit"] == "0"
    conflicts = record.summary["conflicts_total"].value
    assert conflicts > 0
    assert sum(row.conflicts for row in record.instances) == conflicts
    assert [row.role for row in record.instances] == ["read-write"] * 3
    found = verdicts_of(record)
    assert not judged(record, "counts_agree") or "refused attempt" in found["counts_agree"].why
    assert found["exact_mix"].verdict is Holds.HOLDS


def test_a_node_is_killed_and_the_others_go_on_with_every_operation(cluster, nodes, tmp_path):
    servers = ManagedNodes(cluster)
    request = FailoverRequest("test", tmp_path, sessions=3, before_s=2, recovery_s=10)
    record, _ = Conduct(request, servers, Interrupt(), ignore, mends_last=True).run()
    assert (record.errors, record.status) == ((), Status.COMPLETE)
    verdicts = {each.name: each.verdict for each in record.verdicts}
    assert verdicts["operations_accounted"] is Holds.HOLDS
    assert verdicts["no_acked_commit_lost"] is Holds.HOLDS
    (cycle,) = record.cycles
    assert (cycle.before, cycle.accounts["sessions_lost"]) == (nodes[0].server.name, 1)
    # The killed node is in the cluster again, and is killed last.
    assert servers.names[-1] == nodes[0].server.name
    assert {node.status("wsrep_cluster_size") for node in nodes} == {"3"}


def test_the_nodes_talk_through_tls_with_the_key_of_the_cluster(nodes):
    options = nodes[0].ask("SELECT @@wsrep_provider_options")
    assert "socket.ssl = YES" in options
    assert "gmcast.listen_addr = ssl://127.0.0.1:" in options
