"""The section of the report on the drivers of a run that had several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openslob.record.model import RunRecord
from openslob.report.document import Paragraph, Section, TextTable
from openslob.report.format import MISSING, number, seconds, size

HEAD = ("", "host", "pid", "sessions", "operations", "CPU", "its host busy", "memory", "clock", "round trip")


def drivers(record: RunRecord) -> Section:
    """Return a row for each driver, and what became of one that did not end in order."""
    found = record.environment.get("drivers") or ()
    rows = [_row(each) for each in found]
    lost = (Paragraph(_end_of(each), "! ") for each in found if each.get("lost"))
    note = "CPU: of the driver's process, in % of one CPU; clock: the server's minus the driver's"
    return Section("Drivers", (TextTable(HEAD, rows), Paragraph(note), *lost) if rows else (), ", over the window")


def _row(driver: Mapping[str, Any]) -> tuple[str, ...]:
    length, cpus = driver.get("seconds"), driver.get("host_cpus")
    sessions = driver.get("sessions") or ()
    return (
        str(driver.get("number")),
        str(driver.get("host")),
        str(driver.get("pid")),
        "–".join(str(each) for each in dict.fromkeys([*sessions[:1], *sessions[-1:]])),
        number(driver.get("ops")),
        _share(driver.get("cpu_s"), length),
        _share(driver.get("host_busy_s"), length * cpus if length and cpus else None),
        size(driver.get("peak_rss_bytes")),
        MISSING if driver.get("clock_offset_s") is None else f"{driver['clock_offset_s']:+.3f} s",
        seconds(driver["round_trip_ms"] / 1e3) if driver.get("round_trip_ms") is not None else MISSING,
    )


def _share(part: float | None, whole: float | None) -> str:
    return MISSING if part is None or not whole else f"{100 * part / whole:.1f} %"


def _end_of(driver: Mapping[str, Any]) -> str:
    kept = "its files are still on its host" if driver.get("left") else "its files are"
    return f"driver {driver.get('number')} {driver['lost']}; {kept}: {driver.get('files')}"
