"""The shared options: a flag for each parameter, one object for the command, no password on any output."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from factories.tables import table
from openslob.cli.options import OnTarget, Resolved, with_place, with_target, with_workload
from openslob.config.parameters import parameters
from openslob.core.errors import UsageError
from openslob.core.secrets import Address, redact_url

SEEN: list[Resolved | OnTarget | Address | str] = []


@with_workload
def run(resolved: Resolved, name: Annotated[str, typer.Option(help="Name of the run.")] = "run") -> None:
    """Run it."""
    SEEN.extend((resolved, name))


@with_target
def drop(target: Address) -> None:
    """Drop it."""
    SEEN.append(target)


@with_place
def see(on: OnTarget) -> None:
    """See it."""
    SEEN.append(on)


APP = typer.Typer()
APP.command()(see)
APP.command()(run)
APP.command()(drop)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SEEN.clear()


# Of parameters that take no number.
_OTHER_VALUES = {"mode": "pio", "price": "3/month", "classes": "a:sessions=3", "rate_schedule": "0s:3"}


def call(*args: str, env: dict[str, str] | None = None, typed: str | None = None):
    result = CliRunner().invoke(APP, args, env=env, input=typed)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_server_is_named_with_its_process_and_its_host():
    call("see", "--target", "postgresql://me@db1/x", "--server-pid", "7", env={"SLOB_HOST": "ssh://db1"})
    (on,) = SEEN
    assert (on.target.shown, on.server_pid, on.host) == ("postgresql://me@db1/x", 7, "ssh://db1")


def test_help_mentions_every_parameter_with_range_and_default():
    text = call("run", "--help", env={"COLUMNS": "400", "TERM": "dumb"}).stdout
    assert "--name" in text
    for one in parameters().values():
        assert f"{one.flag} " in text
        assert one.meaning in text
        assert one.is_switch or one.placeholder in text
        assert not one.default or f"Default: {one.default}." in text


def test_a_command_receives_one_object():
    call("run", "--update-pct", "20", "--do-hotspot", "--name", "x", env={"SLOB_SCAN_PCT": "7"})
    resolved, name = SEEN
    assert isinstance(resolved, Resolved)
    assert name == "x"
    workload, sources = resolved.parameters.workload, resolved.parameters.sources
    assert (workload.update_pct, workload.scan_pct, workload.do_hotspot) == (20, 7, True)
    assert (sources["do_hotspot"], sources["seed"]) == ("flag", "default")
    assert str(resolved.target) == "embedded"


def test_a_switch_can_be_turned_off_against_a_file(tmp_path):
    (tmp_path / "a.conf").write_text("DO_HOTSPOT=TRUE\n")
    result = call("run", "--config", "a.conf", "--no-do-hotspot")
    assert SEEN[0].parameters.workload.do_hotspot is False
    assert "slob: a.conf gives no number of schemas" in result.stderr
    assert result.stdout == ""


def test_every_parameter_has_a_working_flag():
    for one in parameters().values():
        SEEN.clear()
        call(
            "run",
            *([one.flag] if one.is_switch else [one.flag, one.default or _OTHER_VALUES.get(one.name, "3")]),
        )
        assert SEEN[0].parameters.sources[one.name] == "flag"


def test_a_flag_for_each_class_of_sessions_adds_to_the_others():
    call("run", "--class", "readers:sessions=4,update_pct=0", "--class", "writers:sessions=2")
    assert SEEN[0].parameters.workload.classes == "readers:sessions=4,update_pct=0;writers:sessions=2"


def test_a_wrong_value_is_a_usage_error():
    with pytest.raises(UsageError, match="UPDATE_PCT=200"):
        call("run", "--update-pct", "200")


def test_a_password_in_the_target_is_hidden_and_told_of():
    url = "postgresql://bench:hunter2@db1/bench"
    result = call("drop", "--target", url)
    (target,) = SEEN
    assert target.reveal() == url
    assert str(target) == "postgresql://bench:***@db1/bench"
    assert "is visible in the list of processes" in result.stderr
    assert "hunter2" not in result.output + repr(target)
    assert call("drop", env={"SLOB_TARGET": url}).output == ""


def test_a_password_can_be_asked_for():
    result = call("drop", "--target", "postgresql://bench@db1/bench", "--ask-password", typed="p@ss/1\n")
    assert SEEN[0].reveal() == "postgresql://bench:p%40ss%2F1@db1/bench"
    assert "p@ss" not in result.output


@table(
    ("words", "target"),
    [
        ([], "embedded"),
        (["--engine", "postgresql"], "embedded"),
        (["--engine", "mariadb"], "embedded-mariadb"),
        (["--engine", "mariadb", "--target", "embedded-mariadb"], "embedded-mariadb"),
    ],
)
def test_an_engine_means_its_embedded_server(words, target):
    call("drop", *words)
    assert SEEN[-1].reveal() == target


@table(
    ("words", "why"),
    [
        (["--engine", "mariadb", "--target", "big"], "but the target is big; give one of them"),
        (["--engine", "sybase"], "no server of 'sybase' can be managed; choose one of mariadb, postgresql"),
    ],
)
def test_an_engine_that_can_not_be_meant(words, why):
    result = CliRunner().invoke(APP, ["drop", *words])
    assert isinstance(result.exception, UsageError)
    assert why in str(result.exception)


def test_a_command_may_not_take_a_parameters_name():
    def clash(resolved: Resolved, seed: int = 1) -> None: ...

    with pytest.raises(ValueError, match="seed"):
        with_workload(clash)


@table(
    ("url", "shown"),
    [
        ("embedded", "embedded"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
        ("postgresql://u:hunter2@h:5432/d", "postgresql://u:***@h:5432/d"),
        ("postgresql://u:hunt@er2/x@h/d", "postgresql://u:***@h/d"),
        ("postgresql://:hunter2@h/d", "postgresql://:***@h/d"),
        ("postgresql://u@h/d?password=hunter2&x=1", "postgresql://u@h/d?password=***&x=1"),
        ("mysql://u:hunter2@a/d,mysql://u:hunter2@b/d", "mysql://u:***@a/d,mysql://u:***@b/d"),
    ],
)
def test_redaction(url, shown):
    assert redact_url(url) == shown
    assert redact_url(shown) == shown


def test_a_password_that_is_not_percent_encoded_is_refused_without_showing_it():
    with pytest.raises(UsageError, match="percent-encoded") as caught:
        Address.parse("postgresql://u:hunt@er2@h/d")
    assert "er2" not in str(caught.value)


def test_a_password_needs_a_user():
    with pytest.raises(UsageError, match="has no user"):
        Address.parse("embedded").with_password("x")


def test_a_target_shows_stars_and_its_secret_cannot_be_written():
    target = Address.parse("postgresql://u:hunter2@h/d")
    assert target.reveal() == "postgresql://u:hunter2@h/d"
    assert "hunter2" not in f"{target} {target!r} {[target]} {target.secret}"
    with pytest.raises(TypeError):
        json.dumps({"password": target.secret})
    assert "hunter2" not in json.dumps(asdict(target), default=str) + repr(replace(target, shown="x"))
