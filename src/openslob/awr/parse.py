"""Parsing of a file or of bytes into a Report. Sections whose title has no reader are reported as unparsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from openslob.awr import figures, header, html, periods, text, waits
from openslob.awr.addm import add_findings
from openslob.awr.builder import ReportBuilder
from openslob.awr.consistency import find_rates_that_are_off, find_wrong_elapsed, inconsistencies
from openslob.awr.model import Header, Report, ReportInstance, ReportKind, Scope
from openslob.awr.numbers import NumberFormat
from openslob.awr.rates import ELAPSED
from openslob.awr.sections import SECTION_TITLES
from openslob.awr.source import ReportError, ReportText, is_complete, load, recognise
from openslob.awr.tables import ReportTable, plain, squeeze

Reader = Callable[[ReportTable, ReportBuilder], None]

# Title (plain: lower case, single blanks) -> its reader. All versions, text and HTML.
TITLES: tuple[tuple[str, Reader], ...] = (
    (r"workload repository (pdb )?report.*|statspack (statistics )?report for.*", header.read_identity),
    (r"database", header.read_database),
    (r"host( name)?", header.read_host),
    (r"snapshot", header.read_snapshots),
    (r"cache sizes( \(end\))?", header.read_caches),
    (r"database summary", header.read_summary),
    (r"database instances included in report", header.read_instances),
    (r"os statistics by instance", figures.read_instance_hosts),
    (r"load profile", figures.read_load_profile),
    (r"top \d+ (timed )?foreground (timed )?events( by .*)?", partial(waits.read_events, Scope.TOP)),
    (r"top timed foreground events", partial(waits.read_events, Scope.TOP)),
    (r"top \d+ (timed|wait) events|top timed events", partial(waits.read_events, Scope.TOP_ALL)),
    (r"top( \d+)? (timed )?background (timed )?events( by .*)?", partial(waits.read_events, Scope.TOP_BACKGROUND)),
    (r"foreground wait events( \(global\))?", partial(waits.read_events, Scope.FOREGROUND)),
    (r"background wait events( \(global\))?", partial(waits.read_events, Scope.BACKGROUND)),
    (r"wait events( \(fg and bg\))?", partial(waits.read_events, Scope.ALL)),
    (r"wait event histogram.*", waits.read_histogram),
    (r"time model( system stats| statistics)", figures.read_time_model),
    (r"time model", figures.read_global_times),
    (r"((key|other) )?instance activity stat(istic)?s|system statistics \(global\)", figures.read_activity),
    (r"system statistics ?- ?per second", figures.read_global_rates),
    (r"io profile( \(global\))?", figures.read_io_profile),
    (r"io ?stat by function( ?-? ?summary)?( \(per second\))?", partial(figures.read_iostat, "functions")),
    (r"io ?stat by file ?type( ?-? ?summary)?( \(per second\))?", partial(figures.read_iostat, "filetypes")),
    (r"operating system statistics|os statistics", figures.read_os_stats),
    (r"host cpu( ?\(.*\))?", figures.read_host_cpu),
    (r"init\.ora parameters?|parameters modified by (this|other) containers?", figures.read_parameters),
    (r"database resource limits", figures.read_limits),
    (r"foreground wait class", partial(figures.read_wait_classes, Scope.FOREGROUND)),
    (r"wait classes by total wait time", partial(figures.read_wait_classes, Scope.ALL)),
    (r"foreground wait classes", figures.read_global_wait_classes),
    (r"instance efficiency (percentages|indicators).*", figures.read_efficiency),
    (r"instance activity stats ?- ?thread activity", figures.read_thread_activity),
    (r"tablespace io stats", figures.read_tablespaces),
    (r"file io stats", figures.read_files),
    (r"global cache load profile", figures.read_load_profile),
    (
        r"global cache and enqueue services ?- ?(workload characteristics|messaging statistics)",
        figures.read_global_cache,
    ),
    (
        r"global cache and enqueue workload characteristics|global latency characteristics",
        figures.read_global_latencies,
    ),
)
# HTML's summary attribute, for a table whose title is missing or not in English.
SUMMARIES: tuple[tuple[str, Reader], ...] = (
    (r"this table displays (database instance|host|snapshot) information", header.read_identity),
    (r"this table displays load profile", figures.read_load_profile),
    (r"this table displays top \d+ wait events.*", partial(waits.read_events, Scope.TOP)),
    (r"this table displays foreground wait events? .*", partial(waits.read_events, Scope.FOREGROUND)),
    (r"this table displays background wait events? .*", partial(waits.read_events, Scope.BACKGROUND)),
    (r"this table displays total number of waits, .*", waits.read_histogram),
    (r"this table displays different time model statistics.*", figures.read_time_model),
    (r"this table displays (key )?instance activity statistics.*", figures.read_activity),
    (r"this table displays io profile", figures.read_io_profile),
    (r"this table displays operating systems statistics\. for each.*", figures.read_os_stats),
    (r"this table displays system load statistics", figures.read_host_cpu),
)
_BARE_TITLES = re.compile("|".join(f"(?:{title})" for title, _ in TITLES[:1] + TITLES[5:] + SECTION_TITLES))

_TITLE_NAMES = re.compile(r"AWR\s+Report\s+for\s+DB:\s*([^\s,]+),\s*Inst:\s*([^\s,]+),\s*Snaps:", re.IGNORECASE)
_GLOBAL_NAME = re.compile(r"AWR\s+RAC\s+Report\s+for\s+DB:\s*([^\s,]+),\s*Snaps:", re.IGNORECASE)
_LINE_NAMES = re.compile(r"DB/Inst:\s*([^\s/]+)/(\S+)\s+Snaps?:")
# Tables whose rows begin at the margin, so that they keep their columns where blanks at the margin are lost.
_STARTS_AT_THE_MARGIN = re.compile(
    r"(workload repository|statspack).*|database|snapshot|load profile|time model.*|.*instance activity stat(istic)?s"
    r"|top .*events.*|.*wait events( \(fg and bg\))?|os statistics|operating system statistics"
)
_FORMAT_CELLS = 4000  # enough cells to detect the number format


@lru_cache(maxsize=4096)
def reader(title: str, summary: str = "") -> Reader | None:
    """Return the reader of a section, by its title or else by its HTML summary; None if the section is not parsed."""
    name = plain(title)
    for pattern, read in (*TITLES, *SECTION_TITLES):
        if re.fullmatch(pattern, name):
            return read
    described = plain(summary)
    for pattern, read in (*SUMMARIES, *TITLES, *SECTION_TITLES):
        if described and re.fullmatch(pattern, described.split(". .")[0].strip()):
            return read
    return None


def is_title(line: str) -> bool:
    """Return whether a line of a text report without any markup is a section title (as in global reports)."""
    return len(line) < 80 and _BARE_TITLES.fullmatch(plain(line)) is not None


def read(path: str | Path) -> Report:
    """Read the AWR or Statspack report at ``path``.

    Contradictions in the report are in its ``warnings``, cells that cannot be read in its ``missing``. ReportError if
    the file is not such a report, is cut off before its first figures, or compares two periods, which `read_all` reads.
    """
    return parse(load(Path(path)), str(path))


def read_all(path: str | Path) -> tuple[Report, ...]:
    """Read what the file at ``path`` reports: one report, or both of a compare-period report. Errors are as of `read`.

    The path of a period's report ends in ``(1st)`` or ``(2nd)``.
    """
    return _parse_all(load(Path(path)), str(path))


def read_bytes(data: bytes, name: str = "report") -> Report:
    """Read a report from bytes; ``name`` stands for the path in messages. Errors are those of `read`."""
    return parse(recognise(data, name), name)


def parse(source: ReportText, name: str) -> Report:
    """Parse the text of a report; ``name`` stands for the path in messages."""
    if source.kind is ReportKind.AWR_COMPARE:
        raise ReportError(f"{name}: this is a compare-periods report, not a report of a single period")
    return _parse_all(source, name)[0]


def _parse_all(source: ReportText, name: str) -> tuple[Report, ...]:
    unparsed: dict[str, None] = {}
    tables = list(_tables(source, unparsed))
    if source.kind is not ReportKind.AWR_COMPARE:
        return (_parse(source, name, tables, unparsed),)
    return tuple(
        _parse(source, f"{name} ({word})", tables, unparsed, period) for period, word in enumerate(periods.PERIODS)
    )


def _parse(
    source: ReportText, name: str, tables: list[ReportTable], unparsed: dict[str, None], period: int | None = None
) -> Report:
    builder = ReportBuilder(NumberFormat.of(_cells(tables)))
    if period is not None:
        periods.read_heads(tables, source.text, period, builder)
        tables = list(periods.take_period(tables, period))
    sections: dict[str, None] = {}
    for table in tables:
        read_section = reader(table.section, table.summary)
        if read_section is not None:
            read_section(table, builder)
            sections[table.section] = None
        _note_misfits(table, builder)
    add_findings(source.text, source.is_html, builder)
    _fill_in_names(source, builder)
    if source.follows:
        builder.warnings.append(f"the file holds more than one report: {source.follows} follows, which is not read")
    if source.is_flush:
        builder.warnings.append(_why_flush((*unparsed, *builder.unread)))
    if not (builder.load_profile or builder.activity or builder.events):
        raise ReportError(f"{name}: {source.kind.value} report without readable figures{_why_without_figures(source)}")
    return _with_inconsistencies(_report(source, name, builder, tuple(sections), (*unparsed, *builder.unread)))


def _tables(source: ReportText, unparsed: dict[str, None]) -> Iterable[ReportTable]:
    def is_parsed(title: str, summary: str = "") -> bool:
        is_sure = not source.is_flush or _STARTS_AT_THE_MARGIN.fullmatch(plain(title))
        is_compared = source.kind is ReportKind.AWR_COMPARE
        is_known = periods.is_compared(title) if is_compared else reader(title, summary) is not None
        if not (is_known and is_sure):
            if title:
                unparsed[squeeze(title)[:80]] = None
            return False
        return True

    if source.is_html:
        return html.tables(source.text, is_parsed)
    return text.tables(source.text, is_parsed, is_title)


def _cells(tables: Iterable[ReportTable]) -> list[str]:
    cells: list[str] = []
    for table in tables:
        for row in table.rows:
            cells.extend(row[1:])
            if len(cells) > _FORMAT_CELLS:
                return cells
    return cells


def _note_misfits(table: ReportTable, builder: ReportBuilder) -> None:
    if table.misfits:
        first = squeeze(table.misfits[0])[:60]
        builder.warnings.append(
            f"{table.section}: {len(table.misfits)} row(s) do not fit the columns and are left out, first: {first!r}"
        )


def _fill_in_names(source: ReportText, builder: ReportBuilder) -> None:
    """Fill in database and instance names from the page titles if the header leaves them blank."""
    named = _TITLE_NAMES.search(source.text[:2000]) or _LINE_NAMES.search(source.text)
    if named and source.kind is not ReportKind.AWR_GLOBAL:
        builder.set("db_name", named[1])
        first = builder.instances[0] if builder.instances else ReportInstance()
        builder.instances[:1] = [first if first.name else replace(first, name=named[2])]
    elif (found := _GLOBAL_NAME.search(source.text[:2000])) is not None:
        builder.set("db_name", found[1])
    if builder.header.get("rac") is None and builder.load_profile.keys() & {
        "gc_blocks_received",
        "gc_blocks_served",
    }:
        builder.set("rac", True)
        builder.missing["header: RAC"] = (
            "blank in the report; assumed YES, because the load profile has Global Cache rows"
        )


def _why_flush(titles: tuple[str, ...]) -> str:
    lost = [title for title in titles if reader(title) is not None]
    return (
        "the blanks at the beginning of the lines are lost, as in a mail or a wiki, and with them the columns of some "
        f"tables, which are not read: {', '.join(lost) or 'none'}"
    )


def _why_without_figures(source: ReportText) -> str:
    if source.is_flush:
        return ": the blanks at the beginning of its lines are lost, and with them its columns"
    return "" if is_complete(source.text) else ": it is cut off before the first one, or its columns are lost"


def _report(
    source: ReportText, name: str, builder: ReportBuilder, sections: tuple[str, ...], unparsed: tuple[str, ...]
) -> Report:
    header = Header(instances=tuple(builder.instances), **builder.header)
    if source.kind is ReportKind.AWR_GLOBAL and "redo size" in builder.activity:
        exact = builder.activity["redo size"]
        rate = builder.load_profile.get("redo_size")
        if rate is not None and exact.per_second is not None:  # bytes; the table per second has units of 1024
            builder.load_profile["redo_size"] = replace(
                rate, per_second=exact.per_second, origin="System Statistics (Global)"
            )
    return Report(
        path=name,
        kind=source.kind,
        format="html" if source.is_html else "text",
        header=header,
        load_profile=builder.load_profile,
        events=tuple(builder.events),
        histograms=tuple(waits.merge_histograms(builder)),
        time_model_s=builder.time_model_s,
        activity=builder.activity,
        io_profile=builder.io_profile,
        iostat_functions=tuple(builder.iostat_functions),
        iostat_filetypes=tuple(builder.iostat_filetypes),
        os_stats=builder.os_stats,
        host_cpu=builder.host_cpu,
        parameters=builder.parameters,
        complete=is_complete(source.text),
        sections=sections,
        unparsed=unparsed,
        warnings=tuple(builder.warnings),
        missing=builder.missing,
        wait_classes=tuple(builder.wait_classes),
        efficiency_pct=builder.efficiency_pct,
        thread_activity=builder.thread_activity,
        tablespaces=tuple(builder.tablespaces),
        files=tuple(builder.files),
        global_cache=builder.global_cache,
        per_instance=builder.per_instance,
        instance_events={number: tuple(listed) for number, listed in builder.instance_events.items()},
        listed={name: tuple(rows) for name, rows in builder.listed.items()},
    )


def _with_inconsistencies(report: Report) -> Report:
    off = find_rates_that_are_off(report)
    if wrong := find_wrong_elapsed(report, off):
        report = replace(report, missing={**report.missing, ELAPSED: wrong})
    return replace(report, warnings=(*report.warnings, *inconsistencies(report, off)))
