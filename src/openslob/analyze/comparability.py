"""Whether runs were made under the same conditions, beside the parameters that tell points apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from openslob.analyze.curves.points import ParameterValue
from openslob.record.model import RunRecord

# Facts that must be the same for two runs to be comparable, beside the parameters: a name, or all below it.
_FACTS = (
    "openslob_version", "engine.settings", "engine.plans", "engine.data_bytes", "environment.local",
    "environment.os", "environment.kernel", "environment.machine", "environment.cpu", "environment.memory.total_bytes",
    "environment.virtualization", "environment.clock_source", "environment.data.file_system",
    "environment.data.mount_options", "environment.data.device",
)  # fmt: skip

# Sessions fewer than the schemas visit fewer tables: along a line of session counts that is no other condition.
_ALONG_A_LINE = frozenset({"engine.data_bytes"})


@dataclass(frozen=True)
class ConditionMismatch:
    """A fact that is not the same in all runs that are taken together, with its values."""

    name: str
    values: tuple[ParameterValue, ...]


def mismatches(records: Sequence[RunRecord]) -> tuple[ConditionMismatch, ...]:
    """What differs between runs of one line, though a line is to show nothing but what it runs along."""
    each = [facts([record]) for record in records]
    names = sorted({name for found in each for name in found} - _ALONG_A_LINE)
    values = {name: set[ParameterValue]().union(*(found.get(name, {None}) for found in each)) for name in names}
    return tuple(ConditionMismatch(name, in_order(found)) for name, found in values.items() if len(found) > 1)


def facts(records: Sequence[RunRecord]) -> dict[str, set[ParameterValue]]:
    """Every fact that bears on the figures, with the values it has in these runs."""
    found: dict[str, set[ParameterValue]] = {}
    for record in records:
        for name, value in _flat(
            "", record.model_dump(mode="json", include={"openslob_version", "engine", "environment"})
        ):
            if any(name == fact or name.startswith(f"{fact}.") for fact in _FACTS):
                found.setdefault(name, set()).add(value)
    return found


def _flat(name: str, value: object) -> Iterator[tuple[str, ParameterValue]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif value is None or isinstance(value, (str, int, float, bool)):
        yield name, value
    else:
        yield name, str(value)


def in_order(values: Set[ParameterValue]) -> tuple[ParameterValue, ...]:
    """Numbers before words, and what is not known last."""
    return tuple(sorted(values, key=lambda value: (value is None, isinstance(value, str), str(value))))
