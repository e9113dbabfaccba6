"""Settings from configuration files: `add_configuration` adds --config and --profile, and gives options their values.

An option takes the setting of a file that has the option's environment variable (`slob_toml.variable_of`). Flags and
environment take precedence.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.cli.console import conceal_too, notify
from openslob.config.configuration import (
    CONFIG_VARIABLE,
    DIRECT_VARIABLE,
    PROFILE_VARIABLE,
    TARGET_VARIABLE,
    Configuration,
    read_configuration,
)
from openslob.config.parameters import Setting
from openslob.config.slob_toml import SERVER, SERVER_KEYS, setting_variables, variable_of

Command = Callable[..., None]
_ASKED, _READ = "openslob.asked", "openslob.configuration"
_PANEL = "Configuration"
# The parameter of a command's function that takes the context.
CONTEXT = "ctx"
# How strong sources are.
FLAG, FILE = 3, 1


def _read_files(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:  # noqa: ANN401 - of either option
    """Read the files as soon as both options are known; both are eager, so this happens before the others."""
    asked = ctx.meta.setdefault(_ASKED, {})
    asked[param.name] = value
    if len(asked) == len(_OPTIONS) and not ctx.resilient_parsing:
        found = read_configuration(asked["config"], _environment(asked["profile"]))
        for variable in (TARGET_VARIABLE, DIRECT_VARIABLE):
            if target := found.settings.get(variable):
                conceal_too(target.value)
        ctx.meta[_READ] = found
        ctx.default_map = {name: setting.value for name, setting in _settings_of(ctx, found).items()}
    return value


CONFIG = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", envvar=CONFIG_VARIABLE, metavar="FILE", rich_help_panel=_PANEL, is_eager=True,
        callback=_read_files, help="slob.toml, slob.conf or pgio.conf, instead of ./slob.toml.",
    ),
]  # fmt: skip
PROFILE = Annotated[
    str | None,
    typer.Option(
        "--profile", envvar=PROFILE_VARIABLE, metavar="NAME", rich_help_panel=_PANEL, is_eager=True,
        callback=_read_files, help="Also apply the profile NAME of slob.toml.",
    ),
]  # fmt: skip
_OPTIONS = {"config": CONFIG, "profile": PROFILE}


def options() -> list[inspect.Parameter]:
    """Return the options that name the files, as parameters of a command's signature."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, kind, default=None, annotation=annotation) for name, annotation in _OPTIONS.items()]


def own_parameters(command: Command, replaced: str = "") -> list[inspect.Parameter]:
    """Return the parameters of a command's function as options of a signature, without its context and ``replaced``."""
    found = inspect.signature(command, eval_str=True).parameters.values()
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in found if each.name not in (CONTEXT, replaced)]


def context_for(command: Command, ctx: typer.Context) -> dict[str, typer.Context]:
    """Return the argument with the context, for a command that takes it."""
    return {CONTEXT: ctx} if CONTEXT in inspect.signature(command).parameters else {}


def with_signature(called: Command, command: Command, parameters: list[inspect.Parameter]) -> Command:
    """Give ``called`` the name and help of ``command``, and a signature of its context and ``parameters``."""
    context = inspect.Parameter(CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    signature = inspect.Signature([context, *parameters, *options()])
    called.__name__, called.__doc__, called.__module__ = command.__name__, command.__doc__, command.__module__
    called.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    vars(called)["__signature__"] = signature
    return called


def add_configuration(command: Command) -> Command:
    """Add --config and --profile to a command whose options the files may set; return others as they are."""
    own = own_parameters(command)
    if any(each.name in _OPTIONS for each in own) or not any(_variable_in(each) for each in own):
        return command

    def called(ctx: typer.Context, config: Path | None, profile: str | None, **given: Any) -> None:  # noqa: ANN401, ARG001
        if any(from_file(ctx, name) for name in given):
            for notice in configuration(ctx).notices:
                notify(notice)
        command(**given, **context_for(command, ctx))

    return with_signature(called, command, own)


def _variable_in(parameter: inspect.Parameter) -> bool:
    """Return whether files may set the option."""
    options = [each.envvar for each in getattr(parameter.annotation, "__metadata__", ()) if hasattr(each, "envvar")]
    return any(variable in setting_variables() for variable in options)


def configuration(ctx: typer.Context) -> Configuration:
    """Return what was read for this command."""
    found: Configuration = ctx.meta[_READ]
    return found


def environment(ctx: typer.Context) -> Mapping[str, str]:
    """Return the environment of this process, with the profile that the command names."""
    return _environment(ctx.meta[_ASKED]["profile"])


def config_file(ctx: typer.Context) -> Path | None:
    """Return the file that the command names by --config."""
    path: Path | None = ctx.meta[_ASKED]["config"]
    return path


def _environment(profile: str | None) -> Mapping[str, str]:
    return {**os.environ, PROFILE_VARIABLE: profile or ""}


def _settings_of(ctx: typer.Context, found: Configuration) -> dict[str, Setting]:
    """Return the settings of the command's options by their names."""
    variables = {str(each.name): each.envvar for each in ctx.command.params if isinstance(each.envvar, str)}
    return {name: found.settings[variable] for name, variable in variables.items() if variable in found.settings}


def from_file(ctx: typer.Context, name: str) -> Setting | None:
    """Return the setting of a file that an option has; None if it has another value."""
    return _settings_of(ctx, configuration(ctx)).get(name) if strength(ctx, name) == FILE else None


def strength(ctx: typer.Context, name: str) -> int:
    """Return how strong the source of an option's value is: `FLAG`, 2 for the environment, `FILE`, 0 for no source."""
    source = ctx.get_parameter_source(name)
    return {"COMMANDLINE": FLAG, "ENVIRONMENT": 2, "DEFAULT_MAP": FILE}.get(source.name if source else "", 0)


def server_settings(ctx: typer.Context) -> dict[str, Setting]:
    """Return the settings of managed servers that environment and files give, by key."""
    found = configuration(ctx).settings
    settings = {}
    for key in SERVER_KEYS:
        variable = variable_of(key, SERVER)
        if value := os.environ.get(variable):
            settings[key] = Setting(key, value, variable)
        elif variable in found:
            settings[key] = found[variable]
    return settings
