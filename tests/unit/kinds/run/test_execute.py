"""A run as a user asks for it: what it is made with, before it begins."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from factories.contexts import Unseen, context_in
from factories.records import physical
from factories.tables import table
from openslob.config.resolve import resolve
from openslob.core.errors import UsageError
from openslob.core.workload import CommitMode, DataSpec, Workload
from openslob.engines.facts import DataState
from openslob.engines.settings import Effect
from openslob.kinds.run import execute, runner
from openslob.kinds.run.execute import AskedRun
from openslob.kinds.run.runner import FinishedRun, RunRequest
from openslob.kinds.run.settings import SettingsGrid

SETTINGS = SettingsGrid(
    {"synchronous_commit": ("off",)},
    {"synchronous_commit": Effect.SESSION},
    {"synchronous_commit": ("commit_mode", "engine")},
)


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A server with data, and the list of the runs that are made on it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    engine = SimpleNamespace(
        follow=lambda _: None,
        facts=lambda: SimpleNamespace(block_size=8192),
        data=SimpleNamespace(state=lambda: DataState(DataSpec(8, 262_144, 128, False), True, "now", {})),
        server_pid=None,
    )
    made = []

    @contextmanager
    def provide(_target, changes, _tell):
        made.append(changes)
        yield engine

    monkeypatch.setattr(execute, "provide_target", provide)
    monkeypatch.setattr(execute, "ask_of_run", lambda _target, texts: SETTINGS if texts else SettingsGrid())

    def run(engine, request, *_):
        made.append((engine, request))
        return FinishedRun(physical(), tmp_path)

    monkeypatch.setattr(runner, "run", run)
    return made


def test_a_run_is_made_on_the_data_that_are_loaded_with_what_the_user_says_of_the_server(made, tmp_path):
    display, crews = Unseen(), object()
    ceiling = object()
    context = context_in(
        tmp_path, display=display, server_pid=7, consented=frozenset({"awr"}), hire=lambda: nullcontext(crews),
        ceiling_for=lambda sessions: lambda _engine: (sessions, ceiling),
    )  # fmt: skip
    execute.execute(AskedRun(resolve({"sessions": "3", "scale": "1G"}, None, {}), "n"), context)
    (engine, request), changes = made[1], made[0]
    assert (request.workload.schemas, str(request.workload.scale)) == (8, "1G")
    assert (request.sources["schemas"], request.sources["scale"]) == ("loaded", "flag")
    assert display.told[0] == "data: SCHEMAS=8, as loaded"
    assert (engine.server_pid, request.consented) == (7, {"awr"})
    assert (request.name, request.results, request.hire, request.ceiling) == ("n", tmp_path, crews, (3, ceiling))
    assert changes == request.settings == ()


def test_a_parameter_that_sets_one_of_its_settings_gives_way(made, tmp_path):
    asked = AskedRun(resolve({}, None, {}), settings={"synchronous_commit": ("off",)})
    execute.execute(asked, context_in(tmp_path))
    request = made[1][1]
    assert made[0] == request.settings == SETTINGS.changes
    assert request.workload.commit_mode is CommitMode.ENGINE
    assert request.notes == ("COMMIT_MODE is engine: synchronous_commit is set instead",)
    with pytest.raises(UsageError, match="COMMIT_MODE sets synchronous_commit, too"):
        execute.execute(AskedRun(resolve({"commit_mode": "wait"}, None, {}), settings=asked.settings), context_in())


@pytest.fixture
def busy(monkeypatch, tmp_path):
    """A host that loses the windows of runs with these numbers; the requests of the runs that are made on it."""
    lost, requests = set(), []

    def run(_engine, request, *_):
        requests.append(request)
        record, number = physical(), len(requests)
        if number in lost:
            unknown = record.summary["ops_per_s"].model_copy(update={"value": None, "why": "read late"})
            record = record.model_copy(update={"summary": {**record.summary, "ops_per_s": unknown}})
        return FinishedRun(record, tmp_path / f"run-{number}")

    monkeypatch.setattr(runner, "run", run)
    return SimpleNamespace(lost=lost, requests=requests)


@table(
    ("lost", "retries", "made", "kept"),
    [(set(), 1, 1, True), ({1}, 1, 2, True), ({1, 2}, 1, 2, False), ({1, 2}, 2, 3, True), ({1}, 0, 1, False)],
)
def test_a_run_that_lost_its_window_is_made_again_and_what_was_lost_is_kept(busy, lost, retries, made, kept):
    busy.lost.clear()
    busy.requests.clear()
    busy.lost.update(lost)
    display = Unseen()
    finished = context_in(display=display).run(None, RunRequest(Workload(), "n", Path(), ("first",), retries=retries))
    assert len(busy.requests) == made
    assert (finished.record.value("ops_per_s") is not None) is kept
    assert [each.folder.name for each in finished.discarded] == [f"run-{number}" for number in range(1, made)]
    assert len([each for each in display.told if "made again" in each]) == made - 1
    notes = [f"discarded, and this run made in its place: run-{number}: read late" for number in range(1, made)]
    assert busy.requests[-1].notes == ("first", *notes)
    # What was discarded may have made the data grow.
    assert [each.goes_on for each in busy.requests] == [False, *(made - 1) * [True]]


def test_a_run_is_made_again_once_unless_the_user_says_otherwise(made, tmp_path):
    execute.execute(AskedRun(resolve({}, None, {})), context_in(tmp_path))
    execute.execute(AskedRun(resolve({}, None, {}), retries=0), context_in(tmp_path))
    assert [each[1].retries for each in made if isinstance(each, tuple) and each] == [1, 0]
