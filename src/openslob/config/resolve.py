"""Combine what is given, environment, files, what is loaded and defaults, in this order, with each value's origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from openslob.config.configuration import (
    BASELINES_VARIABLE,
    CONFIG_VARIABLE,
    INCONCLUSIVE_VARIABLE,
    PROFILE_VARIABLE,
    is_toml,
    read_configuration,
)
from openslob.config.layers import LOADED, Layer, nearest
from openslob.config.parameters import ENVIRONMENT_PREFIX, Parameter, Setting, by_slob_name, parameters
from openslob.config.slob_toml import setting_variables
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.units import Extent
from openslob.core.workload import CLASSES, Workload

FLAG, ENVIRONMENT, DEFAULT = "flag", "environment", "default"
# Variables with our prefix that are not parameters and are read elsewhere.
OTHER_VARIABLES = frozenset(
    {CONFIG_VARIABLE, PROFILE_VARIABLE, BASELINES_VARIABLE, INCONCLUSIVE_VARIABLE}
    | {rehearsal.VARIABLE, *setting_variables()}
)

# The parameters that say how many sessions a load without classes has.
_COUNTS = ("sessions", "threads_per_schema")

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

    @property
    def given(self) -> list[str]:
        """The names of the parameters that the command or the call itself gives."""
        return [name for name, source in self.sources.items() if source == FLAG]

    def with_loaded(self, layer: Layer) -> Resolution:
        """Return the same with what is loaded, where nothing gives other values."""
        taken = {name: setting.value for name, setting in layer.items() if self.sources[name] == DEFAULT}
        if self.sources["obfuscate_columns"] != DEFAULT:
            # It is a share of incompressible text.
            taken.pop("compressible", None)
        sources = {**self.sources, **dict.fromkeys(taken, LOADED)}
        return replace(self, workload=self.workload.changed(**taken), sources=sources)


def resolve(given: Mapping[str, str], config: Path | None, environment: Mapping[str, str]) -> Resolution:
    """Return the workload of what is ``given`` (texts by field name), of environment and files.

    Without ``config``, ./slob.toml is read if it exists; the user's own is read too (`read_configuration`).

    Raises:
        UsageError: A parameter is unknown, or a value is not allowed.

    """
    files = read_configuration(config, environment)
    notices = [*files.notices, *rehearsal.notices()]
    layers = [*files.workload, _environment_layer(environment, notices), _flag_layer(given)]
    merged = _merge(layers, notices)
    sources = {name: merged[name].where if name in merged else DEFAULT for name in parameters()}
    if config and not is_toml(config) and sources["schemas"] == DEFAULT:
        default = f"else --schemas {parameters()['schemas'].default}"
        notices.append(f"{config} gives no number of schemas: that of loaded data is used, {default}")
    return Resolution(_validate(merged, sources), sources, tuple(notices))


def _flag_layer(given: Mapping[str, str]) -> Layer:
    return {name: Setting(parameters()[name].slob, value, FLAG) for name, value in given.items()}


def _environment_layer(environment: Mapping[str, str], notices: list[str]) -> Layer:
    layer = {}
    for variable, value in sorted(environment.items()):
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in OTHER_VARIABLES:
            continue
        parameter = by_slob_name().get(variable.removeprefix(ENVIRONMENT_PREFIX))
        if parameter and value:
            layer[parameter.name] = Setting(parameter.slob, value, ENVIRONMENT)
        elif not parameter:
            if near := nearest(variable, [*(known.variable for known in parameters().values()), *OTHER_VARIABLES]):
                raise UsageError(f"the environment variable {variable} is not a parameter", f"did you mean {near}?")
            notices.append(f"the environment variable {variable} is not a parameter and is not used")
    return layer


def _merge(layers: Sequence[Layer], notices: list[str]) -> Layer:
    """Return the strongest setting of each parameter; SESSIONS and THREADS_PER_SCHEMA count as one parameter."""
    merged: dict[str, Setting] = {}
    for layer in layers:
        if classes := layer.get(CLASSES) or merged.get(CLASSES):
            _give_way_to_classes(classes, layer, merged, notices)
        if "threads_per_schema" in layer and "sessions" not in layer and "sessions" in merged:
            weaker = merged.pop("sessions")
            notices.append(
                f"THREADS_PER_SCHEMA ({layer['threads_per_schema'].where}) overrides SESSIONS ({weaker.where})"
            )
        merged.update(layer)
    if "threads_per_schema" in merged and "sessions" in merged:
        notices.append(f"SESSIONS ({merged['sessions'].where}) is used, THREADS_PER_SCHEMA is not")
    return merged


def _give_way_to_classes(classes: Setting, layer: Layer, merged: dict[str, Setting], notices: list[str]) -> None:
    """Remove the number of sessions of a weaker source. UsageError if a stronger one, or the same, gives it."""
    for name in _COUNTS:
        if name in layer:
            why = f"{layer[name].key} ({layer[name].where}) and CLASSES ({classes.where}) both say how many sessions"
            raise UsageError(f"{why} there are", "give one of them: each class has its own sessions")
        if weaker := merged.pop(name, None):
            notices.append(f"CLASSES ({classes.where}) overrides {weaker.key} ({weaker.where})")


def _validate(given: Layer, sources: Mapping[str, str]) -> Workload:
    try:
        workload = Workload.model_validate({name: setting.value for name, setting in given.items()})
    except ValidationError as error:
        raise _explain(error, given, sources) from None
    return _rehearse(workload)


def _rehearse(workload: Workload) -> Workload:
    """Return the workload with less data and shorter times in a rehearsal."""
    if rehearsal.divisor() == 1:
        return workload
    data = {name: _reduce(getattr(workload, name)) for name in ("scale", "scan_table_sz")}
    times = {"run_time": rehearsal.seconds(workload.run_time), "warmup": rehearsal.seconds(workload.warmup, least=0.2)}
    return workload.changed(**data, **times)


def _reduce(extent: Extent) -> Extent:
    if extent.in_bytes:
        return replace(extent, amount=rehearsal.amount(extent.amount))
    return replace(extent, amount=max(extent.amount // rehearsal.divisor(), min(extent.amount, FEWEST_BLOCKS)))


def _explain(error: ValidationError, given: Layer, sources: Mapping[str, str]) -> UsageError:
    first, *others = error.errors(include_url=False)
    if not first["loc"]:
        return UsageError(_name_origins(first["msg"], sources))
    wrong = [given[str(detail["loc"][0])].key for detail in others if detail["loc"]]
    also = f"; also wrong: {', '.join(wrong)}" if wrong else ""
    name = str(first["loc"][0])
    return UsageError(_refuse(parameters()[name], given[name]) + also)


def _refuse(parameter: Parameter, setting: Setting) -> str:
    value = setting.value if len(setting.value) <= 60 else setting.value[:60] + "…"
    where = {FLAG: parameter.flag, ENVIRONMENT: parameter.variable}.get(setting.where, setting.where)
    return f"{setting.key}={value} ({where}) is not allowed; allowed is {parameter.allowed}"


def _name_origins(message: str, sources: Mapping[str, str]) -> str:
    """Return a message about several parameters with the origin of each."""
    message = message.removeprefix("Value error, ")
    words = message.replace("=", " ").split()
    origins = [f"{each.slob}: {sources[name]}" for name, each in parameters().items() if each.slob in words]
    return f"{message} ({', '.join(origins)})"
