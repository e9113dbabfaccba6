"""Choice of columns and of the order of reports: predefined sets, lists of names, and what there is to choose from."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from openslob.awr import awr_info
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS, PREFIXES, column_of, find_by_name
from openslob.awr.model import Report
from openslob.awr.rows import ROW_SETS
from openslob.core.errors import UsageError

LIST, MODEL = "list", "model"  # what there is to choose from; the whole model of each report
NATURAL, GIVEN, TIME = "natural", "given", "time"  # orders of reports
SortKey = tuple[object, ...]
_LAST = datetime.max.replace(tzinfo=UTC)
# Heading -> column. The first set has the headings of SLOB's awr_info, but figures of all processes and the most exact
# latencies.
SLOB: dict[str, str] = {
    "FILE": "file",
    "SESSIONS": "sessions",
    "ELAPSED": "elapsed_s",
    "DB CPU": "db_cpu",
    "DB Tm": "db_time",
    "EXECUTES": "executes",
    "LIO": "lio",
    "PREADS": "preads",
    "READ_MBS": "read_mb_per_s",
    "PWRITES": "pwrites",
    "WRITE_MBS": "write_mb_per_s",
    "REDO_MBS": "redo_mb_per_s",
    "DFSR_LAT": "dfsr_us",
    "DPR_LAT": "dpr_us",
    "DFPR_LAT": "dfpr_us",
    "DFPW_LAT": "dfpw_us",
    "LFPW_LAT": "lfpw_us",
    "TOP WAIT": "top_wait",
}
# Further columns of the first set in files, where TOP WAIT is of no use in one cell.
SLOB_TOP: dict[str, str] = {
    f"TOP{rank} {heading}": f"top{rank}_{figure}"
    for rank in range(1, 6)
    for heading, figure in (("EVENT", "event"), ("WAITS", "waits"), ("S", "s"), ("US", "us"), ("PCT", "pct"))
}
TAPE: dict[str, str] = {
    "file": "file",
    "IOPS": "iops",
    "DB CPU": "db_cpu",
    "IOPS per DB CPU": "iops_per_db_cpu",
    "latency (us)": "latency_us",
    "latency from": "latency_from",
}
# What the script itself prints, and after that what its headings could be taken for.
AWR_INFO: dict[str, str] = {heading: f"awr_info:{heading}" for heading in awr_info.HEADINGS} | {
    "TOTAL PREADS": "preads",
    "TOTAL PWRITES": "pwrites",
    "FG CPU": "db_cpu",
}
SETS: dict[str, dict[str, str]] = {
    "slob": SLOB,
    "awr_info": AWR_INFO,
    "tape": TAPE,
    "wide": {name: name for name in COLUMNS},
}
# Columns that name the report of a row, wherever a set has them first.
KEYS = {"file", "sessions", "awr_info:FILE", "awr_info:SESSIONS"}


def chosen(choice: str, in_file: bool = False) -> dict[str, str]:
    """Return heading -> column for the name of a set or a list of columns; UsageError names unknown columns.

    ``in_file`` adds the columns that the first set has in files.
    """
    if choice in SETS:
        return SLOB | SLOB_TOP if in_file and choice == "slob" else SETS[choice]
    names = [name.strip() for name in choice.split(",") if name.strip()]
    unknown = [name for name in names if name not in COLUMNS and find_by_name(name) is None]
    if unknown or not names:
        raise UsageError(
            f"unknown column {', '.join(unknown) or '(none given)'}",
            "; ".join((*filter(None, map(_likely, unknown)), "`slob awr --columns list` shows what there is")),
        )
    return {name: name for name in names}


def _likely(name: str) -> str:
    """Return a hint at what the unknown column ``name`` may mean."""
    prefix, colon, rest = name.partition(":")
    if colon and prefix in PREFIXES:
        if prefix == "histogram" and rest:
            return f"{name} needs a time at its end, such as {prefix}:{rest}:1ms"
        return f"{prefix}: needs a name, such as {prefix}:{PREFIXES[prefix].example}"
    if colon:
        near = difflib.get_close_matches(prefix, PREFIXES, 1)
        return f"did you mean {near[0]}:{rest}?" if near else f"a name follows one of {', '.join(PREFIXES)}"
    known = {word.lower(): word for word in (*SETS, *ROW_SETS, *COLUMNS)}
    near = difflib.get_close_matches(name.lower(), known, 1) or [word for word in known if name.lower() in word][:1]
    heading = {text.lower(): column for text, column in (SLOB | TAPE).items()}.get(name.lower())
    meant = heading or (known[near[0]] if near else "")
    return f"did you mean {meant}?" if meant else ""


def headings(choice: str, in_file: bool = False) -> tuple[str, ...]:
    """Return the headings of the rows of a set or a list of columns. UsageError for unknown columns."""
    return ROW_SETS[choice].headings() if choice in ROW_SETS else tuple(chosen(choice, in_file))


def keys(choice: str) -> int:
    """Return how many of the first columns name a row."""
    if choice in ROW_SETS:
        return ROW_SETS[choice].keys
    names = list(chosen(choice).values())
    return max(1, next((at for at, name in enumerate(names) if name not in KEYS), len(names)))


LIST_HEADINGS = ("column", "unit", "where in the report", "meaning")


def list_sets() -> Iterable[tuple[str, str, str, str]]:
    """Yield the sets of columns."""
    for name, columns in SETS.items():
        yield name, "", "a set", f"{len(columns)} columns, a row for each report"
    for name, rows in ROW_SETS.items():
        yield name, "", rows.section, f"a set with several rows for each report: {', '.join(rows.columns)}"


def list_choices() -> Iterable[tuple[str, str, str, str]]:
    """Yield what there is to choose from: sets, columns, and figures by name."""
    yield from list_sets()
    yield MODEL, "", "all", "the whole model of each report, as JSON"
    for column in COLUMNS.values():
        yield column.name, column.unit, column.section, column.meaning
    for key, prefix in PREFIXES.items():
        figures = [f"{name} in {figure.unit}" if figure.unit else name for name, figure in prefix.figures.items()]
        what = f" ({', '.join(figures)})" if len(figures) > 1 else ""
        yield f"{key}:NAME", prefix.unit, prefix.section, f"{prefix.meaning}{what}; as in {key}:{prefix.example}"


def names_of(report: Report) -> Iterable[tuple[str, str, str, str]]:
    """Yield what a report lists by name: prefix and name, unit, section, meaning."""
    for key, prefix in PREFIXES.items():
        for name in filter(str.strip, prefix.names(report)):
            column = f"{key}:{name}:1ms" if key == "histogram" else f"{key}:{name}"
            yield column, prefix.unit, prefix.section, prefix.meaning


@dataclass(frozen=True, slots=True)
class SortOrder:
    """Order of reports: ``natural``, ``given``, ``time``, or the name of a column."""

    by: str = NATURAL
    is_descending: bool = False


def parse_order(text: str) -> SortOrder:
    """Parse ``--sort``; a minus sign reverses the order. UsageError for an unknown column."""
    order = SortOrder(text.removeprefix("-"), text.startswith("-"))
    if order.by not in {NATURAL, GIVEN, TIME} and len(chosen(order.by)) != 1:
        raise UsageError(
            f"--sort {text}: one column is expected", f"give {NATURAL}, {TIME}, {GIVEN} or the name of a column"
        )
    return order


def sort_key(subject: Subject, order: SortOrder) -> SortKey:
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
