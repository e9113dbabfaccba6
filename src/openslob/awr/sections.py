"""Sections that are lists, such as statements and segments: each is a row of a table, read by one reader.

A row says under which titles a report prints the section, what names its rows, and its figures with their units and
the headings above them in text and HTML, from 11.2 to 19c, of an instance, a cluster, and Statspack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property, lru_cache, partial

from openslob.awr.builder import ReportBuilder
from openslob.awr.model import ListedRow
from openslob.awr.numbers import Number, NumberFormat, why_unreadable
from openslob.awr.tables import ReportTable, cell, plain, squeeze

PDB = r"pdb( name)?|con(tainer)?( name)?"  # heading of a container's name
TEXT = "text"  # in place of a unit
COUNT, PER_EXECUTION, PER_CENT, PER_S, MB, MB_PER_S = "", "1/execution", "%", "1/s", "MB", "MB/s"
_UNIT = re.compile(r"\((us|ms|s)\)")
_COUNTED = re.compile(r"(.*)#(\d)/(\d)")
_SCALES = {"(k)": 1e3, "(ms)": 1e-3}  # end of a heading -> size of its figures
_Reading = Callable[[str], Number | str | None]


@dataclass(frozen=True, slots=True)
class SectionFigure:
    """A figure, or a text, of a row. ``printed`` are patterns of its heading, tried in order.

    ``PATTERN#1/3`` is the second of exactly three equal headings, which tables have below the names of groups of
    columns: with another number of them the groups are others. ``part`` is the place in several figures that are
    printed in one cell, such as ``28.9/40``.
    """

    heading: str
    unit: str
    printed: tuple[str, ...]
    part: int | None = None


@dataclass(frozen=True)
class Section:
    """A section of a report. ``title`` names it; ``sources`` has the figures by a pattern of the title above them.

    The first ``keys`` figures name a row. ``quotients`` are figures that are often printed with few digits, and the two
    that they come from. ``merges``: tables of several titles have figures of the same rows.
    """

    title: str
    sources: Mapping[str, tuple[SectionFigure, ...]]
    keys: int = 1
    quotients: Mapping[str, tuple[str, str]] = dataclass_field(default_factory=dict)
    merges: bool = False

    @cached_property
    def columns(self) -> dict[str, str]:
        """Unit of each figure by its heading."""
        return {figure.heading: figure.unit for figures in self.sources.values() for figure in figures}


def _figure(heading: str, unit: str, *printed: str, part: int | None = None) -> SectionFigure:
    return SectionFigure(heading, unit, printed, part)


_STATEMENT = _figure("SQL Id", TEXT, "sql id", r"(old )?hash value")
_EXECUTIONS = _figure("Executions", COUNT, "executions", "execs")
_ELAPSED = _figure("Elapsed(s)", "s", r"elapse?d time ?\(s\)", r"elapsed \(s\)")
_CPU = _figure("CPU(s)", "s", r"cpu time ?\(s\)", r"cpu \(s\)")
_GETS = _figure("Gets", COUNT, ".*buffer gets", "gets")
_READS = _figure("Reads", COUNT, r"physical (reads|rds)", "reads")
_ROWS = _figure("Rows", COUNT, "rows processed", "rows")
_SHARES = (_figure("% CPU", PER_CENT, "%cpu"), _figure("% IO", PER_CENT, "%io"))
_ABOUT = (
    _figure("Module", TEXT, "sql module"),
    _figure("PDB", TEXT, PDB),
    _figure("SQL", TEXT, "sql text"),
)


def _statements(
    title: str, first: SectionFigure, per_execution: SectionFigure, share: SectionFigure, *others: SectionFigure
) -> Section:
    """Return a list of statements, ordered by the figure ``first``."""
    figures = (_STATEMENT, first, _EXECUTIONS, per_execution, share, *_SHARES, *others, *_ABOUT)
    return Section(
        f"SQL ordered by {title}",
        {rf"sql ordered by {title.lower()}( time)?( \(global\))?": tuple(dict.fromkeys(figures))},
        quotients={per_execution.heading: (first.heading, _EXECUTIONS.heading)},
    )


_PLACE = (
    _figure("Statistic", TEXT, "statistic"),
    _figure("Owner", TEXT, "owner"),
    _figure("Object", TEXT, "object name"),
    _figure("Subobject", TEXT, "subobject name"),
    _figure("Type", TEXT, r"obj\. type"),
    _figure("Tablespace", TEXT, r"tablespace( name)?"),
    _figure("Value", COUNT, "value", ".*(reads|requests|writes|scans|changes|waits|busy|received|grants)"),
    _figure("% total", PER_CENT, "%total", "pct total"),
    _figure("% captured", PER_CENT, r"%( of )?capture"),
    _figure("PDB", TEXT, PDB),
)
_CELL = (_figure("Disk type", TEXT, "disk type"), _figure("Cell", TEXT, "cell name"))
_SIZES = ("Small reads", "Small writes", "Large reads", "Large writes")


def _of_cells(total: str, unit: str, suffix: str, printed: str = "average") -> tuple[SectionFigure, ...]:
    """Return the figures of cells' I/O: in all, and by direction and size."""
    sizes = (_figure(f"{size}{suffix}", unit, f"{size.lower().rstrip('s')}s?") for size in _SIZES)
    return (*_CELL, _figure(total, unit, printed), *sizes)


