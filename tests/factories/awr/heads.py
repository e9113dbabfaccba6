"""The top of a report: database, instance, host, snapshots, caches."""

from __future__ import annotations

from datetime import datetime

from factories.awr.described import Database, Instance
from factories.awr.printing import fixed
from factories.awr.sheet import Sheet
from factories.awr.tables import Column, Row, Table, ruler, text_of

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SNAPS = ("Snap Id", "Snap Time", "Sessions", "Cursors/Session")


def minute(time: datetime) -> str:
    return f"{time.day:02}-{_MONTHS[time.month - 1]}-{time.year % 100:02} {time:%H:%M}"


def second(time: datetime) -> str:
    return f"{minute(time)}:{time:%S}"


def yes(value: bool) -> str:
    return "YES" if value else "NO"


def identity(sheet: Sheet, instance: Instance) -> None:
    """The tables below the title: database, instance, container, host, snapshots."""
    _database(sheet, instance)
    host = instance.host
    row = (
        sheet.word(("header", "host"), host.name, 16),
        sheet.word(("header", "platform"), host.platform, 32),
        *(sheet.word(("header", name), getattr(host, name)) for name in ("cpus", "cores", "sockets")),
        sheet.figure(("header", "memory_gb"), fixed(host.memory / 1024**3, 2, bare=True)),
    )
    columns = (
        Column("Host Name", width=16, left=True),
        Column("Platform", width=32, left=True),
        Column("CPUs", width=4),
        Column("Cores", width=5),
        Column("Sockets", width=7),
        Column("Memory (GB)", "Memory(GB)", 10),
    )
    sheet.add(Table("", columns, (row,), "This table displays host information", "none"))
    _snapshots(sheet, instance)


def _database(sheet: Sheet, instance: Instance) -> None:
    database, layout = sheet.database, sheet.layout
    if layout.is_html:
        sheet.note(("header", "instances", 0, "number"), instance.number)
    name = sheet.word(("header", "db_name"), database.name, 12)
    number = sheet.word(("header", "db_id"), database.identifier)
    sheet.word(("header", "release"), layout.release)
    sheet.note(("header", "rac"), database.is_rac)
    own = (
        sheet.word(("header", "instances", 0, "name"), instance.name, 12),
        sheet.word(("header", "instances", 0, "number"), instance.number),
        sheet.word(("header", "instances", 0, "startup"), minute(instance.started)),
    )
    started = (
        Column("Instance", width=12, left=True),
        Column("Inst Num" if layout.since("12.2") else "Inst num", "Inst Num", 8),
        Column("Startup Time", width=15, left=True),
    )
    first = (Column("DB Name", width=12, left=True), Column("DB Id", "DB Id   ", 11))
    summary = "This table displays database instance information"
    if not layout.since("12.2"):
        sheet.word(("header", "instances", 0, "release"), layout.release)
        columns = (*first, *started, Column("Release", width=11, left=True), Column("RAC", width=3, left=True))
        row: Row = (name, number, *own, layout.release, yes(database.is_rac))
        sheet.add(Table("", columns, (row,), summary, "none"))
        return
    sheet.note(("header", "cdb"), database.is_container)
    columns = (
        *first,
        Column("Unique Name", width=11, left=True),
        Column("Role", "DB Role", 16, left=True),
        Column("Edition", width=7, left=True),
        Column("Release", width=10, left=True),
        Column("RAC", width=3, left=True),
        Column("CDB", width=3, left=True),
    )
    row = (
        name,
        number,
        sheet.word(("header", "unique_name"), database.unique_name, 11),
        sheet.word(("header", "role"), database.role, 16),
        sheet.word(("header", "edition"), database.edition, 7),
        layout.release,
        yes(database.is_rac),
        yes(database.is_container),
    )
    sheet.add(Table("", columns, (row,), summary, "none"))
    sheet.add(Table("", started, (own,), summary, "none"))
    if database.containers:
        _containers(sheet, database)


def _containers(sheet: Sheet, database: Database) -> None:
    """One container is what the report covers; several are those that were open."""
    if len(database.containers) == 1:
        sheet.word(("header", "pdb_name"), database.containers[0], 15)
    columns = (
        Column("Container DB Id", width=15),
        Column("Container Name", width=15, left=True),
        Column("Open Time", width=15, left=True),
    )
    rows = [(str(41 + at), name, minute(database.begin)) for at, name in enumerate(database.containers)]
    sheet.add(Table("", columns, rows, "This table displays pdb instance information", "none"))


