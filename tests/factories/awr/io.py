"""I/O by function, type of file, tablespace and file; the global cache."""

from __future__ import annotations

from itertools import groupby

from factories.awr.described import DataFile, Instance, Traffic
from factories.awr.events import figures
from factories.awr.printing import BLANK, Figure, counted, duration, fixed, megabytes, six_decimals, volume
from factories.awr.sheet import Sheet
from factories.awr.tables import Column, Row, Table, text_of

_BY_FUNCTION, _BY_FILETYPE = "IOStat by Function summary", "IOStat by Filetype summary"


def functions(sheet: Sheet, instance: Instance) -> None:
    _traffic(sheet, "iostat_functions", (*instance.functions, _total(instance.functions)))


def filetypes(sheet: Sheet, instance: Instance) -> None:
    _traffic(sheet, "iostat_filetypes", (*instance.filetypes, _total(instance.filetypes)))


def _total(listed: tuple[Traffic, ...]) -> Traffic:
    total = listed[0]
    for one in listed[1:]:
        total = total + one
    return Traffic(
        "TOTAL:", *(getattr(total, name) for name in ("reads", "writes", "read_bytes", "write_bytes", "waits"))
    )


def _per_second(sheet: Sheet, size: int) -> Figure:
    rate = size / sheet.database.elapsed
    if not sheet.layout.since("11.2.0.4"):
        return six_decimals(rate)
    return megabytes(rate, 12 if sheet.layout.is_html else 7)


def _time(sheet: Sheet, us: float | None) -> Figure:
    """A mean: in ms, ``N/A`` in text where there is none, with its own unit since 12.2."""
    if sheet.layout.since("12.2"):
        return duration(us, 9 if sheet.layout.is_html else 8)
    if us is None:
        return BLANK if sheet.layout.is_html else Figure("N/A")
    return fixed(us / 1e3, sheet.layout.decimals, comma=False).scaled(1e3)


def _traffic(sheet: Sheet, attribute: str, listed: tuple[Traffic, ...]) -> None:
    layout, per, rows = sheet.layout, sheet.database.elapsed, list[Row]()
    is_function = attribute == "iostat_functions"
    width = 14 if layout.since("12.2") and not is_function else 15
    for at, one in enumerate(listed):
        place = (attribute, at)
        if one.name == "TOTAL:":
            sheet.note((*place, "name"), "TOTAL")
        else:
            sheet.word((*place, "name"), one.name, width)
        rate = {
            name: fixed(count / per, layout.decimals, comma=False)
            for name, count in (("read", one.reads), ("write", one.writes))
        }
        reads = figures(
            sheet, place, read_requests_per_s=rate["read"], read_mb_per_s=_per_second(sheet, one.read_bytes)
        )
        writes = figures(
            sheet, place, write_requests_per_s=rate["write"], write_mb_per_s=_per_second(sheet, one.write_bytes)
        )
        if is_function:
            last = figures(sheet, place, waits=counted(one.waits), avg_us=_time(sheet, one.wait_us))
        else:
            last = figures(
                sheet, place, small_read_us=_time(sheet, one.small_us), large_read_us=_time(sheet, one.large_us)
            )
        rows.append((one.name, volume(one.read_bytes).text, *reads, volume(one.write_bytes).text, *writes, *last))
    time = 8 if layout.since("12.2") else 7
    if is_function:
        mean = Column("Avg Time", "Avg|Time", time) if layout.since("12.2") else Column("Avg Tm(ms)", "Avg|Tm(ms)", 7)
        last_columns = (Column("Waits: Count", "Waits:|Count", 7), mean)
    else:
        last_columns = (Column("Small Read", "Small|Read", time), Column("Large Read", "Large|Read", time))
    columns = (
        Column("Function Name" if is_function else "Filetype Name", width=width, left=True),
        Column("Reads: Data", "Reads:|Data", 7),
        Column("Reqs   per sec", "Reqs|per sec", 7),
        Column("Data   per sec", "Data|per sec", 7),
        Column("Writes: Data", "Writes:|Data", 7),
        Column("Reqs   per sec", "Reqs|per sec", 7),
        Column("Data   per sec", "Data|per sec", 7),
        *last_columns,
    )
    summary = "This table displays the IO Statistics for different " + ("functions" if is_function else "file types")
    notes = ("'Data' columns are in multiples of 1024", "ordered by (Data Read + Write) desc")
    sheet.add(Table(_BY_FUNCTION if is_function else _BY_FILETYPE, columns, rows, summary, notes=notes))


