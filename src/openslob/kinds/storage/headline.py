"""Headlines of raw measurements: the result in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from openslob.kinds.storage.comparison.realism import ContenderKind, ContenderRow, RoundRange, best_raw
from openslob.kinds.storage.comparison.realism import rows as contender_rows
from openslob.record.storage import StorageRecord
from openslob.report.format import MISSING, micros, number, percent, size


def storage_headline(record: StorageRecord) -> str:
    """Return the result in one sentence; empty for a command that has no headline."""
    if not record.summary:
        return "No step was measured to its end."
    headline = _HEADLINES.get(record.tool)
    return headline(record) if headline else ""


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
