"""The command line: one file per command. Only here is anything printed, and only here does the process exit."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from openslob.errors import SlobError

app = typer.Typer(
    name="slob",
    help="What can this database platform really do? The SLOB method: load, run, show.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The order is the order in `slob --help`: the way of the data.
COMMANDS: tuple[str, ...] = (
    "demo",
    "server",
    "check",
    "load",
    "run",
    "sweep",
    "drop",
    "show",
    "list",
    "report",
    "compare",
    "export",
    "awr",
    "raw",
)

for _name in COMMANDS:
    import_module(f"{__name__}.{_name}").register(app)


def main() -> None:
    """Run the command line; an error is one line on stderr and an exit code, never a traceback."""
    try:
        app()
    except SlobError as error:
        print(f"slob: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
