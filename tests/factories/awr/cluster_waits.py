"""Waits and I/O of a global report: of all instances together, then of each."""

from __future__ import annotations

from collections.abc import Sequence

from factories.awr.described import Instance, Traffic, Wait, longest_first
from factories.awr.events import average, figures, named, share_cell
from factories.awr.printing import BLANK, MIB, Figure, counted, duration, fixed
from factories.awr.sheet import Place, Sheet
from factories.awr.tables import Column, Row, Table
from openslob.awr import Scope

_TOP = 10
_UNITS = ((1.0, "us", 0), (1e3, "ms", 10), (1e6, "s", 20))


def _average(sheet: Sheet, us: float | None) -> Figure:
    """Milliseconds with two decimals, since 12.2 with a unit."""
    if us is None or sheet.layout.since("12.2"):
        return duration(us)
    return fixed(us / 1e3, 2, comma=False).scaled(1e3)


def tops(sheet: Sheet) -> None:
    """The longest waits of all processes, of the foreground and of the background."""
    everyone = sheet.database.instances
    printed: dict[str, int] = {}  # rows of an instance in all three lists
    for title, scope, processes, time, cpu in (
        ("Top Timed Events", Scope.TOP_ALL, ("foreground", "background"), "DB time", "DB CPU"),
        ("Top Timed Foreground Events", Scope.TOP, ("foreground",), "DB time", "DB CPU"),
        ("Top Timed Background Events", Scope.TOP_BACKGROUND, ("background",), "bg time", "background cpu time"),
    ):
        groups: list[tuple[str, Sequence[Instance]]] = [
            ("*", everyone),
            *((str(one.number), (one,)) for one in everyone),
        ]
        rows: list[Row] = []
        for number, some in groups:
            waits = longest_first(*(getattr(one, name) for one in some for name in processes))[: _TOP - 1]
            listed: list[Wait | None] = [*waits, None]
            for rank, wait in enumerate(listed):
                place: Place = ("events", str(scope), rank)
                if number != "*":  # of an instance, those of all three lists follow each other
                    at = printed[number] = printed.get(number, -1) + 1
                    place = ("instance_events", int(number), at)
                spent = sum(one.times[cpu] for one in some) if wait is None else wait.seconds
                in_all = sum(one.db_time if time == "DB time" else one.times["background elapsed time"] for one in some)
                shown = number if rank == 0 or sheet.layout.is_html else ""  # text prints a number once
                row = _row(sheet, place, wait, cpu, spent, in_all)
                rows.append((shown, *row, *_summary(sheet, wait, number == "*")))
        columns = (Column("I#", width=4), *_columns(sheet, "%DB time", True))
        heads = (("", 1), ("Wait", 1), ("Event", 3), ("Wait Time", 3), ("Summary Avg Wait Time", 5))
        notes = ("Instance '*' - cluster wide summary",)
        sheet.add(Table(title, columns, rows, f"{title}. . {notes[0]}", "bare", notes, heads))


def _row(sheet: Sheet, place: Place, wait: Wait | None, cpu: str, seconds: float, in_all: float) -> Row:
    wait_class = wait.wait_class if wait else ""
    if wait_class:
        sheet.note((*place, "wait_class"), wait_class)  # whole, though a text cuts it
    named(sheet, place, wait.name if wait else cpu, 30)
    return (
        wait_class,
        wait.name if wait else cpu,
        *figures(
            sheet,
            place,
            waits=fixed(wait.waits) if wait else BLANK,
            timeouts_pct=fixed(100 * wait.timeouts / wait.waits, 2) if wait else BLANK,
            time_s=fixed(seconds, 2),
            avg_us=_average(sheet, wait.mean_us if wait else None),
            share_pct=fixed(100 * seconds / in_all if in_all else None, 2),
        ),
    )


def _summary(sheet: Sheet, wait: Wait | None, is_whole: bool) -> Row:
    """Mean, least, most and spread of the instances' latencies, and how many instances waited; nobody reads them."""
    count = (str(len(sheet.database.instances)),) if is_whole else ("",)
    return (*(_average(sheet, wait.mean_us if wait and is_whole else None).text,) * 3, "", *count)


def _columns(sheet: Sheet, share: str, has_count: bool) -> tuple[Column, ...]:
    mean = Column("Avg Wait", width=10) if sheet.layout.since("12.2") else Column("Avg(ms)", width=10)
    return (
        Column("Class", width=13, left=True),
        Column("Event", width=30, left=True),
        Column("Waits", width=14),
        Column("%Timeouts", width=9),
        Column("Total(s)", width=14),
        mean,
        Column(share, width=8),
        *(Column(name, width=10) for name in ("Avg", "Min", "Max", "Std Dev")),
        *((Column("Cnt", width=3),) if has_count else ()),
    )


