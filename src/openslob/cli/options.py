"""Options of a workload and its target: a flag for each parameter, generated from the fields of `Workload`.

Example — a command file::

    @with_workload
    def run(resolved: Resolved, name: Annotated[str, typer.Option(help="Name of the run.")] = "run") -> None:
        '''Run the workload and write a record.'''
        context = make_context(resolved, results, Screen())   # the only place the password goes
        finished = execute(AskedRun(resolved.parameters, name), context)

A command that needs only a server uses ``@with_target`` and has a parameter ``target: Target``; one that reads its
host, too, ``@with_place`` and ``on: OnTarget``. Typer makes the flags from the signature, so the decorators replace
``resolved``, ``target`` or ``on`` in it by the options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openslob.cli.common_options import DURATION
from openslob.cli.completion import one_of, servers
from openslob.cli.configured import (
    FLAG,
    config_file,
    configuration,
    context_for,
    environment,
    from_file,
    own_parameters,
    server_settings,
    strength,
    with_signature,
)
from openslob.cli.console import explain, notify
from openslob.config.configuration import (
    CONSENT_VARIABLE,
    DIRECT_VARIABLE,
    ENGINE_VARIABLE,
    HOST_VARIABLE,
    TARGET_VARIABLE,
    environment_with,
    names,
)
from openslob.config.files import EXTERNAL_SCRIPT
from openslob.config.parameters import Parameter, Setting, format_value, parameters
from openslob.config.resolve import DEFAULT, Resolution, resolve
from openslob.core.errors import UsageError
from openslob.core.secrets import Address
from openslob.core.units import Price
from openslob.core.workload import PRICE, StatisticsType
from openslob.engines import registry

if TYPE_CHECKING:
    from openslob.config.server_parameters import ServerParameter

Command = Callable[..., None]
# A flag and its values in 80 columns, beside the help text.
_WIDEST = 42

TARGET = Annotated[
    str,
    typer.Option(
        "--target", envvar=TARGET_VARIABLE, metavar="URL|NAME[,…]", show_default=True, autocompletion=servers,
        help="URL, or name of a managed server; several: the instances of one cluster.",
        rich_help_panel="Target",
    ),
]  # fmt: skip
ENGINE = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE", rich_help_panel="Target", envvar=ENGINE_VARIABLE,
        autocompletion=one_of(registry.managed_engines()),
        help=f"Use the embedded server of {' or '.join(registry.managed_engines())}.",
    ),
]  # fmt: skip
ASK_PASSWORD = Annotated[
    bool,
    typer.Option(
        "--ask-password", metavar="", help="Ask for the password of the target's user.", rich_help_panel="Target"
    ),
]
SERVER_PID = Annotated[
    int | None,
    typer.Option(
        "--server-pid", min=1, max=2**22, metavar="PID", rich_help_panel="Target",
        help="Process id of the server on this host, if slob can't find it; needed for its CPU time.",
    ),
]  # fmt: skip
HOST = Annotated[
    str | None,
    typer.Option(
        "--host", envvar=HOST_VARIABLE, metavar="URL", rich_help_panel="Target",
        help="The server's host, if not this one: ssh://[user@]host, or http://host:9100/metrics of a node_exporter.",
    ),
]  # fmt: skip

DIRECT = Annotated[
    str | None,
    typer.Option(
        "--direct", envvar=DIRECT_VARIABLE, metavar="URL", rich_help_panel="Target",
        help="The server itself, if the target is a pooler: all but the sessions of --loop client connect here.",
    ),
]  # fmt: skip
CONSENT = Annotated[
    str | None,
    typer.Option(
        "--consent", envvar=CONSENT_VARIABLE, metavar="NAME[,…]", rich_help_panel="Target",
        help="Use what needs a licence that you have: awr.",
    ),
]  # fmt: skip


REPORTS = Annotated[
    StatisticsType,
    typer.Option(
        "--database-statistics-type",
        case_sensitive=False,
        help="The server's own report, of snapshots before and after the load; awr needs --consent awr.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class OnTarget:
    """What a command is for: a target, its main process and host as the user names them, and the user's licences.

    ``direct`` is the server itself behind a target that is a pooler.
    """

    target: Address
    direct: Address | None = None
    server_pid: int | None = None
    host: str | None = None
    consented: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Resolved(OnTarget):
    """Parameters and target of a command. ``parameters`` are for the record, and contain no password.

    ``server`` has the settings of a server that the command creates, by key. ``script`` is the program that a slob.conf
    names to run beside a run; empty for none.
    """

    parameters: Resolution
    server: Mapping[str, Setting]
    script: str = ""


def with_workload(
    command: Command, hidden: Collection[str] = (), defaults: Mapping[str, str] = MappingProxyType({})
) -> Command:
    """Add the flags of a workload and its target to ``command``, which receives them as ``resolved: Resolved``.

    The help does not have the parameters ``hidden``: the command refuses them with what to give instead. The command
    itself has the ``defaults`` of some, as texts: the help shows these.
    """

    def called(ctx: typer.Context, config: Path | None, profile: str | None, **given: Any) -> None:  # noqa: ANN401, ARG001
        on = _on_target(ctx, given)
        flags, own = _split_options(given)
        found = resolve(flags, config, _environment(ctx))
        for notice in found.notices:
            notify(notice)
        explain(f"the target is {on['target']}")
        for name, source in found.sources.items():
            if source != DEFAULT:
                explain(f"{name} is {format_value(getattr(found.workload, name))}: {source}")
        script = configuration(ctx).settings.get(EXTERNAL_SCRIPT)
        resolved = Resolved(parameters=found, server=server_settings(ctx), script=script.value if script else "", **on)
        command(resolved=resolved, **own, **context_for(command, ctx))

    return _with_options(called, command, "resolved", _workload_options(hidden, defaults))


@dataclass(frozen=True, kw_only=True)
class Several(OnTarget):
    """Parameters with several values each, as texts by field name and by server flag, not yet resolved.

    ``environment`` names the profile of the files, too.
    """

    texts: Mapping[str, str]
    servers: Mapping[str, str]
    config: Path | None
    environment: Mapping[str, str]


def with_several(command: Command) -> Command:
    """Add the flags like `with_workload`; the command receives them unresolved as ``several: Several``."""
    from openslob.config.server_parameters import SERVER_PARAMETERS  # noqa: PLC0415 - for few commands

    def called(ctx: typer.Context, config: Path | None, profile: str | None, **given: Any) -> None:  # noqa: ANN401, ARG001
        around, on = _environment(ctx), _on_target(ctx, given)
        texts, rest = _split_options(given)
        servers = {name: text for name in SERVER_PARAMETERS if (text := rest.pop(name))}
        several = Several(texts=texts, servers=servers, config=config, environment=around, **on)
        command(several=several, **rest)

    servers = [_option(parameter.name, _server_flag(parameter), None) for parameter in SERVER_PARAMETERS.values()]
    return _with_options(called, command, "several", [*servers, *_workload_options()])


def with_target(command: Command) -> Command:
    """Add the flags of a target to ``command``, which receives it as ``target: Target``."""

    def called(ctx: typer.Context, config: Path | None, profile: str | None, **own: Any) -> None:  # noqa: ANN401, ARG001
        _notify_of_files(ctx, own)
        command(target=_target(ctx, own), **own, **context_for(command, ctx))

    return _with_options(called, command, "target", [])


def with_place(command: Command) -> Command:
    """Add the flags of a target and of the server's place to ``command``, which receives them as ``on: OnTarget``."""

    def called(ctx: typer.Context, config: Path | None, profile: str | None, **own: Any) -> None:  # noqa: ANN401, ARG001
        _notify_of_files(ctx, own)
        on = OnTarget(target=_target(ctx, own), **_place(own))
        command(on=on, **own, **context_for(command, ctx))

    return _with_options(called, command, "on", _PLACE)


