"""The compose file beside the page on Oracle: its parts fit together, each command in it is one. Nothing is fetched."""

import re
import subprocess

import pytest
import typer
import yaml

from factories.paths import ROOT
from openslob.cli import app
from openslob.config.parameters import parameters
from openslob.config.resolve import resolve

FOLDER = ROOT / "docs/oracle"
TEXT = (FOLDER / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
CLI = typer.main.get_group(app)
CONDITIONS = {"service_healthy", "service_completed_successfully"}


def parsed(words):
    command, rest = CLI.commands[words[0]], words[1:]
    context = command.make_context("slob", list(rest))
    return context.params


def typed():
    """The commands of slob that the file's head gives to one of its services."""
    for line in re.findall(r"^#   docker compose .* run --rm (.*)$", TEXT, re.MULTILINE):
        words = [word for word in line.partition(" > ")[0].split() if word not in ("--no-deps", "-T")]
        yield words[0] if not words[0].startswith("-") else words[2], words[1:] if words[0] in SERVICES else []


def test_each_command_is_one_of_slob():
    assert set(OURS) == {"prove", "load", "run"}
    for service in OURS.values():
        assert all(isinstance(word, str) for word in service["command"])
        assert parsed(service["command"])
    assert parsed(OURS["prove"]["command"])["prove"] is True
    for name in ("load", "run"):
        given = parsed(OURS[name]["command"])
        texts = {key: given[key] for key in parameters() if given.get(key) not in (None, ())}
        assert texts
        assert resolve(texts, None, {}).workload


def test_each_command_to_type_is_of_a_service_and_of_slob():
    given = list(typed())
    assert [name for name, _ in given] == ["prove", "run", "prove", "prove"]
    for _, words in given:
        assert not words or parsed(words)


def test_services_wait_for_what_they_need():
    for name, needed in (("prove", "oracle"), ("load", "oracle"), ("run", "load")):
        assert set(SERVICES[name]["depends_on"]) == {needed}
        assert SERVICES[name]["depends_on"][needed]["condition"] in CONDITIONS
    assert "healthcheck" in SERVICES["oracle"]


def test_what_is_mounted_is_there():
    for service in SERVICES.values():
        for each in service["volumes"]:
            source = each.partition(":")[0]
            assert source in COMPOSE["volumes"] or (FOLDER / source).is_file()
    build = OURS["run"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).is_file()


def test_the_password_is_asked_for_and_in_no_file():
    for service in SERVICES.values():
        passwords = [
            value for name, value in service["environment"].items() if name in ("ORACLE_PWD", "ORACLE_PASSWORD")
        ]
        assert passwords == [passwords[0]]
        assert passwords[0].startswith("${ORACLE_PASSWORD:?")
    assert "://slob@oracle:1521/FREEPDB1" in OURS["run"]["environment"]["SLOB_TARGET"]


@pytest.mark.parametrize("ports", [service.get("ports", []) for service in SERVICES.values()])
def test_nobody_else_reaches_the_database(ports):
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_script_that_makes_the_user_is_one():
    script = FOLDER / "user.sh"
    assert subprocess.run(["bash", "-n", str(script)], check=False, capture_output=True).stderr == b""
    made = script.read_text()
    for right in ("CREATE SESSION", "CREATE TABLE", "CREATE PROCEDURE", "ALTER SYSTEM", "SELECT_CATALOG_ROLE"):
        assert right in made
    assert "DATAFILE '''" in made, "the file has a name: the image's database names none itself"
