"""The figures of the last whole interval of a run, or of all so far, by their definitions in `openslob.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from openslob.analyze.load_kinds import is_client_loop, load_kind
from openslob.analyze.session_sums import BUSY_US
from openslob.core.counts import COUNTERS
from openslob.core.measurement import DEVICE_COUNTERS, EngineDelta
from openslob.kinds.run.live.figures import ALL, BUSY, DEVICE, ENGINE, HOST, SERVER_CPU, VISITS, WORK, Track, inputs_of
from openslob.metrics import METRICS, RunMetric
from openslob.metrics.computation import (
    Amount,
    Composite,
    DbTime,
    DeviceCounter,
    EngineCounter,
    HostCounter,
    Input,
    PartOfCpu,
    PerSecond,
    ServerCpu,
    SessionSum,
)
from openslob.record.model import Figure, RunRecord

AT_END = "known at the end"
NOT_COUNTED = "it was not counted in the last interval"
DRIVER_CPU = "driver.driver_cpu_s"
_DEVICE = tuple(DEVICE + name for name in DEVICE_COUNTERS)
_ENGINE = tuple(EngineDelta().amounts())
_PARTS_OF_CPU = {f"{part}_cpu_s": f"{part}_cpu_us" for part in ("foreground", "background")}
# What each source counted per second; fields of different classes may have the same name.
Rates = Mapping[type[Input], Mapping[str, float]]


def figures_of(tracks: Mapping[str, Track], at_s: float, record: RunRecord, so_far: bool = False) -> dict[str, Figure]:
    """Return every figure that applies to the record, or None with the reason: of the last interval, or all ``so_far``.

    The driver has not written the result yet: ``record`` is what it began with.
    """
    kind = load_kind(record)
    rates = _rates(tracks, _whole if so_far else _last)
    if is_client_loop(record):
        # Its DB time is by samples, too.
        rates = {source: each for source, each in rates.items() if source is not DbTime}
    known = {
        "elapsed_s": at_s,
        "sessions": float(kind.sessions(record)),
        "block_visits_per_s": rates[SessionSum].get(VISITS),
        **_cpu(rates[HostCounter]),
        **{name: _total(tracks[WORK], metric) for name, metric in METRICS.items() if _is_total(metric)},
    }
    return {name: _figure(METRICS[name], known, rates) for name in kind.figures(record)}


def _figure(metric: RunMetric, known: Mapping[str, float | None], rates: Rates) -> Figure:
    rule, why = metric.computation, NOT_COUNTED
    if metric.name in known:
        value = known[metric.name]
    elif isinstance(rule, Amount) and not isinstance(rule, PerSecond):
        value, why = None, AT_END
    else:
        inputs = inputs_of(rule)
        found = {each.field: rates.get(type(each), {}).get(each.field) for each in inputs}
        value = rule.of_amounts({name: rate for name, rate in found.items() if rate is not None}, 1.0)
        if isinstance(rule, Composite) or any(type(each) not in rates for each in inputs):
            why = AT_END
    return Figure.of(value, metric.unit, why)


def _rates(tracks: Mapping[str, Track], rates_of: Callable[[Track, tuple[str, ...]], dict[str, float]]) -> Rates:
    engine = rates_of(tracks[ENGINE], _ENGINE)
    host = rates_of(tracks[HOST], (SERVER_CPU, DRIVER_CPU, BUSY, ALL, *_DEVICE))
    own = {"server_cpu_s": engine["db_cpu_us"] * 1e-6} if "db_cpu_us" in engine else {}
    parts = {name: engine[of] * 1e-6 for name, of in _PARTS_OF_CPU.items() if of in engine}
    processes = {name.split(".")[-1]: rate for name, rate in host.items() if not name.startswith(DEVICE)}
    work = rates_of(tracks[WORK], (*COUNTERS, BUSY_US, VISITS))
    return {
        EngineCounter: engine,
        DeviceCounter: {name.removeprefix(DEVICE): rate for name, rate in host.items() if name.startswith(DEVICE)},
        ServerCpu: own | processes,
        HostCounter: own | processes,
        SessionSum: work,
        # Processes are told apart at both ends of the window only.
        **({PartOfCpu: parts} if parts else {}),
        # That of an observation is from all samples together.
        **({DbTime: work} if work else {}),
    }


def _last(track: Track, names: tuple[str, ...]) -> dict[str, float]:
    return _whole(track.last(), names)


def _whole(track: Track, names: tuple[str, ...]) -> dict[str, float]:
    seconds = float((track.end_s - track.begin_s).sum())
    amounts = {name: float(amount.sum()) for name, amount in track.amounts(names).items()}
    return {name: amount / seconds for name, amount in amounts.items() if np.isfinite(amount) and seconds > 0}


def _cpu(rates: Mapping[str, float]) -> dict[str, float | None]:
    busy = 100 * rates[BUSY] / rates[ALL] if rates.get(ALL) and BUSY in rates else None
    return {"host_cpu_busy_pct": busy, "host_cpu_left_pct": None if busy is None else 100 - busy}


def _is_total(metric: RunMetric) -> bool:
    rule = metric.computation
    return isinstance(rule, Amount) and not isinstance(rule, PerSecond) and rule.only_from(SessionSum)


def _total(work: Track, metric: RunMetric) -> float | None:
    """Return what the sessions did so far."""
    amount = work.amount(metric.computation.inputs[0].field)
    return None if amount is None or not len(amount) else float(round(float(amount.sum())))
