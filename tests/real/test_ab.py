"""`slob ab` on a real server: each run after a restart with its settings, and the server as it was in the end."""

from __future__ import annotations

import pytest

from factories.running import slob
from openslob.engines import registry
from openslob.kinds.ab.record import AbFolder
from openslob.record import store
from openslob.record.model import SET, Holds, Status

pytestmark = pytest.mark.server

# As short as it may be: six pairs that take no longer than they must.
LOAD = ("--schemas", "2", "--scale", "4M", "--sessions", "2", "--warmup", "0", "--for", "60s", "--until-decided")
CODES = {"better": 0, "same": 0, "worse": 3, "undecided": 4}


@pytest.fixture(scope="module")
def compared(make_server, tmp_path_factory):
    """A comparison of settings, one of which needs a restart, on a server that was down; and what it printed."""
    server, results = make_server(), tmp_path_factory.mktemp("ab")
    server.stop()
    done = slob("ab", "as-is", "work_mem=8MB,wal_buffers=4MB", "--target", server.name, *LOAD, "--results", results)
    (folder,) = results.glob("*-ab")
    return done, server, AbFolder.load(folder), folder


def test_its_exit_code_is_its_decision(compared):
    done, _, record, _ = compared
    # On a host that loses each window no pair is complete.
    expected = 1 if record.status is Status.FAILED else CODES[record.decision]
    assert done.returncode == expected, done.stdout + done.stderr
    assert len(record.runs) >= 2
    if any(each.pairs for each in record.looks):
        assert {each.name: each.verdict for each in record.verdicts}["each_restarted"] is Holds.HOLDS


def test_each_side_had_its_settings_after_a_start_of_its_own_and_both_sides_of_a_pair_the_same_blocks(compared):
    _, _, record, folder = compared
    runs = [(each, store.load(folder / each.run)) for each in record.runs if each.run]
    for each, run in runs:
        own = {"work_mem": "8MB", "wal_buffers": "4MB"} if each.side == "B" else {}
        assert run.engine.get(SET, {}) == own
        assert (run.engine["settings"]["wal_buffers"] == "4MB") is bool(own)
    seeds = {(each.pair, run.spec["seed"]) for each, run in runs}
    assert len(seeds) == record.pairs_begun
    starts = {each.server_started_at for each, _ in runs}
    assert len(starts) == len({(each.pair, each.side) for each, _ in runs})


def test_the_server_is_as_it_was(compared):
    _, server, _, _ = compared
    found = registry.find(server.name)
    assert found is not None
    status = found.status()
    assert (status.state, status.spec.settings) == ("stopped", "")


def test_what_it_noted_follows_from_its_runs(compared):
    _, _, _, folder = compared
    done = slob("verify", folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_command_prepares_each_run_of_its_side(make_server, tmp_path):
    server, file, results = make_server(), tmp_path / "prepared", tmp_path / "results"
    slob("ab", "as-is", f"sh -c 'echo x >> {file}'", "--target", server.name, *LOAD, "--results", results)
    (folder,) = results.glob("*-ab")
    runs = [each for each in AbFolder.load(folder).runs if each.side == "B" and not each.made_again]
    assert len(file.read_text().split()) == len(runs) > 0
    assert server.status().state == "running"
