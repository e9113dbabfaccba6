"""The tree of all commands as plain values, from the same declarations as ``--help``."""

from __future__ import annotations

from enum import Enum
from typing import Any

import typer


def command_values(command: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - typer's own
    """Return a command with its arguments, its options and the commands below it."""
    ctx = typer.Context(command, info_name=name)
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    children = getattr(command, "commands", {})
    return {
        "name": name,
        "help": " ".join((command.help or "").split()),
        "arguments": [_parameter(each, ctx) for each in shown if each.param_type_name == "argument"],
        "options": [_parameter(each, ctx) for each in shown if each.param_type_name == "option"],
        "commands": [command_values(child, f"{name} {each}") for each, child in children.items()],
    }


def _parameter(param: Any, ctx: Any) -> dict[str, Any]:  # noqa: ANN401
    is_option = param.param_type_name == "option"
    return {
        "names": [*param.opts, *param.secondary_opts] if is_option else [],
        "value": param.metavar if param.metavar is not None else param.make_metavar(ctx=ctx),
        "help": " ".join((param.help or "").split()),
        "default": _default(param),
        "required": bool(param.required),
        "environment": param.envvar,
        "panel": getattr(param, "rich_help_panel", None),
    }


def _default(param: Any) -> object:  # noqa: ANN401
    """Return the default as a value or in words; None where there is none."""
    if isinstance(param.show_default, str):
        return param.show_default
    value = param.default.value if isinstance(param.default, Enum) else param.default
    return value if isinstance(value, str | int | float) else None
