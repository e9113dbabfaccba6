"""Help, manual pages, completion, and the options that all commands have."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from factories.records import Made, physical
from factories.tables import table
from openslob import cli
from openslob.cli import console, help, output
from openslob.cli.contents import USUAL
from openslob.cli.help import manual_pages
from openslob.cli.output import OUTPUT, Color, Output, add_colour
from openslob.core.errors import UsageError
from openslob.report.text import render


def all_commands(command=None, path=("slob",)):
    command = command or typer.main.get_command(cli.app)
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from all_commands(child, (*path, name))


COMMANDS = {" ".join(path): path[1:] for path in all_commands()}


def called(*words, **environment):
    runner = CliRunner()
    return runner.invoke(cli.app, list(words), env={"COLUMNS": "80", "TERM": "dumb", **environment})


@cache
def help_of(name, option="--help"):
    """The help of a command, which takes long to be laid out."""
    return called(*COMMANDS[name], option).stdout


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(OUTPUT, "quiet", False)
    monkeypatch.setattr(OUTPUT, "verbose", False)
    monkeypatch.setattr(OUTPUT, "color", Color.AUTO)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "OPENSLOB_HOME", "SLOB_RESULTS"):
        monkeypatch.delenv(name, raising=False)


@table("option", ["--help", "--help-all"])
@table("name", COMMANDS)
def test_help_fits_80_columns_and_shows_no_types_of_python(name, option):
    text = help_of(name, option)
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"(?<!P)<[a-z]+[\[>]", text)


@table("name", COMMANDS)
def test_the_help_of_a_command_is_one_screen_with_an_example(name):
    lines = help_of(name).splitlines()
    assert len(lines) <= 24, name
    if not getattr(command_of(name), "commands", None):
        assert any("slob" in line for line in lines[1:] if line.startswith(("EXAMPLE", "  slob")))
    assert not [line for line in lines if line.endswith(("])", "))"))]


def options_in(text):
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)


@table("name", USUAL)
def test_the_help_of_a_command_has_its_usual_options_alone_and_examples(name):
    text = help_of(name)
    assert options_in(text) == list(USUAL[name].names)
    assert len(USUAL[name].names) <= 14
    for heading in (*USUAL[name].options, "EXAMPLE"):
        assert f"\n{heading}" in text
    count = len(command_of(name).get_params(typer.Context(command_of(name), info_name=name)))
    assert f"options: {name} --help-all" in text
    assert len(USUAL[name].names) < int(re.search(r"^All (\d+) options", text, re.MULTILINE)[1]) <= count


def command_of(name):
    command: Any = typer.main.get_command(cli.app)
    for word in COMMANDS[name]:
        command = command.commands[word]
    return command


@table("name", USUAL)
def test_examples_of_the_help_are_command_lines(name):
    for example in USUAL[name].examples:
        assert example.startswith(f"{name} ")
        words = shlex.split(example)[len(name.split()) :]
        command_of(name).make_context(name, words, resilient_parsing=False)


@table("name", [name for name in COMMANDS if name not in USUAL])
def test_a_command_with_few_options_has_all_of_its_own_in_its_help(name):
    command = command_of(name)
    if getattr(command, "commands", None):
        return
    common = {"quiet", "verbose", "color", "help", "help_all", "config", "profile"}
    own = [each for each in command.params if each.param_type_name == "option" and each.name not in common]
    assert len(options_in(help_of(name))) == len(own) <= 14


@table("command", ["load", "check", "run", "sweep"])
def test_the_usual_options_come_first_in_the_whole_help(command):
    text = called(command, "--help-all").stdout
    assert text.index("The usual options") < text.index("│ --target") < text.index("Workload: contention")
    assert text.count("│ --target ") == 1
    assert "--quiet" in text


def test_the_list_of_commands_is_one_screen_and_has_all_of_them():
    text = called("--help").stdout
    assert text == called("help").stdout
    assert len(text.splitlines()) <= 24
    listed = {name for name in cli.find_needed([]) if re.search(rf"\b{name} ", text)}
    assert listed == set(cli.find_needed([]))
    assert text.index("slob demo") < text.index("  load ") < text.index("MEASURE") < text.index("PROVE")


def test_the_whole_list_has_a_sentence_of_each_command_and_all_topics():
    text = called("--help-all").stdout
    for name in (*cli.find_needed([]), *help.CHAPTERS):
        assert re.search(rf"^  {re.escape(name)} ", text, re.MULTILINE), name
    assert "--install-completion" in text


@table(("words", "quiet"), [(("-q", "list"), True), (("list", "-q"), True), (("list",), False)])
def test_quiet_can_stand_before_or_after_the_command(words, quiet, tmp_path):
    result = called(*words, "--results", str(tmp_path))
    assert result.exit_code == 0
    assert (result.stderr == "") == quiet


def test_verbose_says_where_a_parameter_came_from(capsys):
    OUTPUT.verbose = True
    console.explain("update_pct is 5: flag")
    OUTPUT.verbose = False
    console.explain("no more")
    assert capsys.readouterr().err == "slob: update_pct is 5: flag\n"


class Terminal:
    def __init__(self, is_terminal=True):
        self.isatty = lambda: is_terminal


@table(
    ("choice", "is_terminal", "environment", "wanted"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"CLICOLOR_FORCE": "1"}, True),
        ("auto", False, {"CLICOLOR_FORCE": "0"}, False),
        ("auto", True, {"CLICOLOR": "0"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_as_the_user_and_the_terminal_want(choice, is_terminal, environment, wanted):
    terminal = {"TERM": "xterm", **environment}
    assert Output(color=Color(choice)).is_coloured(Terminal(is_terminal), terminal) == wanted


def test_colour_adds_nothing_but_colour():
    text = render(physical(Made()))
    shown = add_colour(text)
    assert "\x1b[32m✓ holds\x1b[0m" in shown
    assert "\x1b[1mLOAD PROFILE\x1b[0m" in shown
    assert add_colour("a\nthe answer.\nb", "the answer.") == "a\n\x1b[1mthe answer.\x1b[0m\nb"
    for code in (output.RED, output.GREEN, output.YELLOW, output.BOLD, output.PLAIN):
        shown = shown.replace(code, "")
    assert shown == text


def test_a_report_in_a_pipe_has_no_colour_and_ends_as_it_does(capsys):
    console.write_report("✓ holds  a\n" * 99, "answer")
    assert capsys.readouterr().out == "✓ holds  a\n" * 99


def test_the_answer_is_printed_again_below_a_report_that_is_longer_than_the_screen(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    console.write_report("line\n" * 24, "answer")
    console.write_report("line\n" * 5, "answer")
    assert capsys.readouterr().out == "line\n" * 24 + "\nanswer\n" + "line\n" * 5


@table("name", help.CHAPTERS)
def test_every_chapter_is_a_part_of_the_documentation(name):
    text = help.render_markdown(help.chapter(name), 80)
    assert text.split()
    assert max(map(len, text.splitlines())) <= 80
    assert "](" not in text


def test_a_chapter_ends_where_the_next_section_begins():
    text = help.chapter("verdicts")
    assert text.startswith("## The verdicts\n")
    assert text.count("\n## ") == 0


def test_help_lists_what_there_is_help_on():
    text = called("--help-all").stdout
    assert called("help", "run").stdout == called("run", "--help").stdout
    assert "SHARED_DATA_MODULUS" in called("help", "slob.conf").stdout
    assert "VERDICTS" in called("help", "verdicts").stdout.upper()
    assert "ORACLE_PASSWORD" in called("help", "targets").stdout
    assert "SLOB 2.5" in called("help", "oracle").stdout
    assert "  oracle" in text or " oracle," in text
    assert "there is no help topic 'nonsense'" in str(called("help", "nonsense").exception)


def test_there_is_a_manual_page_for_each_command(tmp_path):
    assert called("help", "--man", str(tmp_path)).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {f"{name.replace(' ', '-')}.1" for name in COMMANDS}
    text = (tmp_path / "slob-run.1").read_text()
    assert "\\fB\\-\\-update\\-pct\\fR \\fIN\\fR" in text


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_manual_pages_are_read_without_a_warning():
    pages = "".join(manual_pages(typer.main.get_command(cli.app)).values())
    command = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=200n"]
    done = subprocess.run(command, input=pages, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@table("shell", ["bash", "zsh"])
def test_there_are_completion_scripts(shell):
    assert f"_SLOB_COMPLETE=complete_{shell}" in called(_SLOB_COMPLETE=f"source_{shell}").stdout


@table("name", COMMANDS)
def test_every_command_prints_its_result_for_programs(name):
    """Groups print nothing of their own; what a command prints is for each to test."""
    command: Any = typer.main.get_command(cli.app)
    for word in COMMANDS[name]:
        command = command.commands[word]
    if not getattr(command, "commands", None):
        assert any("--json" in param.opts for param in command.params)


def test_the_tree_of_commands_is_that_of_the_help():
    tree = json.loads(called("help", "--json").stdout)
    names = []

    def collect(command):
        names.append(command["name"])
        for child in command["commands"]:
            collect(child)

    collect(tree)
    assert sorted(names) == sorted(COMMANDS)
    assert set(tree["chapters"]) == set(help.CHAPTERS)
    assert "servers" in tree["pages"]
    (start,) = (each for each in _child(tree, "slob server")["commands"] if each["name"] == "slob server start")
    assert json.loads(called("help", "server", "start", "--json").stdout) == start
    (cache,) = (each for each in start["options"] if "--cache" in each["names"])
    assert (cache["value"], cache["default"], cache["environment"]) == ("SIZE", None, "SLOB_SERVER_CACHE")
    crash = {each["names"][0]: each["default"] for each in _child(tree, "slob crash")["options"]}
    assert (crash["--kind"], crash["--cycles"], crash["--control"]) == ("kill", 10, None)


def _child(tree, name):
    return next(each for each in tree["commands"] if each["name"] == name)


def test_a_topic_as_json_is_its_text():
    found = json.loads(called("help", "exit-codes", "--json").stdout)
    assert found == {"name": "exit-codes", "text": help.chapter("exit-codes")}
    assert json.loads(called("help", "servers", "--json").stdout)["text"].startswith("# Managed servers")
    for words in (["no-such"], ["--man", "x"]):
        refused = called("help", *words, "--json")
        assert (type(refused.exception), refused.stdout) == (UsageError, "")
