"""Sets of columns with several rows for each report: events, histograms, wait classes, files, instances and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from openslob.awr import rates
from openslob.awr.cells import MB, ColumnValue, Subject, absent, figure_of, mean_of, value_of
from openslob.awr.columns import MB_PER_S, column_of
from openslob.awr.latency import latency
from openslob.awr.model import ListedRow, Report, Scope, WaitEvent
from openslob.awr.numbers import Number
from openslob.awr.sections import SECTIONS, TEXT, Section
from openslob.awr.verdicts import single_block_read, verdicts
from openslob.awr.wait_cells import find_top_events, list_top, read_latency, why_no_event

Row = tuple[ColumnValue, ...]
FILE = "Filename"
_ALL = "all"  # in place of an event's name
_BLANK = "blank in the report"


@dataclass(frozen=True, slots=True)
class RowSet:
    """A set with a row for each item of ``section``. Each row begins with the file.

    ``columns`` maps headings to units. ``keys`` is the number of first columns that name a row. ``rows`` gets the
    events that were asked for, too.
    """

    section: str
    columns: Mapping[str, str]
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


# What a set lists: the cells that name each row, and the object that has its figures.
_Listed = Callable[[Report], Iterable[tuple[Sequence[str | None], object]]]


def _list_figures(listed: _Listed, *figures: str) -> Callable[[Subject, Sequence[str]], Iterable[Row]]:
    """Return rows of names and of ``figures``, which are fields of what is listed."""

    def rows(subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
        for names, item in listed(subject.report):
            keys = (absent(_BLANK) if name is None else ColumnValue(name) for name in names)
            yield *keys, *(figure_of(item, figure, _BLANK) for figure in figures)

    return rows


def _find_events(report: Report, events: Sequence[str]) -> Iterator[WaitEvent | str]:
    """Yield the selected events, by default the single-block read; for an event that is not listed, its name."""
    if not events:
        yield single_block_read(report) or "db file sequential read"
    for name in events:
        if name == _ALL:
            for scope in (Scope.FOREGROUND, Scope.ALL, Scope.BACKGROUND):
                yield from report.list_events(scope)
        else:
            yield report.foreground(name) or report.background(name) or name


def _list_events(subject: Subject, events: Sequence[str]) -> Iterator[Row]:
    report = subject.report
    for event in _find_events(report, events):
        if isinstance(event, str):
            yield ColumnValue(event), *(absent(why_no_event(report, event)),) * 7
            continue
        mean, waits, per_s = read_latency(report, event), event.waits, rates.divide(report, event.waits)
        yield (
            ColumnValue(event.name),
            ColumnValue(int(waits.value)) if waits else absent("Waits is blank"),
            value_of(event.time_s, "Time is blank"),
            mean,
            value_of(per_s, "") if isinstance(per_s, Number) else absent(per_s if waits else "Waits is blank"),
            ColumnValue(mean.source) if mean.value is not None else mean,
            ColumnValue(str(event.scope)),
            value_of(event.share_pct, "% DB time is blank"),
        )


def _list_verdicts(subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
    for verdict in verdicts(subject.report, subject.name.sessions):
        yield ColumnValue(verdict.name), ColumnValue(verdict.verdict), ColumnValue(verdict.why)


def _list_buckets(subject: Subject, events: Sequence[str]) -> Iterator[Row]:
    report = subject.report
    names = [event if isinstance(event, str) else event.name for event in _find_events(report, events)]
    if _ALL in events:
        names = [histogram.name for histogram in report.histograms]
    found = report.histograms if _ALL in events else [report.histogram(name) for name in names]
    for name, histogram in zip(names, found, strict=True):
        if histogram is None:
            nothing = absent(f"{name}: the report has no histogram of it")
            yield (ColumnValue(name), *(nothing,) * 4)
            continue
        below = 0.0
        for bucket in histogram.buckets:
            below += bucket.share_pct
            high = value_of(bucket.high_us, "no upper limit")
            yield ColumnValue(name), ColumnValue(bucket.low_us), high, ColumnValue(bucket.share_pct), ColumnValue(below)


def _wait_figures(report: Report, event: WaitEvent) -> Row:
    mean = read_latency(report, event)
    return value_of(event.waits, _BLANK), value_of(event.time_s, _BLANK), mean, value_of(event.share_pct, _BLANK)


def _list_classes(subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
    for found in subject.report.wait_classes:
        processes = "foreground" if found.scope is Scope.FOREGROUND else "all"
        yield ColumnValue(found.name), ColumnValue(processes), *_wait_figures(subject.report, found)


def _list_top(subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
    for rank, event in enumerate(list_top(subject.report), start=1):
        names = ColumnValue(rank), ColumnValue(event.name), value_of(event.wait_class, _BLANK)
        yield *names, *_wait_figures(subject.report, event)


def _list_section(name: str, subject: Subject, _events: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a section that is a list, each with the number of its instance, or ``*`` for all of them."""
    report, section = subject.report, SECTIONS[name]
    instances = report.header.instances
    is_one = len(instances) == 1 and instances[0].number is not None and not section.merges  # cells serve all of them
    instance = str(instances[0].number) if is_one else "*"
    for row in report.listed.get(name, ()):
        cells = (_listed_cell(row, heading, section) for heading in section.columns)
        yield value_of(row.cells.get("Inst", instance), _BLANK), *cells


