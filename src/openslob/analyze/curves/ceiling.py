"""The storage ceiling: what storage alone gives at a concurrency, read off a raw measurement."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from openslob.metrics.quantity import Quantity
from openslob.record.storage import StorageLoad, StorageRecord, StorageStep
from openslob.units import format_bytes


@dataclass(frozen=True)
class CeilingPoint:
    """With so many requests in flight: requests per second and their mean latency in µs, medians over all steps."""

    in_flight: int
    iops: float
    mean_us: float | None


@dataclass(frozen=True)
class Ceiling:
    """Random reads of one block size by the raw measurement ``id``, by requests in flight."""

    id: str
    block_bytes: int
    points: tuple[CeilingPoint, ...]

    def at(self, concurrency: int) -> Quantity:
        """Requests per second with ``concurrency`` in flight, read off a straight line on logarithmic axes.

        Unknown beyond what was measured: a line drawn on would claim what nobody saw.
        """
        for point in self.points:
            if point.in_flight == concurrency:
                return Quantity(point.iops)
        for low, high in pairwise(self.points):
            if low.in_flight < concurrency < high.in_flight:
                share = math.log(concurrency / low.in_flight) / math.log(high.in_flight / low.in_flight)
                return Quantity(low.iops * (high.iops / low.iops) ** share)
        measured = f"{self.points[0].in_flight} to {self.points[-1].in_flight}" if self.points else "none"
        return Quantity.missing(
            f"{self.id} measured {measured} reads of {format_bytes(self.block_bytes)} in flight, not {concurrency}"
        )


def other_storage(record: StorageRecord, environment: Mapping[str, Any]) -> str:
    """Why a raw measurement is not one of the storage under a run's data; empty when nothing speaks against that.

    ``environment`` is the run's. Of a server on another host it tells nothing about the data.
    """
    if record.place.get("direct") is False:
        return f"{record.id} read through the page cache, not from storage alone"
    if not environment.get("local"):
        return ""
    theirs, ours = _place(record.environment), _place(environment)
    if not any(a and b and a != b for a, b in zip(theirs, ours, strict=True)):
        return ""
    return f"{record.id} measured {_spoken(*theirs)}, and the data are on {_spoken(*ours)}"


def _place(environment: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Host and block device, as far as known."""
    device = (environment.get("data") or {}).get("device") or {}
    return environment.get("host"), device.get("name")


def _spoken(host: str | None, device: str | None) -> str:
    return f"{f'device {device}' if device else 'an unknown device'} of host {host or 'unknown'}"


def ceiling_of(record: StorageRecord, block_bytes: int) -> Ceiling:
    """The ceiling for random reads of ``block_bytes``; without points when the record has no such steps."""
    steps: dict[int, list[StorageStep]] = defaultdict(list)
    for step in record.steps:
        if step.load and _counts(step.load, block_bytes) and step.value("iops"):
            steps[step.load.in_flight].append(step)
    points = (CeilingPoint(number, *_medians(taken)) for number, taken in sorted(steps.items()))
    return Ceiling(record.id, block_bytes, tuple(points))


def _counts(load: StorageLoad, block_bytes: int) -> bool:
    return (load.block_bytes, load.read_pct, load.pattern, load.verified) == (block_bytes, 100, "random", False)


def _medians(taken: list[StorageStep]) -> tuple[float, float | None]:
    rates = [rate for step in taken if (rate := step.value("iops")) is not None]
    means = [mean for step in taken if (mean := step.value("mean_us")) is not None]
    return median(rates), median(means) if means else None