def places(sheet: Sheet, instance: Instance) -> None:
    """I/O of tablespaces and files, up to 12.1. In text, names stand above their figures.

    Where single-block reads are listed, the table of tablespaces has three figures in the wrong columns.
    """
    if sheet.layout.since("12.2"):
        return
    files = sorted(instance.files, key=lambda one: (one.tablespace, one.path))
    spaces = []
    for name, some in groupby(files, key=lambda one: one.tablespace):
        total, *others = some
        for one in others:
            total = total + one
        spaces.append((name, total))
    has_single = sheet.layout.since("11.2.0.4")
    rows: list[tuple[str, str, Row]] = []
    for at, (name, total) in enumerate(spaces):
        sheet.word(("tablespaces", at, "tablespace"), name, 30)
        rows.append((name, "", _place_row(sheet, "tablespaces", at, total, has_single)))
    _print_places(sheet, "Tablespace IO Stats", rows)
    rows = []
    for at, one in enumerate(files):
        sheet.word(("files", at, "tablespace"), one.tablespace, 24)
        sheet.note(("files", at, "file"), one.path)
        rows.append((one.tablespace, one.path, _place_row(sheet, "files", at, one, False)))
    _print_places(sheet, "File IO Stats", rows)


def _place_row(sheet: Sheet, attribute: str, at: int, one: DataFile, is_misprinted: bool) -> Row:
    per, place, decimals = sheet.database.elapsed, (attribute, at), sheet.layout.decimals

    def mean(seconds: float, count: int) -> Figure:
        if not count:
            return BLANK if sheet.layout.is_html else Figure("N/A")
        return fixed(1e3 * seconds / count, decimals, comma=False).scaled(1e3)

    writes = fixed(one.writes)
    row = figures(
        sheet,
        place,
        reads=fixed(one.reads),
        reads_per_s=fixed(one.reads / per, comma=False),
        read_us=mean(one.read_s, one.reads),
        blocks_per_read=fixed(one.blocks / one.reads, decimals, bare=not sheet.layout.is_html) if one.reads else BLANK,
    )
    single = [fixed(one.single_reads / per, comma=False).text, mean(one.single_s, one.single_reads).text]
    if not sheet.layout.since("11.2.0.4"):
        row += figures(sheet, place, writes=writes)
    elif is_misprinted:  # writes and the rate and time of single-block reads, each a column too far to the left
        row += [writes.text, *single]
    else:
        row += [*single, *figures(sheet, place, writes=writes)]
    return (
        *row,
        *figures(
            sheet,
            place,
            writes_per_s=fixed(one.writes / per, comma=False),
            buffer_waits=fixed(one.buffer_waits),
            buffer_wait_us=mean(one.buffer_s, one.buffer_waits),
        ),
    )


def _figure_columns(sheet: Sheet) -> tuple[Column, ...]:
    is_old = not sheet.layout.since("11.2.0.4")
    rates = Column("Av Reads/s", "Av|Reads/s", 7) if is_old else Column("Av Rds/s", "Av|Rds/s", 7)
    single = () if is_old else (Column("1-bk Rds/s", "1-bk|Rds/s", 7), Column("Av 1-bk Rd(ms)", "Av 1-bk|Rd(ms)", 7))
    return (
        Column("Reads", width=14),
        rates,
        Column("Av Rd(ms)", "Av|Rd(ms)", 7),
        Column("Av Blks/Rd", "Av|Blks/Rd", 7),
        *single,
        Column("Writes", width=12),
        Column("Av Writes/s", "Av|Writes/s", 8) if is_old else Column("Writes avg/s", "Writes|avg/s", 8),
        Column("Buffer Waits", "Buffer|Waits", 10),
        Column("Av Buf Wt(ms)", "Av Buf|Wt(ms)", 7),
    )


