"""One run cut into seconds: the figures whose course is recorded, for their spread within the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from openslob.histogram import bucket_of, middle_us
from openslob.method import OpKind
from openslob.units import MIB, NANOS

# Values of a figure in consecutive parts of a run, by `Point.figure` name.
Timeline = Mapping[str, Sequence[float]]
LatencyRow = tuple[int, str, int, int]
EngineRow = tuple[int, int, str, float]

# A part shorter than half a second is the sliver at the end of a window: its rate is mostly chance.
MIN_PART_S = 0.5
_ENGINE_RATES: Mapping[str, tuple[str, float]] = {
    "lio_per_s": ("logical_reads", 1),
    "pio_read_per_s": ("read_requests", 1),
    "pio_read_mb_per_s": ("read_bytes", 1 / MIB),
    "pio_write_per_s": ("write_requests", 1),
    "pio_write_mb_per_s": ("write_bytes", 1 / MIB),
    "redo_mb_per_s": ("log_bytes", 1 / MIB),
    "log_syncs_per_s": ("log_syncs", 1),
}


def of_operations(rows: Iterable[LatencyRow], load_seconds: float) -> Timeline:
    """Operations/s and mean latencies by second of the load, from (second, kind, bucket's lower edge in µs, count)."""
    length = {second: min(load_seconds - second, 1.0) for second in range(int(load_seconds) + 1)}
    seconds = [second for second, part in length.items() if part >= MIN_PART_S]
    counts: dict[tuple[int, str], int] = {}
    time_us: dict[tuple[int, str], float] = {}
    for second, kind, edge_us, count in rows:
        counts[second, kind] = counts.get((second, kind), 0) + count
        time_us[second, kind] = time_us.get((second, kind), 0.0) + count * middle_us(bucket_of(edge_us))
    ops = [sum(counts.get((second, kind.value), 0) for kind in OpKind) / length[second] for second in seconds]
    commits = [counts.get((second, OpKind.UPDATE.value), 0) / length[second] for second in seconds]
    means = {
        f"{kind.value}_mean_us": [
            time_us[second, kind.value] / counts[second, kind.value]
            for second in seconds
            if counts.get((second, kind.value))
        ]
        for kind in OpKind
    }
    # The work of an operation is fixed by WORK_UNIT: what is counted in rows rises and falls with operations/s.
    return {"ops_per_s": ops, "sql_per_s": ops, "block_visits_per_s": ops, "commits_per_s": commits, **means}


def of_engine(rows: Iterable[EngineRow], start_ns: int, end_ns: int) -> Timeline:
    """Rates and read latency by interval within the load, from (begin, end, field of `EngineDelta`, value).

    Of intervals that begin at the same time the last counts (`RawFiles.engine`).
    """
    parts: dict[int, tuple[int, dict[str, float]]] = {}
    for begin, end, name, value in rows:
        if begin not in parts or parts[begin][0] != end:
            parts[begin] = (end, {})
        parts[begin][1][name] = value
    slack = MIN_PART_S * NANOS
    inside = [
        ((end - begin) / NANOS, values)
        for begin, (end, values) in sorted(parts.items())
        if begin >= start_ns - slack and end <= end_ns + slack and end - begin >= slack
    ]
    rates = {
        figure: [values[name] * factor / seconds for seconds, values in inside if name in values]
        for figure, (name, factor) in _ENGINE_RATES.items()
    }
    latency = [
        v["read_time_us"] / v["read_requests"] for _, v in inside if v.get("read_requests") and "read_time_us" in v
    ]
    return {**rates, "engine_read_latency_us": latency}