_UNDO = (
    _figure("Blocks", COUNT, r"num undo blocks( \(k\))?"),
    _figure("Transactions", COUNT, "number of transactions"),
    _figure("Longest query(s)", "s", r"max qry len \(s\)"),
    _figure("Most at once", COUNT, r"max tx conc(urc)?y"),
    _figure("Retention(min)", "min", r"min/max tr \(mins\)", r"tun ret \(mins\)", part=0),
    _figure("Max retention(min)", "min", r"min/max tr \(mins\)", part=1),
    *(_figure(name, COUNT, "sto/ ?oos", part=part) for part, name in enumerate(("Too old", "Out of space"))),
    *(
        _figure(f"{state} {what}", COUNT, "us/ur/uu/ ?es/er/eu", part=part)
        for part, (state, what) in enumerate(
            (state, what) for state in ("Unexpired", "Expired") for what in ("stolen", "released", "reused")
        )
    ),
)
_UNDO_KEYS = (_figure("Undo TS", TEXT, "undo ts#"), _figure("End time", TEXT, "end time"))

SECTIONS: dict[str, Section] = {
    "sql_elapsed": _statements(
        "Elapsed Time",
        _ELAPSED,
        _figure(
            "Elapsed/exec(s)", "s", r"elapsed time per exec \(m?s\)", r"elap per exec \(m?s\)", r"elapsed \(s\)#1/2"
        ),
        _figure("% of DB time", PER_CENT, "%total", "db time"),
        _CPU,
        _GETS,
        _READS,
    ),
    "sql_cpu": _statements(
        "CPU",
        _CPU,
        _figure("CPU/exec(s)", "s", r"cpu per exec \(m?s\)", r"cpu \(s\)#1/2"),
        _figure("% of DB CPU", PER_CENT, "%total", "db cpu"),
        _ELAPSED,
        _GETS,
        _READS,
    ),
    "sql_gets": _statements(
        "Gets",
        _GETS,
        _figure("Gets/exec", PER_EXECUTION, "gets per exec", "gets#1/3"),
        _figure("% of gets", PER_CENT, "%total", "gets#2/3"),
        _ELAPSED,
        _CPU,
        _READS,
    ),
    "sql_reads": _statements(
        "Reads",
        _READS,
        _figure("Reads/exec", PER_EXECUTION, "(reads|rds) per exec", "reads#1/3"),
        _figure("% of reads", PER_CENT, "%total", "reads#2/3"),
        _ELAPSED,
        _CPU,
        _GETS,
    ),
    "sql_executions": Section(
        "SQL ordered by Executions",
        {
            r"sql ordered by executions( \(global\))?": (
                _STATEMENT,
                _EXECUTIONS,
                _figure("% of executions", PER_CENT, "execs#1/2"),
                _ROWS,
                _figure("Rows/exec", PER_EXECUTION, "rows per exec", "rows#1/2"),
                _ELAPSED,
                _figure("Elapsed/exec(s)", "s", r"elap per exec \(m?s\)", r"elapsed \(s\)#1/2"),
                _figure("CPU/exec(s)", "s", r"cpu per exec \(m?s\)", r"cpu \(s\)#1/2"),
                *_SHARES,
                *_ABOUT,
            )
        },
        quotients={
            "Rows/exec": ("Rows", "Executions"),
            "Elapsed/exec(s)": ("Elapsed(s)", "Executions"),
        },
    ),
    "segments": Section(
        "Segments by Logical Reads, Physical Reads, …",
        {
            r"segments by (?P<Statistic>[a-z ]+ (reads|requests|writes|scans|changes|waits|busy|received|grants))": (
                _PLACE
            ),
            r"segment statistics \(global\)": _PLACE,
        },
        keys=4,
    ),
    "services": Section(
        "Service Statistics",
        {
            "service statistics": (
                _figure("Service", TEXT, "service name"),
                _figure("PDB", TEXT, PDB),
                _figure("DB Time(s)", "s", r"db time ?\(s\)"),
                _figure("DB CPU(s)", "s", r"db cpu ?\(s\)"),
                _figure("Physical reads", COUNT, r"physical reads ?\(k\)"),
                _figure("Logical reads", COUNT, r"logical reads ?\(k\)"),
            )
        },
        keys=2,
    ),
    "cells": Section(
        "Exadata Cell Server and OS Statistics - Top Cells",
        {
            "exadata cell server iops statistics - top cells": _of_cells("IOPS", PER_S, "/s"),
            "exadata cell server io mb/s statistics - top cells": _of_cells("MB/s", MB_PER_S, " MB/s"),
            "exadata cell server io latency - top cells": _of_cells("Latency(us)", "us", "(us)", "cell latency"),
            "exadata os io statistics - top cells": (*_CELL, _figure("% disk busy", PER_CENT, "avg#2/3")),
            "exadata os io latency - top cells": (
                *_CELL,
                _figure("Service(us)", "us", "service time"),
                _figure("Wait(us)", "us", "wait time"),
            ),
            "exadata os cpu statistics - top cells": (*_CELL, _figure("% CPU", PER_CENT, "% cpu")),
        },
        keys=2,
        merges=True,
    ),
    "flash_cache": Section(
        "Flash Cache User Reads and Writes",
        {
            "flash cache user reads": (
                _CELL[1],
                _figure("Read hits", COUNT, "total hits#0/2", "total#0/2"),
                _figure("Read hits/s", PER_S, "hits per sec", "per sec#0/2"),
                _figure("OLTP hits", COUNT, "oltp#0/2"),
                _figure("Scan hits", COUNT, "scan#0/2", "dw#0/2"),
                _figure("Misses", COUNT, "misses ?/? ?partial hits"),
                _figure("Read hits(MB)", MB, "total hits#1/2", "total#1/2"),
                _figure("Read hits(MB/s)", MB_PER_S, "hit mb/s", "per sec#1/2"),
            ),
            "flash cache user reads efficiency": (
                _CELL[1],
                _figure("OLTP hit %", PER_CENT, "%hit#0/3"),
                _figure("Scan hit %", PER_CENT, "%hit#1/3"),
            ),
            "flash cache user writes": (
                _CELL[1],
                _figure("Writes", COUNT, "total#0/4", "value#0/8"),
                _figure("Writes/s", PER_S, "total#1/4", "per sec#0/2"),
                _figure("First writes", COUNT, "first writes#0/4", "value#1/8"),
                _figure("Overwrites", COUNT, "overwrites#0/4", "value#2/8"),
                _figure("Writes(MB)", MB, "total#2/4", "value#4/8"),
                _figure("Writes(MB/s)", MB_PER_S, "total#3/4", "per sec#1/2"),
            ),
        },
        merges=True,
    ),
    "instance_cpu": Section(
        "Instance CPU",
        {
            "instance cpu": (
                _figure("% of CPUs", PER_CENT, "%total cpu", "% of total cpu for instance"),
                _figure("% of busy CPU", PER_CENT, "%busy cpu", "(% of busy )?cpu( used)? for instance"),
                _figure("% of DB time throttled", PER_CENT, "%db time waiting for cpu.*"),
                _figure("Instance CPU(s)", "s", r"instance: total cpu time \(s\)"),
                _figure("Host busy(s)", "s", r"host: busy cpu time \(s\)"),
                _figure("Host CPUs(s)", "s", r"host: total time \(s\)"),
            )
        },
        keys=0,
    ),
    "enqueues": Section(
        "Enqueue Activity",
        {
            "enqueue activity": (
                _figure("Enqueue", TEXT, r"enqueue type \(request reason\)"),
                _figure("Requests", COUNT, "requests"),
                _figure("Succeeded", COUNT, "succ gets"),
                _figure("Failed", COUNT, "failed gets"),
                _figure("Waits", COUNT, "waits"),
                _figure("Time(s)", "s", r"wt time \(s\)"),
                _figure("Latency(us)", "us", r"av wt time ?\(ms\)"),
            )
        },
    ),
    "undo": Section(
        "Undo Segment Summary and Stats",
        {"undo segment (summary|stats)": (*_UNDO_KEYS, *_UNDO)},
        keys=2,
    ),
    "addm": Section(
        "Top ADDM Findings by Average Active Sessions, ADDM Reports",
        {
            "top addm findings by average active sessions": (
                _figure("Task", TEXT, "task name"),
                _figure("Finding", TEXT, "finding name"),
                _figure("% of activity", PER_CENT, "percent active sessions of finding", "percen"),
                _figure("Sessions", "sessions"),
                _figure("Task sessions", "sessions", "avg active sessions of the task", "avg act"),
                _figure("Text", TEXT),
                _figure("Actions", TEXT),
            )
        },
        keys=2,
    ),
}


