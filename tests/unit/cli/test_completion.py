"""What shells complete: the same, whether a command's options are noted already or not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

from factories.running import slob
from factories.tables import table
from openslob import completion
from openslob.cli import completion as of_commands
from openslob.record import labels

IDS = ["20260301-120000-run", "20260302-120000-run", "20260303-120000-other"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("OPENSLOB_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("SLOB_RESULTS", "SLOB_BASELINES"):
        monkeypatch.delenv(name, raising=False)
    for name in IDS:
        (tmp_path / "home" / "results" / name).mkdir(parents=True)
    for name in ("main", "stable"):
        (tmp_path / "baselines" / name).mkdir(parents=True)
    (tmp_path / "home" / "servers" / "big").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def environment_of(line, shell, **more):
    """What a shell sets when it asks."""
    words = line.split(" ")
    told = {
        "bash": {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    return {**os.environ, "_SLOB_COMPLETE": f"complete_{shell}", **told, **more}


@cache
def path_of_a_process():
    """Where a process finds modules: a note is of those."""
    code = "import json, sys; print(json.dumps(sys.path))"
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)


def asked_first(line, shell="bash"):
    """What a shell is told as long as nothing is noted: in this process, since another one imports all commands."""
    environment = environment_of(line, shell)
    with patch.object(sys, "path", path_of_a_process()):
        with patch.dict(os.environ, environment):
            assert completion.answer() is None
        done = slob(env=environment)
    return done.stdout, done.returncode


def asked(line, shell="bash", **more):
    """What a shell is told, in a process of its own, and which modules that took."""
    code = (
        "import sys; from openslob.__main__ import main\n"
        "try: main()\n"
        "finally: print(sum(name in sys.modules for name in ('typer', 'pydantic', 'openslob.cli')), file=sys.stderr)"
    )
    environment = environment_of(line, shell, **more)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    return done.stdout, int(done.stderr.splitlines()[-1]), done.returncode


@table(
    ("line", "wanted"),
    [
        ("slob sho", ["show"]),
        (
            "slob show ",
            ["latest", "other", "run", *IDS],
        ),
        ("slob -q show ot", ["other"]),
        ("slob compare --baseline ", ["main", "stable"]),
        ("slob compare --fail-if 'pio_read_per", ["pio_read_per_s"]),
        ("slob baseline show st", ["stable"]),
        ("slob run --mode ", ["pio", "lio", "redo", "scan", "churn"]),
        ("slob run --target b", ["big"]),
        ("slob run --warm", ["--warmup"]),
        ("slob sweep --ready pet", ["petals"]),
        ("slob run --name ", []),
    ],
)
def test_a_second_answer_is_the_first_one_and_imports_nothing(line, wanted, home):
    shutil.rmtree(home / "openslob", ignore_errors=True)
    first, _ = asked_first(line)
    second, quick, _ = asked(line)
    assert sorted(first.split()) == sorted(second.split()) == sorted(wanted)
    assert quick == 0


@table("shell", ["zsh", "fish"])
def test_every_shell_is_told_the_same_the_second_time(shell, home):
    for line in ("slob run --mode ", "slob run --name ", "slob show ot"):
        shutil.rmtree(home / "openslob", ignore_errors=True)
        first, code = asked_first(line, shell)
        again, quick, same = asked(line, shell)
        assert (again.split(), same, quick) == (first.split(), code, 0), line


@table(("line", "code"), [("slob show ot", 0), ("slob run --name ", 1)])
def test_fish_is_told_whether_there_is_anything(line, code):
    assert asked(line, "fish", _TYPER_COMPLETE_FISH_ACTION="is-args")[2] == code


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_what_zsh_evaluates_does_nothing():
    asked_first("slob run --", "zsh")
    told, quick, _ = asked("slob run --", "zsh")
    done = subprocess.run(
        ["zsh", "-fc", f"_arguments() {{ print -r -- $# }}; {told}"], capture_output=True, text=True, check=True
    )
    assert (quick, done.stdout.strip(), done.stderr) == (0, "1", "")


def test_what_is_noted_is_of_this_program_alone(home, monkeypatch):
    (note,) = noted_after("slob show ot", home)
    known = json.loads(note.read_text())
    known["commands"]["show"]["params"] = []
    note.write_text(json.dumps(known))
    assert asked("slob show ot")[0].split() == []
    for damaged in ("{", "[]", '{"params": 1}', "null"):
        note.write_text(damaged)
        assert asked_first("slob show ot")[0].split() == ["other"]
    monkeypatch.setattr(completion, "__version__", "another")
    monkeypatch.setenv("_SLOB_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "slob\nshow\not")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert completion.answer() is None


def noted_after(line, home):
    asked_first(line)
    return list((home / "openslob" / "completion").iterdir())


def test_without_a_cache_the_answer_is_the_same(home):
    (home / "openslob").write_text("in the way")
    for _ in range(2):
        told, imported, _ = asked("slob show ot")
        assert (told.split(), imported > 0) == (["other"], True)


def test_names_are_completed_from_where_the_line_says(home, tmp_path, monkeypatch):
    assert completion.servers("a,emb") == ["a,embedded"]
    assert "mode" in of_commands.verdicts("mo")
    assert "list" in of_commands.ready_sweeps("")
    (tmp_path / "there" / "20260304-120000-elsewhere").mkdir(parents=True)
    assert "elsewhere" in asked_first("slob show --results there els")[0].split()
    assert "elsewhere" in asked("slob show --results=there els")[0].split()
    assert asked_first("slob compare --dir nowhere --baseline ")[0].split() == []
    labels.update(home / "results" / "20260303-120000-other", name="renamed", tags=("x",))
    assert completion.records("ren") == ["renamed"]
    assert completion.tags("") == ["x"]
    labels.update(home / "results" / "20260303-120000-other", name="$(touch x)")
    assert "$(touch x)" not in completion.records("")
    (home / "results" / "20260303-120000-other" / labels.LABEL_FILE).write_text("{")
    assert "other" in completion.records("")
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path / "nowhere"))
    assert completion.records("") == []


def test_a_file_is_where_a_note_says_it_is(home):
    assert [Path(each).name.partition("@")[0] for each in noted_after("slob sho", home)] == ["slob"]
