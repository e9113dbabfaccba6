"""Registry of section titles and their readers. A section whose title is not listed is reported as unparsed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from openslob.awr import figures, header, waits
from openslob.awr.builder import ReportBuilder
from openslob.awr.model import Scope
from openslob.awr.tables import ReportTable, plain

Reader = Callable[[ReportTable, ReportBuilder], None]

# Title (plain: lower case, single blanks) -> its reader. All versions, text and HTML.
_TITLES: tuple[tuple[str, Reader], ...] = (
    (r"workload repository (pdb )?report.*|statspack (statistics )?report for.*", header.identity),
    (r"database", header.database),
    (r"host( name)?", header.host),
    (r"snapshot", header.snapshots),
    (r"cache sizes( \(end\))?", header.caches),
    (r"database summary", header.summary),
    (r"database instances included in report", header.instances),
    (r"os statistics by instance", header.hosts),
    (r"load profile", figures.load_profile),
    (r"top \d+ (timed )?foreground (timed )?events( by .*)?", waits.events(Scope.TOP)),
    (r"top timed foreground events", waits.events(Scope.TOP)),
    (r"top \d+ (timed|wait) events|top timed events", waits.events(Scope.TOP_ALL)),
    (r"top( \d+)? (timed )?background (timed )?events( by .*)?", waits.events(Scope.TOP_BACKGROUND)),
    (r"foreground wait events( \(global\))?", waits.events(Scope.FOREGROUND)),
    (r"background wait events( \(global\))?", waits.events(Scope.BACKGROUND)),
    (r"wait events( \(fg and bg\))?", waits.events(Scope.ALL)),
    (r"wait event histogram.*", waits.histogram),
    (r"time model( system stats| statistics)", figures.time_model),
    (r"time model", figures.global_times),
    (r"((key|other) )?instance activity stat(istic)?s|system statistics \(global\)", figures.activity),
    (r"system statistics ?- ?per second", figures.global_rates),
    (r"io profile( \(global\))?", figures.io_profile),
    (r"io ?stat by function( ?-? ?summary)?( \(per second\))?", figures.iostat("functions")),
    (r"io ?stat by file ?type( ?-? ?summary)?( \(per second\))?", figures.iostat("filetypes")),
    (r"operating system statistics|os statistics", figures.os_stats),
    (r"host cpu( ?\(.*\))?", figures.host_cpu),
    (r"init\.ora parameters?|parameters modified by (this|other) containers?", figures.parameters),
    (r"database resource limits", figures.limits),
)
# HTML's summary attribute, for a table whose title is missing or not in English.
_SUMMARIES: tuple[tuple[str, Reader], ...] = (
    (r"this table displays (database instance|host|snapshot) information", header.identity),
    (r"this table displays load profile", figures.load_profile),
    (r"this table displays top \d+ wait events.*", waits.events(Scope.TOP)),
    (r"this table displays foreground wait events? .*", waits.events(Scope.FOREGROUND)),
    (r"this table displays background wait events? .*", waits.events(Scope.BACKGROUND)),
    (r"this table displays total number of waits, .*", waits.histogram),
    (r"this table displays different time model statistics.*", figures.time_model),
    (r"this table displays (key )?instance activity statistics.*", figures.activity),
    (r"this table displays io profile", figures.io_profile),
    (r"this table displays operating systems statistics\. for each.*", figures.os_stats),
    (r"this table displays system load statistics", figures.host_cpu),
)
_BARE_TITLES = re.compile("|".join(f"(?:{title})" for title, _ in _TITLES[:1] + _TITLES[5:]))


@lru_cache(maxsize=4096)
def reader(title: str, summary: str = "") -> Reader | None:
    """Return the reader of a section, by its title or else by its HTML summary; None if the section is not parsed."""
    name = plain(title)
    for pattern, read in _TITLES:
        if re.fullmatch(pattern, name):
            return read
    described = plain(summary)
    for pattern, read in (*_SUMMARIES, *_TITLES):
        if described and re.fullmatch(pattern, described.split(". .")[0].strip()):
            return read
    return None


def is_title(line: str) -> bool:
    """Return whether a line of a text report without any markup is a section title (as in global reports)."""
    return len(line) < 80 and _BARE_TITLES.fullmatch(plain(line)) is not None