def all_events(sheet: Sheet) -> None:
    """All events of the cluster, printed since 12.2."""
    if not sheet.layout.since("12.2"):
        return
    for name, scope, of in (("foreground", Scope.FOREGROUND, "DB"), ("background", Scope.BACKGROUND, "bg")):
        waits = longest_first(*(getattr(one, name) for one in sheet.database.instances))
        in_all = sum(
            one.db_time if of == "DB" else one.times["background elapsed time"] for one in sheet.database.instances
        )
        rows = []
        for rank, wait in enumerate(waits):
            row = _row(sheet, ("events", str(scope), rank), wait, "", wait.seconds, in_all)
            rows.append((*row, *_summary(sheet, wait, True)[:4]))
        title = f"{name.title()} Wait Events (Global)"
        groups = (("Wait", 1), ("Event", 3), ("Wait Time", 3), ("Summary Avg Wait Time", 4))
        what = f"This table displays {name} wait event information"
        sheet.add(Table(title, _columns(sheet, f"%{of} time", False), rows, what, "bare", groups=groups))


def histograms(sheet: Sheet) -> None:
    """One table from 1 µs to 1 s; a share that rounds to nothing has the number of waits in brackets. Since 12.2."""
    if not sheet.layout.since("12.2"):
        return
    listed = [waits for one in sheet.database.instances for waits in (one.foreground, one.background)]
    waits = sorted(longest_first(*listed), key=lambda wait: wait.name)
    edges = [(f"<{int(2 ** (power - base))}{unit}", 2 ** (power - base) * size, power)
             for size, unit, base in _UNITS for power in range(base, min(base + 10, 21))]  # fmt: skip
    rows: list[Row] = []
    shown = [sheet.shown(wait.name, 30) for wait in waits]
    for wait in waits:
        name = sheet.shown(wait.name, 30)
        is_ambiguous = shown.count(name) > 1
        place: Place = ("histograms", name)
        cells, below = [], 0
        for number, (_, us, power) in enumerate(edges):
            upto = sum(count for one, count in wait.counts.items() if one <= power)
            cells.append(_cell(upto - below, wait.waits))
            below = upto
            if not is_ambiguous:
                sheet.figure((*place, "below", us), Figure("", 100 * upto / wait.waits, 0.1 * (number + 1)))
        cells.append(_cell(wait.waits - below, wait.waits))
        in_all = counted(wait.waits)
        if not is_ambiguous:
            sheet.figure((*place, "waits"), in_all)
            sheet.note((*place, "cut"), not sheet.layout.is_html and len(name) >= 29)
        rows.append((wait.name, in_all.text, *cells))
    columns = (
        Column("Event", width=30, left=True),
        Column("Waits", width=8),
        *(Column(heading, width=14) for heading, _, _ in edges),
        Column(">=1s", width=14),
    )
    groups = (("", 1), ("", 1), ("% of Total Waits", len(edges) + 1))
    summary = "This table displays wait event histogram information"
    sheet.add(Table("Wait Event Histogram (Global)", columns, rows, summary, "bare", groups=groups))


def _cell(count: int, waits: int) -> str:
    if count and 100 * count / waits < 0.05:
        return f"0.0({count})"
    return share_cell(count, waits).text


def traffic(sheet: Sheet) -> None:
    """I/O by function and by type of file."""
    for attribute, late, early in (
        ("functions", "IOStat by Function", "IOStat by Function (per Second)"),
        ("filetypes", "IOStat by File Type", "IOStat by File Type (per Second)"),
    ):
        if sheet.layout.since("12.2"):
            _traffic_rows(sheet, attribute, late)
        else:
            _traffic_columns(sheet, attribute, early)


def _sums(instances: Sequence[Instance], attribute: str) -> list[Traffic]:
    """I/O of some instances: in all, and by name."""
    found: dict[str, Traffic] = {}
    for one in instances:
        for item in getattr(one, attribute):
            found[item.name] = found[item.name] + item if item.name in found else item
    total = Traffic("Total")
    for item in found.values():
        total = total + item
    return [total, *found.values()]


