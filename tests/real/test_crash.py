"""Proofs of durability on real servers: what they keep, and that a server made unsafe on purpose is caught."""

from __future__ import annotations

import json

import pytest

from factories.programs import need_mariadb
from factories.running import slob
from openslob.core.errors import SlobError
from openslob.durability.cut import require_fuse
from openslob.engines import registry

pytestmark = pytest.mark.server


def crashed(tmp_path, *words, rows=4):
    done = slob("crash", *words, "--sessions", "4", "--rows", rows, "--results", tmp_path, "--json")
    record = json.loads(done.stdout)
    assert record["status"] == "complete", record["errors"]
    return done, record, {verdict["name"]: verdict for verdict in record["verdicts"]}


def need_cuts():
    try:
        require_fuse()
    except SlobError as error:
        pytest.skip(str(error))


def test_a_server_keeps_what_it_acknowledged_when_it_is_killed_and_when_its_storage_is_cut(tmp_path):
    need_cuts()
    done, record, verdicts = crashed(tmp_path, "--engine", "postgresql", "--kind", "both", "--cycles", "2")
    assert (done.returncode, verdicts["no_acked_commit_lost"]["verdict"]) == (0, "holds"), done.stderr
    assert verdicts["nothing_damaged"]["verdict"] == "holds"
    assert [cycle["kind"] for cycle in record["cycles"]] == ["kill", "cut"]
    assert all(cycle["in_doubt"] <= 4 and cycle["recovery_s"] > 0 for cycle in record["cycles"])
    assert registry.find("crash-postgresql") is None
    assert list(registry.servers_place().glob("crash-*")) == []


def test_mariadb_on_a_lying_disk_is_caught_by_a_cut_and_not_by_kills(tmp_path):
    need_cuts()
    need_mariadb()
    words = ("--engine", "mariadb", "--control", "lying-disk", "--kind", "both", "--cycles", "2")
    done, record, verdicts = crashed(tmp_path, *words)
    assert (done.returncode, verdicts["control_caught"]["verdict"]) == (0, "unknown"), done.stderr
    assert "1 of 1 crashes with lying-disk were found" in verdicts["control_caught"]["why"]
    killed, cut = record["cycles"]
    assert killed["lost"] == 0
    assert cut["lost"] >= cut["acked"] > 0
    assert (tmp_path / record["id"] / cut["ledger"]).is_file()


def test_torn_pages_of_a_server_without_protection_are_caught_and_kills_do_not_test_them(tmp_path):
    need_cuts()
    words = ("--engine", "postgresql", "--control", "full-page-writes-off", "--cycles", "1")
    # Four sessions with more rows than fit into the cache.
    done, record, verdicts = crashed(tmp_path, *words, "--kind", "cut", "--survive", "random", rows=512)
    assert done.returncode == 0, done.stderr
    assert record["cycles"][0]["torn_pages"] > 0
    assert "1 of 1 crashes with full-page-writes-off were found" in verdicts["control_caught"]["why"]
    done, record, verdicts = crashed(tmp_path, *words, "--kind", "kill")
    assert (done.returncode, verdicts["control_caught"]["verdict"]) == (0, "unknown"), done.stderr
    assert "torn pages are not tested" in verdicts["control_caught"]["why"]
    assert "Torn pages were not tested" in verdicts["nothing_damaged"]["why"]


def test_a_managed_server_of_the_user_runs_again_afterwards_without_our_tables(tmp_path, pg_server):
    done, _, verdicts = crashed(tmp_path, "--server", pg_server.name, "--cycles", "1")
    assert (done.returncode, verdicts["no_acked_commit_lost"]["verdict"]) == (0, "holds"), done.stderr
    assert pg_server.status().pid
    with pytest.raises(SlobError, match="the heartbeat can't be read"):
        registry.engine_for(pg_server.status().url).ledger().last_heartbeat()
