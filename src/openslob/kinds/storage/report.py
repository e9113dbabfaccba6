"""The report of a raw measurement: headline, verdicts, results, and every step with its purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from openslob.kinds.storage.comparison.realism import ContenderRow
from openslob.kinds.storage.comparison.realism import rows as contender_rows
from openslob.kinds.storage.headline import range_text, storage_headline
from openslob.record.storage import STORAGE_FILE, StorageRecord, StorageStep
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    MadePictures,
    Section,
    TextTable,
    Title,
    Verdicts,
    notes,
    title_of,
)
from openslob.report.format import MISSING, micros, number, percent, size

# Figure of a step, heading of its column, format of its cells.
_Column = tuple[str, str, Callable[[float | None], str]]
_STEP_COLUMNS: tuple[_Column, ...] = (
    ("iops", "IOPS", number),
    ("mb_per_s", "MB/s", number),
    ("mean_us", "mean", micros),
    ("p99_us", "p99", micros),
    ("cpu_us_per_io", "CPU µs/IO", number),
    ("host_cpu_us_per_io", "host µs/IO", number),
    ("interval_pct", "± %", number),
)


def storage_document(record: StorageRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last line names the record's file."""
    return Document(
        storage_title(record),
        (
            Answer((storage_headline(record),)),
            Verdicts(record.verdicts),
            *_tables(record),
            _steps(record.steps),
            _place(record),
            notes(record.notes),
        ),
        (f"record: {folder / STORAGE_FILE}",) if folder else (),
        lambda: _pictures(record),
    )


def storage_title(record: StorageRecord) -> Title:
    """Return the title of the report: what was measured, and where."""
    host = record.environment.get("host")
    what = what_it_is(record)
    return title_of(record, "measurement", what, f"{what}{f', on {host}' if host else ''}", "; ".join(record.errors))


def _pictures(record: StorageRecord) -> MadePictures:
    from openslob.kinds.storage.charts.several import pictures_of_storage  # noqa: PLC0415 - takes a second to import

    return pictures_of_storage([record]), ""


def what_it_is(record: StorageRecord) -> str:
    """Describe what was measured, and name the command."""
    what = "storage alone, and databases on it" if record.tool == "compare" else "storage without a database"
    return f"{what}, slob raw {record.tool}"


def _tables(record: StorageRecord) -> Iterator[Section]:
    """Yield the tables of results; of a comparison nothing if no contender was measured."""
    if record.tool != "compare":
        yield from (Section("", (_table(rows),)) for rows in record.tables.values() if rows)
        return
    contenders = contender_rows(record)
    if measured := [row for row in contenders if row.rounds]:
        yield from (_rates(measured), _latencies(measured), _meanings(contenders))


def _rates(contenders: Sequence[ContenderRow]) -> Section:
    rounds = max(row.rounds for row in contenders)
    head = ("", "IOPS", "lowest–highest", "of ceiling", "IOPS/CPU", "lowest–highest", "CPUs", "host CPU")
    cells = [
        (
            row.name, number(row.iops.median), range_text(row.iops), percent(row.ceiling_pct),
            number(row.iops_per_cpu.median), range_text(row.iops_per_cpu), _two_decimals(row.cpus),
            percent(row.host_pct),
        )
        for row in contenders
    ]  # fmt: skip
    of = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    return Section("Reads per second and per CPU second", (TextTable(head, cells),), f", {of}")


def _latencies(contenders: Sequence[ContenderRow]) -> Section:
    head = ("", "mean", "p50", "p99", "of one")
    cells = [(row.name, micros(row.mean_us), micros(row.p50_us), micros(row.p99_us), row.timed) for row in contenders]
    return Section("Latency", (TextTable.ending_in_text(head, cells),))


def _meanings(contenders: Sequence[ContenderRow]) -> Section:
    return Section("What each does", (LabelledTexts(tuple((row.name, row.does + _why(row)) for row in contenders)),))


def _why(row: ContenderRow) -> str:
    return f" ({'unknown' if row.rounds else 'left out'}: {row.why})" if row.why else ""


def _two_decimals(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _steps(steps: Sequence[StorageStep]) -> Section:
    head = ("step", *(title for _, title, _ in _STEP_COLUMNS), "why")
    rows = [
        (f"{step.number}. {step.name}", *(shown(step.value(name)) for name, _, shown in _STEP_COLUMNS), step.purpose)
        for step in steps
    ]
    return Section("Steps", (TextTable.ending_in_text(head, rows),) if rows else ())


def _table(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    heads = list(rows[0])
    return TextTable(
        tuple(head.replace("_", " ") for head in heads), [tuple(_cell(row.get(head)) for head in heads) for row in rows]
    )


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        return number(value)
    return MISSING if value is None else str(value)


def _place(record: StorageRecord) -> Section:
    place, device = record.place, (record.environment.get("data") or {}).get("device") or {}
    rows = (
        ("measured", f"{place.get('label', MISSING)}, {size(place.get('size_bytes'))}"),
        ("file system", str(place.get("file_system", MISSING))),
        ("device", " ".join(str(part) for part in (device.get("name"), device.get("model")) if part) or MISSING),
        (
            "how",
            f"fio {place.get('fio')}, {place.get('engine')}, {'direct' if place.get('direct') else 'buffered'} I/O",
        ),
    )
    return Section("Place", (LabelledTexts(rows),) if place else ())
