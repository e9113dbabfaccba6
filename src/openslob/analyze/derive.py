"""The figures of a run or an observation, derived once more from its raw measurements alone, and what they say.

Nothing is taken from the record but what was asked for (the workload), facts such as the block size, and the longest
operation of each kind where there are several kinds. The definitions are those of every run: `metrics`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from openslob.analyze.run_tables import RunTables
from openslob.analyze.tables import Intervals
from openslob.counts import COUNTERS, SliceCounts
from openslob.histogram import PERCENTILES, Histogram, bucket_of
from openslob.measurement import (
    DEVICE_COUNTERS,
    EVERY_FIGURE,
    DeviceIo,
    EngineDelta,
    HostDelta,
    Measurement,
    Observed,
    SessionTotals,
    Window,
)
from openslob.method import OpKind, phases_of, share_done
from openslob.metrics import priced, summary
from openslob.metrics.cost import price_of
from openslob.metrics.run_metrics import PACED
from openslob.metrics.waits import top_events
from openslob.record.model import Figure, RecordKind, RunRecord, value_of
from openslob.units import NANOS
from openslob.workload import Workload

Row = Mapping[str, Any]

# Sums of fractions depend on their order: an error of the last digits is none.
_SAME = 1e-9
_DEVICE = "device.dev_"
_ENGINE_FIELDS = frozenset(EngineDelta().amounts())
NOT_COUNTED = "the record says that the engine's counters are not those of the window"
NOT_KEPT = "its raw numbers are not in the record's files"
_OF_SCHEDULE = "it follows from when sessions woke up, which no raw file has"
_THINNED = "samples of a load of more than an hour are means of steps"
_LONGEST = "of several kinds of operations, the raw files have the longest together"


@dataclass(frozen=True)
class Derived:
    """A number of the record and the same one from its raw measurements; ``value`` is None for the reason ``why``."""

    name: str
    recorded: float
    value: float | None
    why: str = ""

    @property
    def same(self) -> bool:
        """Whether both are the same, but for the rounding of sums."""
        return self.value is not None and math.isclose(self.recorded, self.value, rel_tol=_SAME, abs_tol=_SAME)


@dataclass(frozen=True)
class RawRows:
    """The rows of a record's raw files that no table has as they are, by column.

    ``engine_ns`` and ``host_ns`` are the first and the last moment of which the engine and the host were read.
    ``thinned`` says that rows are about steps of several seconds.
    """

    slices: Sequence[Row] = ()
    waits: Sequence[Row] = ()
    engine_ns: Sequence[int] = ()
    host_ns: Sequence[int] = ()
    thinned: bool = False


@dataclass
class _Session:
    """What the slices of a session come to, and whether every slice has the operations that its seed says."""

    begin_ns: int
    first_op_ns: int | None
    counts: SliceCounts = field(default_factory=SliceCounts)
    busy_us: float = 0.0
    slices: int = 0
    end_ns: int = 0


def derived(record: RunRecord, tables: RunTables, raw: RawRows) -> list[Derived]:
    """Return every number that the record states and that follows from its raw files, in the order of the record."""
    if record.window is None:
        return []
    measured = _measured(record, tables, raw)
    return [
        *_window(record, measured),
        *_figures(record, measured, raw.thinned),
        *_latencies(record, measured, raw),
        *_waits(record, measured, raw.thinned),
    ]


def _figures(record: RunRecord, measured: Observed, thinned: bool) -> Iterator[Derived]:
    again = _summary(record, measured)
    without = _summary(record, replace(measured, waits={})) if thinned else again
    for name, figure in record.summary.items():
        if figure.value is None:
            continue
        of_samples = again.get(name) != without.get(name)
        why = _OF_SCHEDULE if name in PACED else _THINNED if of_samples else NOT_KEPT
        value = None if of_samples else value_of(again, name)
        yield Derived(name, figure.value, value, why if value is None else "")


def _summary(record: RunRecord, measured: Observed) -> Mapping[str, Figure]:
    """Return the figures of the measurement; the price of an observation is no part of it."""
    again, price = summary(measured), price_of(record)
    if price and record.kind is RecordKind.OBSERVATION:
        return priced(record.model_copy(update={"summary": again}), price).summary
    return again


def _window(record: RunRecord, measured: Observed) -> Iterator[Derived]:
    if record.window is None:
        return
    of_run = {
        "window.load_seconds": (record.window.load_seconds, measured.window.load_seconds),
        "window.counter_seconds": (record.window.counter_seconds, measured.window.counter_seconds),
    }
    for name, (recorded, value) in of_run.items():
        if not recorded:
            continue
        yield Derived(name, recorded, value or None, "" if value else NOT_KEPT)


def _latencies(record: RunRecord, measured: Observed, raw: RawRows) -> Iterator[Derived]:
    if not isinstance(measured, Measurement):
        return
    for what, recorded, again in (
        ("latency", record.latency, measured.latency),
        ("response", record.response, measured.response),
    ):
        for kind, known in recorded.items():
            found = again.get(OpKind(kind), Histogram())
            for name in ("count", *PERCENTILES):
                if known.get(name) is not None:
                    value = float(found.count) if name == "count" else found.quantile_us(PERCENTILES[name])
                    yield Derived(f"{what}.{kind}.{name}", float(known[name]), value, "" if found.count else NOT_KEPT)
    if record.latency and raw.slices:
        yield from _of_all_kinds(record, measured, raw)


def _of_all_kinds(record: RunRecord, measured: Measurement, raw: RawRows) -> Iterator[Derived]:
    """Yield mean and maximum: slices have both of all kinds together."""
    counts = {kind: float(known["count"]) for kind, known in record.latency.items()}
    mean = sum(float(record.latency[kind]["mean_us"]) * count for kind, count in counts.items()) / sum(counts.values())
    kinds = "+".join(counts)
    ops = measured.counts.ops
    # A mean below a clock tick is stated as half a tick.
    if ops and measured.busy_us / ops >= 1:
        yield Derived(f"latency.{kinds}.mean_us", mean, measured.busy_us / ops)
    longest = max(float(known["max_us"]) for known in record.latency.values())
    found = max((float(row["max_us"]) for row in raw.slices if row.get("max_us") is not None), default=None)
    yield Derived(f"latency.{kinds}.max_us", longest, found, "" if found is not None else NOT_KEPT)


def _waits(record: RunRecord, measured: Observed, thinned: bool) -> Iterator[Derived]:
    again = {row.event: row for row in top_events(measured)}
    for row in record.waits:
        found = again.get(row.event)
        for name in ("samples", "share_pct", "db_time_s"):
            value = None if found is None or thinned else float(getattr(found, name))
            if name == "db_time_s" and not measured.busy_us:
                value = None
            why = _THINNED if thinned else NOT_KEPT
            recorded = float(getattr(row, name))
            yield Derived(f"waits.{row.event}.{name}", recorded, value, why if value is None else "")


def _measured(record: RunRecord, tables: RunTables, raw: RawRows) -> Observed:
    """Return the measurement that the raw files are of; what they do not have is unknown."""
    # A run whose counters do not belong to its window has intervals of them all the same.
    counted = record.window is not None and record.window.counter_seconds > 0
    facts: dict[str, Any] = {
        "block_size": int(record.engine.get("block_size") or 0),
        "cache_bytes": record.engine.get("cache_bytes"),
        "engine": _engine(tables.engine) if counted else EngineDelta(unknown={EVERY_FIGURE: NOT_COUNTED}),
        "host": _host(tables, raw, not record.environment.get("drivers")),
        "waits": _waited(raw),
        "wait_samples": len({row["wall_ns"] for row in raw.waits}),
        "timeline": (),
        "direct_io": record.engine.get("direct_io"),
        "local": bool(record.environment.get("local")),
    }
    span_ns = raw.engine_ns[-1] - raw.engine_ns[0] if raw.engine_ns and counted else 0
    counted_s = span_ns / NANOS
    warmup_s = record.window.warmup_s if record.window else 0.0
    if record.kind is RecordKind.OBSERVATION:
        begin_ns = record.window.load_start_ns if record.window else 0
        # Of a load that is not ours, the window is that of the counters.
        end_ns = raw.engine_ns[-1] if raw.engine_ns else begin_ns
        return Observed(window=Window(begin_ns, end_ns, counted_s, None, 0.0, warmup_s), **facts)
    workload = Workload.model_validate(record.spec)
    sessions = _sessions(raw.slices)
    paced = workload.target_ops is not None or workload.target_iops is not None
    starts = [at for each in sessions.values() if (at := each.begin_ns if paced else each.first_op_ns) is not None]
    begin_ns, end_ns = min(starts, default=0), max((each.end_ns for each in sessions.values()), default=0)
    skew_ms = (max(starts) - begin_ns) / 1e6 if starts else 0.0
    totals = [SessionTotals(number, 0, s.counts, s.busy_us, 0.0, s.slices) for number, s in sorted(sessions.items())]
    # A session that ended no slice has no row.
    totals += [SessionTotals(-1, 0, SliceCounts(), 0.0, 0.0, 0)] * max(workload.total_sessions - len(totals), 0)
    return Measurement(
        workload=workload,
        data_bytes=int(record.engine.get("data_bytes") or 0),
        window=Window(begin_ns, end_ns, counted_s, skew_ms, workload.run_time, warmup_s),
        sessions=totals,
        latency=_histograms(tables.latency, record.latency),
        response=_histograms(tables.response, record.response),
        **facts,
    )


def _sessions(slices: Sequence[Row]) -> dict[int, _Session]:
    sessions: dict[int, _Session] = {}
    for row in slices:
        session = sessions.setdefault(row["session"], _Session(row["start_ns"], row["first_op_ns"]))
        if session.first_op_ns is None:
            session.first_op_ns = row["first_op_ns"]
        session.counts += _counts(row)
        session.busy_us += row["busy_us"] or 0.0
        session.slices += 1
        session.end_ns = max(session.end_ns, row["end_ns"])
    return sessions


def _counts(row: Row) -> SliceCounts:
    # Older files lack the counters that were added since.
    return SliceCounts(**{name: int(row.get(name) or 0) for name in COUNTERS})


def _engine(intervals: Intervals) -> EngineDelta:
    sums = {name: _sum(intervals.value(name)) for name in intervals.names if name in _ENGINE_FIELDS}
    known: dict[str, Any] = {name: value for name, value in sums.items() if value is not None}
    return EngineDelta(**known, unknown={EVERY_FIGURE: NOT_KEPT})


def _sum(values: Any) -> float | None:  # noqa: ANN401
    return None if values is None or bool(np.isnan(values).any()) else float(values.sum())


def _host(tables: RunTables, raw: RawRows, alone: bool) -> HostDelta:
    """Return what the host counted; a driver that was not alone has the others' CPU in files of theirs."""
    if len(tables.host) < 2 or not raw.host_ns:
        return HostDelta(0.0, 0, unknown={EVERY_FIGURE: NOT_KEPT})
    grown = {name: value for name in tables.host.names if (value := _grown(tables.host.value(name))) is not None}
    cpu = {name[9:-2]: value for name, value in grown.items() if name.startswith("host.cpu_")}
    io: dict[str, Any] = {
        name: grown[f"device.dev_{name}"] for name in DEVICE_COUNTERS if f"device.dev_{name}" in grown
    }
    cores = tables.host.value("host.cores")
    return HostDelta(
        seconds=(raw.host_ns[-1] - raw.host_ns[0]) / NANOS,
        cores=0 if cores is None or np.isnan(cores[-1]) else int(cores[-1]),
        cpu=cpu or None,
        server_cpu_s=grown.get("server.server_cpu_s"),
        sampler_cpu_s=grown.get("sampler.sampler_cpu_s"),
        server_read_bytes=grown.get("server.server_read_bytes"),
        server_write_bytes=grown.get("server.server_write_bytes"),
        package_energy_j=grown.get("energy.package_energy_j"),
        driver_cpu_s=grown.get("driver.driver_cpu_s") if alone else None,
        client_cpu_s=grown.get("client.client_cpu_s"),
        device=DeviceIo("device", **io) if len(io) == len(DEVICE_COUNTERS) else None,
        unknown={EVERY_FIGURE: NOT_KEPT},
    )


