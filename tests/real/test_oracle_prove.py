"""`slob check --prove` against the stand-in for Oracle, which answers some questions and can't be asked the others."""

from __future__ import annotations

import json

import oracledb
import pytest
from typer.testing import CliRunner

from factories.oracle.standin import StandInServer
from factories.oracle.standin_world import World
from openslob.cli import application
from openslob.engines import registry

# What only machine code, PL/SQL of its own, a cache of its own, several instances or containers can answer.
NOT_ASKED = {3, 7, 10, 11, 12, 16, 17, 21}


@pytest.fixture
def standin(monkeypatch):
    monkeypatch.setenv("ORACLE_PASSWORD", "slob")
    standin = StandInServer()
    yield standin
    standin.server.stop()


def objects(standin):
    with oracledb.connect(user="slob", password="slob", dsn=standin.server.dsn) as connection:
        return [row[0] for row in connection.cursor().execute("SELECT object_name FROM user_objects")]


def test_every_question_is_answered_or_has_a_reason_and_nothing_is_left(standin, tmp_path):
    path = tmp_path / "answers.json"
    result = CliRunner().invoke(
        application(("check",)), ["check", "--prove", "--target", standin.server.url, "-o", str(path)]
    )
    assert result.exit_code == 0, result.output
    found = json.loads(path.read_text())
    assert "no database" in found["product"]
    assert found["stand_in"]
    assert "! No database" in result.output
    answers = {answer["number"]: answer for answer in found["answers"]}
    assert sorted(answers) == list(range(1, 22))
    assert {number for number, answer in answers.items() if answer["holds"] is None} == NOT_ASKED
    assert all(answer["seen"] for answer in answers.values())
    for number in (1, 2, 4, 5, 6, 8, 19, 20):
        assert answers[number]["holds"], answers[number]["seen"]
    assert answers[4]["figures"] == {"wait": 1000, "nowait": 0, "engine": 0}
    assert answers[6]["figures"]["selects"] == answers[6]["figures"]["visits"] == 6400
    gaps = {name: gap for name, gap in answers[9]["figures"].items() if name.endswith("empty blocks between batches")}
    assert set(gaps.values()) == {0}
    assert set(answers[18]["figures"]) == {"few_ms", "many_ms", "each_ms"}
    assert answers[20]["figures"] == {"cache": 0, "direct": 20}
    # How fast they were is the host's matter.
    assert answers[13]["figures"]["went_on"] == "True"
    assert answers[14]["seen"].startswith("gone after")
    text = path.read_text()
    assert not [name for name in ("127.0.0.1", "STANDPDB") if name in text]
    assert objects(standin) == []


def test_a_pluggable_database_s_own_counters_are_told_from_the_root_s(monkeypatch):
    monkeypatch.setenv("ORACLE_PASSWORD", "slob")
    standin = StandInServer(World(pluggable=True))
    try:
        engine = registry.engine_for(standin.server.url)
        with engine.exclusive("prove"), engine.proving() as proving:
            answer = next(question for question in proving.questions if question.name == "own counters").ask()
    finally:
        standin.server.stop()
    assert answer.holds, answer.seen
    assert answer.figures["session"] <= answer.figures["V$CON_SYSSTAT"] < answer.figures["V$SYSSTAT"]
