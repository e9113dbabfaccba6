"""The workflow to copy and the action that it uses: every command is understood, and nothing is of another host.

tests/real/test_ci_workflow.py runs it.
"""

import re
import shlex
import subprocess

import pytest
import typer

from factories.paths import ROOT
from openslob.analyze.ci_gate import parse_thresholds
from openslob.cli import app

yaml = pytest.importorskip("yaml")
CI = ROOT / "docs" / "ci"
(JOB,) = yaml.safe_load((CI / "openslob.yml").read_text())["jobs"].values()
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
SCRIPT = "\n".join(step.get("run", "") for step in STEPS)
INPUTS = {name: str(each["default"]) for name, each in ACTION["inputs"].items()}
# What the first step makes of them.
VARIABLES = {"SIDES": "base head", "AGAINST": "base head", "THRESHOLDS": INPUTS["thresholds"]}
COMMANDS = re.findall(r"\bslob ([a-z][^;|>\n]*)", SCRIPT)


def words_of(array):
    """The words of an array of the shipped database.sh."""
    script = f'. docs/ci/database.sh; printf "%s\\n" "${{{array}[@]}}"'
    return subprocess.run(["bash", "-ec", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def test_there_are_the_commands_of_a_gate():
    assert all("uses" in step or step["shell"] == "bash" for step in STEPS)
    assert {each.split()[0] for each in COMMANDS} == {"server", "load", "run", "compare", "report"}


def test_no_figure_comes_from_another_job():
    assert not [step for step in (*JOB["steps"], *STEPS) if "cache" in step.get("uses", "")]
    (given,) = (step["with"] for step in JOB["steps"] if step["uses"].startswith("./"))
    assert set(given) == {"rounds"}
    assert INPUTS["baseline"] == ""


def test_what_the_page_allows_to_differ_is_what_the_tutorial_changes():
    """The commands of the tutorial are typed by tests/real/test_walk.py; those of the page need its records."""
    command = "slob compare before after --may-differ direct_io,engine.settings.debug_io_direct --fail-if"
    assert all(f"\n{command}" in (ROOT / "docs" / page).read_text() for page in ("ci.md", "tutorials/ci.md"))


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line):
    words = []
    for word in shlex.split(line):
        array = re.fullmatch(r"\$\{(\w+)\[@\]\}", word)
        variable = re.fullmatch(r"\$([A-Z]\w*)", word)
        words += words_of(array[1]) if array else VARIABLES[variable[1]].split() if variable else [word]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    given = command.make_context("slob", words).params
    if file := given.get("thresholds"):
        assert parse_thresholds((ROOT / str(file).removeprefix("head/")).read_text(), str(file)).conditions