def _grown(values: Any) -> float | None:  # noqa: ANN401
    """Return by how much a counter grew; None if it was reset in between."""
    if values is None or np.isnan(values[0]) or np.isnan(values[-1]):
        return None
    known = values[~np.isnan(values)]
    return float(values[-1] - values[0]) if bool(np.all(np.diff(known) >= 0)) else None


def _waited(raw: RawRows) -> dict[str, int]:
    waited: Counter[str] = Counter()
    for row in raw.waits:
        if row["event"]:
            waited[row["event"]] += row["sessions"]
    return dict(waited)


def _histograms(tables: Mapping[str, Any], recorded: Mapping[str, Mapping[str, Any]]) -> dict[OpKind, Histogram]:
    found = {}
    for kind, each in tables.items():
        counts: Counter[int] = Counter()
        _units, buckets, numbers = each.entries
        for bucket, number in zip(buckets.tolist(), numbers.tolist(), strict=True):
            counts[int(bucket)] += int(number)
        longest = float(recorded.get(kind, {}).get("max_us") or 0.0)
        histogram = Histogram()
        histogram.add(dict(counts), 0.0, longest)
        # The longest operation is in the highest bucket: a percentile is no higher than it.
        if counts and bucket_of(longest) != max(counts):
            histogram.max_us = math.inf
        found[OpKind(kind)] = histogram
    return found


