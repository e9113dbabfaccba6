"""Settings of commands from slob.toml: every command that has a setting honours it, and says where it came from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from factories.running import slob
from factories.tables import table
from openslob import cli
from openslob.api import asking
from openslob.cli import load, options, server
from openslob.cli.configured import add_configuration
from openslob.cli.console import notify
from openslob.config.parameters import Setting
from openslob.config.resolve import Resolution
from openslob.core.errors import DeniedError, SlobError, UsageError
from openslob.core.workload import DataSpec, Workload
from openslob.engines import registry
from openslob.engines.facts import DataState
from openslob.kinds.run.loading import take_loaded

SECRET = "hunter2"
URL = f"postgresql://bench:{SECRET}@127.0.0.1:1/bench"
SEEN: list[options.Resolved] = []


@options.with_workload
def run(resolved: options.Resolved) -> None:
    """Run it."""
    SEEN.append(resolved)


APP = typer.Typer()
APP.command("run")(run)
APP.command("other")(run)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    SEEN.clear()


def here(text: str, mode: int = 0o600) -> None:
    path = Path("slob.toml")
    path.write_text(text)
    path.chmod(mode)


def target_of(*words: str, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(APP, ["run", *words], env=env)
    assert result.exception is None, result.exception
    assert "is visible in the list" not in result.stderr
    return SEEN[-1].target.reveal()


def test_a_target_of_a_file_is_weaker_than_others_and_replaced_by_an_engine():
    here(f'target = "{URL}"\n[profiles.m]\nengine = "mariadb"\n')
    assert target_of() == URL
    assert target_of("--target", "big") == "big"
    assert target_of("--engine", "mariadb") == "embedded-mariadb"
    assert target_of("--profile", "m") == "embedded-mariadb"
    assert target_of(env={"SLOB_PROFILE": "m"}) == "embedded-mariadb"
    assert target_of("--profile", "m", "--target", "big") == "big"
    assert target_of(env={"SLOB_ENGINE": "mariadb"}) == "embedded-mariadb"
    assert target_of("--engine", "mariadb", env={"SLOB_TARGET": "big"}) == "embedded-mariadb"


@table("command", ["run", "check", "load", "drop", "config", "sweep"])
def test_a_password_of_a_file_is_on_no_screen(command):
    here(f'target = "{URL}"\n')
    done = slob(command)
    assert SECRET not in done.stdout + done.stderr
    assert "slob.toml is read" in done.stderr or command == "sweep"  # which says so with its plan


@table("command", [["list"], ["show"], ["report", "x"], ["export", "x"], ["compare", "x", "y"], ["config"]])
def test_results_of_a_file(command):
    here('results = "kept-here"\n')
    done = slob(*command)
    assert "kept-here" in done.stdout + done.stderr
    assert "./slob.toml is read" in done.stderr
    assert "elsewhere" in (found := slob(*command, "--results", "elsewhere")).stdout + found.stderr


def test_a_file_that_gives_nothing_to_a_command_is_not_mentioned():
    here("update_pct = 5\n")
    assert "is read" not in slob("list").stderr


def test_a_profile_that_is_not_there_is_an_error_of_every_command():
    here("[profiles.prod]\n")
    for command in ("run", "list", "config", "drop"):
        done = slob(command, "--profile", "prd")
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no profile 'prd' in ./slob.toml; did you mean prod?" in done.stderr


def test_a_wrong_setting_of_a_server_names_file_and_line():
    here('\n[server]\ncache = "much"\n')
    done = slob("server", "start", "new")
    assert done.returncode == 2
    assert done.stderr.startswith("slob: slob.toml:3: invalid value for '--cache': 'much' is not a size")
    spec = registry.default_spec("embedded")
    with pytest.raises(UsageError, match=r"slob\.toml:3: cache: 'much' is not a size"):
        server.spec_with(spec, {"cache": Setting("cache", "much", "slob.toml:3")})


def test_a_server_made_on_demand_has_the_settings_of_the_file(capsys):
    settings = {key: Setting(key, value, "x") for key, value in {"cache": "1G", "cpus": "all", "version": "16"}.items()}
    made = load.announce(registry.default_spec("embedded"), settings)
    assert (made.cache_bytes, made.cpus, made.version) == (1 << 30, None, "16")
    assert "creating it on this host, with 1 GB cache" in capsys.readouterr().err


class Started:
    """A managed server, and the specification that it was started with."""

    specs: list[object] = []  # noqa: RUF012

    def __init__(self, spec):
        self.spec = spec

    def start(self):
        self.specs.append(self.spec)
        raise SlobError("started")

    def status(self):
        return type("Status", (), {"spec": self.spec})()


def test_what_is_for_new_servers_does_not_stop_the_start_of_another(monkeypatch):
    present = replace(registry.default_spec("old"), version="16", cache_bytes=1 << 27)
    monkeypatch.setattr(registry, "find", lambda name: Started(present) if name == "old" else None)
    monkeypatch.setattr(registry, "managed", Started)
    here('engine = "mariadb"\n[server]\nversion = "18"\ncache = "64M"\n')
    done = slob("server", "start", "old")
    assert "slob.toml:3: version is for new servers; old has 16" in done.stderr
    assert "slob.toml:1: engine is for new servers; old has postgresql" in done.stderr
    assert Started.specs[-1] == replace(present, cache_bytes=1 << 26)
    slob("server", "start", "new")
    assert (Started.specs[-1].engine, Started.specs[-1].version) == ("mariadb", "18")
    slob("server", "start")
    assert Started.specs[-1].name == "embedded-mariadb"


def test_every_setting_and_its_source_are_shown():
    here('results = "kept"\nrun_time = "1m"\n[server]\ncache = "1G"\n[profiles.p]\nname = "n"\n')
    done = slob("config", "--profile", "p", "--seed", "7", "--json", env={"SLOB_UPDATE_PCT": "5", "HOME": "/nowhere"})
    shown = json.loads(done.stdout)
    assert shown["files"] == ["slob.toml"]
    found = {one["key"]: (one["value"], one["source"]) for one in shown["settings"]}
    assert found["results"] == ("kept", "slob.toml:1")
    assert found["run_time"] == ("60", "slob.toml:2")
    assert found["cache"] == ("1G", "slob.toml:4")
    assert found["name"] == ("n", "slob.toml:6")
    assert found["update_pct"] == ("5", "environment")
    assert found["seed"] == ("7", "flag")
    assert found["target"] == ("embedded", "default")
    assert found["scale"] == ("256M", "loaded, else default")
    assert set(Workload.model_fields) <= set(found)
    text = slob("config").stdout
    assert "FILES, the strongest last\n  slob.toml\n" in text


class Data:
    """An engine's data."""

    def __init__(self, state):
        self._state = state

    def state(self):
        if isinstance(self._state, Exception):
            raise self._state
        return self._state


