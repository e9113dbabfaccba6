"""Every command that the project prints is one: options exist, values parse, names are known."""

from __future__ import annotations

import re
from functools import cache

import pytest
import typer

from factories.printed_commands import PLACEHOLDER, Printed, printed
from factories.tables import table
from openslob.analyze.ci_gate import parse_condition
from openslob.analyze.curves.series import parse_latency_us
from openslob.analyze.verdict_registry import REQUIRABLE
from openslob.analyze.verdicts import VERDICTS
from openslob.cli import app
from openslob.cli.raw_orion import translate_option
from openslob.config.grid import split
from openslob.config.parameters import parameters
from openslob.config.resolve import resolve
from openslob.engines.settings import parse_settings
from openslob.kinds.lab.plan import ready_names as ready_settings
from openslob.kinds.sweep.create import ready_names

CLI = typer.main.get_command(app)
# Found when a test asks for them: that takes seconds, and each worker imports this file.
COMMANDS = cache(lambda: list(printed()))
VERDICT_NAMES = [verdict.__name__ for verdict in VERDICTS]


def known(names):
    def check(value):
        assert value in names, f"{value} is none of {names}"

    return check


# What commands find out of an option's text only when they run.
VALUES = {
    "fail_if": parse_condition,
    "require": known([*REQUIRABLE, *VERDICT_NAMES]),
    "ready": known([*ready_names(), *ready_settings(), "list"]),
    "find_max_iops_under": parse_latency_us,
    "against": lambda value: known(parameters())(value.replace("-", "_")),
}


def command_of(words):
    """The command that words begin with, and the words after its name."""
    command, rest = CLI, list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"there is no command {rest[0]}"
        command = command.commands[rest.pop(0)]
    return command, rest


def parse(printed_command: Printed):
    """Raise or fail if the command line does not understand a printed command."""
    if PLACEHOLDER.fullmatch((*printed_command.words, "X")[0]):
        return
    command, rest = command_of(printed_command.words)
    if not printed_command.whole:
        rest = as_typed(command, list(map(translate_option, rest)) if command.name == "orion" else rest)
    if {"--help", "-h", "--version"} & set(rest) or hasattr(command, "commands"):
        return
    context = command.make_context("slob", rest, resilient_parsing=not printed_command.whole)
    settings = parse_settings(context.params["settings"] or ()) if command.name == "sweep" else {}
    for name, value in context.params.items():
        if name == "against" and value in settings:
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None and name in VALUES:
                VALUES[name](one)
    workload(command.name, context.params)


def as_typed(command, words):
    """The options of a command within a sentence: what stands for something is left out, and words of the sentence.

    What follows two dashes is another program's.
    """
    words = words[: words.index("--")] if "--" in words else words
    takes = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
    flags = {
        name for one in command.params if getattr(one, "is_flag", False) for name in (*one.opts, *one.secondary_opts)
    }
    typed = []
    for word, following in zip(words, [*words, None][1:], strict=True):
        if word.startswith("-") and len(word) > 1:
            assert word.partition("=")[0] in takes, f"there is no option {word}"
            missing = following is None or PLACEHOLDER.fullmatch(following) or following.startswith("-")
            if word in flags:
                typed.append(word)
            elif not missing and "X" not in following:
                typed += [word, following]
    return typed


def workload(command, given):
    texts = {name: value for name, value in given.items() if name in parameters() and value not in (None, ())}
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in texts.items()}
    texts |= {name: ";".join(value) for name, value in texts.items() if isinstance(value, list | tuple)}
    if command == "sweep":
        for name, text in texts.items():
            for value in split(text, name):
                resolve({name: value}, None, {})
    elif texts:
        resolve(texts, None, {})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """No slob.toml of the project, no parameters of the environment."""
    monkeypatch.chdir(tmp_path)


def test_the_printed_commands_are_found():
    places = {re.sub(r":\d+$", "", one.place) for one in COMMANDS()}
    assert {"README.md", "docs/sweep.md", "src/openslob/cli/demo.py", "src/openslob/cli/run.py"} <= places


@table("command", COMMANDS, ids=lambda one: f"{one.place} {' '.join(one.words)}")
def test_a_printed_command_is_understood(command):
    parse(command)
