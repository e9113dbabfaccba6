"""Combine flags, environment, files, what is loaded and defaults, in this order, and keep the origin of each value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from openslob.config.configuration import CONFIG_VARIABLE, PROFILE_VARIABLE, is_toml, read_configuration
from openslob.config.layers import Layer, nearest
from openslob.config.loaded import LOADED
from openslob.config.parameters import ENVIRONMENT_PREFIX, Parameter, Setting, by_slob_name, parameters
from openslob.config.slob_toml import setting_variables
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.units import Extent
from openslob.core.workload import Workload

DEFAULT = "default"
# Variables with our prefix that are not parameters and are read elsewhere.
OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, PROFILE_VARIABLE, rehearsal.VARIABLE, *setting_variables()})

# Blocks of a table that a rehearsal leaves at least.
FEWEST_BLOCKS = 128


@dataclass(frozen=True)
class Resolution:
    """The requested workload and the origin of its values.

    ``sources`` says where each came from: ``flag``, ``environment``, file and line, ``loaded``, ``default``.
    ``notices`` are shown to the user and kept in the record.
    """

    workload: Workload
    sources: Mapping[str, str]
    notices: Sequence[str]


def resolve(
    flags: Mapping[str, str], config: Path | None, environment: Mapping[str, str], loaded: Layer | None = None
) -> Resolution:
    """Return the workload of ``flags`` (by field name), environment, files, and what is ``loaded``.

    Without ``config``, ./slob.toml is read if it exists; the user's own is read too (`read_configuration`).

    Raises:
        UsageError: A parameter is unknown, or a value is not allowed.

    """
    files = read_configuration(config, environment)
    notices = [*files.notices, *rehearsal.notices()]
    layers = [loaded or {}, *files.workload, _environment_layer(environment, notices), _flag_layer(flags)]
    given = _merge(layers, notices)
    sources = {name: given[name].where if name in given else DEFAULT for name in parameters()}
    if config and not is_toml(config) and sources["schemas"] == DEFAULT:
        default = f"else --schemas {parameters()['schemas'].default}"
        notices.append(f"{config} gives no number of schemas: that of loaded data is used, {default}")
    return Resolution(_validated(given), sources, tuple(notices))


def _flag_layer(flags: Mapping[str, str]) -> Layer:
    return {name: Setting(parameters()[name].slob, value, "flag") for name, value in flags.items()}


def _environment_layer(environment: Mapping[str, str], notices: list[str]) -> Layer:
    layer = {}
    for variable, value in sorted(environment.items()):
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in OTHER_VARIABLES:
            continue
        parameter = by_slob_name().get(variable.removeprefix(ENVIRONMENT_PREFIX))
        if parameter and value:
            layer[parameter.name] = Setting(parameter.slob, value, "environment")
        elif not parameter:
            if near := nearest(variable, [*(known.variable for known in parameters().values()), *OTHER_VARIABLES]):
                raise UsageError(f"the environment variable {variable} is not a parameter", f"did you mean {near}?")
            notices.append(f"the environment variable {variable} is not a parameter and is not used")
    return layer


def _merge(layers: Sequence[Layer], notices: list[str]) -> Layer:
    """Return the strongest setting of each parameter; SESSIONS and THREADS_PER_SCHEMA count as one parameter."""
    merged: dict[str, Setting] = {}
    for layer in layers:
        if "threads_per_schema" in layer and "sessions" not in layer and "sessions" in merged:
            weaker = merged.pop("sessions")
            notices.append(
                f"THREADS_PER_SCHEMA ({layer['threads_per_schema'].where}) overrides SESSIONS ({weaker.where})"
            )
        merged.update(layer)
    if "threads_per_schema" in merged and "sessions" in merged:
        notices.append(f"SESSIONS ({merged['sessions'].where}) is used, THREADS_PER_SCHEMA is not")
    return merged


def _validated(given: Layer) -> Workload:
    try:
        workload = Workload.model_validate({name: setting.value for name, setting in given.items()})
    except ValidationError as error:
        raise _explained(error, given) from None
    return _rehearsed(workload, loaded=[name for name, setting in given.items() if setting.where == LOADED])


def _rehearsed(workload: Workload, loaded: Collection[str]) -> Workload:
    """Return the workload with less data and shorter times in a rehearsal; parameters that are ``loaded`` stay."""
    if rehearsal.divisor() == 1:
        return workload
    data = {name: _fewer(getattr(workload, name)) for name in ("scale", "scan_table_sz") if name not in loaded}
    times = {"run_time": rehearsal.seconds(workload.run_time), "warmup": rehearsal.seconds(workload.warmup, least=0.2)}
    return workload.changed(**data, **times)


def _fewer(extent: Extent) -> Extent:
    if extent.in_bytes:
        return replace(extent, amount=rehearsal.amount(extent.amount))
    return replace(extent, amount=max(extent.amount // rehearsal.divisor(), min(extent.amount, FEWEST_BLOCKS)))


def _explained(error: ValidationError, given: Layer) -> UsageError:
    first, *others = error.errors(include_url=False)
    if not first["loc"]:
        return UsageError(_across(first["msg"].removeprefix("Value error, "), given))
    wrong = [given[str(detail["loc"][0])].key for detail in others if detail["loc"]]
    also = f"; also wrong: {', '.join(wrong)}" if wrong else ""
    name = str(first["loc"][0])
    return UsageError(_not_allowed(parameters()[name], given[name]) + also)


def _not_allowed(parameter: Parameter, setting: Setting) -> str:
    value = setting.value if len(setting.value) <= 60 else setting.value[:60] + "…"
    where = {"flag": parameter.flag, "environment": parameter.variable}.get(setting.where, setting.where)
    return f"{setting.key}={value} ({where}) is not allowed; allowed is {parameter.allowed}"


def _across(message: str, given: Layer) -> str:
    """Return a message about several parameters with the origin of each."""
    named = [parameter for parameter in parameters().values() if parameter.slob in message.replace("=", " ").split()]
    origins = ", ".join(
        f"{parameter.slob}: {given[parameter.name].where if parameter.name in given else DEFAULT}"
        for parameter in named
    )
    return f"{message} ({origins})"
