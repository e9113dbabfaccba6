"""Compare-period reports (``awrddrpt.sql``): each is read as the two reports that it compares.

Its tables have the figures of both periods side by side, ``1st``, ``2nd`` and their difference below the name of a
group of columns. They are taken apart into the tables of two reports, which are read like any others. The names of the
groups stand in a line of their own, so groups are counted; their order is the same from 11.2 to 26ai, text and HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from openslob.awr import header
from openslob.awr.builder import ReportBuilder
from openslob.awr.tables import ReportTable, cell, plain

PERIODS = ("1st", "2nd")  # as tables and messages call them
_FIGURE = r"(?: per (?:sec|txn))?"
_ROW = tuple(re.compile(rf"(?:{word} \()?{number}\)?") for word, number in (("first", "1st"), ("second", "2nd")))
_SNAPSHOTS = re.compile(
    r"(?P<period>1st|2nd)\s+(?P<begin>\d+)\s+(?P<begin_time>\S+ [\d:]+)(?: \(\w+\))?\s+(?P<end>\d+)\s+"
    r"(?P<end_time>\S+ [\d:]+)(?: \(\w+\))?\s+[\d.,]+\s+(?P<elapsed>[\d.,]+)\s+(?P<db_time>[\d.,]+)"
)
_SECONDS = re.compile(r"(?:First|Second) DB/Inst: (\S+?)/\S+ Snaps: \d+-\d+ \(Elapsed time: ([\d.,]+) sec")
_NOTHING = ("", "N/A")

# Heading of a report of one period -> heading that both periods share, or number of the group of columns.
_Columns = Mapping[str, str | int]
_SQL: _Columns = {"SQL Id": "sql id", "%Total": 0, "SQL Text": "sql text"}
_SEGMENT: _Columns = {
    "Owner": "owner",
    "Tablespace Name": "tablespace",
    "Object Name": "object name",
    "Subobject Name": "subobject name",
    "Obj. Type": "type",
}
_WAITS: _Columns = {"%DB time": 0, "# Waits/s": 1, "Total Wait Time (s)": 2, "Avg wait (ms)": 3}
# Title -> title in a report of one period, and its columns.
_SECTIONS: tuple[tuple[str, str, _Columns], ...] = (
    (r"workload comparison|load profile", "Load Profile", {"": "", "Per Second": 0, "Per Transaction": 1}),
    (r"time model statistics", "Time Model Statistics", {"Statistic Name": "statistic name", "Time (s)": -2}),
    (r"operating system statistics", "OS Statistics", {"Statistic": "statistic name", "Value": 0}),
    (r"wait classes", "Wait Classes by Total Wait Time", {"Wait Class": "wait class", **_WAITS}),
    (r"wait events", "Wait Events", {"Event": "event", "Wait Class": "wait class", **_WAITS}),
    (
        r"(key|other) instance activity stats",
        "Instance Activity Stats",
        {"Statistic": "statistic", "Total": 0, "per Second": 2, "per Trans": 3},
    ),
    (
        r"top sql comparison by elapsed time",
        "SQL ordered by Elapsed Time",
        {**_SQL, "Elapsed Time per Exec (ms)": 1, "Executions": 7},
    ),
    (r"top sql comparison by cpu time", "SQL ordered by CPU Time", {**_SQL, "CPU per Exec (ms)": 1}),
    (
        r"top sql comparison by buffer gets",
        "SQL ordered by Gets",
        {**_SQL, "Gets per Exec": 1, "Executions": 2},
    ),
    (
        r"top sql comparison by physical reads",
        "SQL ordered by Reads",
        {**_SQL, "Reads per Exec": 1, "Executions": 2},
    ),
    (
        r"top sql comparison by executions",
        "SQL ordered by Executions",
        {
            "SQL Id": "sql id",
            "Executions": 1,
            "Elap per Exec (ms)": 2,
            "CPU per Exec (ms)": 3,
            "Rows per Exec": 6,
            "SQL Text": "sql text",
        },
    ),
    (
        r"top segments (?:comparison )?by ([a-z ]+(?:reads|requests|writes|scans|changes))",
        r"Segments by \1",
        {**_SEGMENT, "Value": 1, "%Total": 0, "% of Capture": 2},
    ),
    (r"top segments (?:comparison )?by ([a-z ]+waits)", r"Segments by \1", {**_SEGMENT, "Value": 1}),
    (
        r"enqueue activity",
        "Enqueue Activity",
        {
            "Enqueue Type (Request Reason)": r"enqueue type \(request reason\)",
            "Wt Time (s)": 1,
            "Requests": 2,
            "Succ Gets": 3,
            "Failed Gets": 4,
            "Waits": 5,
            "Av Wt Time(ms)": 6,
        },
    ),
)
# Names of statistics that have columns of their own, and are longer than a text's column.
_LONG = ("physical read total IO requests", "physical write total IO requests")
# Row of the hosts' comparison -> column of the table of a host, or of its CPU.
_HOST = {
    "CPUs": "number of cpus",
    "Cores": "number of cpu cores",
    "Sockets": "number of cpu sockets",
    "Load Begin": "load at start snapshot",
    "Load End": "load at end snapshot",
    "%User": "%user time",
    "%System": "%system time",
    "%WIO": "%io wait time",
    "%Idle": "%idle time",
}


def is_compared(title: str) -> bool:
    """Return whether a section of a compare-period report is read."""
    name = _title_of(title)
    known = ("", "report summary", "host configuration comparison", "top timed events", "init.ora parameters")
    return name in known or any(re.fullmatch(pattern, name) for pattern, _, _ in _SECTIONS)


def take_period(tables: Sequence[ReportTable], period: int) -> Iterator[ReportTable]:
    """Yield the tables of the first (0) or second (1) period, with the titles and headings of a report of it."""
    for table in tables:
        name = _title_of(table.section)
        if name == "host configuration comparison":
            yield from _hosts(table, period)
        elif name == "top timed events":
            half = len(table.columns) // 2
            rows = (row[half * period : half * (period + 1)] for row in table.rows)
            listed = tuple((row[0].lstrip("- "), *row[1:]) for row in rows if row and row[0].strip("- "))
            yield ReportTable("Top Timed Events", table.columns[:half], listed)
        elif name == "init.ora parameters" and len(table.columns) == 5:
            rows = ((row[0], _parameter(row, period)) for row in table.rows if row[0])
            yield ReportTable("init.ora Parameters", ("Parameter Name", "Begin value"), tuple(rows))
        else:
            yield from _sections(table, name, period)


def read_heads(tables: Sequence[ReportTable], text: str, period: int, builder: ReportBuilder) -> None:
    """Read database, instance and snapshots of a period. A text's titles have its elapsed time to the millisecond."""
    for table in tables:
        for row in table.rows:
            if _ROW[period].fullmatch(plain(row[0])) and table.index("snapshot set") == 0:
                one = ReportTable(table.section, table.columns, (row,))
                header.read_identity(one, builder)
                builder.set("block_size", builder.whole(cell(row, table.index("std block size"))))
        for line in (*(" ".join(row) for row in table.rows), *table.misfits):
            if (found := _SNAPSHOTS.match(line)) and found["period"] == PERIODS[period]:
                for name in ("begin", "end"):
                    builder.set(f"{name}_snap", builder.whole(found[name]))
                    builder.set(f"{name}_time", found[f"{name}_time"])
                builder.set("elapsed_min", builder.numbers.read(found["elapsed"]))
                builder.set("db_time_min", builder.numbers.read(found["db_time"]))
    for name, seconds in _SECONDS.findall(text)[period : period + 1]:
        elapsed = builder.numbers.read(seconds)
        builder.set("db_name", name)
        builder.header["elapsed_min"] = elapsed.scaled(1 / 60) if elapsed else builder.header.get("elapsed_min")