def off_the_method(record: RunRecord, slices: Sequence[Row]) -> list[str]:
    """Return which sessions did other operations than the method has for the seed of the run; none if all did these.

    What operation a session does next follows from its seed and the operation's number alone (`method`). How many
    operations a warm-up had, no file says: then the order is compared, from any of the places where it may begin.
    """
    workload = Workload.model_validate(record.spec)
    warm = _is_warm(record)
    faults = []
    for session, ends in _slice_ends(slices).items():
        phases = phases_of(workload.seed, session, 0, 0, 0)
        updates = [(each.ops, each.updates) for each in ends]
        scans = [(each.ops - each.updates, each.scans) for each in ends]
        for kind, found, percent, phase in (
            ("update", updates, workload.update_pct, phases.update),
            ("scan", scans, workload.scan_pct, phases.scan),
        ):
            begins = range(100) if warm else (phase,)
            if not any(all(share_done(n, percent, begin) == of for n, of in found) for begin in begins):
                faults.append(f"session {session} did not {kind} when its seed says")
    return faults


def _slice_ends(slices: Sequence[Row]) -> dict[int, list[SliceCounts]]:
    """Return what each session had done by the end of each of its slices."""
    done: dict[int, list[SliceCounts]] = {}
    for row in slices:
        ends = done.setdefault(int(row["session"]), [])
        ends.append((ends[-1] if ends else SliceCounts()) + _counts(row))
    return done


