"""The realism table as text: rates and CPU of each contender, its latencies, and what it does with the data."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.realism import ContenderKind, ContenderRow, RoundRange, best_raw, rows
from openslob.record.storage import StorageRecord
from openslob.report.format import MISSING, hanging, micros, number, percent, table


def realism_tables(record: StorageRecord) -> list[list[str]]:
    """The sections of the table, each as lines."""
    found = rows(record)
    taken = [row for row in found if row.rounds]
    return [_rates(taken), _latencies(taken), _meanings(found)] if taken else []


def realism_headline(record: StorageRecord) -> str:
    """Reads per CPU second and per second of storage alone and of each server, in one sentence."""
    found = rows(record)
    raw = best_raw(found, lambda row: row.iops_per_cpu)
    if raw is None:
        return "Storage alone was not measured."
    parts = [f"storage alone {number(raw.iops_per_cpu.median)} ({raw.name})"]
    parts += [_share(row, raw) for row in found if row.kind is not ContenderKind.RAW and row.iops_per_cpu.median]
    return f"Reads of {_block(record)} for a CPU second: {'; '.join(parts)}."


def between(spread: RoundRange) -> str:
    """Lowest to highest of the rounds, where there are several."""
    return MISSING if spread.low == spread.high else f"{number(spread.low)}–{number(spread.high)}"


def _share(row: ContenderRow, raw: ContenderRow) -> str:
    share = 100 * (row.iops_per_cpu.median or 0.0) / (raw.iops_per_cpu.median or 1.0)
    return f"{row.name} {number(row.iops_per_cpu.median)} ({percent(share)})"


def _block(record: StorageRecord) -> str:
    return f"{number(record.asked['block_size'] / 1024)} KB"


def _rates(found: Sequence[ContenderRow]) -> list[str]:
    rounds = max(row.rounds for row in found)
    head = ("", "IOPS", "lowest–highest", "of ceiling", "IOPS/CPU", "lowest–highest", "CPUs", "host CPU")
    cells = [
        (
            row.name, number(row.iops.median), between(row.iops), percent(row.ceiling_pct),
            number(row.iops_per_cpu.median), between(row.iops_per_cpu), _two(row.cpus), percent(row.host_pct),
        )
        for row in found
    ]  # fmt: skip
    of = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    return [f"READS PER SECOND AND PER CPU SECOND, {of}", *table(head, cells)]


def _latencies(found: Sequence[ContenderRow]) -> list[str]:
    head = ("", "mean", "p50", "p99", "of a")
    cells = [(row.name, micros(row.mean_us), micros(row.p50_us), micros(row.p99_us), row.timed) for row in found]
    return ["LATENCY", *table(head, cells, ends_in_text=True)]


def _meanings(found: Sequence[ContenderRow]) -> list[str]:
    width = max(len(row.name) for row in found)
    lines = ["WHAT EACH DOES"]
    for row in found:
        lines += hanging(f"{row.name:<{width}}  ", row.does + _why(row))
    return lines


def _why(row: ContenderRow) -> str:
    return f" ({'unknown' if row.rounds else 'left out'}: {row.why})" if row.why else ""


def _two(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"
