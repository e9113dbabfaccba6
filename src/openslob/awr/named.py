"""Columns of figures found by name: ``PREFIX:NAME`` or ``PREFIX:NAME:FIGURE``, as in ``event:log file sync:waits``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from openslob.awr.cells import ColumnReader, header, host, places, rates, waits
from openslob.awr.model import IoStat, Report

Make = Callable[[str], ColumnReader]
Names = Callable[[Report], Iterable[str]]
_MB = "MB/s (2^20 bytes)"
_ACTIVITY, _CLASS = "Instance Activity Stats", "Foreground Wait Class"
_BY_FUNCTION, _BY_FILETYPE = "IOStat by Function", "IOStat by Filetype"
_HISTOGRAM = "Wait Event Histogram"


@dataclass(frozen=True, slots=True)
class Prefix:
    """A kind of figure. ``figures`` maps the last part of a column's name to unit and reader; the first is the default.

    ``names`` returns the names that a report lists.
    """

    section: str
    meaning: str
    figures: Mapping[str, tuple[str, Make]]
    names: Names


def _of_waits(find: waits.Finder) -> dict[str, tuple[str, Make]]:
    return {
        "us": ("us", partial(waits.latency, find=find)),
        "waits": ("", partial(waits.count, find=find)),
        "s": ("s", partial(waits.seconds, find=find)),
        "pct": ("%", partial(waits.share, find=find)),
        "from": ("", partial(waits.latency_source, find=find)),
    }


def _of_io(of: Callable[[Report], tuple[IoStat, ...]], section: str) -> dict[str, tuple[str, Make]]:
    figures = {
        "reads": ("requests/s", "read_requests_per_s"),
        "writes": ("requests/s", "write_requests_per_s"),
        "read_mb": (_MB, "read_mb_per_s"),
        "write_mb": (_MB, "write_mb_per_s"),
    }
    if section == _BY_FUNCTION:
        figures |= {"waits": ("", "waits"), "us": ("us", "avg_us")}
    else:
        figures |= {"small_read_us": ("us", "small_read_us"), "large_read_us": ("us", "large_read_us")}
    return {key: (unit, partial(places.iostat, of, attribute, section)) for key, (unit, attribute) in figures.items()}


def _of_places(reader: Callable[[str, str], ColumnReader]) -> dict[str, tuple[str, Make]]:
    units = {
        "read_us": "us",
        "reads": "",
        "reads_per_s": "1/s",
        "blocks_per_read": "blocks/read",
        "writes": "",
        "writes_per_s": "1/s",
        "buffer_waits": "",
        "buffer_wait_us": "us",
    }
    return {figure: (unit, partial(reader, figure)) for figure, unit in units.items()}


def _events(report: Report) -> Iterable[str]:
    return dict.fromkeys(event.name for event in report.events)


PREFIXES: dict[str, Prefix] = {
    "stat": Prefix(
        _ACTIVITY,
        "a statistic",
        {
            "per_s": ("1/s", rates.activity),
            "total": ("", rates.total),
            "per_trans": ("1/transaction", rates.per_transaction),
        },
        lambda report: report.activity,
    ),
    "total": Prefix(_ACTIVITY, "a statistic, in all", {"total": ("", rates.total)}, lambda report: report.activity),
    "event": Prefix(
        "Foreground Wait Events, else Background Wait Events", "a wait event", _of_waits(waits.either), _events
    ),
    "background": Prefix(
        "Background Wait Events", "a wait event of background processes", _of_waits(waits.background), _events
    ),
    "waits": Prefix(
        "Foreground Wait Events", "waits for a wait event", {"waits": ("", waits.count)}, _events
    ),
    "histogram": Prefix(
        _HISTOGRAM,
        "share of an event's waits that were shorter than a time, such as 1ms, at the end of the name",
        {},
        lambda report: (histogram.name for histogram in report.histograms),
    ),
    "class": Prefix(
        _CLASS,
        "a wait class",
        {
            "s": ("s", partial(waits.seconds, find=waits.wait_class)),
            "waits": ("", partial(waits.count, find=waits.wait_class)),
            "us": ("us", partial(waits.latency, find=waits.wait_class)),
            "pct": ("%", waits.class_share),
        },
        lambda report: dict.fromkeys(found.name for found in report.wait_classes),
    ),
    "time": Prefix(
        "Time Model Statistics", "a statistic of the time model", {"s": ("s", rates.seconds)},
        lambda report: report.time_model_s,
    ),
    "function": Prefix(
        _BY_FUNCTION, "I/O of a function", _of_io(places.functions, _BY_FUNCTION),
        lambda report: (one.name for one in report.iostat_functions),
    ),
    "filetype": Prefix(
        _BY_FILETYPE, "I/O to files of a type", _of_io(places.filetypes, _BY_FILETYPE),
        lambda report: (one.name for one in report.iostat_filetypes),
    ),
    "tablespace": Prefix(
        "Tablespace IO Stats", "I/O of a tablespace", _of_places(places.tablespace),
        lambda report: dict.fromkeys(place.tablespace for place in report.tablespaces),
    ),
    "datafile": Prefix(
        "File IO Stats", "I/O of a file, by its path or the last part of it", _of_places(places.data_file),
        lambda report: (place.file or "" for place in report.files),
    ),
    "os": Prefix(
        "Operating System Statistics",
        "a statistic of the operating system; *_TIME are 1/100 s",
        {"value": ("", host.os_value), "end": ("", host.os_end)},
        lambda report: report.os_stats,
    ),
    "efficiency": Prefix(
        "Instance Efficiency Percentages",
        "an efficiency",
        {"pct": ("%", partial(places.listed, places.efficiency, "Instance Efficiency Percentages"))},
        lambda report: report.efficiency_pct,
    ),
    "thread": Prefix(
        "Instance Activity Stats - Thread Activity",
        "a statistic of thread activity",
        {
            "total": ("", partial(places.hourly, "total")),
            "per_hour": ("1/h", partial(places.hourly, "per_hour")),
        },
        lambda report: report.thread_activity,
    ),
    "gc": Prefix(
        "Global Cache and Enqueue Services",
        "a time or, with % in its name, a share of the global cache",
        {"us": ("us", partial(places.listed, places.global_cache, "Global Cache and Enqueue Services"))},
        lambda report: report.global_cache,
    ),
    "parameter": Prefix(
        "init.ora Parameters", "a parameter at the first snapshot", {"value": ("", header.parameter)},
        lambda report: report.parameters,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A column found by name."""

    unit: str
    section: str
    meaning: str
    read: ColumnReader


def by_name(column: str) -> Named | None:
    """Return the column ``PREFIX:NAME`` or ``PREFIX:NAME:FIGURE``; None if the prefix is unknown or there is no name.

    The name may contain colons: only a known figure at the end is one.
    """
    key, _, rest = column.partition(":")
    prefix = PREFIXES.get(key)
    if prefix is None or not rest.strip():
        return None
    name, _, figure = rest.rpartition(":")
    if key == "histogram":
        edge = figure.strip()
        if not name or not waits.is_edge(edge):
            return None
        return Named("%", prefix.section, f"share of waits shorter than {edge}", waits.below(edge, name.strip()))
    if not name or figure not in prefix.figures:
        name, figure = rest, next(iter(prefix.figures))
    unit, make = prefix.figures[figure]
    return Named("%" if key == "gc" and "%" in name else unit, prefix.section, prefix.meaning, make(name.strip()))
