"""A job of GitHub Actions run by hand: the `run:` steps of a workflow in their order, with the environment it gives.

The steps of a local action are those of action.yml. What `actions/checkout` does is done with git; the step that
installs is replaced by the `slob` of this checkout, and `gh` by a program that knows one pull request.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from factories.paths import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())

# The program, on a host of this name.
_SLOB = """#!{python}
import os, platform
platform.node = lambda: os.environ["RUNNER_NAME"]
from openslob.__main__ import main
main()
"""
# `gh api` with one comment at most, the file `comment`; a file `forbidden` beside it keeps it from being written.
_GH = """#!/bin/bash
cd "$(dirname "$0")/.."
case "$*" in
*--jq*) [ ! -e comment ] || ! grep -qF -- "$MARK" comment || echo 17 ;;
*) [ ! -e forbidden ] || { echo "HTTP 403" >&2; exit 1; }
   echo "$*" >>asked; cp "$RUNNER_WORKSPACE/body.md" comment ;;
esac
"""
INSTALL = "Install"
PULL_REQUEST = "5"


@dataclass
class Job:
    """A job in ``workspace`` on a runner; ``codes`` has the exit code of each `run:` step that ran, by its name."""

    steps: list[Mapping[str, Any]]
    environment: dict[str, str]
    workspace: Path
    repository: Path
    codes: dict[str, int] = field(default_factory=dict)
    output: str = ""

    @property
    def code(self) -> int:
        """The exit code of the first step that failed, 0 if none did."""
        return next((code for code in self.codes.values() if code), 0)

    def conduct(self) -> Job:
        """Run the steps: after one that failed only those that always run."""
        for step in self.steps:
            condition = step.get("if", "success()")
            assert condition in ("success()", "always()"), f"this hand does not know {condition}"
            if self.code and condition == "success()":
                continue
            if "run" in step:
                self._run(step)
            elif step["uses"].startswith("actions/checkout@"):
                self._check_out(**step["with"])
        return self

    def _check_out(self, path: str, **given: Any) -> None:
        place = self.workspace / path
        git = ["git", "-C", str(place)]
        for words in (
            ["git", "init", "--quiet", str(place)],
            [*git, "fetch", "--quiet", f"--depth={given['fetch-depth']}", f"file://{self.repository}", "merge"],
            [*git, "checkout", "--quiet", "--detach", "FETCH_HEAD"],
        ):
            subprocess.run(words, check=True, capture_output=True)

    def _run(self, step: Mapping[str, Any]) -> None:
        if step["name"] == INSTALL:
            return
        # https://docs.github.com/actions: the default shell, and files by which a step hands on what it sets.
        environment = {**self.environment, **step.get("env", {})}
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]], cwd=self.workspace, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=600,
        )  # fmt: skip
        self.codes[step["name"]] = done.returncode
        self.output += f"### {step['name']}\n{done.stdout}"
        for line in Path(self.environment["GITHUB_ENV"]).read_text().splitlines():
            name, _, value = line.partition("=")
            self.environment[name] = value


def _steps(steps: list[Mapping[str, Any]], inputs: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The steps with those of the action in its place; ``inputs`` replace what is given to it there."""
    for step in steps:
        if not step.get("uses", "").startswith("./"):
            yield step
            continue
        given = {**{name: each["default"] for name, each in ACTION["inputs"].items()}, **step.get("with", {}), **inputs}
        known = {f"inputs.{name}": str(value) for name, value in given.items()}
        known |= {"github.token": "t0ken", "github.event.pull_request.number": PULL_REQUEST}
        for one in ACTION["runs"]["steps"]:
            yield {**one, "env": {name: _fill(_fill(text, known), known) for name, text in one.get("env", {}).items()}}


def _fill(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: known[match[1]], text)


def job(
    workflow: Mapping[str, Any], place: Path, repository: Path, host: str, inputs: Mapping[str, str], **env: str
) -> Job:
    """The only job of a workflow on a runner of this name.

    ``inputs`` replace those of the action, and ``env`` the variables of the job.
    """
    (described,) = workflow["jobs"].values()
    given = {name: str(value) for name, value in described["env"].items()}
    for folder in ("workspace", "temp", "bin"):
        (place / folder).mkdir(parents=True)
    for name, text in (("slob", _SLOB.format(python=sys.executable)), ("gh", _GH)):
        (place / "bin" / name).write_text(text)
        (place / "bin" / name).chmod(0o755)
    for name in ("env", "summary"):
        (place / name).touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLOB_", "OPENSLOB_"))}
    environment = {
        **kept, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "HOME": str(place),
        "RUNNER_NAME": host, "RUNNER_TEMP": str(place / "temp"), "GITHUB_ENV": str(place / "env"),
        "GITHUB_STEP_SUMMARY": str(place / "summary"), "GITHUB_REPOSITORY": "owner/name", "GITHUB_WORKFLOW": "openslob",
        "GITHUB_JOB": "io", "RUNNER_WORKSPACE": str(place / "workspace"), **given, **env,
    }  # fmt: skip
    return Job([*_steps(described["steps"], inputs)], environment, place / "workspace", repository)


def merged(place: Path, base: Mapping[str, str], head: Mapping[str, str]) -> Path:
    """A repository whose branch `merge` is the merge of a pull request: files of its base, and what it changes."""
    git = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@localhost"]

    def do(*words: str) -> None:
        subprocess.run([*git, *words], check=True, capture_output=True)

    def commit(files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        do("add", "--all")
        do("commit", "--quiet", "--allow-empty", "--message", "a change")

    place.mkdir()
    do("init", "--quiet", "--initial-branch", "main")
    commit({"README": "before all that is fetched\n"})
    commit(base)
    do("checkout", "--quiet", "-b", "change")
    commit(head)
    do("checkout", "--quiet", "-b", "merge", "main")
    do("merge", "--quiet", "--no-ff", "--message", "merge", "change")
    return place
