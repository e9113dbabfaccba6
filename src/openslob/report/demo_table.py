"""Result of the demonstration: the best rates, a table with a row per run, and failed verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from openslob.record.model import Holds, RunRecord
from openslob.report.format import MISSING, micros, number, percent, table, wrapped
from openslob.report.record_view import value

HEAD = (
    *("mode", "sessions", "upd %", "visits/s", "reads/s", "a read", "commits/s"),
    *("op p99", "DB CPU", "per DB CPU", "CPU left", "verdicts"),
)
# Figure of the column "per DB CPU" by mode: requests of a physical run, blocks (the default) of a cached one.
PER_CPU = {"pio": "iops_per_db_cpu"}
# Below this share of block visits, reads are not shown.
READS_MATTER = 0.001


def render_demo_table(records: Sequence[RunRecord]) -> str:
    """Return the best rates, a row for each run, and the verdicts that fail."""
    lines = [
        *best_rates(records),
        "",
        *table(HEAD, [_row(record) for record in records]),
        "",
        *failed_verdicts(records),
    ]
    return "\n".join(lines) + "\n"


def demo_json(records: Sequence[RunRecord]) -> str:
    """Return the records as a JSON array."""
    return json.dumps([record.model_dump(mode="json") for record in records], indent=1, ensure_ascii=False) + "\n"


def best_rates(records: Sequence[RunRecord]) -> list[str]:
    """Return the best read rates that can be trusted, physical and logical, with latency and CPU cost."""
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


def failed_verdicts(records: Sequence[RunRecord]) -> list[str]:
    """Return a line for each failed verdict: the number of runs and the reason in the first."""
    failing: dict[str, list[tuple[RunRecord, str]]] = {}
    for record in records:
        for verdict in record.verdicts:
            if verdict.verdict is Holds.FAILS:
                failing.setdefault(verdict.name, []).append((record, verdict.why))
    if not failing:
        return ["No verdict fails; `slob show RECORD` shows all of them, including the unknown ones."]
    return [
        line
        for name, cases in failing.items()
        for line in wrapped(
            f"{name.replace('_', ' ')} fails in {len(cases)} of {len(records)} runs, "
            f"first in {_short(cases[0][0])}: {cases[0][1]}",
            "! ",
            "  ",
        )
    ]


def _best(records: Sequence[RunRecord], metric: str) -> RunRecord | None:
    known = [record for record in records if value(record, metric)]
    return max(known, key=lambda record: value(record, metric) or 0.0, default=None)


def _holds(record: RunRecord, name: str) -> bool:
    return any(verdict.name == name and verdict.verdict is Holds.HOLDS for verdict in record.verdicts)


def _setting(record: RunRecord) -> str:
    return f"{number(value(record, 'sessions'))} sessions and {record.spec.get('update_pct')} % updates"


def _short(record: RunRecord) -> str:
    return f"{record.spec.get('mode') or record.name} at {_setting(record)}"


def _row(record: RunRecord) -> tuple[str, ...]:
    visits, reads = value(record, "block_visits_per_s"), value(record, "pio_read_per_s")
    reading = bool(visits and reads and reads / visits >= READS_MATTER)
    mode = str(record.spec.get("mode") or MISSING)
    slowest = max((latency.get("p99_us") or 0.0 for latency in record.latency.values()), default=None)
    fails = sum(verdict.verdict is Holds.FAILS for verdict in record.verdicts)
    return (
        mode,
        number(value(record, "sessions")),
        str(record.spec.get("update_pct")),
        number(visits),
        number(reads) if reading else MISSING,
        micros(value(record, "engine_read_latency_us")) if reading else MISSING,
        number(value(record, "commits_per_s")),
        micros(slowest),
        number(value(record, "db_cpu_per_s")),
        number(value(record, PER_CPU.get(mode, "lio_per_db_cpu"))),
        percent(value(record, "host_cpu_left_pct")),
        f"{fails} fail" if fails else "none fails",
    )