def _traffic_rows(sheet: Sheet, attribute: str, title: str) -> None:
    """Since 12.2: a row for each name, of all instances and then of each."""
    per, rows, everyone = sheet.database.elapsed, list[Row](), sheet.database.instances
    is_function = attribute == "functions"
    for number, some in (("*", everyone), *((str(one.number), (one,)) for one in everyone)):
        for at, one in enumerate(_sums(some, attribute)):
            place: Place = (f"iostat_{attribute}", at)
            rates = {
                "read_requests_per_s": one.reads / per,
                "write_requests_per_s": one.writes / per,
                "read_mb_per_s": one.read_bytes / MIB / per,
                "write_mb_per_s": one.write_bytes / MIB / per,
            }
            printed = {name: fixed(rate, 2) for name, rate in rates.items()}
            if is_function:
                last = {"waits": counted(one.waits), "avg_us": average(sheet, one.wait_us)}
            else:
                last = {"small_read_us": average(sheet, one.small_us), "large_read_us": average(sheet, one.large_us)}
            if number == "*":
                sheet.word((*place, "name"), one.name, 18)
                figures(sheet, place, **printed, **last)
            elif not is_function and at == 0:
                for name, figure in printed.items():
                    sheet.figure(("per_instance", int(number), name), figure)
                _io_seconds(sheet, int(number), one)
            cells = [figure.text for figure in printed.values()]
            requests, size = one.reads + one.writes, one.read_bytes + one.write_bytes
            shown = number if at == 0 or sheet.layout.is_html else ""
            rows.append(
                (shown, one.name, fixed(requests).text, fixed(requests / per, 2).text, *cells[:2],
                 fixed(size / MIB).text, fixed(size / MIB / per, 2).text, *cells[2:],
                 *(figure.text for figure in last.values()))
            )  # fmt: skip
    last_columns = ("Waits: Count", "Avg Time") if is_function else ("Small Read", "Large Read")
    columns = (
        Column("I#", width=4),
        Column("Function Name" if is_function else "Filetype Name", width=18, left=True),
        *(Column(name, width=16) for name in ("Total", "IOs/s", "Reads/s", "Writes/s")),
        *(Column(name, width=16) for name in ("Total", "IO MB/s", "Read MB/s", "Write MB/s")),
        *(Column(name, width=12) for name in last_columns),
    )
    groups = (("", 1), ("", 1), ("Requests", 4), ("MB", 4), ("", 1), ("", 1))
    sheet.add(Table(title, columns, rows, title, "bare", groups=groups))


def _io_seconds(sheet: Sheet, number: int, total: Traffic) -> None:
    """What a total and its rate say they are divided by; a rate of 0.00 says nothing."""
    per, requests = sheet.database.elapsed, total.reads + total.writes
    if rate := round(requests / per, 2):
        step = (1 + requests / rate * 0.01) / rate
        sheet.figure(("per_instance", number, "io_seconds"), Figure("", per, step))


def _traffic_columns(sheet: Sheet, attribute: str, title: str) -> None:
    """Up to 12.1: a row for each instance, and columns for each name in four groups."""
    per, everyone = sheet.database.elapsed, sheet.database.instances
    parts = (
        ("read_mb_per_s", "Reads MB/sec", "read_bytes", MIB),
        ("write_mb_per_s", "Writes MB/sec", "write_bytes", MIB),
        ("read_requests_per_s", "Reads requests/sec", "reads", 1.0),
        ("write_requests_per_s", "Writes requests/sec", "writes", 1.0),
    )
    names = [one.name for one in _sums(everyone, attribute)]
    rows: list[Row] = []
    for number, some in (*((str(one.number), (one,)) for one in everyone), ("Sum", everyone)):
        if number == "Sum" and len(everyone) == 1:
            continue
        cells = []
        for figure, _, name, size in parts:
            for at, one in enumerate(_sums(some, attribute)):
                cell = fixed(getattr(one, name) / size / per, 2)
                if number == "Sum" or len(everyone) == 1:
                    sheet.word((f"iostat_{attribute}", at, "name"), names[at])
                    sheet.figure((f"iostat_{attribute}", at, figure), cell)
                if number != "Sum" and at == 0 and attribute == "filetypes":
                    sheet.figure(("per_instance", int(number), figure), cell)
                cells.append(cell.text)
        rows.append((number, *cells))
    columns = (Column("I#", width=4), *(Column(name, name.replace(" ", "|"), 16) for _ in parts for name in names))
    groups = (("", 1), *((heading, len(names)) for _, heading, _, _ in parts))
    sheet.add(Table(title, columns, rows, title, "bare", groups=groups))
