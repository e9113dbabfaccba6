"""The command line: one file per command. Nothing outside this folder prints or ends the process."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer

from openslob._version import __version__
from openslob.cli.configured import configured, from_file
from openslob.cli.console import BROKEN_PIPE, complain, guarded_streams, report_bug
from openslob.cli.tree import OUTPUT_PANEL, Group, finish
from openslob.errors import SlobError
from openslob.report.format import plain_signs

app = typer.Typer(
    name="slob",
    no_args_is_help=True,
    cls=Group,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The order of `slob --help`: the order in which a user needs the commands, under these headings.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "Measure a database": ("demo", "server", "check", "load", "run", "sweep", "drop", "config"),
    "Look at records": ("show", "list", "report", "compare", "baseline", "export"),
    "Without a database": ("awr", "raw"),
    "Help": ("help",),
}


def _commands_of(group: typer.Typer) -> Iterator[Any]:
    yield from group.registered_commands
    for each in group.registered_groups:
        if each.typer_instance:
            yield from _commands_of(each.typer_instance)


for _names in COMMANDS.values():
    for _name in _names:
        import_module(f"{__name__}.{_name}").register(app)
for _command in _commands_of(app):
    _command.callback = configured(_command.callback)
finish(app, COMMANDS)


# The base class of every error in options and arguments; its module differs between versions of typer.
_OptionError: Any = typer.BadParameter.__base__


def _version(show: bool) -> None:
    if show:
        print(f"slob {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            is_eager=True,
            callback=_version,
            help="Show the version and exit.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
) -> None:
    """What can this database platform really do? The SLOB method: load, run, show."""


def main() -> None:
    """Run the command line. An error is one line on stderr and an exit code, never a traceback."""
    codecs.register_error(plain_signs.__name__, plain_signs)
    sys.excepthook = report_bug
    with guarded_streams() as results:
        code = _run()
        sys.exit(code or (BROKEN_PIPE if results and results.broken_pipe else 0))


def _run() -> int:
    """Run the command and return its exit code."""
    try:
        code = app(prog_name="slob", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except SlobError as error:
        complain(str(error))
        return error.exit_code
    except _OptionError as error:
        if line := one_line(error):
            complain(line)
        return int(error.exit_code)
    except typer.Abort:
        complain("stopped")
        return 1
    except (OSError, MemoryError) as error:
        complain(of_the_system(error))
        return 1


def of_the_system(error: OSError | MemoryError) -> str:
    """Return an error of the operating system in one line: no memory, no space, no file descriptors."""
    if isinstance(error, MemoryError):
        return "this program got no more memory; give it more, or use fewer sessions"
    return f"{error.filename}: {error.strerror}" if error.filename else f"{error.strerror or error}"


def one_line(error: Any) -> str:  # noqa: ANN401
    """Return the message of an option error and the command that shows the help; empty if help was shown already."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return ""
    message = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    message = message[:1].lower() + message[1:]
    name = getattr(getattr(error, "param", None), "name", None)
    if error.ctx and name and (setting := from_file(error.ctx, name)):
        return f"{setting.where}: {message}"
    return f"{message}; see {error.ctx.command_path} --help" if error.ctx else message