def read_rows(name: str, title: str, table: ReportTable, builder: ReportBuilder) -> None:
    """Read the rows of a table of the section ``name`` into ``builder.listed``; ``title`` is the pattern that matched.

    A cell's row that is blank below the first row of several has the name above it. A row without a name goes on with
    the text of the row before, which is on the page before.
    """
    section = SECTIONS[name]
    table = _as_row(table)
    found = [(figure, at) for figure in section.sources[title] if (at := _find(table.columns, figure)) is not None]
    places = [(figure, at, _choose_reading(figure, plain(table.columns[at]), builder.numbers)) for figure, at in found]
    if not places:
        builder.cannot_read(table)
        return
    of_title = re.fullmatch(title, plain(table.section))
    above: Number | str = ""
    for instance, cells in table.by_instance():
        row = ListedRow({"Inst": instance} if instance else {})
        row.cells.update(of_title.groupdict() if of_title else {})
        for figure, at, read in places:
            _read_cell(figure, cell(cells, at), read, row)
        if section.merges:
            above = row.cells.setdefault(places[0][0].heading, above)
        _add(section, row, builder.listed.setdefault(name, []))


def _as_row(table: ReportTable) -> ReportTable:
    """Return a table of labelled values as one with a row, and the labels above it."""
    if any(plain(column) not in ("", "%", "time (seconds)") for column in table.columns):
        return table
    labelled = [(label, next(filter(None, values), "")) for label, values in table.read_labels()]
    columns, row = zip(*labelled, strict=True) if labelled else ((), ())
    return ReportTable(table.section, columns, (row,))


