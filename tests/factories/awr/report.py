"""A report as Oracle would print it of a described database."""

from __future__ import annotations

from dataclasses import dataclass

from factories.awr import cluster, cluster_waits, events, heads, io, rates
from factories.awr.described import Database, Instance, longest_first
from factories.awr.sheet import VERSIONS, Layout, Place, Sheet, Written
from factories.awr.tables import Column, Table
from openslob.awr import Scope

LAYOUTS = tuple(Layout(version, is_html) for version in VERSIONS for is_html in (False, True))
_STYLE = "body.awr {font:bold 10pt sans-serif;}\nth.awrbg {color:White; background:#0066CC;}\ntd.awrc {color:black;}"
STATEMENTS = (
    "select /*+ full(t) */ c1 || '~~~~~' from t where a <b.c and x > 5 -- ---- ----",
    "declare x number; begin null; end;",
)


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """The bytes of a report, what must be read from it, and the titles of sections that nobody reads."""

    data: bytes
    written: dict[Place, Written]
    ignored: tuple[str, ...]


def write(database: Database, layout: Layout) -> WrittenReport:
    """Write the report of the database's first instance."""
    instance = database.instances[0]
    snaps = f"Snaps: {database.snaps[0]}-{database.snaps[1]}"
    sheet = Sheet(layout, database, f"DB/Inst: {database.name}/{instance.name}  {snaps}")
    heads.identity(sheet, instance)
    if layout.since("11.2.0.4"):
        _findings(sheet)
        rates.load_profile(sheet, instance)
        rates.efficiency(sheet, instance)
        events.top(sheet, instance)
        events.classes(sheet, instance)
        heads.host_cpu(sheet, instance)
        _instance_cpu(sheet)
        rates.io_profile(sheet, instance)
        heads.caches(sheet)
    else:
        heads.caches(sheet)
        rates.load_profile(sheet, instance)
        rates.efficiency(sheet, instance)
        events.top(sheet, instance)
        heads.host_cpu(sheet, instance)
        _instance_cpu(sheet)
    _main(sheet, instance)
    title = f"AWR Report for DB: {database.name}, Inst: {instance.name}, {snaps}"
    return _finished(sheet, "WORKLOAD REPOSITORY report for", title)


def _main(sheet: Sheet, instance: Instance) -> None:
    rates.time_model(sheet, instance)
    rates.os_stats(sheet, instance)
    events.foreground_classes(sheet, instance)
    foreground, background = (longest_first(some) for some in (instance.foreground, instance.background))
    events.all_events(sheet, "Foreground Wait Events", foreground, Scope.FOREGROUND, instance.db_time)
    in_all = instance.times["background elapsed time"]
    events.all_events(sheet, "Background Wait Events", background, Scope.BACKGROUND, in_all)
    events.histograms(sheet, instance)
    _sql(sheet)
    rates.activity(sheet, instance)
    io.functions(sheet, instance)
    io.filetypes(sheet, instance)
    io.places(sheet, instance)
    rates.parameters(sheet, instance)
    io.global_cache(sheet, instance)


def write_global(database: Database, layout: Layout) -> WrittenReport:
    """Write the report of all instances."""
    sheet = Sheet(layout, database, "")
    cluster.summary(sheet)
    cluster.instances(sheet)
    cluster.hosts(sheet)
    cluster.times(sheet)
    cluster.classes(sheet)
    cluster_waits.tops(sheet)
    cluster_waits.all_events(sheet)
    cluster_waits.histograms(sheet)
    cluster.rates(sheet)
    cluster.latencies(sheet)
    cluster.activity(sheet)
    cluster.io_profile(sheet)
    cluster_waits.traffic(sheet)
    cluster.parameters(sheet)
    title = f"AWR RAC Report for DB: {database.name}, Snaps: {database.snaps[0]}-{database.snaps[1]}"
    return _finished(sheet, "WORKLOAD REPOSITORY REPORT (RAC)", title)


def _finished(sheet: Sheet, title: str, page_title: str) -> WrittenReport:
    body = "".join(sheet.parts)
    if sheet.layout.is_html:
        text = (
            f'<html lang="en"><head><title>{page_title}</title>\n<style type="text/css">\n{_STYLE}\n</style></head>'
            f'<body class="awr">\n<h1 class="awr">\n{title}\n\n</h1>\n<p />\n{body}'
            "<p />\nEnd of Report\n</body></html>\n"
        )
    else:
        text = f"\n{title}\n\n{body}End of Report\n"
    return WrittenReport(text.encode(), sheet.written, tuple(sheet.ignored))


def _findings(sheet: Sheet) -> None:
    """A list that in text touches the title of the load profile."""
    columns = (Column("Finding Name", width=40, left=True), Column("Avg active sessions of the task", "Avg act", 7))
    rows = [("Top SQL Statements", "1.10"), ("Soft Parse", "1.10")]
    sheet.add(Table("Top ADDM Findings by Average Active Sessions", columns, rows, "This table displays top ADDM "
                    "findings by average active sessions", "underlined"))  # fmt: skip
    if not sheet.layout.is_html:
        sheet.parts[-1] = sheet.parts[-1].rstrip("\n") + "\n"


def _instance_cpu(sheet: Sheet) -> None:
    if sheet.layout.is_html:
        columns = (Column("%Total CPU", width=10), Column("%Busy CPU", width=10))
        sheet.add(Table("Instance CPU", columns, [("4.3", "95.7")], "This table displays CPU usage and wait "
                        "statistics", "underlined"))  # fmt: skip
    else:
        sheet.text("Instance CPU", "~~~~~~~~~~~~", "              % of total CPU for Instance:       4.3",
                   "              % of busy  CPU for Instance:      95.7")  # fmt: skip


def _sql(sheet: Sheet) -> None:
    """SQL text may hold anything: signs of tags, of titles and of lines of dashes."""
    columns = (
        Column("Elapsed Time (s)", "Elapsed|Time (s)", 16),
        Column("Executions", width=14),
        Column("SQL Id", width=13, left=True),
    )
    rows = [("1,234.5", "60", "0123456789abc"), ("2.0", "1", "abcdefghijklm")]
    summary = "This table displays top SQL by elapsed time"
    if sheet.layout.is_html:
        with_texts = [(*row, text) for row, text in zip(rows, STATEMENTS, strict=True)]
        sheet.add(Table("SQL ordered by Elapsed Time", (*columns, Column("SQL Text")), with_texts, summary))
        return
    sheet.add(Table("SQL ordered by Elapsed Time", columns, rows, summary))
    for row, text in zip(rows, STATEMENTS, strict=True):
        below = "\n".join(("Module: a module", *(text[at : at + 40] for at in range(0, len(text), 40)), "------------"))
        sheet.parts[-1] = sheet.parts[-1].replace(f"{row[2]}\n", f"{row[2]}\n{below}\n\n")
