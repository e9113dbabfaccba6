"""The text report of a raw measurement: the answer, the verdicts, the result, and every step with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openslob.record.model import Status
from openslob.record.storage import STORAGE_FILE, StorageRecord, StorageStep
from openslob.report.format import INDENT, MISSING, WIDTH, hanging, micros, number, pairs, percent, size, table, wrapped
from openslob.report.realism import realism_headline, realism_tables
from openslob.report.text import verdicts

# Column, its head, how its cells look.
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


def render_storage(record: StorageRecord, folder: Path | None = None) -> str:
    """The report, ``folder`` where the record lies, if that is to be told."""
    sections = (
        _title(record),
        wrapped(storage_headline(record)),
        verdicts(record.verdicts),
        *_tables(record),
        _steps(record.steps),
        _place(record),
        ["NOTES", *(line for note in record.notes for line in hanging("", note))] if record.notes else [],
        [f"record: {folder / STORAGE_FILE}"] if folder else [],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def storage_headline(record: StorageRecord) -> str:
    """The answer in one sentence; what was not measured is told so."""
    if not record.summary:
        return "Nothing was measured to its end."
    notify = _HEADLINES.get(record.tool)
    return notify(record) if notify else ""


def what_it_is(record: StorageRecord) -> str:
    """What was measured, and by which command."""
    what = "storage alone, and databases on it" if record.tool == "compare" else "storage without a database"
    return f"{what}, slob raw {record.tool}"


def _title(record: StorageRecord) -> list[str]:
    started = record.started_at.replace("T", " ").removesuffix("Z")
    right = f"{started} UTC, openslob {record.openslob_version}"
    lines = [f"{record.id}{INDENT}{right:>{max(WIDTH - len(record.id) - len(INDENT), 0)}}"]
    host = record.environment.get("host")
    lines += wrapped(f"{what_it_is(record)}{f', on {host}' if host else ''}")
    if record.status is not Status.COMPLETE:
        lines += hanging(f"!! {record.status.upper()}: ", "; ".join(record.errors) or "the record does not say why")
    return lines


def _calibrated(record: StorageRecord) -> str:
    limit, at = record.asked.get("latency_limit_us"), record.asked.get("at", "p99")
    under = f" under a {at} of {micros(limit)}" if limit else ""
    blocks = size(record.asked.get("block_bytes"))
    if record.value("max_iops") is None:
        reads = f"no rate of random {blocks} reads is known{under}, because {record.summary['max_iops'].why}"
    else:
        reads = (
            f"{_told(record, 'max_iops')} random {blocks} reads/s{under} ({_told(record, 'max_iops_in_flight')} "
            f"in flight, mean {_micros(record, 'max_iops_mean_us')}, CPU {_micros(record, 'cpu_us_per_io')} a read)"
        )
    parts = [
        reads,
        f"{_told(record, 'max_mb_per_s')} MB/s in 1 MB reads",
        f"one read alone takes {_micros(record, 'latency_mean_us')} (p99 {_micros(record, 'latency_p99_us')})",
    ]
    if "verified_iops" in record.summary:
        verified = _told(record, "verified_iops")
        parts.append(f"with contents verified {verified} reads/s at {_micros(record, 'verified_cpu_us_per_io')} of CPU")
    return "; ".join(parts) + "."


def _looked_at(record: StorageRecord) -> str:
    nowhere, looked = record.value("nowhere_cpu_us_per_mb"), record.value("looked_cpu_us_per_mb")
    text = (
        f"dd to nowhere {_told(record, 'nowhere_mb_per_s')} MB/s; with each byte looked at "
        f"{_told(record, 'looked_mb_per_s')} MB/s, {percent(record.value('looked_share_pct'))} of it, at "
        f"{micros(looked)} of CPU for a MB instead of {micros(nowhere)}"
    )
    if "verified_iops" in record.summary:
        text += (
            f"; random reads verified {_told(record, 'verified_iops')}/s, "
            f"{percent(record.value('verified_share_pct'))} of {_told(record, 'random_iops')}/s unverified"
        )
    return text + "."


def _of_orion(record: StorageRecord) -> str:
    blocks = [size(record.asked.get(name)) for name in ("size_small", "size_large")]
    parts = []
    if record.value("max_iops") is not None:
        p99 = _micros(record, "max_iops_p99_us")
        parts.append(f"at most {_told(record, 'max_iops')} requests/s of {blocks[0]} (p99 {p99})")
        parts.append(f"least mean latency {_micros(record, 'min_latency_us')}")
    if record.value("max_mb_per_s") is not None:
        parts.append(f"at most {_told(record, 'max_mb_per_s')} MB/s in requests of {blocks[1]}")
    return "; ".join(parts) + "." if parts else "No point was measured."


def _topped(record: StorageRecord) -> str:
    return (
        f"Storage alone gives up to {_told(record, 'max_iops')} random {size(record.asked.get('block_bytes'))} reads/s "
        f"({_told(record, 'max_iops_in_flight')} in flight, p99 {_micros(record, 'max_iops_p99_us')})."
    )


_HEADLINES: Mapping[str, Callable[[StorageRecord], str]] = {
    "calibrate": _calibrated,
    "ceiling": _topped,
    "compare": realism_headline,
    "dd": _looked_at,
    "orion": _of_orion,
}


def _told(record: StorageRecord, name: str) -> str:
    return number(record.value(name))


def _micros(record: StorageRecord, name: str) -> str:
    return micros(record.value(name))


def _steps(steps: Sequence[StorageStep]) -> list[str]:
    if not steps:
        return []
    head = ("step", *(title for _, title, _ in _STEP_COLUMNS), "why")
    rows = [
        (f"{step.number}. {step.name}", *(shown(step.value(name)) for name, _, shown in _STEP_COLUMNS), step.purpose)
        for step in steps
    ]
    return ["STEPS", *table(head, rows, ends_in_text=True)]


def _tables(record: StorageRecord) -> list[list[str]]:
    if record.tool == "compare":
        return realism_tables(record)
    return [_table(rows) for rows in record.tables.values()]


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    heads = list(rows[0])
    return table([head.replace("_", " ") for head in heads], [[_cell(row.get(head)) for head in heads] for row in rows])


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        return number(value)
    return MISSING if value is None else str(value)


def _place(record: StorageRecord) -> list[str]:
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
