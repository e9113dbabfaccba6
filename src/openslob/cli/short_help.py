"""The help that is one screen: the list of commands, and of a command its usual options with examples.

All of a command's options are in the help of typer's own, which `--help-all` prints.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import zip_longest
from typing import Any

from openslob.cli.console import columns
from openslob.cli.contents import COMMANDS, FIRST, OTHERS, USUAL
from openslob.cli.output import OUTPUT, add_colour
from openslob.report.format import INDENT, WIDTH, pairs, wrap

# The options that every command has are in its whole help alone.
_COMMON = frozenset({"help", "help_all", "quiet", "verbose", "color", "config", "profile"})
# A line that is longer than this is hard to read.
_WIDEST = 100
# Lines of a screen: as many examples are shown as there is room for, and one at the least.
_SCREEN = 24
_EXAMPLE = re.compile(r"\s*Examples?: (.+)$", re.MULTILINE)
_DEFAULT = re.compile(r"[Dd]efault: ((?:[^;.]|\.(?=\d))+)\.?$")
# What is in brackets and longer is in the whole help.
_ASIDE = re.compile(r" \((?!default|new)[^()]{30,}\)")
# The end of the first statement of a help text, which is not in brackets.
_END = re.compile(r"[.;](?:\s|$)(?![^()]*\))")
_MORE = (
    "HELP      slob COMMAND --help   its usual options",
    "          slob --help-all       each command in a sentence, topics of slob help",
)
# The first column of the list of commands, and the command and what it is for in each of the two others.
_HEADING, _NAME, _LEFT = 10, 11, 25


def path_of(ctx: Any) -> str:  # noqa: ANN401 - typer's own
    """Return the names of a command and of the groups that it is in; the context's own path asks for parameters."""
    return f"{path_of(ctx.parent)} {ctx.info_name}" if ctx.parent else str(ctx.info_name)


def program_help(program: Any, ctx: Any) -> str:  # noqa: ANN401 - typer's own
    """Return the list of commands on one screen."""
    there = set(program.list_commands(ctx))
    lines = [
        "What can this database platform do, and is the number true?",
        "Start with: slob demo",
        "",
        *pairs([(name, about) for name, about in FIRST.items() if name in there], least=_NAME - len(INDENT)),
        "",
        *(line for heading, group in OTHERS.items() for line in _in_two_columns(heading, group)),
    ]
    if others := [(name, program.commands[name]) for name in program.list_commands(ctx) if name not in COMMANDS]:
        lines += ["", "OTHERS", *pairs([(name, command.get_short_help_str(limit=200)) for name, command in others])]
    return _paint([*lines, *_MORE])


def _in_two_columns(heading: str, group: Mapping[str, str]) -> Iterator[str]:
    cells = [f"{name:<{_NAME}}{about}" for name, about in group.items()]
    half = (len(cells) + 1) // 2
    for number, (left, right) in enumerate(zip_longest(cells[:half], cells[half:], fillvalue="")):
        first = heading if number == 0 else ""
        yield f"{first:<{_HEADING}}{left:<{_NAME + _LEFT}}{right}".rstrip()


def group_help(group: Any, ctx: Any) -> str:  # noqa: ANN401 - typer's own
    """Return the commands of a group, such as `slob server`."""
    children = [(name, group.commands[name].get_short_help_str(limit=200)) for name in group.list_commands(ctx)]
    about, _ = _read(group)
    lines = [*_usage(group, ctx), *about, "", *pairs(children, _width()), ""]
    return _paint([*lines, f"The options of a command: {ctx.command_path} COMMAND --help"])


def command_help(command: Any, ctx: Any) -> str:  # noqa: ANN401 - typer's own
    """Return the usual options of a command by what they are for, and examples."""
    params = [each for each in command.get_params(ctx) if not getattr(each, "hidden", False)]
    arguments = [each for each in params if each.param_type_name == "argument"]
    options = [each for each in params if each.param_type_name == "option"]
    about, examples = _read(command)
    usual = USUAL.get(path_of(ctx))
    groups = {heading: _pick(options, names.split()) for heading, names in usual.options.items()} if usual else {}
    groups = groups or {"OPTIONS": [each for each in options if each.name not in _COMMON]}
    given = [(each.metavar or str(each.name).upper(), _gist(each)) for each in arguments]
    rows = {"": given, **{heading: [_row(each) for each in group] for heading, group in groups.items()}}
    widest = max((len(name) for group in rows.values() for name, _ in group), default=0)
    lines = [*_usage(command, ctx), *about]
    for heading, group in rows.items():
        lines += [heading] * bool(heading and group)
        lines += pairs(group, _width(), widest) if group else []
    examples += usual.examples if usual else ()
    lines += _show_examples(examples, _SCREEN - len(lines) - 1)
    return _paint(
        [*lines, f"All {len(options)} options: {ctx.command_path} --help-all; here, defaults are in brackets."]
    )


def _show_examples(examples: Sequence[str], room: int) -> list[str]:
    """Return as many examples under a heading as there are lines for; if that is one, beside it."""
    shown = examples[: max(1, room - 1)]
    if room < 2 + len(shown[1:]) or not shown[1:]:
        return [f"EXAMPLE{INDENT}{each}" for each in shown[:1]]
    return ["EXAMPLES", *(f"{INDENT}{each}" for each in shown)]


def _usage(command: Any, ctx: Any) -> list[str]:  # noqa: ANN401
    usage = f"usage: {ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}"
    return wrap(usage, later=INDENT, columns=_width())


def _read(command: Any) -> tuple[list[str], list[str]]:  # noqa: ANN401
    """Return what a command's help says, as lines, and its examples."""
    text = (command.help or "").replace("\b\n", "")
    examples = _EXAMPLE.findall(text)
    about = [" ".join(each.split()) for each in _EXAMPLE.sub("", text).split("\n\n")]
    return [line for each in about if each for line in wrap(each, columns=_width())], examples


def _pick(options: Sequence[Any], names: Sequence[str]) -> list[Any]:
    by_name = {name: each for each in options for name in each.opts}
    return [by_name[name] for name in names if name in by_name]


def _row(option: Any) -> tuple[str, str]:  # noqa: ANN401
    names = sorted(option.opts, key=len)
    return f"{', '.join(names)} {option.metavar or ''}".rstrip(), _gist(option)


def _gist(param: Any) -> str:  # noqa: ANN401
    """Return the first statement of a parameter's help, and its default."""
    text = " ".join((param.help or "").split())
    said = _END.split(_ASIDE.sub("", text), maxsplit=1)[0]
    value = param.default.value if isinstance(param.default, Enum) else param.default
    found = _DEFAULT.search(text)
    default = found[1] if found else str(value) if isinstance(value, str | int | float) else ""
    shown = default and value is not False and not re.search(rf"(?<!\w){re.escape(default)}(?!\w)", said)
    return f"{said} ({default})" if shown else said


def _width() -> int:
    return min(columns() or WIDTH, _WIDEST)


def _paint(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return add_colour(text) if OUTPUT.is_coloured(sys.stdout) else text
