"""The command line and the Python interface ask a kind of measurement for the same, and call the same function."""

from __future__ import annotations

from dataclasses import replace

import pytest

import openslob
from factories.running import slob
from openslob.core.errors import SlobError

URL = "postgresql://me:secret@db1/test"
FLAGS = ("--sessions", "3", "--update-pct", "20", "--run-time", "5s", "--no-do-hotspot", "--scale", "64M")
RUN = {"sessions": 3, "update_pct": 20, "run_time": "5s", "do_hotspot": False, "scale": "64M"}
MEASURING = {"server_pid": 7, "consent": ["awr"]}


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """A function that returns what a call passes to the function at a place: the request, and the context."""
    monkeypatch.chdir(tmp_path)

    def asked(place, call):
        found = []

        def keep(request, context, *_):
            found.append((request, context))
            raise SlobError("kept")

        with monkeypatch.context() as patched:
            patched.setattr(place, keep)
            call()
        return found[0]

    return asked


def on_command_line(*words):
    return lambda: slob(*words, "--target", URL)


def in_python(call):
    def made():
        with pytest.raises(SlobError, match="kept"):
            call(openslob.target(URL, **MEASURING))

    return made


def of_user(request):
    """The request with what it takes from the environment: of that, each face has what is not of the user, too."""
    known = getattr(request, "environment", {})
    ours = {name: value for name, value in known.items() if name.startswith("SLOB_") and value}
    return replace(request, environment=ours) if known else request


OF_SERVER = ("--server-pid", "7", "--consent", "awr")


@pytest.mark.parametrize(
    ("places", "words", "call"),
    [
        (
            ("openslob.kinds.run.execute.execute",) * 2,
            ("run", *FLAGS, *OF_SERVER, "--set", "io_method=sync", "--name", "n", "--retries", "2",
             "--hook", "during true"),
            lambda target: target.run("n", settings={"io_method": "sync"}, retries=2, hooks=["during true"], **RUN),
        ),
        (
            ("openslob.cli.sweep.plan", "openslob.api.targets.sweep_plan"),
            ("sweep", *FLAGS[2:], "--sessions", "1,2", "--cache", "64M,1G", "--set", "io_method=sync,worker",
             "--repeats", "3", "--until-steady", "1m", "--against", "cache", "--new", *OF_SERVER),
            lambda target: target.sweep(
                cache=["64M", "1G"], settings={"io_method": ["sync", "worker"]}, repeats=3, until_steady="1m",
                against="cache", new=True, **{**RUN, "sessions": [1, 2]},
            ),
        ),
        (
            ("openslob.cli.sweep.plan", "openslob.api.targets.sweep_plan"),
            ("sweep", "--find-max-iops-under", "2ms", "--at", "p90", "--most-sessions", "64", *OF_SERVER),
            lambda target: target.sweep(find_max_iops_under="2ms", at="p90", most_sessions=64),
        ),
        (
            ("openslob.cli.endure.execute", "openslob.kinds.endurance.execute.execute"),
            ("endure", *FLAGS[:4], "--for", "8h", *OF_SERVER),
            lambda target: target.endure(duration="8h", sessions=3, update_pct=20),
        ),
        (
            ("openslob.cli.watch.execute", "openslob.kinds.repeated.execute.execute"),
            ("watch", "--every", "1m", "--for", "5m", "--run", " ".join(FLAGS)),
            lambda target: target.repeat(every="1m", duration="5m", **RUN),
        ),
        (
            ("openslob.cli.lab.plan", "openslob.api.functions.plan"),
            ("lab", "io_method=sync,worker", "--for", "10m", "--cache", "32M", "--loads", "commit", "--seed", "3"),
            lambda target: openslob.lab(
                ["io_method=sync,worker"], duration="10m", cache="32M", loads=["commit"], seed=3, target=target
            ),
        ),
        (
            ("openslob.cli.ab.plan", "openslob.kinds.ab.execute.plan"),
            ("ab", "as-is", "io_method=sync", "--until-decided", "--for", "5m", "--same-within", "3%", "--figure",
             "op_p99_us", "--retries", "2", *FLAGS, *OF_SERVER),
            lambda target: target.ab(
                "as-is", "io_method=sync", until_decided=True, duration="5m", same_within_pct=3, figure="op_p99_us",
                retries=2, **RUN,
            ),
        ),
    ],
    ids=("run", "sweep", "search", "endure", "repeat", "lab", "ab"),
)  # fmt: skip
def test_both_ask_for_the_same(ask, places, words, call):
    here, there = ask(places[0], on_command_line(*words)), ask(places[1], in_python(call))
    assert of_user(here[0]) == of_user(there[0])
    for context in (here[1], there[1]):
        assert context.address == URL
    assert here[1].results.absolute() == there[1].results.absolute()
    if "--server-pid" in words:
        assert {(each.server_pid, each.consented) for each in (here[1], there[1])} == {(7, frozenset({"awr"}))}