def _listed_cell(row: ListedRow, heading: str, section: Section) -> ColumnValue:
    found, unit = row.cells.get(heading), section.columns[heading]
    why = row.why.get(heading, "not printed in this kind of report")
    if isinstance(found, Number) and (unit == "us" or heading.endswith("/exec(s)")):
        return mean_of(found, why, unit)
    return value_of(found, why)


# Figure of an instance -> its name in a global report's model, and the column of an instance's own report.
_INSTANCE: dict[str, tuple[str, str]] = {
    "DB Time": ("DB time", "db_time_s"),
    "DB CPU": ("DB CPU", "db_cpu_s"),
    "Background CPU": ("background cpu time", "time:background cpu time"),
    "Executes": ("executes", "executes"),
    "Transactions": ("transactions", "transactions"),
    "LIO": ("logical_reads", "lio"),
    "Physical reads": ("physical_reads", "physical_reads"),
    "Physical writes": ("physical_writes", "physical_writes"),
    "Preads": ("read_requests_per_s", "preads"),
    "Pwrites": ("write_requests_per_s", "pwrites"),
    "Read_MBs": ("read_mb_per_s", "read_mb_per_s"),
    "Write_MBs": ("write_mb_per_s", "write_mb_per_s"),
    "Redo_MBs": ("redo_size", "redo_mb_per_s"),
    "GC CR": ("gc_cr_us", "gc_cr_us"),
    "GC current": ("gc_current_us", "gc_current_us"),
    "CPUs": ("cpus", "cpus"),
    "Host busy": ("host_busy_pct", "host_busy_pct"),
    "Host iowait": ("host_iowait_pct", "host_iowait_pct"),
}