@lru_cache(maxsize=1024)  # reports of a version have the same headings
def _find(columns: tuple[str, ...], figure: SectionFigure) -> int | None:
    for printed in figure.printed:
        counted = _COUNTED.fullmatch(printed)
        pattern = counted[1] if counted else printed
        found = [at for at, column in enumerate(columns) if re.fullmatch(pattern, plain(column))]
        if counted and len(found) == int(counted[3]):
            return found[int(counted[2])]
        if not counted and found:
            return found[0]
    return None


def _choose_reading(figure: SectionFigure, heading: str, numbers: NumberFormat) -> _Reading:
    """Return what reads the cells of a figure below ``heading``."""
    if figure.unit == TEXT:
        return _read_text
    if figure.unit == "us":
        unit = _UNIT.search(heading)  # up to 12.1 a name above the headings has the ms
        return partial(numbers.duration_us, unit=unit[1] if unit else "ms")
    scale = _SCALES.get(heading[-4:].strip())
    return partial(_read_scaled, numbers, scale) if scale else numbers.read


def _read_text(text: str) -> str | None:
    return " " * text.startswith(" ") + squeeze(text) or None  # as the line above goes on


def _read_scaled(numbers: NumberFormat, scale: float, text: str) -> Number | None:
    found = numbers.read(text)
    return found.scaled(scale) if found else None


