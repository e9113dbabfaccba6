"""Every number that a command takes has an upper bound, and a plan is counted before it is made."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import typer

import openslob
from factories.paths import FIXTURES
from factories.running import slob
from openslob import cli
from openslob.core.errors import UsageError
from openslob.core.workload import MOST_RUN_S, Workload
from openslob.kinds.sweep.plan import MOST_POINTS, points


def options() -> Iterator[tuple[str, Any]]:
    """Every option of a number, with the command that it is of."""
    commands: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(cli.app))]
    while commands:
        path, command = commands.pop()
        commands += [((*path, name), each) for name, each in getattr(command, "commands", {}).items()]
        for parameter in command.params:
            read = parameter.type_descriptor
            is_number = set(get_args(read.annotation) or [read.annotation]) <= {int, float, type(None)}
            if is_number and read.parameter_info.parser is None:
                yield " ".join([*path, parameter.opts[0]]), parameter


def test_every_number_has_an_upper_bound():
    found = dict(options())
    assert len(found) > 40
    assert [name for name, each in found.items() if each.max is None] == []


@pytest.mark.parametrize("option", ["241h", "11d", "1000d"])
def test_a_length_that_no_run_may_have_is_refused_before_a_record_is_made(option, tmp_path):
    done = slob("endure", "--for", option, "--target", "postgresql://u@127.0.0.1:1/d", "--results", tmp_path)
    assert done.returncode == 2
    assert f"{option} is above 240 h" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_counted_before_it_is_made():
    several = {"sessions": tuple(range(1, 1001))}
    with pytest.raises(UsageError, match="more than 100,000 points"):
        points(several, {}, 10**400, seed=1)
    assert len(points({"sessions": (1, 2)}, {}, 3, seed=1)) == 6
    assert MOST_POINTS == 100_000


@pytest.mark.parametrize(
    "asked",
    [
        {"repeats": 10**400},
        {"sessions": range(10**9)},
        {"sessions": range(1, 1000), "update_pct": range(100), "repeats": 1000},
        {"sessions": 10**400},
    ],
)
def test_python_is_counted_before_it_is_made(asked, tmp_path):
    with pytest.raises(UsageError):
        openslob.sweep(target="postgresql://u@127.0.0.1:1/d", results=tmp_path, progress=False, **asked)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wanted", ["9" * 400, "\ud800", "a\0b", " "])
def test_a_name_that_no_record_can_have_is_refused(wanted, tmp_path):
    for read in (openslob.read, openslob.read_storage, openslob.read_lab, openslob.verify, openslob.bundle):
        with pytest.raises(UsageError):
            read(wanted, results=tmp_path)


def test_a_changed_load_is_checked_as_a_given_one():
    load = Workload()
    assert load.changed(run_time=5).run_time == 5
    with pytest.raises(UsageError, match="run_time"):
        load.changed(run_time=MOST_RUN_S + 1)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("server", "start", ""), "an argument"),
        (("server", "start", "--standby-of", ""), "--standby-of"),
        (("failover", "--target="), "--target"),
        (("raw", "dd", ""), "an argument"),
        (("report", "latest", "--png-dir", ""), "--png-dir"),
    ],
)
def test_an_empty_word_is_not_what_is_there_by_default(words, what, tmp_path):
    done = slob(*words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"slob: {what} is empty; give it a value, or leave it out\n")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_word_of_an_observed_command_is_its_own(tmp_path):
    done = slob("observe", "--target", "postgresql://u@127.0.0.1:1/d", "--results", tmp_path, "--", "true", "")
    assert "empty" not in done.stderr


# What a terminal obeys: it begins a command, turns round what follows, hides it.
_ACTING = "\u202e\u200b\u00ad\x9b2J"


def _written_by_others(value: Any, key: str = "") -> Any:
    """A document whose texts act on a terminal, but for those of which there is a list."""
    if isinstance(value, dict):
        return {name: _written_by_others(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_written_by_others(each, key) for each in value]
    free = isinstance(value, str) and key not in _LISTED and not re.fullmatch(r"[\d.:T+Z-]*|[a-z_]+", value)
    return value + _ACTING if free else value


_LISTED = {"scale", "unit", "run", "openslob_version", "started_at", "pattern", "engine", "load", "rate"}


@pytest.mark.parametrize("command", ["show", "list", "report", "export", "verify", "history", "compare"])
def test_no_text_of_a_record_acts_on_the_terminal(command, tmp_path):
    shown, folders = 0, []
    for number, file in enumerate(sorted((FIXTURES / "records").glob("*/*/*.json"))):
        folder = shutil.copytree(file.parent, tmp_path / f"2026010{number % 10}-000000-copy-{number}")
        (folder / file.name).write_text(json.dumps(_written_by_others(json.loads(file.read_text()))))
        folders.append(folder)
    about_all = command in ("list", "history")
    out = {"report": lambda _: ("--output", tmp_path / "page.html"), "compare": lambda folder: (folder,)}
    told = out.get(command, lambda _: ())
    for words in [()] if about_all else [(folder, *told(folder)) for folder in folders]:
        done = slob(command, *words, "--results", tmp_path)
        shown += "\\u202e" in done.stdout + done.stderr
        assert not set(_ACTING[:-2]) & set(done.stdout + done.stderr), (command, words)
    assert shown or command in ("report", "export", "history")


def test_every_command_reads_every_record_of_every_format(tmp_path):
    """Old formats, thinned files, observations: none of them is a case of its own for any command.

    Pages of runs, sweeps, storage and durability are made by ``test_a_record_becomes_a_page``.
    """
    for path in sorted((FIXTURES / "records").glob("*/*/*.json")):
        folder, has_no_page_yet = path.parent, path.name in ("endurance.json", "repeated.json", "lab.json")
        for command in ("show", "verify", "export", *(("report",) if has_no_page_yet else ())):
            out = {"report": ("--output", tmp_path / "page.html"), "export": ("--output", tmp_path / "rows.csv")}
            done = slob(command, folder, *out.get(command, ()))
            assert "Traceback" not in done.stderr, (command, folder)
            assert done.returncode in (0, 1, 2, 3, 4), (command, folder, done.stderr)