def _list_instances(subject: Subject, events: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each instance, with the latency of the first chosen event that it lists."""
    report = subject.report
    for entry in report.header.instances:
        known = report.per_instance.get(entry.number or 0)
        figures = (
            _of_instance(report, entry.number or 0, name) if known is not None else column_of(column).read(subject)
            for name, column in _INSTANCE.values()
        )
        event = _event_of_instance(report, entry.number or 0, events)
        mean = latency_of_row(event) if event else absent("the event is not in the top list of the instance")
        name = ColumnValue(event.name) if event else absent("not in the top list of the instance")
        names = (value_of(found, _BLANK) for found in (entry.number, entry.name, entry.host or report.header.host))
        yield *names, *figures, name, mean


def _of_instance(report: Report, instance: int, name: str) -> ColumnValue:
    number, why = report.per_instance[instance].get(name), f"{name}: not printed for each instance"
    if name in _IO_FIELDS:
        rate = rates.find_io_rate(report, instance, name)
        return absent(rate) if isinstance(rate, str) else value_of(rate, "")
    if name == "redo_size":
        return value_of(number.scaled(1 / MB) if number else None, why)
    return mean_of(number, why) if name.endswith("_us") else value_of(number, why)


def latency_of_row(event: WaitEvent) -> ColumnValue:
    """Return the mean latency by the figures of one row: the histograms of a report are those of all instances."""
    mean = latency(event.waits, event.time_s, event.avg_us)
    return value_of(mean.us if mean else None, f"{event.name}: printed as 0, or blank")


def _event_of_instance(report: Report, number: int, events: Sequence[str]) -> WaitEvent | None:
    """Return the chosen event, or else the longest wait, of an instance. Its latency comes from its own row only."""
    listed = report.instance_events.get(number, ()) if report.per_instance else find_top_events(report)
    waits = [event for event in listed if event.name in events] if events else [one for one in listed if one.waits]
    return waits[0] if waits else None


_WAITS = {"Waits": "", "Time(s)": "s", "Latency(us)": "us", "% DB time": "%"}
_IO = {"Reads/s": "requests/s", "Writes/s": "requests/s", "Read_MBs": MB_PER_S, "Write_MBs": MB_PER_S}
_IO_FIELDS = ("read_requests_per_s", "write_requests_per_s", "read_mb_per_s", "write_mb_per_s")
_PLACE = {"Reads": "", "Reads/s": "1/s", "Read(us)": "us", "Blocks/read": "blocks/read", "Writes": "",
          "Writes/s": "1/s", "Buffer waits": "", "Buffer wait(us)": "us"}  # fmt: skip
_PLACE_FIELDS = ("reads", "reads_per_s", "read_us", "blocks_per_read", "writes", "writes_per_s", "buffer_waits",
                 "buffer_wait_us")  # fmt: skip
ROW_SETS: dict[str, RowSet] = {
    "events": RowSet(
        "Foreground Wait Events",
        # IOPS are the waits per second between the snapshots: of an I/O event its requests. Of a background event the
        # share is one of background time.
        {"Event": "", "Waits": "", "Time(s)": "s", "Latency(us)": "us", "IOPS": "1/s", "Latency from": "",
         "Section": "", "% DB time": "%"},
        _list_events,
    ),
    "verdicts": RowSet("verdicts", {"Check": "", "Verdict": "", "Why": ""}, _list_verdicts),
    "top": RowSet("Top Timed Events", {"Rank": "", "Event": "", "Class": "", **_WAITS}, _list_top, keys=3),
    "classes": RowSet("Wait Classes", {"Class": "", "Processes": "", **_WAITS}, _list_classes, keys=3),
    "histograms": RowSet(
        "Wait Event Histogram",
        {"Event": "", "From(us)": "us", "To(us)": "us", "% of waits": "%", "% below": "%"},  # below To(us)
        _list_buckets,
        keys=3,
    ),
    "functions": RowSet(
        "IOStat by Function",
        {"Function": "", **_IO, "Waits": "", "Latency(us)": "us"},
        _list_figures(
            lambda report: (((one.name,), one) for one in report.iostat_functions), *_IO_FIELDS, "waits", "avg_us"
        ),
    ),
    "filetypes": RowSet(
        "IOStat by Filetype",
        {"Filetype": "", **_IO, "Small read(us)": "us", "Large read(us)": "us"},
        _list_figures(
            lambda report: (((one.name,), one) for one in report.iostat_filetypes),
            *_IO_FIELDS, "small_read_us", "large_read_us",
        ),
    ),
    "tablespaces": RowSet(
        "Tablespace IO Stats",
        {"Tablespace": "", "PDB": "", **_PLACE},
        _list_figures(lambda report: (((one.tablespace, one.pdb), one) for one in report.tablespaces), *_PLACE_FIELDS),
        keys=3,
    ),
    "files": RowSet(
        "File IO Stats",
        {"File": "", "Tablespace": "", "PDB": "", **_PLACE},
        _list_figures(
            lambda report: (((one.file, one.tablespace, one.pdb), one) for one in report.files), *_PLACE_FIELDS
        ),
    ),
    "os": RowSet(
        "Operating System Statistics",
        {"Statistic": "", "Value": "", "End value": ""},  # statistics *_TIME are 1/100 s
        _list_figures(lambda report: (((name,), stat) for name, stat in report.os_stats.items()), "value", "end"),
    ),
    "stats": RowSet(
        "Instance Activity Stats",
        {"Statistic": "", "Total": "", "per s": "1/s", "per transaction": ""},
        _list_figures(
            lambda report: (((name,), stat) for name, stat in report.activity.items()),
            "total", "per_second", "per_transaction",
        ),
    ),
    "instances": RowSet(
        "Database Instances Included In Report",
        {
            "Inst": "",
            "Instance": "",
            "Host": "",
            **{heading: column_of(column).unit for heading, (_, column) in _INSTANCE.items()},
            "Event": "",  # the first --event in its top list, by default its longest wait
            "Latency(us)": "us",
        },
        _list_instances,
        keys=3,
    ),
    **{
        name: RowSet(
            section.title,
            {"Inst": "", **{heading: unit.removeprefix(TEXT) for heading, unit in section.columns.items()}},
            partial(_list_section, name),
            keys=2 + section.keys,
        )
        for name, section in SECTIONS.items()
    },
}  # fmt: skip