def _snapshots(sheet: Sheet, instance: Instance) -> None:
    database, layout = sheet.database, sheet.layout
    minutes = [
        sheet.figure(("header", name), fixed(seconds / 60, 2))
        for name, seconds in (("elapsed_min", database.elapsed), ("db_time_min", instance.db_time))
    ]
    more: Row = (str(len(database.instances)),) if database.is_rac else ()
    headings: Row = ("Instances",) if database.is_rac else ()
    if layout.version == "12.1" and layout.is_html:
        headings, more = (*headings, "CDB"), (*more, yes(database.is_container))
        sheet.note(("header", "cdb"), database.is_container)
    rows: list[Row] = []
    for at, (edge, time) in enumerate((("begin", database.begin), ("end", database.end))):
        sheet.word(("header", f"{edge}_snap"), database.snaps[at])
        sheet.word(("header", f"{edge}_time"), second(time))
        sessions = sheet.figure(("header", f"sessions_{edge}"), fixed(instance.sessions[at], comma=False))
        rows.append((f"{edge.title()} Snap:", str(database.snaps[at]), second(time), sessions, "1.3", *more))
    if not layout.is_html:
        columns = (
            Column("", width=11),
            *(Column(name, width=width) for name, width in zip(_SNAPS[:3], (9, 19, 8), strict=True)),
            Column("", "Curs/Sess", 9),
            *(Column(name, width=9) for name in headings),
        )
        printed = Table("", columns, rows, form="none")
        sheet.text(*_snapshot_lines(printed, minutes))
        return
    blank: Row = ("",) * (1 + len(more) + 1)
    for label, figure in zip(("Elapsed:", "DB Time:"), minutes, strict=True):
        rows.append((label, "", f"{figure:>18} (mins)", *blank))
    columns = tuple(Column(name, width=9, left=not name) for name in ("", *_SNAPS, *headings))
    sheet.add(Table("", columns, rows, "This table displays snapshot information"))


def _snapshot_lines(table: Table, minutes: list[str]) -> list[str]:
    headings, _, *rows = text_of(table, "").rstrip("\n").split("\n")
    line = " " * 12 + ruler(table.columns[1:])
    labelled = [
        f"   {label}  {figure:>18} (mins)" for label, figure in zip(("Elapsed:", "DB Time:"), minutes, strict=True)
    ]
    return [headings, line, *rows, *labelled]


def caches(sheet: Sheet) -> None:
    """The cache sizes, with the block size in the same lines."""
    database = sheet.database
    size = f"{database.block_size // 1024}K"
    sheet.note(("header", "block_size"), database.block_size)
    begin, end = (f"{one:,}M" for one in database.cache_mb)
    if sheet.layout.is_html:
        columns = (
            Column("", left=True),
            Column("Begin", width=11),
            Column("End", width=11),
            Column("", left=True),
            Column("", width=10),
        )
        rows = [
            ("Buffer Cache:", begin, end, "Std Block Size:", size),
            ("Shared Pool Size:", "1,024M", "1,100M", "Log Buffer:", "24,136K"),
        ]
        sheet.add(Table("Cache Sizes", columns, rows, "This table displays cache sizes", "underlined"))
        return
    sheet.text(
        "Cache Sizes                       Begin        End",
        "~~~~~~~~~~~                  ---------- ----------",
        f"               Buffer Cache: {begin:>10} {end:>10}  Std Block Size:{size:>11}",
        "           Shared Pool Size:     1,024M     1,100M      Log Buffer:    24,136K",
    )


def host_cpu(sheet: Sheet, instance: Instance) -> None:
    """The host's CPU. From 11.2.0.4 on, a text leaves out unknown sockets together with their column."""
    host, layout = instance.host, sheet.layout
    shares = (host.user, host.system, host.iowait, 1 - host.user - host.system)
    row = [
        *(
            sheet.figure(("host_cpu", name), fixed(load, 2))
            for name, load in zip(("load_begin", "load_end"), host.load, strict=True)
        ),
        *(
            sheet.figure(("host_cpu", f"{name}_pct"), fixed(100 * share, 1))
            for name, share in zip(("user", "system", "wio", "idle"), shares, strict=True)
        ),
    ]
    figures = tuple(
        Column(heading, text, 9)
        for heading, text in (
            ("Load Average Begin", "Begin"),
            ("Load Average End", "End"),
            *((name, "") for name in ("%User", "%System", "%WIO", "%Idle")),
        )
    )
    counts = [str(count or "") for count in (host.cpus, host.cores, host.sockets)]
    summary = "This table displays system load statistics"
    if layout.since("11.2.0.4"):
        named = (Column("CPUs", width=5), Column("Cores", width=5), Column("Sockets", width=7))
        table = Table("Host CPU", (*named, *figures), ((*counts, *row),), summary, "underlined")
    else:
        title = "Host CPU (CPUs: {:>3} Cores: {:>3} Sockets: {:>3})".format(*counts)
        table = Table(title, figures, (row,), summary, "underlined")
    if layout.is_html:
        sheet.add(table)
        return
    indent = "" if layout.since("11.2.0.4") else " " * 11
    title, _, headings, line, values = text_of(table, "").rstrip("\n").split("\n")
    if layout.since("11.2.0.4") and not counts[2] and counts[1]:
        values = values[:11] + values[18:]
    spanner = "~~~~~~~~" + " " * (18 if layout.since("11.2.0.4") else 9) + "Load Average"
    sheet.text(title, spanner, *(indent + one for one in (headings, line, values)))
