"""The parameters of a workload as flags, errors and documentation show them, derived from the fields of `Workload`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import get_args

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from openslob.core.access import LARGEST_EXPONENT, Access
from openslob.core.rate_schedule import RateSchedule
from openslob.core.session_classes import join_classes, parse_classes
from openslob.core.units import Extent, Price
from openslob.core.workload import LARGEST_BLOCKS, LARGEST_BYTES, SMALLEST_BYTES, Workload

ENVIRONMENT_PREFIX = "SLOB_"


@dataclass(frozen=True)
class Parameter:
    """One parameter as users see it.

    ``name`` is the name of the field, ``slob`` the name in configuration files. ``allowed`` describes the allowed
    values in words, ``placeholder`` in short. ``default`` is empty if there is none. ``option`` is the name of the flag
    where it is another one; ``is_repeated``: the flag is given several times, and each adds to the value.
    """

    name: str
    slob: str
    unit: str
    group: str
    meaning: str
    allowed: str
    placeholder: str
    default: str
    is_switch: bool
    is_number: bool
    is_duration: bool
    is_repeated: bool = False
    option: str = ""

    @property
    def flag(self) -> str:
        """Flag on the command line."""
        return "--" + (self.option or self.name).replace("_", "-")

    @property
    def variable(self) -> str:
        """Environment variable."""
        return ENVIRONMENT_PREFIX + self.slob


@dataclass(frozen=True)
class Setting:
    """A value as the user gave it, not yet validated.

    ``key`` and ``value`` are as written; ``where`` names the file and line, the environment variable or the flag.
    """

    key: str
    value: str
    where: str


@cache
def parameters() -> dict[str, Parameter]:
    """Return every parameter by the name of its field, in the order of `Workload`."""
    return {name: _parameter(name, field) for name, field in Workload.model_fields.items()}


@cache
def by_slob_name() -> dict[str, Parameter]:
    """Return every parameter by its name in configuration files."""
    return {parameter.slob: parameter for parameter in parameters().values()}


def _parameter(name: str, field: FieldInfo) -> Parameter:
    facts = field.json_schema_extra
    assert isinstance(facts, dict), f"{name} lacks its unit and group"
    return Parameter(
        name=name,
        slob=name.upper(),
        unit=str(facts["unit"]),
        group=str(facts["group"]),
        meaning=str(field.description),
        allowed=_describe_allowed(field),
        placeholder=_placeholder(field),
        default=format_value(field.default),
        is_switch=field.annotation is bool,
        is_number=_kind(field) in (int, float),
        is_duration=_is_duration(field),
        is_repeated=_kind(field) is str,
        option=str(facts.get("flag", "")),
    )


def format_value(value: object) -> str:
    """Return a parameter's value as configuration files write it; empty for None. ValueError for tables of no class."""
    if isinstance(value, list):
        return ";".join(value)
    if isinstance(value, Mapping):
        return join_classes(parse_classes(value))
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def _kind(field: FieldInfo) -> type:
    kinds: tuple[type, ...] = get_args(field.annotation) or (field.annotation,)
    return next(kind for kind in kinds if kind is not type(None))


def _is_duration(field: FieldInfo) -> bool:
    return _kind(field) is float and isinstance(facts := field.json_schema_extra, dict) and facts["unit"] == "s"


def _choices(kind: type) -> list[str]:
    return [member.value for member in kind] if issubclass(kind, Enum) else []


def _range(field: FieldInfo) -> tuple[object, object]:
    """Return the lowest and the highest value; every number has both, so that an error can name them."""
    (low,) = (bound.ge for bound in field.metadata if isinstance(bound, Ge))
    (high,) = (bound.le for bound in field.metadata if isinstance(bound, Le))
    return low, high


_IN_WORDS: Mapping[type, str] = {
    bool: "TRUE or FALSE",
    Price: "an amount above 0, with or without a currency, /hour, /month or /year, such as 123.45 EUR/month",
    Access: f"uniform, hotspot, or zipf: with an exponent from 0.001 to {LARGEST_EXPONENT}, such as zipf:0.99",
    RateSchedule: "BEGIN:RATE of each stage, such as 0s:1000,60s:5000; a ramp to the next stage is 60s:1000-5000",
    str: "a name with its parameters, such as readers:sessions=16,update_pct=0; several are divided by semicolons",
}

_PLACEHOLDERS: Mapping[type, str] = {
    Extent: "BLOCKS|SIZE",
    Price: "AMOUNT/month",
    Access: "uniform|zipf:0.99|hotspot",
    RateSchedule: "BEGIN:RATE,…",
    str: "NAME:PARAMETER=VALUE,…",
}


def _describe_allowed(field: FieldInfo) -> str:
    kind = _kind(field)
    if kind in _IN_WORDS:
        return _IN_WORDS[kind]
    if kind is Extent:
        least, most = (Extent(amount, in_bytes=True) for amount in (SMALLEST_BYTES, LARGEST_BYTES))
        return f"1 to {LARGEST_BLOCKS} blocks, or a size from {least} to {most} (suffix K, M, G or T)"
    if choices := _choices(kind):
        return " or ".join([", ".join(choices[:-1]), choices[-1]])
    low, high = _range(field)
    if _is_duration(field):
        return f"a duration from {low} to {high} s, such as 90, 90s or 1m30s"
    return f"{'a whole number' if kind is int else 'a number'} from {low} to {high}"


def _placeholder(field: FieldInfo) -> str:
    kind = _kind(field)
    if kind in _PLACEHOLDERS:
        return _PLACEHOLDERS[kind]
    if kind is bool or _choices(kind):
        return "|".join(_choices(kind)) or "TRUE|FALSE"
    return "..".join(map(str, _range(field)))