def engine_with(state):
    facts = type("Facts", (), {"block_size": 8192})()
    return type("Engine", (), {"data": Data(state), "facts": lambda _self: facts})()


def resolved_on(state, *words: str) -> Resolution:
    CliRunner().invoke(APP, ["run", *words])
    return take_loaded(SEEN[-1].parameters, engine_with(state), notify)


STATE = DataState(DataSpec(8, 262_144, 128, False), True, "now", {})


def test_a_run_takes_what_is_loaded_and_says_so(capsys):
    found = resolved_on(STATE)
    assert (found.workload.schemas, str(found.workload.scale), found.sources["scale"]) == (8, "2G", "loaded")
    assert capsys.readouterr().err == "slob: data: 8 schemas x 2 GB, as loaded\n"
    found = resolved_on(STATE, "--scale", "1G")
    assert (found.workload.schemas, str(found.workload.scale), found.sources["scale"]) == (8, "1G", "flag")
    assert capsys.readouterr().err == "slob: data: SCHEMAS=8, as loaded\n"


@table("state", [None, DeniedError("permission denied"), replace(STATE, spec=DataSpec(0, 0, 0, False))])
def test_without_known_data_the_defaults_stay(state):
    found = resolved_on(state)
    assert (found.workload, set(found.sources.values())) == (Workload(), {"default"})


def test_known_data_are_not_guessed_when_the_server_can_t_say():
    with pytest.raises(SlobError, match="time limit"):
        resolved_on(SlobError("a time limit ended it"))


def test_all_commands_with_records_or_targets_have_a_profile():
    commands = list(cli.list_commands(cli.app))
    assert all(add_configuration(each.callback) is each.callback for each in commands)


def test_a_call_from_python_takes_what_is_loaded(monkeypatch):
    told: list[str] = []
    found = take_loaded(asking.resolve_parameters({"update_pct": 5}, None), engine_with(STATE), told.append)
    assert told == ["data: 8 schemas x 2 GB, as loaded"]
    assert (found.workload.schemas, found.sources["scale"], found.workload.update_pct) == (8, "loaded", 5)
    assert asking.resolve_parameters({}, None).workload == Workload()


@table(
    ("words", "line"),
    [
        (["--sessions", "2,4"], "slob: data: SCHEMAS=8, SCALE=2G, as loaded\n"),
        (["--scale", "1G,2G"], "slob: data: SCHEMAS=8, as loaded\n"),
        (["--scale", "1G", "--schemas", "2,4"], ""),
    ],
)
def test_a_sweep_says_what_it_takes(words, line, monkeypatch):
    monkeypatch.setattr("openslob.engines.registry.resolve_as_is", lambda _target: engine_with(STATE))
    done = slob("sweep", "--dry-run", *words)
    assert done.returncode == 0
    assert done.stderr == line
