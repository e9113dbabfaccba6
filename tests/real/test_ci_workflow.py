"""The workflow to copy, run step by step as GitHub Actions does: base and head of a pull request on real servers."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from factories import github_job
from factories.paths import ROOT
from factories.walk import destroy_servers

yaml = pytest.importorskip("yaml")
CI = ROOT / "docs" / "ci"
WORKFLOW = yaml.safe_load((CI / "openslob.yml").read_text())
SMALL = {
    "SLOB_SCHEMAS": "1", "SLOB_SCALE": "4M", "SLOB_SESSIONS": "2", "SLOB_UPDATE_PCT": "100", "SLOB_RUN_TIME": "3s",
    "SLOB_WARMUP": "0",
}  # fmt: skip
# A group commit waits for so many µs, whatever the host; the limit lies far from both. A host so busy that no rate is
# known still has latencies.
QUICK, SLOW = 20_000, 100_000
LIMIT = "update_mean_us = '> 100%'"


def database(commit_delay: int, start: str = "--cache 16M --io buffered", settings: str = "") -> str:
    """A `database.sh` whose server commits no faster than once in so many µs."""
    given = f"--set commit_delay={commit_delay} --set commit_siblings=0 {settings}"
    return f"START=({start})\nSETTINGS=({given})\n"


def files(database_sh: str) -> dict[str, str]:
    own = (CI / "thresholds.toml").read_text().partition("[thresholds]")[0]
    return {"docs/ci/database.sh": database_sh, "docs/ci/thresholds.toml": f"{own}[thresholds]\n{LIMIT}\n"}


def left(job: github_job.Job) -> list[Path]:
    """The servers that a job leaves behind."""
    return list(Path(job.environment["OPENSLOB_HOME"]).glob("servers/*/server.json"))


def comment_of(job: github_job.Job) -> str:
    """The comment on the pull request."""
    return (job.workspace.parent / "comment").read_text()


def comment_again(job: github_job.Job, text: str) -> str:
    """Run the step that comments alone, after another comparison; return what it said."""
    (job.workspace / "comment.md").write_text(text)
    job.steps = [step for step in job.steps if step.get("name") == "Comment"]
    job.output = ""
    job.conduct()
    assert job.codes["Comment"] == 0, job.output
    return job.output


@pytest.fixture
def conduct():
    """Run the workflow for a pull request that changes database.sh."""
    place = Path(tempfile.mkdtemp(prefix="slob-ci-", dir="/tmp"))
    place.chmod(0o755)

    def run(
        base: dict[str, str],
        head: dict[str, str],
        rounds: int = 1,
        host: str = "runner-1",
        baseline: str = "",
        **more: str,
    ) -> github_job.Job:
        runner = Path(tempfile.mkdtemp(prefix="runner-", dir=place))
        runner.chmod(0o755)
        repository = github_job.merged(runner / "repository", base, head)
        inputs = {"rounds": str(rounds), "baseline": baseline}
        job = github_job.job(WORKFLOW, runner, repository, host, inputs, **SMALL, **more)
        return job.conduct()

    yield run
    for home in place.glob("runner-*/temp/openslob"):
        destroy_servers(home)
    shutil.rmtree(place)


def records(job: github_job.Job) -> list[dict]:
    found = Path(job.environment["OPENSLOB_HOME"]).glob("results/*/run.json")
    made = [json.loads(path.read_text()) for path in sorted(found)]
    # A host that is too busy has a run discarded and made again, which says so.
    notes = "".join(note for each in made for note in each["notes"])
    return [each for each in made if each["id"] not in notes]


@pytest.mark.server
@pytest.mark.nightly
def test_equal_states_pass_on_any_host_and_each_run_has_a_start_of_its_own(conduct):
    job = conduct(files(database(QUICK)), {"README": "of no importance\n"}, 2, "some-other-host")
    assert job.code == 0, job.output
    done = records(job)
    assert [each["name"] for each in done] == ["base", "head"] * 2
    assert {each["environment"]["host"] for each in done} == {"some-other-host"}
    assert len({each["engine"]["server_started_at"] for each in done}) == 4
    assert "::notice title=slob%3A update_mean_us > 100%25" in job.output
    assert "| passed |" in Path(job.environment["GITHUB_STEP_SUMMARY"]).read_text()
    assert "vegaEmbed" in (job.workspace / "report.html").read_text()
    assert left(job) == []


@pytest.mark.server
@pytest.mark.nightly
def test_a_slower_head_fails(conduct):
    job = conduct(files(database(QUICK)), {"docs/ci/database.sh": database(SLOW)}, 3)
    assert job.codes["Compare"] == job.code == 3, job.output
    assert "::error title=slob%3A update_mean_us > 100%25" in job.output
    assert "Can't tell" not in job.output
    assert "::warning title=slob compare::the conditions differ: commit_delay: 20000 against 100000" in job.output
    assert "update_mean_us" in comment_of(job)
    (suite,) = ElementTree.parse(job.workspace / "junit.xml").getroot()
    assert [child.tag for case in suite for child in case] == ["skipped", "failure"]
    assert (job.codes["Page"], left(job)) == (0, [])


@pytest.mark.server
@pytest.mark.nightly
@pytest.mark.parametrize(("choice", "code", "level"), [("", 4, "error"), ("pass", 0, "warning")])
def test_runs_that_do_not_suffice_to_know_are_not_called_slower(conduct, choice, code, level):
    more = {"SLOB_INCONCLUSIVE": choice} if choice else {}
    job = conduct(files(database(QUICK)), {"docs/ci/database.sh": database(SLOW)}, 1, **more)
    assert job.codes["Compare"] == job.code == code, job.output
    assert f"::{level} title=slob%3A update_mean_us > 100%25::Can't tell" in job.output


def test_a_base_without_its_database_is_said(conduct):
    job = conduct({"other": ""}, files(database(QUICK)))
    assert job.code == job.codes["Base"] == 1
    assert "::error::base has no docs/ci/database.sh: merge it first" in job.output


def test_a_pull_request_has_one_comment_which_later_runs_replace(conduct):
    job = conduct({"other": ""}, files(database(QUICK)))
    for text in ("the first", "the second"):
        assert comment_again(job, text) == "### Comment\n"
        assert comment_of(job) == f"<!-- openslob: openslob, io -->\n\n{text}\n"
    first, second = (job.workspace.parent / "asked").read_text().splitlines()
    assert f"repos/owner/name/issues/{github_job.PULL_REQUEST}/comments" in first
    assert "--method PATCH repos/owner/name/issues/comments/17" in second


def test_a_token_that_may_not_write_is_a_warning(conduct):
    job = conduct({"other": ""}, files(database(QUICK)))
    (job.workspace.parent / "forbidden").touch()
    assert "::warning::no comment on the pull request" in comment_again(job, "text")


@pytest.mark.server
@pytest.mark.nightly
def test_head_alone_is_compared_with_a_stored_baseline(conduct):
    before = conduct(files(database(QUICK)), {"README": "of no importance\n"})
    stored = str(before.workspace / "baselines")
    save = ["slob", "baseline", "save", "main", "head", "--dir", stored]
    subprocess.run(save, env=before.environment, check=True)
    job = conduct({"other": ""}, files(database(SLOW)), baseline="main", SLOB_BASELINES=stored)
    assert job.codes["Compare"] == 4, job.output
    assert [each["name"] for each in records(job)] == ["head"]
    assert "update_mean_us" in comment_of(job)
