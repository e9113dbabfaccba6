"""The figures of a run or an observation, derived once more from its raw measurements alone, and what they say.

Nothing is taken from the record but what was asked for (the workload), facts such as the block size, and, of older
records, the longest operation of each kind where there are several kinds. The definitions are those of every run:
`metrics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from openslob.analyze.measure import LATENCY, NOT_KEPT, RESPONSE, WAIT_SAMPLES, measure, times
from openslob.analyze.rebuild import ROUNDING
from openslob.analyze.run_tables import RunTables
from openslob.analyze.session_sums import SessionSums
from openslob.core.histogram import BELOW_RESOLUTION_US, PERCENTILES, Histogram
from openslob.core.measurement import Measurement, Observed, Window
from openslob.core.method import OpKind
from openslob.metrics import add_costs, summary
from openslob.metrics.cost import price_of
from openslob.metrics.quantity import db_time_us
from openslob.metrics.run_metrics import CONNECTING, PACED
from openslob.metrics.waits import top_events
from openslob.record.facts import same
from openslob.record.model import Figure, RecordKind, RunRecord, WindowRecord, value_of

OF_SCHEDULE = "it follows from when sessions woke up, or connected, which no raw file has"
_THINNED = "samples of a load of more than an hour are means of steps"


@dataclass(frozen=True)
class Derived:
    """A part of the record and the same one from its raw measurements; ``value`` is None for the reason ``why``."""

    name: str
    recorded: Any
    value: Any
    why: str = ""

    @property
    def same(self) -> bool:
        """Whether both are the same, but for the rounding of sums."""
        return self.value is not None and same(self.recorded, self.value, ROUNDING)

    @property
    def differs(self) -> bool:
        """Whether both are known and are not the same."""
        return self.value is not None and not self.same


def derive_numbers(
    record: RunRecord, tables: RunTables, totals: Mapping[str, float], thinned: bool = False
) -> list[Derived]:
    """Return every number that the record states and that follows from its raw files, in the order of the record.

    ``totals`` are those in its events; ``thinned`` says that rows of its files are about steps of several seconds.
    """
    if record.window is None:
        return []
    measured = measure(record, tables, totals)
    has_means_only = thinned and WAIT_SAMPLES not in totals
    return [
        *_window(record.window, measured.window),
        *_figures(record, measured, has_means_only),
        *_latencies(record, measured, totals),
        *([] if totals.keys() & _times(measured) else of_all_kinds(record, measured, tables.sessions)),
        *_waits(record, measured, has_means_only),
    ]


def _figures(record: RunRecord, measured: Observed, thinned: bool) -> Iterator[Derived]:
    again = _summary(record, measured)
    without = _summary(record, replace(measured, waits={})) if thinned else again
    for name, figure in record.summary.items():
        if figure.value is None:
            continue
        of_samples = again.get(name) != without.get(name)
        why = OF_SCHEDULE if name in PACED | CONNECTING else _THINNED if of_samples else NOT_KEPT
        value = None if of_samples else value_of(again, name)
        yield Derived(name, figure.value, value, why if value is None else "")


def _summary(record: RunRecord, measured: Observed) -> Mapping[str, Figure]:
    """Return the figures of the measurement; the price of an observation is no part of it."""
    again, price = summary(measured), price_of(record)
    if price and record.kind is RecordKind.OBSERVATION:
        return add_costs(record.model_copy(update={"summary": again}), price).summary
    return again


def _window(recorded: WindowRecord, measured: Window) -> Iterator[Derived]:
    for name in ("load_seconds", "counter_seconds"):
        known, value = getattr(recorded, name), getattr(measured, name)
        if known:
            yield Derived(f"window.{name}", known, value or None, "" if value else NOT_KEPT)


def _latencies(record: RunRecord, measured: Observed, totals: Mapping[str, float]) -> Iterator[Derived]:
    if not isinstance(measured, Measurement):
        return
    for what, recorded, again in (
        (LATENCY, record.latency, measured.latency),
        (RESPONSE, record.response, measured.response),
    ):
        for kind, known in recorded.items():
            found = again.get(OpKind(kind), Histogram())
            values = {"count": float(found.count), **{name: found.quantile_us(at) for name, at in PERCENTILES.items()}}
            if totals.keys() & dict(times(what, OpKind(kind), found)):
                values |= {"mean_us": found.mean_us(), "max_us": max(found.max_us, BELOW_RESOLUTION_US)}
            for name, value in values.items():
                if known.get(name) is not None:
                    yield Derived(f"{what}.{kind}.{name}", float(known[name]), value, "" if found.count else NOT_KEPT)


def _times(measured: Observed) -> dict[str, float]:
    """Return what totals say of service times, if they do."""
    kinds = measured.latency.items() if isinstance(measured, Measurement) else ()
    return dict(total for kind, found in kinds for total in times(LATENCY, kind, found))


def of_all_kinds(record: RunRecord, measured: Observed, sessions: SessionSums) -> Iterator[Derived]:
    """Yield mean and longest operation of all kinds together, which slices have."""
    if not isinstance(measured, Measurement) or not sessions.slices:
        return
    known, kinds, ops = record.latency.values(), "+".join(record.latency), measured.counts.ops
    counts = sum(float(each.get("count") or 0) for each in known)
    # A mean below a clock tick is stated as half a tick.
    if ops and counts and measured.busy_us / ops >= 1 and all(each.get("mean_us") is not None for each in known):
        mean = sum(float(each["mean_us"]) * float(each["count"]) for each in known) / counts
        yield Derived(f"latency.{kinds}.mean_us", mean, measured.busy_us / ops)
    longest = [float(each["max_us"]) for each in known if each.get("max_us") is not None]
    if longest:
        why = "" if sessions.max_us is not None else NOT_KEPT
        yield Derived(f"latency.{kinds}.max_us", max(longest), sessions.max_us, why)


def _waits(record: RunRecord, measured: Observed, thinned: bool) -> Iterator[Derived]:
    again = {row.event: row for row in top_events(measured)}
    for row in record.waits:
        found = again.get(row.event)
        for name in ("samples", "share_pct", "db_time_s"):
            value = None if found is None or thinned else float(getattr(found, name))
            if name == "db_time_s" and not db_time_us(measured).value:
                value = None
            why = _THINNED if thinned else NOT_KEPT
            recorded = float(getattr(row, name))
            yield Derived(f"waits.{row.event}.{name}", recorded, value, why if value is None else "")
