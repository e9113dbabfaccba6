"""Sets of columns with several rows for each report: events, histograms, wait classes, files, instances and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from openslob.awr.cells import ColumnReader, ColumnValue, Subject, absent, header, host, places, rates
from openslob.awr.cells.base import MB
from openslob.awr.cells.places import figure_of, mean_of
from openslob.awr.cells.waits import latency_value, top_events, why_no_event
from openslob.awr.latency import latency
from openslob.awr.model import IoStat, Report, Scope, Statistic, WaitEvent
from openslob.awr.numbers import Number
from openslob.awr.verdicts import single_block_read, verdicts

Row = tuple[ColumnValue, ...]
_ACTIVITY, _FOREGROUND, _HISTOGRAM = "Instance Activity Stats", "Foreground Wait Events", "Wait Event Histogram"
_MB = "MB/s (2^20 bytes)"
_EVERY = "all"  # in place of an event's name


@dataclass(frozen=True, slots=True)
class RowSet:
    """A set with a row for each item of ``section``: heading -> unit and meaning. Each row begins with the file.

    ``keys`` is the number of first columns that name a row.
    """

    section: str
    columns: Mapping[str, tuple[str, str]]
    rows: Callable[[Subject, Sequence[str]], Iterable[Row]]
    keys: int = 2

    def headings(self) -> tuple[str, ...]:
        """Return the headings of the rows."""
        return (FILE, *self.columns)

    def rows_of(self, subject: Subject, events: Sequence[str]) -> Iterator[Row]:
        """Yield the rows of a report; one with the reason if it has none."""
        file = ColumnValue(subject.report.path)
        is_empty = True
        for row in self.rows(subject, events):
            is_empty = False
            yield file, *row
        if is_empty:
            yield file, *(absent(f"the report has no {self.section}"),) * len(self.columns)


FILE = "Filename"
_BLANK = "blank in the report"


def _of_report(rows: Callable[[Report], Iterable[Row]]) -> Callable[[Subject, Sequence[str]], Iterable[Row]]:
    """Return rows that need nothing but the report."""
    return lambda subject, _: rows(subject.report)


def _cell(value: Number | str | float | None, why: str = _BLANK) -> ColumnValue:
    if value is None or value == "":
        return absent(why)
    return ColumnValue(value.value if isinstance(value, Number) else value)


def _wanted(report: Report, events: Sequence[str]) -> Iterator[WaitEvent | str]:
    """Yield the selected events, by default the single-block read; for an event that is not listed, its name."""
    if not events:
        yield single_block_read(report) or "db file sequential read"
    for name in events:
        if name == _EVERY:
            for scope in (Scope.FOREGROUND, Scope.ALL, Scope.BACKGROUND):
                yield from report.listed(scope)
        else:
            yield report.foreground(name) or report.background(name) or name


def _events(subject: Subject, events: Sequence[str]) -> Iterator[Row]:
    for event in _wanted(subject.report, events):
        yield _event_row(subject.report, event)


def _event_row(report: Report, event: WaitEvent | str) -> Row:
    if isinstance(event, str):
        nothing = absent(why_no_event(report, event))
        return (ColumnValue(event), *(nothing,) * 7)
    mean = latency_value(report, event)
    elapsed, waits = report.elapsed_s, event.waits
    rate = ColumnValue(waits.value / elapsed.value) if elapsed and waits else absent("Elapsed or Waits is missing")
    return (
        ColumnValue(event.name),
        ColumnValue(int(waits.value)) if waits else absent("Waits is blank"),
        _cell(event.time_s, "Time is blank"),
        mean,
        rate,
        ColumnValue(mean.source) if mean.value is not None else absent(mean.why),
        ColumnValue(str(event.scope)),
        _cell(event.share_pct, "% DB time is blank"),
    )


def _verdicts(subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
    for verdict in verdicts(subject.report, subject.name.sessions):
        yield ColumnValue(verdict.name), ColumnValue(verdict.verdict), ColumnValue(verdict.why)


def _histograms(subject: Subject, events: Sequence[str]) -> Iterator[Row]:
    report = subject.report
    names = [event if isinstance(event, str) else event.name for event in _wanted(report, events) if event != _EVERY]
    every = _EVERY in events
    found = report.histograms if every else [report.histogram(name) for name in names]
    for name, histogram in zip(names if not every else [one.name for one in report.histograms], found, strict=True):
        if histogram is None:
            nothing = absent(f"{name}: the report has no histogram of it")
            yield (ColumnValue(name), *(nothing,) * 4)
            continue
        below = 0.0
        for bucket in histogram.buckets:
            below += bucket.share_pct
            high = _cell(bucket.high_us, "no upper limit")
            yield ColumnValue(name), ColumnValue(bucket.low_us), high, ColumnValue(bucket.share_pct), ColumnValue(below)


def _classes(report: Report) -> Iterator[Row]:
    for found in report.wait_classes:
        processes = "foreground" if found.scope is Scope.FOREGROUND else "all"
        mean = latency_value(report, found)
        figures = (_cell(found.waits), _cell(found.time_s), mean, _cell(found.share_pct))
        yield ColumnValue(found.name), ColumnValue(processes), *figures


def _top(report: Report) -> Iterator[Row]:
    for rank, event in enumerate(top_events(report), start=1):
        mean = latency_value(report, event)
        figures = (_cell(event.waits), _cell(event.time_s), mean, _cell(event.share_pct))
        yield ColumnValue(rank), ColumnValue(event.name), _cell(event.wait_class), *figures


def _iostat(listed: Callable[[Report], Iterable[IoStat]], attributes: Sequence[str]) -> Callable[..., Iterator[Row]]:
    def rows(subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
        for one in listed(subject.report):
            yield ColumnValue(one.name), *(figure_of(one, attribute, _BLANK) for attribute in attributes)

    return rows


_PLACE = (
    *("reads", "reads_per_s", "read_us", "blocks_per_read", "writes", "writes_per_s"),
    *("buffer_waits", "buffer_wait_us"),
)


def _tablespaces(report: Report) -> Iterator[Row]:
    for place in report.tablespaces:
        yield ColumnValue(place.tablespace), *(figure_of(place, attribute, _BLANK) for attribute in _PLACE)


def _files(report: Report) -> Iterator[Row]:
    for place in report.files:
        figures = (figure_of(place, attribute, _BLANK) for attribute in _PLACE)
        yield _cell(place.file), ColumnValue(place.tablespace), *figures


def _os(report: Report) -> Iterator[Row]:
    for name, stat in report.os_stats.items():
        yield ColumnValue(name), _cell(stat.value), _cell(stat.end)


def _stats(report: Report) -> Iterator[Row]:
    for name, stat in report.activity.items():
        yield ColumnValue(name), *_statistic(stat)


def _statistic(stat: Statistic) -> Row:
    return _cell(stat.total), _cell(stat.per_second), _cell(stat.per_transaction)


# Figures of an instance: heading -> unit, meaning, name in a global report's model, column of an instance's own report.
_INSTANCE: dict[str, tuple[str, str, str, ColumnReader]] = {
    "DB Time": ("s", "DB time in all", "DB time", rates.db_time_s),
    "DB CPU": ("s", "DB CPU in all", "DB CPU", rates.seconds("DB CPU")),
    "Background CPU": ("s", "CPU time of background processes", "background cpu time",
                       rates.seconds("background cpu time")),
    "Executes": ("1/s", "SQL executions", "executes", rates.load("executes")),
    "Transactions": ("1/s", "commits and rollbacks", "transactions", rates.load("transactions")),
    "LIO": ("blocks/s", "logical reads", "logical_reads", rates.load("logical_reads")),
    "Physical reads": ("blocks/s", "physical reads (not requests)", "physical_reads", rates.load("physical_reads")),
    "Physical writes": ("blocks/s", "physical writes (not requests)", "physical_writes",
                        rates.load("physical_writes")),
    "Preads": ("requests/s", "read requests", "read_requests_per_s", rates.requests("read")),
    "Pwrites": ("requests/s", "write requests", "write_requests_per_s", rates.requests("write")),
    "Read_MBs": (_MB, "MB read", "read_mb_per_s", rates.megabytes("read")),
    "Write_MBs": (_MB, "MB written", "write_mb_per_s", rates.megabytes("write")),
    "Redo_MBs": (_MB, "redo generated", "redo_size", rates.redo_mb),
    "GC CR": ("us", "mean time to receive a consistent-read block", "gc_cr_us", places.received_us("cr")),
    "GC current": ("us", "mean time to receive a current block", "gc_current_us", places.received_us("current")),
    "CPUs": ("", "logical CPUs of the host", "cpus", header.header("cpus", "CPUs")),
    "Host busy": ("%", "CPU time of the host that was neither idle nor waiting for I/O", "host_busy_pct",
                  host.busy_pct),
    "Host iowait": ("%", "CPU time of the host waiting for I/O", "host_iowait_pct", host.cpu("wio_pct")),
}  # fmt: skip


def _instances(subject: Subject, events: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each instance, with the latency of the first chosen event that it lists."""
    report = subject.report
    for entry in report.header.instances:
        known = report.per_instance.get(entry.number or 0)
        figures = (
            _of_instance(known, name) if known is not None else read(subject) for _, _, name, read in _INSTANCE.values()
        )
        event = _event_of_instance(report, entry.number or 0, events)
        mean = latency_of_row(event) if event else absent("the event is not in the top list of the instance")
        name = ColumnValue(event.name) if event else absent("not in the top list of the instance")
        yield _cell(entry.number), _cell(entry.name), _cell(entry.host or report.header.host), *figures, name, mean


