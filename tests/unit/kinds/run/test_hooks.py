"""Commands beside a run: what is one, when it runs, how long it may take, what is kept of it, where it is refused."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from factories.tables import table
from openslob.core.errors import UsageError
from openslob.core.interrupt import Interrupt
from openslob.engines.facts import ServerLocation
from openslob.engines.managed.state import claim
from openslob.host.sampler import read_driver
from openslob.kinds.run import hooks
from openslob.kinds.run.hooks import Hook, HookRunner, Moment, hooks_of_script, parse_hooks, require_allowed


class Folder:
    """As much of a run's folder as hooks need."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def attach(self, name: str, content: str) -> str:
        (self.path / name).write_text(content)
        return f"attachments/{name}"


def runner(folder: Path, *texts: str, interrupt: Interrupt | None = None) -> tuple[HookRunner, list[str]]:
    notes: list[str] = []
    return HookRunner(parse_hooks(texts), Folder(folder), interrupt or Interrupt(), notes), notes


def shell(moment: str, script: str) -> str:
    return f"{moment} sh -c {shlex.quote(script)}"


@table(
    ("text", "match"),
    [
        ("iostat -x 1", "before, during or after"),
        ("during", "before, during or after"),
        ("", "before, during or after"),
        ("during 'iostat", "can't be read as a command"),
        ("after /nowhere/script", "is not found"),
    ],
)
def test_what_is_no_hook_is_refused_before_the_run(text, match):
    with pytest.raises(UsageError, match=match):
        parse_hooks([text])


def test_a_script_of_slob_conf_runs_before_and_after():
    assert hooks_of_script("") == ()
    found = hooks_of_script(sys.executable)
    assert [(each.moment, each.words[1:]) for each in found] == [(Moment.BEFORE, ("pre",)), (Moment.AFTER, ("post",))]
    with pytest.raises(UsageError, match="is not found"):
        hooks_of_script("/nowhere/script")


def test_output_and_exit_code_are_kept_and_the_command_finds_the_record(tmp_path):
    run, notes = runner(
        tmp_path,
        shell("before", 'echo "$OPENSLOB_HOOK $OPENSLOB_RECORD"; echo trouble >&2'),
        shell("after", "exit 3"),
        "after true --password hunter2",
    )
    run.run(Moment.BEFORE)
    assert (tmp_path / "hook-1-before.txt").read_text() == f"before {tmp_path}\ntrouble\n"
    assert run.facts[0]["exit_code"] == 0
    run.run(Moment.AFTER)
    assert [each["exit_code"] for each in run.facts] == [0, 3, 0]
    assert [each["output"] for each in run.facts[1:]] == [f"attachments/hook-{n}-after.txt" for n in (2, 3)]
    assert "done after" in notes[0]
    assert "failed with exit code 3" in notes[1]
    assert "hunter2" not in f"{run.facts}{notes}"


def test_what_hangs_has_a_limit_and_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "LIMIT_S", 0.2)
    run, notes = runner(tmp_path, shell("before", "echo begun; sleep 600"))
    run.run(Moment.BEFORE)
    assert run.facts[0]["exit_code"] is None
    assert "ended unfinished" in notes[0]
    assert (tmp_path / "hook-1-before.txt").read_text() == "begun\n"


def test_its_cpu_is_known_and_is_not_the_driver_s(tmp_path):
    run, _ = runner(tmp_path, shell("before", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"))
    before = read_driver(peak=False).values["driver_cpu_s"]
    run.run(Moment.BEFORE)
    assert read_driver(peak=False).values["driver_cpu_s"] - before < run.facts[0]["cpu_s"]


def test_leaving_at_once_ends_a_hook(tmp_path):
    interrupt = Interrupt()
    run, _ = runner(tmp_path, "after sleep 600", interrupt=interrupt)
    interrupt.request()
    interrupt.request()
    run.run(Moment.AFTER)
    assert run.facts[0]["exit_code"] is None


def test_a_command_of_the_window_runs_in_it_and_ends_with_it(tmp_path):
    begun = tmp_path / "begun"
    run, notes = runner(tmp_path, shell("during", f"echo here; touch {begun}; sleep 600"), "before true")
    with run.during():
        while not begun.exists():
            time.sleep(0.01)
        assert run.facts == []
    assert [(each["moment"], each["exit_code"]) for each in run.facts] == [("during", None)]
    assert (tmp_path / "hook-1-during.txt").read_text() == "here\n"
    assert "ended with the window" in notes[0]


def test_a_program_that_can_not_be_started_is_noted_and_the_run_goes_on(tmp_path):
    script = tmp_path / "script"
    script.write_text("no program\n")
    script.chmod(0o755)
    notes: list[str] = []
    run = HookRunner([Hook(Moment.BEFORE, (str(script),))], Folder(tmp_path), Interrupt(), notes)
    run.run(Moment.BEFORE)
    assert run.facts == []
    assert "can't be run" in notes[0]


def test_root_runs_nothing_beside_a_managed_server(tmp_path, monkeypatch):
    managed, foreign = tmp_path / "ours", tmp_path / "theirs"
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    claim(managed, "embedded")
    foreign.mkdir()

    def engine(place):
        return SimpleNamespace(target="it", location=lambda: ServerLocation(None, (place,)))

    asked = parse_hooks(["before true"])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for place in (managed, managed / "data"):
        with pytest.raises(UsageError, match="no command runs as root"):
            require_allowed(asked, engine(place))
        require_allowed((), engine(place))
    require_allowed(asked, engine(foreign))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    require_allowed(asked, engine(managed))
