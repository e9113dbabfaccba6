"""The free-form parts of a record, checked where it is read: facts by name, latencies, tables and workloads.

They keep what they hold, unknown names included; what a reader computes with must be what its name says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError, ValidationInfo

from openslob.core.workload import Workload

Number = Annotated[float, Strict()]
# The end of a fact's name is its unit: then it is a number, or has numbers.
_UNIT = re.compile(r"(?:^|_)(?:bytes|n?s|[mu]s|pct|hz|iops|mb|kib|w|j|us_per_io)$|_per_\w+$")
# What is said of facts, by their names: why one is not known, where one is from. Servers name their own settings.
_OF_FACTS = frozenset({"unknown", "cpu_source", "settings", "set", "plans"})
# What has no names in it, and far more parts than all others.
_UNNAMED = "buckets"
_NESTED, _NUMBERS = (dict, list, tuple), (int, float)
# In the context of a validation: a document is read. What was measured is kept, whatever a server says of itself.
READ = {"read": True}


class _Part(BaseModel):
    """The base of a part's shape, which is built when one is read."""

    model_config = ConfigDict(defer_build=True)


class _Slow(_Part):
    us: Number
    session: int
    from_s: Number
    to_s: Number


class _Latency(_Part):
    count: int
    mean_us: Number | None
    max_us: Number | None
    p50_us: Number | None = None
    p90_us: Number | None = None
    p99_us: Number | None = None
    p999_us: Number | None = None
    buckets: list[tuple[Number, int]] = []
    slowest: list[_Slow] = []


class _Named(_Part):
    name: str
    why: str = ""
    segment: int


class _Level(_Part):
    begin_s: Number
    end_s: Number
    ops_per_s: Number | None
    low_per_s: Number | None
    high_per_s: Number | None
    reads_per_s: Number | None
    commits_per_s: Number | None
    written_per_s: Number | None
    p50_us: Number | None
    p99_us: Number | None
    p999_us: Number | None


class _Shortfall(_Part):
    share: Number
    time_pct: Number | None
    longest_begin_s: Number | None
    longest_s: Number | None


class _Occurrence(_Part):
    kind: str
    count: Number
    seconds: Number | None
    every_s: Number | None
    ops_inside: Number | None
    ops_outside: Number | None


class _Slowness(_Part):
    begin_s: Number
    end_s: Number
    cause: str
    evidence: str
    lost_ops: Number


class _Mark(_Part):
    at_s: Number
    until_s: Number
    kind: str
    text: str


class _Course(_Part):
    segment_verdicts: list[_Named] = []
    levels: list[_Level] = []
    shortfalls: list[_Shortfall] = []
    occurrences: list[_Occurrence] = []
    episodes: list[_Slowness] = []
    marks: list[_Mark] = []


class _Environment(_Part):
    server_clock_offset_s: Annotated[Number, Field(ge=-1e10, le=1e10)] | None = None
    local: bool | None = None
    host: str | None = None
    host_cpu_s: dict[str, Number] | None = None
    server_cpu_s: dict[str, Number] | None = None
    server_host_cpu_s: dict[str, Number] | None = None
    server_limits: dict[str, Number | None] | None = None
    drivers: list[dict[str, Any]] | None = None
    cpu: dict[str, Any] | None = None
    memory: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    unknown: dict[str, str] = {}


class _Refused(_Part):
    name: str
    why: str
    spoils: bool


class _Engine(_Part):
    product: str | None = None
    version: str | None = None
    target: str | None = None
    block_size: int | None = None
    cache_bytes: Number | None = None
    data_bytes: Number | None = None
    asked: dict[str, str | Number | bool | None] | None = Field(default=None, alias="set")
    direct_io: bool | None = None
    flavour: dict[str, str] = {}
    settings: dict[str, Any] = {}
    plans: dict[str, str] = {}
    wait_latency: dict[str, _Latency] = {}
    attachments: list[str] = []
    refused_settings: list[_Refused] = []
    unknown: dict[str, str] = {}


@lru_cache(maxsize=10_000)
def _has_unit(name: str) -> bool:
    return bool(_UNIT.search(name))


class _Asked(_Part):
    sessions: int | None = None
    cycles: int | None = None
    rows: int | None = None
    per_s: Number | None = None
    latency_limit_us: Number | None = None
    follow_limit_s: Number | None = None
    at: str = ""
    retry: str = ""
    block_size: Number | None = None
    size_small: Number | None = None
    size_large: Number | None = None


def _check_measured(value: object, is_number: bool = False, where: str = "") -> None:
    """Raise ValueError for something else than a number, or nothing, under a name that ends in a unit."""
    if isinstance(value, dict):
        for name, each in value.items():
            number = is_number or _has_unit(name)
            # Most facts are leaves, and a folder has millions.
            wrong = number and each is not None and type(each) not in _NUMBERS
            if (wrong or isinstance(each, _NESTED)) and name not in _OF_FACTS and name != _UNNAMED:
                _check_measured(each, number, f"{where}.{name}" if where else name)
    elif isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, _NESTED) or is_number:
                _check_measured(each, is_number, where)
    elif is_number and not (value is None or type(value) in _NUMBERS):
        raise ValueError(f"{where} is no number")


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a type of any form
    return TypeAdapter(shape)


def _of(shape: Any) -> AfterValidator:  # noqa: ANN401 - as above
    """Return the check of a part that is read. It stays as it is: no integer becomes a float of the same value."""

    def check(value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - as above
        if info.context is not READ:
            return value
        try:
            _adapter(shape).validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        _check_measured(value)
        return value

    return AfterValidator(check)


def require_load(values: Mapping[str, Any], info: ValidationInfo, where: str = "") -> Mapping[str, Any]:
    """Return the parameters of a load as they are. ValueError if they are read and are not those of one.

    Its text begins with ``where``, the place of the parameters.
    """
    if info.context is not READ:
        return values
    try:
        Workload.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{where}{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return values


Facts = Annotated[Mapping[str, Any], _of(dict[str, Any])]
# What the command of a record was given.
Asked = Annotated[Mapping[str, Any], _of(_Asked)]
Environment = Annotated[Mapping[str, Any], _of(_Environment)]
EngineFacts = Annotated[Mapping[str, Any], _of(_Engine)]
Latency = Annotated[Mapping[str, Any], _of(_Latency)]
Latencies = Annotated[Mapping[str, Mapping[str, Any]], _of(dict[Literal["select", "update", "scan"], _Latency])]
# The tables of an endurance run.
Course = Annotated[Mapping[str, tuple[Mapping[str, Any], ...]], _of(_Course)]
# Every parameter of a load, as `Workload.to_record` writes them.
Load = Annotated[Mapping[str, Any], AfterValidator(require_load)]
