"""Mutable state of a report that is being parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from openslob.awr.model import (
    FileIo,
    HostCpu,
    HourlyStat,
    InitParameter,
    IoRates,
    IoStat,
    ListedRow,
    OsStat,
    Rate,
    ReportInstance,
    Statistic,
    WaitEvent,
)
from openslob.awr.numbers import Number, NumberFormat, why_unreadable
from openslob.awr.tables import ReportTable, cell

_LONGEST_NUMBER = 5  # digits of the number of an instance


@dataclass(slots=True)
class HistogramRows:
    """Rows of one event from all histogram tables.

    ``shares`` are the printed ones by the edges of their buckets in µs; the last bucket of a table has no upper one.
    """

    waits: Number | None = None
    cut: bool = False
    sections: list[str] = field(default_factory=list)
    shares: dict[tuple[float, float | None], float] = field(default_factory=dict)


@dataclass(slots=True)
class ReportBuilder:
    """Figures that the section readers have collected so far; `parse` builds the Report from them."""

    numbers: NumberFormat
    header: dict[str, Any] = field(default_factory=dict)
    instances: list[ReportInstance] = field(default_factory=list)
    load_profile: dict[str, Rate] = field(default_factory=dict)
    events: list[WaitEvent] = field(default_factory=list)
    histograms: dict[str, HistogramRows] = field(default_factory=dict)
    time_model_s: dict[str, Number] = field(default_factory=dict)
    activity: dict[str, Statistic] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)
    io_profile: dict[str, IoRates] = field(default_factory=dict)
    iostat_functions: list[IoStat] = field(default_factory=list)
    iostat_filetypes: list[IoStat] = field(default_factory=list)
    os_stats: dict[str, OsStat] = field(default_factory=dict)
    host_cpu: HostCpu | None = None
    parameters: dict[str, InitParameter] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    unread: dict[str, None] = field(default_factory=dict)
    wait_classes: list[WaitEvent] = field(default_factory=list)
    efficiency_pct: dict[str, Number] = field(default_factory=dict)
    thread_activity: dict[str, HourlyStat] = field(default_factory=dict)
    tablespaces: list[FileIo] = field(default_factory=list)
    files: list[FileIo] = field(default_factory=list)
    global_cache: dict[str, Number] = field(default_factory=dict)
    per_instance: dict[int, dict[str, Number]] = field(default_factory=dict)
    instance_events: dict[int, list[WaitEvent]] = field(default_factory=dict)
    listed: dict[str, list[ListedRow]] = field(default_factory=dict)

    def number(self, table: ReportTable, row: tuple[str, ...], at: int | None) -> Number | None:
        """Return the number in a cell. If there is text that is not a number, note it in ``missing``."""
        text = cell(row, at)
        number = self.numbers.read(text)
        if number is None and text:
            self.note(table, row, at, text)
        return number

    def duration_us(self, table: ReportTable, row: tuple[str, ...], at: int | None, unit: str | None) -> Number | None:
        """Return the duration in a cell in µs; ``unit`` is that of the column, for cells without a unit."""
        text = cell(row, at)
        number = self.numbers.duration_us(text, unit)
        if number is None and text:
            self.note(table, row, at, text)
        return number

    def of_instance(
        self, table: ReportTable, row: tuple[str, ...], name: str, at: int | None, size: float = 1.0
    ) -> None:
        """Keep the figure ``name`` of the instance whose number is in the first cell of ``row``."""
        number = self.number(table, row, at)
        if number is not None and row[0].isdecimal() and len(row[0]) < _LONGEST_NUMBER:
            self.per_instance.setdefault(int(row[0]), {}).setdefault(name, number.scaled(size))

    def cannot_read(self, table: ReportTable) -> None:
        """Note that a section with rows has unknown columns."""
        if table.rows:
            self.unread[table.section] = None

    def note(self, table: ReportTable, row: tuple[str, ...], at: int | None, text: str) -> None:
        """Note in ``missing``, by section, row and column, that a cell is not a number."""
        heading = table.columns[at] if at is not None and at < len(table.columns) else ""
        self.missing[f"{table.section}: {row[0]}: {heading}"] = why_unreadable(text)

    def set(self, name: str, value: object) -> None:
        """Set a header field, unless the value is empty or the field is already set."""
        if value not in (None, "") and self.header.get(name) is None:
            self.header[name] = value

    def whole(self, text: str) -> int | None:
        """Return a whole number, such as an identifier or a number of CPUs; None if ``text`` is not one."""
        number = self.numbers.read(text)
        return int(number.value) if number is not None and number.value == int(number.value) else None
