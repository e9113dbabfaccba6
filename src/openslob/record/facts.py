"""What a run knew that no raw file says, in `facts.json`: with both, `slob verify` makes the record again.

It is written at the end of a run. Of the measurement it has what differs from what rows add up to, whatever that is:
nobody has to keep a list. All else of the record follows.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from math import isclose
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from openslob.core.errors import SlobError
from openslob.record.model import RecordModel, RunRecord
from openslob.record.versions import RESTORE, Format

if TYPE_CHECKING:
    from openslob.core.measurement import Observed

FACTS_VERSION = 1
FACTS_FILE = "facts.json"
# The parts of a record that nothing is computed for.
GIVEN = frozenset({
    "record_version", "kind", "id", "name", "status", "started_at", "openslob_version", "spec", "sources",
    "environment", "engine", "notes",
})  # fmt: skip
# Sums of fractions depend on their order.
_ROUNDING = 1e-10
# Waits by how long they took: the only names that are two numbers.
_BY_SPAN = "durations"

Path = tuple[str | int, ...]
_Measured = TypeVar("_Measured", bound="Observed")
_Fit = TypeVar("_Fit")


class FactsRecord(RecordModel):
    """The facts of a run or an observation.

    ``given`` has the parts of the record in `GIVEN`, before anything was computed. ``rules_version`` is that of the
    rules by which it was judged. ``measured`` are parts of the measurement, by their paths in it, that are not what the
    rows say; ``unmeasured`` are those that rows say and that are not known all the same. ``unfinished`` are the
    sessions that were cancelled in their last slice. ``counting`` is what the differences of the engine's counters
    follow from, beside their readings; None if they can't be taken again. ``has_course``: the course of the load was
    looked at.
    """

    facts_version: int = FACTS_VERSION
    rules_version: int
    given: Mapping[str, Any]
    measured: tuple[tuple[Path, Any], ...] = ()
    unmeasured: tuple[Path, ...] = ()
    unfinished: tuple[int, ...] = ()
    counting: Mapping[str, Any] | None = None
    has_course: bool = True


FORMAT = Format(FactsRecord, "the facts of a run", "facts_version", FACTS_VERSION)


def given_of(record: RunRecord) -> dict[str, Any]:
    """Return the parts of a record that nothing is computed for."""
    return record.model_dump(mode="json", include=set(GIVEN))


def beside(measured: Observed, derived: Observed) -> tuple[list[tuple[Path, Any]], list[Path]]:
    """Return what of a measurement is not as ``derived``, which is what rows say, and what of that is not in it."""
    more: list[tuple[Path, Any]] = []
    less: list[Path] = []
    for name in (each.name for each in fields(measured)):
        mine, theirs = (getattr(each, name) for each in (measured, derived))
        if mine is not theirs:
            known, rows = (dict(leaves(to_plain(each), (name,))) for each in (mine, theirs))
            more += [(path, value) for path, value in known.items() if path not in rows or not same(value, rows[path])]
            less += [path for path in rows if path not in known]
    return more, less


def complete(derived: _Measured, facts: FactsRecord) -> _Measured:
    """Return the measurement of which rows say ``derived``. SlobError if the facts do not fit it."""
    touched = {str(path[0]) for path in (*(path for path, _ in facts.measured), *facts.unmeasured)}
    found: dict[str, Any] = {}
    try:
        for name in touched:
            parts = dict(leaves(to_plain(getattr(derived, name)), (name,)))
            for path in facts.unmeasured:
                parts.pop(path, None)
            parts |= {path: value for path, value in facts.measured if path[0] == name}
            plain = _with_spans(_nest({path[1:]: value for path, value in parts.items()}))
            found[name] = _adapter(cast(Hashable, type(derived)), name).validate_python(plain)
            if unknown := parts.keys() - dict(leaves(to_plain(found[name]), (name,))).keys():
                raise ValueError(f"a measurement has no {'.'.join(map(str, min(unknown, key=str)))}")
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SlobError(f"{FACTS_FILE} is damaged: {str(error).splitlines()[0]}", RESTORE) from error
    return replace(derived, **found)


def fit(of: type[_Fit], values: object) -> _Fit:
    """Return the dataclass that was written as these plain values. SlobError if they do not fit it."""
    try:
        if not isinstance(values, Mapping) or values.keys() - get_type_hints(of).keys():
            raise ValueError(f"{values!r:.100} are no values of {of.__name__}")
        return cast(_Fit, _whole_adapter(cast(Hashable, of)).validate_python(values))
    except (ValidationError, ValueError) as error:
        raise SlobError(f"{FACTS_FILE} is damaged: {str(error).splitlines()[0]}", RESTORE) from error


def same(one: object, other: object, rounding: float = _ROUNDING) -> bool:
    """Return whether two values are the same, but for the rounding of sums; whole numbers are exact."""
    if {type(one), type(other)} in ({float}, {int, float}):
        return isclose(one, other, rel_tol=rounding, abs_tol=rounding)  # type: ignore[arg-type]
    return type(one) is type(other) and one == other


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every part of a JSON value that has no parts, by its path; an empty list or mapping is one."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path, value


def _nest(parts: Mapping[Path, object]) -> object:
    """Return the JSON value of which these are the leaves."""
    if () in parts:
        return parts[()]
    below: dict[str | int, dict[Path, object]] = {}
    for (head, *rest), value in parts.items():
        below.setdefault(head, {})[tuple(rest)] = value
    nested = {head: _nest(each) for head, each in below.items()}
    if nested and all(isinstance(head, int) for head in nested):
        return [nested[number] for number in sorted(nested)]
    return nested


def to_plain(value: object) -> object:
    """Return a part of a measurement as a JSON value."""
    if is_dataclass(value):
        return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_key(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, str) or not isinstance(value, Sequence | Container):
        return value
    return [to_plain(item) for item in (value if isinstance(value, Sequence) else sorted(value))]  # type: ignore[call-overload]


def _key(key: object) -> str:
    if isinstance(key, tuple):
        return " ".join(map(str, key))
    return str(key.value if isinstance(key, Enum) else key)


def _with_spans(value: object) -> object:
    """Return a JSON value whose waits by how long they took have pairs of numbers as their names again."""
    if isinstance(value, list):
        return [_with_spans(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {tuple(map(int, span.split())): count for span, count in item.items()}
        if key == _BY_SPAN and isinstance(item, dict)
        else _with_spans(item)
        for key, item in value.items()
    }


@cache
def _whole_adapter(of: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, of))


@cache
def _adapter(of: Hashable, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(of)[name])
