"""The list of commands, without importing them: `slob --help` needs a line of each, and all together take a while."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import typer


def add_outline(app: typer.Typer, name: str, source: Path) -> bool:
    """Add a command or a group with its help alone, as its module has it; return whether that can be read.

    The help of a group is the text that its `typer.Typer` gets, and that of a command the docstring of its function.
    """
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    command = name
    for call in _calls_in(functions["register"]) if "register" in functions else ():
        for option in call.keywords:
            if _last_name(call.func) == "Typer" and option.arg == "help" and isinstance(option.value, ast.Constant):
                app.add_typer(typer.Typer(help=str(option.value.value), no_args_is_help=True), name=name)
                return True
        is_registered = isinstance(call.func, ast.Call) and _last_name(call.func.func) == "command"
        if is_registered and isinstance(call.args[0], ast.Name):
            command = call.args[0].id
    if command not in functions:
        return False
    app.command(name, help=ast.get_docstring(functions[command]))(_nothing)
    return True


def _calls_in(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _nothing() -> None:
    """Stand for a command that is listed only."""
