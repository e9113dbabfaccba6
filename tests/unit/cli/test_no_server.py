"""Commands without a server: only those that say so create or start one."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories.running import slob
from factories.tables import table
from openslob.core.errors import UsageError
from openslob.engines import registry


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@table(
    "command",
    [
        ["run"],
        ["check"],
        ["drop"],
        ["sweep", "--sessions", "1,2"],
        ["sweep", "--cache", "64M,128M"],
        ["run", "--target", "embedded"],
    ],
)
def test_no_server_is_created_silently(command, home):
    done = slob(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no server 'embedded' yet" in done.stderr
    assert "`slob load` creates it" in done.stderr
    assert not home.exists()
    assert not Path("results").exists()


@table("command", ["run", "check", "drop"])
def test_the_offer_names_the_engine_that_was_asked_for(command, home):
    done = slob(command, "--engine", "mariadb")
    assert done.returncode == 2
    assert "`slob load --engine mariadb` creates it" in done.stderr
    assert not home.exists()


def test_a_dry_run_needs_no_server(home):
    assert slob("sweep", "--sessions", "1,2", "--run-time", "20s,1m", "--dry-run").returncode == 0
    assert not home.exists()


class Stopped:
    """A managed server that is there and down."""

    def status(self):
        return type("Status", (), {"state": "stopped"})()

    def start(self):
        raise AssertionError("it was started")


def test_a_check_does_not_start_a_server(monkeypatch):
    monkeypatch.setattr(registry, "find", lambda _name: Stopped())
    with pytest.raises(UsageError, match=r"embedded is stopped, .* changes nothing; `slob server start embedded`"):
        registry.resolve_as_is("embedded")


def test_what_is_created_is_told_before_and_may_be_changed(monkeypatch):
    asked = []

    def create(spec):
        asked.append(spec.name)
        raise UsageError("told")

    with pytest.raises(UsageError, match="told"):
        registry.resolve("embedded", create)
    assert asked == ["embedded"]