def _title_of(title: str) -> str:
    """Return a plain title; in text it is followed by the first period."""
    name = plain(title).removesuffix(" first")
    return "" if name.startswith("workload repository") else name


def _sections(table: ReportTable, name: str, period: int) -> Iterator[ReportTable]:
    """Yield the part of a period of a table with groups of columns; nothing for one that lacks a group."""
    groups = [at for at, one in enumerate(table.columns) if re.fullmatch(PERIODS[period] + _FIGURE, plain(one))]
    for pattern, title, columns in _SECTIONS:
        found = re.fullmatch(pattern, name)
        if found is None or any(isinstance(group, int) and group >= len(groups) for group in columns.values()):
            continue
        places = [groups[one] if isinstance(one, int) else table.index(one) for one in columns.values()]
        figures = [at for at in places if at in groups]
        rows = (
            tuple(_text(cell(row, at), table, at) for at in places)
            for row in table.rows
            if row[0] and any(cell(row, at) not in _NOTHING for at in figures)
        )
        yield ReportTable(
            found.expand(title), tuple(columns), tuple(rows), widths=_widths(table, places), misfits=table.misfits
        )


def _text(text: str, table: ReportTable, at: int | None) -> str:
    """Return a cell: nothing for N/A, and for a name that fills its column the only known one that it begins."""
    if at == 0 and table.widths and len(text) == table.widths[0]:
        return next((name for name in _LONG if name.startswith(text)), text)
    return "" if text == "N/A" else text


def _widths(table: ReportTable, places: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(table.widths[at] if at is not None and at < len(table.widths) else 0 for at in places if table.widths)


def _hosts(table: ReportTable, period: int) -> Iterator[ReportTable]:
    at = table.index(PERIODS[period])
    values = {plain(row[0]): cell(row, at) for row in table.rows}
    found = {heading: values.get(label, "") for heading, label in _HOST.items()}
    names = ("CPUs", "Cores", "Sockets")
    yield ReportTable(
        "Host Name",
        ("Host Name", "Platform", *names, "Memory (GB)"),
        (("", "", *(found[name] for name in names), ""),),
    )
    yield ReportTable("Host CPU", tuple(found), (tuple(found.values()),))


def _parameter(row: tuple[str, ...], period: int) -> str:
    """Return a parameter.

    Its value at a begin is printed only if it differs from that at the end, and the second period's only if it differs
    from the first's.
    """
    first = row[1] or row[2]
    return (row[3] or row[4] or first) if period else first
