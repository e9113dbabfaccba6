"""Order of the reports: as a person would sort them, or by a column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from openslob.awr.cells import Subject
from openslob.awr.selection import chosen, column_of
from openslob.core.errors import UsageError

NATURAL, GIVEN, TIME = "natural", "given", "time"
SortKey = tuple[object, ...]
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Order:
    """Order of reports: ``natural``, ``given``, ``time``, or the name of a column."""

    by: str = NATURAL
    is_descending: bool = False


def parse_order(text: str) -> Order:
    """Parse ``--sort``; a minus sign reverses the order. UsageError for an unknown column."""
    order = Order(text.removeprefix("-"), text.startswith("-"))
    if order.by not in {NATURAL, GIVEN, TIME} and len(chosen(order.by)) != 1:
        raise UsageError(
            f"--sort {text}: one column is expected", f"give {NATURAL}, {TIME}, {GIVEN} or the name of a column"
        )
    return order


def sort_key(subject: Subject, order: Order) -> SortKey:
    """Return the key of a report in ``order``. A report without the figure comes last in either direction."""
    if order.by == GIVEN:
        return ()
    if order.by in {NATURAL, TIME}:
        return _natural(subject, order.by == TIME)
    value = column_of(order.by).read(subject).value
    if value is None:
        return (1, *_natural(subject, False))
    if isinstance(value, str):
        return (0, 1, _by_numbers(value), *_natural(subject, False))
    return (0, 0, -value if order.is_descending else value, *_natural(subject, False))


def _natural(subject: Subject, time_first: bool) -> SortKey:
    """Return folder, series, sessions, time and name, with numbers inside names in order of their values."""
    path, name = PurePath(subject.report.path), subject.name
    began = subject.report.header.began
    time = began.replace(tzinfo=UTC) if began is not None else _LAST
    counted = (name.sessions is None, name.sessions or 0, name.writers or 0)
    series = _by_numbers(name.group) if name.sessions is not None else ()
    places = (_by_numbers(str(path.parent)), series, counted)
    last = _by_numbers(path.name)
    return (time, *places, last) if time_first else (*places, time, last)


def _by_numbers(text: str) -> tuple[tuple[int, str], ...]:
    """Return a key by which ``8k`` comes before ``16k``."""
    return tuple((int(digits or -1), rest) for digits, rest in re.findall(r"(\d{0,18})(\D*)", text.lower()))