def _notify_of_files(ctx: typer.Context, own: Collection[str]) -> None:
    if any(from_file(ctx, name) for name in own):
        for notice in configuration(ctx).notices:
            notify(notice)


def _split_options(given: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Split options into the texts of the given parameters and the command's own options."""
    # An option that can be repeated is an empty list where it is not given.
    texts = {name: format_value(given[name]) for name in parameters() if given[name] not in (None, [])}
    return texts, {name: value for name, value in given.items() if name not in parameters()}


def _workload_options(
    hidden: Collection[str] = (), defaults: Mapping[str, str] = MappingProxyType({})
) -> list[inspect.Parameter]:
    flags = [
        _option(name, _flag(parameter, name in hidden, defaults.get(name)), None)
        for name, parameter in parameters().items()
    ]
    return [*_PLACE, _option("direct", DIRECT, None), _option("consent", CONSENT, None), *flags]


def price_of_target(ctx: typer.Context, given: str | None) -> Price | None:
    """Return the price of the command's target: the one that is given, or that of environment or files."""
    flags = {PRICE: given} if given else {}
    return resolve(flags, config_file(ctx), _environment(ctx)).workload.price


def _environment(ctx: typer.Context) -> Mapping[str, str]:
    """Return the environment with target or engine of the command's flags."""
    flags = {name: str(ctx.params[name]) for name in ("target", "engine") if strength(ctx, name) == FLAG}
    return environment_with(environment(ctx), **flags)


def _on_target(ctx: typer.Context, given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `OnTarget`, and remove their options from ``given``."""
    direct = given.pop("direct")
    place = {**_place(given), "direct": Address.parse(direct) if direct else None}
    return {"target": _target(ctx, given), **place, "consented": names(given.pop("consent"))}


def _place(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given.pop(name) for name in ("server_pid", "host")}


def _target(ctx: typer.Context, given: dict[str, Any]) -> Address:
    """Return the target, and remove its options from ``given``. Of target and engine the stronger source counts."""
    text, engine, ask_password = (given.pop(name) for name in ("target", "engine", "ask_password"))
    by_target, by_engine = strength(ctx, "target"), strength(ctx, "engine")
    if by_target > by_engine:
        engine = None
    elif by_engine > by_target:
        text = registry.EMBEDDED
    target = Address.parse(_find_embedded(text, engine) if engine else text)
    if target.has_password and by_target == FLAG:
        notify("the password in --target is visible in the list of processes; see --ask-password")
    return target.with_password(typer.prompt("Password", hide_input=True, err=True)) if ask_password else target


def _find_embedded(target: str, engine: str) -> str:
    """Return the name of the engine's embedded server. UsageError if another target is given too."""
    name = registry.name_embedded(engine)
    if target not in (registry.EMBEDDED, name):
        raise UsageError(f"--engine {engine} means the server {name}, but the target is {target}", "give one of them")
    return name


def _with_options(called: Command, command: Command, replaced: str, options: list[inspect.Parameter]) -> Command:
    """Give ``called`` the name, help and signature of ``command``; options replace its parameter ``replaced``."""
    target = [
        _option("target", TARGET, registry.EMBEDDED),
        _option("engine", ENGINE, None),
        _option("ask_password", ASK_PASSWORD, False),
    ]
    return with_signature(called, command, [*own_parameters(command, replaced), *target, *options])


def _option(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_PLACE = [_option("server_pid", SERVER_PID, None), _option("host", HOST, None)]


def _flag(parameter: Parameter, hidden: bool = False, default: str | None = None) -> object:
    """Return the flag of a parameter. It takes text, which `resolve` validates like texts from other sources."""
    kind: Any = bool if parameter.is_switch else list[str] if parameter.is_repeated else str
    name = f"{parameter.flag}/--no-{parameter.flag[2:]}" if parameter.is_switch else parameter.flag
    # Beside the two names of a switch, or a long range, 80 columns leave no room for the help text.
    metavar = "" if parameter.is_switch else _metavar(parameter)
    panel = "Workload: on or off" if parameter.is_switch else f"Workload: {parameter.group}"
    is_choice = not (parameter.is_switch or parameter.is_number or parameter.is_repeated or parameter.unit)
    option = typer.Option(
        name, help=_help(parameter, default), rich_help_panel=panel, metavar=metavar, show_default=False,
        hidden=hidden,
        autocompletion=one_of(parameter.placeholder.split("|")) if is_choice else None,
    )  # fmt: skip
    return Annotated[kind | None, option]


def _metavar(parameter: Parameter) -> str:
    if parameter.is_duration:
        return DURATION
    if parameter.is_number:
        return "N"
    # A long name and all its values leave no room for the help text, which then has the values.
    return parameter.placeholder if _has_room(parameter) else "NAME"


def _has_room(parameter: Parameter) -> bool:
    return len(parameter.flag + parameter.placeholder) < _WIDEST


def _server_flag(parameter: ServerParameter) -> object:
    option = typer.Option(parameter.flag, help=parameter.meaning, rich_help_panel="Managed server", metavar="VALUES")
    return Annotated[str | None, option]


def _help(parameter: Parameter, default: str | None = None) -> str:
    default = default or parameter.default
    facts = [
        *([f"Range: {parameter.placeholder}."] if parameter.is_number else []),
        *([] if parameter.is_number or _has_room(parameter) else [f"{parameter.placeholder}."]),
        *([_unit(parameter)] if parameter.unit else []),
        *([f"Default: {default}."] if default else []),
    ]
    return " ".join([parameter.meaning, *facts])


def _unit(parameter: Parameter) -> str:
    return "In seconds, or such as 90s, 5m, 1h30m." if parameter.is_duration else f"Unit: {parameter.unit}."
