"""A managed standby: no command writes to it, restarts it for that, or gives it settings that it can't follow with."""

from __future__ import annotations

import pytest

from factories.running import eventually, load, slob
from factories.server_subjects import SUBJECTS
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed.base import RUNNING

pytestmark = pytest.mark.server

MAIN, COPY = "s-main", "s-copy"
ASKS = {subject.engine: subject for subject in SUBJECTS}
# How many tables of the data a server has.
TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'cf_\\_%'"
WRITING = [
    ["load", "--target", COPY, "--schemas", "1", "--scale", "4M"],
    ["drop", "--target", COPY],
    ["crash", "--server", COPY, "--cycles", "1"],
    ["observe", "--target", COPY, "--workload", "tpcb", "--for", "1s"],
    ["sweep", "--target", COPY, "--sessions", "1", "--run-time", "1", "--cache", "24M,32M"],
    ["sweep", "--target", COPY, "--sessions", "1", "--run-time", "1"],
]
RESTARTING = {"postgresql": "max_worker_processes=4", "mariadb": "innodb_purge_threads=2"}


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def copy(request, make_server):
    """A running standby of a loaded server; both are gone at the end."""
    small = {"engine": request.param, "cache_bytes": 16 * MIB, "log_bytes": 64 * MIB, "max_sessions": 20}
    main = make_server(name=MAIN, **small)
    load(main)
    made = make_server(name=COPY, standby_of=MAIN, **small)
    yield made
    made.destroy()
    main.destroy()


def ask(name, statement):
    server = registry.find(name)
    return ASKS[server.status().spec.engine].execute(server, statement)


def refused(copy, words):
    """Return what a command said that left the standby as it was: running, read-only, and following its primary."""
    before = copy.status().pid
    done = slob(*words)
    after = registry.find(COPY).status()
    assert (done.returncode, done.stdout) == (2, "")
    assert (after.state, after.pid) == (RUNNING, before)
    assert registry.resolve_as_is(COPY).facts().read_only
    assert ask(COPY, TABLES) == ask(MAIN, TABLES) != "0"
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_a_command_that_would_write_to_a_standby_is_refused(copy, words, tmp_path):
    told_where = [] if words[0] in ("load", "drop") else ["--results", str(tmp_path)]
    said = refused(copy, [*words, *told_where])
    assert said == f"slob: the server {COPY} is a standby, which takes no writes; name its primary instead: {MAIN}"
    assert not list(tmp_path.iterdir())


def test_a_load_is_refused_in_one_line(copy):
    assert len(slob(*WRITING[0]).stderr.splitlines()) == 1


def test_a_run_does_not_restart_a_standby_with_other_settings(copy, tmp_path):
    setting = RESTARTING[copy.status().spec.engine]
    said = refused(copy, ["run", "--target", COPY, "--set", setting, "--run-time", "1", "--results", str(tmp_path)])
    assert f"name its primary instead: {MAIN}" in said


@pytest.mark.parametrize("words", [WRITING[0], WRITING[1]], ids=" ".join)
def test_nor_does_a_url_let_anybody_write_to_it(copy, words):
    by_url = [copy.status().url if word == COPY else word for word in words]
    assert refused(copy, by_url).endswith("takes no writes: it is a standby, or read-only; name the primary")


def test_data_that_are_there_are_verified_on_a_standby_too(copy):
    spec = registry.resolve_as_is(MAIN).data.state().spec
    sizes = ["--schemas", str(spec.schemas), "--scale", str(spec.scale_blocks), "--scan-table-sz"]
    done = slob("load", "--target", COPY, *sizes, str(spec.scan_blocks))
    assert done.returncode == 0, done.stderr
    assert "already there and verified" in done.stdout


def test_the_standby_still_follows(copy):
    ask(MAIN, "CREATE TABLE followed AS SELECT 1 AS one")
    there = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'followed'"
    assert eventually(lambda: ask(COPY, there) == "1")


def test_a_primary_has_no_more_sessions_than_its_standbys(copy):
    """PostgreSQL's standby would not start with fewer connections, or stand still; MariaDB's need not have as many."""
    if copy.status().spec.engine != "postgresql":
        assert slob("server", "start", COPY, "--max-sessions", "19").returncode == 0
        return
    fewer = refused(copy, ["server", "start", COPY, "--max-sessions", "19"])
    assert f"{COPY} needs at least the --max-sessions of its primary {MAIN}: 20" in fewer
    more = refused(copy, ["server", "start", MAIN, "--max-sessions", "21"])
    assert more.endswith(f"raise that first: slob server start {COPY} --max-sessions 21")
    for name in (COPY, MAIN):
        assert slob("server", "start", name, "--max-sessions", "21").returncode == 0
    assert registry.resolve_as_is(COPY).facts().read_only
