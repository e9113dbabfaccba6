"""The release workflow: what it runs is there, and it tests each Python that the package promises."""

import re
import tomllib

import yaml

from factories.paths import ROOT

JOBS = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
SCRIPT = "\n".join(step.get("run", "") for job in JOBS.values() for step in job["steps"])


def test_what_it_runs_is_there():
    made = set(re.findall(r"\bmake ([a-z][\w-]*)", SCRIPT)) | {"test", "unit"}
    (targets,) = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"deb", "docs"} <= made <= set(targets.split())
    scripts = set(re.findall(r"\bscripts/[\w-]+", SCRIPT))
    assert scripts
    assert all((ROOT / each).is_file() for each in scripts)


def test_each_promised_python_is_tested():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    promised = {each.rpartition(" ")[2] for each in named if re.search(r":: 3\.\d+$", each)}
    assert promised
    assert promised <= set(JOBS["test"]["strategy"]["matrix"]["python"])