def replay_faults(record: RunRecord, slices: Sequence[Row], again: RunRecord, replayed: Sequence[Row]) -> list[str]:
    """Return how a replay of a run did other operations than the run; none if both are the same as far as both go.

    Both are compared with the one order that the seed gives. Sessions that ended after so many operations (WORK_LOOP)
    must also have visited equally many rows: a session whose time was over before that, in one of both, did fewer. A
    warm-up shifts the order, and with it how many of these operations are of which kind, unless they are whole rounds.
    """
    faults = [f"in the record, {each}" for each in off_the_method(record, slices)]
    faults += [f"in the replay, {each}" for each in off_the_method(again, replayed)]
    before, after = ({session: ends[-1] for session, ends in _slice_ends(each).items()} for each in (slices, replayed))
    if not after:
        return [*faults, "the replay did no operation"]
    if before.keys() != after.keys():
        faults.append(f"{len(before)} sessions worked in the record and {len(after)} in the replay")
    limit = int(record.spec.get("work_loop") or 0)
    if limit and (not _is_warm(record) or _in_whole_rounds(record, limit)):
        faults += [
            f"session {session} did {_done(before[session])} in the record and {_done(after[session])} in the replay"
            for session in sorted(before.keys() & after.keys())
            if before[session].ops == after[session].ops == limit and _done(before[session]) != _done(after[session])
        ]
    return faults


def _is_warm(record: RunRecord) -> bool:
    return record.window is None or record.window.warmup_s > 0


def _in_whole_rounds(record: RunRecord, ops: int) -> bool:
    """Return whether so many operations are as many of each kind wherever they begin in the order."""
    updates, rest = divmod(ops * int(record.spec.get("update_pct") or 0), 100)
    return not rest and (ops - updates) * int(record.spec.get("scan_pct") or 0) % 100 == 0


def _done(counts: SliceCounts) -> str:
    rows = counts.rows_read + counts.rows_updated + counts.rows_scanned
    return f"{counts.ops:,} operations ({counts.updates:,} updates, {counts.scans:,} scans) on {rows:,} rows"
