"""Readers of columns of I/O by function, file type, tablespace and file, and of other figures found by their name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

from openslob.awr.cells.base import ColumnReader, ColumnValue, Subject, absent, near
from openslob.awr.model import FileIo, HourlyStat, IoStat, Report
from openslob.awr.numbers import Number

_SHORTEST_CUT = 15  # characters to which text reports cut the name of a function


def functions(report: Report) -> tuple[IoStat, ...]:
    """Return I/O by function."""
    return report.iostat_functions


def filetypes(report: Report) -> tuple[IoStat, ...]:
    """Return I/O by file type."""
    return report.iostat_filetypes


def iostat(of: Callable[[Report], tuple[IoStat, ...]], attribute: str, section: str, name: str) -> ColumnReader:
    """Return a reader of a figure of the function or file type ``name``."""

    def read(subject: Subject) -> ColumnValue:
        listed = of(subject.report)
        found = next((one for one in listed if _is_called(one.name, name)), None)
        if found is None:
            return absent(_why(section, name, [one.name for one in listed]))
        return figure_of(found, attribute, f"{name}: blank in {section}")

    return read


def _is_called(listed: str, name: str) -> bool:
    return listed.lower() == name.lower() or (len(listed) >= _SHORTEST_CUT and name.lower().startswith(listed.lower()))


def value_of(number: Number | None, why: str) -> ColumnValue:
    """Return a number as a column's value, or the reason ``why`` it is missing."""
    return ColumnValue(number.value) if number is not None else absent(why)


def mean_of(number: Number | None, why: str) -> ColumnValue:
    """Return a mean time in µs as a column's value. A mean that is printed as 0 is not 0, only shorter than that."""
    if number is not None and number.value == 0:
        return absent(f"below {number.step / 2:.3g} us, which the report prints as 0")
    return value_of(number, why)


def figure_of(item: object, attribute: str, why: str) -> ColumnValue:
    """Return the figure ``attribute`` of ``item``; names of mean times end in ``_us``."""
    number: Number | None = getattr(item, attribute)
    return mean_of(number, why) if attribute.endswith("_us") else value_of(number, why)


def _why(section: str, name: str, names: Iterable[str]) -> str:
    known = list(names)
    return f"{name}: not listed in {section}{near(name, known)}" if known else f"the report has no {section}"


def tablespace(attribute: str, name: str) -> ColumnReader:
    """Return a reader of a figure of a tablespace; pluggable databases may have tablespaces of the same name."""

    def read(subject: Subject) -> ColumnValue:
        listed = subject.report.tablespaces
        found = [place for place in listed if place.tablespace.lower() == name.lower()]
        why = _why("Tablespace IO Stats", name, (place.tablespace for place in listed))
        return _place(found, attribute, why, f"{name}: blank in Tablespace IO Stats, or misprinted there")

    return read


def data_file(attribute: str, name: str) -> ColumnReader:
    """Return a reader of a figure of a data file, by its path or the last part of it."""

    def read(subject: Subject) -> ColumnValue:
        listed = [place for place in subject.report.files if place.file]
        found = [place for place in listed if name in (place.file, PurePosixPath(place.file or "").name)]
        why = _why("File IO Stats", name, (place.file or "" for place in listed))
        return _place(found, attribute, why, f"{name}: blank in File IO Stats")

    return read


# Mean of several rows -> what the rows are weighted by. Other figures are added.
_WEIGHTS = {"read_us": "reads", "blocks_per_read": "reads", "buffer_wait_us": "buffer_waits"}


def _place(found: list[FileIo], attribute: str, why_none: str, why_blank: str) -> ColumnValue:
    if not found:
        return absent(why_none)
    values: list[Number | None] = [getattr(place, attribute) for place in found]
    known = [number for number in values if number is not None]
    if len(found) == 1 or not known:
        return figure_of(found[0], attribute, why_blank)
    if attribute not in _WEIGHTS:
        return ColumnValue(sum(number.value for number in known), source=f"{len(found)} rows added")
    weights: list[Number | None] = [getattr(place, _WEIGHTS[attribute]) for place in found]
    pairs = [(value.value, weight.value) for value, weight in zip(values, weights, strict=True) if value and weight]
    in_all = sum(weight for _, weight in pairs)
    if not in_all:
        return absent(f"there were no {_WEIGHTS[attribute].replace('_', ' ')}")
    return ColumnValue(sum(value * weight for value, weight in pairs) / in_all, source=f"mean of {len(found)} rows")


def listed(of: Callable[[Report], Mapping[str, Number]], section: str, name: str) -> ColumnReader:
    """Return a reader of a figure that a section lists under ``name``."""

    def read(subject: Subject) -> ColumnValue:
        known = of(subject.report)
        number = known.get(name) or known.get(name.lower())
        if number is None:
            return absent(_why(section, name, known))
        return value_of(number, "") if "%" in name else mean_of(number, "")

    return read


def hourly(attribute: str, name: str) -> ColumnReader:
    """Return a reader of a statistic of thread activity."""

    def read(subject: Subject) -> ColumnValue:
        known = subject.report.thread_activity
        stat: HourlyStat | None = known.get(name) or known.get(f"{name} (derived)")
        if stat is None:
            return absent(_why("Instance Activity Stats - Thread Activity", name, known))
        return value_of(getattr(stat, attribute), f"{name}: blank in the report")

    return read


def efficiency(report: Report) -> Mapping[str, Number]:
    """Return the efficiency of the instance in percent."""
    return report.efficiency_pct


def global_cache(report: Report) -> Mapping[str, Number]:
    """Return times in µs and shares in % of the global cache."""
    return report.global_cache


def received_us(kind: str) -> ColumnReader:
    """Return a reader of the mean time to receive a block (``cr`` or ``current``) from another instance, in µs."""

    def read(subject: Subject) -> ColumnValue:
        per_instance = subject.report.per_instance
        if any(f"gc_{kind}_us" in figures for figures in per_instance.values()):
            return absent("printed for each instance: see --columns instances")
        return listed(global_cache, "Global Cache and Enqueue Services", f"{kind} block receive time")(subject)

    return read