def _of_instance(known: Mapping[str, Number], name: str) -> ColumnValue:
    number, why = known.get(name), f"{name}: not printed for each instance"
    if name == "redo_size":
        return ColumnValue(number.value / MB) if number else absent(why)
    return mean_of(number, why) if name.endswith("_us") else _cell(number, why)


def latency_of_row(event: WaitEvent) -> ColumnValue:
    """Return the mean latency by the figures of one row: the histograms of a report are those of all instances."""
    mean = latency(event.waits, event.time_s, event.avg_us)
    return _cell(mean.us if mean else None, f"{event.name}: printed as 0, or blank")


def _event_of_instance(report: Report, number: int, events: Sequence[str]) -> WaitEvent | None:
    """Return the chosen event, or else the longest wait, of an instance. Its latency comes from its own row only."""
    listed = report.instance_events.get(number, ()) if report.per_instance else top_events(report)
    waits = [event for event in listed if event.name in events] if events else [one for one in listed if one.waits]
    return waits[0] if waits else None


_IO = {
    "Reads/s": ("requests/s", "read requests"),
    "Writes/s": ("requests/s", "write requests"),
    "Read_MBs": (_MB, "MB read"),
    "Write_MBs": (_MB, "MB written"),
}
_IO_ATTRIBUTES = ("read_requests_per_s", "write_requests_per_s", "read_mb_per_s", "write_mb_per_s")
_WAITS = {
    "Waits": ("", "waits"),
    "Time(s)": ("s", "how long in all"),
    "Latency(us)": ("us", "mean of a wait"),
    "% DB time": ("%", "share of DB time"),
}
_PLACES = {
    "Reads": ("", "reads in all"),
    "Reads/s": ("1/s", "reads per second"),
    "Read(us)": ("us", "mean time of a read"),
    "Blocks/read": ("blocks/read", "blocks per read"),
    "Writes": ("", "writes in all"),
    "Writes/s": ("1/s", "writes per second"),
    "Buffer waits": ("", "waits for a buffer"),
    "Buffer wait(us)": ("us", "mean wait for a buffer"),
}
ROW_SETS: dict[str, RowSet] = {
    "events": RowSet(
        _FOREGROUND,
        {
            "Event": ("", "the wait event"),
            "Waits": ("", "how often it was waited for"),
            "Time(s)": ("s", "how long in all"),
            "Latency(us)": ("us", "mean of a wait"),
            "IOPS": ("1/s", "waits per second between the snapshots: of an I/O event its requests"),
            "Latency from": ("", "time/waits, printed average or histogram"),
            "Section": ("", "the table that lists the event"),
            "% DB time": ("%", "share of DB time, of a background event of background time"),
        },
        _events,
    ),
    "verdicts": RowSet(
        "verdicts",
        {
            "Check": ("", "what should hold"),
            "Verdict": ("", "holds, fails or unknown"),
            "Why": ("", "the figures it is based on"),
        },
        _verdicts,
    ),
    "top": RowSet(
        "Top Timed Events",
        {"Rank": ("", "1: the longest"), "Event": ("", "the wait event"), "Class": ("", "its wait class"), **_WAITS},
        _of_report(_top),
        keys=3,
    ),
    "classes": RowSet(
        "Wait Classes",
        {"Class": ("", "the wait class"), "Processes": ("", "foreground, or all with the background"), **_WAITS},
        _of_report(_classes),
        keys=3,
    ),
    "histograms": RowSet(
        _HISTOGRAM,
        {
            "Event": ("", "the wait event"),
            "From(us)": ("us", "lower edge of the bucket"),
            "To(us)": ("us", "upper edge of the bucket"),
            "% of waits": ("%", "share of the waits in the bucket"),
            "% below": ("%", "share of the waits up to the bucket's upper edge"),
        },
        _histograms,
        keys=3,
    ),
    "functions": RowSet(
        "IOStat by Function",
        {"Function": ("", "the function"), **_IO, "Waits": ("", "waits"), "Latency(us)": ("us", "mean of a wait")},
        _iostat(lambda report: report.iostat_functions, (*_IO_ATTRIBUTES, "waits", "avg_us")),
    ),
    "filetypes": RowSet(
        "IOStat by Filetype",
        {
            "Filetype": ("", "the type of file"),
            **_IO,
            "Small read(us)": ("us", "mean of small reads"),
            "Large read(us)": ("us", "mean of large reads"),
        },
        _iostat(lambda report: report.iostat_filetypes, (*_IO_ATTRIBUTES, "small_read_us", "large_read_us")),
    ),
    "tablespaces": RowSet(
        "Tablespace IO Stats", {"Tablespace": ("", "the tablespace"), **_PLACES}, _of_report(_tablespaces)
    ),
    "files": RowSet(
        "File IO Stats",
        {"File": ("", "the data file"), "Tablespace": ("", "its tablespace"), **_PLACES},
        _of_report(_files),
    ),
    "os": RowSet(
        "Operating System Statistics",
        {
            "Statistic": ("", "the statistic; *_TIME are 1/100 s"),
            "Value": ("", "its value"),
            "End value": ("", "its value at the last snapshot, if printed"),
        },
        _of_report(_os),
    ),
    "stats": RowSet(
        _ACTIVITY,
        {
            "Statistic": ("", "the statistic"),
            "Total": ("", "in all"),
            "per s": ("1/s", "per second"),
            "per transaction": ("", "per transaction"),
        },
        _of_report(_stats),
    ),
    "instances": RowSet(
        "Database Instances Included In Report",
        {
            "Inst": ("", "number of the instance"),
            "Instance": ("", "its name"),
            "Host": ("", "its host"),
            **{heading: (unit, meaning) for heading, (unit, meaning, _, _) in _INSTANCE.items()},
            "Event": ("", "the first --event in its top list, by default its longest wait"),
            "Latency(us)": ("us", "mean of that event"),
        },
        _instances,
        keys=3,
    ),
}
