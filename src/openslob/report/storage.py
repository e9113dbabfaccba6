"""Text report of a raw measurement: headline, verdicts, results, and every step with its purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openslob.analyze.realism import ContenderKind, ContenderRow, RoundRange, best_raw
from openslob.analyze.realism import rows as contender_rows
from openslob.record.model import Status
from openslob.record.storage import STORAGE_FILE, StorageRecord, StorageStep
from openslob.report.format import (
    MISSING,
    hanging,
    micros,
    number,
    pairs,
    percent,
    size,
    table,
    title_lines,
    wrapped,
)
from openslob.report.record_view import why_incomplete
from openslob.report.text import failing, verdicts

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


def render_storage(record: StorageRecord, folder: Path | None = None, columns: int | None = None) -> str:
    """Return the report; if ``folder`` is given, its last line names the record's file.

    Tables are at most ``columns`` wide, or as wide as they need to be.
    """
    sections = (
        _title(record),
        wrapped(storage_headline(record)),
        verdicts(record.verdicts),
        *_tables(record, columns),
        _steps(record.steps, columns),
        _target_rows(record),
        ["NOTES", *(line for note in record.notes for line in hanging("", note))] if record.notes else [],
        [f"record: {folder / STORAGE_FILE}"] if folder else [],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def storage_answer(record: StorageRecord) -> str:
    """Return the report in short: the result, how many verdicts hold, and those that fail."""
    return "\n".join([*wrapped(storage_headline(record)), *failing(record.verdicts)])


def storage_headline(record: StorageRecord) -> str:
    """Return the result in one sentence; empty for a command that has no headline."""
    if not record.summary:
        return "No step was measured to its end."
    headline = _HEADLINES.get(record.tool)
    return headline(record) if headline else ""


def what_it_is(record: StorageRecord) -> str:
    """Describe what was measured, and name the command."""
    what = "storage alone, and databases on it" if record.tool == "compare" else "storage without a database"
    return f"{what}, slob raw {record.tool}"


def _title(record: StorageRecord) -> list[str]:
    started = record.started_at.replace("T", " ").removesuffix("Z")
    right = f"{started} UTC, openslob {record.openslob_version}"
    host = record.environment.get("host")
    lines = title_lines(record.id, right)
    lines += wrapped(f"{what_it_is(record)}{f', on {host}' if host else ''}")
    if record.status is not Status.COMPLETE:
        lines += hanging(f"!! {record.status.upper()}: ", "; ".join(record.errors) or why_incomplete(record.status))
    return lines


def _calibrate_headline(record: StorageRecord) -> str:
    limit, at = record.asked.get("latency_limit_us"), record.asked.get("at", "p99")
    limit_text = f" under a {at} of {micros(limit)}" if limit else ""
    blocks = size(record.asked.get("block_bytes"))
    if record.value("max_iops") is None:
        reads = f"no rate of random {blocks} reads is known{limit_text}, because {record.summary['max_iops'].why}"
    else:
        reads = (
            f"{_number(record, 'max_iops')} random {blocks} reads/s{limit_text} "
            f"({_number(record, 'max_iops_in_flight')} in flight, mean {_micros(record, 'max_iops_mean_us')}, "
            f"{_micros(record, 'cpu_us_per_io')} of CPU per read)"
        )
    parts = [
        reads,
        f"{_number(record, 'max_mb_per_s')} MB/s in 1 MB reads",
        f"one read alone takes {_micros(record, 'latency_mean_us')} (p99 {_micros(record, 'latency_p99_us')})",
    ]
    if "verified_iops" in record.summary:
        verified, cpu = _number(record, "verified_iops"), _micros(record, "verified_cpu_us_per_io")
        parts.append(f"with contents verified, {verified} reads/s at {cpu} of CPU per read")
    return "; ".join(parts) + "."


def _dd_headline(record: StorageRecord) -> str:
    nowhere, looked = record.value("nowhere_cpu_us_per_mb"), record.value("looked_cpu_us_per_mb")
    text = (
        f"dd to /dev/null reads {_number(record, 'nowhere_mb_per_s')} MB/s; with every byte examined it reads "
        f"{_number(record, 'looked_mb_per_s')} MB/s ({percent(record.value('looked_share_pct'))}), at "
        f"{micros(looked)} of CPU per MB instead of {micros(nowhere)}"
    )
    if "verified_iops" in record.summary:
        text += (
            f"; random reads with contents verified: {_number(record, 'verified_iops')}/s, "
            f"{percent(record.value('verified_share_pct'))} of the {_number(record, 'random_iops')}/s without"
        )
    return text + "."


def _orion_headline(record: StorageRecord) -> str:
    blocks = [size(record.asked.get(name)) for name in ("size_small", "size_large")]
    parts = []
    if record.value("max_iops") is not None:
        p99 = _micros(record, "max_iops_p99_us")
        parts.append(f"at most {_number(record, 'max_iops')} requests/s of {blocks[0]} (p99 {p99})")
        parts.append(f"lowest mean latency {_micros(record, 'min_latency_us')}")
    if record.value("max_mb_per_s") is not None:
        parts.append(f"at most {_number(record, 'max_mb_per_s')} MB/s in requests of {blocks[1]}")
    return "; ".join(parts) + "." if parts else "No load point was measured."


def _ceiling_headline(record: StorageRecord) -> str:
    return (
        f"Storage alone gives up to {_number(record, 'max_iops')} random "
        f"{size(record.asked.get('block_bytes'))} reads/s "
        f"({_number(record, 'max_iops_in_flight')} in flight, p99 {_micros(record, 'max_iops_p99_us')})."
    )


def _comparison_tables(record: StorageRecord, columns: int | None) -> list[list[str]]:
    """Return the tables of rates, latencies and meanings; nothing if no contender was measured."""
    contenders = contender_rows(record)
    measured = [row for row in contenders if row.rounds]
    return [_rates(measured, columns), _latencies(measured, columns), _meanings(contenders)] if measured else []


def comparison_headline(record: StorageRecord) -> str:
    """Compare the reads per CPU second of storage alone and of each server, in one sentence."""
    contenders = contender_rows(record)
    raw = best_raw(contenders, lambda row: row.iops_per_cpu)
    if raw is None:
        return "Storage alone was not measured."
    parts = [f"storage alone {number(raw.iops_per_cpu.median)} ({raw.name})"]
    parts += [_share(row, raw) for row in contenders if row.kind is not ContenderKind.RAW and row.iops_per_cpu.median]
    return f"Reads of {_block(record)} per CPU second: {'; '.join(parts)}."


def range_text(of_rounds: RoundRange) -> str:
    """Return ``lowest–highest`` of the rounds, or a dash if there is only one value."""
    return MISSING if of_rounds.low == of_rounds.high else f"{number(of_rounds.low)}–{number(of_rounds.high)}"


def _share(row: ContenderRow, raw: ContenderRow) -> str:
    share = 100 * (row.iops_per_cpu.median or 0.0) / (raw.iops_per_cpu.median or 1.0)
    return f"{row.name} {number(row.iops_per_cpu.median)} ({percent(share)})"


def _block(record: StorageRecord) -> str:
    return f"{number(record.asked['block_size'] / 1024)} KB"


def _rates(contenders: Sequence[ContenderRow], columns: int | None) -> list[str]:
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
    return [f"READS PER SECOND AND PER CPU SECOND, {of}", *table(head, cells, columns=columns)]


def _latencies(contenders: Sequence[ContenderRow], columns: int | None) -> list[str]:
    head = ("", "mean", "p50", "p99", "of one")
    cells = [(row.name, micros(row.mean_us), micros(row.p50_us), micros(row.p99_us), row.timed) for row in contenders]
    return ["LATENCY", *table(head, cells, ends_in_text=True, columns=columns)]


def _meanings(contenders: Sequence[ContenderRow]) -> list[str]:
    width = max(len(row.name) for row in contenders)
    lines = ["WHAT EACH DOES"]
    for row in contenders:
        lines += hanging(f"{row.name:<{width}}  ", row.does + _why(row))
    return lines


def _why(row: ContenderRow) -> str:
    return f" ({'unknown' if row.rounds else 'left out'}: {row.why})" if row.why else ""


def _two_decimals(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


_HEADLINES: Mapping[str, Callable[[StorageRecord], str]] = {
    "calibrate": _calibrate_headline,
    "ceiling": _ceiling_headline,
    "compare": comparison_headline,
    "dd": _dd_headline,
    "orion": _orion_headline,
}


def _number(record: StorageRecord, name: str) -> str:
    return number(record.value(name))


def _micros(record: StorageRecord, name: str) -> str:
    return micros(record.value(name))


def _steps(steps: Sequence[StorageStep], columns: int | None) -> list[str]:
    if not steps:
        return []
    head = ("step", *(title for _, title, _ in _STEP_COLUMNS), "why")
    rows = [
        (f"{step.number}. {step.name}", *(shown(step.value(name)) for name, _, shown in _STEP_COLUMNS), step.purpose)
        for step in steps
    ]
    return ["STEPS", *table(head, rows, ends_in_text=True, columns=columns)]


def _tables(record: StorageRecord, columns: int | None) -> list[list[str]]:
    if record.tool == "compare":
        return _comparison_tables(record, columns)
    return [_table(rows, columns) for rows in record.tables.values()]


def _table(rows: Sequence[Mapping[str, Any]], columns: int | None) -> list[str]:
    if not rows:
        return []
    heads = list(rows[0])
    cells = [[_cell(row.get(head)) for head in heads] for row in rows]
    return table([head.replace("_", " ") for head in heads], cells, columns=columns)


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        return number(value)
    return MISSING if value is None else str(value)


def _target_rows(record: StorageRecord) -> list[str]:
    place, device = record.place, (record.environment.get("data") or {}).get("device") or {}
    if not place:
        return []
    rows = [
        ("measured", f"{place.get('label', MISSING)}, {size(place.get('size_bytes'))}"),
        ("file system", str(place.get("file_system", MISSING))),
        ("device", " ".join(str(part) for part in (device.get("name"), device.get("model")) if part) or MISSING),
        (
            "how",
            f"fio {place.get('fio')}, {place.get('engine')}, {'direct' if place.get('direct') else 'buffered'} I/O",
        ),
    ]
    return ["PLACE", *pairs(rows)]
