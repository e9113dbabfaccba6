"""`slob live --json`: what a viewer would see now, of a run in progress, of one that has ended, and of a sweep."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from factories.live import MadeRun
from factories.views import sweep_view
from openslob import cli
from openslob.core.errors import UsageError
from openslob.kinds.contract import follow
from openslob.kinds.run.live.follow import document


def called(*words):
    return CliRunner().invoke(cli.app, ["live", *map(str, words), "--json"])


def printed(*words):
    done = called(*words)
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def test_a_run_in_progress_is_printed_as_far_as_it_is(tmp_path):
    run = MadeRun(tmp_path / "made", planned_s=60)
    run.grow(5)
    before = printed(run.folder)
    run.grow(15)
    found = printed(run.folder)
    assert (before["elapsed_s"], found["elapsed_s"], found["planned_s"]) == (5, 20, 60)
    # Nobody on this machine writes it: its driver was killed, as far as can be seen.
    assert (found["id"], found["kind"], found["progress"], found["current"]) == ("made", "run", "abandoned", None)
    view = follow(run.folder).view()
    assert found["figures"] == {name: each.model_dump() for name, each in view.now.items()}
    assert found["figures"]["pio_read_per_s"]["value"] > 0
    assert any(each["value"] is None and each["why"] for each in found["figures"].values())
    assert {each["verdict"] for each in found["verdicts"]} <= {"holds", "fails", "unknown"}


def test_the_result_of_a_run_that_has_ended_is_printed(tmp_path):
    run = MadeRun(tmp_path / "made", planned_s=10)
    run.grow(10)
    record = run.finish()
    found = printed(run.folder)
    assert (found["progress"], found["phase"]) == ("complete", "")
    assert found["figures"] == {name: each.model_dump() for name, each in record.summary.items()}


def test_other_viewers_and_json_exclude_each_other(tmp_path):
    for option in (["--web"], ["--ascii"], ["--speed", "10"]):
        assert isinstance(called(tmp_path, *option).exception, UsageError)


def test_a_sweep_is_printed_with_its_points_and_its_run():
    found = json.loads(json.dumps(document(sweep_view())))
    assert (found["kind"], found["current"]["kind"]) == ("sweep", "run")
    assert [each["number"] for each in found["points"]] == [each.number for each in sweep_view().points]
    assert "running" in {each["state"] for each in found["points"]}
    done = next(each for each in found["points"] if each["figures"])
    assert all(set(figure) == {"value", "unit", "why"} for figure in done["figures"].values())
