"""Value of a column, and the input of the functions that read one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from openslob.awr.filenames import FileName
from openslob.awr.model import Report

Value = str | int | float | bool | None
MB = 1024.0**2


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """Value of a column, or None and the reason ``why``. ``source`` is given where a column has several sources."""

    value: Value
    why: str = ""
    source: str = ""

    @property
    def number(self) -> float | None:
        """The value if it is a number, otherwise None."""
        value = self.value
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Subject:
    """The input of a column reader: the report and its file name."""

    report: Report
    name: FileName = field(default_factory=FileName)


ColumnReader = Callable[[Subject], ColumnValue]


def absent(why: str) -> ColumnValue:
    """Return a missing value with its reason."""
    return ColumnValue(None, why)


def why_not(report: Report, section: str, present: bool, name: str, names: Iterable[str] = ()) -> str:
    """Return why ``section`` has no figure ``name``; ``names`` are those that it has, if it is ``present`` at all."""
    unreadable = next((why for cell, why in report.missing.items() if f": {name}" in cell), "")
    if unreadable:
        return f"{name}: {unreadable}"
    if not present:
        return f"the report has no {section}" + ("" if report.complete else " (it is cut off)")
    return f"{name}: not listed in {section}{near(name, names)}"


def near(name: str, names: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant, for the end of a message; empty if none is similar."""
    wanted = name.lower()
    begins = (known for known in names if known[:1].lower() == wanted[:1])  # comparing with all of them takes long
    lower = {known.lower(): known for known in begins if abs(len(known) - len(name)) <= len(name) / 2}
    found = difflib.get_close_matches(wanted, lower, n=1, cutoff=_SIMILAR)
    return f" (did you mean {lower[found[0]]!r}?)" if found else ""


_SIMILAR = 0.75
