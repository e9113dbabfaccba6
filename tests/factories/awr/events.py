"""Wait events, their classes and their histograms, of one instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from factories.awr.described import Instance, Wait, by_class, longest_first
from factories.awr.printing import BLANK, Figure, counted, duration, exponent, fixed, squeezed, thousands
from factories.awr.sheet import Place, Sheet
from factories.awr.tables import Column, Row, Table
from openslob.awr import Scope

_TOP = 10
# Headings of buckets -> upper edge in µs as the heading says it, and the exponent of the true one.
Edges = tuple[tuple[str, str, float, int], ...]


def average(sheet: Sheet, us: float | None, width: int = 7) -> Figure:
    """A mean latency: whole ms in 11.2, ms with two decimals in 12.1, with its own unit since.

    ``width`` is that of the column in a text with ms.
    """
    if us is None:
        return BLANK
    if sheet.layout.since("12.2"):
        return duration(us)
    places = 2 if sheet.layout.since("12.1") else 0
    return fixed(us / 1e3, places, 0 if sheet.layout.is_html else width, comma=False).scaled(1e3)


def average_column(sheet: Sheet, width: int = 7) -> Column:
    if sheet.layout.since("12.2"):
        return Column("Avg wait", width=9)
    return Column("Avg wait (ms)", "Avg|wait|(ms)", width)


def _timeouts(sheet: Sheet, wait: Wait) -> Figure:
    """Percent of the waits; since 12.1 blank where there were none."""
    if sheet.layout.since("12.1") and not wait.timeouts:
        return BLANK
    return fixed(100 * wait.timeouts / wait.waits)


def _share(sheet: Sheet, seconds: float, of: float) -> Figure:
    return fixed(100 * seconds / of if of else None, sheet.layout.decimals, bare=not sheet.layout.is_html)


def figures(sheet: Sheet, place: Place, **printed: Figure) -> list[str]:
    return [sheet.figure((*place, name), one) for name, one in printed.items()]


def named(sheet: Sheet, place: Place, name: str, width: int) -> str:
    """The name of an event. In text it is cut, and one that fills its column may be."""
    shown = sheet.word((*place, "name"), name, width)
    sheet.note((*place, "cut"), not sheet.layout.is_html and len(shown) >= width - 1)
    return name


def all_events(sheet: Sheet, title: str, waits: Sequence[Wait], scope: Scope, in_all: float) -> None:
    """All events of foreground or background, with times in whole seconds."""
    layout, rows = sheet.layout, list[Row]()
    for rank, wait in enumerate(sorted(waits, key=lambda wait: wait.is_idle)):
        place = ("events", str(scope), rank)
        if wait.is_idle:
            sheet.note((*place, "idle"), True)
        rows.append(
            (
                named(sheet, place, wait.name, 26),
                *figures(
                    sheet,
                    place,
                    waits=fixed(wait.waits),
                    timeouts_pct=_timeouts(sheet, wait),
                    time_s=fixed(wait.seconds),
                    avg_us=average(sheet, wait.mean_us),
                ),
                "1.0",
                *figures(sheet, place, share_pct=BLANK if wait.is_idle else _share(sheet, wait.seconds, in_all)),
            )
        )
    is_late = layout.since("12.2")
    of = "DB" if scope is Scope.FOREGROUND else "bg"
    columns = (
        Column("Event", width=26, left=True),
        Column("Waits", width=11 if is_late else 12),
        Column("%Time -outs", "%Time|-outs", 5),
        Column(
            "Total Wait Time (s)", "Total|Wait|Time (s)" if is_late else "Total Wait|Time (s)", 8 if is_late else 10
        ),
        average_column(sheet),
        Column("Waits /txn", "Waits|/txn", 8),
        Column(f"% {of} time", f"% {of}|time", 6),
    )
    what = "Foreground Wait Events and their wait" if of == "DB" else "background wait events"
    notes = ("s - second, ms - millisecond", "ordered by wait time desc, waits desc (idle events last)")
    sheet.add(Table(title, columns, rows, f"This table displays {what} statistics", notes=notes))


def top(sheet: Sheet, instance: Instance) -> None:
    """The longest waits of the foreground and DB CPU, up to 11.2.0.3 five with whole seconds."""
    layout = sheet.layout
    is_old = not layout.since("11.2.0.4")
    cpu = instance.times["DB CPU"]
    listed: list[Wait | None] = [*longest_first(instance.active)[: (5 if is_old else _TOP) - 1]]
    at = next((at for at, wait in enumerate(listed) if wait and wait.seconds < cpu), len(listed))
    listed.insert(at, None)
    class_width = 8 if layout.since("12.2") else 10
    rows: list[Row] = []
    for rank, wait in enumerate(listed):
        place = ("events", str(Scope.TOP), rank)
        seconds = wait.seconds if wait else cpu
        share = fixed(100 * seconds / instance.db_time, 1, bare=True)
        if wait:
            sheet.note((*place, "wait_class"), wait.wait_class)  # whole, though a text cuts it
        rows.append(
            (
                named(sheet, place, wait.name if wait else "DB CPU", 30),
                *figures(
                    sheet,
                    place,
                    waits=fixed(wait.waits) if wait else BLANK,
                    time_s=_top_time(sheet, seconds),
                    avg_us=average(sheet, wait.mean_us if wait else None, 6 if is_old else 7),
                    share_pct=share,
                ),
                wait.wait_class if wait else "",
            )
        )
    title = "Top 5 Timed Foreground Events" if is_old else "Top 10 Foreground Events by Total Wait Time"
    summary = "This table displays top 10 wait events by total wait time"
    sheet.add(Table(title, _top_columns(sheet, is_old, class_width), rows, summary, "underlined"))


def _top_time(sheet: Sheet, seconds: float) -> Figure:
    if not sheet.layout.since("11.2.0.4"):
        return fixed(seconds)
    return thousands(seconds) if sheet.layout.is_html or sheet.layout.since("12.2") else squeezed(seconds)


def _top_columns(sheet: Sheet, is_old: bool, class_width: int) -> tuple[Column, ...]:
    if is_old:
        time, mean = Column("Time(s)", width=11), Column("Avg wait (ms)", "Avg|wait|(ms)", 6)
    elif sheet.layout.since("12.2"):
        time, mean = (
            Column("Total Wait Time (sec)", "Total Wait|Time (sec)", 10),
            Column("Avg Wait", "Avg|Wait", 9),
        )
    else:
        time, mean = Column("Total Wait Time (sec)", "Tota|Time", 4), Column("Wait Avg(ms)", "Wait|Avg(ms)", 7)
    return (
        Column("Event", width=30, left=True),
        Column("Waits", width=11 if sheet.layout.since("12.2") else 12),
        time,
        mean,
        Column("% DB time", "% DB|time", 6),
        Column("Wait Class", "Wait|Class" if sheet.layout.since("12.2") else "", class_width, left=True),
    )


def classes(sheet: Sheet, instance: Instance) -> None:
    """Wait classes of all processes, in the summary, and of the foreground."""
    layout, is_late = sheet.layout, sheet.layout.since("12.2")
    in_all = instance.db_time
    if layout.since("11.2.0.4"):
        columns = (
            Column("Wait Class", width=16, left=True),
            Column("Waits", width=16),
            Column("Total Wait Time (sec)", "Total Wait|Time (sec)", 16),
            Column("Avg Wait Time", "Avg|Wait|Time", 10) if is_late else Column("Avg Wait (ms)", "Avg|Wait|(ms)", 8),
            Column("% DB time", "% DB|time", 6),
            Column("Avg Active Sessions", "Avg|Active|Sessions", 8),
        )
        rows = []
        for rank, (name, wait, seconds) in enumerate(_with_cpu(instance, (instance.active, instance.background))):
            share = exponent(100 * seconds / in_all, 1, 20 if layout.is_html else 6)
            rows.append(_class_row(sheet, ("wait_classes", str(Scope.ALL), rank), name, wait, seconds, share, False))
        summary = "This table displays wait class statistics ordered by total wait time"
        sheet.add(Table("Wait Classes by Total Wait Time", columns, rows, summary, "underlined"))


def foreground_classes(sheet: Sheet, instance: Instance) -> None:
    is_late = sheet.layout.since("12.2")
    columns = (
        Column("Wait Class", width=20, left=True),
        Column("Waits", width=15 if is_late else 16),
        Column("%Time -outs", "%Time|-outs", 5),
        Column("Total Wait Time (s)", "Total Wait|Time (s)", 15 if is_late else 16),
        Column("Avg wait", width=10) if is_late else Column("Avg wait (ms)", "Avg|wait|(ms)", 8),
        Column("%DB time", width=9),
    )
    rows = []
    for rank, (name, wait, seconds) in enumerate(_with_cpu(instance, (instance.active,))):
        share = _share(sheet, seconds, instance.db_time)
        rows.append(_class_row(sheet, ("wait_classes", str(Scope.FOREGROUND), rank), name, wait, seconds, share, True))
    summary = "This table displays foreground wait class statistics"
    sheet.add(Table("Foreground Wait Class", columns, rows, summary, notes=("ordered by wait time desc, waits desc",)))


def _with_cpu(instance: Instance, processes: Iterable[tuple[Wait, ...]]) -> list[tuple[str, Wait | None, float]]:
    listed = by_class(longest_first(*processes))
    rows: list[tuple[str, Wait | None, float]] = [(wait.name, wait, wait.seconds) for wait in listed]
    rows.append(("DB CPU", None, instance.times["DB CPU"]))
    return sorted(rows, key=lambda row: -row[2])


def _class_row(
    sheet: Sheet, place: Place, name: str, wait: Wait | None, seconds: float, share: Figure, has_timeouts: bool
) -> Row:
    sheet.word((*place, "name"), name)
    sheet.note((*place, "cut"), False)
    waits, time = figures(sheet, place, waits=fixed(wait.waits) if wait else BLANK, time_s=fixed(seconds))
    mean, part = figures(sheet, place, avg_us=average(sheet, wait.mean_us if wait else None, 8), share_pct=share)
    outs = (_timeouts(sheet, wait).text if wait else "",)
    return (name, waits, *outs, time, mean, part) if has_timeouts else (name, waits, time, mean, part, "0.1")


def _edges(*printed: str) -> Edges:
    """Edges by heading in a page, heading in text if it differs, and exponent: ``<128us <128u 7``."""
    units = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}
    found = []
    for one in printed:
        heading, *narrow, power = one.replace("< ", "<_").split(" ")
        heading, text = heading.replace("_", " "), (narrow or [heading])[0].replace("_", " ")
        size = heading.strip("<=> ")
        unit = next(unit for unit in ("us", "ms", "s", "m", "h") if size.endswith(unit))
        whole, _, part = size.removesuffix(unit).partition("/")
        found.append((heading, text, float(whole) / float(part or 1) * units[unit], int(power)))
    return tuple(found)


_LATE = (("", "Total Waits", "Total|Waits",
          _edges("<8us 3", "<16us 4", "<32us 5", "<64us 6", "<128us <128u 7", "<256us <256u 8", "<512us <512u 9"),
          ">=512us", ">=512"),
         (" (up to 64 us)", "Waits 1us - 64us", "Waits|1us -|64us",
          _edges("<1us 0", "<2us 1", "<4us 2", "<8us 3", "<16us 4", "<32us 5", "<64us 6"), ">=64us", ">=64u"),
         (" (up to 32 ms)", "Waits 1ms to 32ms", "Waits|1ms|to 32m",
          _edges("<512us <512 9", "<1ms 10", "<2ms 11", "<4ms 12", "<8ms 13", "<16ms 14", "<32ms 15"),
          ">=32ms", ">=32m"))  # fmt: skip
_SECONDS = _edges("<32ms 15", "<64ms 16", "<1/8s 17", "<1/4s 18", "<1/2s 19", "<1s 20", "<2s 21")
_MINUTES = _edges("<2s 21", "<4s 22", "<8s 23", "<16s 24", "<32s 25", "<_1m 26", "<_2m 27")
_HOURS = _edges("<2m 27", "<4m 28", "<8m 29", "<1/4h 30", "<1/2h 31", "<_1h 32")
_FIRST = _edges("<1ms 10", "<2ms 11", "<4ms 12", "<8ms 13", "<16ms 14", "<32ms 15", "<=1s 20")
_EARLY = ("", "Total Waits", "Total|Waits", _FIRST, ">1s", ">1s")


def _histogram_tables(is_late: bool) -> Iterable[tuple[str, str, str, Edges, str, str]]:
    ranges = ("2 sec", "2 min", "1 hr")
    titles = [f" (up to {end})" for end in ranges] if is_late else [
        f" Detail ({start} to {end})" for start, end in zip(("64 msec", "4 sec", "4 min"), ranges, strict=True)
    ]  # fmt: skip
    yield from _LATE if is_late else (_EARLY,)
    yield titles[0], "Waits 64ms to 2s", "Waits|64ms|to 2s", _SECONDS, ">=2s", ">=2s"
    yield titles[1], "Waits 4s to 2m", "Waits|4s|to 2m", _MINUTES, ">=2m", ">=2m"
    yield titles[2], "Waits 4m to 1h", "Waits|4m|to 1h", _HOURS, ">=1h", ">=1h"


def histograms(sheet: Sheet, instance: Instance) -> None:
    """Shares of the waits of foreground and background by their length, over several ranges."""
    is_late = sheet.layout.since("12.2")
    waits = sorted(longest_first(instance.foreground, instance.background), key=lambda wait: wait.name)
    for number, (title, count, count_text, edges, rest, rest_text) in enumerate(_histogram_tables(is_late)):
        low = edges[0][3]
        listed = [wait for wait in waits if number == 0 or _within(wait, low, edges[-1][3])]
        width = 25 if is_late else 26
        shown = [sheet.shown(wait.name, width) for wait in waits]
        rows = [
            _histogram_row(sheet, wait, edges, width, number, low, shown.count(sheet.shown(wait.name, width)) > 1)
            for wait in listed
        ]
        shares = "% of Total Waits" if is_late else "% of Waits"
        columns = (
            Column("Event", width=width, left=True),
            Column(count, count_text, 6 if is_late else 5),
            *(Column(heading, text, 5) for heading, text, _, _ in edges),
            Column(rest, rest_text, 5),
        )
        groups = (("", 1), ("", 1), (shares, len(edges) + 1))
        summary = (
            "This table displays total number of waits, and information about total wait time, for each wait event"
        )
        notes = ("K is 1000, M is 1000000", "Ordered by Event")
        sheet.add(Table(f"Wait Event Histogram{title}", columns, rows, summary, notes=notes, groups=groups))


def _within(wait: Wait, low: int, high: int) -> bool:
    """Whether a table of further ranges lists the event: it has waits between its second and its last edge."""
    return any(low < power <= high and number for power, number in wait.counts.items())


def _histogram_row(
    sheet: Sheet, wait: Wait, edges: Edges, width: int, number: int, low: int, is_ambiguous: bool
) -> Row:
    name = sheet.shown(wait.name, width)
    place: Place = ("histograms", name)
    in_all = _count(sheet, wait.waits)
    cells, below = [], 0
    for _, _, us, power in edges:
        upto = sum(count for one, count in wait.counts.items() if one <= power)
        cells.append(share_cell(upto - below, wait.waits).text)
        below = upto
        exact = Figure("", 100 * upto / wait.waits, 0.1 * len(edges))  # each share before it was rounded, too
        if not is_ambiguous:
            sheet.figure((*place, "below", us), exact)
    cells.append(share_cell(wait.waits - below, wait.waits).text)
    if not is_ambiguous:
        sheet.figure((*place, "waits"), in_all)
        sheet.note((*place, "cut"), not sheet.layout.is_html and len(name) >= width - 1)
    within = sum(count for power, count in wait.counts.items() if low < power <= edges[-1][3])
    return (wait.name, in_all.text if number == 0 else _count(sheet, within).text, *cells)


def _count(sheet: Sheet, waits: int) -> Figure:
    """Waits in a column of five characters, of six since 12.2; 11.2 prints thousands up to ten millions."""
    width = 0 if sheet.layout.is_html else 6 if sheet.layout.since("12.2") else 5
    return counted(waits, 1e6 if sheet.layout.since("12.1") else 1e7, width)


def share_cell(count: int, waits: int) -> Figure:
    """A share of the waits; blank where there were none, ``.0`` where it rounds to nothing."""
    return fixed(100 * count / waits, 1, bare=True) if count else BLANK
