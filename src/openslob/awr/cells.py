"""Readers of columns: each finds a figure in a report by its path, or the reason why there is none.

``wait_cells.py`` has those of wait events.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Concatenate

from openslob.awr import rates
from openslob.awr.inputs import FileName
from openslob.awr.model import FileIo, Report, ReportKind
from openslob.awr.numbers import Number
from openslob.awr.verdicts import verdicts

Value = str | int | float | bool | None
MB = 1024.0**2
OF_EACH_INSTANCE = "printed for each instance: see --columns instances"
COARSE = 0.01  # a rate whose last digit is more than 1 % of it is coarse
ROOT = "CDB$ROOT"
_SIMILAR = 0.75  # of the characters of two names, so that one is offered for the other
_SHORTEST_CUT = 15  # characters to which text reports cut the name of a function
# Sections with figures that are found by their names -> title. The key is the section's field in the report.
_TITLES = {
    "activity": "Instance Activity Stats",
    "efficiency_pct": "Instance Efficiency Percentages",
    "global_cache": "Global Cache and Enqueue Services",
    "iostat_filetypes": "IOStat by Filetype",
    "iostat_functions": "IOStat by Function",
    "thread_activity": "Instance Activity Stats - Thread Activity",
}
# Mean of several rows -> what the rows are weighted by. Other figures are added.
_WEIGHTS = {"read_us": "reads", "blocks_per_read": "reads", "buffer_wait_us": "buffer_waits"}


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


# The further arguments are the path of the figure, such as the name of a statistic and which of its figures is meant.
ColumnReader = Callable[Concatenate[Subject, ...], ColumnValue]


def absent(why: str) -> ColumnValue:
    """Return a missing value with its reason."""
    return ColumnValue(None, why)


def value_of(value: Number | Value, why: str) -> ColumnValue:
    """Return a column's value, or the reason ``why`` it is missing. An empty text is a missing one."""
    if value is None or value == "":
        return absent(why)
    return ColumnValue(value.value if isinstance(value, Number) else value)


def figure_of(item: object, attribute: str, why: str) -> ColumnValue:
    """Return the figure ``attribute`` of ``item``; names of mean times end in ``_us``."""
    number: Number | None = getattr(item, attribute)
    return mean_of(number, why) if attribute.endswith("_us") else value_of(number, why)


def mean_of(number: Number | None, why: str, unit: str = "us") -> ColumnValue:
    """Return a mean time in ``unit`` as a column's value. One that is printed as 0 is only shorter than that."""
    if number is not None and number.value == 0:
        return absent(f"below {number.step / 2:.3g} {unit}, which the report prints as 0")
    return value_of(number, why)


