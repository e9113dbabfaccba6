"""Sections of a global report: a row for each instance, and the sum of all."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev

from factories.awr.described import Instance
from factories.awr.heads import minute, yes
from factories.awr.printing import KIB, MIB, Figure, fixed
from factories.awr.sheet import Sheet
from factories.awr.tables import Column, Row, Table

_TIMES = (
    ("DB time (s)", "DB time"),
    ("DB CPU (s)", "DB CPU"),
    ("SQL Exec Ela (s)", "sql execute elapsed time"),
    ("Parse Ela (s)", "parse time elapsed"),
    ("Hard Parse Ela (s)", "hard parse elapsed time"),
    ("bg time (s)", "background elapsed time"),
    ("bg CPU (s)", "background cpu time"),
)
# Heading, lines of the heading in text, name in the model, statistics whose sum it is.
_RATES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("Logical Reads/s", "Logical|Reads/s", "logical_reads", ("session logical reads",)),
    ("Physical Reads/s", "Physical|Reads/s", "physical_reads", ("physical reads",)),
    ("Physical Writes/s", "Physical|Writes/s", "physical_writes", ("physical writes",)),
    ("Redo Size (k)/s", "Redo|Size (k)/s", "redo_size", ("redo size",)),
    ("Block Changes/s", "Block|Changes/s", "block_changes", ("db block changes",)),
    ("User Calls/s", "User|Calls/s", "user_calls", ("user calls",)),
    ("Execs/s", "", "executes", ("execute count",)),
    ("Parses/s", "", "parses", ("parse count (total)",)),
    ("Logons/s", "", "logons", ("logons cumulative",)),
    ("Txns/s", "", "transactions", ("user commits", "user rollbacks")),
)
_CLASSES = (
    ("User I/O(s)", "User I/O"),
    ("Sys I/O(s)", "System I/O"),
    ("Other(s)", "Other"),
    ("Applic (s)", "Application"),
    ("Commit (s)", "Commit"),
    ("Network (s)", "Network"),
    ("Concurcy (s)", "Concurrency"),
    ("Config (s)", "Configuration"),
    ("Cluster (s)", "Cluster"),
)
_LATE_CLASSES = (("Admin (s)", "Administrative"), ("Scheduler (s)", "Scheduler"))
_NUMBER = Column("I#", "I#", 4)


def summary(sheet: Sheet) -> None:
    database, layout = sheet.database, sheet.layout
    is_late = layout.since("12.2")
    columns: list[Column] = [Column("Id", width=11), Column("Name", width=10, left=True)]
    row = [sheet.word(("header", "db_id"), database.identifier), sheet.word(("header", "db_name"), database.name)]
    if is_late:
        columns += [
            Column(name, width=width, left=True) for name, width in (("Unique Name", 11), ("Role", 16), ("Edition", 7))
        ]
        row += [sheet.word(("header", name), getattr(database, name)) for name in ("unique_name", "role", "edition")]
    columns.append(Column("RAC", width=5, left=True))
    row.append(yes(database.is_rac))
    sheet.note(("header", "rac"), database.is_rac)
    if is_late:
        columns.append(Column("CDB", width=3, left=True))
        row.append(yes(database.is_container))
        sheet.note(("header", "cdb"), database.is_container)
    columns += [Column(name, width=width) for name, width in (("Block Size", 10), ("Begin", 7), ("End", 7))]
    row.append(sheet.word(("header", "block_size"), database.block_size))
    row += [
        sheet.word(("header", f"{edge}_snap"), snap)
        for edge, snap in zip(("begin", "end"), database.snaps, strict=True)
    ]
    columns += [Column(name, width=11) for name in ("In Report", "Total", "In Report", "Total", "DB time")]
    columns.append(Column("Elapsed time", width=12))
    row += [str(len(database.instances))] * 4
    row.append(sheet.figure(("header", "db_time_min"), fixed(database.db_time / 60, 2)))
    row.append(sheet.figure(("header", "elapsed_min"), fixed(database.elapsed / 60, 2)))
    groups = (("Database", len(columns) - 8), ("Snapshot Ids", 2), ("Number of Instances", 2), ("Number of Hosts", 2),
              ("Report Total (minutes)", 2))  # fmt: skip
    sheet.add(Table("Database Summary", tuple(columns), (row,), "Database Summary", "underlined", groups=groups))


def instances(sheet: Sheet) -> None:
    database, release = sheet.database, sheet.layout.release
    rows: list[Row] = []
    sheet.word(("header", "release"), release)
    sheet.word(("header", "begin_time"), minute(database.begin))
    sheet.word(("header", "end_time"), minute(database.end))
    sheet.word(("header", "platform"), database.instances[0].host.platform)
    for at, one in enumerate(database.instances):
        place = ("header", "instances", at)
        rows.append(
            (
                sheet.word((*place, "number"), one.number),
                sheet.word((*place, "name"), one.name, 10),
                sheet.word((*place, "host"), one.host.name, 10),
                sheet.word((*place, "startup"), minute(one.started)),
                minute(database.begin),
                minute(database.end),
                sheet.word((*place, "release"), release),
                sheet.figure((*place, "elapsed_min"), fixed((one.ran_s or database.elapsed) / 60, 2)),
                sheet.figure((*place, "db_time_min"), fixed(one.db_time / 60, 2)),
                "26.00",
                sheet.figure((*place, "active_sessions"), fixed(database.per_second(one, one.db_time), 2)),
                sheet.word((*place, "platform"), one.host.platform, 20),
            )
        )
    if not sheet.layout.is_html:
        sheet.written["header", "platform"] = database.instances[0].host.platform[:20].rstrip()
    columns = (
        _NUMBER,
        *(Column(name, width=10, left=True) for name in ("Instance", "Host")),
        *(Column(name, width=15, left=True) for name in ("Startup", "Begin Snap Time", "End Snap Time")),
        Column("Release", width=11, left=True),
        Column("Elapsed Time(min)", width=17),
        Column("DB time(min)", width=12),
        Column("Up Time(hrs)", width=12),
        Column("Avg Active Sessions", width=19),
        Column("Platform", width=20, left=True),
    )
    notes = ("Listed in order of instance number, I#",)
    title = "Database Instances Included In Report"
    sheet.add(Table(title, columns, rows, f"{title}. . {notes[0]}", "bare", notes=notes))


def _by_instance(sheet: Sheet, of: Callable[[Instance], Sequence[Figure]], rest: bool = True) -> list[Row]:
    """A row for each instance, and with several of them their sum and mean; blanks are not added."""
    listed = [(one.number, of(one)) for one in sheet.database.instances]
    rows: list[Row] = [(str(number), *(figure.text for figure in figures)) for number, figures in listed]
    if len(listed) > 1 and rest:
        columns = list(zip(*(figures for _, figures in listed), strict=True))
        for name, function in (("Sum", sum), ("Avg", fmean), ("Std", pstdev)):
            rows.append((name, *(_over(function, column) for column in columns)))
    return rows


def _over(function: Callable[[list[float]], float], column: Sequence[Figure]) -> str:
    known = [figure.value / figure.step * 0.01 for figure in column if figure.value is not None]
    return fixed(function(known), 2).text if known else ""


def hosts(sheet: Sheet) -> None:
    is_late = sheet.layout.since("12.2")

    def row(one: Instance) -> list[Figure]:
        host, place = one.host, ("per_instance", one.number)
        shares = {
            "busy": host.user + host.system,
            "user": host.user,
            "system": host.system,
            "iowait": host.iowait,
            "idle": 1 - host.user - host.system,
        }
        cells = [fixed(count) for count in (host.cpus, host.cores, host.sockets)] + [
            fixed(load, 2) for load in host.load
        ]
        cells += [fixed(100 * share, 2) for share in shares.values()]
        names = ("cpus", "", "", "load_begin", "load_end", *(f"host_{name}_pct" for name in shares))
        for name, cell in zip(names, cells, strict=True):
            if name:
                sheet.figure((*place, name), cell)
        return cells

    rows = _by_instance(sheet, row, rest=False)
    for name in ("cpus", "cores", "sockets"):
        counts = [getattr(one.host, name) for one in sheet.database.instances]
        if None not in counts:
            sheet.word(("header", name), sum(counts))
    heads = (
        ("#CPUs", "#Cores", "#Sckts", "Begin", "End")
        if is_late
        else ("Num CPUs", "CPU Cores", "CPU Sckts", "Load Begin", "Load End")
    )
    columns = (
        _NUMBER,
        *(Column(head, head.replace(" ", "|"), 8) for head in heads),
        *(Column(head, width=7) for head in ("% Busy", "% Usr", "% Sys", "% WIO", "% Idl")),
    )
    groups = (("", 1), ("CPU", 3), ("Load", 2), ("", 5)) if is_late and sheet.layout.is_html else ()
    notes = ("Listed in order of instance number, I#",)
    title = "OS Statistics By Instance"
    sheet.add(Table(title, columns, rows, f"{title}. . {notes[0]}", "bare", notes, groups))


def times(sheet: Sheet) -> None:
    def row(one: Instance) -> list[Figure]:
        seconds = {**one.times, "DB time": one.db_time}
        cells = [fixed(seconds[name], 2) for _, name in _TIMES]
        for (_, name), cell in zip(_TIMES, cells, strict=True):
            sheet.figure(("per_instance", one.number, name), cell)
        return cells

    in_all = {**sheet.database.times(), "DB time": sheet.database.db_time}
    for _, name in _TIMES:
        sheet.figure(("time_model_s", name), fixed(in_all[name], 2))
    columns = (_NUMBER, *(Column(heading, width=18) for heading, _ in _TIMES))
    sheet.add(Table("Time Model", columns, _by_instance(sheet, row), "Time Model", "bare"))


def classes(sheet: Sheet) -> None:
    """Times of the wait classes, a column each; a class without waits is blank."""
    listed = (*_CLASSES, *(_LATE_CLASSES if sheet.layout.since("12.2") else ()), ("DB CPU (s)", "DB CPU"))

    def seconds(one: Instance, name: str) -> float | None:
        if name == "DB CPU":
            return one.times["DB CPU"]
        return sum(wait.seconds for wait in one.foreground if wait.wait_class == name) or None

    at = 0
    for _, name in listed:
        known = [some for one in sheet.database.instances if (some := seconds(one, name)) is not None]
        if known:
            place = ("wait_classes", "Foreground Wait Events", at)
            sheet.word((*place, "name"), name)
            sheet.note((*place, "cut"), False)
            sheet.figure((*place, "time_s"), fixed(sum(known), 2))
            at += 1
    columns = (_NUMBER, *(Column(heading, width=14) for heading, _ in listed), Column("DB time", width=16))
    rows = _by_instance(
        sheet, lambda one: [*(fixed(seconds(one, name), 2) for _, name in listed), fixed(one.db_time, 2)]
    )
    sheet.add(Table("Foreground Wait Classes", columns, rows, "Foreground Wait Classes", "bare"))


def rates(sheet: Sheet) -> None:
    """Rates that replace the load profile; redo in units of 1024 bytes, whose exact figure is among the statistics."""
    database = sheet.database

    def rate(one: Instance, statistics: Sequence[str]) -> float:
        return database.per_second(one, sum(one.statistics[name] for name in statistics))

    def row(one: Instance) -> list[Figure]:
        cells = []
        for _, _, name, statistics in _RATES:
            size = KIB if name == "redo_size" else 1.0
            cell = fixed(rate(one, statistics) / size, 2)
            sheet.figure(("per_instance", one.number, name), cell.scaled(size))
            cells.append(cell)
        return cells

    for _, _, name, statistics in _RATES:
        in_all = sum(rate(one, statistics) for one in database.instances)
        sheet.figure(("load_profile", name, "per_second"), fixed(in_all, 2))
    columns = (_NUMBER, *(Column(heading, text, 16) for heading, text, _, _ in _RATES))
    title = "System Statistics - Per Second"
    sheet.add(Table(title, columns, _by_instance(sheet, row), title, "bare"))


def activity(sheet: Sheet) -> None:
    database, rows = sheet.database, list[Row]()
    transactions = sum(one.transactions for one in database.instances)
    listed = sorted(database.statistics().items())
    alike: dict[str, set[int]] = {}
    for name, count in listed:
        alike.setdefault(sheet.shown(name, 32), set()).add(count)
    for name, count in listed:
        label = sheet.shown(name, 32)
        rate = [database.per_second(one, one.statistics[name]) for one in database.instances]
        cells = [fixed(count), fixed(sum(rate), 2), fixed(count / transactions if transactions else None, 2)]
        if len(alike[label]) == 1:
            for place, cell in zip(("total", "per_second", "per_transaction"), cells, strict=True):
                sheet.figure(("activity", label, place), cell)
        spread = (fmean(rate), pstdev(rate), min(rate), max(rate))
        rows.append((name, *(cell.text for cell in cells), *(fixed(some, 2).text for some in spread)))
    columns = (
        Column("Statistic", width=32, left=True),
        Column("Total", width=22),
        Column("per Second", width=20),
        Column("per Trans", width=22),
        *(Column(name, width=20) for name in ("Average", "Std Dev", "Min", "Max")),
    )
    groups = (("", 1), ("", 1), ("", 1), ("", 1), ("per Second", 4))
    title = "System Statistics (Global)"
    sheet.add(Table(title, columns, rows, f"{title}. . mean and spread of the instances", "bare", groups=groups))


def io_profile(sheet: Sheet) -> None:
    """Printed since 12.2."""
    if not sheet.layout.since("12.2"):
        return
    in_all, per, rows = sheet.database.statistics(), sheet.database.elapsed, list[Row]()
    for label, name, size in (("Total Requests", "total IO requests", 1.0), ("Total (MB)", "total bytes", MIB)):
        read, write = (in_all[f"physical {way} {name}"] / size / per for way in ("read", "write"))
        cells = [fixed(rate, 2) for rate in (read + write, read, write)]
        places = zip(("total", "read", "write"), cells, strict=True)
        rows.append((label, *(sheet.figure(("io_profile", label.lower(), place), cell) for place, cell in places)))
    columns = (
        Column("Statistic", width=32, left=True),
        *(Column(name, width=16) for name in ("Read+Write/s", "Reads/s", "Writes/s")),
    )
    sheet.add(Table("IO Profile (Global)", columns, rows, "IO Profile (Global)", "bare"))


def latencies(sheet: Sheet) -> None:
    """Times to receive blocks; since 12.2 in whole µs and under another title."""
    if not sheet.database.is_rac:
        return
    is_late = sheet.layout.since("12.2")
    unit, size, places = ("us", 1.0, 0) if is_late else ("ms", 1e3, 2)

    def row(one: Instance) -> list[Figure]:
        get, cr, current = (
            one.gc_us[f"{name} time"] for name in ("global enqueue get", "cr block receive", "current block receive")
        )
        cells = [fixed(us / size, places, comma=False) for us in (get, cr, 0.0, current, 0.0)]
        sheet.figure(("per_instance", one.number, "gc_cr_us"), cells[1].scaled(size))
        sheet.figure(("per_instance", one.number, "gc_current_us"), cells[3].scaled(size))
        return cells

    def column(name: str) -> Column:
        return Column(f"{name} Time ({unit})", f"{name}|Time ({unit})", 12)

    columns = (_NUMBER, column("GE Get"), *(column(name) for name in ("Receive", "Build", "Receive", "Pin")))
    groups = (("", 1), ("", 1), ("CR Blocks", 2), ("CU Blocks", 2))
    title = "Global Latency Characteristics" if is_late else "Global Cache and Enqueue Workload Characteristics"
    sheet.add(Table(title, columns, _by_instance(sheet, row, rest=False), title, "bare", groups=groups))


def parameters(sheet: Sheet) -> None:
    """Values of all instances have the number ``*``; where they differ, text prints the name in the first row only."""
    rows: list[Row] = []
    first = sheet.database.instances[0]
    for name, (begin, end) in first.parameters.items():
        values = [one.parameters[name] for one in sheet.database.instances]
        is_same = len(set(values)) == 1
        shown = name if sheet.layout.is_html else name[:29]
        sheet.word(("parameters", shown, "begin"), begin)
        sheet.word(("parameters", shown, "end"), end)
        sheet.note(("parameters", shown, "instance"), "*" if is_same else str(first.number))
        for at, one in enumerate(sheet.database.instances[: 1 if is_same else None]):
            number = "*" if is_same else str(one.number)
            own, own_end = one.parameters[name]
            parts = [own] if sheet.layout.is_html else textwrap.wrap(own, 33) or [""]
            rows.append((name if at == 0 or sheet.layout.is_html else "", number, parts[0], own_end))
            rows += [("", "", part, "") for part in parts[1:]]
    columns = (
        Column("Parameter Name", width=29, left=True),
        _NUMBER,
        Column("Begin value", width=33, left=True),
        Column("End value (if different)", "End value|(if different)", 33, left=True),
    )
    sheet.add(Table("init.ora Parameters", columns, rows, "This table displays values for init.ora parameters", "bare"))