def _read_cell(figure: SectionFigure, text: str, read: _Reading, row: ListedRow) -> None:
    """Add a cell to ``row``, or why it has no figure. A count with decimals has lost its K or M, or is no count."""
    if figure.part is not None:
        text = dict(enumerate(text.split("/"))).get(figure.part, "")
    found = read(text)
    if isinstance(found, Number) and figure.unit == COUNT and found.step < 1:
        row.why[figure.heading] = f"not a whole number ({text})"
    elif found is not None:
        row.cells[figure.heading] = found
    else:
        row.why[figure.heading] = why_unreadable(text)


def _add(section: Section, row: ListedRow, listed: list[ListedRow]) -> None:
    """Add a row to those of its section, or to the one that it goes on with."""
    keys = list(section.columns)[: section.keys]
    if section.merges:
        names = [row.cells.get(key) for key in keys]
        same = next((one for one in listed if [one.cells.get(key) for key in keys] == names), None)
        if same is not None:
            same.cells.update(row.cells)
            return
    elif "SQL" in section.columns and "SQL Id" not in row.cells:
        for heading, text in row.cells.items() if listed else ():
            listed[-1].cells[heading] = squeeze(f"{listed[-1].cells.get(heading, '')}{text}")
        return
    for figure, (total, count) in section.quotients.items():
        _divide(figure, row, row.cells.get(total), row.cells.get(count))
    listed.append(row)


def _divide(figure: str, row: ListedRow, total: Number | str | None, count: Number | str | None) -> None:
    """Replace a printed quotient by the exact one, if that has more digits and rounds to the printed one."""
    if not isinstance(total, Number) or not isinstance(count, Number) or count.value <= 0:
        return
    exact = Number(total.value / count.value, (total.step + count.step - 1.0) / count.value)
    printed = row.cells.get(figure)
    if isinstance(printed, Number):
        rounds = abs(exact.value - printed.value) <= printed.step / 2 * (1 + 1e-9)
        if exact.step >= printed.step or not rounds:
            return
    row.cells[figure] = exact
    row.why.pop(figure, None)


def _readers() -> Iterator[tuple[str, Callable[[ReportTable, ReportBuilder], None]]]:
    for name, section in SECTIONS.items():
        for title in section.sources:
            yield title, partial(read_rows, name, title)


# Title (plain: lower case, single blanks) -> its reader.
SECTION_TITLES = tuple(_readers())
