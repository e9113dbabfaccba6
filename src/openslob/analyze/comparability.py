"""Whether runs were made under the same conditions, apart from the parameters that distinguish points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from openslob.analyze.curves.points import ParameterValue
from openslob.record.model import RunRecord

# Facts that must be equal for two runs to be comparable, apart from the parameters; a name includes all names below it.
_FACTS = (
    "openslob_version", "engine.settings", "engine.plans", "engine.data_bytes", "environment.local",
    "environment.os", "environment.kernel", "environment.machine", "environment.cpu", "environment.memory.total_bytes",
    "environment.virtualization", "environment.clock_source", "environment.data.file_system",
    "environment.data.mount_options", "environment.data.device",
)  # fmt: skip

# Runs with fewer sessions than schemas visit fewer tables: within a series of session counts that is expected.
_VARIES_IN_SERIES = frozenset({"engine.data_bytes"})


@dataclass(frozen=True)
class ConditionMismatch:
    """A fact that differs between runs of one series, with its values."""

    name: str
    values: tuple[ParameterValue, ...]


def mismatches(records: Sequence[RunRecord]) -> tuple[ConditionMismatch, ...]:
    """Return the facts that differ between the runs of one series, sorted by name."""
    by_run = [facts([record]) for record in records]
    names = sorted({name for known in by_run for name in known} - _VARIES_IN_SERIES)
    values = {name: set[ParameterValue]().union(*(known.get(name, {None}) for known in by_run)) for name in names}
    return tuple(ConditionMismatch(name, in_order(several)) for name, several in values.items() if len(several) > 1)


def facts(records: Sequence[RunRecord]) -> dict[str, set[ParameterValue]]:
    """Return every fact that affects the figures, with its values in these runs."""
    values: dict[str, set[ParameterValue]] = {}
    for record in records:
        for name, value in _flat(
            "", record.model_dump(mode="json", include={"openslob_version", "engine", "environment"})
        ):
            if any(name == fact or name.startswith(f"{fact}.") for fact in _FACTS):
                values.setdefault(name, set()).add(value)
    return values


def _flat(name: str, value: object) -> Iterator[tuple[str, ParameterValue]]:
    """Yield the leaves of nested mappings, with the names of their keys joined by dots."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif value is None or isinstance(value, (str, int, float, bool)):
        yield name, value
    else:
        yield name, str(value)


def in_order(values: Set[ParameterValue]) -> tuple[ParameterValue, ...]:
    """Return the values in a fixed order: numbers, then texts, then unknown values."""
    return tuple(sorted(values, key=lambda value: (value is None, isinstance(value, str), str(value))))
