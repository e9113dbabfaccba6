"""What all commands have in common: the options of output, the order of the help, and names of values in it.

Commands are declared with typer in their files; `finish` puts these classes in the place of typer's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from openslob.cli import short_help
from openslob.cli.contents import USUAL
from openslob.cli.gate import CONDITIONS, INCONCLUSIVE
from openslob.cli.output import OUTPUT, Color
from openslob.core.errors import UsageError

OUTPUT_PANEL = "Help and output"
_USUAL_PANEL = "The usual options"
_OWN_PANEL = "Record, result and more"
# Set in a context whose help is to have everything.
_WHOLE = "openslob.whole_help"

_LONGEST_METAVAR = 24
_WITHOUT_VALUE = re.compile(r"--[\w-]+=")
# The order of the program's commands in its help.
_ORDER: list[str] = []


def finish(app: typer.Typer, order: Sequence[str] = ()) -> None:
    """Let every command and group of ``app`` be a `Command` or a `Group`; lists have those of the program in order."""
    _ORDER.extend(order)
    for command in app.registered_commands:
        if not issubclass(command.cls or TyperCommand, Command):
            command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance:
            finish(group.typer_instance)


class _Common:
    """Adds the common options, and puts the usual ones first."""

    _help_option: Any

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - typer's own, of which there are many
        params = [*(given.pop("params", None) or ())]
        params += [] if CONDITIONS.isdisjoint(param.name for param in params) else _copies_of(_gate_command())
        params += _copies_of(_output_command())
        super().__init__(params=params, **given)  # type: ignore[call-arg]

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own
        """Return the parameters, each with a word for its value; those of typer are among those of help."""
        params: list[Any] = _in_order(short_help.path_of(ctx), super().get_params(ctx))  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperOption) and param.metavar is None:
                param.metavar = _metavar(param, ctx)
            if isinstance(param, TyperArgument):
                # The usage has brackets of its own; and what an argument is called says more than its type.
                param.metavar = param.metavar and param.metavar.strip("[]")
                vars(param)["display_type_rich"] = lambda ctx: ""  # noqa: ARG005 - typer's own
            if param.name in ("install_completion", "show_completion"):
                param.metavar, param.rich_help_panel = "", OUTPUT_PANEL
        return params

    def get_help_option(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own
        """Return --help, in the panel of the common options and without a type of its own."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        if option is not None:
            option.metavar, option.rich_help_panel = "", OUTPUT_PANEL
        return option


class Command(_Common, TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own
        """Read the words of the command line. UsageError for an empty one: a variable of a script that is not set.

        As a path it would be the present directory, as a server the one that is there by default.
        """
        if ctx.allow_interspersed_args:
            _refuse_empty(args[: args.index("--")] if "--" in args else args)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own
        """Write the usual options, or with `--help-all` typer's own help, which has all."""
        if _WHOLE in ctx.meta:
            super().format_help(ctx, formatter)
        else:
            formatter.write(short_help.command_help(self, ctx))


def _refuse_empty(words: Sequence[str]) -> None:
    for before, word in pairwise(("", *words)):
        if not word or _WITHOUT_VALUE.fullmatch(word):
            what = (word or before).rstrip("=")
            raise UsageError(
                f"{what if what.startswith('-') else 'an argument'} is empty", "give it a value, or leave it out"
            )


class Group(_Common, TyperGroup):
    """A group of commands, or the whole program, with its commands in the order of their headings."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own
        """Return the names of the commands."""
        order = _ORDER if ctx.parent is None else []
        return sorted(self.commands, key=lambda name: order.index(name) if name in order else len(order))

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own
        """Write the list of commands; that of the program is one screen, and with `--help-all` has everything."""
        if _WHOLE not in ctx.meta:
            formatter.write((short_help.group_help if ctx.parent else short_help.program_help)(self, ctx))
        elif ctx.parent:
            super().format_help(ctx, formatter)
        else:
            from openslob.cli.help import whole_help  # noqa: PLC0415 - it imports what lays out documentation

            formatter.write(whole_help(self, ctx))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own
        """Run the command; typer, in some versions, would end without a word on Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


def _in_order(path: str, params: list[Any]) -> list[Any]:
    """Return the parameters of the command at a path with its usual options first."""
    if path not in USUAL:
        return params
    usual = [param for wanted in USUAL[path].names for param in params if wanted in param.opts]
    rest = [param for param in params if param not in usual]
    for param in usual:
        param.rich_help_panel = _USUAL_PANEL
    own = [param for param in rest if param.rich_help_panel is None]
    for param in own:
        param.rich_help_panel = _OWN_PANEL
    return [*usual, *own, *(param for param in rest if param not in own)]


def _metavar(option: TyperOption, ctx: Any) -> str:  # noqa: ANN401 - typer's own
    """Return what stands for an option's value in the help: its choices, or N; empty for a flag, which has none."""
    if option.is_flag or option.count:
        return ""
    shown = (option.display_type_rich(ctx=ctx) or "").strip("<>[]")
    if "|" not in shown:
        return "N"
    # Beside long lists of choices, 80 columns leave no room for the help text, which names them too.
    return shown if len(shown) <= _LONGEST_METAVAR else (option.name or "").upper()


def _copies_of(command: Any) -> list[Any]:  # noqa: ANN401 - typer's own
    """Return the options of a command for another one; the program has those of output, too, before a command."""
    return [copy(option) for option in command.params]


@cache
def _output_command() -> Any:  # noqa: ANN401 - typer's own
    return _with_callbacks_alone(_output)


@cache
def _gate_command() -> Any:  # noqa: ANN401 - typer's own
    return _with_callbacks_alone(_gate)


def _with_callbacks_alone(function: Callable[..., None]) -> Any:  # noqa: ANN401 - typer's own
    """Return a command whose options other commands can have, since their values go to their callbacks alone."""
    app = typer.Typer(add_completion=False)
    app.command()(function)
    command = typer.main.get_command(app)
    for option in command.params:
        option.expose_value = False
    return command


def _be_quiet(ctx: typer.Context, value: bool) -> None:
    OUTPUT.quiet = value or (OUTPUT.quiet and ctx.parent is not None)


def _be_verbose(ctx: typer.Context, value: bool) -> None:
    OUTPUT.verbose = value or (OUTPUT.verbose and ctx.parent is not None)


def _colour(ctx: typer.Context, value: Color | None) -> None:
    if value is None:
        OUTPUT.color = OUTPUT.color if ctx.parent else Color.AUTO
        return
    OUTPUT.color = value
    # The help is printed by a library that knows only these variables.
    os.environ.pop("NO_COLOR", None)
    if value is Color.NEVER:
        os.environ["NO_COLOR"] = "1"
    elif value is Color.ALWAYS:
        os.environ["FORCE_COLOR"] = "1"


def _show_whole(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def _output(
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", metavar="", callback=_be_quiet, rich_help_panel=OUTPUT_PANEL,
            help="Print only the result, and errors.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", metavar="", callback=_be_verbose, rich_help_panel=OUTPUT_PANEL,
            help="Print what is decided, and why.",
        ),
    ] = False,
    color: Annotated[
        Color | None,
        typer.Option(
            "--color", metavar="auto|always|never", callback=_colour, is_eager=True, rich_help_panel=OUTPUT_PANEL,
            help="When to colour; auto: on a terminal.",
        ),
    ] = None,
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all", metavar="", callback=_show_whole, is_eager=True, rich_help_panel=OUTPUT_PANEL,
            help="Show all options and exit.",
        ),
    ] = False,
) -> None: ...  # fmt: skip


def _gate(inconclusive: INCONCLUSIVE = None) -> None: ...
