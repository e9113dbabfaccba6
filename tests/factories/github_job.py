"""A job of GitHub Actions run by hand: the `run:` steps of a workflow in their order, with the environment it gives.

What `actions/checkout` does is done with git; the step that installs is replaced by the `slob` of this checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factories.paths import ROOT

# The program, on a host of this name.
_SLOB = """#!{python}
import os, platform
platform.node = lambda: os.environ["RUNNER_NAME"]
from openslob.__main__ import main
main()
"""
INSTALL = "Install"


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
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=self.workspace, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600,
        )  # fmt: skip
        self.codes[step["name"]] = done.returncode
        self.output += f"### {step['name']}\n{done.stdout}"
        for line in Path(self.environment["GITHUB_ENV"]).read_text().splitlines():
            name, _, value = line.partition("=")
            self.environment[name] = value


def job(workflow: Mapping[str, Any], place: Path, repository: Path, host: str, **env: str) -> Job:
    """The only job of a workflow on a runner of this name; ``env`` are variables that replace those of the job."""
    (described,) = workflow["jobs"].values()
    given = {name: str(value) for name, value in described["env"].items()}
    for folder in ("workspace", "temp", "bin"):
        (place / folder).mkdir(parents=True)
    program = place / "bin" / "slob"
    program.write_text(_SLOB.format(python=sys.executable))
    program.chmod(0o755)
    for name in ("env", "summary"):
        (place / name).touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLOB_", "OPENSLOB_"))}
    environment = {
        **kept, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"), "HOME": str(place),
        "RUNNER_NAME": host, "RUNNER_TEMP": str(place / "temp"), "GITHUB_ENV": str(place / "env"),
        "GITHUB_STEP_SUMMARY": str(place / "summary"), **given, **env,
    }  # fmt: skip
    return Job(described["steps"], environment, place / "workspace", repository)


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
