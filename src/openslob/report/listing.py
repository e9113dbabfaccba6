"""Tables on the terminal: the list of records, and the runs of the demonstration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openslob.analyze.outcome import counted
from openslob.record.crash import CrashRecord
from openslob.record.endurance import EnduranceRecord
from openslob.record.failover import FailoverRecord
from openslob.record.finding import Kind, Listed
from openslob.record.lab import LabRecord
from openslob.record.model import Holds, RunRecord, Status
from openslob.record.repeated import RepeatedRecord
from openslob.record.storage import StorageRecord
from openslob.record.sweep import SweepRecord
from openslob.report.folding import folded
from openslob.report.format import INDENT, MISSING, micros, number, percent, seconds, wrapped
from openslob.report.record_view import p99_us, value
from openslob.units import format_duration
from openslob.workload import Workload

RUNNING = "running"
KINDS = {
    Kind.RUN: "run", Kind.SWEEP: "sweep", Kind.STORAGE: "raw", Kind.ENDURANCE: "endurance", Kind.REPEATED: "repeated",
    Kind.FAILOVER: "failover", Kind.CRASH: "crash", Kind.LAB: "lab",
}  # fmt: skip
# What a run is of the record that it is a part of.
PARTS = {Kind.SWEEP: "point", Kind.ENDURANCE: "segment", Kind.REPEATED: "run", Kind.LAB: "run"}
UNREADABLE = "unreadable"

HEAD = (
    *("mode", "sessions", "upd %", "visits/s", "reads/s", "a read", "commits/s"),
    *("op p99", "DB CPU", "per DB CPU", "CPU left", "verdicts"),
)
# Figure of the column "per DB CPU" by mode: requests of a physical run, blocks (the default) of a cached one.
PER_CPU = {"pio": "iops_per_db_cpu"}
# Below this share of block visits, reads are not shown.
READS_MATTER = 0.001


def overview(listed: Listed) -> dict[str, Any]:
    """Return one record as plain values; None means unknown.

    ``p99_us`` is that of the most frequent kind of operation. For a raw measurement, ``tool`` names its command and
    ``pio_read_per_s`` is the highest rate it found. ``sweep`` is the id of the sweep that a run is a point of, and
    ``part_of`` that of the record of any kind that it is a part of.
    """
    entry, record = listed.entry, listed.entry.record
    row: dict[str, Any] = {"id": entry.id, "path": str(entry.path)}
    if record is None:
        return {**row, "status": UNREADABLE, "problem": entry.problem}
    return {
        **row,
        "kind": record.kind,
        "name": record.name,
        "sweep": listed.part_of.path.name if listed.part_of and listed.part_of.kind is Kind.SWEEP else None,
        "part_of": listed.part_of.path.name if listed.part_of else None,
        "started_at": record.started_at,
        "status": RUNNING if entry.pid is not None else record.status.value,
        "pid": entry.pid,
        **_OF[type(record)](record),
    }


def _failed(
    record: RunRecord | StorageRecord | EnduranceRecord | RepeatedRecord | FailoverRecord | CrashRecord | LabRecord,
) -> list[str]:
    return [verdict.name for verdict in record.verdicts if verdict.verdict is Holds.FAILS]


def _of_storage(record: StorageRecord) -> dict[str, Any]:
    return {
        "tool": record.tool,
        "pio_read_per_s": record.value("max_iops"),
        "p99_us": record.value("max_iops_p99_us"),
        "failed_verdicts": _failed(record),
    }


def _of_crash(record: CrashRecord) -> dict[str, Any]:
    return {
        "sessions": record.asked.get("sessions"),
        "update_pct": 100,
        "ops_per_s": record.value("acked_per_s"),
        "cycles": len(record.cycles),
        "acked_commits": record.value("acked_commits"),
        "lost_commits": record.value("lost_commits"),
        "control": record.control.name if record.control else None,
        "failed_verdicts": _failed(record),
    }


def _of_run(record: RunRecord) -> dict[str, Any]:
    return {
        "sessions": value(record, "sessions") or record.spec.get("sessions"),
        "update_pct": record.spec.get("update_pct"),
        "ops_per_s": value(record, "ops_per_s"),
        "pio_read_per_s": value(record, "pio_read_per_s"),
        "p99_us": p99_us(record),
        "failed_verdicts": _failed(record),
    }


def _of_sweep(record: SweepRecord) -> dict[str, Any]:
    return {
        **{name: _asked(record, name) for name in ("sessions", "update_pct")},
        "points": {state.value: count for state, count in record.counts.items()},
        "failed_verdicts": [],
    }


def _of_endurance(record: EnduranceRecord) -> dict[str, Any]:
    return {
        **_parameters(record.workload),
        "ops_per_s": record.value("ops_per_s"),
        "p99_us": record.value("p99_us"),
        "measured_s": record.measured_s,
        "planned_s": record.planned_s,
        "failed_verdicts": _failed(record),
    }


def _of_failover(record: FailoverRecord) -> dict[str, Any]:
    return {
        "sessions": record.asked.get("sessions"),
        "update_pct": 100,
        "ops_per_s": record.value("follows_per_s")
        or next((each.value("level_before_per_s") for each in record.cycles), None),
        "outages": len(record.cycles),
        "outage_max_s": record.value("outage_max_s"),
        "acked_lost": record.value("acked_lost"),
        "failed_verdicts": _failed(record),
    }


def _of_repeated(record: RepeatedRecord) -> dict[str, Any]:
    return {
        **_parameters(record.workload),
        "ops_per_s": record.value("ops_per_s"),
        "p99_us": record.value("p99_us"),
        "times": dict(Counter(each.state.value for each in record.times)),
        "failed_verdicts": _failed(record),
    }


def _of_lab(record: LabRecord) -> dict[str, Any]:
    sessions = sorted({Workload.model_validate(each.workload).total_sessions for each in record.loads})
    return {
        "sessions": sessions or None,
        "arms": len(record.arms),
        "settled": sum(result.settled for result in record.results),
        "failed_verdicts": _failed(record),
    }


def _parameters(workload: Mapping[str, Any]) -> dict[str, Any]:
    load = Workload.model_validate(workload)
    return {"sessions": load.total_sessions, "update_pct": load.update_pct}


def _asked(record: SweepRecord, name: str) -> list[float] | None:
    """Return the values of a parameter over the points of a sweep; None if it is left to the default."""
    given = [{**record.workload, **point.values}.get(name) for point in record.points]
    return sorted({each for each in given if isinstance(each, int | float)}) or None


_OF: Mapping[type, Callable[[Any], dict[str, Any]]] = {
    RunRecord: _of_run, StorageRecord: _of_storage, SweepRecord: _of_sweep, EnduranceRecord: _of_endurance,
    RepeatedRecord: _of_repeated, FailoverRecord: _of_failover, CrashRecord: _of_crash,
    LabRecord: _of_lab,
}  # fmt: skip


def render_list(listed: Sequence[Listed], columns: int | None = None) -> str:
    """Return the table of records, in as many columns as the screen has."""
    head = ("id", "kind", "sessions", "upd%", "ops/s", "reads/s", "p99", "remarks")
    rows = [_row(each) for each in listed]
    return "\n".join(folded(head, rows, columns, texts={0, 1, len(head) - 1})) + "\n"


def _row(listed: Listed) -> tuple[str, ...]:
    row = overview(listed)
    counts = [number(row.get(name)) for name in ("ops_per_s", "pio_read_per_s")]
    whole = listed.part_of
    kind = f"{INDENT}{PARTS[whole.kind]}" if whole else row.get("tool") or row.get("kind") or KINDS[listed.kind]
    varied = [_values(row.get(name)) for name in ("sessions", "update_pct")]
    return (row["id"], kind, *varied, *counts, micros(row.get("p99_us")), _remarks(listed, row))


def _values(value: float | Sequence[float] | None) -> str:
    """Return a value, or the lowest and the highest of several."""
    if isinstance(value, Sequence):
        low, high = (number(each) for each in (min(value), max(value)))
        return low if low == high else f"{low}–{high}"
    return number(value)


def _remarks(listed: Listed, row: Mapping[str, Any]) -> str:
    """Return how a record ended unless it is complete, why, and which verdicts fail."""
    record, status = listed.entry.record, row["status"]
    if record is None:
        return f"{status}: {listed.entry.problem}"
    why = next(iter(getattr(record, "errors", ())), "")
    fails = ", ".join(name.replace("_", " ") for name in row["failed_verdicts"])
    parts = [
        f"{status}: {why}" if why and status != RUNNING else status if status != Status.COMPLETE else "",
        f"fails: {fails}" if fails else "",
        _CONTENTS[type(record)](record) if type(record) in _CONTENTS else "",
    ]
    return "; ".join(part for part in parts if part)


def _points(sweep: SweepRecord) -> str:
    return ", ".join(f"{count} {state.value}" for state, count in sweep.counts.items() if count) or "no points yet"


def _so_far(record: EnduranceRecord) -> str:
    gaps = f", {len(record.gaps)} gap{'s' if len(record.gaps) > 1 else ''}" if record.gaps else ""
    return f"{format_duration(record.measured_s)} of {format_duration(record.planned_s)}{gaps}"


def _crashes(record: CrashRecord) -> str:
    with_control = f" with {record.control.name}" if record.control else ""
    return f"{len(record.cycles)} of {record.asked.get('cycles')} crashes{with_control}"


def _outages(record: FailoverRecord) -> str:
    if "follow_limit_s" in record.asked:
        return f"copies follow {number(record.value('follows_per_s'))} commits/s"
    longest = record.value("outage_max_s")
    most = "" if longest is None else f", at most {seconds(longest)}"
    return f"{len(record.cycles)} of {record.asked.get('cycles')} outages{most}"


def _times(record: RepeatedRecord) -> str:
    counts = Counter(each.state.value for each in record.times)
    states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no run yet"
    return f"every {format_duration(record.every_s)}: {states}"


def _settings(record: LabRecord) -> str:
    wanted = sum(1 for _ in record.compared)
    settled = sum(result.settled for result in record.results)
    values = "1 value of a setting" if len(record.arms) == 1 else f"{len(record.arms)} values of settings"
    return f"{values}: {settled} of {wanted} comparisons settled in {counted(record.rounds, 'round')}"


# What a record of several runs consists of.
_CONTENTS: Mapping[type, Callable[[Any], str]] = {
    SweepRecord: _points, EnduranceRecord: _so_far, RepeatedRecord: _times, CrashRecord: _crashes,
    FailoverRecord: _outages,
    LabRecord: _settings,
}  # fmt: skip


def render_demo_table(records: Sequence[RunRecord], columns: int | None = None) -> str:
    """Return a row for each run, the verdicts that fail, and last the answer: the best rates.

    The table is at most ``columns`` wide, or as wide as it needs to be.
    """
    rows = [_demo_row(record) for record in records]
    lines = [
        *folded(HEAD, rows, columns, keys=3),
        "",
        *failed_verdicts(records),
        "",
        *best_rates(records),
    ]
    return "\n".join(lines) + "\n"


def demo_json(records: Sequence[RunRecord]) -> str:
    """Return the records as a JSON array."""
    return json.dumps([record.model_dump(mode="json") for record in records], indent=1, ensure_ascii=False) + "\n"


def best_rates(records: Sequence[RunRecord]) -> list[str]:
    """Return the best read rates that can be trusted, physical and logical, with latency and CPU cost."""
    sentences = []
    physical = _best([record for record in records if _holds(record, "reads_reached_device")], "pio_read_per_s")
    if physical is not None:
        sentences.append(
            f"Physical: {number(value(physical, 'pio_read_per_s'))} single-block reads/s at "
            f"{micros(value(physical, 'engine_read_latency_us'))} each, with {_setting(physical)}"
            f"{_cost(physical, 'iops_per_db_cpu')}."
        )
    logical = _best([record for record in records if record.spec.get("mode") == "lio"], "lio_per_s")
    if logical is not None:
        sentences.append(
            f"Logical: {number(value(logical, 'lio_per_s'))} blocks/s from the cache, with {_setting(logical)}"
            f"{_cost(logical, 'lio_per_db_cpu')}."
        )
    nothing = ["No run gave a rate that can be trusted: see the verdicts below."]
    return [line for text in sentences or nothing for line in wrapped(text)]


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


def _cost(record: RunRecord, per_cpu: str) -> str:
    """Return the work for each CPU and the CPU that was left, as far as they are known."""
    done, left = value(record, per_cpu), value(record, "host_cpu_left_pct")
    parts = [
        *([f"{number(done)} per DB CPU"] if done is not None else []),
        *([f"{percent(left)} of the host's CPU left"] if left is not None and record.spec.get("mode") == "pio" else []),
    ]
    return f": {', '.join(parts)}" if parts else ""


def _holds(record: RunRecord, name: str) -> bool:
    return any(verdict.name == name and verdict.verdict is Holds.HOLDS for verdict in record.verdicts)


def _setting(record: RunRecord) -> str:
    return f"{number(value(record, 'sessions'))} sessions and {record.spec.get('update_pct')} % updates"


def _short(record: RunRecord) -> str:
    return f"{record.spec.get('mode') or record.name} at {_setting(record)}"


def _demo_row(record: RunRecord) -> tuple[str, ...]:
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
