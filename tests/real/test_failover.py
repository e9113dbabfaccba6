"""A managed pair: its primary dies under load, the standby takes over, and every operation is accounted for."""

from __future__ import annotations

import json

import pytest

from factories.running import eventually, slob
from factories.server_subjects import SUBJECTS
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.kinds.failover.record import COMMITS_FILE, LAG_FILE, load, rows_of
from openslob.record.model import Holds

pytestmark = pytest.mark.server

NAMES = ("f-one", "f-two")
# The slot of a standby, and its account.
KEPT = {
    "postgresql": "SELECT count(*) FROM pg_replication_slots",
    "mariadb": "SELECT count(*) FROM mysql.global_priv WHERE user LIKE 'slob-standby-f-one'",
}
ASKS = {subject.engine: subject for subject in SUBJECTS}


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def tested(request, make_server, tmp_path_factory):
    """The record of one outage of a synchronous pair, and its folder."""
    small = {"engine": request.param, "cache_bytes": 16 * MIB, "log_bytes": 64 * MIB, "max_sessions": 20}
    made = [make_server(name=NAMES[0], **small), make_server(name=NAMES[1], standby_of=NAMES[0], **small)]
    results = tmp_path_factory.mktemp("results")
    words = ["failover", "--target", ",".join(NAMES), "--before", "3s", "--recovery", "4s", "--sessions", "3"]
    refused = slob(*words, "--results", str(results))
    assert (refused.returncode, list(results.iterdir())) == (2, [])
    assert "f-one is killed, f-two promoted, and f-one created again as a copy of f-two" in refused.stderr
    done = slob(
        *words, "--yes", "--synchronous", "--require", "operations_accounted", "--results", str(results), "--json"
    )
    assert done.returncode == 0, done.stderr
    yield load(next(results.glob("*-failover"))), next(results.glob("*-failover"))
    for each in made:
        if server := registry.find(each.name):
            server.destroy()


def ask(name, statement):
    server = registry.find(name)
    return ASKS[server.status().spec.engine].execute(server, statement)


def test_every_operation_is_accounted_for_and_none_is_lost(tested):
    record, _ = tested
    verdicts = {each.name: each.verdict for each in record.verdicts}
    assert verdicts["operations_accounted"] is Holds.HOLDS
    assert verdicts["no_acked_commit_lost"] is Holds.HOLDS
    (cycle,) = record.cycles
    assert cycle.accounts["sessions_lost"] == 3
    assert cycle.accounts["sent"] == cycle.accounts["acked_there"] + sum(
        cycle.accounts[name] for name in ("acked_lost", "doubt_there", "doubt_gone")
    )


def test_the_outage_is_seen_by_both_clocks(tested):
    (cycle,) = tested[0].cycles
    assert (cycle.before, cycle.after) == NAMES
    assert 0 < cycle.value("takeover_s") < cycle.value("outage_s") + 60
    # What makes them differ on a busy host is told.
    told = abs(cycle.value("before_ms")) + abs(cycle.value("after_ms"))
    assert abs(cycle.value("clocks_differ_ms")) <= told + 0.01


def test_the_roles_have_changed_and_the_pair_is_whole_again(tested):
    specs = {name: registry.find(name).status().spec.standby_of for name in NAMES}
    assert specs == {NAMES[0]: NAMES[1], NAMES[1]: None}
    state = registry.resolve_as_is(NAMES[0]).facts()
    assert state.read_only


def test_lag_and_commits_have_time_lines(tested):
    record, folder = tested
    commits, lag = rows_of(folder, COMMITS_FILE), rows_of(folder, LAG_FILE)
    acked = sum(record.cycles[0].accounts[name] for name in ("acked_there", "acked_lost"))
    assert 0 < sum(int(row["acknowledged"]) for row in commits) <= acked
    assert {row["copy"] for row in lag} == {NAMES[1]}
    assert any(row["bytes_behind"] and row["heartbeat_s"] for row in lag)


def test_the_record_is_listed_shown_and_drawn(tested, tmp_path):
    _, folder = tested
    page = tmp_path / "page.html"
    shown = slob("show", str(folder))
    assert "No session was served for" in shown.stdout
    listed = json.loads(slob("list", "--results", str(folder.parent), "--json").stdout)
    assert [each["kind"] for each in listed] == ["failover"]
    assert "1 of 1 outages, at most" in slob("list", "--results", str(folder.parent)).stdout
    assert slob("report", str(folder), "-o", str(page)).returncode == 0
    assert "Commits through an outage" in page.read_text()


def test_the_tables_of_the_test_are_gone_on_both_since_the_copy_follows(tested):
    left = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'ledger%'"
    assert ask(NAMES[1], left) == "0"
    assert eventually(lambda: ask(NAMES[0], left) == "0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "embedded"], "there is no server 'embedded'"),
        (["--target", "f-one,f-two", "--on-outage", "true"], "slob kills, promotes and repairs managed servers itself"),
        (["--engine", "postgresql", "--target", "f-one,f-two"], "--engine is for a new pair"),
        (["--require", "no_such"], "there is no such verdict"),
        (["--engine", "oracle"], "servers, not of oracle"),
        (["--nodes", "3", "--engine", "postgresql"], "slob makes no clusters of postgresql"),
        (["--nodes", "3", "--synchronous"], "give no --target, --synchronous"),
    ],
)
def test_what_can_t_be_done_is_refused_in_one_line(words, said, tmp_path):
    done = slob("failover", *words, "--results", str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_what_a_primary_keeps_for_a_standby_goes_with_it(tested):
    engine = registry.find(NAMES[1]).status().spec.engine
    assert ask(NAMES[1], KEPT[engine]) == "1"
    registry.find(NAMES[0]).destroy()
    assert ask(NAMES[1], KEPT[engine]) == "0"
    assert registry.find(NAMES[1]).status().spec.port is None