def near(name: str, names: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant, for the end of a message; empty if none is similar."""
    wanted = name.lower()
    begins = (known for known in names if known[:1].lower() == wanted[:1])  # comparing with all of them takes long
    lower = {known.lower(): known for known in begins if abs(len(known) - len(name)) <= len(name) / 2}
    found = difflib.get_close_matches(wanted, lower, n=1, cutoff=_SIMILAR)
    return f" (did you mean {lower[found[0]]!r}?)" if found else ""


def _why_not(report: Report, section: str, name: str, names: Iterable[str], is_present: bool) -> str:
    """Return why ``section`` has no figure ``name``, if it ``is_present`` at all: then it has ``names``."""
    unreadable = next((why for place, why in report.missing.items() if f": {name}" in place), "")
    if unreadable:
        return f"{name}: {unreadable}"
    if not is_present:
        return f"the report has no {section}" + ("" if report.complete else " (it is cut off)")
    return f"{name}: not listed in {section}{near(name, names)}"


def _why_not_listed(section: str, name: str, names: Iterable[str]) -> str:
    known = list(names)
    return f"{name}: not listed in {section}{near(name, known)}" if known else f"the report has no {section}"


# The file name, the header, and what was found out about the report.


def read_path(subject: Subject) -> ColumnValue:
    """Return the path of the report."""
    return ColumnValue(subject.report.path)


def read_file_name(subject: Subject, part: str) -> ColumnValue:
    """Return a part of the file name."""
    return value_of(getattr(subject.name, part), "not in the file name")


def read_kind(subject: Subject) -> ColumnValue:
    """Return the kind of report."""
    return ColumnValue(subject.report.kind.value)


def read_header(subject: Subject, attribute: str, heading: str) -> ColumnValue:
    """Return a field of the header; ``heading`` names it in reasons."""
    return value_of(getattr(subject.report.header, attribute), f"{heading} is blank or not in the report")


def read_instances(subject: Subject, attribute: str, heading: str) -> ColumnValue:
    """Return a figure of each instance, separated by spaces."""
    values = [getattr(entry, attribute) for entry in subject.report.header.instances]
    return value_of(" ".join(str(value) for value in values if value is not None), f"{heading} is blank in the report")


def read_host(subject: Subject) -> ColumnValue:
    """Return the names of the hosts: of every instance in a global report."""
    names = read_instances(subject, "host", "Host Name")
    if subject.report.kind is ReportKind.AWR_GLOBAL and names.value is not None:
        return names
    return read_header(subject, "host", "Host Name")


def read_block_size(subject: Subject) -> ColumnValue:
    """Return the block size in bytes, from the cache sizes or else from the parameters."""
    if (size := subject.report.header.block_size) is not None:
        return ColumnValue(size)
    parameter = subject.report.parameters.get("db_block_size")
    if parameter and parameter.begin.isdecimal() and len(parameter.begin) < 7:
        return ColumnValue(int(parameter.begin), source="init.ora Parameters")
    return absent("neither Cache Sizes nor db_block_size is in the report")


def read_elapsed(subject: Subject) -> ColumnValue:
    """Return the seconds between the two snapshots."""
    return value_of(subject.report.elapsed_s, rates.NO_ELAPSED)


def read_parameter(subject: Subject, name: str) -> ColumnValue:
    """Return an initialization parameter's value at the first snapshot."""
    setting = subject.report.parameters.get(name)
    if setting is not None:
        return ColumnValue(setting.begin)
    return absent(f"{name}: not listed in init.ora Parameters{near(name, subject.report.parameters)}")


def read_failed_verdicts(subject: Subject) -> ColumnValue:
    """Return the names of the verdicts that fail, separated by spaces."""
    found = verdicts(subject.report, subject.name.sessions)
    return ColumnValue(" ".join(verdict.name for verdict in found if verdict.verdict == "fails"))


def read_warnings(subject: Subject) -> ColumnValue:
    """Return the number of warnings of the parser."""
    return ColumnValue(len(subject.report.warnings))


def read_completeness(subject: Subject) -> ColumnValue:
    """Return whether the report is complete, not cut off."""
    return ColumnValue(subject.report.complete)


# Rates: load profile, time model, instance activity and I/O profile.


def read_db_time_s(subject: Subject) -> ColumnValue:
    """Return DB time in seconds, from the time model or else from the header's minutes."""
    report = subject.report
    if (seconds := report.time_model_s.get("DB time")) is not None:
        return ColumnValue(seconds.value, source="time model")
    minutes = report.header.db_time_min
    return ColumnValue(minutes.value * 60, source="header") if minutes else absent("DB time is not in the report")


def read_load(subject: Subject, name: str) -> ColumnValue:
    """Return a row of the load profile, per second."""
    profile = subject.report.load_profile
    rate = profile.get(name)
    if rate is not None and rate.per_second is not None:
        return ColumnValue(rate.per_second.value, source=rate.origin)
    return absent(_why_not(subject.report, "Load Profile", name, (), bool(profile)))


def read_over_elapsed(subject: Subject, name: str, statistic: str) -> ColumnValue:
    """Return a rate of the load profile, or else of the time model: global reports and 10g have it only there.

    The time model is also used where the load profile is coarse, such as DB CPU with one decimal, and both agree.
    """
    exact, source = rates.find_rate(subject.report, name, statistic)
    printed, origin = rates.find_printed_rate(subject.report, name)
    if isinstance(exact, str):
        return absent(exact) if statistic in subject.report.time_model_s else read_load(subject, name)
    if printed is not None and (exact.step >= printed.step or printed.step <= COARSE * printed.value):
        return ColumnValue(printed.value, source=origin)
    return ColumnValue(exact.value, source=source)


def read_db_time(subject: Subject) -> ColumnValue:
    """Return DB time per elapsed second, from the load profile, the time model or the header."""
    rate, minutes = read_over_elapsed(subject, "db_time", "DB time"), subject.report.header.db_time_min
    over = rates.divide(subject.report, minutes.scaled(60.0) if minutes else None)
    if rate.value is not None or isinstance(over, str):
        return rate
    return ColumnValue(over.value, source="header: DB Time / Elapsed")


def read_redo_mb(subject: Subject) -> ColumnValue:
    """Return redo in MB (2^20 bytes) per second."""
    rate = read_load(subject, "redo_size")
    return ColumnValue(rate.value / MB, source=rate.source) if isinstance(rate.value, float) else rate


def read_activity(subject: Subject, name: str, figure: str = "per_second") -> ColumnValue:
    """Return a figure of an instance activity statistic.

    A rate too wide for its column is computed from the total and the elapsed time.
    """
    known = subject.report.activity
    stat = known.get(name)
    number: Number | None = getattr(stat, figure, None)
    if number is not None:
        return ColumnValue(number.value, source="per second" if figure == "per_second" else "")
    if figure == "per_second" and stat is not None and stat.total is not None:
        over = rates.divide(subject.report, stat.total)
        return absent(over) if isinstance(over, str) else ColumnValue(over.value, source="total / elapsed")
    return absent(_why_not(subject.report, _TITLES["activity"], name, known, bool(known)))


def read_seconds(subject: Subject, name: str) -> ColumnValue:
    """Return a statistic of the time model, in seconds."""
    known = subject.report.time_model_s
    if name in known:
        return ColumnValue(known[name].value)
    return absent(f"{name}: not listed in the time model{near(name, known)}")


def read_requests(subject: Subject, direction: str) -> ColumnValue:
    """Return I/O requests per second, from instance activity or else from the I/O profile."""
    counted = read_activity(subject, f"physical {direction} total IO requests")
    return counted if counted.value is not None else _read_profile(subject, "total requests", direction, counted)


def read_megabytes(subject: Subject, direction: str) -> ColumnValue:
    """Return MB (2^20 bytes) per second, from instance activity or else from the I/O profile."""
    counted = read_activity(subject, f"physical {direction} total bytes")
    if isinstance(counted.value, float):
        return ColumnValue(counted.value / MB, source=counted.source)
    return _read_profile(subject, "total (mb)", direction, counted)


def read_redo_requests(subject: Subject) -> ColumnValue:
    """Return writes to the redo log per second, from the I/O profile or else from the statistic ``redo writes``."""
    return _read_profile(subject, "redo requests", "write", read_activity(subject, "redo writes"))


def _read_profile(subject: Subject, row: str, direction: str, otherwise: ColumnValue) -> ColumnValue:
    """Return a rate of the I/O profile, unless a cluster's divides by a longer time than the instances ran."""
    found = subject.report.io_profile.get(row) if rates.is_whole(subject.report) else None
    number: Number | None = getattr(found, direction) if found else None
    return ColumnValue(number.value, source="IO Profile") if number else otherwise


def _add(one: ColumnValue, other: ColumnValue) -> ColumnValue:
    if isinstance(one.value, float) and isinstance(other.value, float):
        return ColumnValue(one.value + other.value, source=one.source)
    return absent(one.why or other.why)


def read_iops(subject: Subject) -> ColumnValue:
    """Return read and write requests per second."""
    return _add(read_requests(subject, "read"), read_requests(subject, "write"))


def read_mb_per_s(subject: Subject) -> ColumnValue:
    """Return MB (2^20 bytes) read and written per second."""
    return _add(read_megabytes(subject, "read"), read_megabytes(subject, "write"))


def read_blocks_per_request(subject: Subject) -> ColumnValue:
    """Return the mean number of blocks in a read request."""
    blocks, reads = (read_activity(subject, f"physical {what}") for what in ("reads", "read IO requests"))
    if not isinstance(blocks.value, float) or not isinstance(reads.value, float):
        return absent(blocks.why or reads.why)
    return ColumnValue(blocks.value / reads.value) if reads.value else absent("there were no read requests")


def read_per_db_cpu(subject: Subject, read_rate: ColumnReader, *path: str) -> ColumnValue:
    """Return a rate per second of DB CPU.

    DB CPU is that of the time model, because the load profile prints only one decimal, unless both contradict.
    """
    rate = read_rate(subject, *path)
    if not isinstance(rate.value, float):
        return rate
    used, _ = rates.find_rate(subject.report, "db_cpu", "DB CPU")
    if "DB CPU" not in subject.report.time_model_s:
        return absent("DB CPU is not in the time model")
    if isinstance(used, str) or used.value <= 0:
        return absent(used if isinstance(used, str) else "DB CPU is 0")
    return ColumnValue(rate.value / used.value, source=rate.source)


def read_db_cpu_pct(subject: Subject) -> ColumnValue:
    """Return DB CPU as a share of DB time, in percent."""
    used, in_all = read_seconds(subject, "DB CPU"), read_db_time_s(subject)
    if used.number is None or not in_all.number:
        return absent(used.why or in_all.why or "DB time is 0")
    return ColumnValue(100.0 * used.number / in_all.number, source=in_all.source)


def read_cluster_blocks(subject: Subject, direction: str) -> ColumnValue:
    """Return blocks per second that were ``received`` from other instances or ``served`` to them."""
    printed = read_load(subject, f"gc_blocks_{direction}")
    if printed.value is not None:
        return printed
    counted = _add(*(read_activity(subject, f"gc {kind} blocks {direction}") for kind in ("cr", "current")))
    return counted if counted.value is not None else absent("the report has no figures of the global cache")


# The host: CPU, load and the operating system's statistics.


def read_host_cpu(subject: Subject, attribute: str) -> ColumnValue:
    """Return a figure of the host's CPU; of a global report with one instance that of its host."""
    report = subject.report
    number: Number | None = getattr(report.host_cpu, attribute, None)
    if number is None and len(report.per_instance) == 1:
        (figures,) = report.per_instance.values()
        number = figures.get(attribute if attribute.startswith("load") else f"host_{attribute}")
    if number is None and len(report.per_instance) > 1:
        return absent(OF_EACH_INSTANCE)
    return value_of(number, "Host CPU is blank or not in the report")


def read_host_busy(subject: Subject) -> ColumnValue:
    """Return the share of host CPU time that was neither idle nor spent waiting for I/O, in percent."""
    user, system = read_host_cpu(subject, "user_pct"), read_host_cpu(subject, "system_pct")
    if user.number is None or system.number is None:
        return absent(user.why or system.why)
    return ColumnValue(user.number + system.number)


def read_os_statistic(subject: Subject, name: str, figure: str) -> ColumnValue:
    """Return a statistic of the operating system as it is printed: ``*_TIME`` in 1/100 s."""
    known = subject.report.os_stats
    stat = known.get(name.upper()) or known.get(name)
    if stat is None:
        return absent(_why_not_listed("Operating System Statistics", name, known))
    return value_of(getattr(stat, figure), f"{name}: blank in the report")


def read_os_seconds(subject: Subject, name: str) -> ColumnValue:
    """Return a time of the operating system in seconds."""
    found = read_os_statistic(subject, name, "value")
    return ColumnValue(found.number / 100.0) if found.number is not None else found


# I/O by function, file type, tablespace and file, and other figures found by their name.


def read_iostat(subject: Subject, name: str, section: str, attribute: str) -> ColumnValue:
    """Return a figure of the function or file type ``name``; ``section`` is the field of the report."""
    listed = getattr(subject.report, section)
    found = next((one for one in listed if _is_called(one.name, name)), None)
    if found is None:
        return absent(_why_not_listed(_TITLES[section], name, (one.name for one in listed)))
    return figure_of(found, attribute, f"{name}: blank in {_TITLES[section]}")


def _is_called(listed: str, name: str) -> bool:
    return listed.lower() == name.lower() or (len(listed) >= _SHORTEST_CUT and name.lower().startswith(listed.lower()))


def name_tablespaces(report: Report) -> Mapping[str, list[FileIo]]:
    """Return the rows of tablespaces by their names.

    One of a pluggable database is ``PDB:NAME``, and the root's ``CDB$ROOT:NAME`` if both have one of that name.
    """
    divided = {place.tablespace for place in report.tablespaces if place.pdb}
    found: dict[str, list[FileIo]] = {}
    for place in report.tablespaces:
        pdb = place.pdb or (ROOT if place.tablespace in divided else "")
        found.setdefault(f"{pdb}:{place.tablespace}" if pdb else place.tablespace, []).append(place)
    return found


def read_tablespace(subject: Subject, name: str, attribute: str) -> ColumnValue:
    """Return a figure of a tablespace; pluggable databases may have tablespaces of the same name."""
    listed = name_tablespaces(subject.report)
    names = [one for one in listed if name.lower() in (one.lower(), one.rpartition(":")[2].lower())]
    if len(names) > 1:
        return absent(f"{name}: in several containers: {', '.join(sorted(names))}")
    why = _why_not_listed("Tablespace IO Stats", name, listed)
    found = [place for one in names for place in listed[one]]
    return _combine(found, attribute, why, f"{name}: blank in Tablespace IO Stats, or misprinted there")


def read_data_file(subject: Subject, name: str, attribute: str) -> ColumnValue:
    """Return a figure of a data file, by its path or the last part of it."""
    listed = [place for place in subject.report.files if place.file]
    found = [place for place in listed if name in (place.file, PurePosixPath(place.file or "").name)]
    if len({place.pdb for place in found}) > 1:
        return absent(f"{name}: in several containers: {', '.join(sorted(place.file or '' for place in found))}")
    why = _why_not_listed("File IO Stats", name, (place.file or "" for place in listed))
    return _combine(found, attribute, why, f"{name}: blank in File IO Stats")


def _combine(found: list[FileIo], attribute: str, why_none: str, why_blank: str) -> ColumnValue:
    """Return a figure of several rows: a weighted mean, or a sum."""
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


def read_listed(subject: Subject, name: str, section: str) -> ColumnValue:
    """Return a figure that a section, a field of the report, lists under ``name``: a share in % or a time in µs."""
    known: Mapping[str, Number] = getattr(subject.report, section)
    number = known.get(name) or known.get(name.lower())
    if number is None:
        return absent(_why_not_listed(_TITLES[section], name, known))
    return value_of(number, "") if "%" in name else mean_of(number, "")


def read_hourly(subject: Subject, name: str, attribute: str) -> ColumnValue:
    """Return a statistic of thread activity."""
    known = subject.report.thread_activity
    stat = known.get(name) or known.get(f"{name} (derived)")
    if stat is None:
        return absent(_why_not_listed(_TITLES["thread_activity"], name, known))
    return value_of(getattr(stat, attribute), f"{name}: blank in the report")


def read_received_us(subject: Subject, kind: str) -> ColumnValue:
    """Return the mean time to receive a block (``cr`` or ``current``) from another instance, in µs."""
    if any(f"gc_{kind}_us" in figures for figures in subject.report.per_instance.values()):
        return absent(OF_EACH_INSTANCE)
    return read_listed(subject, f"{kind} block receive time", "global_cache")