def _print_places(sheet: Sheet, title: str, rows: list[tuple[str, str, Row]]) -> None:
    has_files = title.startswith("File")
    columns = _figure_columns(sheet)
    names = (Column("Tablespace", width=24, left=True), Column("Filename", width=52, left=True)) if has_files else (
        Column("Tablespace", width=30, left=True),
    )  # fmt: skip
    kind = "physical files" if has_files else "tablespaces"
    if sheet.layout.is_html:
        listed = [(space, *((path,) if has_files else ()), *row) for space, path, row in rows]
        summary = f"This table displays IO Statistics for different {kind}"
        sheet.add(Table(title, (*names, *columns), listed, summary))
        return
    lines, last = list[str](), ""
    for space, path, row in rows:
        parts = [path[at : at + 52] for at in range(0, len(path), 52)] or [""]
        shown = space[:24] if has_files else space[:30]
        lines.append(f"{'' if space == last else shown:<24} {parts[0]}".rstrip() if has_files else shown)
        lines += [" " * 25 + part for part in parts[1:]]
        lines.append(" ".join(column.cell(cell) for column, cell in zip(columns, row, strict=True)))
        last = space
    names_head = text_of(Table("", names, (), form="none"), "").rstrip("\n").split("\n")
    figures_head = text_of(Table("", columns, (), form="none"), "").rstrip("\n").split("\n")
    head = [title.ljust(80 - len(sheet.mark)) + sheet.mark, "-> ordered by name", ""]
    sheet.text(*head, *names_head, *figures_head, *lines, " " * 26 + "-" * 54)


def global_cache(sheet: Sheet, instance: Instance) -> None:
    """What an instance of a cluster says of blocks from and to the others: in ms, since 12.2 in µs."""
    if not sheet.database.is_rac:
        return
    per, is_late = sheet.database.elapsed, sheet.layout.since("12.2")
    rows: list[Row] = []
    for way in ("received", "served"):
        count = sum(instance.statistics[f"gc {kind} blocks {way}"] for kind in ("cr", "current"))
        rates = (fixed(count / per, 2), fixed(count / instance.transactions if instance.transactions else None, 2))
        named = zip(
            ("per_second", "per_transaction"), rates, strict=True
        )  # read where the load profile has no such row
        cells = [sheet.figure(("load_profile", f"gc_blocks_{way}", name), rate) for name, rate in named]
        rows.append((f"Global Cache blocks {way}:", *cells))
    title = "Global Cache Load Profile"
    columns = (Column("", left=True), Column("Per Second", width=15), Column("Per Transaction", width=15))
    if sheet.layout.is_html:
        summary = "This table displays information about global cache load profile"
        sheet.add(Table(title, columns, rows, summary, "underlined"))
    else:
        heads = f"{'~' * len(title)}                  Per Second       Per Transaction"
        dashes = f"{' ' * 38}---------------       ---------------"
        lines = [f"{row[0]:>31}{row[1]:>22}{row[2]:>22}" for row in rows]
        sheet.text(title, heads, dashes, *lines)
        sheet.text()
    labelled: list[Row] = []
    unit, size = ("us", 1.0) if is_late else ("ms", 1e3)
    for name, us in instance.gc_us.items():
        figure = fixed(us / size, 1).scaled(size)
        middle = "" if "enqueue" in name else "global cache "
        labelled.append((f"Avg {middle}{name} ({unit}):", sheet.figure(("global_cache", name), figure)))
    for name, share in instance.gc_flushes.items():
        labelled.append((f"Global cache {name}:", sheet.figure(("global_cache", name), fixed(share, 1))))
    title = "Global Cache and Enqueue Services - Workload Characteristics"
    if sheet.layout.is_html:
        summary = "This table displays workload characteristics for global cache and enqueue services"
        sheet.add(Table(title, (), labelled, summary, "underlined"))
        return
    lines = [f"{label:>54}{figure:>10}" for label, figure in labelled]
    sheet.text(title, "~" * len(title), lines[0], "", *lines[1:3], "", *lines[3:])
