"""The command line: one file per command. Nothing outside this folder prints or ends the process."""

from __future__ import annotations

import codecs
import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from openslob._version import __version__
from openslob.cli.configured import add_configuration, from_file
from openslob.cli.console import BROKEN_PIPE, complain, guard_streams, report_bug, write
from openslob.cli.contents import COMMANDS
from openslob.cli.gate import GATE
from openslob.cli.outline import add_outline
from openslob.cli.tree import OUTPUT_PANEL, Group, finish
from openslob.completion import COMPLETE, note, typed_words
from openslob.core.errors import SlobError, of_the_system
from openslob.report.format import plain_signs

# The base class of every error in options and arguments; its module differs between versions of typer.
_OptionError: Any = typer.BadParameter.__base__


def _version(show: bool) -> None:
    if show:
        print(f"slob {__version__}")
        raise typer.Exit


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


@cache
def application(commands: Sequence[str] = COMMANDS, listed_only: bool = False) -> typer.Typer:
    """Return the program with these commands; only their modules are imported, since all together take a while.

    ``listed_only``: the commands have their help and nothing else, for which no module is imported.
    """
    app = typer.Typer(
        name="slob",
        no_args_is_help=True,
        cls=Group,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    for name in commands:
        if listed_only and name in COMMANDS and add_outline(app, name, Path(__file__).with_name(f"{name}.py")):
            continue
        _add(app, name, import_module(f"{__name__}.{name}" if name in COMMANDS else find_other_commands()[name]))
    for command in list_commands(app):
        command.callback = add_configuration(command.callback)
    finish(app, (*COMMANDS, *commands))
    return app


def _add(app: typer.Typer, name: str, module: ModuleType) -> None:
    """Add the command of a module: its function of this name, or what its ``register`` adds, as of a group."""
    if hasattr(module, "register"):
        module.register(app)
    else:
        app.command(name)(getattr(module, name))


@cache
def find_other_commands() -> Mapping[str, str]:
    """Return the commands that kinds of measurement of other distributions bring: the module of each by its name."""
    from openslob.kinds.contract import commands  # noqa: PLC0415 - only for the help, or for a command that is not ours

    return {name: module for name, module in commands().items() if name not in COMMANDS}


def list_commands(group: typer.Typer) -> Iterator[Any]:
    """Yield the commands of a group and of the groups in it."""
    yield from group.registered_commands
    for each in group.registered_groups:
        if each.typer_instance:
            yield from list_commands(each.typer_instance)


def find_needed(words: Sequence[str]) -> tuple[str, ...]:
    """Return the commands that a command line needs: the one that it names, all as the help does, or none."""
    if words == ["--version"]:
        return ()
    name = next((word for word in words if not word.startswith("-")), "help")
    if name != "help" and (name in COMMANDS or name in find_other_commands()):
        return (name,)
    # The help does not fail for a kind that can't be loaded: who names a command of it learns why.
    with suppress(SlobError):
        return (*COMMANDS, *find_other_commands())
    return COMMANDS


def is_list_wanted(words: Sequence[str]) -> bool:
    """Return whether a command line asks for the list of commands, or a shell for the names that may follow `slob`."""
    if COMPLETE in os.environ:
        return len(words) < 2 and not any(word in COMMANDS for word in words)
    return not set(words) - {"-h", "--help", "--help-all"}


def __getattr__(name: str) -> typer.Typer:
    """Return ``app``, the whole program."""
    if name == "app":
        return application()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the command line. An error is one line on stderr and an exit code, never a traceback."""
    codecs.register_error(plain_signs.__name__, plain_signs)
    sys.excepthook = report_bug
    with guard_streams() as results:
        code = _run()
        sys.exit(code or (BROKEN_PIPE if results and results.broken_pipe else 0))


def _run() -> int:
    """Run the command and return its exit code."""
    try:
        words = typed_words()
        program = typer.main.get_command(application(find_needed(words), is_list_wanted(words)))
        if COMPLETE in os.environ:
            note(program)
        # From here on there may be garbage, but not among what was imported.
        gc.freeze()
        gc.enable()
        code = program(prog_name="slob", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except SlobError as error:
        complain(GATE.sentence(error))
        return GATE.code_of(error)
    except _OptionError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            write(error.message)
        else:
            complain(one_line(error))
        return int(error.exit_code)
    except typer.Abort:
        complain("stopped")
        return 1
    except (OSError, MemoryError) as error:
        complain(str(of_the_system(error)))
        return 1


def one_line(error: Any) -> str:  # noqa: ANN401
    """Return the message of an option error and the command that shows the help."""
    message = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    message = message[:1].lower() + message[1:]
    name = getattr(getattr(error, "param", None), "name", None)
    if error.ctx and name and (setting := from_file(error.ctx, name)):
        return f"{setting.where}: {message}"
    return f"{message}; see {error.ctx.command_path} --help" if error.ctx else message
