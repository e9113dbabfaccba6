"""Figures over the interval: load profile, activity, time model, operating system, parameters."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from factories.awr.described import Instance
from factories.awr.printing import BLANK, MIB, Figure, fixed
from factories.awr.sheet import Sheet
from factories.awr.tables import Column, Row, Table

# Name in the model, labels before and since 11.2.0.4, and the statistics whose sum is the rate.
_PROFILE: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("redo_size", "Redo size:", "Redo size (bytes):", ("redo size",)),
    ("logical_reads", "Logical reads:", "Logical read (blocks):", ("session logical reads",)),
    ("block_changes", "Block changes:", "Block changes:", ("db block changes",)),
    ("physical_reads", "Physical reads:", "Physical read (blocks):", ("physical reads",)),
    ("physical_writes", "Physical writes:", "Physical write (blocks):", ("physical writes",)),
    ("read_io_requests", "", "Read IO requests:", ("physical read IO requests",)),
    ("write_io_requests", "", "Write IO requests:", ("physical write IO requests",)),
    ("read_io_mb", "", "Read IO (MB):", ("physical read bytes",)),
    ("write_io_mb", "", "Write IO (MB):", ("physical write bytes",)),
    ("im_scan_rows", "", "IM scan rows:", ("IM scan rows",)),
    ("session_logical_read_im", "", "Session Logical Read IM:", ("session logical reads - IM",)),
    ("gc_blocks_received", "", "{gc} blocks received:", ("gc cr blocks received", "gc current blocks received")),
    ("gc_blocks_served", "", "{gc} blocks served:", ("gc cr blocks served", "gc current blocks served")),
    ("user_calls", "User calls:", "User calls:", ("user calls",)),
    ("parses", "Parses:", "Parses (SQL):", ("parse count (total)",)),
    ("hard_parses", "Hard parses:", "Hard parses (SQL):", ("parse count (hard)",)),
    ("work_area_mb", "W/A MB processed:", "SQL Work Area (MB):", ("work area bytes",)),
    ("logons", "Logons:", "Logons:", ("logons cumulative",)),
    ("user_logons", "", "User logons:", ("user logons cumulative",)),
    ("executes", "Executes:", "Executes (SQL):", ("execute count",)),
    ("rollbacks", "Rollbacks:", "Rollbacks:", ("user rollbacks",)),
    ("transactions", "Transactions:", "Transactions:", ("user commits", "user rollbacks")),
)
_NOT_PRINTED = frozenset({"work area bytes", "IM scan rows", "session logical reads - IM", "user logons cumulative"})
_KEY = frozenset({"db block changes", "execute count", "logons cumulative", "physical reads", "redo size",
                  "session logical reads", "user calls", "user commits", "user rollbacks"})  # fmt: skip
_FOOTNOTED = "PL/SQL execution elapsed time"


def load_profile(sheet: Sheet, instance: Instance) -> None:
    layout, per = sheet.layout, sheet.database.elapsed
    rows: list[Row] = []

    def add(name: str, label: str, in_all: float | None, more: Row = ("", "")) -> None:
        width = 0 if layout.is_html else 15
        second = _rate(in_all, per, width)
        transaction = BLANK if name == "transactions" else _rate(in_all, instance.transactions, width)
        figures = zip(("per_second", "per_transaction"), (second, transaction), strict=True)
        rows.append((label, *(sheet.figure(("load_profile", name, place), one) for place, one in figures), *more))

    add("db_time", "DB Time(s):", instance.db_time, ("0.01", "0.02"))
    add("db_cpu", "DB CPU(s):", instance.times["DB CPU"], ("0.01", "0.02"))
    if layout.since("12.1"):
        add("background_cpu", "Background CPU(s):", instance.times["background cpu time"], ("0.00", "0.00"))
    for name, before, after, statistics in _PROFILE:
        label = after if layout.since("11.2.0.4") else before
        is_absent = (name.startswith("gc_") and not sheet.database.is_rac) or not label
        if is_absent or (name.startswith(("im_", "session_")) and not layout.since("12.1")):
            continue
        if name == "user_logons" and not layout.since("19c"):
            continue
        in_all: float | None = sum(instance.statistics[one] for one in statistics)
        if name == "session_logical_read_im" and not in_all:
            in_all = None  # printed as blank cells
        if name.endswith("_mb") and in_all is not None:
            in_all /= MIB
        add(name, label.format(gc="RAC GC" if layout.version == "11.2.0.4" else "Global Cache"), in_all)
    columns = tuple(Column(name, width=15) for name in ("", "Per Second", "Per Transaction", "Per Exec", "Per Call"))
    columns = (Column("", left=True), *columns[1:])
    if layout.is_html:
        sheet.add(Table("Load Profile", columns, rows, "This table displays load profile", "underlined"))
    elif layout.since("11.2.0.4"):
        _beside(sheet, "Load Profile", (28, 15, 15, 9, 9), (24, 3, 3, 1, 1), columns, rows)
    else:
        _beside(sheet, "Load Profile", (17, 15, 15, 10, 10), (17, 4, 4, 1, 1), columns, rows)


def _rate(in_all: float | None, per: float, width: int) -> Figure:
    return BLANK if in_all is None or not per else fixed(in_all / per, 1, width)


def _beside(
    sheet: Sheet, title: str, widths: tuple[int, ...], gaps: tuple[int, ...], columns: tuple[Column, ...],
    rows: list[Row],
) -> None:  # fmt: skip
    """Print a table whose title stands beside its headings, and tildes beside the line of dashes.

    The first width is that of the tildes' column, the first gap that of the labels; further gaps precede a column.
    """
    label, figures = gaps[0], list(zip(widths[1:], gaps[1:], strict=True))

    def line(first: str, cells: Row) -> str:
        return (
            first.ljust(label)
            + "".join(" " * gap + one.rjust(wide) for one, (wide, gap) in zip(cells, figures, strict=True))
        ).rstrip()

    heads = [column.text or column.heading for column in columns[1:]]
    printed = [line(f"{row[0]:>{label}}", row[1:]) for row in rows]
    sheet.text(line(title, heads), line("~" * len(title), ["-" * wide for wide, _ in figures]), *printed)


def io_profile(sheet: Sheet, instance: Instance) -> None:
    """Requests, MB and blocks per second; printed since 11.2.0.4."""
    statistics, per = instance.statistics, sheet.database.elapsed
    rows: list[Row] = []
    for label, name, size in (
        ("Total Requests", "total IO requests", 1.0),
        ("Database Requests", "IO requests", 1.0),
        ("Redo Requests", "", 1.0),
        ("Total (MB)", "total bytes", MIB),
        ("Database (MB)", "bytes", MIB),
        ("Database (blocks)", "s", 1.0),
    ):
        if name:
            read, write = (statistics[f"physical {way}{'' if name == 's' else ' '}{name}"] for way in ("read", "write"))
        else:
            read, write = 0, statistics["redo writes"]
        rates = [fixed(count / size / per, 1) for count in (read + write, read, write)]
        places = zip(("total", "read", "write"), rates, strict=True)
        rows.append((f"{label}:", *(sheet.figure(("io_profile", label.lower(), place), one) for place, one in places)))
    heads = (
        ("Read+Write Per Second", "Read+Write/Second"),
        ("Read per Second", "Read/Second"),
        ("Write Per Second", "Write/Second"),
    )
    columns = (Column("", left=True), *(Column(heading, text, 15) for heading, text in heads))
    if sheet.layout.is_html:
        sheet.add(Table("IO Profile", columns, rows, "This table displays IO profile", "underlined"))
    else:
        _beside(sheet, "IO Profile", (27, 17, 15, 15), (27, 1, 1, 1), columns, rows)


def time_model(sheet: Sheet, instance: Instance) -> None:
    layout = sheet.layout
    times = {**instance.times, "DB time": instance.db_time}
    rows: list[Row] = []
    for name, seconds in times.items():
        is_background = name.startswith("background")
        share = fixed(100 * seconds / instance.db_time, layout.decimals, bare=True)
        shown = f"{name} [1]" if layout.since("19c") and name == _FOOTNOTED else name
        cells = [shown, sheet.figure(("time_model_s", name), fixed(seconds, layout.decimals))]
        cells.append("" if is_background or name == "DB time" else share.text)
        rows.append((*cells, *(("1.3",) if layout.since("12.1") else ())))
    columns = [Column("Statistic Name", width=42, left=True), Column("Time (s)", width=18)]
    if layout.since("12.1"):
        columns += [Column("% of DB Time", "% of|DB Time", 7), Column("% of Total CPU Time", "% of Total|CPU Time", 10)]
    else:
        columns.append(Column("% of DB Time", width=12))
    summary = "This table displays different time model statistics. For each statistic, its time is displayed"
    notes = ('Names with the word "background" are no part of DB time', "Ordered by time")
    sheet.add(Table("Time Model Statistics", tuple(columns), rows, summary, notes=notes))


def activity(sheet: Sheet, instance: Instance) -> None:
    """Statistics over the interval; since 11.2.0.4 the most important ones in a section of their own."""
    layout = sheet.layout
    listed = {name: count for name, count in sorted(instance.statistics.items()) if name not in _NOT_PRINTED}
    key = {name: count for name, count in listed.items() if name in _KEY}
    if layout.since("11.2.0.4"):
        _statistics(sheet, "Key Instance Activity Stats", key, instance)
    if layout.version == "11.2.0.4":
        others = {name: count for name, count in listed.items() if name not in key}
        _statistics(sheet, "Other Instance Activity Stats", others, instance)
    else:
        _statistics(sheet, "Instance Activity Stats", listed, instance)
    columns = (
        Column("Statistic", width=32, left=True),
        Column("Begin Value", width=15),
        Column("End Value", width=15),
    )
    rows = [("logons current", "37", "41"), ("opened cursors current", "70", "84")]
    sheet.ignore(Table("Instance Activity Stats - Absolute Values", columns, rows, "This table displays values"))
    columns = (Column("Statistic", width=32, left=True), Column("Total", width=18), Column("per Hour", width=9))
    switches = instance.log_switches
    row = (
        "log switches (derived)",
        sheet.figure(("thread_activity", "log switches (derived)", "total"), fixed(switches)),
        sheet.figure(
            ("thread_activity", "log switches (derived)", "per_hour"),
            fixed(switches * 3600 / sheet.database.elapsed, 2, bare=not layout.is_html),
        ),
    )
    summary = "This table displays thread activity stats in the instance. For each, a total is displayed"
    sheet.add(Table("Instance Activity Stats - Thread Activity", columns, (row,), summary))


def _statistics(sheet: Sheet, title: str, listed: Mapping[str, int], instance: Instance) -> None:
    layout, per = sheet.layout, sheet.database.elapsed
    shown = {name: sheet.shown(name, 32) for name in listed}
    columns = (
        Column("Statistic", width=32, left=True),
        Column("Total", width=18),
        Column("per Second", width=14),
        Column("per Trans", width=13),
    )
    rows: list[Row] = []
    for name, count in listed.items():
        same = {count for other, count in listed.items() if shown[other] == shown[name]}
        widths = (0, 0, 0) if layout.is_html else (18, 14, 13)
        rates = (
            fixed(count, 0, widths[0]),
            fixed(count / per, layout.decimals, widths[1]),
            fixed(count / instance.transactions if instance.transactions else None, layout.decimals, widths[2]),
        )
        places = zip(("total", "per_second", "per_transaction"), rates, strict=True)
        if len(same) == 1:
            rows.append((name, *(sheet.figure(("activity", shown[name], place), rate) for place, rate in places)))
        else:  # cut alike, so nobody knows which is which
            rows.append((name, *(rate.text for rate in rates)))
    kind = (
        "Key Instance" if title.startswith("Key") else "non-key Instance" if title.startswith("Other") else "Instance"
    )
    summary = f"This table displays {kind} activity statistics. For each, a total and rates are displayed"
    sheet.add(Table(title, columns, rows, summary, notes=("Ordered by statistic name",)))


def os_stats(sheet: Sheet, instance: Instance) -> None:
    rows = [
        (
            name,
            sheet.figure(("os_stats", name, "value"), fixed(value)),
            sheet.figure(("os_stats", name, "end"), fixed(end)),
        )
        for name, (value, end) in instance.os_stats.items()
    ]
    columns = (
        Column("Statistic", width=25, left=True),
        Column("Value", width=22),
        Column("End Value", width=16),
    )
    summary = "This table displays operating systems statistics. For each statistic, its value is displayed"
    sheet.add(Table("Operating System Statistics", columns, rows, summary, notes=("*TIME are over the interval",)))
    detail = (
        Column("Snap Time", width=15, left=True),
        *(Column(name, width=8) for name in ("Load", "%busy", "%user")),
    )
    sheet.ignore(Table("Operating System Statistics - Detail", detail, [("02-Mar 10:00:00", "1.3", "N/A", "N/A")]))


def efficiency(sheet: Sheet, instance: Instance) -> None:
    """Labels and figures in pairs, two in a line; ``Buffer  Hit   %`` is spaced so that its words are aligned."""
    title = "Instance Efficiency Percentages (Target 100%)"
    printed: list[str] = []
    for label, share in instance.efficiency.items():
        name = " ".join(label.lower().split()).removesuffix(":")
        printed += [label, sheet.figure(("efficiency_pct", name), fixed(share, 2))]
    rows = [tuple(printed[at : at + 4]) for at in range(0, len(printed), 4)]
    if sheet.layout.is_html:
        summary = "This table displays instance efficiency percentages"
        sheet.add(Table(title, (), rows, summary, "underlined"))
        return
    lines = [f"{row[0]:>27}{row[1]:>8}" + (f"{row[2]:>22}{row[3]:>8}" if row[2:] else "") for row in rows]
    sheet.text(title, "~" * len(title), *lines)


def parameters(sheet: Sheet, instance: Instance) -> None:
    """Names are cut in text, and long values go on in the next line."""
    layout, rows = sheet.layout, list[Row]()
    is_own = sheet.database.is_container and layout.since("19c")
    for name, (begin, end) in instance.parameters.items():
        shown = name if layout.is_html else name[:29]
        place = ("parameters", shown)
        if begin:
            sheet.note((*place, "begin"), begin)
        sheet.note((*place, "instance"), "*")
        sheet.word((*place, "end"), end)
        parts = [begin] if layout.is_html else textwrap.wrap(begin, 33) or [""]
        more: Row = ("CDB$ROOT",) if is_own and layout.is_html else ()
        rows.append((name, parts[0], end, *more))
        rows += [("", part, "") for part in parts[1:]]
    columns = (
        Column("Parameter Name", width=29, left=True),
        Column("Begin value", width=33, left=True),
        Column("End value (if different)", "End value|(if different)", 14, left=True),
        *((Column("PDB Name", width=8, left=True),) if is_own and layout.is_html else ()),
    )
    title = "Parameters modified by this container" if is_own else "init.ora Parameters"
    sheet.add(Table(title, columns, rows, "This table displays name and value of init.ora parameters"))
