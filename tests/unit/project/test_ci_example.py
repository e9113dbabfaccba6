"""The workflow to copy: it is YAML, and every command of it is understood by the command line."""

import re
import shlex

import pytest
import typer

from factories.paths import ROOT
from openslob.analyze.ci_gate import parse_thresholds
from openslob.cli import app

yaml = pytest.importorskip("yaml")
CI = ROOT / "docs" / "ci"
WORKFLOW = yaml.safe_load((CI / "openslob.yml").read_text())
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
COMMANDS = [line.strip() for step in STEPS for line in step.get("run", "").splitlines() if "slob " in line]


def test_there_are_the_commands_of_a_gate():
    assert all("uses" in step or "run" in step for step in STEPS)
    assert {line.split()[1] for line in COMMANDS if line.startswith("slob")} == {
        "server", "load", "sweep", "baseline", "compare", "report",
    }  # fmt: skip


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("slob")])
def test_a_command_is_understood(line):
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "abc123", line.split(" > ")[0].split(" || ")[0]))[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    given = command.make_context("slob", words).params
    if file := given.get("thresholds"):
        assert parse_thresholds((ROOT / file).read_text(), str(file)).conditions
