"""The helper that runs a Galera cluster on loopback: all nodes joined, changes on every node, refused ones counted."""

from __future__ import annotations

import time

import galera
import pytest

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(galera.why_not()), reason=galera.why_not() or "it is there")]


def test_three_nodes_join_and_what_one_commits_the_others_have():
    with galera.galera(3) as nodes:
        assert {node.status("wsrep_cluster_size") for node in nodes} == {"3"}
        assert len({node.status("wsrep_cluster_state_uuid") for node in nodes}) == 1
        nodes[0].ask("CREATE TABLE slob.t (id int PRIMARY KEY) ENGINE=InnoDB")
        for number, node in enumerate(nodes):
            node.ask(f"INSERT INTO slob.t VALUES ({number})")
        deadline = time.monotonic() + galera.PATIENCE_S
        while {node.ask("SELECT count(*) FROM slob.t") for node in nodes} != {"3"}:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        place = nodes[0].place
    assert not place.exists()
