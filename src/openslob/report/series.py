"""Several runs in one table: the demonstration's result, the answer first."""

from __future__ import annotations

import json
from collections.abc import Sequence

from openslob.record.model import Holds, RunRecord
from openslob.report.format import MISSING, micros, number, percent, table, wrapped
from openslob.report.reading import value

HEAD = (
    *("mode", "sessions", "upd %", "ops/s", "visits/s", "reads/s", "read µs"),
    *("op p50", "op p99", "DB CPU", "reads/CPU", "CPU left", "verdicts"),
)


def render_series(records: Sequence[RunRecord]) -> str:
    """What the platform did at its best, a row for each run, and every verdict that does not hold."""
    lines = [*answers(records), "", *table(HEAD, [_row(record) for record in records]), "", *doubts(records)]
    return "\n".join(lines) + "\n"


def series_json(records: Sequence[RunRecord]) -> str:
    """The records themselves, as a JSON array."""
    return json.dumps([record.model_dump(mode="json") for record in records], indent=1, ensure_ascii=False) + "\n"


def answers(records: Sequence[RunRecord]) -> list[str]:
    """The best trustworthy read rates, physical and logical, each with what it cost."""
    found = []
    physical = _best([record for record in records if _holds(record, "reads_reached_device")], "pio_read_per_s")
    if physical is not None:
        found.append(
            f"Physical: {number(value(physical, 'pio_read_per_s'))} single-block reads/s at "
            f"{micros(value(physical, 'engine_read_latency_us'))} each, with {_setting(physical)}: "
            f"{number(value(physical, 'iops_per_db_cpu'))} per DB CPU, "
            f"{percent(value(physical, 'host_cpu_left_pct'))} of the host's CPU left."
        )
    logical = _best([record for record in records if record.spec.get("mode") == "lio"], "lio_per_s")
    if logical is not None:
        found.append(
            f"Logical: {number(value(logical, 'lio_per_s'))} blocks/s from the cache, with {_setting(logical)}: "
            f"{number(value(logical, 'lio_per_db_cpu'))} per DB CPU."
        )
    nothing = ["No run gave a rate that can be trusted: see the verdicts below."]
    return [line for text in found or nothing for line in wrapped(text)]


def doubts(records: Sequence[RunRecord]) -> list[str]:
    """Each verdict that fails, with the runs in which it does; a line that says so when none does."""
    failing: dict[str, list[str]] = {}
    why: dict[str, str] = {}
    for record in records:
        for verdict in record.verdicts:
            if verdict.verdict is Holds.FAILS:
                failing.setdefault(verdict.name, []).append(_short(record))
                why.setdefault(verdict.name, verdict.why)
    if not failing:
        return ["Every verdict on these figures holds, or could not be told; `slob show RECORD` has the reasons."]
    return [
        line
        for name, runs in failing.items()
        for line in wrapped(f"{name.replace('_', ' ')} fails in {', '.join(runs)}. First: {why[name]}", "! ", "  ")
    ]


def _best(records: Sequence[RunRecord], metric: str) -> RunRecord | None:
    known = [record for record in records if value(record, metric)]
    return max(known, key=lambda record: value(record, metric) or 0.0, default=None)


def _holds(record: RunRecord, name: str) -> bool:
    return any(verdict.name == name and verdict.verdict is Holds.HOLDS for verdict in record.verdicts)


def _setting(record: RunRecord) -> str:
    return f"{number(value(record, 'sessions'))} sessions and {record.spec.get('update_pct')} % updates"


def _short(record: RunRecord) -> str:
    return f"{record.spec.get('mode') or record.name} {number(value(record, 'sessions'))} sessions"


def _row(record: RunRecord) -> tuple[str, ...]:
    select = record.latency.get("select", {})
    verdicts = [verdict.verdict for verdict in record.verdicts]
    fails = sum(verdict.verdict is Holds.FAILS for verdict in record.verdicts)
    return (
        str(record.spec.get("mode") or MISSING),
        number(value(record, "sessions")),
        str(record.spec.get("update_pct")),
        *(number(value(record, name)) for name in ("ops_per_s", "block_visits_per_s", "pio_read_per_s")),
        number(value(record, "engine_read_latency_us")),
        micros(select.get("p50_us")),
        micros(select.get("p99_us")),
        number(value(record, "db_cpu_per_s")),
        number(value(record, "iops_per_db_cpu")),
        percent(value(record, "host_cpu_left_pct")),
        f"{fails} fail" if fails else f"{verdicts.count(Holds.HOLDS)} hold",
    )
