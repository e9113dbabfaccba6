"""What a comparison in pairs is planned as: short runs, enough time, and one statement for both sides."""

from __future__ import annotations

import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from factories.contexts import context_in
from factories.tables import table
from openslob.config.resolve import resolve
from openslob.core.errors import UsageError
from openslob.core.units import parse_duration
from openslob.core.workload import CommitMode, Workload
from openslob.engines.settings import Effect
from openslob.kinds.ab import execute, sides
from openslob.kinds.ab.execute import AbRequest, plan
from openslob.kinds.run.settings import SettingsGrid


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Plan a comparison on a server with data, whose settings each session sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(execute, "AbServers", lambda *_: nullcontext(SimpleNamespace(start=lambda _: ("engine", None))))
    monkeypatch.setattr(execute, "take_loaded", lambda found, engine, _tell: found)

    def ask(_target, texts):
        return SettingsGrid(
            texts, dict.fromkeys(texts, Effect.SESSION), {"synchronous_commit": ("commit_mode", "engine")}
        )

    monkeypatch.setattr(sides, "ask_of_run", ask)

    def planned(*two, given=None, **changes):
        request = AbRequest(two or ("as-is", "as-is"), resolve(given or {}, None, {}), **changes)
        return plan(request, context_in(tmp_path, "q1"))

    return planned


@table(
    ("given", "run_time", "warmup"),
    [({}, 3, 1), ({"run_time": "10"}, 10, 1), ({"run_time": "2", "warmup": "0"}, 2, 0)],
)
def test_runs_are_short_unless_the_user_says_otherwise(planned, given, run_time, warmup):
    load = Workload.model_validate(planned(given=given).record.workload)
    assert (load.run_time, load.warmup) == (run_time, warmup)


def test_a_time_with_room_for_too_few_pairs_is_refused_with_one_that_has(planned):
    with pytest.raises(UsageError, match="1 min has room for 5 pairs of runs, and 6 are needed") as refused:
        planned(limit_s=60.0)
    proposed = re.search(r"--for (\d+s)", str(refused.value))
    assert proposed
    planned(limit_s=parse_duration(proposed[1]))


def test_a_parameter_that_sets_one_of_the_settings_leaves_it_to_the_server_on_both_sides(planned):
    made = planned("as-is", "synchronous_commit=off")
    assert Workload.model_validate(made.record.workload).commit_mode is CommitMode.ENGINE
    assert made.record.notes == ("COMMIT_MODE is engine: synchronous_commit is set instead",)
    assert [each.settings for each in made.record.sides] == [{}, {"synchronous_commit": "off"}]
    with pytest.raises(UsageError, match="COMMIT_MODE sets synchronous_commit, too"):
        planned("as-is", "synchronous_commit=off", given={"commit_mode": "wait"})
