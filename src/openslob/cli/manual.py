"""Manual pages of all commands, from the same declarations as ``--help``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import typer

from openslob._version import __version__

_SECTION = 1


def manual_pages(program: Any) -> dict[str, str]:  # noqa: ANN401 - typer's own
    """Return the pages in roff by file name: ``slob.1``, ``slob-run.1`` and so on."""
    return {f"{'-'.join(path)}.{_SECTION}": _page(command, path) for path, command in _commands(program, ("slob",))}


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, (*path, name))


def _page(command: Any, path: tuple[str, ...]) -> str:  # noqa: ANN401
    ctx = typer.Context(command, info_name=" ".join(path))
    title, about = "-".join(path), " ".join((command.help or "").split())
    first, _, rest = about.partition(". ")
    usage = " ".join(command.collect_usage_pieces(ctx))
    lines = [
        f'.TH "{title.upper()}" {_SECTION} "" "openslob {__version__}" "openslob"',
        ".SH NAME",
        f"{_escape(title)} \\- {_escape(first.rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_escape(' '.join(path))}\\fR {_escape(usage)}",
        ".SH DESCRIPTION",
        _escape(f"{first.rstrip('.')}. {rest}".strip()),
        *_parameters(command, ctx),
        *_children(command),
        ".SH SEE ALSO",
        _escape(", ".join(_neighbours(command, path)) or "slob(1)"),
    ]
    return "\n".join(lines) + "\n"


def _parameters(command: Any, ctx: Any) -> Iterator[str]:  # noqa: ANN401
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    panels = list(dict.fromkeys(_panel(param) for param in shown))
    shown.sort(key=lambda param: panels.index(_panel(param)))
    for panel, params in groupby(shown, _panel):
        yield f'.SH "{_escape(panel.upper())}"'
        for param in params:
            names = ", ".join([*param.opts, *param.secondary_opts]) if param.param_type_name == "option" else ""
            value = param.metavar if param.metavar is not None else param.display_type_rich(ctx=ctx) or ""
            value = value or ("" if names else param.name.upper())
            yield ".TP"
            yield f"\\fB{_escape(names)}\\fR \\fI{_escape(value)}\\fR" if names else f"\\fI{_escape(value)}\\fR"
            yield _escape(" ".join((param.help or "Show the help and exit.").split()))


def _panel(param: Any) -> str:  # noqa: ANN401
    return param.rich_help_panel or ("Options" if param.param_type_name == "option" else "Arguments")


def _children(command: Any) -> Iterator[str]:  # noqa: ANN401
    children = getattr(command, "commands", {})
    if children:
        yield ".SH COMMANDS"
    for name, child in children.items():
        yield ".TP"
        yield f"\\fB{_escape(name)}\\fR"
        yield _escape(child.get_short_help_str(limit=200))


def _neighbours(command: Any, path: tuple[str, ...]) -> list[str]:  # noqa: ANN401
    below = [f"{'-'.join((*path, name))}({_SECTION})" for name in getattr(command, "commands", {})]
    return [*([f"{'-'.join(path[:-1])}({_SECTION})"] if path[1:] else []), *below]


def _escape(text: str) -> str:
    """Return text that roff takes literally."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
