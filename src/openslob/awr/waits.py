"""Readers of wait event tables and wait histograms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from openslob.awr.builder import HistogramRows, ReportBuilder
from openslob.awr.figures import GLOBAL_CLASSES
from openslob.awr.model import Bucket, Scope, WaitEvent, WaitHistogram
from openslob.awr.numbers import US_PER, Number, NumberFormat
from openslob.awr.tables import ReportTable, cell, plain

_NARROW = 5  # characters of a column in which the letter at the end of a figure may be cut off
# Idle events where the report neither prints the wait class nor a share of DB time: 10g, and some of Statspack's.
_IDLE = re.compile(
    r"(sql\*net message from client|sql\*net vector data from client|rdbms ipc message|.* timer|.*\bidle\b.*"
    r"|.* idle|jobq slave wait|class slave wait|heartbeat redo informer|dispatcher timer|.*: slave idle.*"
    r"|virtual circuit (status|next request)|pipe get|px deq: (execution msg|execute reply|parse reply|msg fragment).*"
    r"|wait for unread message on (broadcast|b).*|streams aq: (waiting|qmn).*|data guard: .*|gcs remote message"
    r"|ges remote message|watchdog main loop|vkrm idle|single-task message|null event"
    r"|pl/sql lock timer|wakeup time manager|lock manager wait for remote message)"
)
_CLASSES = (*(name for _, name in GLOBAL_CLASSES), "Idle")

_TIME = r"(tota?l? )?(wait )?time( waited)?( ?\((s|sec|cs|ms|us)\))?|total ?\((s|ms|us)\)"
_AVERAGE = r"(avg|average|ave) ?(wait)?( time)?( ?\((ns|us|ms|cs|s)\))?|wait avg( ?\((ms|us)\))?"
_UNIT = re.compile(r"\((ns|us|ms|cs|s|sec)\)")
_SHARE = r"%(?!.*outs?$).*\b(time|db|call|bg)\b.*"
_EDGE = re.compile(
    r"<=?\s*(?:(\d{1,9})/)?([1-9]\d{0,8})\s*([a-zµ]*)$"
)  # at the end of the heading: "% of Waits" may precede it
_REST = re.compile(r">=?\s*[\d/]+\s*[a-zµ]*$")
_ROUNDING_PCT = 2.0  # percent; more than the sum of eight rounded shares can deviate from 100
_COUNTED = re.compile(r"<?\s*([\d.,]+)\s*\((\d{1,15})\)")


def is_idle(event: str) -> bool:
    """Return whether an event is idle by its name: processes wait for work. A report that says so itself is right."""
    return _IDLE.fullmatch(event.lower()) is not None


def is_cpu(event: str) -> bool:
    """Return whether the row of a top list is CPU time rather than a wait."""
    return event.lower() in {"db cpu", "cpu time", "background cpu time"}


def read_events(scope: Scope, table: ReportTable, builder: ReportBuilder) -> None:
    """Read a table with the events of ``scope``."""
    name, waits, time = table.index("event.*"), table.index("waits"), table.index(_TIME)
    if name is None or (waits is None and time is None):
        builder.cannot_read(table)
        return
    average, share = table.index(_AVERAGE), table.index(_SHARE)
    timeouts = table.index(r"%tim(e|eouts?)?( ?-? ?outs?)?")
    wait_class = table.index("wait class", "class")
    # The share of an idle event is blank. If all of them are, there was no DB time.
    marks = share if any(cell(row, share) for row in table.rows) else None
    average_unit = _unit(table, average)
    time_unit = US_PER[_unit(table, time) or "s"] / 1e6
    for number, row in table.by_instance():
        if not cell(row, name) or not any(cell(row, at) for at in (waits, time, average)):
            continue  # text between pages
        seconds = _seconds(table, row, time, builder.number(table, row, share), builder)
        event = WaitEvent(
            name=cell(row, name),
            scope=scope,
            waits=builder.number(table, row, waits),
            time_s=seconds.scaled(time_unit) if seconds else None,
            avg_us=builder.duration_us(table, row, average, average_unit),
            timeouts_pct=builder.number(table, row, timeouts),
            share_pct=builder.number(table, row, share),
            wait_class=_complete_class(cell(row, wait_class)),
            cut=_is_cut(table, row, name),
            idle=_is_marked_idle(row, cell(row, name), cell(row, wait_class), marks),
            waits_per_s=builder.number(table, row, table.index("# waits/s")),
        )
        if number in ("", "*"):
            builder.events.append(event)
        elif number.isdecimal() and len(number) < 5:
            builder.instance_events.setdefault(int(number), []).append(event)


@lru_cache(maxsize=256)
def _complete_class(text: str) -> str | None:
    """Return the name of a wait class, of which a narrow column has only the beginning."""
    whole = [name for name in _CLASSES if name.startswith(text)]
    return whole[0] if text and len(whole) == 1 else text or None


def _is_marked_idle(row: tuple[str, ...], name: str, wait_class: str, share: int | None) -> bool:
    """Return whether a row is marked as idle: by its class, or by a blank share of DB time."""
    if wait_class:
        return wait_class == "Idle"
    return not row[share] if share is not None and share < len(row) else is_idle(name)


def _seconds(
    table: ReportTable, row: tuple[str, ...], at: int | None, share: Number | None, builder: ReportBuilder
) -> Number | None:
    """Return the time in a cell. One that fills a narrow column may have lost its K: then its share of DB time decides.

    The list of the longest waits of 11.2.0.4 and 12.1 has room for four characters: ``33.9`` may be 33.9K seconds.
    """
    seconds, text = builder.number(table, row, at), cell(row, at)
    is_narrow = at is not None and bool(table.widths) and table.widths[at] <= _NARROW
    if seconds is None or at is None or not is_narrow or len(text) < table.widths[at] or not text[-1].isdigit():
        return seconds
    minutes = builder.header.get("db_time_min")
    if share is not None and minutes is not None:
        expected = share.value * minutes.value * 0.6
        slack = (share.step * minutes.value + share.value * minutes.step) * 0.6
        fitting = [abs(seconds.value * size - expected) <= slack + seconds.step * size for size in (1.0, 1e3, 1e6)]
        if fitting == [True, False, False]:
            return seconds
    builder.missing[f"{table.section}: {row[0]}: {table.columns[at]}"] = f"may be cut by its column ({text})"
    return None


def _unit(table: ReportTable, at: int | None) -> str | None:
    match = _UNIT.search(plain(table.columns[at])) if at is not None else None
    return match[1] if match else None


def _is_cut(table: ReportTable, row: tuple[str, ...], at: int) -> bool:
    return bool(table.widths) and len(row[at]) >= table.widths[at] - 1


def read_histogram(table: ReportTable, builder: ReportBuilder) -> None:
    """Read a histogram table.

    From 12.2 on, the main table ends at half a millisecond, and further tables of the same form cover other ranges;
    the first bucket of those holds everything below their range, and the last one of each table everything above.
    """
    name, waits = table.index("event"), table.index("total waits", "waits", ".* total waits")
    edges = find_bucket_edges(table.columns)
    rest = next((at for at, column in enumerate(table.columns) if _REST.search(plain(column))), None)
    ordered = sorted({edge for _, edge in edges})
    if name is None or not edges or [edge for _, edge in edges] != ordered:  # damaged headings
        builder.cannot_read(table)
        return
    for row in table.rows:
        if not cell(row, name):
            continue
        rows = builder.histograms.setdefault(cell(row, name), HistogramRows(cut=_is_cut(table, row, name)))
        rows.sections.append(table.section)
        in_all = _whole(table, row, waits, builder) if waits is not None else rows.waits
        rows.waits = rows.waits or in_all
        shares = [_share(cell(row, at), in_all, builder.numbers) for at, _ in edges]
        above = _share(cell(row, rest), in_all, builder.numbers)
        _add_shares(rows, edges, shares, above, f"{table.section}: {row[name]}", builder)


def _whole(table: ReportTable, row: tuple[str, ...], at: int, builder: ReportBuilder) -> Number | None:
    """Return the number of waits. There are no parts of a wait: ``118.6`` is 118.6K whose letter is cut off."""
    number = builder.number(table, row, at)
    if number is None or number.step >= 1:
        return number
    builder.missing[f"{table.section}: {row[0]}: {table.columns[at]}"] = f"cut by its column ({cell(row, at)})"
    return None


def _add_shares(
    rows: HistogramRows,
    edges: list[tuple[int, float]],
    shares: list[float | None],
    above: float | None,
    row_name: str,
    builder: ReportBuilder,
) -> None:
    """Add the shares of a row, if all of them were read and they add up to 100 %."""
    known = [share for share in (*shares, above) if share is not None]
    if len(known) <= len(shares) or abs(sum(known) - 100.0) > _ROUNDING_PCT:
        builder.warnings.append(f"{row_name}: the shares add up to {sum(known):.1f} %; the row is left out")
        return
    ends = (*(edge for _, edge in edges), None)
    for low, high, share in zip((0.0, *ends), ends, known, strict=False):
        rows.shares.setdefault((low or 0.0, high), share)


def _share(text: str, waits: Number | None, numbers: NumberFormat) -> float | None:
    """Return a histogram cell in percent. A blank means none; ``0.0(25352)`` counts waits that round to 0.0 %."""
    if not text:
        return 0.0
    counted = _COUNTED.fullmatch(text)
    if counted:
        return 100.0 * int(counted[2]) / waits.value if waits and waits.value else 0.0
    number = numbers.read(text)
    return number.value if number else None


def find_bucket_edges(columns: tuple[str, ...]) -> list[tuple[int, float]]:
    """Return the columns that are buckets such as ``<8us``, with their upper edges in µs.

    Narrow text columns lose part of the unit (``<128u``) or all of it (``<512``). An edge with an ambiguous unit gets
    the unit that best continues the sequence, in which each edge is usually twice the previous one.
    """
    found = [(at, match) for at, column in enumerate(columns) if (match := _EDGE.search(plain(column)))]
    edges: list[tuple[int, float]] = []
    for position, (at, match) in enumerate(found):
        size = float(match[1]) / float(match[2]) if match[1] else float(match[2])
        units = _possible_units(match[3])
        if len(units) > 1 and edges:
            units = [min(units, key=lambda unit: abs(size * US_PER[unit] / edges[-1][1] - 2.0))]
        elif len(units) > 1 and position + 1 < len(found):
            units = [
                min(
                    units,
                    key=lambda unit: abs(_edge_us(found[position + 1][1]) / (size * US_PER[unit]) - 2.0),
                )
            ]
        if len(units) == 1:
            edges.append((at, size * US_PER[units[0]]))
    return edges


def _possible_units(printed: str) -> list[str]:
    if printed in ("us", "ms", "s", "h"):
        return [printed]
    return {"u": ["us"], "m": ["ms", "min"]}.get(printed, ["us", "ms", "s", "min"] if not printed else [])


def _edge_us(match: re.Match[str]) -> float:
    size = float(match[1]) / float(match[2]) if match[1] else float(match[2])
    return size * US_PER.get(match[3], 1e3)


def merge_histograms(builder: ReportBuilder) -> Iterator[WaitHistogram]:
    """Yield the histograms that were read.

    A name that occurs twice in one table is left out: it is cut, and belongs to several events.
    """
    for name, rows in builder.histograms.items():
        if len(set(rows.sections)) < len(rows.sections):
            builder.missing[f"Wait Event Histogram: {name}"] = "listed more than once, with different figures"
        elif rows.shares:
            yield WaitHistogram(name, rows.waits, tuple(_merge(rows.shares)), rows.cut)


def _merge(shares: Mapping[tuple[float, float | None], float]) -> Iterator[Bucket]:
    """Yield the buckets of an event from all its tables, with their shares as printed.

    Of several that begin at an edge the one that ends first is taken: other tables divide the longer ones. Where no
    table goes on from an edge, the next one's first bucket, of all that is shorter, has those that were yielded in it.
    """
    begins: dict[float, list[float]] = {}
    for begin, high in shares:
        begins.setdefault(begin, []).extend([high] if high is not None else [])
    low: float | None = 0.0
    below = 0.0
    while low is not None:
        ends = begins.get(low)
        high = min(ends or (end for end in begins.get(0.0, ()) if end > low), default=None)
        share = shares[low, high] if ends or high is None else max(0.0, round(shares[0.0, high] - below, 6))
        yield Bucket(low, high, share)
        below += share
        low = high
